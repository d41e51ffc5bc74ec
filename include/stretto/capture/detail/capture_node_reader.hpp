// Reads single nodes of a stretto-graph, for the reader of captures and for the record of the originals in a bucket.
// Nodes are most of a file, so one object is filled repeatedly, the search for a key begins after the previous one, and
// texts are views of the file. Members that the library does not interpret are kept as text.
#ifndef STRETTO_CAPTURE_DETAIL_CAPTURE_NODE_READER_HPP
#define STRETTO_CAPTURE_DETAIL_CAPTURE_NODE_READER_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_builder.hpp"
#include "stretto/capture/detail/capture_check.hpp"
#include "stretto/capture/detail/json_members.hpp"
#include "stretto/capture/detail/json_walk.hpp"

namespace stretto::detail {

/// Fills one capture_node after another. The texts of a node point into the document of the walk.
class capture_node_reader {
public:
    using value = od::value;

    capture_node_reader(json_walk& json, std::size_t max_fields) : json_(json), max_fields_(max_fields) {}

    /// The node that was read last; it is overwritten by the next.
    [[nodiscard]] const capture_node& node() const noexcept { return node_; }

    /// Reads one node. Returns false if it is malformed; the walk then holds the failure.
    bool read(value v) {
        node_.inputs.clear();
        node_.aliases.clear();
        node_.writes.clear();
        node_.fields.clear();
        node_.collective = collective_kind::other;
        node_.group = 0;
        node_.payload = {};
        largest_reference_ = -1;
        unknown_ = 0;
        seen_keys seen;
        unsigned guess = 0;
        const bool whole = json_.object(v, [&](std::string_view key, value member) {
            const unsigned k = position_in(keys, key, guess);
            json_.field = key;
            if (k == keys.size()) return read_unknown(key, member);
            guess = k + 1;
            return seen.add(json_, k) && read_member(k, member);
        });
        return whole && check_members(seen) && check_references();
    }

private:
    // Members may come in any order. They are found fastest in this one, because the search for a key begins after the
    // previous one.
    static constexpr std::array<std::string_view, 16> keys = {
        "name",  "op",      "kind",       "inputs", "args",    "kwargs", "outputs", "bytes",
        "alias", "mutates", "collective", "group",  "payload", "ns",     "fqn",     "direction"};
    static constexpr unsigned at(std::string_view key) noexcept { return position_in(keys, key); }

    /// Reads the member with key k into the node. "fqn" and "direction" stay text, like unknown members; they are
    /// listed so that one that occurs twice is found quickly.
    bool read_member(unsigned k, value v) {
        switch (k) {
            case at("name"):
                if (!json_.text(v, node_.name)) return false;
                json_.node_name = node_.name;
                return true;
            case at("op"):
                return json_.text(v, node_.op);
            case at("kind"):
                return read_kind(v);
            case at("inputs"):
                return read_positions(v, node_.inputs);
            case at("args"):
            case at("kwargs"):
                return read_arguments(keys[k], v);
            case at("outputs"):
                return read_outputs(v);
            case at("bytes"):
                return json_.amount(v, node_.allocation.count);
            case at("alias"):
                return read_positions(v, node_.aliases);
            case at("mutates"):
                return read_positions(v, node_.writes);
            case at("collective"):
                return read_collective(v);
            case at("group"):
                return read_group(v);
            case at("payload"):
                return json_.amount(v, node_.payload.count);
            case at("ns"):
                return json_.amount(v, node_.duration.count);
            default:
                return read_note(keys[k], v);
        }
    }

    /// Fails if a required member is missing, or if a node that is no start has a member of a start.
    bool check_members(const seen_keys& seen) {
        static constexpr std::array<unsigned, 7> always = {at("name"),    at("op"),    at("kind"), at("inputs"),
                                                           at("outputs"), at("bytes"), at("ns")};
        static constexpr std::array<unsigned, 3> of_start = {at("collective"), at("group"), at("payload")};
        for (unsigned k : always)
            if (!seen.require(json_, k, keys[k])) return false;
        for (unsigned k : of_start) {
            if (node_.kind == op_kind::start) {
                if (!seen.require(json_, k, keys[k])) return false;
            } else if (seen.has(k)) {
                json_.field = keys[k];
                return json_.fail("is given, but the node is no start", "only a start launches a collective");
            }
        }
        return true;
    }
    /// Fails if an argument names an operand that the node does not have.
    bool check_references() {
        if (largest_reference_ < static_cast<std::int64_t>(node_.inputs.size())) return true;
        json_.field = "args";
        return json_.fail("has %" + std::to_string(largest_reference_) + ", but the node reads " +
                              std::to_string(node_.inputs.size()) + " nodes",
                          "%k is the node in place k of inputs, counted from 0");
    }

