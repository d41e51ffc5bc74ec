// Chooses a plan when only bounds are known for how much transfers slow kernels down: the plan whose worst slowdown
// relative to the best known plan is smallest.
#ifndef STRETTO_TUNE_CONTENTION_RANGE_HPP
#define STRETTO_TUNE_CONTENTION_RANGE_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stretto/core/units.hpp"
#include "stretto/schedule/contention.hpp"

namespace stretto {

/// Returns evenly spaced values of contention, including both bounds. Values between the bounds are rounded down to
/// thousandths. Preconditions: both bounds are valid, `from` is at most `to`, and `count` is at least 2.
[[nodiscard]] inline std::vector<contention> contention_points(contention from, contention to, std::size_t count) {
    const auto thousandths = [](contention c) { return c.numerator * 1000 / c.denominator; };
    const std::int64_t low = thousandths(from), high = thousandths(to);
    std::vector<contention> points{from};
    for (std::size_t k = 1; k + 1 < count; ++k)
        points.push_back(
            {low + (high - low) * static_cast<std::int64_t>(k) / static_cast<std::int64_t>(count - 1), 1000});
    points.push_back(to);
    return points;
}

/// A plan for a range, and the cost of not knowing the contention.
struct steady_plan {
    std::size_t plan = 0;   ///< the position of the plan
    std::size_t point = 0;  ///< the point with the worst ratio
    nanoseconds makespan;   ///< of the plan at that point
    nanoseconds best;       ///< of the best plan at that point

    /// The worst ratio of this makespan to that of the best plan, 1 or more.
    [[nodiscard]] double worst_ratio() const noexcept {
        return best.count == 0 ? 1 : static_cast<double>(makespan.count) / static_cast<double>(best.count);
    }
};

/// Chooses the plan whose worst ratio to the best plan over all points is smallest, and the first of equal plans.
/// `makespans[p][k]` is the makespan of plan p at point k. Returns nothing if there are no plans. Ratios are compared
/// as doubles. Precondition: all plans have the same number of points. O(plans squared * points).
[[nodiscard]] inline std::optional<steady_plan> steadiest_of(std::span<const std::vector<nanoseconds>> makespans) {
    std::optional<steady_plan> steadiest;
    for (std::size_t p = 0; p < makespans.size(); ++p) {
        steady_plan worst{p, 0, {}, {}};
        for (std::size_t k = 0; k < makespans[p].size(); ++k) {
            steady_plan here{p, k, makespans[p][k], makespans[p][k]};
            for (const std::vector<nanoseconds>& other : makespans) here.best = std::min(here.best, other[k]);
            if (k == 0 || here.worst_ratio() > worst.worst_ratio()) worst = here;
        }
        if (!steadiest || worst.worst_ratio() < steadiest->worst_ratio()) steadiest = worst;
    }
    return steadiest;
}

}  // namespace stretto

#endif
