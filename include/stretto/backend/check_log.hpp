// Checks the log of what was put into queues: everything that must be ordered must be ordered whatever the timing of
// the lanes. The required order is derived from the task graph and from the bytes that tasks use, the actual order from
// the log alone, so the check does not trust the code that made the log.
#ifndef STRETTO_BACKEND_CHECK_LOG_HPP
#define STRETTO_BACKEND_CHECK_LOG_HPP

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/backend/arena_plan.hpp"
#include "stretto/backend/recorder.hpp"
#include "stretto/schedule/rank_program.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace stretto {

/// A fault of a log, or a superfluous wait. `entry` is a position in the log.
struct log_finding {
    enum class reason : std::uint8_t {
        missing_task,      ///< `task` does work, or the host reads a number there, and it is not in the log
        launched_twice,    ///< `entry` launches `task`, which an earlier entry has launched
        wrong_lane,        ///< `entry` launches `task` on a lane that is not its own
        unrecorded_event,  ///< `entry` waits for an event that no earlier entry records, so it orders nothing
        race,              ///< `task` and `other` use the same bytes, one writes, and nothing orders them
        unordered,         ///< `task` depends on `other` in the graph, and nothing orders them
        before_ready,      ///< `task` reads bytes of `storage` that were never written
        not_held,          ///< `entry` launches `task`, but the host has not yet waited for the number of `other`
        after_free,        ///< `task` reads bytes of `storage` that were overwritten for another storage
        redundant_wait,    ///< without the wait `entry` everything would be ordered as well; this is not a fault
    };
    reason why;
    std::uint32_t entry = 0;
    task_id task = no_task;
    task_id other = no_task;
    value_id storage = 0;

    friend bool operator==(const log_finding&, const log_finding&) = default;
};

/// Checks the log of one replay of a step whose storages are where `arena` says; storages outside of the arena share no
/// bytes. Returns all faults in the order of the log or, if there are none, every wait that could be omitted on its
/// own. A wait task in the log must come after its collective even if nothing else depends on that, because tasks
/// launched after it on the lane may rely on it. If a task is missing, launched twice, on a wrong lane or before the
/// host may launch it, or if an event is not recorded, nothing else is checked. Deterministic. It takes O(n^2) time and
/// n^2 bits for n entries, and O(n^2) time more for each wait, so use it in tests, or once for a program. Precondition:
/// tasks and lanes in the log are those of `g`.
template <class = void>
[[nodiscard]] std::vector<log_finding> check_log(const task_graph& g, const arena_plan& arena, const run_log& log);

/// Returns whether a finding is a fault.
[[nodiscard]] constexpr bool is_fault(const log_finding& f) noexcept {
    return f.why != log_finding::reason::redundant_wait;
}

/// Converts the log of a rank, which is a log of graph `g`, into the input of check_deadlock (schedule/deadlock.hpp).
/// That function decides whether all ranks launch the same collectives of a group in the same order, and whether they
/// can hang. O(entries), plus the waits that each recorded event passes on.
template <class = void>
[[nodiscard]] rank_program program_of(const task_graph& g, const run_log& log) {
    rank_program made;
    std::vector<std::vector<std::uint32_t>> recorded;  // by event: the last action of its lane at that time
    std::vector<std::uint32_t> last(g.groups + 1, UINT32_MAX);
    std::vector<std::vector<std::uint32_t>> waits(g.groups + 1);
    for (const log_entry& e : log) {
        switch (e.what) {
            case log_entry::form::wait:
                if (e.which < recorded.size())
                    waits[e.lane].insert(waits[e.lane].end(), recorded[e.which].begin(), recorded[e.which].end());
                break;
            case log_entry::form::record:
                if (e.which >= recorded.size()) recorded.resize(e.which + std::size_t{1});
                recorded[e.which] = waits[e.lane];
                if (last[e.lane] != UINT32_MAX) recorded[e.which].push_back(last[e.lane]);
                break;
            case log_entry::form::launch: {
                rank_action& action = made.emplace_back();
                action.what = e.lane == 0 ? rank_action::form::kernel : rank_action::form::collective;
                action.stream = e.lane;
                if (e.lane != 0) {
                    action.group = e.lane - 1;
                    action.call = detail::call_number(g, e.which);
                }
                action.after = std::move(waits[e.lane]);
                waits[e.lane].clear();
                last[e.lane] = static_cast<std::uint32_t>(made.size() - 1);
                break;
            }
            case log_entry::form::settle: {
                rank_action& action = made.emplace_back();
                action.what = rank_action::form::host_wait;
                action.after = waits[e.lane];  // later actions on the lane still refer to them
                if (last[e.lane] != UINT32_MAX) action.after.push_back(last[e.lane]);
                break;
            }
        }
    }
    return made;
}

/// Returns the finding in words, with the caller's names: `name(t)` returns the text for a task.
template <class Name>
[[nodiscard]] std::string explain(const log_finding& f, const Name& name) {
    using why = log_finding::reason;
    const auto text = [&](task_id t) { return std::string(std::string_view(name(t))); };
    switch (f.why) {
        case why::missing_task:
            return text(f.task) + " is not launched";
        case why::launched_twice:
            return text(f.task) + " is launched twice";
        case why::wrong_lane:
            return text(f.task) + " is launched on a lane that is not its own";
        case why::unrecorded_event:
            return "a wait stands before the record of its event, and orders nothing";
        case why::race:
            return text(f.task) + " uses bytes that " + text(f.other) + " may still use; make it wait";
        case why::unordered:
            return text(f.task) + " depends on " + text(f.other) + ", which need not be complete; make it wait";
        case why::before_ready:
            return text(f.task) + " reads bytes that nobody has written";
        case why::not_held:
            return text(f.task) + " is launched before the host has read the number of " + text(f.other);
        case why::after_free:
            return text(f.task) + " reads bytes that were given to another storage";
        case why::redundant_wait:
            break;
    }
    return "a wait orders nothing that is not ordered without it; it can be left out";
}

}  // namespace stretto

#include "stretto/backend/detail/log_checker.hpp"

#endif
