// The rules for reduction plans, with their descriptions: the vocabulary of verify_reductions.
#ifndef STRETTO_TRANSFORM_REDUCTION_RULES_HPP
#define STRETTO_TRANSFORM_REDUCTION_RULES_HPP

#include <cstdint>
#include <string_view>

#include "stretto/core/language.hpp"

namespace stretto {

/// The rules that verify_reductions checks; each enumerator describes how its rule is broken. `vertex` and `other` are
/// those of a reduction_violation.
enum class reduction_rule : std::uint8_t {
    unknown_vertex,      ///< a handle of the plan is not in the graph, or the lists of the plan are inconsistent
    claimed_twice,       ///< `vertex` is removed twice
    too_few_members,     ///< the reduction has fewer than two members
    out_of_order,        ///< members or sums are not in program order, or the last sum does not compute the result
    not_linear,          ///< `vertex` is not a linear collective of one value
    members_differ,      ///< `other` differs from `vertex` in more than its data
    wrong_operand,       ///< `vertex` does not read the operand that the plan lists, or `other` reads it as well
    wrong_wait,          ///< `other` is not the wait of the member `vertex`, or not its only reader
    not_a_sum,           ///< `vertex` is neither a sum nor a view of one value
    wrong_coefficients,  ///< the result is not the sum of all members, each once; `vertex` is a member
    wrong_layout,        ///< `vertex` adds values with different layouts, or the views in the plan do not match them
    superfluous,         ///< `vertex` is removed, but does not contribute to the result
    read_elsewhere,      ///< `vertex` is removed, but `other` stays and reads its result, depends on it, or names it as
                         ///< the place where it writes
    other_dependence,    ///< `vertex` depends on `other` without reading a value of it
    overwritten,         ///< `other` overwrites the operand of the member `vertex` before the next sum reads it
    written_while_needed  ///< the first sum overwrites the operand of the member `vertex`, which others still need
};

/// Returns the rule as a predicate, without the names of vertices, which the caller adds.
[[nodiscard]] inline std::string_view explain(reduction_rule rule) noexcept {
    switch (rule) {
        case reduction_rule::unknown_vertex:
            return "names something that the program does not have";
        case reduction_rule::claimed_twice:
            return "is in two reductions";
        case reduction_rule::too_few_members:
            return "has fewer than two members";
        case reduction_rule::out_of_order:
            return "is not in program order";
        case reduction_rule::not_linear:
            return "is no linear collective of one value";
        case reduction_rule::members_differ:
            return "differs from another member in more than its data";
        case reduction_rule::wrong_operand:
            return "does not read what the plan says, or reads what another member reads";
        case reduction_rule::wrong_wait:
            return "is read by something other than its wait";
        case reduction_rule::not_a_sum:
            return "is neither a sum nor a view of one value";
        case reduction_rule::wrong_coefficients:
            return "is not in the sum exactly once";
        case reduction_rule::wrong_layout:
            return "is laid out differently in the sum";
        case reduction_rule::superfluous:
            return "would vanish, and is no part of the sum";
        case reduction_rule::read_elsewhere:
            return "is read by an operation that stays";
        case reduction_rule::other_dependence:
            return "has a dependence that is no value";
        case reduction_rule::overwritten:
            return "reads what is overwritten before the next part is ready";
        case reduction_rule::written_while_needed:
            break;
    }
    return "reads what the sum is written over, and others still need it";
}

}  // namespace stretto

#endif
