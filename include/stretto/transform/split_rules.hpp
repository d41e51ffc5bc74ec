// The rules for split plans, with their descriptions: the vocabulary of verify_splits.
#ifndef STRETTO_TRANSFORM_SPLIT_RULES_HPP
#define STRETTO_TRANSFORM_SPLIT_RULES_HPP

#include <cstdint>
#include <string_view>

#include "stretto/core/language.hpp"

namespace stretto {

/// The rules that verify_splits checks; each enumerator describes how its rule is broken. `vertex` and `other` are
/// those of a split_violation.
enum class split_rule : std::uint8_t {
    unknown_vertex,    ///< a handle of the plan is not in the graph, or the lists of the plan are inconsistent
    claimed_twice,     ///< `vertex` is removed twice
    no_bucket,         ///< `vertex` does not start a bucket, or the bucket cannot be split
    wrong_wait,        ///< `other` is not the only wait for the start `vertex`
    wrong_members,     ///< the members of `vertex` are not the columns of its buffers, each once and in packing order
    wrong_copies,      ///< the copies removed with `vertex` are not its packs and unpacks; `other` is superfluous or
                       ///< missing
    read_elsewhere,    ///< `vertex` is removed, but `other` reads its result or depends on it
    other_reads,       ///< `vertex` is removed, but uses a result of `other` that is not a part
    other_dependence,  ///< `vertex` is removed, but depends on `other` without reading a value of it
    overwritten,       ///< `other` overwrites a part of `vertex` before its member has sent it
};

/// Returns the rule as a predicate, without the names of vertices, which the caller adds.
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
