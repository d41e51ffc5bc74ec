// Local search improves an order by small moves. List passes decide what runs next and never take that back; a move
// changes what they decided. A move that makes the step faster is kept, and so is one that makes it slower by no more
// than a random amount, which becomes smaller from move to move: simulated annealing. Orders that are a little slower,
// or no faster, lead to orders from which other moves help. The fastest order on the way is the result, and after each
// quarter of the moves the search goes on from there.
//
// Most moves aim at a stall, and the longer it is, the more of them. Where the lane waits for a collective, that may be
// launched before other work, or other work may come before the wait. A node moves together with what it needs, or with
// what needs it, so every move respects dependences. One move in eight is that of any node, which can make room in
// memory. Where transfers slow down kernels, moves of launches may let them run beside each other, or under a stall;
// the more time is lost to slow kernels and the less to stalls, the more of them.
//
// Source: S. Kirkpatrick, C. D. Gelatt and M. P. Vecchi, Optimization by simulated annealing, Science 220, 1983.
#ifndef STRETTO_SCHEDULE_DETAIL_LOCAL_SEARCH_HPP
#define STRETTO_SCHEDULE_DETAIL_LOCAL_SEARCH_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/schedule/detail/compact_tasks.hpp"
#include "stretto/schedule/detail/lane_clock.hpp"
#include "stretto/schedule/detail/number_sequence.hpp"
#include "stretto/schedule/detail/timed_order.hpp"
#include "stretto/schedule/detail/weighted_list.hpp"
#include "stretto/schedule/detail/workspace.hpp"

namespace stretto::detail {

/// Improves one order within a limit, which no order on the way exceeds.
template <class Clock>
class local_search {
public:
    /// `order` contains every node once, respects dependences, and has a peak of at most `limit` bytes. Arrays are
    /// taken from the open scope of the workspace. O(V + uses).
    local_search(const compact_tasks& c, Clock clock, std::span<const std::uint32_t> order, std::int64_t limit,
                 workspace& w)
        : c_(c),
          clock_(clock),
          limit_(limit),
          order_(c, clock, order, w),
          fastest_(order.begin(), order.end()),
          makespan_(order_.makespan()),
          moves_(w.take(c.size(), 0u)),
          window_(w.take<std::uint32_t>(most_moved)),
          others_(w.take<std::uint32_t>(most_moved)) {
        if constexpr (Clock::slows_kernels) list_transfers();
    }

    /// Returns the fastest order so far, and its makespan.
    [[nodiscard]] const std::vector<std::uint32_t>& nodes() const noexcept { return fastest_; }
    [[nodiscard]] std::int64_t makespan() const noexcept { return makespan_; }

    /// Tries moves, as many as `tries`, or until the order takes no longer than `enough`. A move takes O(starts and
    /// waits) besides its window of constant size, and O(V) at most if it is kept.
    void run(std::int64_t enough, int tries) {
        // At first, moves may make the step slower by the time of six nodes on average. If there are fewer than two
        // tries per node, they do not suffice to make up for that. The bound avoids overflow.
        constexpr std::int64_t most_per_node = std::int64_t{1} << 39;
        const std::int64_t per_node = makespan_ / std::max(1u, c_.size());
        const bool enough_tries = static_cast<std::uint32_t>(tries) / 2 >= c_.size();
        const std::int64_t hottest = enough_tries ? 6 * std::min(per_node, most_per_node) : 0;
        const int quarter = tries / 4 + 1;
        for (int k = 0; k < tries && makespan_ > enough; ++k) {
            const bool returns = k % quarter == 0 && order_.makespan() > makespan_;
            if (returns) order_.assign(fastest_);
            const std::int64_t before = order_.makespan();
            if (returns || k % relisted == 0) list_stalls();
            const int left = tries - k;
            tolerated_ = numbers_.exponential(hottest * left / tries * left / tries);
            if (slowdown_ > 0 && numbers_.below(slowdown_ + stalls_.sum()) < slowdown_)
                move(transfers_.at(numbers_.below(transfers_.sum())).thing);
            else if (stalls_.sum() == 0 || numbers_.below(8) == 0) move_any();
            else shorten(stalls_.at(numbers_.below(stalls_.sum())));
            if (order_.makespan() >= before) continue;
            list_stalls();
            if (order_.makespan() < makespan_) {
                makespan_ = order_.makespan();
                fastest_ = order_.nodes();
            }
        }
        if (order_.nodes() != fastest_) order_.assign(fastest_);
    }

    /// Returns the waits that stall although other work is ready: the first kernel that does not depend on the wait
    /// could run if memory had room for it. Each stall takes as long as a move. Precondition: nothing has run, or `run`
    /// was the last call.
    [[nodiscard]] std::vector<std::uint32_t> starved() {
        std::vector<std::uint32_t> waits;
        for (std::uint32_t k = order_.event_from(0); k < order_.size(); k = order_.event_from(k + 1))
            if (order_.stall(k) > 0 && memory_keeps_back(k)) waits.push_back(order_.node(k));
        return waits;
    }

private:
    using role = compact_tasks::role;

