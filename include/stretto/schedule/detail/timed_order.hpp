// An order with its times and its use of memory, of which a part may be rearranged. What a rearrangement would lead to
// is found without doing it: a search tries thousands, and keeps few.
#ifndef STRETTO_SCHEDULE_DETAIL_TIMED_ORDER_HPP
#define STRETTO_SCHEDULE_DETAIL_TIMED_ORDER_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/schedule/detail/compact_tasks.hpp"
#include "stretto/schedule/detail/lane_clock.hpp"
#include "stretto/schedule/detail/workspace.hpp"

namespace stretto::detail {

/// The order, timed by one of the clocks of detail/lane_clock.hpp. A window is a range of positions that starts at
/// `first`; an arrangement of it contains the nodes of the window, each once, in a sequence that respects dependences.
template <class Clock>
class timed_order {
    using moment = typename Clock::moment;

public:
    /// `order` contains every node once and respects dependences. Arrays are taken from the open scope of the
    /// workspace. O(V + uses).
    timed_order(const compact_tasks& c, Clock clock, std::span<const std::uint32_t> order, workspace& w)
        : c_(c),
          clock_(clock),
          position_(w.take<std::uint32_t>(c.size())),
          lane_(w.take<moment>(c.size() + std::size_t{1})),
          work_after_(w.take<std::int64_t>(c.size() + std::size_t{1})),
          live_before_(w.take<std::int64_t>(c.size() + std::size_t{1})),
          next_event_(w.take<std::uint32_t>(c.size() + std::size_t{1})),
          end_(w.take(c.size(), std::int64_t{0})),
          new_end_(w.take<std::int64_t>(c.size())),
          free_before_(w.take<std::int64_t>(c.size())),
          waits_(w.take(c.size(), 0u)),
          last_use_(w.take<std::uint32_t>(c.storage_bytes.size())),
          seen_(w.take(c.storage_bytes.size(), 0u)),
          channels_(c.machines),
          free_at_end_(c.machines, 0) {
        for (std::uint32_t n = 0; n < c.size(); ++n)
            if (c.launch[n] != no_node) ++waits_[c.launch[n]];
        assign(order);
    }
    /// Replaces the order by another one of all nodes. O(V + uses).
    void assign(std::span<const std::uint32_t> order) {
        node_.assign(order.begin(), order.end());
        for (std::uint32_t k = 0; k < size(); ++k)
            for (const std::uint32_t s : c_.touched[node_[k]]) last_use_[s] = k;
        live_before_[0] = work_after_[size()] = 0;
        next_event_[size()] = size();
        place(0, size());
        compute_times();
    }

    [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(node_.size()); }
    [[nodiscard]] const std::vector<std::uint32_t>& nodes() const noexcept { return node_; }
    [[nodiscard]] std::uint32_t node(std::uint32_t position) const { return node_[position]; }
    [[nodiscard]] std::uint32_t position(std::uint32_t n) const { return position_[n]; }
    [[nodiscard]] std::int64_t makespan() const noexcept { return makespan_; }
    /// Returns the work of all kernels.
    [[nodiscard]] std::int64_t work() const { return work_after_[0]; }
    /// Returns when the lane reaches a position; at size(), when it ends.
    [[nodiscard]] std::int64_t lane(std::uint32_t position) const { return clock_.time(moment_at(position)); }
    /// Returns how long the lane stalls at a position.
    [[nodiscard]] std::int64_t stall(std::uint32_t position) const {
        return is_wait(node_[position]) ? lane(position + 1) - lane(position) : 0;
    }
    /// Returns the first position, from `position` on, with a start or a wait; size() if there is none.
    [[nodiscard]] std::uint32_t event_from(std::uint32_t position) const { return next_event_[position]; }
    /// Returns when the collective of a start ends.
    [[nodiscard]] std::int64_t end(std::uint32_t start) const { return end_[start]; }
    /// Returns whether a start waits for its channel.
    [[nodiscard]] bool queues(std::uint32_t start) const { return free_before_[start] > lane(position_[start]); }

    /// Returns whether no more than `limit` bytes would be alive in the window. O(its nodes and their uses).
    [[nodiscard]] bool fits(std::uint32_t first, std::span<const std::uint32_t> arranged, std::int64_t limit) {
        const std::uint32_t end = first + static_cast<std::uint32_t>(arranged.size());
        ++stamp_;
        std::int64_t live = live_before_[end];
        for (std::size_t k = arranged.size(); k-- > 0;) {
            // From the end, the first use of a storage that no node after the window uses is its last one.
            for (const std::uint32_t s : c_.touched[arranged[k]])
                if (last_use_[s] < end && seen_[s] != stamp_) {
                    seen_[s] = stamp_;
                    live += c_.storage_bytes[s];
                }
            if (live > limit) return false;
            live -= c_.allocation[arranged[k]];
        }
        return true;
    }

