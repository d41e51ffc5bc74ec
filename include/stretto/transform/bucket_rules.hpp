// What a bucket plan must keep to, rule by rule, in words: the vocabulary of verify_buckets.
#ifndef STRETTO_TRANSFORM_BUCKET_RULES_HPP
#define STRETTO_TRANSFORM_BUCKET_RULES_HPP

#include <cstdint>
#include <string_view>

#include "stretto/core/language.hpp"

namespace stretto {

/// `vertex` and `other` are those of a bucket_violation.
enum class bucket_rule : std::uint8_t {
    unknown_vertex,   ///< a handle of the plan is not in the graph, or its lists do not fit together
    claimed_twice,    ///< `vertex` vanishes twice
    too_few_members,  ///< there are not two members
    no_member,  ///< `vertex` is no collective of one value, into memory of its own, with one wait and no other reader
    members_differ,    ///< `other` differs from `vertex` in kind, group, reduction or element type
    wrong_wait,        ///< `other` is not the wait of `vertex`, or its result is not the one that the plan says
    wrong_part,        ///< the plan does not pack what the member `vertex` sends
    wrong_cast,        ///< `vertex` vanishes, and others need what it makes, or what it reads is overwritten
    wrong_amounts,     ///< payload or results of the bucket of `vertex` are not those of its members together
    order_incomplete,  ///< `vertex` is missing in the order, or is in it twice
    not_adjacent,      ///< `other` does not stand behind `vertex`, which is in front of it in the payload
    out_of_order,      ///< `vertex` stands in front of `other`, on which it depends
};

/// The rule in words; the names are the caller's.
[[nodiscard]] constexpr std::string_view explain(bucket_rule rule) noexcept {
    switch (rule) {
        case bucket_rule::unknown_vertex:
            return "names something that the program does not have";
        case bucket_rule::claimed_twice:
            return "is in two buckets";
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
    return "comes before something that it depends on";
}

}  // namespace stretto

#endif
