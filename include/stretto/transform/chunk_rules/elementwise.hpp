// Rule kinds of operations that compute each element from the elements in the same place.
//
// If all cut operands have rows of the chunk, they only need to be cut alike. Most of this header deals with two other
// cases. First, an operand may be a sum over chunks. What f yields for a part then says something about what f yields
// for the sum only if f is linear in that operand, and each kind states in which sense it is linear. Second, an operand
// may hold row numbers, which count from the first row of the chunk. Adding, multiplying or dividing changes the amount
// by which they are shifted in each chunk; row numbers pass only if that amount is known afterwards and they still
// name rows of the chunk.
//
// Longer than 300 lines: all kinds here share the decisions on sums over chunks and on row numbers.
#ifndef STRETTO_TRANSFORM_CHUNK_RULES_ELEMENTWISE_HPP
#define STRETTO_TRANSFORM_CHUNK_RULES_ELEMENTWISE_HPP

#include <cstddef>
#include <cstdint>

#include "stretto/transform/chunk_rules/chunk_call.hpp"
#include "stretto/transform/chunk_rules/detail/rows.hpp"

namespace stretto::chunk_rules {

/// Computes each element of its results from the elements of its operands in the same place. Shapes are aligned at the
/// last dimension and broadcast. Examples are activations, comparisons, masks, and gradients of any of these. Operands
/// that are cut must be cut at the same dimension and in the same order; a whole operand must be broadcast along that
/// dimension. Row numbers are refused. O(operands).
struct elementwise {
    /// Whether f(a + b) = f(a) + f(b), as for a negation. The result is then a sum over chunks if all operands are.
    bool linear = false;

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
};

/// Returns the elements of operand `x`: a copy, a wait, a move to another device. Every state of a cut or summed `x`
/// passes, row numbers included. Other operands, such as one that only gives a shape or a device, must be cut like the
/// result or be broadcast along its rows.
struct copy {
    std::size_t x = 0;

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("x", x); }
};

/// Returns the elements of operand `x` in another type. It passes what `copy` passes, except that a sum over chunks is
/// refused if the new type may drop fractions of its addends: a cast to booleans, or one from a type with fractions to
/// integers, unless the elements are known to be integers (chunk_call::integers).
struct cast {
    std::size_t x = 0;

    /// Whether the operation does nothing else, and an addition of tensors of both types converts the narrower one in
    /// the same way. The sum of parts may then convert them, if the new type is wider (`widens`).
    bool added_unconverted = false;

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("x", x); }
};

/// Arithmetic on two operands, or on an operand and a constant. In addition to what elementwise does, a sum over chunks
/// passes if the operation is linear in it, and row numbers stay row numbers if the amount by which they are shifted in
/// each chunk is known afterwards and they cannot lead out of the chunk. Row numbers may be added to each other,
/// multiplied by a constant that is not negative, and divided by a positive constant that divides the number of rows
/// per token. The difference of row numbers that are shifted alike is an ordinary value. A constant other than 0, or an
/// ordinary value, may not be added to them: x[i - 1] reads a row of the chunk before.
struct arithmetic {
    enum class op : std::uint8_t {
        add,
        subtract,
        multiply,
        divide,
        floor_divide,  ///< the quotient is rounded down
        remainder,     ///< of the division that floor_divide rounds
        combine        ///< any other linear combination of both
    };
    op what = op::add;
    rule_number left = rule_number::of_operand(0);
    rule_number right = rule_number::of_operand(1);
    bool scaled = false;         ///< whether an operand is multiplied by a factor first
    bool has_constants = false;  ///< whether add, subtract or combine has constant terms besides left and right

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("left", left).add("right", right); }
    /// Returns the verdict for an operation in place. It differs from `verdict` in that row numbers are refused: other
    /// readers of the buffer rely on the amount by which they are shifted, which must not change.
    [[nodiscard]] chunk_verdict verdict_in_place(const chunk_call& c) const;
};

/// Overwrites operand `target` with the elements of operand `source`, which are broadcast. This rule is meant to be
/// used in place (any_rule::in_place). If `source` holds row numbers, so does the result, and a cut `target` must have
/// held such row numbers before. Sums over chunks may only be written over sums over chunks.
struct copy_into {
    std::size_t target = 0;
    std::size_t source = 1;

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("target", target).add("source", source); }
};

