// One call makes an overlap plan from the caller's IR. This is the main entry point of the scheduler.
#ifndef STRETTO_SCHEDULE_PLAN_OVERLAP_HPP
#define STRETTO_SCHEDULE_PLAN_OVERLAP_HPP

#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/core/concepts.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace stretto {

/// An order of the caller's vertices with its certificate. transform/reorder.hpp applies the order to the IR.
template <handle V>
struct overlap_plan {
    std::vector<V> order;     ///< the order in which to issue the vertices
    std::vector<V> vertices;  ///< the vertices in program order: task t of the certificate is vertices[t]
    task_graph tasks;         ///< the task graph that was scheduled
    schedule certificate;     ///< makespan, bound, gap, memory, and why each collective is exposed
};

/// The reason why there is no plan.
enum class overlap_reason : std::uint8_t {
    graph,         ///< the view and the model contradict each other; `graph` names the contradiction
    memory_limit,  ///< no order was found within the limit; `memory` contains the figures
};

/// The error of plan_overlap. `vertex` is the vertex that the reason is about: the task of `graph`, or the one at which
/// program order reaches its peak. `other` is the second vertex of `graph`, if there is one and the view lists it.
template <handle V>
struct overlap_error {
    using reason = overlap_reason;
    reason why;
    V vertex{};
    V other{};
    task_graph_error graph = {};  ///< its tasks are positions in program order
    limit_too_low memory = {};
};

/// Schedules the step that `view` and `model` describe, beginning with the order of `view.vertices()`. Returns the
/// plan, or, as the error, why there is none. The result never exceeds the memory limit, is never slower than program
/// order if the limit admits that order, and is deterministic. make_task_graph and list_schedule state what they
/// require, guarantee and cost.
template <dependence_graph G, op_model<G> M>
    requires dataflow_graph<G>
[[nodiscard]] expected<overlap_plan<vertex_t<G>>, overlap_error<vertex_t<G>>> plan_overlap(
    G view, M model, const schedule_options& options = {}) {
    using error = overlap_error<vertex_t<G>>;
    const auto vertex_at = [&](task_id wanted) {
        task_id at = 0;
        for (vertex_t<G> v : view.vertices())
            if (at++ == wanted) return v;
        return vertex_t<G>{};
    };
    expected<task_graph, task_graph_error> tasks = make_task_graph(view, model);
    if (!tasks) {
        const task_graph_error& e = tasks.error();
        return unexpected(error{overlap_reason::graph, vertex_at(e.task), vertex_at(e.other), e, {}});
    }
    expected<schedule, limit_too_low> found = list_schedule(*tasks, options);
    if (!found) {
        const limit_too_low& e = found.error();
        return unexpected(error{overlap_reason::memory_limit, vertex_at(e.at), {}, {}, e});
    }

    std::vector<vertex_t<G>> vertices, order;
    vertices.reserve(tasks->size());
    order.reserve(tasks->size());
    for (vertex_t<G> v : view.vertices()) vertices.push_back(v);
    for (task_id t : found->order()) order.push_back(vertices[t]);
    return overlap_plan<vertex_t<G>>{std::move(order), std::move(vertices), *std::move(tasks), *std::move(found)};
}

}  // namespace stretto

#endif
