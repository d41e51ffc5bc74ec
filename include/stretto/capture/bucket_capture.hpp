// Merges collectives of a captured step into buckets, in one call: the change is planned, verified, and written as a
// capture by the conventions of stretto-graph. Needs simdjson.
#ifndef STRETTO_CAPTURE_BUCKET_CAPTURE_HPP
#define STRETTO_CAPTURE_BUCKET_CAPTURE_HPP

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/analysis/classify_collectives.hpp"
#include "stretto/analysis/infer_input_roles.hpp"
#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_bucketer.hpp"
#include "stretto/capture/capture_calls.hpp"
#include "stretto/capture/capture_module_model.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/capture/detail/casts.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/schedule/explain_errors.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/transform/apply_buckets.hpp"
#include "stretto/transform/bucket_policies.hpp"
#include "stretto/transform/plan_buckets.hpp"
#include "stretto/transform/verify_buckets.hpp"
#include "stretto/tune/search_buckets.hpp"

namespace stretto {

/// Narrows a choice to what a capture allows: collectives that are called by the same operator, are whole, and send a
/// whole value. The parts of a chunked collective were separated on purpose, and a bucket or a collective of a sum is
/// already a merged one. A collective that another operation names as what it writes in place stays alone, because a
/// plan has to repeat that name, and in a bucket the collective is gone. A pack may absorb a cast that the format
/// allows, unless it was chunked. The step and the choice must outlive this object. O(V log operators + writes) to
/// construct; each call takes O(log operators), plus what the choice takes. Precondition: the labels of the choice,
/// times the number of operators, fit in 32 bits.
template <class Choose>
class capture_bucket_choice {
public:
    capture_bucket_choice(const capture& step, const Choose& choose)
        : step_(&step), choose_(&choose), named_by_writer_(step.size(), false) {
        std::map<std::string_view, std::uint32_t> known;
        for (std::uint32_t v = 0; v < step.size(); ++v) {
            if (step.kind(v) == op_kind::start) known.try_emplace(step.op(v), static_cast<std::uint32_t>(known.size()));
            for (std::uint32_t x : step.writes(v)) named_by_writer_[x] = true;
        }
        operators_ = std::move(known);
    }

    [[nodiscard]] bucket_choice operator()(std::uint32_t v) const {
        bucket_choice choice = (*choose_)(v);
        for (std::string_view key : {"chunk", "members"})
            if (step_->field(v, key)) choice.label = bucket_choice::apart;
        if (named_by_writer_[v] != 0) choice.label = bucket_choice::apart;
        if (choice.label == bucket_choice::apart) return choice;
        choice.label =
            choice.label * static_cast<std::uint32_t>(operators_.size()) + operators_.find(step_->op(v))->second;
        if (step_->inputs(v).empty()) return choice;
        const std::uint32_t sent = step_->inputs(v)[0];
        if (is_joined(sent)) choice.label = bucket_choice::apart;
        choice.cast = is_cast(sent);
        return choice;
    }

private:
    /// Returns whether v recombines the parts of a value. The format identifies such a value by the operands of its sum
    /// or concatenation, whereas a pack refers to its operands only by name.
    [[nodiscard]] bool is_joined(std::uint32_t v) const {
        if (step_->field(v, "chunk")) return false;
        for (std::uint32_t x : step_->inputs(v))
            if (step_->field(x, "chunk")) return true;
        return false;
    }
    /// Returns whether v is a cast of a whole value that a pack may absorb.
    [[nodiscard]] bool is_cast(std::uint32_t v) const {
        if (!detail::is_cast(step_->op(v)) || step_->field(v, "chunk")) return false;
        for (std::uint32_t x : step_->inputs(v))
            if (step_->field(x, "chunk") || is_joined(x)) return false;
        return true;
    }

