// A run of a step is recorded as spans: the intervals in which its tasks were active on each rank.
#ifndef STRETTO_SCHEDULE_MEASURED_SPAN_HPP
#define STRETTO_SCHEDULE_MEASURED_SPAN_HPP

#include <cstdint>

#include "stretto/core/process_group.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace stretto {

/// The interval of one task on one rank in one step. For a kernel, it is its execution; for a collective, it lasts from
/// the moment the rank takes part until the collective is complete there; for a wait, it lasts from the moment the lane
/// reaches it until the lane continues. All times of a run are on one clock, whose zero does not matter.
struct measured_span {
    task_id task = no_task;
    nanoseconds begin, end;
    rank_id rank = 0;
    std::uint32_t step = 0;  ///< the number of the replay, from 0
    friend constexpr bool operator==(const measured_span&, const measured_span&) = default;
};

}  // namespace stretto

#endif
