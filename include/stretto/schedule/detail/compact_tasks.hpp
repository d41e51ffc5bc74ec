// Passes that run many times use a smaller task graph. It contains the tasks that take time or memory; the weightless
// ones (views, inputs, waits for nothing) are folded into them. Half of the tasks of a captured step are views.
#ifndef STRETTO_SCHEDULE_DETAIL_COMPACT_TASKS_HPP
#define STRETTO_SCHEDULE_DETAIL_COMPACT_TASKS_HPP

#include <span>
#include <vector>

#include "stretto/core/unique_rows.hpp"
#include "stretto/schedule/detail/workspace.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace stretto::detail {

/// The value that means "no node".
inline constexpr std::uint32_t no_node = UINT32_MAX;

/// The compact graph. A node is one task with weight, together with the weightless tasks all of whose predecessors are
/// in that node. Those run right after the task with weight, where they can neither delay anything nor extend a
/// lifetime. A weightless task whose predecessors are in several nodes is a node of its own. Nodes are numbered in
/// program order.
struct compact_tasks {
    /// What a node does. A weightless one takes no time, but it allocates memory or joins several nodes.
    enum class role : std::uint8_t {
        compute,
        start,
        wait,
        weightless
    };

    std::vector<role> kind;
    std::vector<std::int64_t> duration;       ///< nanoseconds on the lane or the channel
    std::vector<std::int64_t> allocation;     ///< bytes that the node allocates for its results
    std::vector<std::uint32_t> machine;       ///< 0 is the lane, `machines` means none, and the others are channels
    std::vector<std::uint32_t> launch;        ///< for a wait: the node of its start; otherwise no_node
    std::vector<task_id> task;                ///< the task that the node runs first
    index_lists predecessors, successors;     ///< by node: other nodes, each once
    index_lists touched;                      ///< by node: storages, in a dense numbering of the compact graph
    std::vector<std::int64_t> storage_bytes;  ///< by storage
    std::vector<std::uint32_t> storage_uses;  ///< by storage: how many nodes touch it
    std::uint32_t machines = 1;               ///< the lane, and a channel for every group that launches collectives
    std::vector<group_id> groups;             ///< by channel, which is machine - 1: its group; ascending

    std::vector<task_id> preamble;  ///< inputs, and weightless tasks that depend only on these; they run first
    std::vector<task_id> epilogue;  ///< outputs; they run last, although what they read may be available earlier
    index_lists followers;          ///< by node: the weightless tasks folded into it, in program order

    [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(kind.size()); }
};

