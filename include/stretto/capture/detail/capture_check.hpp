// Checks the conditions for a well-formed captured step, beyond being JSON with the right fields. The reader and the
// builder require the same, so code that receives a capture need not check anything: every reference is to an existing
// node or group, and sums of times and bytes do not overflow.
//
// Each function returns the first fault that it finds, with its place, its cause and a hint, or nothing if there is
// none.
#ifndef STRETTO_CAPTURE_DETAIL_CAPTURE_CHECK_HPP
#define STRETTO_CAPTURE_DETAIL_CAPTURE_CHECK_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/core/process_groups.hpp"

namespace stretto::detail {

inline constexpr const char* known_collectives = "all_gather, reduce_scatter, all_reduce, all_to_all";

/// Returns the description of a fault of the step as a whole.
inline diagnostic fault_of_step(const char* field, std::string cause, std::string hint) {
    diagnostic d;
    d.field = field;
    d.cause = std::move(cause);
    d.hint = std::move(hint);
    return d;
}

/// Returns the description of a fault in a field of node v.
inline diagnostic fault_of_node(const capture& c, std::uint32_t v, const char* field, std::string cause,
                                std::string hint) {
    diagnostic d = fault_of_step(field, std::move(cause), std::move(hint));
    d.node = v;
    d.node_name = c.name(v);
    return d;
}

/// Requires that a list of nodes names distinct nodes that come before its own. `seen` is scratch memory: false for
/// every node, before and after the call.
inline std::optional<diagnostic> fault_of_list(const capture& c, std::uint32_t v, const char* field,
                                               std::span<const std::uint32_t> list, std::vector<bool>& seen) {
    std::size_t good = 0;
    for (; good < list.size(); ++good) {
        const std::uint32_t u = list[good];
        if (u >= v || seen[u]) break;
        seen[u] = true;
    }
    for (std::size_t k = 0; k < good; ++k) seen[list[k]] = false;
    if (good == list.size()) return {};
    const std::uint32_t u = list[good];
    const std::string named = "names node " + std::to_string(u);
    if (u >= c.size())
        return fault_of_node(c, v, field, named + ", which does not exist",
                             "the step has " + std::to_string(c.size()) + " nodes, counted from 0");
    if (u == v) return fault_of_node(c, v, field, named + ", itself", "a node may only name nodes before it");
    if (u > v)
        return fault_of_node(c, v, field, named + " (" + printable(c.name(u)) + "), which comes later",
                             "a node may only name nodes before it");
    return fault_of_node(c, v, field, named + " twice", "name every node once");
}

/// Requires that the members of a node fit its kind: it has a name; amounts are not negative; a start has a collective,
/// its payload and an existing group, and no other node has them; a wait reads a start, if at all, as the first of its
/// inputs.
inline std::optional<diagnostic> fault_of_kind(const capture& c, std::uint32_t v) {
    if (c.name(v).empty()) return fault_of_node(c, v, "name", "is empty", "every node needs a name");
    if (c.duration(v).count < 0)
        return fault_of_node(c, v, "ns", "is negative", "durations are whole nanoseconds from 0 up");
    if (c.allocation(v).count < 0)
        return fault_of_node(c, v, "bytes", "is negative", "a node allocates 0 bytes or more");
    if (c.kind(v) == op_kind::start) {
        if (c.collective(v) == collective_kind::other)
            return fault_of_node(c, v, "collective", "is missing",
                                 std::string("a start launches one of ") + known_collectives);
        if (c.payload(v).count < 0) return fault_of_node(c, v, "payload", "is negative", "0 bytes is the least");
        if (c.group(v) >= c.groups().size())
            return fault_of_node(c, v, "group", "names group " + std::to_string(c.group(v)) + ", which does not exist",
                                 "the step has " + std::to_string(c.groups().size()) + " groups, counted from 0");
    } else if (c.collective(v) != collective_kind::other || c.payload(v).count != 0 || c.group(v) != 0) {
        return fault_of_node(c, v, "kind", "is not \"start\", but the node has a collective, a group or a payload",
                             "only a start launches a collective");
    }
    // A wait whose first input is not a start waits for nothing, which occurs in real steps; but if a start is a later
    // input, it would look as if the wait waited for it.
    if (c.kind(v) == op_kind::wait)
        for (std::size_t k = 1; k < c.inputs(v).size(); ++k)
            if (c.kind(c.inputs(v)[k]) == op_kind::start)
                return fault_of_node(c, v, "inputs", "has a start in place " + std::to_string(k),
                                     "a wait waits for the first node it reads; give every start its own wait");
    return {};
}

/// Requires that all nodes are well formed. They are checked in program order.
inline std::optional<diagnostic> fault_of_nodes(const capture& c) {
    std::vector<bool> seen(c.size(), false);
    for (std::size_t i = 0; i < c.size(); ++i) {
        const auto v = static_cast<std::uint32_t>(i);
        std::optional<diagnostic> fault = fault_of_list(c, v, "inputs", c.inputs(v), seen);
        if (!fault) fault = fault_of_list(c, v, "alias", c.aliases(v), seen);
        if (!fault) fault = fault_of_list(c, v, "mutates", c.writes(v), seen);
        if (!fault) fault = fault_of_kind(c, v);
        if (fault) return fault;
    }
    return {};
}

/// Requires that sums over the whole step fit in 64 bits, so that simulators need not check for overflow.
inline std::optional<diagnostic> fault_of_sums(const capture& c) {
    std::int64_t time = 0, allocated = 0, sent = 0;
    const auto add = [](std::int64_t& sum, std::int64_t x) {
        if (x > std::numeric_limits<std::int64_t>::max() - sum) return false;
        sum += x;
        return true;
    };
    const char* hint = "the sum over the step must fit in a signed 64-bit integer";
    for (std::size_t i = 0; i < c.size(); ++i) {
        const auto v = static_cast<std::uint32_t>(i);
        if (!add(time, c.duration(v).count)) return fault_of_node(c, v, "ns", "makes the step too long", hint);
        if (!add(allocated, c.allocation(v).count)) return fault_of_node(c, v, "bytes", "is too much in all", hint);
        if (!add(sent, c.payload(v).count)) return fault_of_node(c, v, "payload", "is too much in all", hint);
    }
    return {};
}

/// Returns the alphabetically first of the names that occur twice, or nothing if all differ.
inline std::optional<std::string_view> repeated_name(std::vector<std::string_view> names) {
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice == names.end()) return {};
    return *twice;
}

