// A capture is a training step in memory, as files in the format stretto-graph, version 1, describe it: the kind,
// operands, costs and allocations of every node, and the rest of the JSON as text. It is immutable and always well
// formed: only read_capture(), parse_capture() and capture_builder create one, and they check everything that the
// accessors below promise.
//
// One buffer owns all text; names and fields are slices of it. There is one record per node, and one flat pool of node
// numbers for each of inputs, aliases, writes and readers. A node is identified by its position in program order.
#ifndef STRETTO_CAPTURE_CAPTURE_HPP
#define STRETTO_CAPTURE_CAPTURE_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/core/config.hpp"
#include "stretto/core/index_lists.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/process_group.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/cost/cost_point.hpp"

namespace stretto {

/// A member of a JSON object that the library does not interpret: its key, unescaped, and its value as JSON text.
struct json_field {
    std::string_view key;
    std::string_view text;
    friend bool operator==(const json_field&, const json_field&) = default;
};

/// A process group as described in a file; capture::group_at() returns it as a `process_group`.
struct capture_group {
    std::string name;
    std::int64_t size = 1;             ///< the number of ranks
    std::string fields = {};           ///< further members of its JSON object, such as `"desc":"mesh_ep"`; may be empty
    std::vector<rank_id> ranks = {};   ///< in their order in the group; empty if the file does not list them
    group_id duplicate_of = no_group;  ///< the earlier group of which it is another communicator, or no_group
    friend bool operator==(const capture_group&, const capture_group&) = default;
};

/// The durations of one collective on the group of that name, as points of payload in bytes and time in nanoseconds.
/// Payloads ascend strictly, and there is at least one point.
struct collective_cost_table {
    std::string group;
    collective_kind collective = collective_kind::other;
    std::vector<cost_point> points;
    friend bool operator==(const collective_cost_table&, const collective_cost_table&) = default;
};

/// The machine for which the durations were computed.
struct capture_costs {
    double memory_bytes_per_second = 1e12;  ///< positive and finite
    nanoseconds launch;                     ///< the launch of one kernel
    std::vector<collective_cost_table> collectives;
    std::string fields;  ///< further members of its JSON object; may be empty
    friend bool operator==(const capture_costs&, const capture_costs&) = default;
};

/// A symbol that occurs in symbolic extents, and the value with which shapes, bytes and durations were computed. Unlike
/// an extent, it may be negative.
struct capture_symbol {
    std::string name;
    std::int64_t value = 0;
    friend bool operator==(const capture_symbol&, const capture_symbol&) = default;
};

namespace detail {

/// A piece of the text of a capture. It is an offset and not a pointer, so that captures can be copied and moved.
struct text_slice {
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
};

/// The key and the value of a json_field.
struct field_slices {
    text_slice key;
    text_slice text;
};

/// The data stored for a node, besides its references to others.
struct capture_record {
    text_slice name;
    text_slice op;
    text_slice outputs;
    bytes allocation;
    bytes payload;
    nanoseconds duration;
    group_id group = 0;
    op_kind kind = op_kind::compute;
    collective_kind collective = collective_kind::other;
    std::uint32_t first_field = 0, last_field = 0;
};

/// The names in files, in the order of the enumerators.
inline constexpr std::array<std::string_view, 6> kind_names = {"input", "compute", "view", "start", "wait", "output"};
inline constexpr std::array<std::string_view, 4> collective_names = {"all_gather", "reduce_scatter", "all_reduce",
                                                                     "all_to_all"};

/// An entry of the table of names, which is sorted by (hash, name, position), so that equal names are neighbours.
struct hashed_name {
    std::uint64_t hash = 0;
    std::uint32_t node = 0;
};

/// Returns the 64-bit FNV-1a hash of a name. read_calls() uses it for logical ids, so it must be the same on all ranks.
inline std::uint64_t hash_of(std::string_view name) noexcept {
    std::uint64_t h = 14695981039346656037u;  // FNV-1a
    for (char c : name) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
    return h;
}

}  // namespace detail

/// A captured step. Everything is in program order, and a node refers only to earlier nodes. It takes the text of the
/// file, about 100 bytes per node, 16 bytes per uninterpreted field, and 4 to 8 bytes per reference. Accessors take
/// O(1) unless stated otherwise, and require numbers of existing nodes. Spans and string views are valid until the
/// capture is destroyed or assigned to.
class capture {
public:
    using node_id = std::uint32_t;

