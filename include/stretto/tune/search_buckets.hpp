// Chooses the collectives of a step to merge, by scheduled trials on task graphs before the IR is changed.
// docs/algorithms/buckets.md explains the trials and their order.
#ifndef STRETTO_TUNE_SEARCH_BUCKETS_HPP
#define STRETTO_TUNE_SEARCH_BUCKETS_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "stretto/core/bucket_cost_model.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "stretto/schedule/memory.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/transform/bucket_plan.hpp"
#include "stretto/tune/detail/bound_in_buckets.hpp"
#include "stretto/tune/detail/bucket_search.hpp"
#include "stretto/tune/detail/bucket_trials.hpp"
#include "stretto/tune/step_table.hpp"

namespace stretto {

/// The budget of a search, and the constraints on its result.
struct bucket_search_options {
    bytes memory_limit = unlimited_bytes;  ///< every schedule stays within it
    /// The peak in input order of the step that this one is a variant of, if any: see memory_budget::of_variant.
    /// Without it, that of the step as it is given.
    std::optional<bytes> step_peak = {};
    bucket_options limits = {};  ///< the limits of every bucket, its mode, and the order of its payload
    /// The number of scheduled tasks, times `effort`, after which no further trial begins at the first level of memory;
    /// at each further one it is a quarter. A trial counts all its tasks.
    std::size_t task_budget = 400'000;
    unsigned effort = 1;    ///< how thoroughly to schedule, as in schedule_options::effort
    contention under = {};  ///< the contention by which all schedules are judged
    /// The makespan of an alternative that would be chosen instead. If no buckets can be faster, none are searched.
    std::optional<nanoseconds> to_beat = {};
};

/// Buckets, and the resulting figures of the step: those of list_schedule within the memory limit on the tasks that
/// try_buckets makes of the plan.
template <handle V, handle X>
struct scheduled_bucket_plan {
    bucket_plan<V, X> plan;  ///< empty for the step as it is
    nanoseconds makespan;
    bytes peak;
    std::size_t collectives = 0;  ///< the number of collectives that are left of those that may be merged
};

/// The result of a search.
template <handle V, handle X>
struct bucket_search_result {
    /// The tried plans that fit and that no other one beats in makespan, peak and number of collectives, including the
    /// step as it is. They are sorted by ascending makespan, so the first one is the fastest. Empty if nothing fits, or
    /// if no buckets can be faster than `to_beat`.
    std::vector<scheduled_bucket_plan<V, X>> front;
    std::size_t trials = 0;  ///< the number of plans whose tasks were made
};

/// Returns the fastest buckets within the memory limit among those tried; the result is never slower than no buckets.
/// The search divides the collectives that `choose(v) -> bucket_choice` allows to be merged into buckets: first all of
/// them in the same way, by bytes, by kernel time, and by their slack in the schedule without buckets; then those of
/// each label, group and kind in a way of their own. Finally, it halves buckets for which the best schedule waits. If a
/// division needs too much memory, the bucket that is to blame is halved.
///
/// A larger limit never gives a longer makespan, among the limits from the peak of the step (`step_peak`) on, and among
/// those below it: the search decides at levels of memory and not within the limit itself. At a level within which the
/// step does not fit without buckets, no buckets are searched.
///
/// Every plan is one that plan_buckets makes for the program in the given order or in that of its schedule, and is
/// legal for `g` as it is given: verify_buckets accepts it, and apply_buckets carries it out. The error says why `g` is
/// not a task graph. If a limit in `options.limits` is zero, nothing is merged. With `to_beat`, nothing is searched if
/// a lower bound (detail/bound_in_buckets.hpp) shows that no buckets are faster; otherwise the result is the same as
/// without it. Deterministic. Facts about the program are gathered once for each of the two orders. A trial then takes
/// the attempts to merge, O(V) plus O(log v) for each edge of the v vertices that move, O(V + E) for its tasks and
/// their lower bound, and list_schedule, which is given up once it is behind that of the best plan at the same point.
template <dependence_graph G, op_model<G> M, class Choose, bucket_cost_model<G> C>
    requires dataflow_graph<G> && requires(Choose& choose, vertex_t<G> v) {
        { choose(v) } -> std::same_as<bucket_choice>;
    }
[[nodiscard]] expected<bucket_search_result<vertex_t<G>, value_t<G>>, task_graph_error> search_buckets(
    G g, const M& ops, Choose choose, const C& costs, const bucket_search_options& options = {}) {
    const auto step = numbered_step<G>::read(g, ops);
    if (!step) return unexpected(step.error());
    const step_table& table = step->table();
    detail::bucket_trials<G, M, C> trials(*step, ops, choose, costs, options.limits);
    const auto tasks = trials.whole();
    if (!tasks) return unexpected(tasks.error());
    const bytes step_peak = options.step_peak ? *options.step_peak : peak_of_input(**tasks);
    schedule_options how;
    how.memory_limit = memory_budget::of_variant(options.memory_limit, step_peak);
    how.effort = options.effort;
    how.under = options.under;
    std::vector<detail::bucketable> items = trials.items();
    if (options.to_beat) {
        const auto merged = [&](std::uint32_t v, bytes payload) { return trials.merged(v, payload); };
        if (detail::bound_in_buckets(table, items, options.under, merged) >= *options.to_beat)
            return bucket_search_result<vertex_t<G>, value_t<G>>();
    }
    std::vector<std::uint32_t> casts;
    for (const detail::bucketable& i : items)
        if (i.cast != step_table::none) casts.push_back(i.cast);
    const auto levels = detail::limit_levels::of_buckets(options.memory_limit, step_peak);
    detail::bucket_search search(std::move(items), how, levels, options.task_budget * options.effort, trials);
    // A schedule that takes little longer than the kernels that no pack can replace is good enough.
    nanoseconds kernels;
    for (const step_table::operation& o : table.operations)
        if (o.kind == op_kind::compute) kernels += o.duration;
    for (std::uint32_t cast : casts) kernels = kernels - table.operations[cast].duration;
    std::vector<std::uint32_t> given(table.size());
    std::iota(given.begin(), given.end(), 0u);
    search.run(std::move(given), **tasks, kernels + nanoseconds{kernels.count / 1000});

    bucket_search_result<vertex_t<G>, value_t<G>> result;
    result.trials = search.trials();
    for (const detail::scheduled_buckets& s : std::move(search).front())
        result.front.push_back({trials.in_handles(s.plan), s.makespan, s.peak, s.collectives});
    return result;
}

}  // namespace stretto

#endif