    /// Keeps a member as text.
    bool read_note(std::string_view key, value v) {
        std::string_view raw;
        if (!json_.any(v, raw)) return false;
        node_.fields.push_back({key, raw});
        return true;
    }
    /// Keeps an unknown member. Their number is limited, so that a file of something else is refused early, and the
    /// linear search for repeated keys stays cheap.
    bool read_unknown(std::string_view key, value v) {
        for (const json_field& f : node_.fields)
            if (f.key == key) return seen_keys::repeated(json_);
        return unknown_++ < max_fields_ ? read_note(key, v) : seen_keys::too_many(json_, max_fields_);
    }
    /// Keeps arguments as text, and notes which operands they name. The check of these waits for the end of the node,
    /// because its inputs may come later.
    bool read_arguments(std::string_view key, value v) {
        json_.largest_reference = -1;
        if (!read_note(key, v)) return false;
        largest_reference_ = std::max(largest_reference_, json_.largest_reference);
        return true;
    }

    // The functions below read one member each, and return false if it is malformed; the walk then holds the failure. A
    // number that is too large for an index is clamped to one that no step has, which the check of references then
    // finds.
    bool read_kind(value v) {
        std::string_view s;
        if (!json_.text(v, s)) return false;
        const unsigned k = position_in(kind_names, s);
        if (k == kind_names.size())
            return json_.fail("is \"" + printable(s) + "\"", "known are input, compute, view, start, wait, output");
        node_.kind = static_cast<op_kind>(k);
        return true;
    }
    bool read_collective(value v) {
        std::string_view s;
        if (!json_.text(v, s)) return false;
        const unsigned k = position_in(collective_names, s);
        if (k == collective_names.size())
            return json_.fail("is \"" + printable(s) + "\"", std::string("known are ") + known_collectives);
        node_.collective = static_cast<collective_kind>(k);
        return true;
    }
    bool read_group(value v) {
        std::int64_t group = 0;
        if (!json_.amount(v, group)) return false;
        node_.group = static_cast<group_id>(std::min<std::int64_t>(group, UINT32_MAX));
        return true;
    }
    bool read_positions(value v, std::vector<std::uint32_t>& out) {
        return json_.array(v, [&](value element) {
            std::int64_t u = 0;
            if (!json_.amount(element, u)) return false;
            out.push_back(static_cast<std::uint32_t>(std::min<std::int64_t>(u, UINT32_MAX)));
            return true;
        });
    }
    bool read_outputs(value v) {
        return json_.kept(v, node_.outputs, [this](value list) {
            return json_.array(list, [this](value tensor) { return check_tensor(tensor); });
        });
    }
    /// Checks one element of outputs: it has a shape and a type, and perhaps members that are not interpreted here.
    /// Only its text is kept; capture_tensors reads it again when shapes are asked for, which planning an order alone
    /// never does.
    bool check_tensor(value v) {
        static constexpr std::array<std::string_view, 2> tensor_keys = {"shape", "dtype"};
        seen_keys seen;
        const bool whole = json_.object(v, [&](std::string_view key, value member) {
            std::string_view s;
            std::int64_t extent = 0;
            const unsigned k = position_in(tensor_keys, key);
            if (k == tensor_keys.size()) return json_.any(member, s);
            if (!seen.add(json_, k)) return false;
            return k == 1 ? json_.text(member, s)
                          : json_.array(member, [&](value n) { return json_.amount(n, extent); });
        });
        if (!whole) return false;
        return (seen.has(0) && seen.has(1)) || json_.fail("has a tensor without shape or dtype", "give both");
    }

    json_walk& json_;
    std::size_t max_fields_;
    std::size_t unknown_ = 0;  // how many unknown members node_ has so far
    capture_node node_;
    std::int64_t largest_reference_ = -1;  // k of the largest "%k" in the arguments of node_
};

}  // namespace stretto::detail

#endif