namespace detail {

/// The sense in which an operation is linear, and so when its result is a sum over chunks.
enum class passes_sums : std::uint8_t {
    never,
    of_its_operand,        ///< f(a + b) = f(a) + f(b) for its only operand
    of_all_at_once,        ///< a linear combination: all operands must be addends
    of_one_at_a_time,      ///< a product: one factor must be an addend, and the others whole
    of_the_first,          ///< a quotient: the dividend must be an addend, and the divisor whole
    but_for_rounding_down  ///< a cast: its operand must be an addend, and the cast must not drop fractions
};

/// What the functions below need to know about a kind. For copies and casts, `left` is the operand whose elements the
/// result has; the members after it apply to arithmetic only.
struct terms {
    passes_sums sums = passes_sums::never;
    bool row_numbers = false;  ///< whether the result may hold row numbers if an operand does
    arithmetic::op what = arithmetic::op::combine;
    rule_number left = {}, right = {};
    bool scaled = false, has_constants = false;
};

/// Decides what arithmetic does to row numbers. On entry, `result` has the rows of the operands; its `positions` become
/// the amount by which each token before the chunk shifts the elements of the result. Returns false, with the reason in
/// `v`, if that amount is unknown.
///
/// If an operand is opaque, or numbers rows that are not in the order of the tokens (`into` without `positions`),
/// integer sums and differences pass as opaque, unless the result is sliced: only the rule of a look-up can decide
/// which rows such numbers name.
inline bool row_arithmetic(const chunk_call& c, const terms& t, chunk_state& result, chunk_verdict& v) {
    using op = arithmetic::op;
    std::int64_t moved[2] = {0, 0};  // by how much each token shifts the left and the right side
    std::int64_t constant = 0;
    bool has_constant = false, unknown = false;
    const rule_number* both[2] = {&t.left, &t.right};
    for (std::size_t side = 0; side < 2; ++side) {
        if (both[side]->is_constant) constant = both[side]->value, has_constant = true;
        const std::size_t k = both[side]->operand;
        if (c.is_tensor(k)) moved[side] = c.state(k).positions;
    }
    for (std::size_t k = 0; k < c.operands.size(); ++k)
        unknown =
            unknown || c.state(k).what == chunk_kind::opaque || (c.state(k).into != 0 && c.state(k).positions == 0);
    if (t.scaled && !(t.row_numbers && t.what == op::floor_divide)) return v = c.refuse(reads_row_numbers), false;
    if (unknown) {
        const bool sums = t.row_numbers && (t.what == op::add || t.what == op::subtract);
        if (!sums || !is_integral(c.result_types[0].element) || result.what == chunk_kind::sliced)
            return v = c.refuse(reads_unknown), false;
        result.what = chunk_kind::opaque;
        return true;
    }
    // A look-up takes row numbers of the chunk for numbers of rows in it. Sums of them stay below the number of rows
    // that their amounts make together. Any other summand but 0 could lead to rows of another chunk.
    const bool zero = t.right.is_constant && t.right.value == 0;
    if (t.row_numbers) switch (t.what) {
            case op::add:
                if (moved[0] == 0 || (moved[1] == 0 && !zero)) break;
                if (__builtin_add_overflow(moved[0], moved[1], &result.positions)) break;
                return true;
            case op::subtract:
                if (moved[0] == 0 || (moved[1] != moved[0] && !zero)) break;
                result.positions = moved[0] - moved[1];
                return true;
            case op::multiply:
                if (!has_constant || constant < 0) break;  // a constant shifts nothing, so only one side does
                if (__builtin_mul_overflow(moved[0] + moved[1], constant, &result.positions)) break;
                return true;
            case op::floor_divide:
            case op::remainder:
                if (!t.right.is_constant || constant <= 0 || moved[0] % constant != 0) break;
                result.positions = t.what == op::floor_divide ? moved[0] / constant : 0;
                return true;
            case op::divide:
            case op::combine:
                break;
        }
    return v = c.refuse(reads_row_numbers), false;
}

/// Returns the verdict on an operation with at least one operand that is a sum over chunks. The result is such a sum if
/// the operation is linear as `t.sums` says and the states of the operands fit that. An operand with rows of the chunk
/// is refused beside a sum.
inline chunk_verdict sums_computed(const chunk_call& c, const terms& t) {
    std::size_t addends = 0, used = 0;  // an addend that is both left and right, as in x * x, counts twice in `used`
    for (const rule_number* side : {&t.left, &t.right})
        used += c.is_tensor(side->operand) && is_addend(c.state(side->operand));
    for (std::size_t k = 0; k < c.operands.size(); ++k) {
        // Every chunk would add a shared operand again. Zeros may be shared, because zero is a sum of zeros.
        const bool zero = t.sums == passes_sums::of_all_at_once && c.is_tensor(k) && is_whole(c.state(k)) &&
                          c.shape(k).size() <= c.result_types[0].shape.size() && c.all_zero(k);
        addends += is_addend(c.state(k)) || zero;
        if (is_cut(c.state(k))) return c.refuse(sum_meets_rows);
        const bool is_side = k == t.left.operand || k == t.right.operand;  // any other number is a factor
        if (c.is_number(k) && !is_whole(c.state(k)) &&
            (t.sums != passes_sums::of_all_at_once || !is_addend(c.state(k)) || !is_side))
            return c.refuse(chunk_number);
    }
    const bool exact = [&] {
        switch (t.sums) {
            case passes_sums::of_its_operand:
                return true;
            case passes_sums::of_all_at_once:
                return addends == c.operands.size() && !t.has_constants;
            case passes_sums::of_one_at_a_time:
                return used == 1;
            case passes_sums::of_the_first:
                return used == 1 && c.is_tensor(t.left.operand) && is_addend(c.state(t.left.operand));
            case passes_sums::but_for_rounding_down: {
                const element_type from = c.type(t.left.operand).element, to = c.result_types[0].element;
                return to != element_type::boolean && (!is_integral(to) || is_integral(from) ||
                                                       from == element_type::boolean || c.integers(t.left.operand));
            }
            case passes_sums::never:
                break;
        }
        return false;
    }();
    return exact ? c.give(a_sum) : c.refuse(not_linear);
}

/// Returns whether a tensor among the operands is a sum over chunks.
inline bool has_sum(const chunk_call& c) {
    for (std::size_t k = 0; k < c.operands.size(); ++k)
        if (c.is_tensor(k) && is_addend(c.state(k))) return true;
    return false;
}

/// Returns the verdict on any elementwise operation, whether its operands are sums over chunks, rows or row numbers.
inline chunk_verdict computed(const chunk_call& c, const terms& t) {
    if (has_sum(c)) return sums_computed(c, t);
    chunk_verdict v;
    chunk_state result;
    if (!rows_side_by_side(c, c.result_types[0].shape.size(), result, v)) return v;
    bool special = false;
    for (std::size_t k = 0; k < c.operands.size(); ++k)
        special = special || counts_rows(c.state(k)) || c.state(k).what == chunk_kind::opaque;
    if (special && !row_arithmetic(c, t, result, v)) return v;
    return c.give(result);
}

/// Returns the verdict on an operation whose result has the elements of operand x, and therefore its state. Other
/// operands, such as one that only gives a shape or a device, must be cut like the result or be broadcast.
inline chunk_verdict copied(const chunk_call& c, std::size_t x, passes_sums sums) {
    if (c.is_tensor(x) && is_addend(c.state(x)))
        return sums_computed(c, {.sums = sums, .left = rule_number::of_operand(x)});
    chunk_verdict v;
    chunk_state rows;
    if (!rows_side_by_side(c, c.result_types[0].shape.size(), rows, v)) return v;
    return c.is_tensor(x) ? c.give(c.state(x)) : c.refuse(reads_unknown);
}

/// Returns the terms of arithmetic. A linear combination with a constant term is not linear: every chunk would add it.
inline terms terms_of(const arithmetic& a) {
    using op = arithmetic::op;
    terms t{passes_sums::never, true, a.what, a.left, a.right, a.scaled, a.has_constants};
    switch (a.what) {
        case op::add:
        case op::subtract:
        case op::combine:
            t.sums = passes_sums::of_all_at_once;
            for (const rule_number* side : {&a.left, &a.right}) t.has_constants = t.has_constants || side->is_constant;
            break;
        case op::multiply:
            t.sums = passes_sums::of_one_at_a_time;
            break;
        case op::divide:
            t.sums = passes_sums::of_the_first;
            break;
        case op::floor_divide:
        case op::remainder:
            break;
    }
    return t;
}

}  // namespace detail

