// Rule kinds of scattered reductions: if indices send several entries to one place, their sum, mean, product or extreme
// remains there. The rules for additions (scatters.hpp) decide to which places a chunk may write. If every chunk writes
// only to rows of its own, all entries for a place are in one chunk, so every reduction may run per chunk. If entries
// of several chunks may meet in a place, only a sum may: its parts add up.
#ifndef STRETTO_TRANSFORM_CHUNK_RULES_SCATTERED_REDUCTIONS_HPP
#define STRETTO_TRANSFORM_CHUNK_RULES_SCATTERED_REDUCTIONS_HPP

#include <cstddef>
#include <cstdint>

#include "stretto/transform/chunk_rules/chunk_call.hpp"
#include "stretto/transform/chunk_rules/detail/rows.hpp"
#include "stretto/transform/chunk_rules/reductions.hpp"
#include "stretto/transform/chunk_rules/scatters.hpp"

namespace stretto::chunk_rules {

/// Combines the entries of `source` along `dim` into the places of `base` that vector `index` names. If `with_base`,
/// the previous content of such a place takes part in the combination; otherwise it is lost. All other places keep
/// their content. Where entries of different chunks may meet, sums into zeros or into a sum over chunks are allowed,
/// and everything else is refused. If all chunks share the indices, sums and means of addends are allowed. O(operands).
struct combine_rows {
    std::size_t base = 0, index = 1, source = 2;
    std::int64_t dim = 0;
    reduction::by how = reduction::by::sum;
    bool with_base = true;

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("base", base).add("index", index).add("source", source); }
    [[nodiscard]] bool accumulates() const { return how == reduction::by::sum && with_base; }
};

/// Does the same with single elements: each element of `source` goes to its own position in `base`, except that its
/// position along `dim` is the element of `index`. All three have the same rank.
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

/// Returns the refusal of a reduction other than a sum where entries of different chunks may meet.
inline chunk_verdict unlike_a_sum(const chunk_call& c, reduction::by how) {
    return c.refuse_itself(how == reduction::by::mean ? "divides by how many entries of a chunk meet in a place"
                                                      : "combines entries of different chunks other than by a sum");
}

/// Returns the verdict on a scattered reduction, given the verdict `added` on adding the same entries in the same
/// places. Precondition: `added` is the verdict that last set the results of the call.
inline chunk_verdict combined(const chunk_call& c, const chunk_verdict& added, std::size_t base, std::size_t index,
                              reduction::by how, bool with_base) {
    using by = reduction::by;
    if (!added.possible) {
        // An addition may have been refused because `base` is not known to be zero. Zeros would not help other
        // reductions, so the reason must be that entries of different chunks meet.
        const bool may_meet = is_cut(c.state(index)) && is_plain(c.state(index)) && is_whole(c.state(base));
        return may_meet && added.wanted < 0 && how != by::sum ? unlike_a_sum(c, how) : added;
    }
    if (!is_addend(c.results[0])) return added;
    if (is_whole(c.state(index))) {
        // The same entries meet in every chunk. Sums of addends are addends, and so are means, unless they are rounded.
        if (how == by::sum || (how == by::mean && !is_integral(c.type(base).element))) return added;
        return c.refuse(not_linear);
    }
    if (how != by::sum) return unlike_a_sum(c, how);
    // Without its base, a place gets the sum of its entries alone, but a chunk without entries for that place keeps its
    // share of the base there. The shares would not add up.
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
