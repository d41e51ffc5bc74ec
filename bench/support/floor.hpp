// What the machine needs to touch a task graph at all: the yardstick beside every figure of planning.
#ifndef STRETTO_BENCH_SUPPORT_FLOOR_HPP
#define STRETTO_BENCH_SUPPORT_FLOOR_HPP

#include <algorithm>
#include <cstdint>
#include <vector>

#include "stretto/schedule/task_graph.hpp"

namespace bench {

/// One forward sweep over the dependences: the longest path in nanoseconds, durations on the tasks.
[[nodiscard]] inline std::int64_t longest_path(const stretto::task_graph& g) {
    std::vector<std::int64_t> end(g.size(), 0);
    std::int64_t longest = 0;
    for (stretto::task_id t = 0; t < g.size(); ++t) {
        std::int64_t begin = 0;
        for (stretto::task_id p : g.predecessors[t]) begin = std::max(begin, end[p]);
        end[t] = begin + g.duration[t].count;
        longest = std::max(longest, end[t]);
    }
    return longest;
}

}  // namespace bench

#endif