    /// Windows have at most this many nodes. Larger ones gain a little more per move, but far less in the same time.
    static constexpr std::uint32_t most_moved = 512, furthest = most_moved - 1;
    /// Stalls are listed anew after this many moves, since those that do not shorten the makespan may have moved
    /// stalls.
    static constexpr int relisted = 256;
    static constexpr std::int64_t any_work = INT64_MAX;

    /// A wait that stalls the lane, or the last collective of the order if that ends after the lane.
    struct stalled_wait {
        std::uint32_t launch;
        std::uint32_t wait;  // no_node for the last collective
    };

    [[nodiscard]] bool is_kernel(std::uint32_t n) const { return c_.kind[n] == role::compute; }
    [[nodiscard]] std::int64_t work_of(std::uint32_t n) const { return is_kernel(n) ? clock_.duration(n) : 0; }

    void list_transfers() {
        std::vector<std::int64_t> on(c_.machines, 0);  // by channel
        for (std::uint32_t n = 0; n < c_.size(); ++n) {
            if (c_.kind[n] != role::start) continue;
            transfers_.add(n, clock_.duration(n));
            busiest_ = std::max(busiest_, on[c_.machine[n]] += clock_.duration(n));
        }
    }
    /// Finds what moves may aim at.
    void list_stalls() {
        stalls_.clear();
        std::uint32_t last = no_node;
        for (std::uint32_t k = order_.event_from(0); k < order_.size(); k = order_.event_from(k + 1)) {
            const std::uint32_t n = order_.node(k);
            if (c_.kind[n] == role::wait) stalls_.add({c_.launch[n], n}, order_.stall(k));
            else if (order_.end(n) == order_.makespan()) last = n;
        }
        if constexpr (Clock::slows_kernels) slowdown_ = avoidable_slowdown();
        if (last != no_node) stalls_.add({last, no_node}, order_.makespan() - order_.lane(order_.size()));
    }
    /// Returns how much longer kernels take than if all transfers ran beside those of the busiest channel, and these
    /// under the stalls of the lane as far as possible.
    [[nodiscard]] std::int64_t avoidable_slowdown() const {
        const std::int64_t stalled = stalls_.sum(), slowed = order_.lane(order_.size()) - order_.work() - stalled;
        return std::max<std::int64_t>(0, slowed - clock_.slowdown(std::max<std::int64_t>(0, busiest_ - stalled)));
    }

    /// Tries to shorten a stall.
    void shorten(const typename weighted_list<stalled_wait>::entry& stall) {
        const stalled_wait s = stall.thing;
        // Other work may fill the rest of the stall.
        const std::int64_t wanted = std::max<std::int64_t>(1, stall.weight >> numbers_.below(4));
        const std::int64_t choice = numbers_.below(16);
        if (choice < 6) move_up(order_.position(in_queue_before(s.launch)), 0, wanted);
        else if (choice >= 14) move_up_any(order_.position(s.launch));
        else if (s.wait == no_node) return;
        else if (choice < 10) move_down(order_.position(s.wait), order_.size() - 1, wanted);
        else fill(order_.position(s.wait));
    }
    /// Returns a launch, or one of those behind which it queues on its channel, the first of them as a rule.
    [[nodiscard]] std::uint32_t in_queue_before(std::uint32_t launch) {
        std::uint32_t k = order_.position(launch);
        const std::uint32_t lowest = k - std::min(k, most_moved);
        while (order_.queues(launch) && numbers_.below(8) != 0) {
            do
                if (k == lowest) return launch;
            while (c_.kind[order_.node(--k)] != role::start || c_.machine[order_.node(k)] != c_.machine[launch]);
            launch = order_.node(k);
        }
        return launch;
    }
    /// Moves a later kernel to before the wait at this position.
    void fill(std::uint32_t wait) {
        if (wait + 1 == order_.size()) return;
        std::uint32_t k = wait + numbers_.magnitude(std::min(furthest, order_.size() - 1 - wait));
        while (k < order_.size() && !is_kernel(order_.node(k))) ++k;
        if (k < order_.size()) move_up(k, wait, any_work);
    }
    /// Moves the node at a position to somewhere before it.
    void move_up_any(std::uint32_t at) {
        if (at > 0) move_up(at, at - numbers_.magnitude(std::min(furthest, at)), any_work);
    }
    /// Moves some node up or down.
    void move_any() {
        if (order_.size() >= 2) move(order_.node(static_cast<std::uint32_t>(numbers_.below(order_.size()))));
    }
    /// Moves a node up or down.
    void move(std::uint32_t n) {
        const std::uint32_t at = order_.position(n), after = order_.size() - 1 - at;
        if (numbers_.below(2) == 0) move_up_any(at);
        else if (after > 0) move_down(at, at + numbers_.magnitude(std::min(furthest, after)), any_work);
    }

