// Gives a captured step other durations, so that it is planned for the machine on which it runs: those that were
// measured in a run, or durations that include the time for numbers that the host reads.
#ifndef STRETTO_CAPTURE_RETIMED_CAPTURE_HPP
#define STRETTO_CAPTURE_RETIMED_CAPTURE_HPP

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_builder.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/cost/charge_synchronisation.hpp"
#include "stretto/schedule/explain_errors.hpp"
#include "stretto/schedule/measured_run.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace stretto {

/// Returns the same step with measured durations: the median time of every kernel, and the median transfer time of
/// every collective (summarize_run). Nodes that were not measured keep their durations, and everything else stays
/// unchanged, including tables of costs. Fails if durations or bytes add up to more than a task graph or a capture may
/// hold. O(text + V log V + E + S log S) for S spans. Precondition: spans refer to nodes of the step.
inline expected<capture, diagnostic> with_durations_of(const capture& step, std::span<const measured_span> spans) {
    auto tasks = make_task_graph(capture_view{&step}, capture_op_model{&step});
    if (!tasks) {
        const auto name = [&](task_id t) { return t < step.size() ? printable(step.name(t)) : std::string("no node"); };
        diagnostic fault;
        if (tasks.error().task < step.size()) {
            fault.node = tasks.error().task;
            fault.node_name = step.name(tasks.error().task);
        }
        fault.cause = explain(tasks.error(), name);
        fault.hint = "are all costs in nanoseconds and bytes?";
        return unexpected(std::move(fault));
    }
    const measured_run run = summarize_run(*tasks, spans);
    capture_builder made = capture_builder::like(step);
    for (std::uint32_t v = 0; v < step.size(); ++v) {
        capture_node n = node_of(step, v);
        if (does_work(n.kind) && run.tasks[v].spans != 0) n.duration = run.tasks[v].duration;
        made.append(n);
    }
    return std::move(made).build();
}

/// Returns the same step with time `each` charged for every number that the host reads (charge_synchronisation), during
/// which the lane of kernels is idle. Fails if durations add up to more than a capture may hold. O(text + V log V + E).
/// Precondition: the charge is not negative, and below 2^62 ns.
inline expected<capture, diagnostic> with_synchronisation(const capture& step, nanoseconds each) {
    const charge_synchronisation model(capture_op_model{&step}, each);
    capture_builder made = capture_builder::like(step);
    for (std::uint32_t v = 0; v < step.size(); ++v) {
        capture_node n = node_of(step, v);
        n.kind = model.kind(v);
        n.duration = model.duration(v);
        made.append(n);
    }
    return std::move(made).build();
}

}  // namespace stretto

#endif
