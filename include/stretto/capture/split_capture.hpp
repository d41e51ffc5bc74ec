// Splits the buckets of a captured step, in one call: the change is planned, verified, and written as a capture. Needs
// simdjson.
#ifndef STRETTO_CAPTURE_SPLIT_CAPTURE_HPP
#define STRETTO_CAPTURE_SPLIT_CAPTURE_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_bucket_forms.hpp"
#include "stretto/capture/capture_splitter.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/transform/apply_splits.hpp"
#include "stretto/transform/split_buckets.hpp"
#include "stretto/transform/split_plan.hpp"
#include "stretto/transform/verify_splits.hpp"

namespace stretto {

/// Plans splits and verifies them. It fails if the verifier finds something, which would be a defect of the planner;
/// the error names the node. A plan may be empty. O(V + E + aliases + text of buckets) besides the verification.
[[nodiscard]] inline expected<capture_split_plan, diagnostic> plan_capture_splits(const capture& step,
                                                                                  const capture_tensors& tensors) {
    const capture_view view{&step};
    const capture_op_model ops{&step};
    const capture_bucket_forms forms(step, tensors);
    auto plan = split_buckets(view, ops, forms);
    const auto verified = verify_splits(plan, view, ops, forms);
    if (verified) return plan;
    const auto& first = verified.error()[0];
    return unexpected(detail::fault_of_node(
        step, first.vertex, "", std::string(explain(first.rule)) + ", see " + printable(step.name(first.other)),
        "this is a defect of stretto: please report the step"));
}

/// Returns the step with the plan carried out, or the step itself if the plan is empty. Precondition:
/// plan_capture_splits made the plan for this step. O(text).
[[nodiscard]] inline expected<capture, diagnostic> split_capture(const capture& step, const capture_tensors& tensors,
                                                                 const capture_split_plan& plan) {
    if (plan.empty()) return step;
    capture_splitter splitter(step, tensors, plan);
    apply_splits(plan, capture_view{&step}, splitter);
    return splitter.build();
}

/// A step in which all buckets that can be split have been split.
struct apart_capture {
    capture step;
    std::size_t buckets = 0;                            ///< buckets that were split, in all rounds
    std::size_t members = 0;                            ///< collectives that took their places, in all rounds
    std::vector<refused_split<std::uint32_t>> refused;  ///< buckets that remain, as nodes of `step`
};

/// Splits all buckets that can be split, and repeats this for the result, because a bucket may be a member of another
/// one: PyTorch merges twice. There are as many rounds as buckets are nested, each at the cost of reading tensors,
/// planning, verifying and writing, and one more that finds nothing to split. Fails if the arguments or shapes of the
/// step do not follow the format, or like the calls above.
[[nodiscard]] inline expected<apart_capture, diagnostic> take_apart(const capture& step) {
    apart_capture made{step, 0, 0, {}};
    while (true) {
        const auto tensors = capture_tensors::read(made.step);
        if (!tensors) return unexpected(tensors.error());
        auto plan = plan_capture_splits(made.step, *tensors);
        if (!plan) return unexpected(std::move(plan).error());
        if (plan->empty()) {
            made.refused = std::move(plan->refused);
            return made;
        }
        auto next = split_capture(made.step, *tensors, *plan);
        if (!next) return unexpected(std::move(next).error());
        made.buckets += plan->buckets.size();
        made.members += plan->members();
        made.step = *std::move(next);
    }
}

}  // namespace stretto

#endif
