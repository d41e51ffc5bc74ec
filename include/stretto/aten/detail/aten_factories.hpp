// How operators that make tensors behave under chunking, and arithmetic on numbers: what counts rows of a chunk.
#ifndef STRETTO_ATEN_DETAIL_ATEN_FACTORIES_HPP
#define STRETTO_ATEN_DETAIL_ATEN_FACTORIES_HPP

#include <cstddef>
#include <cstdint>
#include <span>

#include "stretto/aten/detail/aten_call.hpp"
#include "stretto/aten/detail/aten_pointwise.hpp"
#include "stretto/aten/detail/aten_views.hpp"

namespace stretto::detail::aten {

/// zeros, ones, full, empty: argument 0 has the sizes.
inline chunk_verdict made(const aten_call& c) {
    chunk_verdict v;
    chunk_state rows;
    if (!rows_by_number(c, c.argument(0, "size"), rows, v)) return c.refuse(chunk_number);
    return v.possible ? c.give(rows) : v;
}

/// new_zeros and the like: a tensor of the device and type of another, argument 1 has the sizes. Without a number of
/// the chunk among them, rows go by the other's dimension, if they can; else every chunk makes the same.
inline chunk_verdict made_new(const aten_call& c) {
    const std::size_t like = c.operand(0, "self");
    if (!c.is_tensor(like)) return c.refuse(chunk_number);
    chunk_verdict v;
    chunk_state rows;
    if (rows_by_number(c, c.argument(1, "size"), rows, v)) return v.possible ? c.give(rows) : v;
    const chunk_state& s = c.state(like);
    const std::span<const std::int64_t> shape = c.result_types[0].shape;
    if (!is_cut(s) || static_cast<std::size_t>(s.dim) >= shape.size()) return c.give({});
    const std::int64_t extent = shape[static_cast<std::size_t>(s.dim)];
    if (extent == 0 || extent % c.tokens != 0) return c.give({});
    return c.give({chunk_kind::sliced, s.dim, 0, 0, 0});
}

/// zeros_like and the like: rows that are all the same are in every order.
inline chunk_verdict made_like(const aten_call& c) {
    const std::size_t like = c.operand(0, "self");
    if (!c.is_tensor(like)) return c.refuse(chunk_number);
    const chunk_state& s = c.state(like);
    if (!is_cut(s)) return is_addend(s) ? c.give({}) : c.refuse(reads_unknown);
    if (s.what == chunk_kind::sliced) return c.give(rows_only(s));
    if (c.ledger->rows_of(s.order) == 0) return c.refuse(reads_unknown);
    return c.give({chunk_kind::permuted, s.dim, 0, c.ledger->alike(c.ledger->rows_of(s.order)), 0});
}

/// arange(number of rows): their numbers. `End`: which argument that is; a start before it is 0, a step behind it 1.
template <std::size_t End>
chunk_verdict numbered(const aten_call& c) {
    const std::size_t k = c.operand(End, "end");
    const bool from_0 = End == 0 || c.integer(0, "start", -1) == 0, by_1 = c.integer(End + 1, "step", 1) == 1;
    if (!from_0 || !by_1 || !c.is_number(k) || c.operands.size() != 1 || !is_addend(c.state(k)) ||
        !is_integral(c.result_types[0].element))
        return c.refuse("numbers rows from a start or by a step that has no rule");
    const chunk_state& n = c.state(k);
    if (n.positions > 0 && c.result_types[0].shape[0] == n.positions * c.tokens)
        return c.give({chunk_kind::sliced, 0, n.positions, 0, c.ledger->natural(n.positions)});
    if (c.ledger->rows_of(n.order) == 0)
        return c.refuse("makes as many rows as a number says that counts the rows of nothing known");
    return c.give({chunk_kind::opaque, 0, 0, c.ledger->alike(c.ledger->rows_of(n.order)), 0});
}

/// sym_size.int: an extent. Of another dimension than the chunked one it is the same for all.
inline chunk_verdict extent_read(const aten_call& c) {
    const std::size_t x = c.operand(0, "self");
    if (!c.is_tensor(x)) return c.refuse(chunk_number);
    const chunk_state& s = c.state(x);
    if (!is_cut(s)) return is_addend(s) ? c.give({}) : c.refuse(reads_unknown);
    if (wrapped(c.integer(1, "dim", 0), c.shape(x).size()) != s.dim) return c.give({});
    if (s.what == chunk_kind::sliced) {
        const std::int64_t share = c.shape(x)[static_cast<std::size_t>(s.dim)] / c.tokens;
        return c.give({chunk_kind::addend, -1, share, c.ledger->natural(share), 0});
    }
    return c.give({chunk_kind::addend, -1, 0, c.ledger->rows_of(s.order), 0});
}

/// sym_numel.
inline chunk_verdict size_read(const aten_call& c) {
    const std::size_t x = c.operand(0, "self");
    if (!c.is_tensor(x)) return c.refuse(chunk_number);
    const chunk_state& s = c.state(x);
    if (!is_cut(s)) return is_addend(s) ? c.give({}) : c.refuse(reads_unknown);
    const std::int64_t all = product(c.shape(x), 0, c.shape(x).size());
    if (s.what == chunk_kind::sliced)
        return c.give({chunk_kind::addend, -1, all / c.tokens, c.ledger->natural(all / c.tokens), 0});
    const bool one_a_row = all == c.shape(x)[static_cast<std::size_t>(s.dim)];
    return c.give({chunk_kind::addend, -1, 0, one_a_row ? c.ledger->rows_of(s.order) : 0, 0});
}

/// _local_scalar_dense: the value of a tensor of one element.
inline chunk_verdict value_read(const aten_call& c) {
    if (!c.is_tensor(0) || !is_addend(c.state(0))) return c.refuse(reads_unknown);
    return c.give({chunk_kind::addend, -1, 0, 0, 0});
}

/// scalar_tensor: a number as a tensor of one element.
inline chunk_verdict number_held(const aten_call& c) {
    if (!c.is_number(0) || !is_addend(c.state(0))) return c.refuse(reads_unknown);
    return c.give({chunk_kind::addend, -1, 0, 0, 0});
}

enum class number_arithmetic {
    add,
    subtract,
    multiply,
    divide  ///< rounding down
};

/// add, sub, mul, floordiv of two numbers; sym_sum of a list.
template <number_arithmetic A>
chunk_verdict number_computed(const aten_call& c) {
    std::int64_t share = 0, literal = 0;
    std::size_t addends = 0, shares = 0;
    bool has_literal = false;
    const auto look = [&](const tensor_argument& a, std::int64_t sign) {
        if (a.what == argument_form::integer) {
            has_literal = has_literal || a.integer != 0;
            literal = a.integer;
            return;
        }
        const std::size_t k = c.operand(a);
        if (k >= c.operands.size() || !is_addend(c.state(k))) return;
        ++addends;
        shares += c.state(k).positions != 0;
        share += sign * c.state(k).positions;
    };
    std::size_t arguments = 0;
    for (const tensor_argument& a : c.positional) {
        const std::int64_t sign = A == number_arithmetic::subtract && arguments != 0 ? -1 : 1;
        if (a.what != argument_form::list) look(a, sign), ++arguments;
        for (const tensor_argument& item : a.items) look(item, sign), ++arguments;
    }
    for (std::size_t k = 0; k < c.operands.size(); ++k)
        if (!c.is_number(k) || (!is_whole(c.state(k)) && !is_addend(c.state(k)))) return c.refuse(reads_unknown);
    chunk_state made{chunk_kind::addend, -1, 0, 0, 0};
    if constexpr (A == number_arithmetic::add || A == number_arithmetic::subtract) {
        if (has_literal || addends != arguments)
            return c.refuse("would add a number that all chunks share once in every chunk");
        if (shares == addends) made.positions = share;
    } else if constexpr (A == number_arithmetic::multiply) {
        if (addends != 1) return c.refuse("multiplies two numbers of the chunk");
        if (has_literal && arguments == 2) made.positions = share * literal;
    } else {
        if (addends != 1 || shares != 1 || !has_literal || c.positional.empty() ||
            c.positional[0].what != argument_form::operand || literal <= 0 || share % literal != 0)
            return c.refuse("rounds a share of a number, and the shares would not add up to it");
        made.positions = share / literal;
    }
    if (made.positions > 0) made.order = c.ledger->natural(made.positions);
    return c.give(made);
}

/// Comparisons of a number of the chunk: only with zero does a part answer as the whole does.
inline chunk_verdict number_compared(const aten_call& c) {
    const tensor_argument& bound = c.argument(1, "other");
    const bool with_zero = bound.what == argument_form::integer && bound.integer == 0;
    if (!with_zero || c.operands.size() != 1 || !is_addend(c.state(0)))
        return c.refuse("compares a number of the chunk with one that all chunks share");
    return c.give({chunk_kind::opaque, -1, 0, 0, 0});
}

/// _assert_scalar: what may be compared may be asserted.
inline chunk_verdict asserted(const aten_call& c) { return c.give({}); }

}  // namespace stretto::detail::aten

#endif
