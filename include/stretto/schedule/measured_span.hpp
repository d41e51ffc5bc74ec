// From when to when a task of a step has been at work, as a run has measured it.
#ifndef STRETTO_SCHEDULE_MEASURED_SPAN_HPP
#define STRETTO_SCHEDULE_MEASURED_SPAN_HPP

#include <cstdint>

#include "stretto/core/process_group.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace stretto {

/// One task on one rank in one step: a kernel; a collective, from when the rank takes part until it is complete there;
/// or a wait, from when the lane reaches it until it goes on. All times of a run are by one clock, whose zero does not
/// matter.
struct measured_span {
    task_id task = no_task;
    nanoseconds begin, end;
    rank_id rank = 0;
    std::uint32_t step = 0;  ///< the how many-th replay, from 0
    friend constexpr bool operator==(const measured_span&, const measured_span&) = default;
};

}  // namespace stretto

#endif
