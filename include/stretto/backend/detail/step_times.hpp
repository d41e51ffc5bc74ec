// When the tasks of replays began and ended on one rank, as its lanes have recorded it.
#ifndef STRETTO_BACKEND_DETAIL_STEP_TIMES_HPP
#define STRETTO_BACKEND_DETAIL_STEP_TIMES_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/core/process_group.hpp"
#include "stretto/schedule/measured_span.hpp"

namespace stretto::detail {

/// The spans of all replays of a rank. Replays in which any task was recorded are numbered from 0 as steps.
class step_times {
public:
    explicit step_times(rank_id rank) : rank_(rank) {}

    /// Adds the span of a task in the current step. Times that belong to no task, such as those of a single collective,
    /// are not part of a step.
    void add(task_id t, nanoseconds begin, nanoseconds end) {
        if (t != no_task) all_.push_back({t, begin, end, rank_, steps_});
    }
    void end_step() {
        if (all_.size() != before_step_) ++steps_;
        before_step_ = all_.size();
    }
    [[nodiscard]] const std::vector<measured_span>& all() const noexcept { return all_; }

private:
    rank_id rank_;
    std::uint32_t steps_ = 0;
    std::size_t before_step_ = 0;  // how many spans there were when the current step began
    std::vector<measured_span> all_;
};

}  // namespace stretto::detail

#endif
