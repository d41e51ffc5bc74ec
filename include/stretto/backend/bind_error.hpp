// The reasons why an order cannot be bound to a backend, with the task that is the cause.
#ifndef STRETTO_BACKEND_BIND_ERROR_HPP
#define STRETTO_BACKEND_BIND_ERROR_HPP

#include <cstdint>
#include <string>
#include <string_view>

#include "stretto/core/process_group.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace stretto {

/// The first problem that prevents an order from being bound. `task` is no_task if no single task is the cause, and
/// `group` is no_group if the problem does not concern a group.
struct bind_error {
    enum class reason : std::uint8_t {
        order_of_another_graph,  ///< the order was checked for another graph
        not_a_member,            ///< the rank is not a member of `group`, on which `task` launches a collective
        unknown_collective,      ///< the call of the start `task` does not say what it does
        unsupported_reduction,   ///< the backend cannot reduce the elements of the start `task` in the way it asks for
        sizes_at_run_time,       ///< the start `task` moves amounts that are known only when the step runs, and the
                                 ///< source does not fully say where to find them
        sizes_disagree,          ///< the amounts of the start `task` do not match its operand, its result or its group
        in_place,                ///< the start `task` writes where other ranks still read its data; see may_overlap
        capacity,                ///< a value that `task` uses has a capacity larger than its storage
        several_storages,        ///< `task` uses a value that lives in several storages, or none: it has no address
        no_address,              ///< an input that `task` uses has no address
        shared_memory,           ///< `task` writes memory of the caller that belongs to another storage, too
        no_memory,               ///< the arena cannot be allocated
    };
    reason why;
    task_id task = no_task;
    group_id group = no_group;

    friend bool operator==(const bind_error&, const bind_error&) = default;
};

/// Returns the error as the rest of a sentence, to be placed after the name of the task or of the step.
[[nodiscard]] inline std::string explain(const bind_error& e) {
    using why = bind_error::reason;
    switch (e.why) {
        case why::order_of_another_graph:
            return "has an order that was checked for another graph; check the order for this one";
        case why::not_a_member:
            return "is a collective on group " + std::to_string(e.group) + ", of which this rank is no member";
        case why::unknown_collective:
            return "is a collective of an unknown kind; let the source's call(t) tell what it does";
        case why::unsupported_reduction:
            return "reduces elements, or in a way, that this backend does not";
        case why::sizes_at_run_time:
            return "moves amounts that are known only when the step runs: the source must say how long a row is "
                   "(row_bytes) and where each amount is (an operand of 8 bytes, or count)";
        case why::sizes_disagree:
            return "moves amounts that do not fit its operand, its result or the size of its group";
        case why::in_place:
            return "writes where others still read what it sends; give the result a storage of its own";
        case why::capacity:
            return "uses a value whose capacity is larger than what its storage has room for";
        case why::several_storages:
            return "uses a value that lives in several storages, or in none, and so has no address";
        case why::no_address:
            return "uses an input for which the source gives no address";
        case why::shared_memory:
            return "writes memory of the caller that another storage uses, too; give each address(x) and "
                   "destination(x) bytes of its own";
        case why::no_memory:
            break;
    }
    return "needs an arena larger than the memory that there is";
}
/// Returns the complete sentence with the caller's names: `name(t)` returns the text for a task.
template <class Name>
[[nodiscard]] std::string explain(const bind_error& e, const Name& name) {
    return (e.task == no_task ? std::string("the step") : std::string(std::string_view(name(e.task)))) + " " +
           explain(e);
}

}  // namespace stretto

#endif
