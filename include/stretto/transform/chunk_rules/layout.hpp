// Rule kinds of operations that only rearrange the elements of one tensor. Each rule determines at which dimension the
// result is cut. All operations are linear, so sums over chunks pass, and none computes with elements, so row numbers
// pass too. An operation is refused if it works along the cut dimension, where a part has other rows than the whole, or
// if a number of the chunk (numbers.hpp) gives an extent and is not the number of the rows of the chunk.
//
// Longer than 300 lines: there are many kinds, and they share one way of following a dimension.
#ifndef STRETTO_TRANSFORM_CHUNK_RULES_LAYOUT_HPP
#define STRETTO_TRANSFORM_CHUNK_RULES_LAYOUT_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/transform/chunk_rules/chunk_call.hpp"
#include "stretto/transform/chunk_rules/detail/row_blocks.hpp"
#include "stretto/transform/chunk_rules/detail/rows.hpp"

namespace stretto::chunk_rules {

/// Returns the elements of `x`, in the same order, in another shape. A cut dimension may be merged with inner ones. It
/// may be split if the outer of the new dimensions has whole tokens. If it is merged with outer dimensions, its rows
/// lie in blocks (row_orders::origin::blocks); if these blocks are split off again, the rows are in the order of the
/// tokens. `sizes` gives, for each extent of the result, the operand that determines it, or no_operand; it is empty if
/// all extents are constants. O(dimensions squared).
struct reshape {
    std::size_t x = 0;
    std::vector<std::size_t> sizes = {};

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("x", x).add("sizes", sizes); }
};

/// Repeats `x` along dimensions of extent 1 and along new outer dimensions. `sizes` has the same meaning as in reshape.
/// If one of these operands is a number of the chunk, a whole `x` is repeated to that many rows of the chunk.
struct expand {
    std::size_t x = 0;
    std::vector<std::size_t> sizes = {};

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("x", x).add("sizes", sizes); }
};

/// Exchanges two dimensions.
struct transpose {
    std::size_t x = 0;
    std::int64_t first = -2, second = -1;

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("x", x); }
};

/// Dimension j of the result is dimension `dims[j]` of `x`.
struct permute {
    std::size_t x = 0;
    dim_list dims = {};

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("x", x); }
};

/// Reverses the order of all dimensions. (flip reverses the elements along dimensions.)
struct reverse_dimensions {
    std::size_t x = 0;

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("x", x); }
};

/// Adds a dimension of extent 1, which is dimension `dim` of the result.
struct unsqueeze {
    std::size_t x = 0;
    std::int64_t dim = 0;

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("x", x); }
};

/// Removes those of `dims` whose extent is 1. It is refused if `dims` names the cut dimension, because a part may have
/// one row where the value has several.
struct squeeze {
    std::size_t x = 0;
    dim_list dims = {};

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("x", x); }
};

/// Selects entry `index` along a dimension and removes that dimension, which must not be cut.
struct select {
    std::size_t x = 0;
    std::int64_t dim = 0;
    std::int64_t index = -1;  ///< -1 if the program computes it or counts it from the end; only value_history reads it

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("x", x); }
};

/// Returns one result for each entry along a dimension, without that dimension, which must not be cut.
struct unbind {
    std::size_t x = 0;
    std::int64_t dim = 0;

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("x", x); }
};

/// Splits a dimension into pieces, with one result for each. The cut dimension may be split only if its rows lie in
/// blocks, and into exactly these blocks; each piece then has the rows of the tokens. `sizes` gives, for each piece,
/// the operand that determines its extent or no_operand for a constant; or it has one operand, which determines all
/// extents. It is empty if all extents are constants.
struct split {
    std::size_t x = 0;
    std::int64_t dim = 0;
    std::vector<std::size_t> sizes = {};

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("x", x).add("sizes", sizes); }
};

/// Selects every `step`th entry along a dimension, from entry `first` to the one before entry `last`. Along the cut
/// dimension, it must select all entries.
struct slice {
    static constexpr std::int64_t to_the_end = INT64_MAX;
    static constexpr std::int64_t unknown = -1;  ///< a bound that the program computes or counts from the end

    std::size_t x = 0;
    std::int64_t dim = 0;
    std::int64_t first = 0;
    std::int64_t last = to_the_end;
    std::int64_t step = 1;

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("x", x); }
};

/// Reverses the elements along some dimensions. Along the cut dimension, the rows of the chunk are then in an order of
/// their own; if they are reversed again, they are in the earlier order. An opaque `x` is refused there.
struct flip {
    std::size_t x = 0;
    dim_list dims = {};

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("x", x); }
};

/// Returns the same elements with another last dimension, which is added or removed: pairs of reals viewed as complex
/// numbers, and the reverse. A cut dimension must also exist in the result. Precondition: all other dimensions keep
/// their extents, and the last one does so if it is cut.
struct regroup_last {
    std::size_t x = 0;

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("x", x); }
};

