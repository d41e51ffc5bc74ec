// Rule kinds of numbers: extents that are read, arithmetic on them, and conversions between numbers and elements.
//
// A number that differs between chunks is an addend: the numbers of all chunks sum to the number of the whole. The
// rules call it a number of the chunk. Programs usually count rows with it, so its state has two annotations, as far as
// they are known: `positions` is the exact share of each token, and `order` identifies the rows that it counts.
#ifndef STRETTO_TRANSFORM_CHUNK_RULES_NUMBERS_HPP
#define STRETTO_TRANSFORM_CHUNK_RULES_NUMBERS_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/transform/chunk_rules/chunk_call.hpp"
#include "stretto/transform/chunk_rules/detail/rows.hpp"

namespace stretto::chunk_rules {

/// Returns the extent of `x` along a dimension, as a number. Along the cut dimension it is the number of rows of the
/// part; along other dimensions, or if `x` is a sum over chunks, it is the same in every chunk.
struct read_extent {
    std::size_t x = 0;
    std::int64_t dim = 0;

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("x", x); }
};

/// Returns the number of elements of `x`. If `x` is cut, it is a number of the chunk; if `x` is a sum over chunks, it
/// is the same in every chunk.
struct read_size {
    std::size_t x = 0;

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("x", x); }
};

/// Returns the only element of the first operand as a number. The operand must be a sum over chunks, and so is the
/// number.
struct read_element {
    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
};

/// Returns the first operand, a number, as a tensor of one element. The number must be a sum over chunks, and so is the
/// tensor.
struct hold_number {
    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
};

/// Computes with numbers. A sum or difference of numbers of the chunk is a number of the chunk; so is the product of
/// one of them and a number that all chunks share. Such a number may be divided only by a constant, and only if its
/// share of each token is known and a multiple of the constant. A number that all chunks share must not be added to a
/// number of the chunk, because every chunk would add it. O(operands and terms).
struct number_arithmetic {
    enum class op : std::uint8_t {
        add,
        subtract,  ///< all other terms are subtracted from the first
        multiply,
        divide  ///< the first term is divided by a constant, and the quotient is rounded down
    };
    op what = op::add;
    std::vector<rule_number> terms = {rule_number::of_operand(0), rule_number::of_operand(1)};

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("terms", terms); }
};

/// Compares a number with another one. Of a number of the chunk, only `number >= 0` is allowed: if it holds for the
/// whole, it holds for the part, because such numbers are counts. The result is opaque and may only be asserted.
struct compare_number {
    /// Whether the comparison is `number >= 0`. Set it for no other comparison with 0, since a part may have no rows.
    bool with_zero = false;

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
};

/// Asserts the result of a comparison. All operands are accepted, because the comparison itself has been judged.
struct assertion {
    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const { return c.give({}); }
};

inline chunk_verdict read_extent::verdict(const chunk_call& c) const {
    if (!c.is_tensor(x)) return c.refuse(detail::chunk_number);
    const chunk_state& s = c.state(x);
    if (!is_cut(s)) return is_addend(s) ? c.give({}) : c.refuse(detail::reads_unknown);
    if (wrapped(dim, c.shape(x).size()) != s.dim) return c.give({});
    if (s.what == chunk_kind::sliced) {
        const std::int64_t share = c.extent(x, s.dim) / c.tokens;
        return c.give({chunk_kind::addend, -1, share, c.orders->natural(share), 0});
    }
    return c.give({chunk_kind::addend, -1, 0, c.orders->rows_of(s.order), 0});
}

inline chunk_verdict read_size::verdict(const chunk_call& c) const {
    if (!c.is_tensor(x)) return c.refuse(detail::chunk_number);
    const chunk_state& s = c.state(x);
    if (!is_cut(s)) return is_addend(s) ? c.give({}) : c.refuse(detail::reads_unknown);
    const std::int64_t all = detail::product(c.shape(x), 0, c.shape(x).size());
    if (s.what == chunk_kind::sliced)
        return c.give({chunk_kind::addend, -1, all / c.tokens, c.orders->natural(all / c.tokens), 0});
    const bool one_a_row = all == c.extent(x, s.dim);
    return c.give({chunk_kind::addend, -1, 0, one_a_row ? c.orders->rows_of(s.order) : 0, 0});
}

inline chunk_verdict read_element::verdict(const chunk_call& c) const {
    if (!c.is_tensor(0) || !is_addend(c.state(0))) return c.refuse(detail::reads_unknown);
    return c.give(a_sum);
}

inline chunk_verdict hold_number::verdict(const chunk_call& c) const {
    if (!c.is_number(0) || !is_addend(c.state(0))) return c.refuse(detail::reads_unknown);
    return c.give(a_sum);
}

inline chunk_verdict number_arithmetic::verdict(const chunk_call& c) const {
    std::int64_t share = 0, constant = 0;
    std::size_t addends = 0, shares = 0;
    bool has_constant = false, overflows = false;
    for (std::size_t j = 0; j < terms.size(); ++j) {
        const std::size_t k = terms[j].operand;
        if (terms[j].is_constant) {
            has_constant = has_constant || terms[j].value != 0;
            constant = terms[j].value;
        }
        if (k >= c.operands.size() || !is_addend(c.state(k))) continue;
        ++addends;
        shares += c.state(k).positions != 0;
        const std::int64_t own = c.state(k).positions;
        const bool minus = what == op::subtract && j != 0;
        overflows = (minus ? __builtin_sub_overflow(share, own, &share) : __builtin_add_overflow(share, own, &share)) ||
                    overflows;
    }
    for (std::size_t k = 0; k < c.operands.size(); ++k)
        if (!c.is_number(k) || (!is_whole(c.state(k)) && !is_addend(c.state(k))))
            return c.refuse(detail::reads_unknown);
    // The result has an exact count per token only if all terms of a sum have one, or if the factor is a constant. It
    // then counts rows of values that are in the order of the tokens.
    chunk_state made = a_sum;
    switch (what) {
        case op::add:
        case op::subtract:
            if (has_constant || addends != terms.size())
                return c.refuse("would add a number that all chunks share once in every chunk");
            if (shares == addends) made.positions = share;
            break;
        case op::multiply:
            if (addends != 1) return c.refuse("multiplies two numbers of the chunk");
            if (has_constant && terms.size() == 2)
                overflows = __builtin_mul_overflow(share, constant, &made.positions) || overflows;
            break;
        case op::divide:
            if (addends != 1 || shares != 1 || !has_constant || terms[0].operand >= c.operands.size() ||
                constant <= 0 || share % constant != 0)
                return c.refuse("rounds a share of a number, and the shares would not add up to it");
            made.positions = share / constant;
            break;
    }
    if (overflows) return c.refuse("makes a number of rows per token that does not fit into 64 bits");
    if (made.positions > 0) made.order = c.orders->natural(made.positions);
    return c.give(made);
}

inline chunk_verdict compare_number::verdict(const chunk_call& c) const {
    if (!with_zero || c.operands.size() != 1 || !is_addend(c.state(0)))
        return c.refuse("compares a number of the chunk with one that all chunks share");
    return c.give({chunk_kind::opaque, -1, 0, 0, 0});
}

}  // namespace stretto::chunk_rules

#endif
