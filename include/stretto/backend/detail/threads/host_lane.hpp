// The compute lane of a rank whose lanes are threads, used by the host and MPI backends.
#ifndef STRETTO_BACKEND_DETAIL_THREADS_HOST_LANE_HPP
#define STRETTO_BACKEND_DETAIL_THREADS_HOST_LANE_HPP

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stretto/backend/detail/failure_of.hpp"
#include "stretto/backend/detail/threads/host_run.hpp"
#include "stretto/backend/detail/threads/host_word.hpp"
#include "stretto/core/process_group.hpp"
#include "stretto/schedule/measured_span.hpp"

namespace stretto::detail {

/// The compute lane of a rank: the thread that puts kernels also runs them, so a launch returns when the kernel does.
class host_lane {
public:
    using event_type = host_event;

    host_lane(host_run& run, rank_id rank) : run_(run), rank_(rank) {}

    /// Returns true when the event has been reached as often as it has been put into queues, or false if the run is
    /// given up. Meanwhile the station says what the lane waits for, so that a watchdog can name it.
    bool wait(event_type& e) {
        if (run_.is_timed() && blocked_since_ == 0) blocked_since_ = host_now();
        station_.event.store(&e, std::memory_order_release);
        return e.done.await(e.recorded, station_);
    }
    /// Marks the event as reached, because everything that was put before has run. The event stores the task, so that a
    /// failure can name the task for which another lane waits in vain.
    bool record(event_type& e) {
        e.task.store(station_.task.load(std::memory_order_relaxed), std::memory_order_relaxed);
        ++e.recorded;
        e.done.advance();
        return true;
    }
    /// Skips a task without work. Only the station and, in a timed run, the times record it.
    bool pass(task_id t) {
        station_.task.store(t, std::memory_order_relaxed);
        if (run_.is_timed() && blocked_since_ != 0) note(t, blocked_since_);
        return true;
    }
    /// Returns at once, because no work of this lane is in progress between two verbs.
    bool settle() { return !run_.failed(); }
    /// Runs a kernel. If it throws, the run is given up with its message, because the other ranks would wait for this
    /// one forever. After a failure it runs nothing, because what the kernel reads may not have been made. Returns
    /// whether the run continues.
    template <class Kernel>
        requires std::invocable<Kernel&>
    bool launch(task_id t, Kernel& kernel) {
        if (run_.failed()) return false;
        station_.task.store(t, std::memory_order_relaxed);
        const std::int64_t since = run_.is_timed() ? host_now() : 0;
        std::optional<std::string> thrown = failure_of([&] { kernel(); });
        if (run_.is_timed()) note(t, since);
        if (!thrown) return !run_.failed();
        run_.fail({run_failure::reason::kernel_threw, rank_, no_group, 0, t, *std::move(thrown), {}});
        return false;
    }
    [[nodiscard]] host_station& station() noexcept { return station_; }
    /// Returns when kernels and waits have begun and ended since the last call of forget_times(), if the run is timed.
    [[nodiscard]] const std::vector<measured_span>& times() const noexcept { return times_; }
    void forget_times() { times_.clear(); }

private:
    /// Records that a task has been active from `since` until now.
    void note(task_id t, std::int64_t since) {
        times_.push_back({t, {since}, {host_now()}});
        blocked_since_ = 0;
    }

    host_run& run_;
    rank_id rank_;
    host_station station_;
    std::int64_t blocked_since_ = 0;  // when the first wait before the next task began; 0 if there is none
    std::vector<measured_span> times_;
};

}  // namespace stretto::detail

#endif