/// Requires that process groups are consistent, and puts the faults of core/process_groups.hpp into words.
inline std::optional<diagnostic> fault_of_groups(const capture& c) {
    using why = group_fault::reason;
    const std::optional<group_fault> fault = first_fault(c);
    if (!fault) return {};
    const auto named = [&](group_id id) {
        const bool known = id < c.group_count();
        return known ? "group \"" + printable(c.groups()[id].name) + "\"" : "group " + std::to_string(id);
    };
    const capture_group& g = c.groups()[fault->group];
    const std::string group = named(fault->group), size = std::to_string(g.size);
    switch (fault->why) {
        case why::no_rank:
            return fault_of_step("groups", group + " has " + size + " ranks", "a group has one rank at least");
        case why::rank_count:
            return fault_of_step("groups.ranks",
                                 group + " lists " + std::to_string(g.ranks.size()) + " ranks, but its size is " + size,
                                 "list every rank of the group once, or leave the member out");
        case why::rank_twice:
            return fault_of_step("groups.ranks", group + " lists rank " + std::to_string(fault->rank) + " twice",
                                 "list every rank of the group once");
        case why::unknown_original:
            return fault_of_step(
                "groups.duplicate_of",
                group + " duplicates " + named(fault->other) +
                    (fault->other < c.group_count() ? ", which does not stand before it" : ", which does not exist"),
                "a duplicate names the position of its original, which stands before it in the list of groups");
        case why::other_ranks_than_original:
            return fault_of_step("groups.duplicate_of",
                                 group + " duplicates " + named(fault->other) + ", which has other ranks",
                                 "a duplicate has the ranks of its original, in the same order");
        case why::other_id:  // a file cannot express these: ids are positions there, and nodes are not part of it
        case why::no_rank_on_node:
            break;
    }
    return {};
}

/// Requires that names of groups differ, and names of symbols.
inline std::optional<diagnostic> fault_of_names(const capture& c) {
    std::vector<std::string_view> names;
    for (const capture_group& g : c.groups()) names.push_back(g.name);
    if (const auto twice = repeated_name(std::move(names)))
        return fault_of_step("groups", "two groups are called \"" + printable(*twice) + "\"",
                             "cost tables tell groups apart by name");
    names.clear();
    for (const capture_symbol& s : c.symbols()) names.push_back(s.name);
    if (const auto twice = repeated_name(std::move(names)))
        return fault_of_step("symbols", "two symbols are called \"" + printable(*twice) + "\"",
                             "a symbol has one value");
    return {};
}

/// Requires that bandwidth and times are possible, every group and collective has one table at most, and the points of
/// a table ascend. The builder has sorted the tables, so those of one group and collective are adjacent.
inline std::optional<diagnostic> fault_of_costs(const capture_costs& costs) {
    if (!std::isfinite(costs.memory_bytes_per_second) || costs.memory_bytes_per_second <= 0)
        return fault_of_step("costs.memory_bytes_per_second", "is not positive", "give the bandwidth of the memory");
    if (costs.launch.count < 0) return fault_of_step("costs.launch_ns", "is negative", "0 ns is the least");
    const collective_cost_table* last = nullptr;
    for (const collective_cost_table& t : costs.collectives) {
        const std::string table = "the table of group \"" + printable(t.group) + "\" ";
        if (t.collective == collective_kind::other)
            return fault_of_step("costs.collectives", table + "has an unknown collective",
                                 std::string("known are ") + known_collectives);
        if (last != nullptr && last->group == t.group && last->collective == t.collective)
            return fault_of_step("costs.collectives", table + "has a collective twice", "join the two lists");
        last = &t;
        if (t.points.empty())
            return fault_of_step("costs.collectives", table + "has a collective without points",
                                 "the first point is the latency of an empty message");
        for (std::size_t k = 0; k < t.points.size(); ++k)
            if (t.points[k].payload.count < 0 || t.points[k].time.count < 0 ||
                (k > 0 && t.points[k].payload.count <= t.points[k - 1].payload.count))
                return fault_of_step("costs.collectives", table + "has points that are negative or do not ascend",
                                     "points are [payload bytes, ns], from small payloads to large");
    }
    return {};
}

/// Returns the first fault of a capture. Nodes are checked in program order, then sums, groups, names and costs. O(V +
/// E), plus what first_fault takes for groups, plus O(n log n) for n names of groups and symbols.
inline std::optional<diagnostic> fault_of(const capture& c) {
    std::optional<diagnostic> fault = fault_of_nodes(c);
    if (!fault) fault = fault_of_sums(c);
    if (!fault) fault = fault_of_groups(c);
    if (!fault) fault = fault_of_names(c);
    if (!fault) fault = fault_of_costs(c.costs());
    return fault;
}

}  // namespace stretto::detail

#endif