/// Repeats `x` `times[j]` times along dimension j of the result, which may have additional outer dimensions. A number
/// that the program computes is given as 0. Along the cut dimension, the number must be 1.
struct repeat {
    std::size_t x = 0;
    dim_list times = {};

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("x", x); }
};

namespace detail {

/// Returns the verdict on an operation that gives dimensions other positions. `where(d, rank)` is the dimension of the
/// result that dimension d of `x`, a tensor of rank `rank`, becomes; -1 if there is none or if d must not be cut.
/// Refuses if `x` is not a tensor or if another operand is not whole.
template <class Where>
chunk_verdict dimensions_moved(const chunk_call& c, std::size_t x, Where where) {
    if (!c.is_tensor(x)) return c.refuse(chunk_number);
    for (std::size_t k = 0; k < c.operands.size(); ++k)
        if (k != x && !is_whole(c.state(k))) return c.refuse(chunk_number);
    const chunk_state& s = c.state(x);
    if (!is_cut(s)) return c.give(s);
    const std::int64_t d = where(static_cast<std::int64_t>(s.dim), c.shape(x).size());
    return d < 0 ? c.refuse_itself(along_chunks) : c.give(moved_to(s, d));
}

/// Returns the verdict on an operation that removes dimension `gone`, which must not be the cut one.
inline chunk_verdict dimension_removed(const chunk_call& c, std::size_t x, std::int64_t gone) {
    return dimensions_moved(c, x, [&](std::int64_t d, std::size_t rank) -> std::int64_t {
        const std::int64_t out = wrapped(gone, rank);
        return out == d ? -1 : d - (out < d);
    });
}

}  // namespace detail

inline chunk_verdict reshape::verdict(const chunk_call& c) const {
    if (!c.is_tensor(x)) return c.refuse(detail::chunk_number);
    const chunk_state& s = c.state(x);
    if (!is_cut(s)) {
        if (is_whole(s) || !detail::sizes_shared(c, sizes, -1)) return c.refuse(detail::chunk_number);
        return c.give(s);
    }
    // A dimension of the result begins where the cut dimension of x does if the product of the extents outside of it is
    // the same. If rows are in the order of the tokens, that dimension is cut if it has whole tokens. In any other
    // order, rows stay rows only if there are as many of them.
    const std::span<const std::int64_t> from = c.shape(x), to = c.result_types[0].shape;
    const std::size_t d = static_cast<std::size_t>(s.dim);
    const std::int64_t outside = detail::product(from, 0, d);
    std::int64_t before = 1;
    for (std::size_t j = 0; j < to.size() && before <= outside; before *= to[j++]) {
        if (before != outside || to[j] == 0) continue;
        const bool fits = s.what == chunk_kind::sliced ? to[j] % c.tokens == 0 : to[j] == from[d];
        if (!fits) continue;
        if (!detail::sizes_fit(c, sizes, s, j)) return c.refuse(detail::chunk_number);
        return c.give(moved_to(s, static_cast<std::int64_t>(j)));
    }
    const detail::blocks_of_rows found = detail::blocks_merged_or_parted(c, s, from, to);
    if (found.dim < 0) return c.refuse_itself(detail::cuts_rows);
    const chunk_state tokens{chunk_kind::sliced, static_cast<std::int8_t>(found.dim), 0, 0, 0};
    if (!detail::sizes_fit(c, sizes, tokens, static_cast<std::size_t>(found.dim)))
        return c.refuse(detail::chunk_number);
    if (s.what != chunk_kind::sliced) return c.give(tokens);
    const std::int64_t rows = to[static_cast<std::size_t>(found.dim)] / found.blocks / c.tokens;
    return c.give(detail::in_blocks(c, tokens.dim, found.blocks, rows));
}

inline chunk_verdict expand::verdict(const chunk_call& c) const {
    if (!c.is_tensor(x)) return c.refuse(detail::chunk_number);
    const chunk_state& s = c.state(x);
    const std::span<const std::int64_t> from = c.shape(x), to = c.result_types[0].shape;
    const std::int64_t added = static_cast<std::int64_t>(to.size()) - static_cast<std::int64_t>(from.size());
    if (!is_cut(s)) {
        chunk_verdict v;
        chunk_state rows;
        if (!detail::rows_by_number(c, sizes, rows, v)) return c.give(s);
        if (!v.possible) return v;
        if (!is_whole(s)) return c.refuse(detail::sum_meets_rows);
        const std::int64_t own = rows.dim - added;
        if (own >= 0 && from[static_cast<std::size_t>(own)] != 1) return c.want(x, own, rows);
        return c.give(rows);
    }
    const std::size_t at = static_cast<std::size_t>(s.dim + added);
    if (at >= to.size() || to[at] != from[static_cast<std::size_t>(s.dim)]) return c.refuse_itself(detail::cuts_rows);
    if (!detail::sizes_fit(c, sizes, s, at)) return c.refuse(detail::chunk_number);
    return c.give(moved_to(s, s.dim + added));
}

