// A reduction plan as a value: several collectives whose results are only added to each other, and the single
// collective of the sum that replaces them. plan_reductions finds reductions, verify_reductions proves a plan, and
// apply_reductions carries it out.
#ifndef STRETTO_TRANSFORM_REDUCTION_PLAN_HPP
#define STRETTO_TRANSFORM_REDUCTION_PLAN_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "stretto/core/concepts.hpp"
#include "stretto/core/rewriter_concepts.hpp"

namespace stretto {

/// One collective that replaces several. The operands of the members are added as they become ready: the sum of the
/// operands of members 0 to k is computed where member k was launched. The collective of the complete sum is launched
/// where the last member was launched.
template <handle V, handle X>
struct reduction {
    std::vector<V> members;   ///< the starts that are removed, in program order; at least two
    std::vector<X> operands;  ///< the operand of each member; all are different
    std::vector<V> waits;     ///< the waits that are removed, one for each member
    std::vector<V> sums;      ///< the removed additions, and the views among them, in program order
    X result{};               ///< the value that others read: the result of the last entry of `sums`
    std::vector<V> layout;    ///< a chain of views that leads from the result of a collective to `result`
    sum_place first_sum = sum_place::fresh;  ///< where the sum of the first two operands is written; the further
                                             ///< operands are added to it in place
    friend bool operator==(const reduction&, const reduction&) = default;
};

/// Why collectives stay separate although their results are added.
enum class reduction_obstacle : std::uint8_t {
    members_differ,    ///< `vertex` and `other` differ in kind, reduction, group, payload, element type or arguments
    layouts_differ,    ///< the two operands of `vertex` have different layouts
    read_elsewhere,    ///< `other` also reads a part of the sum, depends on it without reading a value, or names it as
                       ///< the place where it writes
    operand_twice,     ///< `vertex` and `other` are members that read the same value
    overwritten,       ///< `other` overwrites the operand of the member `vertex` before the next part is ready
    too_many_views,    ///< `vertex` adds values that went through more views than the options allow
    other_dependence,  ///< `vertex`, which would be removed, depends on `other` without reading a value of it
};

/// Returns the reason in words, without the names of vertices.
[[nodiscard]] constexpr std::string_view explain(reduction_obstacle why) noexcept {
    switch (why) {
        case reduction_obstacle::members_differ:
            return "the collectives differ in kind, reduction, group, payload, element type or arguments";
        case reduction_obstacle::layouts_differ:
            return "the results are laid out differently before they are added";
        case reduction_obstacle::read_elsewhere:
            return "a part of the sum is read elsewhere";
        case reduction_obstacle::operand_twice:
            return "two collectives read the same value";
        case reduction_obstacle::overwritten:
            return "what a collective reads is overwritten before the next part is ready";
        case reduction_obstacle::too_many_views:
            return "there are more views between the collectives and their sum than are allowed";
        case reduction_obstacle::other_dependence:
            break;
    }
    return "an operation that would vanish has a dependence that is no value";
}

/// A sum of collectives that stays, and why. reduction_obstacle says what `vertex` and `other` are.
template <handle V>
struct refused_reduction {
    reduction_obstacle why = reduction_obstacle::members_differ;
    V vertex{};
    V other{};
    friend bool operator==(const refused_reduction&, const refused_reduction&) = default;
};

/// Reductions in the order of their results. No vertex belongs to two reductions. An empty plan changes nothing.
template <handle V, handle X>
struct reduction_plan {
    std::vector<reduction<V, X>> reductions;
    std::vector<refused_reduction<V>> refused;  ///< sums of collectives that stay separate, in program order

    [[nodiscard]] bool empty() const noexcept { return reductions.empty(); }
    /// Returns by how many the plan reduces the number of collectives.
    [[nodiscard]] std::size_t saved() const noexcept {
        std::size_t n = 0;
        for (const reduction<V, X>& r : reductions) n += r.members.size() - 1;
        return n;
    }
    friend bool operator==(const reduction_plan&, const reduction_plan&) = default;
};

}  // namespace stretto

#endif