    /// Returns the makespan with this arrangement of a window. If that is longer than `at_most`, it may return
    /// INT64_MAX instead, because that takes less time to find out. O(nodes in the window + starts and waits after it);
    /// it ends where nothing differs any more.
    [[nodiscard]] std::int64_t makespan_with(std::uint32_t first, std::span<const std::uint32_t> arranged,
                                             std::int64_t at_most) {
        enter(first, arranged.size());
        return run<false>(first, moment_at(first), arranged, at_most);
    }

    /// Arranges a window. O(V) at most; if later times do not change, as makespan_with and fits.
    void arrange(std::uint32_t first, std::span<const std::uint32_t> arranged) {
        const std::uint32_t end = first + static_cast<std::uint32_t>(arranged.size());
        const moment begin = moment_at(first);
        enter(first, arranged.size());
        for (std::uint32_t k = first; k < end; ++k) {
            node_[k] = arranged[k - first];
            for (const std::uint32_t s : c_.touched[node_[k]])
                if (last_use_[s] < end) last_use_[s] = k;
        }
        place(first, end);
        makespan_ = run<true>(first, begin, arranged, INT64_MAX);
    }

private:
    using role = compact_tasks::role;

    /// A channel that a window or what comes after it uses, in the call with this stamp.
    struct channel {
        std::uint32_t stamp = 0;
        std::int64_t free = 0;      // when it is next free
        std::int64_t was_free = 0;  // the same, in the order as it is
    };

    [[nodiscard]] bool is_kernel(std::uint32_t n) const { return c_.kind[n] == role::compute; }
    [[nodiscard]] bool is_start(std::uint32_t n) const { return c_.kind[n] == role::start; }
    [[nodiscard]] bool is_wait(std::uint32_t n) const { return c_.kind[n] == role::wait; }

    /// Fills in what depends on positions only, for the nodes at [first, end). Their last uses are known.
    void place(std::uint32_t first, std::uint32_t end) {
        std::int64_t live = live_before_[first];
        for (std::uint32_t k = first; k < end; ++k) {
            const std::uint32_t n = node_[k];
            position_[n] = k;
            live_before_[k] = live;
            live += c_.allocation[n];
            for (const std::uint32_t s : c_.touched[n])
                if (last_use_[s] == k) live -= c_.storage_bytes[s];
        }
        live_before_[end] = live;
        for (std::uint32_t k = end; k-- > first;) {
            const std::uint32_t n = node_[k];
            work_after_[k] = work_after_[k + 1] + (is_kernel(n) ? clock_.duration(n) : 0);
            next_event_[k] = is_start(n) || is_wait(n) ? k : next_event_[k + 1];
        }
        for (std::uint32_t k = first; k-- > 0 && next_event_[k] != k;) next_event_[k] = next_event_[k + 1];
    }

    void compute_times() {
        moment lane;
        std::fill(free_at_end_.begin(), free_at_end_.end(), 0);
        for (std::uint32_t k = 0; k < size(); ++k) {
            const std::uint32_t n = node_[k];
            if (next_event_[k] == k) lane_[k] = lane;
            if (is_kernel(n)) lane.work += clock_.duration(n);
            else if (is_wait(n)) clock_.wait_until(lane, end_[c_.launch[n]]);
            else if (is_start(n)) {
                std::int64_t& free = free_at_end_[c_.machine[n]];
                free_before_[n] = free;
                end_[n] = free = std::max(clock_.time(lane), free) + clock_.duration(n);
                clock_.launch(lane, free);
            }
        }
        lane_[size()] = lane;
        makespan_ = std::max(clock_.time(lane), *std::max_element(free_at_end_.begin(), free_at_end_.end()));
    }

    /// Begins a call: looks up the channels that a window uses.
    void enter(std::uint32_t first, std::size_t count) {
        ++stamp_;
        met_.clear();
        const std::uint32_t end = first + static_cast<std::uint32_t>(count);
        for (std::uint32_t k = next_event_[first]; k < end; k = next_event_[k + 1])
            if (is_start(node_[k])) channel_of(node_[k]).was_free = end_[node_[k]];
    }
    /// Returns the channel of a start, which is free as before this start if the call has not met it yet.
    [[nodiscard]] channel& channel_of(std::uint32_t start) {
        const std::uint32_t m = c_.machine[start];
        channel& found = channels_[m];
        if (found.stamp != stamp_) {
            found = {stamp_, free_before_[start], free_before_[start]};
            met_.push_back(m);
        }
        return found;
    }

    /// Returns the moment at which the lane reaches a position. It only works until the next start or wait.
    [[nodiscard]] moment moment_at(std::uint32_t position) const {
        const std::uint32_t event = next_event_[position];
        moment m = lane_[event];
        m.work -= work_after_[position] - work_after_[event];
        return m;
    }

