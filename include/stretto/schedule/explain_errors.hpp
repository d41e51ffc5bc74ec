// Reports explain in words what is wrong with a step, an order or a limit, with the caller's names: `name(t)` returns
// the text for a task. The subject of every sentence is the task that the error is about, so the caller prints the name
// of that task first.
//
// No concept constrains `name`. Its constraint would be checked for every function called `explain`, and that would
// instantiate the body of a generic lambda for arguments that it is never called with.
#ifndef STRETTO_SCHEDULE_EXPLAIN_ERRORS_HPP
#define STRETTO_SCHEDULE_EXPLAIN_ERRORS_HPP

#include <string>
#include <string_view>

#include "stretto/schedule/human_units.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "stretto/schedule/plan_overlap.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/schedule/verify.hpp"

namespace stretto {

/// Returns the spelling of the enumerator.
[[nodiscard]] constexpr std::string_view name_of(task_graph_error::reason reason) noexcept {
    using why = task_graph_error::reason;
    switch (reason) {
        case why::reads_later_task:
            return "reads_later_task";
        case why::launch_is_no_start:
            return "launch_is_no_start";
        case why::negative_duration:
            return "negative_duration";
        case why::negative_bytes:
            return "negative_bytes";
        case why::overflow:
            return "overflow";
        case why::group_out_of_range:
            return "group_out_of_range";
        case why::stale_numbers:
            return "stale_numbers";
        case why::aliases_later_result:
            return "aliases_later_result";
        case why::operand_not_in_graph:
            break;
    }
    return "operand_not_in_graph";
}

/// Returns the spelling of the enumerator.
[[nodiscard]] constexpr std::string_view name_of(order_violation::rule broken) noexcept {
    using rule = order_violation::rule;
    switch (broken) {
        case rule::not_a_permutation:
            return "not_a_permutation";
        case rule::reads_before_producer:
            return "reads_before_producer";
        case rule::wait_before_start:
            return "wait_before_start";
        case rule::overtakes_a_write:
            return "overtakes_a_write";
        case rule::touches_data_in_flight:
            return "touches_data_in_flight";
        case rule::exceeds_memory_limit:
            break;
    }
    return "exceeds_memory_limit";
}

/// Returns the spelling of the enumerator.
[[nodiscard]] constexpr std::string_view name_of(overlap_reason reason) noexcept {
    return reason == overlap_reason::graph ? "graph" : "memory_limit";
}

/// Explains what is wrong with the task `e.task`. `name` is called with `e.other` if the sentence mentions it, and must
/// also return a text for no_task, which stands for a vertex that the view does not list.
template <class Name>
[[nodiscard]] std::string explain(const task_graph_error& e, const Name& name) {
    using why = task_graph_error::reason;
    const auto other = [&] { return std::string(std::string_view(name(e.other))); };
    switch (e.why) {
        case why::reads_later_task:
            return e.other == e.task ? "depends on itself" : "reads " + other() + ", which comes later";
        case why::launch_is_no_start:
            return "waits for " + other() + ", which is no start";
        case why::negative_duration:
            return "takes less than no time";
        case why::negative_bytes:
            return "allocates or sends less than nothing";
        case why::overflow:
            return "makes the step too large: times and bytes may add up to 2^62 at most, and there may be 2^32 - 2 "
                   "tasks at most";
        case why::group_out_of_range:
            return "is in a group whose number is too large for a position in a list of groups: is it a handle or a "
                   "hash?";
        case why::stale_numbers:
            return "has no number of its own: number the graph again after it has changed";
        case why::aliases_later_result:
            return "has a result that aliases a later one of its results; let the later one alias the earlier";
        case why::operand_not_in_graph:
            break;
    }
    return "reads, aliases or writes a value that no node produces";
}

/// Explains what is wrong with the position of the task `v.task` in an order. `name` is called with `v.other` if the
/// sentence mentions it.
template <class Name>
[[nodiscard]] std::string explain(const order_violation& v, const Name& name) {
    using rule = order_violation::rule;
    const auto other = [&] { return std::string(std::string_view(name(v.other))); };
    switch (v.broken) {
        case rule::not_a_permutation:
            return "is not in the order exactly once";
        case rule::reads_before_producer:
            return "stands before " + other() + ", which it depends on";
        case rule::wait_before_start:
            return "waits for " + other() + ", which is launched behind it";
        case rule::overtakes_a_write:
            return "stands before " + other() + ", though one of them writes a storage that both use";
        case rule::touches_data_in_flight:
            return "uses what the collective " + other() + " has in flight";
        case rule::exceeds_memory_limit:
            break;
    }
    return "needs more live bytes than the limit";
}

/// Explains why there is no schedule within a limit. "Here" is the task `e.at`, at which the input order reaches its
/// peak.
[[nodiscard]] inline std::string explain(const limit_too_low& e) {
    std::string text = "the input order needs " + human(e.input_peak) + " here, and the limit is " + human(e.limit);
    if (e.infeasible()) text += "; no order needs less than " + human(e.needed.value);
    return text;
}

/// Explains why there is no overlap plan, and begins with the name of the vertex: `name(v)` returns the text for one of
/// the caller's vertices. A vertex that the view does not list is called "another vertex".
template <handle V, class Name>
[[nodiscard]] std::string explain(const overlap_error<V>& e, const Name& name) {
    std::string text(std::string_view(name(e.vertex)));
    if (e.why == overlap_reason::memory_limit) return text + ": " + explain(e.memory);
    return text + " " + explain(e.graph, [&](task_id t) {
               return t == no_task ? std::string("another vertex") : std::string(std::string_view(name(e.other)));
           });
}

}  // namespace stretto

#endif
