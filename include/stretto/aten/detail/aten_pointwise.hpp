// How operators that compute each element from the elements in the same place behave under chunking.
#ifndef STRETTO_ATEN_DETAIL_ATEN_POINTWISE_HPP
#define STRETTO_ATEN_DETAIL_ATEN_POINTWISE_HPP

#include <cstddef>
#include <cstdint>
#include <span>

#include "stretto/aten/detail/aten_call.hpp"

namespace stretto::detail::aten {

/// Which sums an operator passes on.
enum class linear {
    never,
    in_its_operand,      ///< f(a + b) = f(a) + f(b)
    in_all_at_once,      ///< a sum of sums: all operands are addends
    in_one_at_a_time,    ///< a product: one addend, the others whole
    in_the_first,        ///< a quotient: the others whole
    but_for_rounding_up  ///< a cast: unless it drops fractions
};

/// What becomes of numbers of rows.
enum class row_numbers {
    refused,
    kept,
    added,
    subtracted,
    multiplied,
    divided,  ///< rounding down
    remainder
};

inline constexpr std::string_view no_such_rows = "its operands have rows of the chunk in different orders";
inline constexpr std::string_view sum_meets_rows = "one operand is a sum over chunks, another has rows of one chunk";
inline constexpr std::string_view reads_row_numbers = "reads numbers of rows, which count from the chunk, as values";
inline constexpr std::string_view reads_unknown = "an operand has parts that are in no known relation to it";
inline constexpr std::string_view chunk_number = "a number of the chunk stands where a shared one is expected";

/// A refusal if an operand is anything but values: numbers of rows, or parts of no known relation.
inline bool only_values(const aten_call& c, chunk_verdict& v) {
    for (std::size_t k = 0; k < c.operands.size(); ++k)
        for (std::size_t i = 0; i < (c.operands[k].tensors == 0 ? 1 : c.operands[k].tensors); ++i) {
            const chunk_state& s = c.states[c.operands[k].first + i];
            if (s.what == chunk_kind::opaque) return v = c.refuse(reads_unknown), false;
            if (counts_rows(s)) return v = c.refuse(reads_row_numbers), false;
        }
    return true;
}

/// The rows of all cut operands side by side, aligned at the last dimension of a result of that rank. False: `v` says
/// why not. `rows` stays whole if none is cut.
inline bool rows_side_by_side(const aten_call& c, std::size_t rank, chunk_state& rows, chunk_verdict& v,
                              bool broadcasts = true) {
    bool any = false;
    std::int64_t extent = 0;
    const auto shift = [&](std::size_t k) {
        return static_cast<std::int64_t>(rank) - static_cast<std::int64_t>(c.shape(k).size());
    };
    for (std::size_t k = 0; k < c.operands.size(); ++k) {
        const chunk_state& s = c.state(k);
        if (c.is_number(k)) {
            if (!is_whole(s)) return v = c.refuse(chunk_number), false;
            continue;
        }
        if (s.what == chunk_kind::opaque && s.dim < 0) return v = c.refuse(reads_unknown), false;
        if (!is_cut(s)) continue;
        const chunk_state here = moved_to(rows_only(s), s.dim + shift(k));
        const std::int64_t own = c.shape(k)[static_cast<std::size_t>(s.dim)];
        if (!any) rows = here, extent = own;
        else if (own != extent || !join_rows(c, rows, here)) return v = c.refuse(no_such_rows), false;
        any = true;
    }
    if (!any) return true;
    for (std::size_t k = 0; k < c.operands.size(); ++k) {
        if (!c.is_tensor(k) || !is_whole(c.state(k))) continue;
        const std::int64_t d = rows.dim - shift(k);
        if (d >= 0 && (!broadcasts || c.shape(k)[static_cast<std::size_t>(d)] != 1))
            return v = c.want(k, d, rows), false;
    }
    return true;
}

/// Numbers of rows after arithmetic: by how much a token in front of the chunk moves the result. False if it is not an
/// amount that can be told.
inline bool row_arithmetic(const aten_call& c, row_numbers what, chunk_state& result, chunk_verdict& v) {
    std::int64_t moved[2] = {0, 0};
    std::int64_t literal = 0;
    bool has_literal = false, unknown = false;
    for (std::size_t position = 0; position < 2; ++position) {
        const tensor_argument& a = c.argument(position, "other");
        if (a.what == argument_form::integer) literal = a.integer, has_literal = true;
        const std::size_t k = c.operand(a);
        if (!c.is_tensor(k)) continue;
        moved[position] = c.state(k).positions;
        unknown =
            unknown || c.state(k).what == chunk_kind::opaque || (c.state(k).into != 0 && c.state(k).positions == 0);
    }
    if (c.argument(2, "alpha").what != argument_form::none && what != row_numbers::divided)
        return v = c.refuse(reads_row_numbers), false;
    if (unknown) {
        if (what != row_numbers::added && what != row_numbers::subtracted) return v = c.refuse(reads_unknown), false;
        if (!is_integral(c.result_types[0].element)) return v = c.refuse(reads_unknown), false;
        if (result.what == chunk_kind::sliced) return v = c.refuse(reads_unknown), false;
        result.what = chunk_kind::opaque;
        return true;
    }
    switch (what) {
        case row_numbers::added:
            result.positions = moved[0] + moved[1];
            return true;
        case row_numbers::subtracted:
            result.positions = moved[0] - moved[1];
            return true;
        case row_numbers::multiplied:
            if (!has_literal) break;
            result.positions = (moved[0] + moved[1]) * literal;
            return true;
        case row_numbers::divided:
        case row_numbers::remainder:
            if (!has_literal || literal <= 0 || moved[0] % literal != 0) break;
            result.positions = what == row_numbers::divided ? moved[0] / literal : 0;
            return true;
        default:
            break;
    }
    return v = c.refuse(reads_row_numbers), false;
}

inline chunk_verdict pointwise_sum(const aten_call& c, linear l) {
    std::size_t addends = 0, used = 0;  // an addend may be used twice
    bool literals = false;
    for (const tensor_argument& a : c.positional) {
        literals = literals || a.what == argument_form::integer || a.what == argument_form::real;
        used += c.is_tensor(c.operand(a)) && is_addend(c.state(c.operand(a)));
    }
    for (std::size_t k = 0; k < c.operands.size(); ++k) {
        // Zero is a sum of zeros.
        const bool zero = l == linear::in_all_at_once && c.is_tensor(k) && is_whole(c.state(k)) &&
                          c.shape(k).size() <= c.result_types[0].shape.size() &&
                          c.history.all_zero(c.history.program, k);
        addends += is_addend(c.state(k)) || zero;
        if (is_cut(c.state(k))) return c.refuse(sum_meets_rows);
        if (c.is_number(k) && !is_whole(c.state(k)) && (l != linear::in_all_at_once || !is_addend(c.state(k))))
            return c.refuse(chunk_number);
    }
    const bool exact = [&] {
        switch (l) {
            case linear::in_its_operand:
                return true;
            case linear::in_all_at_once:
                return addends == c.operands.size() && !literals;
            case linear::in_one_at_a_time:
                return used == 1;
            case linear::in_the_first:
                return used == 1 && c.is_tensor(c.operand(0, "self")) && is_addend(c.state(c.operand(0, "self")));
            case linear::but_for_rounding_up: {
                const element_type from = c.type(0).element, to = c.result_types[0].element;
                return to != element_type::boolean &&
                       (!is_integral(to) || is_integral(from) || from == element_type::boolean ||
                        c.history.integers(c.history.program, 0));
            }
            case linear::never:
                break;
        }
        return false;
    }();
    if (!exact) return c.refuse("is not linear in an operand that is a sum over chunks");
    return c.give({chunk_kind::addend, -1, 0, 0, 0});
}

/// The rule of such an operator.
template <linear L, row_numbers R>
chunk_verdict pointwise(const aten_call& c) {
    for (std::size_t k = 0; k < c.operands.size(); ++k)
        if (c.is_tensor(k) && is_addend(c.state(k))) return pointwise_sum(c, L);
    chunk_verdict v;
    chunk_state result;
    const std::size_t rank = c.result_types.empty() ? 0 : c.result_types[0].shape.size();
    if (!rows_side_by_side(c, rank, result, v)) return v;
    if constexpr (R == row_numbers::kept) {
        const std::size_t k = c.operand(0, "self");
        if (!c.is_tensor(k)) return c.refuse(reads_unknown);
        return c.give(c.state(k));
    }
    bool special = false;
    for (std::size_t k = 0; k < c.operands.size(); ++k)
        special = special || counts_rows(c.state(k)) || c.state(k).what == chunk_kind::opaque;
    if (special && !row_arithmetic(c, R, result, v)) return v;
    return c.give(result);
}

/// Writes operand 0 in place, as `Rule` says what. Only rows of the chunk may be written; but what all chunks share may
/// be added to, one chunk after the other.
template <aten_rule Rule, bool Adds = false>
chunk_verdict written(const aten_call& c) {
    const std::size_t target = c.operand(0, "self");
    if (!c.is_tensor(target)) return c.refuse("writes what is no tensor");
    const chunk_state before = c.state(target);
    if (is_whole(before)) {
        if constexpr (Adds) {
            const std::size_t added = c.operand(1, "other");
            if (c.is_tensor(added) && is_addend(c.state(added))) {
                chunk_verdict chained = c.give({});
                chained.chain = true;
                return chained;
            }
        }
        return c.refuse("writes rows of one chunk into a value that all chunks share");
    }
    const chunk_verdict v = Rule(c);
    if (!v.possible) return v;
    chunk_state after = c.results[0];
    if (after.what == before.what && after.dim == before.dim && after.order == before.order) return v;
    // Rows that were all alike are in one order from now on: who else reads them would still take them for alike.
    const bool orderly = after.what == chunk_kind::permuted || after.what == chunk_kind::sliced;
    if (before.what == chunk_kind::permuted && c.ledger->all_alike(before.order) && orderly &&
        after.dim == before.dim && c.history.read_here_only(c.history.program, target))
        return v;
    return c.refuse("writes rows of the chunk in another order than the one they are in");
}

/// copy_(target, source).
inline chunk_verdict copied(const aten_call& c) {
    const std::size_t source = c.operand(1, "src");
    if (!c.is_tensor(source)) return c.refuse(reads_unknown);
    chunk_verdict v;
    chunk_state rows;
    if (is_addend(c.state(0)) && is_addend(c.state(source))) return c.give(c.state(source));
    if (is_addend(c.state(0)) || is_addend(c.state(source))) return c.refuse(sum_meets_rows);
    if (!rows_side_by_side(c, c.result_types[0].shape.size(), rows, v)) return v;
    const chunk_state& s = c.state(source);
    const chunk_state& target = c.state(0);
    if (!is_whole(target) && (s.positions != target.positions || s.into != target.into))
        return c.refuse(reads_row_numbers);
    rows.positions = s.positions;
    rows.into = s.into;
    return c.give(rows);
}

}  // namespace stretto::detail::aten

#endif
