// A captured step with other durations, so that it is planned for the machine on which it runs: those that a run has
// measured, or with what it takes that the host reads numbers.
#ifndef STRETTO_CAPTURE_RETIMED_CAPTURE_HPP
#define STRETTO_CAPTURE_RETIMED_CAPTURE_HPP

#include <cstdint>
#include <span>
#include <utility>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_builder.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/cost/charge_synchronisation.hpp"
#include "stretto/schedule/measured_run.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace stretto {

/// The same step with measured durations: of every kernel the middle of all its times, of every collective that of its
/// transfers (summarize_run). What was not measured keeps its duration, and everything else stays as it is, tables of
/// costs included. An error if durations add up to more than a capture may hold. O(text + V log V + E + S log S) for S
/// spans. Precondition: spans are of nodes of the step.
inline expected<capture, diagnostic> with_durations_of(const capture& step, std::span<const measured_span> spans) {
    auto tasks = make_task_graph(capture_view{&step}, capture_op_model{&step});
    if (!tasks) {
        diagnostic fault;
        if (tasks.error().task < step.size()) fault.node = tasks.error().task;
        fault.cause = "depends on what the step does not have";
        fault.hint = "a capture that can be run can be planned, too";
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

/// The same step with so long a time charged for every number that the host reads (charge_synchronisation), where the
/// lane of kernels then stands still. An error if durations add up to more than a capture may hold. O(text + V + E).
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
