// Reads captured training steps: stretto-graph, version 1, as JSON or gzipped JSON. Needs simdjson and zlib. Any fault
// of a file is reported as one diagnostic; detail/capture_check.hpp lists what is checked beyond the fields.
//
// The text is read once, from front to back, into a capture_builder that keeps it: names, shapes and arguments of the
// finished capture are slices of the text, and only escaped names are copied. Members that the library does not know
// are kept as well, so that reading and writing a file loses nothing.
#ifndef STRETTO_CAPTURE_CAPTURE_READER_HPP
#define STRETTO_CAPTURE_CAPTURE_READER_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_builder.hpp"
#include "stretto/capture/detail/capture_node_reader.hpp"
#include "stretto/capture/detail/json_members.hpp"
#include "stretto/capture/detail/json_walk.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/capture/gzip.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/process_group.hpp"
#include "stretto/schedule/json_quote.hpp"

namespace stretto {

/// The largest capture that is accepted.
struct capture_limits {
    file_limits file = {};
    std::uint32_t max_nodes = std::uint32_t{1} << 31;
    std::size_t max_fields = 64;  ///< members of one JSON object that are only kept as text
};

namespace detail {

/// Reads one text into a capture_builder.
class capture_parser {
public:
    capture_parser(std::string padded_text, std::size_t length, const capture_limits& limits)
        : builder_(capture_builder::over(std::move(padded_text))), length_(length), limits_(limits) {}

    /// The capture, or the first fault of the text. Call it once.
    expected<capture, diagnostic> parse() {
        if (!json_.open(builder_.text(), length_) || !read_step()) return unexpected(std::move(json_.failure));
        builder_.set_costs(std::move(costs_));
        builder_.set_fields(std::move(fields_));
        return std::move(builder_).build();
    }

private:
    using value = od::value;

    bool read_step() {
        static constexpr std::array<std::string_view, 7> keys = {"format", "version", "name",   "groups",
                                                                 "costs",  "nodes",   "symbols"};
        seen_keys seen;
        const bool whole = json_.root([&](std::string_view key, value v) {
            const unsigned k = position_in(keys, key);
            json_.outer = {};
            json_.field = key;
            if (k < keys.size() && !seen.add(json_, k)) return false;
            std::string_view s;
            std::int64_t version = 0;
            switch (k) {
                case 0:
                    return json_.text(v, s) && (s == "stretto-graph" ||
                                                json_.fail("is \"" + printable(s) + "\"", "expected stretto-graph"));
                case 1:
                    return json_.whole_number(v, version) &&
                           (version == 1 || json_.fail("is " + std::to_string(version), "this reader knows version 1"));
                case 2:
                    return json_.text(v, s) && (builder_.set_name(std::string(s)), true);
                case 3:
                    return read_groups(v);
                case 4:
                    return read_costs(v);
                case 5:
                    return read_nodes(v);
                case 6:
                    return read_symbols(v);
                default:
                    return read_other(key, v, fields_, other_keys_);
            }
        });
        if (!whole) return false;
        // All keys except `symbols`, the last one, must be present.
        for (unsigned k = 0; k < 6; ++k)
            if (!seen.require(json_, k, keys[k])) return false;
        return true;
    }

    /// Keeps a member that is not interpreted, so that it can be written back.
    bool read_other(std::string_view key, value v, std::string& members, std::vector<std::string_view>& known) {
        if (std::find(known.begin(), known.end(), key) != known.end()) return seen_keys::repeated(json_);
        if (known.size() == limits_.max_fields) return seen_keys::too_many(json_, limits_.max_fields);
        known.push_back(key);
        std::string_view raw;
        if (!json_.any(v, raw)) return false;
        append_member(members, key, raw);
        return true;
    }
    // The functions below read one member each, and return false if it is malformed. The walk then holds the failure,
    // whose place is given by `outer` and `field`.
    bool read_groups(value v) {
        static constexpr std::array<std::string_view, 4> keys = {"name", "size", "ranks", "duplicate_of"};
        return json_.array(v, [&](value element) {
            capture_group group;
            seen_keys seen;
            std::vector<std::string_view> known;
            json_.outer = "groups.";
            const bool whole = json_.object(element, [&](std::string_view key, value member) {
                const unsigned k = position_in(keys, key);
                json_.field = key;
                if (k < keys.size() && !seen.add(json_, k)) return false;
                std::string_view s;
                if (k == 0) return json_.text(member, s) && (group.name = s, true);
                if (k == 1) return json_.amount(member, group.size);
                if (k == 2) return read_ranks(member, group.ranks);
                if (k == 3) return read_original(member, group.duplicate_of);
                return read_other(key, member, group.fields, known);
            });
            if (!whole || !seen.require(json_, 0, keys[0]) || !seen.require(json_, 1, keys[1])) return false;
            builder_.add_group(std::move(group));
            return true;
        });
    }

    bool read_ranks(value v, std::vector<rank_id>& ranks) {
        const bool whole = json_.array(v, [&](value member) {
            std::int64_t rank = 0;
            if (!json_.amount(member, rank)) return false;
            ranks.push_back(static_cast<rank_id>(rank));
            return rank <= UINT32_MAX || json_.fail("has rank " + std::to_string(rank), "ranks are numbers below 2^32");
        });
        return whole &&
               (!ranks.empty() || json_.fail("is empty", "list the ranks of the group, or leave the member out"));
    }
    /// Reads the position of the group that another one duplicates. `no_group` means that there is none, so a number
    /// that is too large is replaced by the largest other number.
    bool read_original(value v, group_id& original) {
        std::int64_t id = 0;
        if (!json_.amount(v, id)) return false;
        original = static_cast<group_id>(std::min<std::int64_t>(id, no_group - 1));  // build() reports it if too large
        return true;
    }