    const capture* step_;
    const Choose* choose_;
    std::vector<char> named_by_writer_;
    std::map<std::string_view, std::uint32_t> operators_;
};

/// Returns what the collectives of a captured step are for, from the inferred roles of its inputs.
[[nodiscard]] inline traffic_tags<capture_view> traffic_of(const capture& step) {
    const capture_view view{&step};
    const capture_op_model ops{&step};
    return classify_collectives(view, ops, infer_input_roles(view, ops));
}

namespace detail {

/// Returns the plan if the verifier finds nothing. A finding would be a defect of the planner; the error names the
/// node.
[[nodiscard]] inline expected<capture_bucket_plan, diagnostic> verified(const capture& step,
                                                                        const capture_call_model& ops,
                                                                        capture_bucket_plan plan) {
    const auto verdict = verify_buckets(plan, capture_view{&step}, ops);
    if (verdict) return plan;
    const auto& first = verdict.error()[0];
    return unexpected(fault_of_node(step, first.vertex, "",
                                    std::string(explain(first.rule)) + ", see " + printable(step.name(first.other)),
                                    "this is a defect of stretto: please report the step"));
}

/// Returns the error for limits that leave no room for a bucket.
[[nodiscard]] inline diagnostic no_room_for_buckets(bucket_obstacle why) {
    return fault_of_step("buckets", "cannot be made: " + std::string(explain(why)),
                         "limits of bytes, members, time and open buckets are positive");
}

}  // namespace detail

/// Plans buckets for the collectives that `choose` labels alike, and verifies the plan. It fails if a limit is zero, or
/// if the verifier finds something, which would be a defect of the planner; the error names the node. O(text of starts)
/// besides the two calls.
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
    if (!plan) return unexpected(detail::no_room_for_buckets(plan.error()));
    return detail::verified(step, ops, *std::move(plan));
}

/// Searches for buckets, and verifies the plan that it returns: of those that were tried, the one with which the step
/// is fastest, with its schedule; nothing if nothing fits the memory limit. It fails if a limit is zero, if the step
/// cannot be made a task graph, or if the verifier finds something. O(text of starts) besides search_buckets and
/// verify_buckets.
template <class Choose>
[[nodiscard]] expected<std::optional<scheduled_bucket_plan<std::uint32_t, std::uint32_t>>, diagnostic>
search_capture_buckets(const capture& step, const capture_tensors& tensors, const Choose& choose,
                       const bucket_search_options& options = {}) {
    using fastest = std::optional<scheduled_bucket_plan<std::uint32_t, std::uint32_t>>;
    if (detail::leaves_no_room(options.limits))
        return unexpected(detail::no_room_for_buckets(bucket_obstacle::no_room));
    const aten::collective_calls calls = read_calls(step, tensors);
    const capture_call_model ops{{&step}, &calls};
    auto found = search_buckets(capture_view{&step}, ops, capture_bucket_choice<Choose>(step, choose),
                                capture_bucket_costs{&step, &tensors}, options);
    if (!found)
        return unexpected(detail::fault_of_step(
            "nodes", explain(found.error(), [&](task_id t) { return printable(step.name(t)); }), ""));
    if (found->front.empty()) return fastest();
    fastest best = std::move(found->front.front());
    auto verified = detail::verified(step, ops, std::move(best->plan));
    if (!verified) return unexpected(std::move(verified).error());
    best->plan = *std::move(verified);
    return best;
}

/// Returns the step with the plan carried out, or the step itself if the plan is empty. Precondition:
/// plan_capture_buckets or search_capture_buckets made the plan for this step. O(text).
[[nodiscard]] inline expected<capture, diagnostic> bucketed(const capture& step, const capture_tensors& tensors,
                                                            const capture_bucket_plan& plan) {
    if (plan.empty()) return step;
    capture_bucketer bucketer(step, tensors, plan);
    apply_buckets(plan, capture_view{&step}, bucketer);
    return bucketer.build();
}

}  // namespace stretto

#endif