/// Makes the compact graph of `g`. Only groups that launch collectives have a machine, in the order of their ids, so
/// that the passes, which visit all machines again and again, do not depend on how large ids are. O(V + E + groups)
/// time and space; scratch memory is taken from the workspace.
template <class = void>
[[nodiscard]] inline compact_tasks make_compact_tasks(const task_graph& g, workspace& w) {
    const workspace::scope scratch(w);
    constexpr std::uint32_t in_preamble = no_node;
    compact_tasks c;
    const std::span<std::uint32_t> channel = w.take(g.groups, 0u);  // by group: its machine, or 0
    for (task_id t = 0; t < g.size(); ++t)
        if (g.kind[t] == op_kind::start) channel[g.group[t]] = 1;
    for (group_id group = 0; group < channel.size(); ++group) {
        if (channel[group] == 0) continue;
        channel[group] = c.machines++;
        c.groups.push_back(group);
    }
    const std::span<std::uint32_t> node_of = w.take<std::uint32_t>(g.size());
    const std::span<task_id> folded = w.take<task_id>(g.size());  // sorted by node at the end
    std::size_t folds = 0;
    // Reserving for the worst case costs nothing, because memory pages that are never written are never allocated.
    c.kind.reserve(g.size());
    c.duration.reserve(g.size());
    c.allocation.reserve(g.size());
    c.machine.reserve(g.size());
    c.launch.reserve(g.size());
    c.task.reserve(g.size());
    c.preamble.reserve(g.size());
    c.storage_bytes.reserve(g.allocation.size());

    for (task_id t = 0; t < g.size(); ++t) {
        std::int64_t allocates = 0;
        if (g.kind[t] != op_kind::input)
            for (value_id x = g.first_result[t]; x < g.first_result[t + 1]; ++x) allocates += g.allocation[x].count;
        const bool has_machine = g.kind[t] == op_kind::compute || g.kind[t] == op_kind::start;
        const bool weightless = !has_machine && g.launch[t] == no_task && allocates == 0;
        if (g.kind[t] == op_kind::output && weightless && g.successors[t].empty()) {
            c.epilogue.push_back(t);
            continue;
        }
        if (weightless) {
            std::uint32_t only = in_preamble;
            bool several = false;
            for (task_id p : g.predecessors[t]) {
                const std::uint32_t n = node_of[p];
                if (n == in_preamble || n == only) continue;
                several = only != in_preamble;
                if (several) break;
                only = n;
            }
            if (!several) {
                node_of[t] = only;
                if (only == in_preamble) c.preamble.push_back(t);
                else folded[folds++] = t;
                continue;
            }
        }
        node_of[t] = c.size();
        c.task.push_back(t);
        c.duration.push_back(has_machine ? g.duration[t].count : 0);
        c.allocation.push_back(allocates);
        c.launch.push_back(g.launch[t] == no_task ? no_node : node_of[g.launch[t]]);
        if (g.kind[t] == op_kind::compute) c.kind.push_back(compact_tasks::role::compute);
        else if (g.kind[t] == op_kind::start) c.kind.push_back(compact_tasks::role::start);
        else if (g.launch[t] != no_task) c.kind.push_back(compact_tasks::role::wait);
        else c.kind.push_back(compact_tasks::role::weightless);
        c.machine.push_back(g.kind[t] == op_kind::compute ? 0
                            : g.kind[t] == op_kind::start ? channel[g.group[t]]
                                                          : c.machines);
    }

    // The folded tasks are sorted by node and stay in program order within a node.
    const std::span<std::uint32_t> first = w.take(std::size_t{c.size()} + 1, 0u);
    const std::span<task_id> by_node = w.take<task_id>(folds);
    for (task_id t : folded.first(folds)) ++first[node_of[t] + 1];
    for (std::uint32_t n = 0; n < c.size(); ++n) first[n + 1] += first[n];
    for (task_id t : folded.first(folds)) by_node[first[node_of[t]]++] = t;

    const std::span<std::uint32_t> dense_storage = w.take(g.allocation.size(), no_node);
    unique_rows before, storages;
    c.predecessors.reserve(c.size(), g.predecessors.items());
    c.touched.reserve(c.size(), g.touched.items());
    c.followers.reserve(c.size(), folds);
    std::uint32_t next_folded = 0;
    for (std::uint32_t n = 0; n < c.size(); ++n) {
        auto absorb = [&](task_id t) {
            for (task_id p : g.predecessors[t]) {
                const std::uint32_t m = node_of[p];
                if (m != n && m != in_preamble) before.add(c.predecessors, m);
            }
            for (value_id s : g.touched[t]) {
                if (dense_storage[s] == no_node) {
                    dense_storage[s] = static_cast<std::uint32_t>(c.storage_bytes.size());
                    c.storage_bytes.push_back(g.allocation[s].count);
                }
                storages.add(c.touched, dense_storage[s]);
            }
        };
        absorb(c.task[n]);
        const std::uint32_t own = next_folded;
        for (; next_folded < first[n]; ++next_folded) absorb(by_node[next_folded]);
        before.close(c.predecessors);
        storages.close(c.touched);
        c.followers.push_row(by_node.subspan(own, next_folded - own));
    }
    c.successors = c.predecessors.inverse(c.size());
    c.storage_uses.resize(c.storage_bytes.size());
    for (std::uint32_t n = 0; n < c.size(); ++n)
        for (std::uint32_t s : c.touched[n]) ++c.storage_uses[s];
    return c;
}

/// Returns the order of all tasks that corresponds to an order of the nodes. O(V).
template <class = void>
[[nodiscard]] inline std::vector<task_id> expand(const compact_tasks& c, std::span<const std::uint32_t> nodes) {
    std::vector<task_id> order = c.preamble;
    order.reserve(c.preamble.size() + c.size() + c.followers.items() + c.epilogue.size());
    for (std::uint32_t n : nodes) {
        order.push_back(c.task[n]);
        order.insert(order.end(), c.followers[n].begin(), c.followers[n].end());
    }
    order.insert(order.end(), c.epilogue.begin(), c.epilogue.end());
    return order;
}

}  // namespace stretto::detail

#endif