inline chunk_verdict transpose::verdict(const chunk_call& c) const {
    return detail::dimensions_moved(c, x, [&](std::int64_t d, std::size_t rank) {
        const std::int64_t a = wrapped(first, rank), b = wrapped(second, rank);
        return d == a ? b : d == b ? a : d;
    });
}

inline chunk_verdict permute::verdict(const chunk_call& c) const {
    return detail::dimensions_moved(c, x, [&](std::int64_t d, std::size_t rank) -> std::int64_t {
        const std::size_t j = place_of(dims, d, rank);
        return j < dims.size() ? static_cast<std::int64_t>(j) : -1;
    });
}

inline chunk_verdict reverse_dimensions::verdict(const chunk_call& c) const {
    return detail::dimensions_moved(
        c, x, [](std::int64_t d, std::size_t rank) { return static_cast<std::int64_t>(rank) - 1 - d; });
}

inline chunk_verdict unsqueeze::verdict(const chunk_call& c) const {
    return detail::dimensions_moved(
        c, x, [&](std::int64_t d, std::size_t rank) { return d + (wrapped(dim, rank + 1) <= d); });
}

inline chunk_verdict squeeze::verdict(const chunk_call& c) const {
    return detail::dimensions_moved(c, x, [&](std::int64_t d, std::size_t rank) -> std::int64_t {
        const std::span<const std::int64_t> extents = c.shape(x);
        std::int64_t before = 0;
        for (std::int64_t j = 0; j <= d; ++j) {
            const bool named = place_of(dims, j, rank) < dims.size();
            if (named && j == d) return -1;
            before += named && extents[static_cast<std::size_t>(j)] == 1;
        }
        return d - before;
    });
}

inline chunk_verdict select::verdict(const chunk_call& c) const { return detail::dimension_removed(c, x, dim); }

inline chunk_verdict unbind::verdict(const chunk_call& c) const { return detail::dimension_removed(c, x, dim); }

inline chunk_verdict split::verdict(const chunk_call& c) const {
    const bool along = c.is_tensor(x) && is_cut(c.state(x)) && wrapped(dim, c.shape(x).size()) == c.state(x).dim;
    if (!along) return detail::dimensions_moved(c, x, [](std::int64_t d, std::size_t) { return d; });
    const chunk_state& s = c.state(x);
    const std::int64_t blocks = detail::blocks_of(c, s);
    if (blocks < 2) return c.refuse_itself(detail::along_chunks);
    const std::int64_t rows = c.extent(x, s.dim) / blocks;
    for (const tensor_type& piece : c.result_types)
        if (extent_in(piece.shape, s.dim) != rows) return c.refuse_itself(detail::along_chunks);
    for (std::size_t k = 0; k < c.operands.size(); ++k) {
        if (k == x || is_whole(c.state(k))) continue;
        bool is_size = false;
        for (std::size_t n : sizes) is_size = is_size || n == k;
        if (!is_size || !is_addend(c.state(k)) || !c.has_rows(rows, c.state(k).positions))
            return c.refuse(detail::chunk_number);
    }
    return c.give({chunk_kind::sliced, s.dim, 0, 0, 0});
}

inline chunk_verdict slice::verdict(const chunk_call& c) const {
    return detail::dimensions_moved(c, x, [&](std::int64_t d, std::size_t rank) -> std::int64_t {
        if (wrapped(dim, rank) != d) return d;
        return first == 0 && last >= c.extent(x, d) && step == 1 ? d : -1;
    });
}

inline chunk_verdict flip::verdict(const chunk_call& c) const {
    if (!c.is_tensor(x)) return c.refuse(detail::chunk_number);
    const chunk_state& s = c.state(x);
    if (!is_cut(s) || place_of(dims, s.dim, c.shape(x).size()) == dims.size()) return c.give(s);
    if (s.what == chunk_kind::opaque) return c.refuse(detail::reads_unknown);
    row_orders& orders = *c.orders;
    const std::uint32_t from = detail::order_of(c, s, c.shape(x));
    const bool back = orders.knows(from) && orders[from].how == row_orders::origin::flipped;
    chunk_state r = detail::rows_in(
        c, back ? orders[from].before : orders.name(row_orders::origin::flipped, from, orders.rows_of(from), {}));
    r.dim = s.dim;
    r.positions = s.positions;
    r.into = s.into;
    return c.give(r);
}

inline chunk_verdict regroup_last::verdict(const chunk_call& c) const {
    return detail::dimensions_moved(c, x, [&](std::int64_t d, std::size_t) -> std::int64_t {
        return d < static_cast<std::int64_t>(c.result_types[0].shape.size()) ? d : -1;
    });
}

inline chunk_verdict repeat::verdict(const chunk_call& c) const {
    return detail::dimensions_moved(c, x, [&](std::int64_t d, std::size_t rank) -> std::int64_t {
        const std::int64_t j = d + static_cast<std::int64_t>(times.size()) - static_cast<std::int64_t>(rank);
        return j >= 0 && times[static_cast<std::size_t>(j)] == 1 ? j : -1;
    });
}

}  // namespace stretto::chunk_rules

#endif
