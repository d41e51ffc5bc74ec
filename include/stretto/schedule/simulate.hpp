// The exact clock computes the times of all tasks if they run in a linear order on one compute lane and one channel per
// process group.
#ifndef STRETTO_SCHEDULE_SIMULATE_HPP
#define STRETTO_SCHEDULE_SIMULATE_HPP

#include <span>
#include <vector>

#include "stretto/schedule/detail/workspace.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace stretto {

/// The times of an order. All times count from the start of the step.
struct simulation {
    nanoseconds makespan;            ///< when the lane and all channels are done
    nanoseconds exposed;             ///< time that the lane spends in waits
    nanoseconds compute;             ///< time that the lane spends in kernels
    std::vector<nanoseconds> begin;  ///< by task; for a start, when its channel begins it; for a wait, when it returns
    std::vector<nanoseconds> stall;  ///< by task: how long the lane stalls in it; 0 unless it is a wait
    /// This is, by task, how much longer than its duration a kernel takes because channels are transferring. It is
    /// empty without contention (schedule/contention.hpp). In a measured run, collectives have an entry as well, and a
    /// value is negative if the task was faster than predicted (schedule/measured_run.hpp).
    std::vector<nanoseconds> slowed;

    /// Returns the end of a kernel, or of a collective on its channel, or the beginning of any other task.
    [[nodiscard]] nanoseconds end(const task_graph& g, task_id t) const {
        if (!does_work(g.kind[t])) return begin[t];
        return begin[t] + g.duration[t] + (slowed.empty() ? nanoseconds{} : slowed[t]);
    }
};

namespace detail {

/// The rules of the clock, one task at a time: the lane and the channels while tasks run one after the other.
template <class = void>
class stream_clock {
public:
    /// `begin`, by task, is filled in as tasks run.
    stream_clock(const task_graph& g, std::span<nanoseconds> begin) : g_(g), begin_(begin), channel_free_(g.groups) {}

    /// Runs `t` and returns how long the lane stalls in it. Precondition: all predecessors of `t` have run.
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

    /// Returns the time at which everything that has run so far is done.
    [[nodiscard]] nanoseconds makespan() const {
        nanoseconds latest = lane_;
        for (nanoseconds free : channel_free_)
            if (free > latest) latest = free;
        return latest;
    }
    /// Returns the current time of the lane.
    [[nodiscard]] nanoseconds lane() const { return lane_; }

private:
    const task_graph& g_;
    std::span<nanoseconds> begin_;
    std::vector<nanoseconds> channel_free_;
    nanoseconds lane_;
};

/// Returns the makespan of an order. O(V + groups).
template <class = void>
[[nodiscard]] inline nanoseconds makespan_of(const task_graph& g, std::span<const task_id> order, workspace& w) {
    const workspace::scope scratch(w);
    stream_clock clock(g, w.take<nanoseconds>(g.size()));
    for (task_id t : order) clock.run(t);
    return clock.makespan();
}

}  // namespace detail

/// Executes `order` by the exact clock. A kernel occupies the lane. A start begins when the lane has reached it and its
/// channel is free, and the lane continues at once. A wait stalls the lane until its collective has ended. All other
/// tasks take no time. The result consists of exact integers. O(V + groups). Precondition: `order` has every task once
/// and respects dependences.
template <class = void>
[[nodiscard]] simulation simulate(const task_graph& g, std::span<const task_id> order) {
    simulation s;
    s.begin.resize(g.size());
    s.stall.resize(g.size());
    detail::stream_clock clock(g, s.begin);
    for (task_id t : order)
        if (const nanoseconds stall = clock.run(t); stall.count != 0) {
            s.stall[t] = stall;
            s.exposed += stall;
        }
    s.makespan = clock.makespan();
    s.compute = clock.lane() - s.exposed;  // the lane either computes or waits
    return s;
}

}  // namespace stretto

#endif
