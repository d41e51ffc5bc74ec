// The exact clock: what a linear order of tasks does on one compute lane and one channel per process group.
#ifndef STRETTO_SCHEDULE_SIMULATE_HPP
#define STRETTO_SCHEDULE_SIMULATE_HPP

#include <span>
#include <vector>

#include "stretto/schedule/detail/workspace.hpp"
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

namespace detail {

/// The lane and the channels while tasks run one after the other: the rules of the clock, one task at a time.
template <class = void>
class stream_clock {
public:
    /// `begin`, per task, is filled in as tasks run.
    stream_clock(const task_graph& g, std::span<nanoseconds> begin) : g_(g), begin_(begin), channel_free_(g.groups) {}

    /// Runs `t`, whose predecessors all have. Returns what the lane waits in it.
    nanoseconds run(task_id t) {
        nanoseconds stall;
        switch (g_.kind[t]) {
            case op_kind::compute:
                begin_[t] = lane_;
                lane_ += g_.duration[t];
                return stall;
            case op_kind::start: {
                nanoseconds& free = channel_free_[g_.group[t]];
                begin_[t] = lane_ > free ? lane_ : free;
                free = begin_[t] + g_.duration[t];
                return stall;
            }
            case op_kind::wait:
                if (const task_id start = g_.launch[t]; start != no_task) {
                    const nanoseconds end = begin_[start] + g_.duration[start];
                    if (end > lane_) {
                        stall = end - lane_;
                        lane_ = end;
                    }
                }
                break;
            case op_kind::input:
            case op_kind::view:
            case op_kind::output:
                break;
        }
        begin_[t] = lane_;
        return stall;
    }

    /// When all that has run is done.
    [[nodiscard]] nanoseconds step() const {
        nanoseconds latest = lane_;
        for (nanoseconds free : channel_free_)
            if (free > latest) latest = free;
        return latest;
    }
    /// How far the lane has come.
    [[nodiscard]] nanoseconds lane() const { return lane_; }

private:
    const task_graph& g_;
    std::span<nanoseconds> begin_;
    std::vector<nanoseconds> channel_free_;
    nanoseconds lane_;
};

/// The step of an order, where nothing else is asked.
template <class = void>
[[nodiscard]] inline nanoseconds step_of(const task_graph& g, std::span<const task_id> order, workspace& w) {
    const workspace::scope scratch(w);
    stream_clock clock(g, w.take<nanoseconds>(g.size()));
    for (task_id t : order) clock.run(t);
    return clock.step();
}

}  // namespace detail

/// Executes `order` (every task once, dependences respected): a kernel occupies the lane; a start begins when the
/// lane has reached it and its channel is free, and the lane goes on; a wait stalls the lane until its collective has
/// ended; everything else takes no time. Exact integers; O(V).
template <class = void>
[[nodiscard]] inline simulation simulate(const task_graph& g, std::span<const task_id> order) {
    simulation s;
    s.begin.resize(g.size());
    s.stall.resize(g.size());
    detail::stream_clock clock(g, s.begin);
    for (task_id t : order)
        if (const nanoseconds stall = clock.run(t); stall.count != 0) {
            s.stall[t] = stall;
            s.exposed += stall;
        }
    s.step = clock.step();
    s.compute = clock.lane() - s.exposed;  // the lane computes or waits
    return s;
}

}  // namespace stretto

#endif