    [[nodiscard]] std::size_t size() const noexcept { return records_.size(); }
    [[nodiscard]] std::string_view name() const noexcept { return name_; }
    [[nodiscard]] std::span<const capture_group> groups() const noexcept { return groups_; }
    /// A capture is a group_model: group_count() is the number of groups, and group_at(id) returns the group with that
    /// id, with its ranks if the file lists them. Precondition of group_at: `id < group_count()`.
    [[nodiscard]] std::size_t group_count() const noexcept { return groups_.size(); }
    [[nodiscard]] process_group group_at(group_id id) const noexcept {
        STRETTO_ASSERT(id < groups_.size(), "there is no group of that number in this capture");
        const capture_group& g = groups_[id];
        return {.size = g.size, .id = id, .ranks = g.ranks, .duplicate_of = g.duplicate_of};
    }
    /// Returns the costs of a collective on a group, or null if the file has none. If a duplicate has none under its
    /// own name, it has those of the group that it duplicates. O(tables) for each group that is asked for costs.
    /// Precondition: `id` is `no_group` or below group_count().
    [[nodiscard]] const collective_cost_table* cost_table(group_id id, collective_kind collective) const noexcept {
        for (; id != no_group; id = groups_[id].duplicate_of)
            for (const collective_cost_table& t : costs_.collectives)
                if (t.collective == collective && t.group == groups_[id].name) return &t;
        return nullptr;
    }
    [[nodiscard]] const capture_costs& costs() const noexcept { return costs_; }
    [[nodiscard]] std::span<const capture_symbol> symbols() const noexcept { return symbols_; }
    /// Further members of the whole JSON object, `"key":value` with commas between them; may be empty.
    [[nodiscard]] std::string_view fields() const noexcept { return fields_; }

    [[nodiscard]] std::string_view name(node_id v) const noexcept { return text(record(v).name); }
    [[nodiscard]] std::string_view op(node_id v) const noexcept { return text(record(v).op); }
    [[nodiscard]] op_kind kind(node_id v) const noexcept { return record(v).kind; }
    /// The duration of the kernel, or of the collective on its channel. It is never negative, and all durations
    /// together fit in 64 bits.
    [[nodiscard]] nanoseconds duration(node_id v) const noexcept { return record(v).duration; }
    /// The storage that the node allocates. It is never negative, and all of it together fits in 64 bits.
    [[nodiscard]] bytes allocation(node_id v) const noexcept { return record(v).allocation; }
    /// The collective that a start launches (never `other`), its group (below groups().size()), and the bytes of this
    /// rank's input. For any other node they are `other`, 0 and 0.
    [[nodiscard]] collective_kind collective(node_id v) const noexcept { return record(v).collective; }
    [[nodiscard]] group_id group(node_id v) const noexcept { return record(v).group; }
    [[nodiscard]] bytes payload(node_id v) const noexcept { return record(v).payload; }

    /// The distinct nodes that v reads, in the order to which "%k" in its arguments refers.
    [[nodiscard]] std::span<const node_id> inputs(node_id v) const noexcept { return inputs_[v]; }
    /// The distinct nodes whose storage v shares.
    [[nodiscard]] std::span<const node_id> aliases(node_id v) const noexcept { return aliases_[v]; }
    /// The distinct nodes whose storage v writes.
    [[nodiscard]] std::span<const node_id> writes(node_id v) const noexcept { return writes_[v]; }
    /// The distinct nodes that read v, ascending.
    [[nodiscard]] std::span<const node_id> readers(node_id v) const noexcept { return readers_[v]; }

    /// Returns the start for which wait w waits: the first node that it reads, if that is a start. Returns nothing for
    /// any other wait, and for a node that is not a wait.
    [[nodiscard]] std::optional<node_id> launch_of(node_id w) const noexcept {
        const std::span<const node_id> read = inputs(w);
        if (kind(w) != op_kind::wait || read.empty() || kind(read[0]) != op_kind::start) return std::nullopt;
        return read[0];
    }

