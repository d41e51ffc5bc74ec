// Bounds that are based on dependences also use those that a memory limit implies. This header adds them to a compact
// graph.
#ifndef STRETTO_SCHEDULE_DETAIL_ORDERED_TASKS_HPP
#define STRETTO_SCHEDULE_DETAIL_ORDERED_TASKS_HPP

#include <algorithm>
#include <cstdint>
#include <vector>

#include "stretto/schedule/detail/compact_tasks.hpp"
#include "stretto/schedule/detail/memory_precedences.hpp"

namespace stretto::detail {

/// The graph. Only what bounds read is filled in: kinds, durations, machines, launches and dependences. A minimum time
/// between two nodes is represented by a node of its own, which occupies no machine.
struct ordered_tasks {
    compact_tasks tasks;
    std::vector<std::uint32_t> number;  ///< by node of the original graph: its number in `tasks`
};

/// Returns `c` with these pairs as dependences, except the pairs that run against program order, for which no order is
/// known that keeps them all. Program order is kept, so the graph stays topological. O(V + E), and O(P log P) for P
/// pairs.
template <class = void>
[[nodiscard]] inline ordered_tasks with_precedences(const compact_tasks& c, std::vector<node_pair> pairs) {
    std::sort(pairs.begin(), pairs.end(), [](const node_pair& a, const node_pair& b) {
        return a.then != b.then ? a.then < b.then : a.first < b.first;
    });
    ordered_tasks made;
    compact_tasks& t = made.tasks;
    t.machines = c.machines;
    made.number.reserve(c.size());
    const auto add = [&](compact_tasks::role kind, std::int64_t duration, std::uint32_t machine, std::uint32_t launch) {
        t.kind.push_back(kind);
        t.duration.push_back(duration);
        t.machine.push_back(machine);
        t.launch.push_back(launch == no_node ? no_node : made.number[launch]);
        t.predecessors.close_row();
    };
    auto next = pairs.begin();
    std::vector<std::uint32_t> times;  // the time nodes before the current node
    // Adds nodes for the times between others and `then`.
    const auto add_times = [&](std::uint32_t then) {
        times.clear();
        for (auto pair = next; pair != pairs.end() && pair->then == then; ++pair) {
            if (pair->apart == 0 || (pair->first != no_node && pair->first >= then)) continue;
            if (pair->first != no_node) t.predecessors.push(made.number[pair->first]);
            times.push_back(t.size());
            add(compact_tasks::role::weightless, pair->apart, c.machines, no_node);
        }
    };
    for (std::uint32_t n = 0; n < c.size(); ++n) {
        add_times(n);
        for (const std::uint32_t p : c.predecessors[n]) t.predecessors.push(made.number[p]);
        for (const std::uint32_t between : times) t.predecessors.push(between);
        for (; next != pairs.end() && next->then == n; ++next)
            if (next->apart == 0 && next->first < n) t.predecessors.push(made.number[next->first]);
        made.number.push_back(t.size());
        add(c.kind[n], c.duration[n], c.machine[n], c.launch[n]);
    }
    add_times(no_node);
    t.successors = t.predecessors.inverse(t.size());
    return made;
}

}  // namespace stretto::detail

#endif