    /// Moves the node at a position, with what it needs, to before other work worth `wanted`, but no further up than
    /// `first`.
    void move_up(std::uint32_t at, std::uint32_t first, std::int64_t wanted) {
        if (gather_up(at, first, wanted)) keep_if_tolerated(at + 1 - count_);
    }
    /// The same downwards: moves a node, with what needs it, to behind other work, but no further than `last`.
    void move_down(std::uint32_t at, std::uint32_t last, std::int64_t wanted) {
        ++stamp_;
        moves_[order_.node(at)] = stamp_;
        std::uint32_t moving = 0, staying = 0;
        std::int64_t work = 0;
        for (std::uint32_t k = at; k <= last && work < wanted; ++k) {
            if (moving + staying == most_moved) return;
            const std::uint32_t n = order_.node(k);
            if (moves_[n] == stamp_) {
                for (const std::uint32_t s : c_.successors[n]) moves_[s] = stamp_;
                others_[moving++] = n;
            } else {
                work += work_of(n);
                window_[staying++] = n;
            }
        }
        if (staying == 0) return;
        std::copy_n(others_.begin(), moving, window_.begin() + staying);
        count_ = moving + staying;
        keep_if_tolerated(at);
    }
    /// Arranges a window that ends at a position, so that the node there and what it needs come first. Returns false
    /// if nothing would move, or too much.
    [[nodiscard]] bool gather_up(std::uint32_t at, std::uint32_t first, std::int64_t wanted) {
        ++stamp_;
        moves_[order_.node(at)] = stamp_;
        std::uint32_t moving = 0, staying = 0;
        std::int64_t work = 0;
        for (std::uint32_t k = at + 1; k > first && work < wanted; --k) {
            if (moving + staying == most_moved) return false;
            const std::uint32_t n = order_.node(k - 1);
            if (moves_[n] == stamp_) {
                for (const std::uint32_t p : c_.predecessors[n]) moves_[p] = stamp_;
                window_[moving++] = n;
            } else {
                work += work_of(n);
                others_[staying++] = n;
            }
        }
        std::reverse(window_.begin(), window_.begin() + moving);
        std::reverse_copy(others_.begin(), others_.begin() + staying, window_.begin() + moving);
        count_ = moving + staying;
        return staying > 0;
    }
    /// Keeps the arrangement of the window at `first` if it fits, and does not make the step slower than tolerated.
    void keep_if_tolerated(std::uint32_t first) {
        const std::span<const std::uint32_t> arranged = window_.first(count_);
        const std::int64_t at_most = order_.makespan() + tolerated_;
        if (order_.fits(first, arranged, limit_) && order_.makespan_with(first, arranged, at_most) <= at_most)
            order_.arrange(first, arranged);
    }

    /// Returns whether memory has no room for the first kernel after a wait that could run instead.
    [[nodiscard]] bool memory_keeps_back(std::uint32_t wait) {
        const std::uint32_t end = wait + std::min(most_moved, order_.size() - wait);
        ++stamp_;
        const std::uint32_t behind = stamp_;
        moves_[order_.node(wait)] = behind;
        for (std::uint32_t k = wait; k < end; ++k) {
            const std::uint32_t n = order_.node(k);
            // What another wait precedes is not ready either.
            const bool waits = moves_[n] == behind || c_.kind[n] == role::wait;
            if (waits)
                for (const std::uint32_t s : c_.successors[n]) moves_[s] = behind;
            else if (is_kernel(n))
                return gather_up(k, wait, any_work) && !order_.fits(wait, window_.first(count_), limit_);
        }
        return false;
    }

    const compact_tasks& c_;
    const Clock clock_;
    const std::int64_t limit_;
    timed_order<Clock> order_;
    std::vector<std::uint32_t> fastest_;  // the fastest order so far
    std::int64_t makespan_;               // its makespan
    std::int64_t tolerated_ = 0;          // by how much the next move may make the step slower
    number_sequence numbers_;
    weighted_list<stalled_wait> stalls_;  // in order, by the time that they last
    weighted_list<std::uint32_t>
        transfers_;                   // launches, by the time of their transfers; none if they slow down nothing
    std::int64_t busiest_ = 0;        // the time of all transfers on the busiest channel
    std::int64_t slowdown_ = 0;       // how much moves of launches may gain
    std::span<std::uint32_t> moves_;  // by node: the stamp of the last call in which it moves
    std::span<std::uint32_t> window_, others_;  // the arrangement that is being made
    std::uint32_t count_ = 0;                   // the nodes in it
    std::uint32_t stamp_ = 0;
};

}  // namespace stretto::detail

#endif
