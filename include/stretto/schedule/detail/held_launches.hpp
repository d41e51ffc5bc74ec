// Launches are held back as far as they stay hidden. A pass issues a collective as soon as its channel is idle, and its
// wait as soon as the collective has ended. From then on the result occupies memory, although it may not be read for a
// long time.
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

/// The times at which the nodes of an order run, by the exact clock.
struct order_times {
    std::span<std::uint32_t> position;  ///< by node
    std::span<std::int64_t> begin;      ///< by node, for starts: when the channel begins them
    std::span<std::int64_t> lane;       ///< by position: when the lane reaches it; the last entry is the end
    std::int64_t makespan = 0;
};

/// Returns the times of an order. O(V); the arrays belong to the workspace.
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

/// Returns, by storage, the position at which an order uses it last. O(V + uses); the array belongs to the workspace.
template <class = void>
[[nodiscard]] inline std::span<const std::uint32_t> last_uses(const compact_tasks& c,
                                                              std::span<const std::uint32_t> order, workspace& w) {
    const std::span<std::uint32_t> last = w.take<std::uint32_t>(c.storage_bytes.size());
    for (std::uint32_t i = 0; i < order.size(); ++i)
        for (const std::uint32_t s : c.touched[order[i]]) last[s] = i;
    return last;
}

/// Returns an order in which waits and launches are delayed to save memory. A wait moves to its first successor in the
/// order if that can save memory. A start that has a wait moves toward it as far as the clock allows: until its
/// collective ends before it is needed by no more than its own duration. (A collective that ends later than that
/// already begins when it did.) So a collective that is hidden with time to spare stays hidden even if it takes twice
/// as long as the model says. The order on each channel is kept. The lane does nothing later than before, so the
/// makespan is no longer.
///
/// A start that is delayed creates its result later, and what it reads stays until its wait in either case, so this
/// never adds to the memory in use. A delayed wait may add to it, because what it would have freed is kept until then.
/// A wait moves at most to just before the position `furthest`, which is by node. `t` contains the times of `order`,
/// and `last_use` the position of the last use of each storage. O(V log V + E).
template <class = void>
[[nodiscard]] inline std::vector<std::uint32_t> held_launches(const compact_tasks& c,
                                                              std::span<const std::uint32_t> order,
                                                              const order_times& t,
                                                              std::span<const std::uint32_t> last_use,
                                                              std::span<const std::uint32_t> furthest, workspace& w) {
    using role = compact_tasks::role;
    const workspace::scope scratch(w);
    const auto count = static_cast<std::uint32_t>(order.size());
    const std::span<std::uint32_t> place =
        w.take<std::uint32_t>(order.size());  // by position: the node moves to just before that position
    const auto first_successor = [&](std::uint32_t n, std::uint32_t limit) {
        for (const std::uint32_t s : c.successors[n]) limit = std::min(limit, place[t.position[s]]);
        return limit;
    };
    // Returns whether a wait and its start together allocate more than the wait frees. Only then can delaying them save
    // memory.
    const auto keeps_less_before = [&](std::uint32_t wait) {
        std::int64_t freed = 0;
        for (const std::uint32_t s : c.touched[wait])
            if (last_use[s] == t.position[wait]) freed += c.storage_bytes[s];
        return c.allocation[c.launch[wait]] + c.allocation[wait] > freed;
    };

    // The loop below runs from the end. `next` contains, by machine, the place to which the next launch on the channel
    // goes, and the time at which that launch must have begun.
    struct next_launch {
        std::uint32_t place;
        std::int64_t begin;
    };
    std::vector<next_launch> next(c.machines, {count, t.makespan});
    // Nodes that move to the same place stay in order: each place has a list of the nodes that move before it, first to
    // last.
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
                // A wait that stays may stall the lane. At the place to which a wait moves, its collective has always
                // ended.
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

/// Returns the peak of `held`, an order in which launches and waits were delayed. If more than `peak` is in use at some
/// moments, lowers `furthest` so that waits that were moved across such a moment go no further than the first one.
/// `position` is by node, in the order before the moves. O(V log V + uses).
template <class = void>
[[nodiscard]] inline std::int64_t stop_before_peaks(const compact_tasks& c, std::span<const std::uint32_t> held,
                                                    std::span<const std::uint32_t> position, std::int64_t peak,
                                                    std::span<std::uint32_t> furthest, workspace& w) {
    const workspace::scope scratch(w);
    const std::span<std::uint32_t> left = w.take<std::uint32_t>(c.storage_uses.size());
    std::copy(c.storage_uses.begin(), c.storage_uses.end(), left.begin());
    std::int64_t now = 0, highest = 0;
    // Nodes that do not move are in both orders in the same sequence. So the largest original position so far tells how
    // far the order before the moves had come: now, and whenever too much was in use.
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

/// Returns the result of held_launches with a peak of at most `peak`, the peak of `order`. While the peak is higher, it
/// tries again with waits that move less far; after eight attempts it returns `order` unchanged. `t` contains the times
/// of `order`.
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

/// Returns the waits of the order `held`, with the times `after`, that stall its lane at a time at which one of the
/// waits `starved` stalled the lane in an order with the times `before`. Since waits have moved, others may be the ones
/// that stall. The lane of the order with the times `before` is never ahead of that of `held`. O(V), besides sorting
/// `starved`.
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
