// This is a lower bound on the makespan that follows from a kernel v at which memory is scarce: little work can be
// deferred until after v. Deferred work keeps alive what it reads. In a backward pass, for example, computing the
// gradient of a weight after v keeps the gradient of an activation alive at v, and that is larger than the part of the
// weight's gradient that a rank keeps. So where the limit leaves little room at v, nearly all kernels that may run
// before v must do so, and the makespan is at least
//
//     (work of the kernels before v, and of v) + (longest path after v)
//
// One such kernel is the last one in a backward pass, the gradient of the embedding: its reduction comes after it.
#ifndef STRETTO_SCHEDULE_DETAIL_DEFERRED_WORK_HPP
#define STRETTO_SCHEDULE_DETAIL_DEFERRED_WORK_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/schedule/detail/compact_tasks.hpp"
#include "stretto/schedule/detail/memory_flow.hpp"
#include "stretto/schedule/detail/memory_jobs.hpp"
#include "stretto/schedule/detail/path_lengths.hpp"
#include "stretto/schedule/detail/workspace.hpp"

namespace stretto::detail {

/// Computes the bound. Charge every kernel that runs before v `price` bytes per nanosecond of its work. A flow at v
/// (detail/memory_flow.hpp) is at most the sum of these charges and of what is alive at v, which is within the limit.
/// So
///
///     work before v >= (flow - limit) / price
///
/// for any price. Besides, an order that is to be faster than some makespan cannot defer everything: a collective that
/// depends on deferred work needs its channel after v, and so do the collectives that must come after v. Whatever would
/// take too long after v must run before it, with all its predecessors. Either an order is no faster than that
/// makespan, or the bound holds for it.
template <class = void>
class deferred_work {
public:
    /// Reads the heads and tails of `lengths`; heads may have been raised. The arrays are taken from the open scope of
    /// the workspace.
    deferred_work(const compact_tasks& c, const forced_memory<>& forced, const path_lengths& lengths, workspace& w)
        : c_(c),
          forced_(forced),
          lengths_(lengths),
          w_(w),
          flow_(c, forced.readers(), w),
          side_(w.take<kernel_side>(c.size())),
          needed_(w.take<std::int64_t>(c.size())),
          cost_(w.take<std::int64_t>(c.size())),
          carried_(w.take<std::int64_t>(c.storage_bytes.size())) {
        for (std::uint32_t n = 0; n < c.size(); ++n)
            if (is_kernel(n)) all_work_ += c.duration[n];
        for (const std::int64_t size : c.storage_bytes) all_bytes_ += size;
    }

    /// Returns a makespan that no order within `limit` can beat. It is at least `known`, another such bound. O(V + E +
    /// uses) for each of up to 24 flows; captured steps need about six.
    [[nodiscard]] std::int64_t bound_within(std::int64_t limit, std::int64_t known) {
        for (const std::size_t place : forced_.scarcest_first()) {
            // Where most of the memory may be free, too much work may be deferred.
            if (forced_.forced(place) < limit / 2) break;
            v_ = forced_.kernels()[place];
            const std::int64_t tail = lengths_.tail[v_], worthwhile = known + known / 1000;
            if (all_work_ + tail <= worthwhile) continue;
            forced_.decide_sides(place, side_);
            std::int64_t makespan = all_work_ + tail;  // if nothing is deferred
            for (std::uint32_t n = v_ + 1; n < c_.size(); ++n)
                if (is_kernel(n) && side_[n] == kernel_side::after) makespan -= c_.duration[n];
            if (makespan <= worthwhile) continue;
            // Only the scarcest kernel that can matter is tried, because each one takes several flows.
            return std::max(known, bound_of(place, limit, known, makespan));
        }
        return known;
    }

private:
    static constexpr int most_rounds = 4, most_prices = 6;

    [[nodiscard]] bool is_kernel(std::uint32_t n) const { return c_.kind[n] == compact_tasks::role::compute; }

    /// Returns the bound for the kernel v with this place. A bound above `makespan` would be of no more use than
    /// `makespan`. Everything concluded holds for orders that are faster than `makespan`. If too little follows from
    /// that, `makespan` is lowered, but not below `known`.
    [[nodiscard]] std::int64_t bound_of(std::size_t place, std::int64_t limit, std::int64_t known,
                                        std::int64_t makespan) {
        find_needed();
        const std::int64_t tail = lengths_.tail[v_];
        std::int64_t end = lengths_.head[v_] + c_.duration[v_];  // v ends no earlier
        for (int round = 0; round < most_rounds && end + tail < makespan; ++round) {
            if (round > 0) {
                const std::int64_t lower = std::min(makespan, end + longest_needed());
                if (lower <= std::max(known, end + tail)) break;
                makespan = lower;
            }
            hold_before(makespan - end);
            end = std::max(end, earliest_end(place, limit, makespan - tail));
        }
        return std::min(makespan, end + tail);
    }

