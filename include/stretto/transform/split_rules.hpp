// What a split plan must keep to, rule by rule, in words: the vocabulary of verify_splits.
#ifndef STRETTO_TRANSFORM_SPLIT_RULES_HPP
#define STRETTO_TRANSFORM_SPLIT_RULES_HPP

#include <cstdint>
#include <string_view>

#include "stretto/core/language.hpp"

namespace stretto {

/// `vertex` and `other` are those of a split_violation.
enum class split_rule : std::uint8_t {
    unknown_vertex,    ///< a handle of the plan is not in the graph, or its lists do not fit together
    claimed_twice,     ///< `vertex` vanishes twice
    no_bucket,         ///< `vertex` is no start of a bucket, or of none that can be taken apart
    wrong_wait,        ///< `other` is not the only wait for the start `vertex`
    wrong_members,     ///< the members of `vertex` are not the columns of its buffers, each once, as they are packed
    wrong_copies,      ///< what vanishes with `vertex` is not what packs and unpacks; `other` is too much or missing
    read_elsewhere,    ///< `other` reads what `vertex` makes, or follows it, and `vertex` would be gone
    other_reads,       ///< `vertex` vanishes, and uses what `other` makes, which is no part
    other_dependence,  ///< `vertex` vanishes, and follows `other` through a dependence that is no value
    overwritten,       ///< `other` writes over a part of `vertex` before its member has sent it
};

/// The rule in words; the names are the caller's.
[[nodiscard]] constexpr std::string_view explain(split_rule rule) noexcept {
    switch (rule) {
        case split_rule::unknown_vertex:
            return "names something that the program does not have";
        case split_rule::claimed_twice:
            return "vanishes twice";
        case split_rule::no_bucket:
            return "is no bucket that can be taken apart";
        case split_rule::wrong_wait:
            return "has another wait";
        case split_rule::wrong_members:
            return "does not have these members";
        case split_rule::wrong_copies:
            return "is not packed and unpacked by these operations";
        case split_rule::read_elsewhere:
            return "is read by an operation that stays";
        case split_rule::other_reads:
            return "uses more than what is packed";
        case split_rule::other_dependence:
            return "has a dependence that is no value";
        case split_rule::overwritten:
            break;
    }
    return "sends what is overwritten before";
}

}  // namespace stretto

#endif
