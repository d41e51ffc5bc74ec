// The compute lane of a rank on the host.
#ifndef STRETTO_BACKEND_DETAIL_HOST_LANE_HPP
#define STRETTO_BACKEND_DETAIL_HOST_LANE_HPP

#include <concepts>
#include <optional>
#include <string>
#include <utility>

#include "stretto/backend/detail/failure_of.hpp"
#include "stretto/backend/detail/host_run.hpp"
#include "stretto/backend/detail/host_word.hpp"
#include "stretto/core/process_group.hpp"

namespace stretto::detail {

/// The compute lane of a rank: the thread that puts is the one that runs, so a launch returns when the kernel has.
class host_lane {
public:
    using event_type = host_event;

    host_lane(host_run& run, rank_id rank) : run_(run), rank_(rank) {}

    bool wait(event_type& e) {
        station_.event.store(&e, std::memory_order_relaxed);
        return e.done.await(e.recorded, station_);
    }
    bool record(event_type& e) {
        e.task.store(station_.task.load(std::memory_order_relaxed), std::memory_order_relaxed);
        ++e.recorded;
        e.done.advance();
        return true;
    }
    bool pass(task_id t) {
        station_.task.store(t, std::memory_order_relaxed);
        return true;
    }
    template <class Kernel>
        requires std::invocable<Kernel&>
    bool launch(task_id t, Kernel& kernel) {
        station_.task.store(t, std::memory_order_relaxed);
        std::optional<std::string> thrown = failure_of([&] { kernel(); });
        if (!thrown) return !run_.failed();
        run_.fail({run_failure::reason::kernel_threw, rank_, no_group, 0, t, *std::move(thrown), {}});
        return false;
    }
    [[nodiscard]] host_station& station() noexcept { return station_; }

private:
    host_run& run_;
    rank_id rank_;
    host_station station_;
};

}  // namespace stretto::detail

#endif
