// The rule kind of sorting. Programs sort rows by the expert that processes them, so that the rows of an expert are
// consecutive, and sort once more to restore the order. The sorted rows of a chunk are not a slice of all sorted rows.
// Each chunk may nevertheless be sorted by itself: the sorted values are permuted, in an order that the rule names, and
// everything that is gathered with the resulting row numbers is in the same order.
#ifndef STRETTO_TRANSFORM_CHUNK_RULES_SORTING_HPP
#define STRETTO_TRANSFORM_CHUNK_RULES_SORTING_HPP

#include <cstddef>
#include <cstdint>

#include "stretto/transform/chunk_rules/chunk_call.hpp"
#include "stretto/transform/chunk_rules/detail/rows.hpp"

namespace stretto::chunk_rules {

/// Sorts `x` along a dimension. There are two results: the sorted values, and the positions from which they came. Along
/// a dimension that is not cut, each row is sorted by itself. A cut vector becomes permuted, in an order that its keys
/// identify, and the positions are row numbers; how ties are broken makes no difference to that. An ascending sort of a
/// permutation of row numbers inverts it. A sort along the cut dimension of a tensor with several dimensions is
/// refused.
struct sort {
    std::size_t x = 0;
    std::int64_t dim = -1;
    bool descending = false;
    /// Whether equal values keep their relative order. If so, sorting the same values again gives the same order;
    /// otherwise each operation is assumed to make an order of its own.
    bool stable = false;

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("x", x); }
};

inline chunk_verdict sort::verdict(const chunk_call& c) const {
    if (!c.is_tensor(x) || c.results.size() != 2) return c.refuse(detail::chunk_number);
    const chunk_state& s = c.state(x);
    if (s.what == chunk_kind::opaque) return c.refuse(detail::reads_unknown);
    if (is_addend(s)) return c.refuse(detail::not_linear);
    const std::size_t rank = c.shape(x).size();
    if (wrapped(dim, rank) != s.dim) {
        if (counts_rows(s)) return c.refuse(detail::reads_row_numbers);
        return c.give(s);
    }
    if (rank != 1) return c.refuse_itself("sorts each column of the chunk's rows by itself");
    // If x is a permutation of the row numbers of order `s.into`, the sorted values are these row numbers in that
    // order, and the second result is the inverse permutation, which numbers the rows in their present order.
    const std::uint32_t from = detail::order_of(c, s, c.shape(x));
    row_orders& orders = *c.orders;
    const std::int64_t share = s.what == chunk_kind::sliced ? c.extent(x, 0) / c.tokens : 0;
    if (s.into != 0 && orders.rows_of(s.into) == orders.rows_of(from) && !descending) {
        chunk_state values = detail::rows_in(c, s.into);
        values.positions = s.positions;
        values.into = s.into;
        c.results[0] = values;
        c.results[1] = rows_only(values);
        c.results[1].into = from;
        c.results[1].positions = share;
        return {};
    }
    if (s.into != 0) return c.refuse(detail::reads_row_numbers);
    // A sort that is not stable may break ties differently the next time, so the operation identifies its order.
    const std::uint32_t to = orders.name(row_orders::origin::sorted, from, orders.rows_of(from),
                                         {stable ? c.operands[x].key : -1 - c.key, descending});
    chunk_state rows{chunk_kind::permuted, 0, s.positions, to, 0};
    c.results[0] = rows;
    rows.positions = share;
    rows.into = from;
    c.results[1] = rows;
    return {};
}

}  // namespace stretto::chunk_rules

#endif
