// This header computes exposed communication: how long each collective keeps the lane waiting, and why.
#ifndef STRETTO_SCHEDULE_EXPOSURE_HPP
#define STRETTO_SCHEDULE_EXPOSURE_HPP

#include <algorithm>
#include <span>
#include <vector>

#include "stretto/schedule/simulate.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace stretto {

/// The main reason why the lane waits for a collective.
enum class exposure_reason : std::uint8_t {
    hidden,      ///< the lane does not wait: the collective is not exposed
    dependence,  ///< its inputs came late, and too little other work was left to run meanwhile
    channel,     ///< it queued behind `blocker`, another collective of its group
    memory,      ///< other work was ready, but would have exceeded the memory limit
};

/// One collective of an order. Times count from the start of the step.
struct collective_exposure {
    task_id start;
    task_id wait;         ///< its first wait in the order; no_task if there is none
    nanoseconds exposed;  ///< how long the lane stalls in its waits
    nanoseconds ready;    ///< when everything that it reads has been computed
    nanoseconds begin;    ///< when its channel begins it
    nanoseconds needed;   ///< when the lane reaches its first wait
    exposure_reason reason;
    task_id blocker;  ///< the collective behind which it queued; otherwise the last input to be ready, or no_task
};

/// Explains every collective of `order`, in the order of their starts. `s` contains the times of this order. `starved`
/// lists, in ascending order, the waits during which only the memory limit kept kernels from running; only a scheduler
/// knows them. The result is deterministic. O(V + E), plus O(log W) per wait for W starved ones.
template <class = void>
[[nodiscard]] std::vector<collective_exposure> explain_exposure(const task_graph& g, std::span<const task_id> order,
                                                                const simulation& s,
                                                                std::span<const task_id> starved = {}) {
    std::vector<std::uint32_t> entry(g.size(), no_task);
    std::vector<task_id> previous(g.groups, no_task);
    std::vector<collective_exposure> all;
    all.reserve(static_cast<std::size_t>(std::count(g.kind.begin(), g.kind.end(), op_kind::start)));
    for (task_id t : order) {
        if (g.kind[t] == op_kind::start) {
            nanoseconds ready;
            task_id latest = no_task;
            for (task_id p : g.predecessors[t]) {
                const nanoseconds end = g.kind[p] == op_kind::start ? s.begin[p] : s.end(g, p);
                if (latest == no_task || end > ready) {
                    ready = end;
                    latest = p;
                }
            }
            task_id& before = previous[g.group[t]];
            // It queued if everything that it reads was there, but the channel was busy until it began.
            const bool queued = before != no_task && s.end(g, before) > ready && s.end(g, before) == s.begin[t];
            entry[t] = static_cast<std::uint32_t>(all.size());
            all.push_back({t, no_task, {}, ready, s.begin[t], {}, exposure_reason::hidden, queued ? before : latest});
            before = t;
        } else if (g.launch[t] != no_task) {
            collective_exposure& e = all[entry[g.launch[t]]];
            if (e.wait == no_task) {
                e.wait = t;
                e.needed = s.begin[t] - s.stall[t];
            }
            e.exposed += s.stall[t];
            if (s.stall[t].count == 0) continue;
            const bool queued = e.blocker != no_task && g.kind[e.blocker] == op_kind::start &&
                                g.group[e.blocker] == g.group[e.start] && s.end(g, e.blocker) == e.begin &&
                                e.begin > e.ready;
            // If the channel had been free, the collective would have begun `begin - ready` earlier. Is that most of
            // the stall?
            const bool mostly_queue = queued && (e.begin - e.ready) * 2 >= e.exposed;
            if (std::binary_search(starved.begin(), starved.end(), t)) e.reason = exposure_reason::memory;
            else e.reason = mostly_queue ? exposure_reason::channel : exposure_reason::dependence;
        }
    }
    return all;
}

}  // namespace stretto

#endif
