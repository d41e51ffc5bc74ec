// The rules for bucket plans, with their descriptions: the vocabulary of verify_buckets.
#ifndef STRETTO_TRANSFORM_BUCKET_RULES_HPP
#define STRETTO_TRANSFORM_BUCKET_RULES_HPP

#include <cstdint>
#include <string_view>

#include "stretto/core/language.hpp"

namespace stretto {

/// The rules that verify_buckets checks; each enumerator describes how its rule is broken. `vertex` and `other` are
/// those of a bucket_violation.
enum class bucket_rule : std::uint8_t {
    unknown_vertex,   ///< a handle of the plan is not in the graph, or the lists of the plan are inconsistent
    claimed_twice,    ///< `vertex` is removed twice
    too_few_members,  ///< the bucket has fewer than two members
    no_member,  ///< `vertex` is not a collective of one value, in memory of its own, with one wait and no other reader
    members_differ,    ///< `other` differs from `vertex` in kind, group, reduction or element type
    wrong_wait,        ///< `other` is not the wait of `vertex`, or its result is not the one that the plan lists
    wrong_part,        ///< the plan does not pack the operand of the member `vertex`
    wrong_cast,        ///< `vertex` is removed, but it is no cast that the pack can perform, or belongs to no member
    wrong_amounts,     ///< payload or received bytes of the bucket of `vertex` are not the sums over its members
    order_incomplete,  ///< `vertex` is missing from the order or occurs twice in it
    not_adjacent,      ///< `other` is not right after `vertex`, its predecessor in the payload
    out_of_order,  ///< `vertex` comes before `other`, on which it depends; or the bucket of `vertex` is listed before
                   ///< that of `other`, although it is launched later
};

/// Returns the rule as a predicate, without the names of vertices, which the caller adds.
[[nodiscard]] constexpr std::string_view explain(bucket_rule rule) noexcept {
    switch (rule) {
        case bucket_rule::unknown_vertex:
            return "names something that the program does not have";
        case bucket_rule::claimed_twice:
            return "would be removed twice";
        case bucket_rule::too_few_members:
            return "has fewer than two members";
        case bucket_rule::no_member:
            return "is no collective that can be merged";
        case bucket_rule::members_differ:
            return "differs from another member in kind, group, reduction or element type";
        case bucket_rule::wrong_wait:
            return "has another wait or result than the plan says";
        case bucket_rule::wrong_part:
            return "sends something else than the plan packs";
        case bucket_rule::wrong_cast:
            return "would vanish, and others need it, or what it reads is overwritten";
        case bucket_rule::wrong_amounts:
            return "has members that together send or receive another amount";
        case bucket_rule::order_incomplete:
            return "is not in the order exactly once";
        case bucket_rule::not_adjacent:
            return "does not stand beside the next one of its bucket";
        case bucket_rule::out_of_order:
            break;
    }
    return "comes before something that it depends on, or is in a bucket listed before one that is launched earlier";
}

}  // namespace stretto

#endif
