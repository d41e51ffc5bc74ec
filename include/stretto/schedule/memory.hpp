// Live bytes of an order: which storages exist when, with aliases and asynchronous readers.
#ifndef STRETTO_SCHEDULE_MEMORY_HPP
#define STRETTO_SCHEDULE_MEMORY_HPP

#include <span>
#include <vector>

#include "stretto/schedule/task_graph.hpp"

namespace stretto {

struct memory_profile {
    bytes peak;               ///< maximum over all tasks of `live`
    task_id peak_at;          ///< first task, in the order, at which it is reached
    std::vector<bytes> live;  ///< per position in the order: after that task's allocations, before what it frees
};

/// A task allocates its results when it is reached; a storage is freed after the last task in `order` that reads,
/// writes or aliases it, and what a start reads stays until its wait. Inputs are not counted and, like what the output
/// reads, never freed. Exact; O(V + E).
[[nodiscard]] inline memory_profile profile_memory(const task_graph& g, std::span<const task_id> order) {
    std::vector<task_id> last(g.allocation.size(), no_task);
    for (task_id t : order)
        for (value_id s : g.touched[t]) last[s] = t;
    memory_profile profile{{}, order.empty() ? no_task : order.front(), {}};
    profile.live.reserve(order.size());
    bytes live;
    for (task_id t : order) {
        if (g.kind[t] != op_kind::input)
            for (value_id x = g.first_result[t]; x < g.first_result[t + 1]; ++x) live += g.allocation[x];
        profile.live.push_back(live);
        if (live > profile.peak) {
            profile.peak = live;
            profile.peak_at = t;
        }
        for (value_id s : g.touched[t])
            if (last[s] == t) live -= g.allocation[s];
    }
    return profile;
}

}  // namespace stretto

#endif
