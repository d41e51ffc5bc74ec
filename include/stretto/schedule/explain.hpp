// Reports explain in one line each why a collective stays exposed and what a lower bound is based on, with the caller's
// names. All reports of schedules use these sentences, so that they agree.
#ifndef STRETTO_SCHEDULE_EXPLAIN_HPP
#define STRETTO_SCHEDULE_EXPLAIN_HPP

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/core/units.hpp"
#include "stretto/schedule/bounds.hpp"
#include "stretto/schedule/exposure.hpp"
#include "stretto/schedule/human_units.hpp"
#include "stretto/schedule/simulate.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/schedule/task_labels.hpp"

namespace stretto {

/// Returns the spelling in reports.
[[nodiscard]] constexpr std::string_view name_of(exposure_reason reason) noexcept {
    switch (reason) {
        case exposure_reason::hidden:
            return "hidden";
        case exposure_reason::channel:
            return "channel";
        case exposure_reason::memory:
            return "memory";
        case exposure_reason::dependence:
            break;
    }
    return "dependence";
}

/// Returns the spelling in reports.
[[nodiscard]] constexpr std::string_view name_of(bound_kind kind) noexcept {
    switch (kind) {
        case bound_kind::load:
            return "load";
        case bound_kind::critical_path:
            return "critical_path";
        case bound_kind::jackson:
            return "jackson";
        case bound_kind::memory:
            return "memory";
        case bound_kind::precedence:
            return "precedence";
        case bound_kind::deferral:
            return "deferral";
        case bound_kind::contention:
            return "contention";
        case bound_kind::spine:
            break;
    }
    return "spine";
}

/// The subject of an explanation: an order of a task graph, its exact times, and the memory limit that it keeps.
struct explained_order {
    const task_graph& tasks;
    std::span<const task_id> order;
    const simulation& times;
    bytes memory_limit = unlimited_bytes;
};

namespace detail {

/// Returns the predecessor of t that became available last, or no_task if everything is available at the start. Views
/// and inputs take no time, so they are replaced by what they depend on.
template <class = void>
[[nodiscard]] task_id last_needed_by(const task_graph& g, const simulation& times, task_id t) {
    do {
        task_id latest = no_task;
        nanoseconds latest_end;
        for (task_id p : g.predecessors[t]) {
            const nanoseconds end = g.kind[p] == op_kind::start ? times.begin[p] : times.end(g, p);
            if (latest != no_task && end <= latest_end) continue;
            latest = p;
            latest_end = end;
        }
        t = latest;
    } while (t != no_task && (g.kind[t] == op_kind::view || g.kind[t] == op_kind::input));
    return t;
}

/// Returns the collective before e on its channel if e queued behind it, otherwise no_task.
template <class = void>
[[nodiscard]] task_id queued_behind(const task_graph& g, const simulation& times, const collective_exposure& e) {
    const bool queued = e.blocker != no_task && g.kind[e.blocker] == op_kind::start && e.begin > e.ready &&
                        g.group[e.blocker] == g.group[e.start] && times.end(g, e.blocker) == e.begin;
    return queued ? e.blocker : no_task;
}

/// Returns the number of kernels after the wait in the order that were ready when the lane reached the wait.
/// Precondition: the order contains the wait. O(V + E).
template <class = void>
[[nodiscard]] std::size_t kernels_kept_back(const task_graph& g, std::span<const task_id> order, task_id wait) {
    std::vector<bool> done(g.size(), false);
    std::size_t at = 0;
    for (; order[at] != wait; ++at) done[order[at]] = true;
    std::size_t kernels = 0;
    for (++at; at < order.size(); ++at) {
        const task_id t = order[at];
        const auto before = g.predecessors[t];
        if (!std::all_of(before.begin(), before.end(), [&](task_id p) { return done[p]; })) continue;
        if (g.kind[t] == op_kind::compute) ++kernels;
        else if (g.kind[t] == op_kind::view)
            done[t] = true;  // a view takes no time, so its successors may be ready as well
    }
    return kernels;
}

/// Explains an exposure whose reason is a dependence: what the collective had to wait for, whether it was late even
/// then, and how little work was left.
template <task_names L>
[[nodiscard]] std::string because_of_dependence(const explained_order& o, const collective_exposure& e,
                                                const L& labels) {
    const auto name = [&](task_id t) { return std::string(std::string_view(labels.name(t))); };
    const task_id source = last_needed_by(o.tasks, o.times, e.start), before = queued_behind(o.tasks, o.times, e);
    const nanoseconds late = e.begin - e.ready, work = e.needed - e.begin;
    std::string why = "reads nothing that is computed";
    // Who depends on a start and not on its wait needs it only to have begun.
    if (source != no_task && o.tasks.kind[source] == op_kind::start)
        why = "depends on " + name(source) + ", which begins at " + human(o.times.begin[source]);
    else if (source != no_task)
        why = "depends on " + name(source) + ", which ends at " + human(o.times.end(o.tasks, source));
    if (before != no_task) why += ", and queued " + human(late) + " behind " + name(before);
    // A later launch is mentioned only if it explains at least half of the exposed time.
    else if (late * 2 >= e.exposed && late.count > 0) why += ", and was launched " + human(late) + " later";
    if (work.count > 0) why += "; only " + human(work) + " of other work was left before ";
    else why += "; no other work was left before ";
    return why + name(e.wait) + " needed it";
}

}  // namespace detail

/// Returns the task that the reason of an exposure blames. For a dependence, it is the input of the collective that
/// became available last; for a channel, the collective before it; otherwise no_task. O(path of views).
template <class = void>
[[nodiscard]] task_id culprit_of(const task_graph& g, const simulation& times, const collective_exposure& e) {
    if (e.reason == exposure_reason::channel) return e.blocker;
    return e.reason == exposure_reason::dependence ? detail::last_needed_by(g, times, e.start) : no_task;
}

/// Explains why a collective of that order is as exposed as it is: "depends on index_put__9, which ends at 613.7 ms;
/// only 1.17 ms of other work was left before wait_tensor_239 needed it". The subject of the sentence is the start of
/// the collective. O(V + E) if memory is the reason, otherwise O(path of views).
template <task_names L>
[[nodiscard]] std::string explain(const explained_order& o, const collective_exposure& e, const L& labels) {
    switch (e.reason) {
        case exposure_reason::hidden:
            return "hidden under other work";
        case exposure_reason::channel: {
            std::string text = "queued " + human(e.begin - e.ready) + " behind ";
            text += std::string_view(labels.name(e.blocker));
            text += " on ";
            text += std::string_view(labels.group(o.tasks.group[e.start]));
            return text;
        }
        case exposure_reason::memory: {
            const std::size_t kept = detail::kernels_kept_back(o.tasks, o.order, e.wait);
            return (kept == 0   ? std::string("other work was")
                    : kept == 1 ? std::string("1 kernel was")
                                : with_commas(kept) + " kernels were") +
                   " ready, but would have exceeded the memory limit of " + human(o.memory_limit);
        }
        case exposure_reason::dependence:
            break;
    }
    return detail::because_of_dependence(o, e, labels);
}

/// Explains what a lower bound is based on: "the channel of mesh_ep is busy that long".
template <task_names L>
[[nodiscard]] std::string explain(const lower_bound& bound, const L& labels) {
    std::string machine = "the compute lane";
    if (bound.machine != 0) {
        machine = "the channel of ";
        machine += std::string_view(labels.group(bound.machine - 1));
    }
    switch (bound.kind) {
        case bound_kind::load:
            return machine + " is busy that long";
        case bound_kind::critical_path:
            return "a chain of dependences takes that long";
        case bound_kind::jackson:
            return machine + " with what must come before and after its work";
        case bound_kind::contention:
            return "the compute lane and " + machine + ", which slows it down, are busy that long";
        case bound_kind::memory:
            return "what finds no room beside each other must lie between points of the critical path";
        case bound_kind::precedence:
            return "what memory has no room for before a kernel comes after it";
        case bound_kind::deferral:
            return "work that memory has no room to put off comes before a kernel and what must follow it";
        case bound_kind::spine:
            break;
    }
    return "work that must lie between points of the critical path";
}

}  // namespace stretto

#endif
