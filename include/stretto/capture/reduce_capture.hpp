// Reduces a captured step once, in one call: collectives whose results are only added become one collective of the sum.
// The change is planned, verified, and written as a capture by the conventions of stretto-graph. Needs simdjson.
#ifndef STRETTO_CAPTURE_REDUCE_CAPTURE_HPP
#define STRETTO_CAPTURE_REDUCE_CAPTURE_HPP

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "stretto/aten/aten_linear_model.hpp"
#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_calls.hpp"
#include "stretto/capture/capture_reducer.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/transform/apply_reductions.hpp"
#include "stretto/transform/plan_reductions.hpp"
#include "stretto/transform/verify_reductions.hpp"

namespace stretto {

/// The linear model of a capture.
using capture_linear_model = aten_linear_model<capture_view, capture_tensor_model>;

/// A step in which collectives of summands were replaced by one of the sum, and a record of what was done.
struct reduced_capture {
    capture_reduction_plan plan;
    capture step;
    /// Nodes of the new step from which the sums are made, ascending. A plan that continues from here must leave them
    /// whole, because check_plan finds the operands of the members by their names.
    std::vector<std::uint32_t> summands;
};

/// Plans reductions and verifies them. It fails if the verifier finds something, which would be a defect of the
/// planner; the error names the node. A plan may be empty. O(text of starts) besides the two calls.
[[nodiscard]] inline expected<capture_reduction_plan, diagnostic> plan_capture_reductions(
    const capture& step, const capture_tensors& tensors) {
    const capture_view view{&step};
    const aten::collective_calls calls = read_calls(step, tensors);
    const capture_call_model ops{{&step}, &calls};
    const capture_linear_model linear(view, {&step, &tensors});
    auto plan = plan_reductions(view, ops, linear, {.most_views = 1});
    const auto verified = verify_reductions(plan, view, ops, linear);
    if (verified) return plan;
    const auto& first = verified.error()[0];
    return unexpected(detail::fault_of_node(
        step, first.vertex, "", std::string(explain(first.rule)) + ", see " + printable(step.name(first.other)),
        "this is a defect of stretto: please report the step"));
}

/// Returns the step with the plan carried out. Precondition: plan_capture_reductions made the plan for this step.
/// O(text).
[[nodiscard]] inline expected<reduced_capture, diagnostic> reduce_capture(const capture& step,
                                                                          const capture_tensors& tensors,
                                                                          capture_reduction_plan plan) {
    capture_reducer reducer(step, tensors, plan);
    apply_reductions(plan, capture_view{&step}, reducer);
    auto made = reducer.build();
    if (!made) return unexpected(std::move(made).error());
    std::vector<std::uint32_t> summands;
    for (const capture_reduction& r : plan.reductions)
        for (std::uint32_t x : r.operands) summands.push_back(reducer.position(x));
    std::sort(summands.begin(), summands.end());
    return reduced_capture{std::move(plan), *std::move(made), std::move(summands)};
}

}  // namespace stretto

#endif
