// How much slower kernels ran during transfers than alone is estimated from a run of which only the sum of the kernel
// times is known. The transfers and the makespan are not fitted, so the clock's figures for them remain predictions.
#ifndef STRETTO_SCHEDULE_FIT_CONTENTION_HPP
#define STRETTO_SCHEDULE_FIT_CONTENTION_HPP

#include <cstdint>
#include <span>

#include "stretto/core/units.hpp"
#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace stretto {

/// Returns a factor c, in steps of 1/1024, at which the clock under contention gives all kernels of `order` together
/// less than `kernels`, while at the next step it gives them at least `kernels`. It returns 1 if the kernels already
/// take that long without contention. It also returns 1 if they take less even with a factor of 16, because transfers
/// then do not explain the slowdown. The result is deterministic. It takes the time of up to 15 simulations.
/// Preconditions: those of simulate, and `times_fit` for a factor of 16.
template <class = void>
[[nodiscard]] contention fit_contention(const task_graph& g, std::span<const task_id> order, nanoseconds kernels) {
    constexpr std::int64_t one = 1024;
    contention least{one, one}, most{16 * one, one};
    if (simulate(g, order, most).compute < kernels) return least;
    while (most.numerator - least.numerator > 1) {
        const contention middle{(least.numerator + most.numerator) / 2, one};
        (simulate(g, order, middle).compute < kernels ? least : most) = middle;
    }
    return least;
}

}  // namespace stretto

#endif
