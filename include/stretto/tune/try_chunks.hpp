// Tries a chunk_plan on a task graph: makes the tasks of the program that apply_chunks would make, without changing the
// IR. This costs little more than planning, so many ways to cut a step can be scheduled before one is applied.
#ifndef STRETTO_TUNE_TRY_CHUNKS_HPP
#define STRETTO_TUNE_TRY_CHUNKS_HPP

#include <cstddef>
#include <cstdint>
#include <span>

#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/part_cost_model.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/transform/apply_chunks.hpp"
#include "stretto/transform/chunk_plan.hpp"
#include "stretto/transform/plan_chunks.hpp"
#include "stretto/tune/chunk_trial.hpp"
#include "stretto/tune/step_table.hpp"

namespace stretto {

/// Adapts a part_cost_model of a view to its table.
template <dataflow_graph G, part_cost_model<G> C>
class numbered_part_costs {
public:
    /// The step must outlive the model.
    numbered_part_costs(const numbered_step<G>& step, C costs) : step_(&step), costs_(costs) {}

    [[nodiscard]] clone_cost of_clone(std::uint32_t v, const chunk_part& part, std::span<bytes> allocated) const {
        return costs_.of_clone(step_->vertex(v), part, allocated);
    }
    [[nodiscard]] join_cost of_concat(std::uint32_t x) const { return costs_.of_concat(step_->value(x)); }
    [[nodiscard]] join_cost of_sum(std::uint32_t x) const { return costs_.of_sum(step_->value(x)); }
    [[nodiscard]] bytes of_empty(std::uint32_t x) const { return costs_.of_empty(step_->value(x)); }
    [[nodiscard]] nanoseconds of_slice_write(std::uint32_t x, std::size_t dim, std::span<const std::int64_t> sizes,
                                             std::size_t k) const {
        return costs_.of_slice_write(step_->value(x), dim, sizes, k);
    }

private:
    const numbered_step<G>* step_;
    C costs_;
};

/// Converts the plan of a view to one of its table. O(plan), plus, for each value, its position among the results of
/// its producer.
template <dependence_graph G>
    requires dataflow_graph<G>
[[nodiscard]] chunk_plan<std::uint32_t, std::uint32_t> numbered_plan(const chunk_plan<vertex_t<G>, value_t<G>>& plan,
                                                                     const numbered_step<G>& step) {
    chunk_plan<std::uint32_t, std::uint32_t> in_numbers;
    for (const auto& r : plan.regions) in_numbers.regions.push_back({r.tokens, r.sizes});
    for (const chunked_operation<vertex_t<G>>& o : plan.operations)
        in_numbers.operations.push_back({step.number(o.vertex), o.region, o.once, o.first_operand, o.first_result,
                                         o.last_result, o.chained, o.sum_widens});
    for (const chunk_split<value_t<G>>& s : plan.splits)
        in_numbers.splits.push_back({step.number_of_value(s.value), s.region, s.dim});
    for (const chunk_join<vertex_t<G>, value_t<G>>& j : plan.joins) {
        in_numbers.joins.push_back({step.number_of_value(j.value), j.region, j.how, j.dim, {}, j.late});
        for (const vertex_t<G>& reader : j.readers) in_numbers.joins.back().readers.push_back(step.number(reader));
    }
    in_numbers.states = plan.states;
    return in_numbers;
}

/// Returns the options for trial plans, to be used for the applied plan as well: operations that cannot run per chunk
/// stay whole, and values are written slice by slice either wherever possible or nowhere.
[[nodiscard]] inline chunk_options trial_chunk_options(bool slices) {
    chunk_options options;
    options.skip_refused = true;
    if (slices) options.slices_from = 0;
    return options;
}

/// Returns the tasks of a plan in numbers, for callers that try many plans of one step. O(tasks and their operands),
/// plus make_task_graph.
template <part_cost_model<step_table_view> C>
[[nodiscard]] expected<chunked_tasks, task_graph_error> try_chunks(const chunk_plan<std::uint32_t, std::uint32_t>& plan,
                                                                   const step_table& step, const C& costs) {
    chunk_trial<C> trial(step, plan, costs);
    apply_chunks(plan, step_table_view{&step}, trial);
    return trial.tasks();
}

/// Returns the task graph of the program that apply_chunks would make of this plan, with the origin of each task. It
/// has the same operations in the same order if the rewriter makes one operation per call, cuts values by views, adds
/// two parts at a time, and writes a slice by a copy into a view. A clone waits for the launch of its chunk, shares and
/// writes the storages of its chunk, and inherits the control dependences of its original. Precondition: `plan` was
/// made for `g`, which has not changed since. Fails if `g` is not a task graph, or if times or bytes overflow.
/// Deterministic. O(V + E, and tasks and their operands).
template <dependence_graph G, op_model<G> M, part_cost_model<G> C>
    requires dataflow_graph<G>
[[nodiscard]] expected<chunked_tasks, task_graph_error> try_chunks(const chunk_plan<vertex_t<G>, value_t<G>>& plan, G g,
                                                                   M ops, C costs) {
    const auto step = numbered_step<G>::read(g, ops);
    if (!step) return unexpected(step.error());
    const numbered_part_costs<G, C> in_numbers(*step, costs);
    return try_chunks(numbered_plan(plan, *step), step->table(), in_numbers);
}

}  // namespace stretto

#endif
