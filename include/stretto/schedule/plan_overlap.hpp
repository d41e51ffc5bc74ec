// From your IR to an overlap plan in one call: the front door of the scheduler.
#ifndef STRETTO_SCHEDULE_PLAN_OVERLAP_HPP
#define STRETTO_SCHEDULE_PLAN_OVERLAP_HPP

#include <utility>
#include <vector>

#include "stretto/core/concepts.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace stretto {

/// An order of the caller's vertices, and the proof that comes with it. transform/reorder.hpp applies it to the IR.
template <handle V>
struct overlap_plan {
    std::vector<V> order;     ///< the order in which to issue the vertices
    std::vector<V> vertices;  ///< the vertices in program order: task t of the certificate is vertices[t]
    task_graph tasks;         ///< what was scheduled
    schedule certificate;     ///< makespan, bound, gap, memory, and why each collective is exposed
};

/// Why there is no plan. Positions count in program order.
struct overlap_error {
    enum class reason {
        graph,         ///< the view and the model contradict each other; `graph` says how
        memory_limit,  ///< the program order itself exceeds the limit; `memory` has the figures
    };
    reason why;
    task_graph_error graph = {};
    limit_too_low memory = {};
};

/// Schedules the step that `view` and `model` describe, beginning with the order of `view.vertices()`. The result never
/// exceeds the memory limit, is never slower than program order, and is deterministic; list_schedule states guarantees
/// and cost.
template <dependence_graph G, op_model<G> M>
    requires dataflow_graph<G>
[[nodiscard]] expected<overlap_plan<vertex_t<G>>, overlap_error> plan_overlap(G view, M model,
                                                                              const schedule_options& options = {}) {
    expected<task_graph, task_graph_error> tasks = make_task_graph(view, model);
    if (!tasks) return unexpected(overlap_error{overlap_error::reason::graph, tasks.error()});
    expected<schedule, limit_too_low> found = list_schedule(*tasks, options);
    if (!found) return unexpected(overlap_error{overlap_error::reason::memory_limit, {}, found.error()});

    std::vector<vertex_t<G>> vertices, order;
    vertices.reserve(tasks->size());
    order.reserve(tasks->size());
    for (vertex_t<G> v : view.vertices()) vertices.push_back(v);
    for (task_id t : found->order()) order.push_back(vertices[t]);
    return overlap_plan<vertex_t<G>>{std::move(order), std::move(vertices), *std::move(tasks), *std::move(found)};
}

}  // namespace stretto

#endif