    /// The results of v as JSON text: a list of {"shape":[...],"dtype":"..."}, which capture_fields.hpp parses.
    [[nodiscard]] std::string_view outputs(node_id v) const noexcept { return text(record(v).outputs); }
    /// The members of the node's JSON object that are not interpreted (args, kwargs, fqn, ...), in the order of the
    /// file.
    [[nodiscard]] std::size_t field_count(node_id v) const noexcept { return slices(v).size(); }
    [[nodiscard]] json_field field(node_id v, std::size_t i) const noexcept {
        const detail::field_slices f = slices(v)[i];
        return {text(f.key), text(f.text)};
    }
    /// Returns the value of the field with that key, as JSON text, or nothing if v has no such field. O(number of its
    /// fields).
    [[nodiscard]] std::optional<std::string_view> field(node_id v, std::string_view key) const noexcept {
        for (const detail::field_slices& f : slices(v))
            if (text(f.key) == key) return text(f.text);
        return std::nullopt;
    }

    /// Returns the node with that name, or nothing if there is none. O(log V) comparisons, whatever the hashes of names
    /// are.
    [[nodiscard]] std::optional<node_id> find(std::string_view wanted) const noexcept {
        // capture_builder has sorted the table by hash, and then by name.
        const std::uint64_t h = detail::hash_of(wanted);
        const auto at = std::partition_point(by_name_.begin(), by_name_.end(), [&](const detail::hashed_name& n) {
            return n.hash != h ? n.hash < h : name(n.node) < wanted;
        });
        if (at == by_name_.end() || at->hash != h || name(at->node) != wanted) return std::nullopt;
        return at->node;
    }

    /// Two captures are equal if they have equal nodes in equal order with equal fields, including the order and the
    /// spelling of uninterpreted fields.
    friend bool operator==(const capture& a, const capture& b) {
        if (a.size() != b.size() || a.name_ != b.name_ || a.groups_ != b.groups_ || a.costs_ != b.costs_ ||
            a.symbols_ != b.symbols_ || a.fields_ != b.fields_)
            return false;
        for (std::size_t i = 0; i < a.size(); ++i)
            if (!same_node(a, b, static_cast<node_id>(i))) return false;
        return true;
    }

private:
    friend class capture_builder;
    capture() = default;

    std::string_view text(detail::text_slice s) const noexcept { return {text_.data() + s.offset, s.length}; }
    const detail::capture_record& record(node_id v) const noexcept {
        STRETTO_ASSERT(v < records_.size(), "there is no node of that number in this capture");
        return records_[v];
    }
    std::span<const detail::field_slices> slices(node_id v) const noexcept {
        return {node_fields_.data() + record(v).first_field, node_fields_.data() + record(v).last_field};
    }
    static bool same_node(const capture& a, const capture& b, node_id v) {
        if (a.name(v) != b.name(v) || a.op(v) != b.op(v) || a.kind(v) != b.kind(v) || a.duration(v) != b.duration(v) ||
            a.allocation(v) != b.allocation(v) || a.collective(v) != b.collective(v) || a.group(v) != b.group(v) ||
            a.payload(v) != b.payload(v) || a.outputs(v) != b.outputs(v) ||
            !std::ranges::equal(a.inputs(v), b.inputs(v)) || !std::ranges::equal(a.aliases(v), b.aliases(v)) ||
            !std::ranges::equal(a.writes(v), b.writes(v)) || a.field_count(v) != b.field_count(v))
            return false;
        for (std::size_t i = 0; i < a.field_count(v); ++i)
            if (a.field(v, i) != b.field(v, i)) return false;
        return true;
    }

    std::string text_;
    std::string name_;
    std::string fields_;
    std::vector<capture_group> groups_;
    std::vector<capture_symbol> symbols_;
    capture_costs costs_;
    std::vector<detail::capture_record> records_;
    index_lists inputs_;
    index_lists aliases_;
    index_lists writes_;
    index_lists readers_;
    std::vector<detail::field_slices> node_fields_;
    std::vector<detail::hashed_name> by_name_;
};

static_assert(group_model<capture>);

}  // namespace stretto

#endif
