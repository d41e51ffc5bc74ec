// The rules that a chunk plan must satisfy, each with a description for users.
#ifndef STRETTO_TRANSFORM_VERIFY_RULES_HPP
#define STRETTO_TRANSFORM_VERIFY_RULES_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "stretto/core/concepts.hpp"

namespace stretto {

/// The rules that verify_chunks checks; `hint` describes each of them.
enum class chunk_rule : std::uint8_t {
    sizes,
    region_unknown,
    operation_unknown,
    operation_out_of_order,
    step_boundary,
    other_dependence,
    states_misplaced,
    refused_and_chunked,
    split_unused,
    split_doubled,
    split_out_of_order,
    split_of_own,
    split_dim,
    split_missing,
    operand_state,
    not_reached,
    refused_by_model,
    result_state,
    order_names,
    extent_indivisible,
    once_differs,
    widening_misplaced,
    join_misplaced,
    join_doubled,
    join_missing,
    join_unread,
    reader_left_behind,
    reader_uninvolved,
    readers_out_of_order,
    join_impossible,
    join_way,
    join_too_early,
    slices_late,
    join_in_flight,
    collective_torn,
    shared_write,
    chain_misplaced,
    reads_what_it_writes,
    state_changed_in_place,
    written_outside,
    read_between_writes,
    result_unset
};

/// Returns what the rule requires, in one sentence.
[[nodiscard]] constexpr std::string_view hint(chunk_rule rule) {
    switch (rule) {
        case chunk_rule::sizes:
            return "a region has chunks, each has rows, and together they have as many as the region has tokens";
        case chunk_rule::region_unknown:
            return "operations, splits and joins belong to regions that the plan has";
        case chunk_rule::operation_unknown:
            return "a plan names only operations that the graph lists";
        case chunk_rule::operation_out_of_order:
            return "operations stand in program order, each once";
        case chunk_rule::step_boundary:
            return "inputs and outputs of the step are not chunked";
        case chunk_rule::other_dependence:
            return "an operation with a dependence that is no value, on another or of another on it, is not chunked";
        case chunk_rule::states_misplaced:
            return "an operation has one state for every component of its operands and results";
        case chunk_rule::refused_and_chunked:
            return "what stays whole is not chunked as well";
        case chunk_rule::split_unused:
            return "a value is split only for a region that reads it";
        case chunk_rule::split_doubled:
            return "a value is split once for a region";
        case chunk_rule::split_out_of_order:
            return "splits stand in the order in which they are first read";
        case chunk_rule::split_of_own:
            return "a region does not split what it makes in parts itself";
        case chunk_rule::split_dim:
            return "a value that is split is one tensor that has the dimension, and its extent is a multiple of the "
                   "tokens";
        case chunk_rule::split_missing:
            return "a value from outside that a region reads in parts is split for that region";
        case chunk_rule::operand_state:
            return "an operand is in the state in which its producer or its split leaves it";
        case chunk_rule::not_reached:
            return "an operation all of whose operands are whole is not chunked";
        case chunk_rule::refused_by_model:
            return "the chunk model lets every chunked operation run per chunk";
        case chunk_rule::result_state:
            return "a result is in the state that the chunk model tells";
        case chunk_rule::order_names:
            return "rows in one order are in one order throughout the plan, rows in two orders in two";
        case chunk_rule::extent_indivisible:
            return "a sliced value has the dimension, and its extent is a multiple of the tokens";
        case chunk_rule::once_differs:
            return "only the first chunk runs an operation if all its results are whole and it writes nothing";
        case chunk_rule::widening_misplaced:
            return "a sum widens only what the chunk model says, of an operation that makes one addend of one addend "
                   "of "
                   "its region and whose result is only summed, right after its last part";
        case chunk_rule::join_misplaced:
            return "joins stand in the order of the chunked operations whose results they recombine";
        case chunk_rule::join_doubled:
            return "a value is recombined once";
        case chunk_rule::join_missing:
            return "what is read outside of its region is recombined";
        case chunk_rule::join_unread:
            return "what nobody outside of its region reads is not recombined";
        case chunk_rule::reader_left_behind:
            return "everybody outside of the region reads the recombined value";
        case chunk_rule::reader_uninvolved:
            return "the readers of a join are operations outside of the region that read its value";
        case chunk_rule::readers_out_of_order:
            return "the readers of a join stand in program order, each once";
        case chunk_rule::join_impossible:
            return "parts that nothing is known to recombine stay within their region";
        case chunk_rule::join_way:
            return "slices are concatenated or written along their dimension, addends summed, and what is whole is "
                   "taken as it is";
        case chunk_rule::join_too_early:
            return "a value that its region still writes in place is recombined late";
        case chunk_rule::slices_late:
            return "parts are written in place when they are made; what is recombined late is concatenated";
        case chunk_rule::join_in_flight:
            return "a value is recombined after the collective that brings it has arrived";
        case chunk_rule::collective_torn:
            return "a collective and the waits for it are chunked together";
        case chunk_rule::shared_write:
            return "what all chunks share is written by no chunk, unless they add to it one after the other";
        case chunk_rule::chain_misplaced:
            return "a chain goes through one value that all chunks share: the only one that the operation writes, and "
                   "its only result";
        case chunk_rule::reads_what_it_writes:
            return "a chunk does not read rows that another chunk writes in the same operation";
        case chunk_rule::state_changed_in_place:
            return "a write in place leaves the state of the value as it was, if anybody sees it by an older name";
        case chunk_rule::written_outside:
            return "what a region has made is not written in place outside of it";
        case chunk_rule::read_between_writes:
            return "what a region writes in place is read outside after its last write";
        case chunk_rule::result_unset:
            return "the chunk model says the state of every result of an operation that it lets run per chunk";
    }
    return {};
}

/// A violation of a rule by a plan.
template <handle V>
struct chunk_violation {
    chunk_rule broken;
    /// If the rule is about a region, a split, a join or an entry of `refused`: its position in the plan. Otherwise:
    /// the position of an operation in the plan.
    std::size_t position = 0;
    V vertex{};  ///< the operation concerned; V{} if a split or join belongs to none
    V other{};   ///< the second vertex involved: a reader, a writer, a producer, the other end of a collective
    std::string detail = {};    ///< for refused_by_model: the reason that the model gives
    std::size_t component = 0;  ///< for result_unset: the number of the component
};

}  // namespace stretto

#endif
