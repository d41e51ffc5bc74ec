// The hull repairs cost models in which more bytes take less time, as happens somewhere in most fitted models. It is
// the running maximum of the model over a fixed grid of sizes, with linear interpolation between them.
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

/// Wraps a collective_cost_model. The result is non-decreasing in the payload by construction. On the grid (payloads 0
/// to 8, then 10, 12, 14, 16, 20, ...: four per octave) it is never below the model, and equal to it if the model is
/// monotone there. A query evaluates the model up to four times per octave of the payload, so apply `tabulate` to the
/// hull where it is queried often.
template <collective_cost_model M>
class monotone_hull {
public:
    explicit constexpr monotone_hull(M model) : model_(std::move(model)) {}

    /// Returns the time of a collective, which is never less than for a smaller payload.
    [[nodiscard]] nanoseconds duration(collective_kind kind, bytes payload, const process_group& group) const {
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

    /// Returns the model that is repaired.
    [[nodiscard]] constexpr const M& model() const noexcept { return model_; }

private:
    /// Returns the grid size after this one. The step is a quarter of the octave, so sizes are exact.
    static constexpr std::int64_t next(std::int64_t size) noexcept {
        return size + std::max<std::int64_t>(
                          1, static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(size)) / 4));
    }
    M model_;
};

}  // namespace stretto

#endif
