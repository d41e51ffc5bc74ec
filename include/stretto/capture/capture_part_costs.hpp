// Derives the costs of the parts of captured operations from the durations and bytes of the file, its machine, and its
// tables of collectives. Needs simdjson.
#ifndef STRETTO_CAPTURE_CAPTURE_PART_COSTS_HPP
#define STRETTO_CAPTURE_CAPTURE_PART_COSTS_HPP

#include <optional>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/cost/table.hpp"
#include "stretto/tune/part_costs.hpp"

namespace stretto {

/// A callable that returns the time of a collective by the tables of a capture, or nothing if there is none for its
/// kind and group. O(tables). The capture must outlive it.
struct capture_prices {
    const capture* step;

    [[nodiscard]] std::optional<nanoseconds> operator()(collective_kind kind, group_id group, bytes payload) const {
        const collective_cost_table* const table = step->cost_table(group, kind);
        return table ? std::optional(interpolate(table->points, payload)) : std::nullopt;
    }
};

/// The sizes of the tensors of a capture.
using capture_sizes = tensor_sizes<capture_view, capture_tensor_model>;

/// The costs with which a plan is tried, and with which capture_chunker writes it.
using capture_part_costs = share_costs<capture_view, capture_op_model, capture_sizes, capture_prices>;

/// Returns the part costs of a step. Both arguments must outlive the model.
[[nodiscard]] inline capture_part_costs part_costs_of(const capture& step, const capture_tensors& tensors) {
    return {
        {&step}, {&step}, {{&step, &tensors}}, {step.costs().launch, step.costs().memory_bytes_per_second}, {&step}};
}

}  // namespace stretto

#endif
