// A repair for cost models in which more bytes take less time (most fitted models have such places). The hull is the
// running maximum of the model on a fixed grid of sizes, linear between them.
#ifndef STRETTO_SCHEDULE_COST_MONOTONE_HULL_HPP
#define STRETTO_SCHEDULE_COST_MONOTONE_HULL_HPP

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "stretto/schedule/cost/cost_model.hpp"
#include "stretto/schedule/cost/table.hpp"

namespace stretto {

/// Wraps a collective_cost_model; the result is non-decreasing in the payload by construction. It is never below the
/// model on the grid (payloads 0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, ...: four per octave), and equal to it there
/// if the model is monotone on the grid. A query costs up to four evaluations of the model per octave of the payload:
/// put `tabulate` around it where it is asked often.
template <collective_cost_model M>
class monotone_hull {
public:
    explicit constexpr monotone_hull(M model) : model_(std::move(model)) {}

    [[nodiscard]] nanoseconds duration(collective_kind kind, bytes payload, const group_layout& group) const {
        nanoseconds below = model_.duration(kind, bytes{}, group);
        if (payload.count <= 0) return below;
        for (std::int64_t size = 1, previous = 0;; previous = size, size = next(size)) {
            const nanoseconds here = std::max(below, model_.duration(kind, bytes{size}, group));
            if (size >= payload.count)
                return interpolate(std::array{cost_point{bytes{previous}, below}, cost_point{bytes{size}, here}},
                                   payload);
            below = here;
        }
    }

    [[nodiscard]] constexpr const M& model() const noexcept { return model_; }

private:
    /// The grid size after this one. The step is a quarter of the octave, so sizes stay exact.
    static constexpr std::int64_t next(std::int64_t size) noexcept {
        return size + std::max<std::int64_t>(
                          1, static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(size)) / 4));
    }
    M model_;
};

}  // namespace stretto

#endif