    /// Computes for every free node a lower bound on how long the step continues after the end of v if the node comes
    /// after v. O(V + E).
    void find_needed() {
        const workspace::scope scratch(w_);
        const std::span<std::int64_t> channel = w_.take(c_.machines + std::size_t{1}, std::int64_t{0});
        for (std::uint32_t n = 0; n < c_.size(); ++n)
            if (is_start(n) && side_[n] == kernel_side::after) channel[c_.machine[n]] += c_.duration[n];
        for (std::uint32_t n = c_.size(); n-- > 0;) {
            needed_[n] = c_.duration[n] + lengths_.tail[n];
            if (is_start(n) && side_[n] == kernel_side::free)
                needed_[n] = std::max(needed_[n], channel[c_.machine[n]] + c_.duration[n]);
            for (const std::uint32_t s : c_.successors[n])
                if (side_[s] == kernel_side::free) needed_[n] = std::max(needed_[n], needed_[s]);
        }
    }
    [[nodiscard]] bool is_start(std::uint32_t n) const { return c_.kind[n] == compact_tasks::role::start; }

    /// Puts before v every free node that would need at least `time` after v, and all its free predecessors. O(V + E).
    void hold_before(std::int64_t time) {
        for (std::uint32_t n = c_.size(); n-- > 0;) {
            if (side_[n] != kernel_side::free) continue;
            bool held = needed_[n] >= time;
            for (const std::uint32_t s : c_.successors[n]) held = held || side_[s] == kernel_side::before;
            if (held) side_[n] = kernel_side::before;
        }
    }
    /// Returns the longest time that a free node would need after v, or 0 if there is no free node.
    [[nodiscard]] std::int64_t longest_needed() const {
        std::int64_t longest = 0;
        for (std::uint32_t n = 0; n < c_.size(); ++n)
            if (side_[n] == kernel_side::free) longest = std::max(longest, needed_[n]);
        return longest;
    }

    /// Returns a lower bound on the time at which v ends; a value above `enough` is of no more use than `enough`.
    /// Prices are tried in factors of 4. The first is one at which the charges for the free work are about as large as
    /// the memory that is forced to be alive at v.
    [[nodiscard]] std::int64_t earliest_end(std::size_t place, std::int64_t limit, std::int64_t enough) {
        std::int64_t before = c_.duration[v_], free = 0;
        for (std::uint32_t n = 0; n < c_.size(); ++n)
            if (is_kernel(n) && side_[n] == kernel_side::before) before += c_.duration[n];
            else if (is_kernel(n) && side_[n] == kernel_side::free) free += c_.duration[n];
        if (free == 0) return before;
        std::int64_t middle = 1;
        while (middle <= forced_.forced(place) / free / 4) middle *= 4;
        const std::int64_t in_the_middle = work_before(limit, middle);
        std::int64_t most = in_the_middle;
        int tried = 1;
        const auto climb = [&](auto next) {
            for (std::int64_t price = next(middle); price > 0; price = next(price)) {
                if (tried++ == most_prices || before + most >= enough) return;
                const std::int64_t work = work_before(limit, price);
                if (work <= most) return;
                most = work;
            }
        };
        climb([](std::int64_t price) { return price / 4; });
        if (most == in_the_middle) climb([](std::int64_t price) { return price < INT64_MAX / 16 ? price * 4 : 0; });
        return before + most;
    }

    /// Returns a lower bound, in nanoseconds, on the work of the free kernels that run before v. It comes from the flow
    /// with one price.
    [[nodiscard]] std::int64_t work_before(std::int64_t limit, std::int64_t price) {
        for (std::uint32_t n = 0; n < c_.size(); ++n) {
            cost_[n] = forced_.kept()[n];
            if (!is_kernel(n) || side_[n] != kernel_side::free) continue;
            // A path can carry no more than the bytes of all storages, so a higher charge would change nothing.
            cost_[n] += c_.duration[n] > all_bytes_ / price ? all_bytes_ : c_.duration[n] * price;
        }
        std::fill(carried_.begin(), carried_.end(), 0);
        const std::int64_t flow = flow_.at(v_, side_, cost_, carried_);
        return flow > limit ? (flow - limit) / price : 0;
    }

    const compact_tasks& c_;
    const forced_memory<>& forced_;
    const path_lengths& lengths_;
    workspace& w_;
    memory_flow<> flow_;
    std::span<kernel_side> side_;                // by node, relative to v
    std::span<std::int64_t> needed_;             // by node, for free ones: the least time that remains after v
    std::span<std::int64_t> cost_;               // by node
    std::span<std::int64_t> carried_;            // by storage
    std::int64_t all_work_ = 0, all_bytes_ = 0;  // the totals of all kernels and storages
    std::uint32_t v_ = 0;
};

}  // namespace stretto::detail

#endif
