// The verdicts that the kinds of scatters.hpp share: on writing or adding rows or elements to the places that indices
// name. Indices that hold row numbers of the chunk write to rows of the chunk, so that no other chunk writes there.
// Ordinary indices of several chunks may name the same place; then only additions are correct, and their result is a
// sum over chunks.
#ifndef STRETTO_TRANSFORM_CHUNK_RULES_DETAIL_WRITTEN_ROWS_HPP
#define STRETTO_TRANSFORM_CHUNK_RULES_DETAIL_WRITTEN_ROWS_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/transform/chunk_rules/chunk_call.hpp"
#include "stretto/transform/chunk_rules/detail/indices.hpp"
#include "stretto/transform/chunk_rules/detail/rows.hpp"

namespace stretto::chunk_rules::detail {

/// Returns whether a write makes the inverse of a permutation: operand `index` is a permutation of row numbers, operand
/// `values` holds 0, 1, 2, ... for as many rows, and operand `base` has as many rows. Sorting `index` would give the
/// same.
inline bool inverts(const chunk_call& c, std::size_t base, std::size_t index, std::size_t values) {
    if (values >= c.operands.size() || c.shape(index).size() != 1 || c.shape(values).size() != 1) return false;
    const chunk_state &by = c.state(index), &numbers = c.state(values), &into = c.state(base);
    if (!is_cut(by) || by.what == chunk_kind::opaque || by.into == 0 || !is_cut(numbers) || !is_cut(into)) return false;
    // The numbers must start at 0 in every chunk, and so be shifted by one for each row before the chunk.
    if (numbers.what != chunk_kind::opaque && !c.has_rows(c.extent(values, 0), numbers.positions)) return false;
    const row_orders& orders = *c.orders;
    const std::uint32_t rows = orders.rows_of(order_of(c, by, c.shape(index)));
    return rows != 0 && orders.rows_of(by.into) == rows &&
           orders.rows_of(order_of(c, numbers, c.shape(values))) == rows &&
           orders.rows_of(order_of(c, into, c.shape(base))) == rows && c.ascending(values);
}

/// Returns the verdict on writing rows of operand `values`, which lie along its dimension `at`, to the rows of operand
/// `base` along `dim` that operand `index` names. If `adds`, they are added to what is there. If `values` is
/// no_operand, a constant is written. Precondition: `index` is neither whole nor an addend.
inline chunk_verdict rows_written(const chunk_call& c, std::size_t base, std::size_t index, std::int64_t dim,
                                  std::size_t values, std::int64_t at, bool adds) {
    const chunk_state &by = c.state(index), &into = c.state(base);
    if (!adds && inverts(c, base, index, values)) {
        chunk_state inverse = rows_in(c, by.into);
        if (by.what == chunk_kind::sliced) inverse.positions = c.extent(index, 0) / c.tokens;
        inverse.into = order_of(c, by, c.shape(index));
        return c.give(inverse);
    }
    if (values < c.operands.size() && !c.shape(values).empty()) {
        chunk_state together = rows_only(by);
        if (!is_plain(c.state(values))) return c.refuse(reads_row_numbers);
        if (is_addend(c.state(values))) return c.refuse(sum_meets_rows);
        if (is_whole(c.state(values))) {
            const std::int64_t d = at;
            if (d < 0 || c.extent(values, d) != 1) return c.want(values, d, together);
        } else if (!join_rows(c, together, moved_to(c.state(values), c.state(values).dim - at + by.dim))) {
            return c.refuse(no_such_rows);
        }
    } else if (values < c.operands.size() && !is_whole(c.state(values))) {
        return c.refuse(sum_meets_rows);
    }
    if (is_plain(by)) {  // chunks may name the same row
        if (adds && (is_addend(into) || (is_whole(into) && c.all_zero(base)))) return c.give(a_sum);
        return c.refuse(adds ? "adds to a shared value that is not known to be zero"
                             : "writes to a shared value, and other chunks may write elsewhere");
    }
    if (is_whole(into)) {
        if (by.positions != 0 && c.has_rows(c.extent(base, dim), by.positions)) return c.want(base, dim, as_tokens);
        return c.refuse(foreign_rows);
    }
    if (!is_cut(into) || into.dim != dim || !numbers_rows_of(c, by, into, c.shape(base)) || !is_plain(into))
        return c.refuse(foreign_rows);
    // If several writes go to one row, the last one counts, and in another order of rows another one is the last.
    if (!adds && values < c.operands.size() && by.what == chunk_kind::permuted && by.into == 0)
        return c.refuse("writes in the chunk's order to rows that may be named twice");
    if (into.what == chunk_kind::sliced) return c.give(into);
    chunk_state made = rows_in(c, numbered_order(c, by));
    return c.give(moved_to(made, dim));
}

/// Returns the verdict on writing or adding operand `values` to those elements of operand `base` that several indices
/// name.
inline chunk_verdict elements_written(const chunk_call& c, std::size_t base, const std::vector<std::size_t>& list,
                                      std::size_t values, bool adds) {
    chunk_verdict v;
    index_rows r;
    if (!several_indices(c, list, r, v)) return v;
    const chunk_state &into = c.state(base), &from = c.state(values);
    const bool sums = adds && (is_addend(into) || (is_whole(into) && c.all_zero(base)));
    if (is_whole(r.rows)) {
        if (sums && is_addend(from)) return c.give(a_sum);
        return c.refuse("writes rows of one chunk by numbers that all chunks share");
    }
    if (is_addend(from)) return c.refuse(sum_meets_rows);
    if (!is_plain(from)) return c.refuse(reads_row_numbers);
    const std::int64_t made = static_cast<std::int64_t>(c.shape(base).size()) - r.count + r.rank;
    const std::int64_t at = r.rows.dim + r.first - made + static_cast<std::int64_t>(c.shape(values).size());
    if (is_whole(from)) {
        if (at >= 0 && c.extent(values, at) != 1) return c.want(values, at, r.rows);
    } else if (!join_rows(c, r.rows, moved_to(from, from.dim - at + r.rows.dim))) {
        return c.refuse(no_such_rows);
    }
    if (r.numbering == SIZE_MAX) {
        if (sums) return c.give(a_sum);
        return c.refuse(adds ? "adds to a shared value that is not known to be zero"
                             : "writes to a shared value, and other chunks may write elsewhere");
    }
    const chunk_state& by = c.state(r.numbering);
    if (is_whole(into) && by.positions != 0 && c.has_rows(c.extent(base, r.dim), by.positions))
        return c.want(base, r.dim, as_tokens);
    // If the rows of a chunk are in another order than in the value, the last of several writes to one element differs.
    if (into.what != chunk_kind::sliced || !is_plain(into) || into.dim != r.dim ||
        (!adds && by.what != chunk_kind::sliced) || !numbers_rows_of(c, by, into, c.shape(base)))
        return c.refuse(foreign_rows);
    return c.give(into);
}

}  // namespace stretto::chunk_rules::detail

#endif
