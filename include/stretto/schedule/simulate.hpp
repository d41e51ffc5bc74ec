// The exact clock: what a linear order of tasks does on one compute lane and one channel per process group.
#ifndef STRETTO_SCHEDULE_SIMULATE_HPP
#define STRETTO_SCHEDULE_SIMULATE_HPP

#include <span>
#include <vector>

#include "stretto/schedule/task_graph.hpp"

namespace stretto {

/// When everything happens. All times count from the start of the step.
struct simulation {
    nanoseconds step;                ///< the lane and all channels are done
    nanoseconds exposed;             ///< time the lane spent in waits
    nanoseconds compute;             ///< time the lane spent in kernels
    std::vector<nanoseconds> begin;  ///< per task; of a start: when its channel begins it; of a wait: when it returns
    std::vector<nanoseconds> stall;  ///< per task: what the lane waited in it (0 unless it is a wait)

    /// End of a kernel, or of a collective on its channel.
    [[nodiscard]] nanoseconds end(const task_graph& g, task_id t) const {
        const bool takes_time = g.kind[t] == op_kind::compute || g.kind[t] == op_kind::start;
        return takes_time ? begin[t] + g.duration[t] : begin[t];
    }
};

/// Executes `order` (every task once, dependences respected): a kernel occupies the lane; a start begins when the
/// lane has reached it and its channel is free, and the lane goes on; a wait stalls the lane until its collective has
/// ended; everything else takes no time. Exact integers; O(V).
template <class = void>
[[nodiscard]] inline simulation simulate(const task_graph& g, std::span<const task_id> order) {
    simulation s;
    s.begin.resize(g.size());
    s.stall.resize(g.size());
    std::vector<nanoseconds> channel_free(g.groups);
    nanoseconds lane;
    for (task_id t : order) {
        switch (g.kind[t]) {
            case op_kind::compute:
                s.begin[t] = lane;
                lane += g.duration[t];
                s.compute += g.duration[t];
                break;
            case op_kind::start: {
                nanoseconds& free = channel_free[g.group[t]];
                s.begin[t] = lane > free ? lane : free;
                free = s.begin[t] + g.duration[t];
                break;
            }
            case op_kind::wait:
                if (g.launch[t] != no_task) {
                    const nanoseconds end = s.begin[g.launch[t]] + g.duration[g.launch[t]];
                    if (end > lane) {
                        s.stall[t] = end - lane;
                        s.exposed += s.stall[t];
                        lane = end;
                    }
                }
                s.begin[t] = lane;
                break;
            case op_kind::input:
            case op_kind::view:
            case op_kind::output:
                s.begin[t] = lane;
                break;
        }
    }
    s.step = lane;
    for (nanoseconds free : channel_free)
        if (free > s.step) s.step = free;
    return s;
}

}  // namespace stretto

#endif
