// Makes the tasks of a program whose collectives travel in buckets, without changing the IR.
#ifndef STRETTO_TUNE_TRY_BUCKETS_HPP
#define STRETTO_TUNE_TRY_BUCKETS_HPP

#include <cstdint>

#include "stretto/core/bucket_cost_model.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/transform/bucket_plan.hpp"
#include "stretto/tune/bucketed_tasks.hpp"
#include "stretto/tune/detail/bucket_contraction.hpp"
#include "stretto/tune/step_table.hpp"

namespace stretto {

/// Returns the tasks of the program that apply_buckets makes of the step. A wait for a member becomes a view of the
/// received buffer: its readers do not change, and the received data share one lifetime. A plan without buckets gives
/// the tasks of the step. The error says why the step or the result is not a task graph. Preconditions: `plan` uses the
/// numbers of the table of this step; `costs` are those with which it was made. O(V + E). Source: the conventions of
/// stretto-graph for buckets.
template <bucket_cost_model<step_table_view> C>
[[nodiscard]] expected<bucketed_tasks, task_graph_error> try_buckets(
    const bucket_plan<std::uint32_t, std::uint32_t>& plan, const step_table& step, const C& costs) {
    auto tasks = detail::bucket_contraction<>::of(step);
    if (!tasks) return unexpected(tasks.error());
    bucketed_tasks made;
    if (const auto fault = tasks->contract(plan, [&](bytes moved) { return costs.of_moving(moved); }, made))
        return unexpected(*fault);
    return made;
}

}  // namespace stretto

#endif
