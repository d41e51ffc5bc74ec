// Turns a checked order into a program for lanes, which states the lane of each task, what the task must wait for, and
// where its storages are. Kernels share the compute lane, number 0; the collectives of each group have a channel, from
// lane 1 on. A lane runs its instructions in order, so only dependences across lanes need an event, and of these only
// the ones that nothing else implies.
#ifndef STRETTO_BACKEND_LANE_PROGRAM_HPP
#define STRETTO_BACKEND_LANE_PROGRAM_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/backend/arena_plan.hpp"
#include "stretto/backend/bind_error.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/process_group.hpp"
#include "stretto/schedule/checked_order.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace stretto {

/// One instruction that a host issues to a lane: waits for events, then the kernel or the collective of a task (nothing
/// if the task is a wait), and then possibly the record of an event.
struct lane_instruction {
    static constexpr std::uint32_t no_event = UINT32_MAX;

    task_id task = no_task;
    std::uint32_t lane = 0;
    std::uint32_t first_wait = 0, last_wait = 0;  ///< a range of lane_program::waits
    std::uint32_t event = no_event;               ///< recorded after it
    bool holds_host = false;                      ///< the host issues nothing more until the lane has come this far

    friend bool operator==(const lane_instruction&, const lane_instruction&) = default;
};

/// Instructions in the order in which they are issued. Each event is recorded by one instruction, which comes before
/// any instruction that waits for it.
struct lane_program {
    std::vector<group_id> groups;  ///< the groups of lanes 1, 2, ..., in ascending order
    std::vector<lane_instruction> instructions;
    std::vector<std::uint32_t> waits;  ///< the numbers of the events for which instructions wait
    std::uint32_t events = 0;          ///< how many events there are; they are numbered from 0
    arena_plan arena;

    /// Returns the number of lanes, including the compute lane.
    [[nodiscard]] std::size_t lanes() const noexcept { return groups.size() + 1; }
    /// Returns the numbers of the events for which an instruction waits.
    [[nodiscard]] std::span<const std::uint32_t> waits_of(const lane_instruction& i) const {
        return std::span(waits).subspan(i.first_wait, i.last_wait - i.first_wait);
    }
    friend bool operator==(const lane_program&, const lane_program&) = default;
};

/// Makes the program of an order, or returns an error if the order was checked for another graph. A task begins after
/// all of these are complete:
///   - every earlier task that used some of the same bytes, if either of the two writes them, whether in the same
///     storage or in another one that occupied these bytes before;
///   - its predecessors in the graph. A dependence on a start refers to its launch; only waits, and tasks that use the
///     bytes of the collective, begin after its end.
/// Waits are minimal: if any one of them were missing, some such pair would not be ordered. Inputs, views and outputs
/// have no instruction, unless the host reads a number there, and neither has a wait for something that is known to be
/// complete. Where the host reads a number (task_graph::holds_host), it continues only when everything on which the
/// number depends is complete, so whatever it issues later, on any lane, comes after that. Deterministic. For L lanes
/// it takes O(V L^2 + E L) time and O((V + values) L) space, plus the time of plan_arena and, for S storages in the
/// arena, at most O(S^2); the minimum follows from vector clocks with one count for each lane (Mattern 1989).
/// `of_caller` are storages that the caller owns, beside those of inputs; plan_arena leaves them out.
/// Precondition: `alignment`, in bytes, is positive.
template <class = void>
[[nodiscard]] expected<lane_program, bind_error> plan_lanes(const task_graph& g, const checked_order& order,
                                                            std::int64_t alignment = 64,
                                                            std::span<const value_id> of_caller = {});

}  // namespace stretto

#include "stretto/backend/detail/lane_planner.hpp"

#endif
