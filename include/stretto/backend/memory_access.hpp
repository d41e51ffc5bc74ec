// Lists the storages that a task reads and writes. plan_lanes derives from them which tasks must wait for which, and
// check_log judges the order of a run by them.
#ifndef STRETTO_BACKEND_MEMORY_ACCESS_HPP
#define STRETTO_BACKEND_MEMORY_ACCESS_HPP

#include "stretto/core/language.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace stretto {

/// Calls f(storage, writes) for every storage that `t` uses. It reads the storages of its operands. It writes those
/// that its results allocate, those that it writes in place and, if it is a start, all in which its results live. A
/// start uses them until it is complete, and not only when it is launched. A storage may be named more than once. Tasks
/// that do no work use none. O(operands, results and writes of t).
template <class F>
void for_each_access(const task_graph& g, task_id t, F f) {
    if (!does_work(g.kind[t])) return;
    for (const value_id x : g.operands[t])
        for (const value_id s : g.storages[x]) f(s, false);
    for (const value_id x : g.writes[t])
        for (const value_id s : g.storages[x]) f(s, true);
    const value_id first = g.first_result[t], last = g.first_result[t + 1];
    for (value_id x = first; x < last; ++x)
        for (const value_id s : g.storages[x])
            if (g.kind[t] == op_kind::start || (s >= first && s < last)) f(s, true);
}

}  // namespace stretto

#endif
