// This is a lower bound on the work between two kernels at which memory is scarce. Work that is deferred until after
// such a kernel keeps alive what it reads, and work that is done before it keeps alive what it makes. So where the
// limit leaves little room at both, nearly all work that may run between them must do so, and cannot hide exchanges
// elsewhere.
#ifndef STRETTO_SCHEDULE_DETAIL_WORK_BETWEEN_HPP
#define STRETTO_SCHEDULE_DETAIL_WORK_BETWEEN_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/schedule/detail/compact_tasks.hpp"
#include "stretto/schedule/detail/memory_flow.hpp"
#include "stretto/schedule/detail/memory_jobs.hpp"
#include "stretto/schedule/detail/memory_precedences.hpp"
#include "stretto/schedule/detail/workspace.hpp"

namespace stretto::detail {

/// Computes such bounds. Between v and w, which comes after v, the lane does at least
///
///     (least work before w) - (most work before v) - (work of v)
///
/// The first term is found as in detail/deferred_work.hpp: charge a kernel that may run on either side of w `price`
/// bytes per nanosecond if it runs before w. Then the charges of such kernels cover the amount by which a flow at w
/// exceeds the limit. The second term is found in the same way from the least work that runs after v.
template <class = void>
class work_between {
public:
    /// The arrays are taken from the open scope of the workspace.
    work_between(const compact_tasks& c, const forced_memory<>& forced, workspace& w)
        : c_(c),
          forced_(forced),
          flow_(c, forced.readers(), w),
          cost_(w.take<std::int64_t>(c.size())),
          carried_(w.take<std::int64_t>(c.storage_bytes.size())) {
        for (std::uint32_t n = 0; n < c.size(); ++n)
            if (is_kernel(n)) all_work_ += c.duration[n];
        for (const std::int64_t size : c.storage_bytes) all_bytes_ += size;
    }

    /// Adds a kernel at which memory is scarce. `side` contains the sides of it on which nodes run within the limit.
    /// Kernels that come before it must have been added earlier.
    void add(std::size_t place, std::span<const kernel_side> side, std::int64_t limit) {
        const std::uint32_t v = forced_.kernels()[place];
        std::int64_t before = 0, free = 0;
        for (std::uint32_t n = 0; n < c_.size(); ++n) {
            if (!is_kernel(n)) continue;
            if (side[n] == kernel_side::before) before += c_.duration[n];
            if (side[n] == kernel_side::free) free += c_.duration[n];
        }
        kernel_at at{v, before, before + free, {}};
        bool near = false;
        for (std::size_t k = 0; k < found_.size(); ++k) {
            const kernel_at& earlier = found_[k];
            if (side[earlier.kernel] != kernel_side::before) continue;
            at.before.push_back(k);
            at.least_before = std::max(at.least_before, earlier.least_before + c_.duration[earlier.kernel]);
            near = near || before - earlier.surely_before < all_work_ / 32;
        }
        at.surely_before = before;
        // Each flow takes time in proportion to the step, so it is found only where much work could be gained.
        if (!near && !at.before.empty() && free > all_work_ / 64)
            at.least_before = std::max(at.least_before, before + least_free(v, side, limit, free));
        if (free > all_work_ / 256) at.most_before -= least_free_after(v, side, limit, free);
        found_.push_back(std::move(at));
    }

    /// Appends the work between these kernels, before them and after them. Returns whether there is any between them.
    [[nodiscard]] bool append_to(std::vector<node_pair>& pairs) const {
        bool any = false;
        for (const kernel_at& w : found_) {
            if (w.least_before > 0) pairs.push_back({no_node, w.kernel, w.least_before});
            if (const std::int64_t after = all_work_ - w.most_before - c_.duration[w.kernel]; after > 0)
                pairs.push_back({w.kernel, no_node, after});
            for (const std::size_t k : w.before) {
                const kernel_at& v = found_[k];
                const std::int64_t between = w.least_before - v.most_before - c_.duration[v.kernel];
                if (between <= 0) continue;
                pairs.push_back({v.kernel, w.kernel, between});
                any = true;
            }
        }
        return any;
    }

private:
    /// What is known about a kernel at which memory is scarce.
    struct kernel_at {
        std::uint32_t kernel;
        std::int64_t least_before, most_before;  // bounds on the work of the kernels that run before it
        std::vector<std::size_t> before;         // indices in `found_` of the kernels that run before it
        std::int64_t surely_before = 0;          // work of the kernels on its `before` side
    };

    [[nodiscard]] bool is_kernel(std::uint32_t n) const { return c_.kind[n] == compact_tasks::role::compute; }

    /// Returns a lower bound on the work of the free kernels that run before v. `free` is the work of all free kernels.
    /// The price is one at which this work costs about as much as there is memory; other prices, by factors of 4,
    /// usually prove less.
    [[nodiscard]] std::int64_t least_free(std::uint32_t v, std::span<const kernel_side> side, std::int64_t limit,
                                          std::int64_t free) {
        const std::int64_t price = limit / free + 1;
        for (std::uint32_t n = 0; n < c_.size(); ++n) {
            cost_[n] = forced_.kept()[n];
            if (!is_kernel(n) || side[n] != kernel_side::free) continue;
            // A path can carry no more than the bytes of all storages, so a higher charge would change nothing.
            cost_[n] += c_.duration[n] > all_bytes_ / price ? all_bytes_ : c_.duration[n] * price;
        }
        std::fill(carried_.begin(), carried_.end(), 0);
        const std::int64_t flow = flow_.at(v, side, cost_, carried_);
        return flow > limit ? std::min(free, (flow - limit) / price) : 0;
    }

    /// Returns the corresponding bound on the work of the free kernels that run after v. They are charged the same
    /// price for running after v, and nothing for running before it.
    [[nodiscard]] std::int64_t least_free_after(std::uint32_t v, std::span<const kernel_side> side, std::int64_t limit,
                                                std::int64_t free) {
        const std::int64_t price = limit / free + 1;
        std::fill(carried_.begin(), carried_.end(), 0);
        std::int64_t flow = flow_.at(v, side, forced_.kept(), carried_);
        std::size_t steps_left = 2 * std::size_t{c_.size()};
        for (std::uint32_t n = 0; n < c_.size(); ++n) {
            if (!is_kernel(n) || side[n] != kernel_side::free) continue;
            const std::int64_t pays = c_.duration[n] > all_bytes_ / price ? all_bytes_ : c_.duration[n] * price;
            flow += flow_.add_from(n, pays, carried_, steps_left);
        }
        return flow > limit ? std::min(free, (flow - limit) / price) : 0;
    }

    const compact_tasks& c_;
    const forced_memory<>& forced_;
    memory_flow<> flow_;
    std::span<std::int64_t> cost_;     // by node
    std::span<std::int64_t> carried_;  // by storage
    std::vector<kernel_at> found_;
    std::int64_t all_work_ = 0, all_bytes_ = 0;  // the totals of all kernels and storages
};

}  // namespace stretto::detail

#endif
