// This is the clock for kernels that share their machine with data transfers: while at least one channel transfers,
// kernels run slower by a factor. A plan that moves many small collectives under kernels wins by the plain clock and
// can lose on hardware; this clock tells the two cases apart.
#ifndef STRETTO_SCHEDULE_CONTENTION_HPP
#define STRETTO_SCHEDULE_CONTENTION_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/core/config.hpp"
#include "stretto/schedule/simulate.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace stretto {

/// The factor by which kernels run slower while a channel transfers, as a fraction: 5/4 for 1.25. Both numbers are
/// between 1 and 2^20, and the fraction is 1 or more.
struct contention {
    std::int64_t numerator = 1;
    std::int64_t denominator = 1;

    /// Returns whether kernels are not slowed down.
    [[nodiscard]] constexpr bool none() const noexcept { return numerator == denominator; }
    /// Returns whether the numbers are as stated above.
    [[nodiscard]] constexpr bool valid() const noexcept {
        constexpr std::int64_t most = std::int64_t{1} << 20;
        return denominator >= 1 && numerator >= denominator && numerator <= most;
    }
    friend constexpr bool operator==(const contention&, const contention&) = default;
};

namespace detail {

/// Computes when kernels end that share their machine with transfers. The transfers of one channel do not overlap, so
/// at most one per channel is in flight at any time. Transfers that end before the lane's current time are dropped.
template <class = void>
class contended_lane {
public:
    contended_lane(std::size_t channels, contention c) : place_(channels, unused), c_(c) {}

    /// Adds a transfer. Precondition: it begins no earlier than the previous transfer on its channel ends.
    void add_transfer(std::size_t on, std::int64_t begin, std::int64_t end) {
        if (place_[on] == unused) {
            place_[on] = transfers_.size();
            transfers_.emplace_back();
        }
        transfers_[place_[on]].intervals.push_back({begin, end});
    }
    /// Returns the end of a kernel of duration `work` that begins at `t`. Time is divided into stretches, each of which
    /// lasts until the latest end of the transfers in flight. In a stretch of L ns, the kernel does floor(L/c) of its
    /// work. If no more than that is left, it ends after c times what is left, rounded up. Between stretches it runs at
    /// full speed. O(channels in use) for each call and for each stretch. Precondition: t never decreases from call to
    /// call.
    std::int64_t end_of(std::int64_t t, std::int64_t work) {
        for (channel& ch : transfers_) {
            while (ch.next < ch.intervals.size() && ch.intervals[ch.next].end <= t) ++ch.next;
            ch.ahead = ch.next;
        }
        const std::int64_t p = c_.numerator, q = c_.denominator;
        while (work > 0) {
            std::int64_t busy = t, idle_until = t + work;
            for (channel& ch : transfers_) {
                while (ch.ahead < ch.intervals.size() && ch.intervals[ch.ahead].end <= t) ++ch.ahead;
                if (ch.ahead == ch.intervals.size()) continue;
                const interval& first = ch.intervals[ch.ahead];
                if (first.begin > t) {
                    if (first.begin < idle_until) idle_until = first.begin;
                } else if (first.end > busy) {
                    busy = first.end;
                }
            }
            if (busy == t) {
                work -= idle_until - t;
                t = idle_until;
                continue;
            }
            const std::int64_t length = busy - t;
            const std::int64_t done = length / p * q + length % p * q / p;  // floor(length * q / p)
            if (work <= done) return t + work / q * p + (work % q * p + q - 1) / q;
            work -= done;
            t = busy;
        }
        return t;
    }

private:
    struct interval {
        std::int64_t begin, end;
    };
    struct channel {
        std::vector<interval> intervals;
        std::size_t next = 0;   // the first transfer that ends after the lane's current time
        std::size_t ahead = 0;  // the first transfer that ends after the current time of the queried kernel
    };
    static constexpr std::size_t unused = SIZE_MAX;

    std::vector<std::size_t> place_;  // by channel: its place in transfers_, or unused if it has not transferred yet
    std::vector<channel> transfers_;
    contention c_;
};

}  // namespace detail

/// Returns whether the sum of all durations, times c, is at most 2^62. If so, no time of `g` under this contention
/// overflows, not even if all kernels are slowed down all the time. It errs on the side of false by rounding. O(V).
/// Precondition: `c` is valid.
template <class = void>
[[nodiscard]] bool times_fit(const task_graph& g, contention c) {
    constexpr std::int64_t most = std::int64_t{1} << 62;
    std::int64_t left = most / c.numerator * c.denominator;
    for (const nanoseconds d : g.duration)
        if ((left -= d.count) < 0) return false;
    return true;
}

/// Executes `order` by the exact clock under contention. It is simulate(g, order), except that kernels run slower while
/// a channel transfers, which is from the beginning to the end of any start that precedes them in the order. Transfers
/// keep their durations. `compute` includes the time that contention adds, and `slowed` contains that time for each
/// kernel. With contention 1 the result is that of simulate(g, order). O(V + groups + channels in use * (kernels +
/// stretches)). Preconditions: those of simulate, a valid contention, and times_fit.
template <class = void>
[[nodiscard]] simulation simulate(const task_graph& g, std::span<const task_id> order, contention c) {
    STRETTO_ASSERT(c.valid(), "contention is a fraction of 1 or more, with numbers up to 2^20");
    if (c.none()) return simulate(g, order);
    simulation s;
    s.begin.resize(g.size());
    s.stall.resize(g.size());
    s.slowed.resize(g.size());
    detail::contended_lane<> lane(g.groups, c);
    std::vector<nanoseconds> channel_free(g.groups);
    nanoseconds t;
    for (const task_id task : order) {
        s.begin[task] = t;
        switch (g.kind[task]) {
            case op_kind::compute: {
                const nanoseconds end{lane.end_of(t.count, g.duration[task].count)};
                s.slowed[task] = end - t - g.duration[task];
                s.compute += end - t;
                t = end;
                break;
            }
            case op_kind::start: {
                nanoseconds& free = channel_free[g.group[task]];
                s.begin[task] = t > free ? t : free;
                free = s.begin[task] + g.duration[task];
                lane.add_transfer(g.group[task], s.begin[task].count, free.count);
                break;
            }
            case op_kind::wait:
                if (const task_id start = g.launch[task]; start != no_task) {
                    const nanoseconds end = s.begin[start] + g.duration[start];
                    if (end > t) {
                        s.stall[task] = end - t;
                        s.exposed += end - t;
                        t = end;
                    }
                }
                s.begin[task] = t;
                break;
            case op_kind::input:
            case op_kind::view:
            case op_kind::output:
                break;
        }
    }
    s.makespan = t;
    for (const nanoseconds free : channel_free)
        if (free > s.makespan) s.makespan = free;
    return s;
}

}  // namespace stretto

#endif
