// The rule kind of sorting. Programs sort row numbers, or the experts that rows go to, to bring rows into groups, and
// sort once more to bring them back; sorting a chunk by itself is right because of how the result is used: everything
// that is gathered by the sorted numbers is in one order, which the rule names.
#ifndef STRETTO_TRANSFORM_CHUNK_RULES_SORTING_HPP
#define STRETTO_TRANSFORM_CHUNK_RULES_SORTING_HPP

#include <cstddef>
#include <cstdint>

#include "stretto/transform/chunk_rules/chunk_call.hpp"
#include "stretto/transform/chunk_rules/detail/rows.hpp"

namespace stretto::chunk_rules {

/// Sorts `x` along a dimension. Two results: the values, and the numbers of the rows that they came from. Sorting all
/// rows chunk by chunk brings them into an order of its own, the same for all that is then gathered by those numbers;
/// what ties do makes no difference to that. Sorting a permutation of numbers of rows inverts it.
struct sort {
    std::size_t x = 0;
    std::int64_t dim = -1;
    bool descending = false;
    /// Equal values stay in the order they have: sorting the same value again gives the same order.
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
    // A permutation of the rows of order `s.into` is sorted: its values are those rows' numbers in their own order, and
    // the numbers it gives are the inverse permutation, back into the order that the rows have now.
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
    // What is not stable may break ties differently the next time: such an order is known by the operation that made
    // it.
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
