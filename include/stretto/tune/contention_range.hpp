// Which plan to take if it is not known how much kernels are slowed down by transfers, only between which bounds: the
// plan that is least worse, at its worst, than the best plan known.
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

/// Evenly spaced values of contention, the bounds included. Those between the bounds are rounded to thousandths.
/// Preconditions: both bounds are valid, `from` is no more than `to`, and `count` is 2 or more.
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

/// A plan for a range, and what it costs not to know the contention.
struct steady_plan {
    std::size_t plan = 0;   ///< its position
    std::size_t point = 0;  ///< where it is worst
    nanoseconds makespan;   ///< what it takes there
    nanoseconds best;       ///< what the best of all plans takes there

    /// How many times as long as the best plan it takes at its worst, 1 or more.
    [[nodiscard]] double worst_ratio() const noexcept {
        return best.count == 0 ? 1 : static_cast<double>(makespan.count) / static_cast<double>(best.count);
    }
};

/// Chooses, among several plans, the one whose worst ratio to the best of them, over all points, is least, and the
/// first of equal ones. `makespans[p][k]` is what plan p takes at point k. Returns nothing if there are no plans. The
/// comparison is exact as long as doubles are. O(plans * points).
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
