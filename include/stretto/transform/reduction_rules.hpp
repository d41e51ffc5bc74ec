// What a reduction plan must keep to, rule by rule, in words: the vocabulary of verify_reductions.
#ifndef STRETTO_TRANSFORM_REDUCTION_RULES_HPP
#define STRETTO_TRANSFORM_REDUCTION_RULES_HPP

#include <cstdint>
#include <string_view>

#include "stretto/core/language.hpp"

namespace stretto {

/// `vertex` and `other` are those of a reduction_violation.
enum class reduction_rule : std::uint8_t {
    unknown_vertex,       ///< a handle of the plan is not in the graph, or its lists do not fit together
    claimed_twice,        ///< `vertex` vanishes twice
    too_few_members,      ///< there are not two members
    out_of_order,         ///< members or sums are not in program order; sums come from the last sum, the result
    not_linear,           ///< `vertex` is no linear collective of one value
    members_differ,       ///< `other` differs from `vertex` in more than its data
    wrong_operand,        ///< `vertex` does not read the operand that the plan says, or `other` reads it too
    wrong_wait,           ///< `other` is not the wait of the member `vertex`, or not its only reader
    not_a_sum,            ///< `vertex` is neither a sum nor a view of one value
    wrong_coefficients,   ///< the result is not the sum of all members, each once; `vertex` is a member
    wrong_layout,         ///< `vertex` adds values that are laid out differently, or the plan's views are not theirs
    superfluous,          ///< `vertex` vanishes, and the result does not need it
    read_elsewhere,       ///< `other` reads what `vertex` makes, or follows it, and both would be gone
    other_dependence,     ///< `vertex` follows `other` through a dependence that is no value
    overwritten,          ///< `other` writes over what the member `vertex` reads before the next sum reads it
    written_while_needed  ///< the first sum is written over what the member `vertex` reads, which others still need
};

/// The rule in words; the names are the caller's.
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
