// A pass of list scheduling is given preferences: an order of the nodes of each machine. This header makes them, and
// derives such orders from others.
#ifndef STRETTO_SCHEDULE_DETAIL_MACHINE_ORDERS_HPP
#define STRETTO_SCHEDULE_DETAIL_MACHINE_ORDERS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/schedule/detail/compact_tasks.hpp"
#include "stretto/schedule/detail/workspace.hpp"

namespace stretto::detail {

/// The order in which each machine prefers its nodes: those of machine m are [first[m], first[m + 1]) of `node`. Nodes
/// without a machine come last, as those of machine `machines`. The arrays belong to the workspace, as do those of the
/// functions below.
struct machine_orders {
    std::vector<std::uint32_t> first;
    std::span<std::uint32_t> node;
    std::span<std::uint32_t> rank;  // by node: its index in `node`
};

/// Returns the order in which a sequence of nodes visits each machine; with `reversed`, the sequence is read last to
/// first. O(V).
template <class = void>
[[nodiscard]] inline machine_orders machine_orders_of(const compact_tasks& c, std::span<const std::uint32_t> nodes,
                                                      workspace& w, bool reversed = false) {
    machine_orders m;
    m.first.assign(c.machines + 2, 0);
    for (std::uint32_t n : nodes) ++m.first[c.machine[n] + 1];
    for (std::uint32_t k = 0; k <= c.machines; ++k) m.first[k + 1] += m.first[k];
    m.node = w.take<std::uint32_t>(c.size());
    m.rank = w.take<std::uint32_t>(c.size());
    std::vector<std::uint32_t> next(m.first.begin(), m.first.end() - 1);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const std::uint32_t n = nodes[reversed ? nodes.size() - 1 - i : i];
        const std::uint32_t r = next[c.machine[n]]++;
        m.node[r] = n;
        m.rank[n] = r;
    }
    return m;
}

/// Returns a copy with arrays of its own.
template <class = void>
[[nodiscard]] inline machine_orders copy_of(const machine_orders& m, workspace& w) {
    const machine_orders copy{m.first, w.take<std::uint32_t>(m.node.size()), w.take<std::uint32_t>(m.rank.size())};
    std::copy(m.node.begin(), m.node.end(), copy.node.begin());
    std::copy(m.rank.begin(), m.rank.end(), copy.rank.begin());
    return copy;
}

/// Returns a preference between two others. On the lane, nodes are sorted by the average of their ranks in `a` and `b`,
/// where `b` has the weight `toward_b` in [0, 1]; nodes with equal averages are sorted by their rank in `a`. The
/// channels follow `b`. The averages are doubles. For weights that are small multiples of 1/4, as the scheduler uses,
/// they are exact, so every machine finds the same order. O(n log n).
template <class = void>
[[nodiscard]] inline machine_orders blend(const machine_orders& a, const machine_orders& b, double toward_b,
                                          workspace& w) {
    machine_orders m = copy_of(b, w);
    const auto lane_begin = m.node.begin() + m.first[0], lane_end = m.node.begin() + m.first[1];
    std::copy(a.node.begin() + a.first[0], a.node.begin() + a.first[1], lane_begin);
    if (toward_b > 0) {
        auto key = [&](std::uint32_t n) { return (1 - toward_b) * a.rank[n] + toward_b * b.rank[n]; };
        std::stable_sort(lane_begin, lane_end, [&](std::uint32_t x, std::uint32_t y) { return key(x) < key(y); });
    }
    for (std::uint32_t r = m.first[0]; r < m.first[1]; ++r) m.rank[m.node[r]] = r;
    return m;
}

/// Returns `order` with some kernels moved forward: those that lead to a collective and cost next to nothing compared
/// with it (all kernels on the way to the start together take at most a tenth of its time). They move forward by as
/// much lane time as the collective takes. An order by urgency alone would leave them until their collective is late,
/// while its channel idles. O(n log n + E).
template <class = void>
[[nodiscard]] inline machine_orders launches_drawn_forward(const compact_tasks& c, const machine_orders& order,
                                                           workspace& w) {
    constexpr std::int64_t share = 10, leads_nowhere = INT64_MAX / (2 * share);
    const machine_orders m = copy_of(order, w);
    const workspace::scope scratch(w);
    // `work` is the lane time from a node, itself included, to the nearest start that it leads to, and `gain` is the
    // time that this start takes.
    const std::span<std::int64_t> work = w.take(c.size(), leads_nowhere), gain = w.take(c.size(), std::int64_t{0});
    for (std::uint32_t n = c.size(); n-- > 0;) {
        if (c.kind[n] == compact_tasks::role::start) {
            work[n] = 0;
            gain[n] = c.duration[n];
            continue;
        }
        for (std::uint32_t s : c.successors[n]) {
            if (c.kind[s] == compact_tasks::role::wait || work[s] == leads_nowhere) continue;
            const std::int64_t through = work[s] + c.duration[n];
            if (through > work[n] || (through == work[n] && gain[s] <= gain[n])) continue;
            work[n] = through;
            gain[n] = gain[s];
        }
    }
    const std::span<std::int64_t> when = w.take<std::int64_t>(c.size());
    std::int64_t lane = 0;
    for (std::uint32_t r = m.first[0]; r < m.first[1]; ++r) {
        const std::uint32_t n = m.node[r];
        when[n] = share * work[n] <= gain[n] ? lane - gain[n] : lane;
        lane += c.duration[n];
    }
    std::stable_sort(m.node.begin() + m.first[0], m.node.begin() + m.first[1],
                     [&](std::uint32_t x, std::uint32_t y) { return when[x] < when[y]; });
    for (std::uint32_t r = m.first[0]; r < m.first[1]; ++r) m.rank[m.node[r]] = r;
    return m;
}

}  // namespace stretto::detail

#endif
