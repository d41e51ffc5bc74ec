// What the times of a run must say, whatever backend has recorded them.
#ifndef STRETTO_TESTS_BACKEND_TIMED_RUNS_HPP
#define STRETTO_TESTS_BACKEND_TIMED_RUNS_HPP

#include <cstddef>
#include <string>
#include <vector>

#include "stretto/schedule/measured_span.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace support {

/// Checks the times of `steps` replays on one rank: every task that works has one span in each, after what it depends
/// on; a wait has at most one, which does not end before its collective. Returns what is wrong, or nothing.
inline std::string wrong_times(const stretto::task_graph& g, stretto::rank_id rank,
                               const std::vector<stretto::measured_span>& times, std::size_t steps) {
    using namespace stretto;
    std::vector<std::vector<const measured_span*>> seen(g.size(), std::vector<const measured_span*>(steps, nullptr));
    for (const measured_span& x : times) {
        const std::string name = "task " + std::to_string(x.task) + ", step " + std::to_string(x.step) + ": ";
        if (x.rank != rank) return name + "another rank";
        if (x.task >= g.size() || x.step >= steps) return name + "there is none";
        if (x.begin > x.end) return name + "ends before it begins";
        if (seen[x.task][x.step] != nullptr) return name + "twice";
        seen[x.task][x.step] = &x;
    }
    for (task_id t = 0; t < g.size(); ++t)
        for (std::size_t step = 0; step < steps; ++step) {
            const measured_span* const x = seen[t][step];
            const std::string name = "task " + std::to_string(t) + ", step " + std::to_string(step) + ": ";
            if (x == nullptr) {
                if (does_work(g.kind[t])) return name + "no time";
                continue;
            }
            if (!does_work(g.kind[t]) && g.kind[t] != op_kind::wait) return name + "it does no work";
            if (step != 0 && seen[t][step - 1] != nullptr && seen[t][step - 1]->end > x->begin)
                return name + "begins before the previous step has ended it";
            for (const task_id before : g.predecessors[t]) {
                const measured_span* const y = seen[before][step];
                // Only what waits for a start comes after its end.
                if (y == nullptr || g.kind[before] == op_kind::start || g.kind[t] == op_kind::wait) continue;
                if (y->end > x->begin) return name + "begins before task " + std::to_string(before) + " has ended";
            }
            if (g.launch[t] != no_task && seen[g.launch[t]][step]->end > x->end)
                return name + "ends before its collective";
        }
    return {};
}

}  // namespace support

#endif