    /// Computes the times from `first` on, which the lane reaches at `lane`, and returns the makespan. If `keeps`, the
    /// window is in place, and the times are kept.
    ///
    /// After the window, three kinds of times decide all later ones: those of the lane, of the channels, and of the
    /// ends of collectives whose waits are still to come. If none of them differs, it ends. It also ends where the lane
    /// can no longer end by `at_most`.
    template <bool keeps>
    [[nodiscard]] std::int64_t run(std::uint32_t first, moment lane, std::span<const std::uint32_t> arranged,
                                   std::int64_t at_most) {
        std::uint32_t differing = 0;  // how many of the times of channels and of such ends
        const auto run_start = [&](std::uint32_t n, channel& on) {
            if constexpr (keeps) free_before_[n] = on.free;
            new_end_[n] = on.free = std::max(clock_.time(lane), on.free) + clock_.duration(n);
            clock_.launch(lane, on.free);
            if (new_end_[n] != end_[n]) differing += waits_[n];
        };
        const auto run_wait = [&](std::uint32_t n) {
            const std::uint32_t launch = c_.launch[n];
            const std::int64_t end = position_[launch] >= first ? new_end_[launch] : end_[launch];
            clock_.wait_until(lane, end);
            differing -= end != end_[launch];
        };
        std::uint32_t k = first;
        for (const std::uint32_t n : arranged) {
            if (keeps && next_event_[k] == k) lane_[k] = lane;
            ++k;
            if (is_kernel(n)) lane.work += clock_.duration(n);
            else if (is_start(n)) run_start(n, channels_[c_.machine[n]]);
            else if (is_wait(n)) run_wait(n);
        }
        for (const std::uint32_t m : met_) differing += channels_[m].free != channels_[m].was_free;
        while (lane != moment_at(k) || differing != 0) {
            if (!keeps && clock_.time(lane) + work_after_[k] > at_most) return INT64_MAX;
            const std::uint32_t event = next_event_[k];
            lane.work += work_after_[k] - work_after_[event];
            if constexpr (keeps) lane_[event] = lane;
            if (event == size()) return finished<keeps>(first, k, clock_.time(lane));
            const std::uint32_t n = node_[event];
            if (is_start(n)) {
                channel& on = channel_of(n);
                differing -= on.free != on.was_free;
                run_start(n, on);
                on.was_free = end_[n];
                differing += on.free != on.was_free;
            } else {
                run_wait(n);
            }
            k = event + 1;
        }
        if constexpr (keeps) keep_ends(first, k);
        return makespan_;
    }
    /// Ends a run that has reached the end of the order.
    template <bool keeps>
    [[nodiscard]] std::int64_t finished(std::uint32_t first, std::uint32_t reached, std::int64_t lane) {
        if constexpr (keeps) {
            keep_ends(first, reached);
            for (const std::uint32_t m : met_) free_at_end_[m] = channels_[m].free;
        }
        std::int64_t makespan = lane;
        for (std::uint32_t m = 1; m < c_.machines; ++m)
            makespan = std::max(makespan, channels_[m].stamp == stamp_ ? channels_[m].free : free_at_end_[m]);
        return makespan;
    }
    /// Keeps the ends of the collectives that start at [first, end).
    void keep_ends(std::uint32_t first, std::uint32_t end) {
        for (std::uint32_t k = next_event_[first]; k < end; k = next_event_[k + 1])
            if (is_start(node_[k])) end_[node_[k]] = new_end_[node_[k]];
    }

    const compact_tasks& c_;
    const Clock clock_;
    std::vector<std::uint32_t> node_;        // by position
    std::span<std::uint32_t> position_;      // by node
    std::span<moment> lane_;                 // by position of starts and waits: when the lane is there; then its end
    std::span<std::int64_t> work_after_;     // by position: the work of the kernels from there on
    std::span<std::int64_t> live_before_;    // by position: the bytes alive before its node runs
    std::span<std::uint32_t> next_event_;    // by position: the first start or wait from there on
    std::span<std::int64_t> end_, new_end_;  // by start: the end of its collective; in the current call
    std::span<std::int64_t> free_before_;    // by start: when its channel is free
    std::span<std::uint32_t> waits_;         // by start: the number of its waits
    std::span<std::uint32_t> last_use_;      // by storage: the position of its last use
    std::span<std::uint32_t> seen_;          // by storage: the stamp of the last call that has met it
    std::vector<channel> channels_;          // by machine
    std::vector<std::int64_t> free_at_end_;  // by machine
    std::vector<std::uint32_t> met_;         // the channels that the current call has met
    std::int64_t makespan_ = 0;
    std::uint32_t stamp_ = 0;
};

}  // namespace stretto::detail

#endif