    /// Reads the symbols, an object that maps names to values. Unlike amounts, these may be negative.
    bool read_symbols(value v) {
        return json_.object(v, [&](std::string_view key, value member) {
            json_.outer = "symbols.";
            json_.field = key;
            std::int64_t extent = 0;
            if (!json_.whole_number(member, extent)) return false;
            builder_.add_symbol(std::string(key), extent);
            return true;
        });
    }

    bool read_costs(value v) {
        static constexpr std::array<std::string_view, 3> keys = {"memory_bytes_per_second", "launch_ns", "collectives"};
        seen_keys seen;
        std::vector<std::string_view> known;
        const bool whole = json_.object(v, [&](std::string_view key, value member) {
            const unsigned k = position_in(keys, key);
            json_.outer = "costs.";
            json_.field = key;
            if (k < keys.size() && !seen.add(json_, k)) return false;
            switch (k) {
                case 0:
                    return json_.real_number(member, costs_.memory_bytes_per_second);
                case 1:
                    return json_.amount(member, costs_.launch.count);
                case 2:
                    return read_tables(member);
                default:
                    return read_other(key, member, costs_.fields, known);
            }
        });
        if (!whole) return false;
        json_.outer = "costs.";
        return seen.require(json_, 0, keys[0]) && seen.require(json_, 1, keys[1]) && seen.require(json_, 2, keys[2]);
    }

    /// Reads the cost tables: an object that maps group names to objects, which map collectives to lists of points.
    bool read_tables(value v) {
        return json_.object(v, [&](std::string_view group, value tables) {
            // The walk keeps a view of its place, so the text must live until the table has been read.
            const std::string place = "costs.collectives." + std::string(group) + ".";
            json_.outer = place;
            json_.field = {};
            const bool known = json_.object(tables, [&](std::string_view collective, value points) {
                json_.field = collective;
                const unsigned k = position_in(collective_names, collective);
                if (k == collective_names.size())
                    return json_.fail("is no known collective", std::string("known are ") + known_collectives);
                collective_cost_table table;
                table.group = group;
                table.collective = static_cast<collective_kind>(k);
                const bool whole = json_.array(points, [&](value point) { return read_point(point, table); });
                costs_.collectives.push_back(std::move(table));
                return whole;
            });
            json_.outer = "costs.";  // `place` ends here
            return known;
        });
    }
    /// Reads one point, [payload bytes, ns].
    bool read_point(value v, collective_cost_table& table) {
        std::array<std::int64_t, 2> pair = {};
        std::size_t k = 0;
        const bool whole =
            json_.array(v, [&](value n) { return k++ < 2 ? json_.amount(n, pair[k - 1]) : bad_point(); });
        if (!whole || (k != 2 && !bad_point())) return false;
        table.points.push_back({{pair[0]}, {pair[1]}});
        return true;
    }
    bool bad_point() { return json_.fail("has a point that is no pair", "points are [payload bytes, ns]"); }

    bool read_nodes(value v) {
        builder_.reserve(length_ / 128, length_ / 64, length_ / 48);  // address space; only what is filled costs memory
        const bool whole = json_.array(v, [&](value element) {
            json_.node = static_cast<std::uint32_t>(builder_.size());
            json_.node_name = {};
            json_.field = {};
            if (builder_.size() == limits_.max_nodes)
                return json_.fail("is one too many", "the limit is " + std::to_string(limits_.max_nodes) + " nodes");
            if (!node_reader_.read(element)) return false;
            builder_.append(node_reader_.node());
            return true;
        });
        if (!whole) return false;
        json_.node.reset();
        json_.node_name = {};
        return true;
    }

    capture_builder builder_;
    std::size_t length_;
    capture_limits limits_;
    json_walk json_;
    capture_node_reader node_reader_{json_, limits_.max_fields};
    capture_costs costs_;
    std::string fields_;
    std::vector<std::string_view> other_keys_;
};

}  // namespace detail

/// Reads the step in a JSON text. `file_name` appears only in diagnostics. It fails with the first fault: the text
/// exceeds a limit, is not JSON, lacks a member or has a malformed one, or breaks a rule of detail/capture_check.hpp.
/// It takes O(text + E + V log V) time, at several hundred megabytes of text per second, and the memory of the text, 4
/// bytes for each of its tokens while it is read, and the capture.
inline expected<capture, diagnostic> parse_capture(std::string text, std::string_view file_name,
                                                   const capture_limits& limits = {}) {
    const std::size_t length = text.size();
    const auto refused = [&](diagnostic d) {
        d.file = std::string(file_name);
        return unexpected(std::move(d));
    };
    if (length > limits.file.max_bytes || length > UINT32_MAX - simdjson::SIMDJSON_PADDING)
        return detail::too_large(file_name, std::min<std::uint64_t>(limits.file.max_bytes, UINT32_MAX), "");
    text.resize(length + simdjson::SIMDJSON_PADDING, ' ');
    expected<capture, diagnostic> c = detail::capture_parser(std::move(text), length, limits).parse();
    if (!c) return refused(c.error());
    return c;
}

/// Reads the step in a file, which is decompressed if its first bytes are those of gzip; "-" is standard input. Fails
/// if the file cannot be read, and otherwise like parse_capture.
inline expected<capture, diagnostic> read_capture(const std::string& path, const capture_limits& limits = {}) {
    expected<std::string, diagnostic> text = read_text(path, limits.file);
    if (!text) return unexpected(text.error());
    return parse_capture(*std::move(text), path, limits);
}

}  // namespace stretto

#endif
