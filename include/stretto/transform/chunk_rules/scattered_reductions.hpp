// Rule kinds of combining where indices say: of the entries that indices send to one place, the sum, the mean, the
// product or an extreme stays there. Which chunk may write where is decided as it is for additions (scatters.hpp).
// Where chunks keep to rows of their own, all that meets in one place meets in one chunk, and every combination is the
// same in parts. Where they may meet, only what is a sum over chunks is.
#ifndef STRETTO_TRANSFORM_CHUNK_RULES_SCATTERED_REDUCTIONS_HPP
#define STRETTO_TRANSFORM_CHUNK_RULES_SCATTERED_REDUCTIONS_HPP

#include <cstddef>
#include <cstdint>

#include "stretto/transform/chunk_rules/chunk_call.hpp"
#include "stretto/transform/chunk_rules/detail/rows.hpp"
#include "stretto/transform/chunk_rules/reductions.hpp"
#include "stretto/transform/chunk_rules/scatters.hpp"

namespace stretto::chunk_rules {

/// `base`, with the entries of `source` along `dim` combined where vector `index` says. What `base` has in a place to
/// which an index points takes part `with_base`, and is lost without; in all other places `base` stays.
struct combine_rows {
    std::size_t base = 0, index = 1, source = 2;
    std::int64_t dim = 0;
    reduction::by how = reduction::by::sum;
    bool with_base = true;

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("base", base).add("index", index).add("source", source); }
    [[nodiscard]] bool accumulates() const { return how == reduction::by::sum && with_base; }
};

/// The same for single elements: each of `source` goes to the same place, but along `dim` where `index` says. All have
/// the same rank.
struct combine_elements {
    std::size_t base = 0, index = 1, source = 2;
    std::int64_t dim = 0;
    reduction::by how = reduction::by::sum;
    bool with_base = true;

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("base", base).add("index", index).add("source", source); }
    [[nodiscard]] bool accumulates() const { return how == reduction::by::sum && with_base; }
};

namespace detail {

/// The refusal where entries of different chunks may meet.
inline chunk_verdict unlike_a_sum(const chunk_call& c, reduction::by how) {
    return c.refuse_itself(how == reduction::by::mean ? "divides by how many entries of a chunk meet in a place"
                                                      : "combines entries of different chunks other than by a sum");
}

/// The verdict on combining, given `added`, that on adding in the same places. The results of the call are those that
/// go with it.
inline chunk_verdict combined(const chunk_call& c, const chunk_verdict& added, std::size_t base, std::size_t index,
                              reduction::by how, bool with_base) {
    using by = reduction::by;
    if (!added.possible) {
        // What is there need not be zero for an extreme, which has no sum in any case: that is the reason to give.
        const bool may_meet = is_cut(c.state(index)) && is_plain(c.state(index)) && is_whole(c.state(base));
        return may_meet && added.wanted < 0 && how != by::sum ? unlike_a_sum(c, how) : added;
    }
    if (!is_addend(c.results[0])) return added;
    if (is_whole(c.state(index))) {
        // The same entries meet in every chunk: sums and means of sums are sums, but integers round their mean.
        if (how == by::sum || (how == by::mean && !is_integral(c.type(base).element))) return added;
        return c.refuse(not_linear);
    }
    if (how != by::sum) return unlike_a_sum(c, how);
    // Without its base a place keeps what its entries sum to; other chunks, with none there, keep their share of it.
    if (!with_base && !is_whole(c.state(base))) return c.refuse("replaces a sum in the places of one chunk only");
    return added;
}

}  // namespace detail

inline chunk_verdict combine_rows::verdict(const chunk_call& c) const {
    const chunk_verdict added =
        put_rows{.base = base, .index = index, .source = source, .dim = dim, .adds = true}.verdict(c);
    return detail::combined(c, added, base, index, how, with_base);
}

inline chunk_verdict combine_elements::verdict(const chunk_call& c) const {
    const chunk_verdict added =
        scatter{.base = base, .index = index, .source = source, .dim = dim, .adds = true}.verdict(c);
    return detail::combined(c, added, base, index, how, with_base);
}

}  // namespace stretto::chunk_rules

#endif
