// A search under contention compares its orders by their exact makespans, which are computed here from compact tasks.
#ifndef STRETTO_SCHEDULE_DETAIL_CONTENDED_ORDER_HPP
#define STRETTO_SCHEDULE_DETAIL_CONTENDED_ORDER_HPP

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/detail/compact_tasks.hpp"
#include "stretto/schedule/detail/list_pass.hpp"
#include "stretto/schedule/detail/workspace.hpp"

namespace stretto::detail {

/// The clock by which a search compares its orders. The passes of the search may use other durations, which estimate
/// how long kernels take once they are slowed down.
struct order_judge {
    std::span<const std::int64_t> duration;  ///< by node: the duration without contention
    contention under;
};

/// Returns the makespan of an order by the clock of the judge. O(V + channels in use * (kernels + stretches)).
template <class = void>
[[nodiscard]] inline std::int64_t makespan_of(const compact_tasks& c, std::span<const std::uint32_t> order,
                                              const order_judge& judge, workspace& w) {
    const workspace::scope scratch(w);
    const std::span<std::int64_t> end = w.take<std::int64_t>(c.size());  // by node, for starts
    std::vector<std::int64_t> free(c.machines, 0);                       // by machine: when it is next free
    contended_lane<> lane(c.machines, judge.under);
    for (const std::uint32_t n : order) {
        const std::uint32_t m = c.machine[n];
        if (c.kind[n] == compact_tasks::role::compute) {
            free[0] = lane.end_of(free[0], judge.duration[n]);
        } else if (c.kind[n] == compact_tasks::role::wait) {
            free[0] = std::max(free[0], end[c.launch[n]]);
        } else if (c.kind[n] == compact_tasks::role::start) {
            const std::int64_t begin = std::max(free[0], free[m]);
            end[n] = free[m] = begin + judge.duration[n];
            lane.add_transfer(m, begin, free[m]);
        }
    }
    return *std::max_element(free.begin(), free.end());
}

}  // namespace stretto::detail

#endif
