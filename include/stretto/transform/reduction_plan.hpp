// Several collectives whose results are only added to each other, and the one collective of the sum that can take their
// place, as a value. plan_reductions finds them, verify_reductions proves a plan, and apply_reductions carries it out.
#ifndef STRETTO_TRANSFORM_REDUCTION_PLAN_HPP
#define STRETTO_TRANSFORM_REDUCTION_PLAN_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "stretto/core/concepts.hpp"
#include "stretto/core/rewriter_concepts.hpp"

namespace stretto {

/// One collective in place of several. What the members read is added up as it becomes ready: the sum of the operands
/// of members 0 to k is made where member k is launched. The collective is launched where the last member is, on the
/// sum of all.
template <handle V, handle X>
struct reduction {
    std::vector<V> members;   ///< the starts that vanish, in program order; at least two
    std::vector<X> operands;  ///< what each member reads, all different
    std::vector<V> waits;     ///< the waits that vanish, one for each member
    std::vector<V> sums;      ///< the additions, and the views among them, that vanish, in program order
    X result{};               ///< what others read: the result of the last of `sums`
    std::vector<V> layout;    ///< views, one on the other, that lead from the result of a collective to `result`
    sum_place first_sum = sum_place::fresh;  ///< where the sum of the first two operands is written; each further
                                             ///< operand is added to it in place
    friend bool operator==(const reduction&, const reduction&) = default;
};

/// Why collectives stay apart although their results are added.
enum class reduction_obstacle : std::uint8_t {
    members_differ,    ///< `other` is another call than `vertex`, is on another group, or has other arguments
    layouts_differ,    ///< the two operands of `vertex` are laid out differently
    read_elsewhere,    ///< `other` reads a part of the sum too, or follows it through a dependence that is no value
    operand_twice,     ///< `vertex` and `other` are members that read the same value
    overwritten,       ///< `other` overwrites what `vertex`, a member, reads, before the next part is ready
    too_many_views,    ///< `vertex` is the sum of values behind more views than the options allow
    other_dependence,  ///< `vertex`, which would vanish, depends on `other` through a dependence that is no value
};

/// The reason in words, without the names.
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

template <handle V>
struct refused_reduction {
    reduction_obstacle why = reduction_obstacle::members_differ;
    V vertex{};
    V other{};
    friend bool operator==(const refused_reduction&, const refused_reduction&) = default;
};

/// Reductions in the order of their results, which have no vertex in common. An empty plan changes nothing.
template <handle V, handle X>
struct reduction_plan {
    std::vector<reduction<V, X>> reductions;
    std::vector<refused_reduction<V>> refused;  ///< sums of collectives that stay, in program order

    [[nodiscard]] bool empty() const noexcept { return reductions.empty(); }
    /// How many collectives the plan saves.
    [[nodiscard]] std::size_t saved() const noexcept {
        std::size_t n = 0;
        for (const reduction<V, X>& r : reductions) n += r.members.size() - 1;
        return n;
    }
    friend bool operator==(const reduction_plan&, const reduction_plan&) = default;
};

}  // namespace stretto

#endif
