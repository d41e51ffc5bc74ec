// The failure of a run as a value: what happened, where, and which ranks waited for which.
#ifndef STRETTO_BACKEND_RUN_FAILURE_HPP
#define STRETTO_BACKEND_RUN_FAILURE_HPP

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/core/process_group.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace stretto {

/// A lane that waited when a run was abandoned. Lanes may continue while they are read, so the values are hints for
/// people.
struct waiting_lane {
    rank_id rank = 0;
    std::uint32_t lane = 0;     ///< 0 is the compute lane; 1 + `group` is the channel of a group
    group_id group = no_group;  ///< the group of a channel
    /// The task that the lane has begun last: in a channel, the start at which it is, or no_task if it waits for tasks
    /// of the same rank before its next one.
    task_id task = no_task;
    std::uint32_t sequence = 0;           ///< the number of that collective on its group and this rank, from 0
    std::vector<rank_id> for_ranks = {};  ///< members of the group that may not have begun this collective
    std::vector<task_id> for_tasks = {};  ///< tasks of the same rank for which it waits; no_task for one not known yet
};

/// The first failure of a run. All ranks of a host_world or an mpi_world report the same one; a rank on a device
/// reports what it has noticed itself.
struct run_failure {
    enum class reason : std::uint8_t {
        timeout,       ///< a lane has waited longer than the deadline; `waiting` says for whom each lane waits, and
                       ///< `detail` which processes no longer answer
        mismatch,      ///< members of `group` meet in different collectives; `detail` says how they differ
        overflow,      ///< amounts of `task` that became known in the run do not fit; `detail` gives them
        kernel_threw,  ///< the kernel of `task` threw on `rank`; `detail` is the message
        rank_threw,    ///< the program of `rank` threw outside of a kernel
        rank_left,     ///< the program of `rank` has returned while others wait for it
        call_failed,   ///< a library below the backend has failed on `rank`; `detail` gives the call and its message
    };
    reason why = reason::timeout;
    rank_id rank = 0;            ///< the rank that has noticed or caused it, see `why`
    group_id group = no_group;   ///< the group of the collective concerned, if there is one
    std::uint32_t sequence = 0;  ///< the number of that collective on its group, from 0
    task_id task = no_task;      ///< the task concerned, if there is one
    std::string detail = {};
    std::vector<waiting_lane> waiting = {};  ///< lanes that waited when the run was abandoned, as far as known
};

/// Returns the failure in words, with the caller's names: `name(t)` returns the text for a task.
template <class Name>
[[nodiscard]] std::string explain(const run_failure& f, const Name& name) {
    using why = run_failure::reason;
    const auto task = [&](task_id t) {
        return t == no_task ? std::string("no task") : std::string(std::string_view(name(t)));
    };
    const std::string rank = "rank " + std::to_string(f.rank);
    const std::string collective =
        task(f.task) + " (collective " + std::to_string(f.sequence) + " of group " + std::to_string(f.group) + ")";
    std::string text;
    switch (f.why) {
        case why::timeout:
            text = rank + " has waited for longer than the deadline";
            if (!f.detail.empty()) text += ", and " + f.detail;
            break;
        case why::mismatch:
            text = rank + " meets another collective at " + collective + ": " + f.detail;
            break;
        case why::overflow:
            text = rank + " has no room at " + collective + ": " + f.detail;
            break;
        case why::kernel_threw:
            text = rank + ": the kernel of " + task(f.task) + " failed: " + f.detail;
            break;
        case why::rank_threw:
            text = rank + " failed: " + f.detail;
            break;
        case why::rank_left:
            text = rank + " has left the run while others wait for it";
            if (!f.detail.empty()) text += ", and " + f.detail;
            break;
        case why::call_failed:
            text = rank + " cannot go on";
            if (f.group != no_group) text += " at " + collective;
            else if (f.task != no_task) text += " at " + task(f.task);
            text += ": " + f.detail;
            break;
    }
    for (const waiting_lane& w : f.waiting) {
        text += "; rank " + std::to_string(w.rank) + " waits at " + task(w.task);
        if (w.lane != 0)
            text += " (collective " + std::to_string(w.sequence) + " of group " + std::to_string(w.group) + ")";
        for (const rank_id r : w.for_ranks) text += " for rank " + std::to_string(r);
        for (const task_id t : w.for_tasks) text += " for " + task(t);
    }
    return text;
}
/// Returns the failure in words where tasks have no names: task 12 is "operation 12".
[[nodiscard]] inline std::string explain(const run_failure& f) {
    return explain(f, [](task_id t) { return "operation " + std::to_string(t); });
}

}  // namespace stretto

#endif
