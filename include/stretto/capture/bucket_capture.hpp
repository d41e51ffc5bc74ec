// A captured step in buckets, in one call: planned, verified, and written as a capture by the conventions of
// stretto-graph. Needs simdjson.
#ifndef STRETTO_CAPTURE_BUCKET_CAPTURE_HPP
#define STRETTO_CAPTURE_BUCKET_CAPTURE_HPP

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "stretto/analysis/classify_collectives.hpp"
#include "stretto/analysis/infer_input_roles.hpp"
#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_bucketer.hpp"
#include "stretto/capture/capture_calls.hpp"
#include "stretto/capture/capture_module_model.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/transform/apply_buckets.hpp"
#include "stretto/transform/bucket_policies.hpp"
#include "stretto/transform/plan_buckets.hpp"
#include "stretto/transform/verify_buckets.hpp"

namespace stretto {

/// Narrows a choice to what a capture allows: collectives that are called by the same operator, and that are whole. The
/// parts of one that was cut were made apart on purpose, and a bucket or a collective of a sum is one already. A cast
/// is what the format lets a pack absorb. The step and the choice must outlive it. O(log operators) a start.
template <class Choose>
class capture_bucket_choice {
public:
    capture_bucket_choice(const capture& step, const Choose& choose) : step_(&step), choose_(&choose) {
        std::map<std::string_view, std::uint32_t> known;
        for (std::uint32_t v = 0; v < step.size(); ++v)
            if (step.kind(v) == op_kind::start) known.try_emplace(step.op(v), static_cast<std::uint32_t>(known.size()));
        operators_ = std::move(known);
    }

    [[nodiscard]] bucket_choice operator()(std::uint32_t v) const {
        bucket_choice choice = (*choose_)(v);
        for (std::string_view key : {"chunk", "members"})
            if (step_->field(v, key)) choice.label = bucket_choice::apart;
        if (choice.label == bucket_choice::apart) return choice;
        choice.label =
            choice.label * static_cast<std::uint32_t>(operators_.size()) + operators_.find(step_->op(v))->second;
        if (!step_->inputs(v).empty()) {
            const std::string_view op = step_->op(step_->inputs(v)[0]);
            choice.cast = op.find("convert_element_type") != std::string_view::npos ||
                          op.find("_to_copy") != std::string_view::npos;
        }
        return choice;
    }

private:
    const capture* step_;
    const Choose* choose_;
    std::map<std::string_view, std::uint32_t> operators_;
};

/// The tags of a captured step, from the roles that are inferred of its inputs.
[[nodiscard]] inline traffic_tags<capture_view> traffic_of(const capture& step) {
    const capture_view view{&step};
    const capture_op_model ops{&step};
    return classify_collectives(view, ops, infer_input_roles(view, ops));
}

/// Plans and verifies. It fails on a limit that is zero, and on what a verifier finds, which would be a defect of the
/// planner: the node is named. O(text of starts) besides the two calls.
template <class Choose>
[[nodiscard]] expected<capture_bucket_plan, diagnostic> plan_capture_buckets(const capture& step,
                                                                             const capture_tensors& tensors,
                                                                             const Choose& choose,
                                                                             const bucket_options& options = {}) {
    const capture_view view{&step};
    const aten::collective_calls calls = read_calls(step, tensors);
    const capture_call_model ops{{&step}, &calls};
    auto plan = plan_buckets(view, ops, capture_bucket_choice<Choose>(step, choose), options,
                             capture_bucket_costs{&step, &tensors});
    if (!plan)
        return unexpected(detail::fault_of_step("buckets", "cannot be made: " + std::string(explain(plan.error())),
                                                "limits of bytes, members, time and open buckets are positive"));
    const auto verified = verify_buckets(*plan, view, ops);
    if (verified) return *std::move(plan);
    const auto& first = verified.error()[0];
    return unexpected(detail::fault_of_node(
        step, first.vertex, "", std::string(explain(first.rule)) + ", see " + printable(step.name(first.other)),
        "this is a defect of stretto: please report the step"));
}

/// The step with a plan carried out; the step itself if the plan is empty. The plan must be one of plan_capture_buckets
/// for this step. O(text).
[[nodiscard]] inline expected<capture, diagnostic> bucketed(const capture& step, const capture_tensors& tensors,
                                                            const capture_bucket_plan& plan) {
    if (plan.empty()) return step;
    capture_bucketer bucketer(step, tensors, plan);
    apply_buckets(plan, capture_view{&step}, bucketer);
    return bucketer.build();
}

}  // namespace stretto

#endif
