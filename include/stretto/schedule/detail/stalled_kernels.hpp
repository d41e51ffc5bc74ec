// Finds the kernels before which an order stalls although work that comes later could run.
#ifndef STRETTO_SCHEDULE_DETAIL_STALLED_KERNELS_HPP
#define STRETTO_SCHEDULE_DETAIL_STALLED_KERNELS_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/schedule/detail/compact_tasks.hpp"
#include "stretto/schedule/detail/held_launches.hpp"
#include "stretto/schedule/detail/workspace.hpp"

namespace stretto::detail {

/// A kernel before which an order stalls.
struct stalled_kernel {
    std::uint32_t kernel = no_node;
    std::int64_t stall = 0;  ///< how long the order stalls before the kernel
    /// The smaller one of the stall and of the work that could come before the kernel but does not.
    std::int64_t fillable = 0;
    std::int64_t reached = 0;  ///< the work up to the end of the kernel, in the other order
};

/// Returns the kernels before which most of the stalls of `order` could be filled, the best one first. They are chosen
/// among at most 32 kernels, each of which comes directly after a stall, and which divide all stalls evenly. They are
/// a twelfth of all work apart at least. `late` is an order of the same nodes; what comes after a kernel there, and
/// does not depend on it, could come before it. O(V + E).
template <class = void>
[[nodiscard]] inline std::vector<stalled_kernel> stalled_kernels(const compact_tasks& c,
                                                                 std::span<const std::uint32_t> order,
                                                                 std::span<const std::uint32_t> late, workspace& w) {
    constexpr std::size_t samples = 32;
    const workspace::scope scratch(w);
    const auto work_of = [&](std::uint32_t n) {
        return c.kind[n] == compact_tasks::role::compute ? c.duration[n] : std::int64_t{0};
    };
    const order_times times = times_of(c, order, w);
    const std::span<std::int64_t> stall = w.take<std::int64_t>(c.size());  // by node
    std::int64_t all = 0;
    for (std::uint32_t n : order) {
        stall[n] = times.lane[times.position[n]] - all;
        all += work_of(n);
    }
    const std::span<std::uint8_t> is_sample = w.take(c.size(), std::uint8_t{0});  // by node
    const std::int64_t stalls = order.empty() ? 0 : times.lane.back() - all;
    std::int64_t passed = 0;  // how many parts of all stalls the samples have passed
    for (std::uint32_t n : order) {
        const std::int64_t parts = stall[n] / (stalls / std::int64_t{samples} + 1);
        if (work_of(n) == 0 || stall[n] == 0 || parts < passed) continue;
        is_sample[n] = 1;
        passed = parts + 1;
    }
    const std::span<std::uint32_t> follows = w.take(c.size(), 0u);  // by node: the samples that it depends on
    std::array<std::int64_t, samples> movable{};                    // by sample: work that could come before it
    std::vector<stalled_kernel> at;
    std::int64_t reached = 0;
    for (std::uint32_t n : late) {
        const std::int64_t work = work_of(n);
        for (std::uint32_t before : c.predecessors[n]) follows[n] |= follows[before];
        if (work == 0) continue;
        for (std::size_t k = 0; k < at.size(); ++k)
            if ((follows[n] >> k & 1) == 0) movable[k] += work;
        reached += work;
        if (is_sample[n] == 0) continue;
        follows[n] |= std::uint32_t{1} << at.size();
        at.push_back({n, stall[n], 0, reached});
    }
    for (std::size_t k = 0; k < at.size(); ++k) at[k].fillable = std::min(at[k].stall, movable[k]);
    std::stable_sort(at.begin(), at.end(),
                     [](const stalled_kernel& a, const stalled_kernel& b) { return a.fillable > b.fillable; });
    std::vector<stalled_kernel> apart;
    for (const stalled_kernel& s : at) {
        const auto is_near = [&](const stalled_kernel& o) {
            return std::max(o.reached, s.reached) - std::min(o.reached, s.reached) < all / 12;
        };
        if (s.fillable > 0 && std::none_of(apart.begin(), apart.end(), is_near)) apart.push_back(s);
    }
    return apart;
}

}  // namespace stretto::detail

#endif
