// Launches as late as keeps them hidden. A pass issues a collective as soon as its channel is idle, and its wait as
// soon as it has ended. From then on the result is in memory, though nobody may read it for a long time.
#ifndef STRETTO_SCHEDULE_DETAIL_HELD_LAUNCHES_HPP
#define STRETTO_SCHEDULE_DETAIL_HELD_LAUNCHES_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/schedule/detail/compact_tasks.hpp"
#include "stretto/schedule/detail/list_pass.hpp"
#include "stretto/schedule/detail/workspace.hpp"

namespace stretto::detail {

/// When everything of an order happens, by the exact clock.
struct order_times {
    std::span<std::uint32_t> position;  ///< by node
    std::span<std::int64_t> begin;      ///< by node, of starts: when the channel begins them
    std::span<std::int64_t> lane;       ///< by position: when the lane reaches it; one more for the end
    std::int64_t makespan = 0;
};

/// Runs an order. O(V); the arrays belong to the workspace.
template <class = void>
[[nodiscard]] inline order_times times_of(const compact_tasks& c, std::span<const std::uint32_t> order, workspace& w) {
    using role = compact_tasks::role;
    order_times t;
    t.position = w.take<std::uint32_t>(c.size());
    t.begin = w.take<std::int64_t>(c.size());
    t.lane = w.take<std::int64_t>(order.size() + 1);
    std::vector<std::int64_t> free(c.machines, 0);
    for (std::uint32_t i = 0; i < order.size(); ++i) {
        const std::uint32_t n = order[i];
        t.position[n] = i;
        t.lane[i] = free[0];
        if (c.kind[n] == role::compute) free[0] += c.duration[n];
        else if (c.kind[n] == role::wait) free[0] = std::max(free[0], t.begin[c.launch[n]] + c.duration[c.launch[n]]);
        else if (c.kind[n] == role::start) {
            t.begin[n] = std::max(free[0], free[c.machine[n]]);
            free[c.machine[n]] = t.begin[n] + c.duration[n];
        }
    }
    t.lane[order.size()] = free[0];
    t.makespan = *std::max_element(free.begin(), free.end());
    return t;
}

/// By storage: the position at which an order uses it last. O(V + uses); the array belongs to the workspace.
template <class = void>
[[nodiscard]] inline std::span<const std::uint32_t> last_uses(const compact_tasks& c,
                                                              std::span<const std::uint32_t> order, workspace& w) {
    const std::span<std::uint32_t> last = w.take<std::uint32_t>(c.storage_bytes.size());
    for (std::uint32_t i = 0; i < order.size(); ++i)
        for (const std::uint32_t s : c.touched[order[i]]) last[s] = i;
    return last;
}

/// Moves waits to the first reader of what they wait for, where that keeps no more in memory, and starts that somebody
/// waits for as far back as the clock allows. A collective that was done early is still done as long before it must be
/// as it takes, or as early as it was, so that it stays hidden even if it takes twice as long as the model says. Each
/// channel keeps its order. Nothing that the lane does is done later than it was, so the makespan is no longer. A start
/// that moves makes its result later, and what it reads stays until its wait in either case; so starts never add to the
/// memory in use, but what a wait would have freed is kept until the wait. A wait goes no further than before
/// the position `furthest`, by node. `t` are the times of `order`, and `last_use` is where it uses storages last. O(V +
/// E).
template <class = void>
[[nodiscard]] inline std::vector<std::uint32_t> held_launches(const compact_tasks& c,
                                                              std::span<const std::uint32_t> order,
                                                              const order_times& t,
                                                              std::span<const std::uint32_t> last_use,
                                                              std::span<const std::uint32_t> furthest, workspace& w) {
    using role = compact_tasks::role;
    const workspace::scope scratch(w);
    const auto count = static_cast<std::uint32_t>(order.size());
    const std::span<std::uint32_t> place = w.take<std::uint32_t>(order.size());  // by position: it goes before that one
    const auto first_successor = [&](std::uint32_t n, std::uint32_t limit) {
        for (const std::uint32_t s : c.successors[n]) limit = std::min(limit, place[t.position[s]]);
        return limit;
    };
    // From there on a wait keeps what its start has made, and up to there what nobody uses afterwards.
    const auto keeps_less_before = [&](std::uint32_t wait) {
        std::int64_t freed = 0;
        for (const std::uint32_t s : c.touched[wait])
            if (last_use[s] == t.position[wait]) freed += c.storage_bytes[s];
        return c.allocation[c.launch[wait]] + c.allocation[wait] > freed;
    };

    // From the end: which place the next launch on the channel goes to, and when it must have begun.
    struct next_launch {
        std::uint32_t place;
        std::int64_t begin;
    };
    std::vector<next_launch> next(c.machines, {count, t.makespan});
    // What goes to the same place stays in order: those that are moved before a position, first to last.
    constexpr std::uint32_t none = UINT32_MAX;
    const std::span<std::uint32_t> first_moved = w.take(order.size() + 1, none);
    const std::span<std::uint32_t> next_moved = w.take<std::uint32_t>(order.size());
    for (std::uint32_t i = count; i-- > 0;) {
        const std::uint32_t n = order[i];
        place[i] = i;
        if (c.kind[n] == role::wait && keeps_less_before(n)) {
            const std::uint32_t reader = first_successor(n, count);
            if (reader < count) place[i] = std::max(i, std::min(reader, furthest[n]));
        } else if (c.kind[n] == role::start) {
            next_launch& following = next[c.machine[n]];
            std::int64_t done = following.begin;
            bool waited_for = false;
            for (const std::uint32_t s : c.successors[n]) {
                if (c.launch[s] != n) continue;
                waited_for = true;
                const std::uint32_t at = t.position[s];
                // A wait that stays may stall the lane; where one moves to, its collective has always been done.
                done = std::min(done, t.lane[place[at] > at ? place[at] : at + 1]);
            }
            const std::int64_t latest = done - c.duration[n];
            if (waited_for) {
                const std::uint32_t limit = first_successor(n, following.place);
                const std::int64_t wanted = std::max(t.begin[n], latest - c.duration[n]);
                const auto after = std::upper_bound(t.lane.begin() + i, t.lane.begin() + limit + 1, wanted);
                place[i] = std::max(i, static_cast<std::uint32_t>(after - t.lane.begin()) - 1);
            }
            following = {place[i], latest};
        }
        if (place[i] > i) {
            next_moved[i] = first_moved[place[i]];
            first_moved[place[i]] = i;
        }
    }

    std::vector<std::uint32_t> held;
    held.reserve(count);
    for (std::uint32_t i = 0; i <= count; ++i) {
        for (std::uint32_t late = first_moved[i]; late != none; late = next_moved[late]) held.push_back(order[late]);
        if (i < count && place[i] == i) held.push_back(order[i]);
    }
    return held;
}

/// Returns the peak of `held`. Where more than `peak` is in use, lets the waits that have moved across such a moment go
/// no further than to the first one. `position` is by node, in the order before. O(V log V + uses).
template <class = void>
[[nodiscard]] inline std::int64_t stop_before_peaks(const compact_tasks& c, std::span<const std::uint32_t> held,
                                                    std::span<const std::uint32_t> position, std::int64_t peak,
                                                    std::span<std::uint32_t> furthest, workspace& w) {
    const workspace::scope scratch(w);
    const std::span<std::uint32_t> left = w.take<std::uint32_t>(c.storage_uses.size());
    std::copy(c.storage_uses.begin(), c.storage_uses.end(), left.begin());
    std::int64_t now = 0, highest = 0;
    // Whatever does not move is in both orders in the same sequence, and the latest of it tells how far the order
    // before had come: now, and whenever there was too much in use.
    std::uint32_t reached = 0;
    std::vector<std::uint32_t> reached_when_high;
    for (const std::uint32_t n : held) {
        now += c.allocation[n];
        highest = std::max(highest, now);
        reached = std::max(reached, position[n]);
        if (now > peak && (reached_when_high.empty() || reached_when_high.back() < reached))
            reached_when_high.push_back(reached);
        if (c.kind[n] == compact_tasks::role::wait) {
            const auto high = std::upper_bound(reached_when_high.begin(), reached_when_high.end(), position[n]);
            if (high != reached_when_high.end()) furthest[n] = std::min(furthest[n], *high);
        }
        for (const std::uint32_t s : c.touched[n]) now -= --left[s] == 0 ? c.storage_bytes[s] : 0;
    }
    return highest;
}

/// An order whose launches are held back, and its peak.
struct held_order {
    std::vector<std::uint32_t> nodes;
    std::int64_t peak;
};

/// held_launches, with no higher a peak than `order` has, which is `peak`: it is tried again with waits that go less
/// far, and after a few times the order stays as it was. `t` are its times.
template <class = void>
[[nodiscard]] inline held_order held_within(const compact_tasks& c, std::span<const std::uint32_t> order,
                                            const order_times& t, std::int64_t peak, workspace& w) {
    const workspace::scope scratch(w);
    const std::span<std::uint32_t> furthest = w.take(c.size(), static_cast<std::uint32_t>(order.size()));
    const std::span<const std::uint32_t> last_use = last_uses(c, order, w);
    for (int attempt = 0; attempt < 8; ++attempt) {
        held_order held{held_launches(c, order, t, last_use, furthest, w), 0};
        held.peak = stop_before_peaks(c, held.nodes, t.position, peak, furthest, w);
        if (held.peak <= peak) return held;
    }
    return {{order.begin(), order.end()}, peak};
}

/// The waits of the order `held`, whose times are `after`, that stall its lane while it stalled in one of `starved` in
/// an order with the times `before`, whose lane is not ahead of that of `held`: since waits have moved, others may be
/// the ones that stall. O(V).
template <class = void>
[[nodiscard]] inline std::vector<std::uint32_t> starved_when_held(const compact_tasks& c, const order_times& before,
                                                                  std::span<const std::uint32_t> starved,
                                                                  std::span<const std::uint32_t> held,
                                                                  const order_times& after) {
    if (starved.empty()) return {};
    std::vector<std::pair<std::int64_t, std::int64_t>> stalls;  // from, to
    for (const std::uint32_t n : starved)
        stalls.emplace_back(before.lane[before.position[n]], before.lane[before.position[n] + 1]);
    std::sort(stalls.begin(), stalls.end());
    std::vector<std::uint32_t> now;
    auto stall = stalls.begin();
    for (std::uint32_t i = 0; i < held.size(); ++i) {
        while (stall != stalls.end() && stall->second <= after.lane[i]) ++stall;
        const bool stalls_here = c.kind[held[i]] == compact_tasks::role::wait && after.lane[i] < after.lane[i + 1];
        if (stalls_here && stall != stalls.end() && stall->first < after.lane[i + 1]) now.push_back(held[i]);
    }
    return now;
}

}  // namespace stretto::detail

#endif
