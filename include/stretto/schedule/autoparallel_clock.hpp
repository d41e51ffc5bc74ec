// This is the clock of the overlap simulator of meta-pytorch/autoparallel. Use it to compare schedules with the numbers
// of that simulator. It differs from ours (simulate.hpp) in one respect: every task, even an input, a view, a wait or
// the output, pays a launch overhead on its stream, and a launch also pays it on the compute stream. Dense graphs look
// slower by this clock, so use `simulate` for decisions. Without overhead and without blocking collectives, the two
// clocks agree to the nanosecond.
#ifndef STRETTO_SCHEDULE_AUTOPARALLEL_CLOCK_HPP
#define STRETTO_SCHEDULE_AUTOPARALLEL_CLOCK_HPP

#include <algorithm>
#include <concepts>
#include <span>
#include <vector>

#include "stretto/core/config.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace stretto {

/// The options of this clock.
struct autoparallel_clock_options {
    nanoseconds overhead{1000};  ///< for every task; the simulator's value is 1 us
};

/// A kernel or a collective that takes time. It ends at `begin + duration`; overheads are not part of it.
struct autoparallel_event {
    task_id task = no_task;
    nanoseconds begin;
    nanoseconds duration;
    friend constexpr bool operator==(const autoparallel_event&, const autoparallel_event&) = default;
};

/// The results of the two entry points of the simulator, which share the clock.
struct autoparallel_trace {
    std::vector<autoparallel_event> events;  ///< in the order of the tasks, without those that take no time
    nanoseconds makespan;                    ///< the last end of an event; trailing waits and overheads do not count
    nanoseconds total;                       ///< the last time of any stream; waits and overheads count
    nanoseconds compute;                     ///< time spent in kernels
    nanoseconds communication;               ///< time spent in collectives
    nanoseconds exposed;                     ///< time in which compute is idle and waits for a collective
};

/// Runs `order` on the simulator's clock. `blocking(t)` returns whether the start `t` is synchronous; the compute
/// stream then waits for it at once. Only kernels and starts take time, whatever durations other tasks have; a wait
/// without a launch costs its overhead. The result is deterministic. O(V) time. Precondition: `order` has every task at
/// most once and respects dependences. Source: `create_execution_trace` (events, makespan) and `estimate_graph_metrics`
/// (the rest, without memory).
template <class Blocking>
    requires requires(Blocking blocking, task_id t) {
        { blocking(t) } -> std::convertible_to<bool>;
    }
[[nodiscard]] autoparallel_trace autoparallel_clock(const task_graph& g, std::span<const task_id> order,
                                                    Blocking blocking, autoparallel_clock_options options = {}) {
    autoparallel_trace trace;
    std::vector<nanoseconds> channel(g.groups);   // by process group: the time of its stream
    std::vector<nanoseconds> released(g.size());  // by start that has run: when a wait for it may continue
    nanoseconds lane;                             // the time of the compute stream
    const auto stall_until = [&](nanoseconds moment) {
        if (moment <= lane) return;
        trace.exposed += moment - lane;
        lane = moment;
    };
    const auto record = [&](task_id t, nanoseconds begin) {
        const nanoseconds duration = g.duration[t];
        if (duration.count <= 0) return;
        trace.events.push_back({t, begin, duration});
        trace.makespan = std::max(trace.makespan, begin + duration);
    };
    for (const task_id t : order) {
        STRETTO_ASSERT(t < g.size(), "the order names a task that the graph does not have");
        switch (g.kind[t]) {
            case op_kind::start: {
                nanoseconds& stream = channel[g.group[t]];
                stream = std::max(stream, lane);
                record(t, stream);
                trace.communication += g.duration[t];
                stream += g.duration[t] + options.overhead;  // the trailing overhead holds up a wait, too
                lane += options.overhead;
                released[t] = stream;
                if (blocking(t)) stall_until(stream);
                break;
            }
            case op_kind::wait:
                if (g.launch[t] != no_task) stall_until(released[g.launch[t]]);
                lane += options.overhead;
                break;
            case op_kind::compute:
                record(t, lane);
                trace.compute += g.duration[t];
                lane += g.duration[t] + options.overhead;
                break;
            case op_kind::input:
            case op_kind::view:
            case op_kind::output:
                lane += options.overhead;
                break;
        }
    }
    trace.total = lane;
    for (const nanoseconds clock : channel) trace.total = std::max(trace.total, clock);
    return trace;
}

/// Runs `order` on the simulator's clock when no collective is synchronous.
template <class = void>
[[nodiscard]] inline autoparallel_trace autoparallel_clock(const task_graph& g, std::span<const task_id> order,
                                                           autoparallel_clock_options options = {}) {
    return autoparallel_clock(g, order, [](task_id) { return false; }, options);
}

}  // namespace stretto

#endif