inline chunk_verdict elementwise::verdict(const chunk_call& c) const {
    return detail::computed(c, {.sums = linear ? detail::passes_sums::of_all_at_once : detail::passes_sums::never});
}

inline chunk_verdict copy::verdict(const chunk_call& c) const {
    return detail::copied(c, x, detail::passes_sums::of_its_operand);
}

inline chunk_verdict cast::verdict(const chunk_call& c) const {
    return detail::copied(c, x, detail::passes_sums::but_for_rounding_down);
}

inline chunk_verdict arithmetic::verdict(const chunk_call& c) const {
    return detail::computed(c, detail::terms_of(*this));
}

inline chunk_verdict arithmetic::verdict_in_place(const chunk_call& c) const {
    detail::terms t = detail::terms_of(*this);
    t.row_numbers = false;
    return detail::computed(c, t);
}

inline chunk_verdict copy_into::verdict(const chunk_call& c) const {
    if (!c.is_tensor(target) || !c.is_tensor(source)) return c.refuse(detail::reads_unknown);
    const chunk_state &from = c.state(source), &into = c.state(target);
    if (is_addend(into) && is_addend(from)) return c.give(from);
    if (is_addend(into) || is_addend(from)) return c.refuse(detail::sum_meets_rows);
    chunk_verdict v;
    chunk_state rows;
    if (!detail::rows_side_by_side(c, c.result_types[0].shape.size(), rows, v)) return v;
    if (!is_whole(into) && (from.positions != into.positions || from.into != into.into))
        return c.refuse(detail::reads_row_numbers);
    rows.positions = from.positions;
    rows.into = from.into;
    return c.give(rows);
}

}  // namespace stretto::chunk_rules

#endif
