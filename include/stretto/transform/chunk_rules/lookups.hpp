// Rule kinds for look-ups. The verdict depends on the indices: ordinary values, which may index a tensor that all
// chunks share; numbers of rows of the chunk, which find rows of the same chunk; or row numbers that the program
// computes. Indices that all chunks share may index any tensor that is not cut along the indexed dimension. Everything
// else would need rows of another chunk and is refused. scatters.hpp treats the same cases for writes.
#ifndef STRETTO_TRANSFORM_CHUNK_RULES_LOOKUPS_HPP
#define STRETTO_TRANSFORM_CHUNK_RULES_LOOKUPS_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/transform/chunk_rules/chunk_call.hpp"
#include "stretto/transform/chunk_rules/detail/indices.hpp"
#include "stretto/transform/chunk_rules/detail/rows.hpp"

namespace stretto::chunk_rules {

/// Selects the entries of `x` along `dim` that the tensor `index`, of any rank, names, in the order of `index`. In the
/// result, the dimensions of `index` replace `dim`. Examples are a look-up of table rows and an embedding. An integer
/// `x` that is a sum over chunks may be looked up by rows that are not in the order of the tokens; the result is
/// opaque, since an entry of one part means nothing by itself. O(operands).
struct look_up {
    std::size_t x = 0, index = 1;
    std::int64_t dim = 0;

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("x", x).add("index", index); }
};

/// Selects elements of `x`: `indices[d]` is the operand that indexes dimension d, or no_operand. A single index is
/// judged as by look_up. Several indices are broadcast against each other; they must index consecutive dimensions, the
/// last one at the end of the list, and at most one of them may hold row numbers. Masks are refused. O(operands).
struct look_up_elements {
    std::size_t x = 0;
    std::vector<std::size_t> indices = {};

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("x", x).add("indices", indices); }
};

/// Each element of the result is the element of `x` at the same position, except that the position along `dim` is the
/// element of `index`, which has the rank of `x`. O(1).
struct gather {
    std::size_t x = 0, index = 1;
    std::int64_t dim = 0;

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("x", x).add("index", index); }
};

/// Returns a vector that contains each number i of a group `counts[i]` times, in ascending order. `counts` must be a
/// sum over chunks. If the amounts of an exchange were summed from the same counts, the result has the rows that the
/// exchange received, in the same order. The rows may also be used as those of a grouped product whose groups have
/// these counts (row_orders::may_be_taken_for). `total` is the operand that gives the number of rows, or no_operand.
struct repeat_by_counts {
    std::size_t counts = 0, total = no_operand;

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("counts", counts).add("total", total); }
};

namespace detail {

/// Returns the verdict on a look-up of those entries of operand x along dimension `dim` that operand `index`, of any
/// rank, names.
inline chunk_verdict rows_looked_up(const chunk_call& c, std::size_t x, std::size_t index, std::int64_t dim) {
    const chunk_state &rows = c.state(x), &by = c.state(index);
    const std::int64_t widened = static_cast<std::int64_t>(c.shape(index).size()) - 1;
    for (std::size_t k = 0; k < c.operands.size(); ++k)
        if (k != x && k != index && !is_whole(c.state(k))) return c.refuse(chunk_number);
    if (is_addend(by)) return c.refuse(not_linear);
    if (is_whole(by)) {  // every chunk looks up the same entries, so the result has the state of x, as with a view
        if (is_addend(rows)) return c.give(rows);
        if (rows.dim == dim) return c.refuse("looks up rows of one chunk by numbers that all chunks share");
        if (rows.what == chunk_kind::opaque) return c.refuse(reads_unknown);
        return c.give(moved_to(rows, rows.dim < dim ? rows.dim : rows.dim + widened));
    }
    chunk_state found = moved_to(rows_only(by), by.dim + dim);
    if (is_plain(by)) {  // all chunks share the table, and the result has the rows of the indices
        if (is_whole(rows)) return c.give(found);
        if (is_addend(rows) && is_integral(c.type(x).element)) {
            // An entry of a sum is the sum of the entries of all parts; the entry of one part alone is meaningless.
            if (found.what == chunk_kind::sliced) return c.refuse("looks up a part of a sum");
            found.what = chunk_kind::opaque;
            return c.give(found);
        }
        return c.refuse(is_addend(rows) ? "looks up a part of a sum" : foreign_rows);
    }
    // Row numbers of the chunk find only rows of the same chunk.
    if (is_whole(rows)) {
        if (by.positions != 0 && c.has_rows(c.extent(x, dim), by.positions)) return c.want(x, dim, as_tokens);
        return c.refuse(foreign_rows);
    }
    if (!is_cut(rows) || rows.dim != dim || !numbers_rows_of(c, by, rows, c.shape(x))) return c.refuse(foreign_rows);
    // Row numbers that the program computed name each row once (numbers_rows_of), so the rows found are permuted.
    if (found.what == chunk_kind::opaque) {
        if (counts_rows(rows)) return c.refuse(reads_row_numbers);
        found.what = chunk_kind::permuted;
        found.order = c.orders->placed(found.order);
    }
    // The result numbers rows if x does. A look-up in a permutation by a permutation gives a permutation.
    found.positions = rows.positions;
    if (by.into != 0) found.into = rows.into;
    if (rows.into != 0 && found.into == 0 && found.positions == 0) return c.refuse(reads_row_numbers);
    return c.give(found);
}

/// Returns the verdict on a look-up of elements of operand x by several indices.
inline chunk_verdict elements_looked_up(const chunk_call& c, std::size_t x, const std::vector<std::size_t>& list) {
    chunk_verdict v;
    index_rows r;
    if (!several_indices(c, list, r, v)) return v;
    const chunk_state& s = c.state(x);
    if (is_whole(r.rows)) {
        if (is_addend(s)) return c.give(s);
        if (!is_plain(s)) return c.refuse(reads_unknown);
        if (s.dim >= r.first && s.dim < r.first + r.count)
            return c.refuse("looks up rows of one chunk by numbers that all chunks share");
        return c.give(s.dim < r.first ? s : moved_to(s, s.dim - r.count + r.rank));
    }
    const chunk_state found = moved_to(r.rows, r.rows.dim + r.first);
    if (r.numbering == SIZE_MAX) {
        if (is_whole(s)) return c.give(found);
        return c.refuse(is_addend(s) ? "looks up a part of a sum" : foreign_rows);
    }
    const chunk_state& by = c.state(r.numbering);
    if (is_whole(s) && by.positions != 0 && c.has_rows(c.extent(x, r.dim), by.positions))
        return c.want(x, r.dim, as_tokens);
    if (!is_cut(s) || !is_plain(s) || s.dim != r.dim || !numbers_rows_of(c, by, s, c.shape(x)))
        return c.refuse(foreign_rows);
    return c.give(found);
}

}  // namespace detail

inline chunk_verdict look_up::verdict(const chunk_call& c) const {
    if (!c.is_tensor(x) || !c.is_tensor(index)) return c.refuse(detail::chunk_number);
    return detail::rows_looked_up(c, x, index, wrapped(dim, c.shape(x).size()));
}

inline chunk_verdict look_up_elements::verdict(const chunk_call& c) const {
    if (!c.is_tensor(x)) return c.refuse(detail::chunk_number);
    std::size_t index = 0;
    std::int64_t dim = 0;
    if (!detail::only_index(c, indices, index, dim)) return detail::elements_looked_up(c, x, indices);
    return detail::rows_looked_up(c, x, index, dim);
}

inline chunk_verdict gather::verdict(const chunk_call& c) const {
    if (!c.is_tensor(x) || !c.is_tensor(index)) return c.refuse(detail::chunk_number);
    const std::int64_t at = wrapped(dim, c.shape(x).size());
    const chunk_state &rows = c.state(x), &by = c.state(index);
    if (is_addend(by)) return c.refuse(detail::not_linear);
    if (is_whole(by)) {
        if (is_addend(rows)) return c.give(rows);
        if (rows.what == chunk_kind::opaque) return c.refuse(detail::reads_unknown);
        if (rows.dim == at) return c.refuse("looks up rows of one chunk by numbers that all chunks share");
        return c.want(index, rows.dim, rows);
    }
    if (by.dim == at) {
        if (is_plain(by) && is_whole(rows)) return c.give(by);
        if (is_whole(rows) && by.positions != 0 && c.has_rows(c.extent(x, at), by.positions))
            return c.want(x, at, detail::as_tokens);
        if (by.what == chunk_kind::opaque || !is_cut(rows) || rows.dim != at || !is_plain(rows) ||
            !detail::numbers_rows_of(c, by, rows, c.shape(x)))
            return c.refuse(detail::foreign_rows);
        return c.give(rows_only(by));
    }
    if (!is_plain(by) || rows.what == chunk_kind::opaque) return c.refuse(detail::reads_row_numbers);
    if (is_addend(rows)) return c.refuse("looks up a part of a sum");
    if (is_whole(rows)) return c.want(x, by.dim, by);
    const std::size_t d = static_cast<std::size_t>(by.dim);
    chunk_state together = by;
    if (c.extent(x, d) != c.extent(index, d) || !detail::join_rows(c, together, rows_only(rows)))
        return c.refuse(detail::no_such_rows);
    together.positions = rows.positions;
    if (rows.into != 0) return c.refuse(detail::reads_row_numbers);
    return c.give(together);
}

inline chunk_verdict repeat_by_counts::verdict(const chunk_call& c) const {
    if (!c.is_tensor(counts) || !is_addend(c.state(counts)) || c.operands.size() > 2)
        return c.refuse("repeats rows of one chunk by counts of another");
    // An order of received rows records the counts from which its amounts were read. If these are the same counts, the
    // rows are its rows. Counts that are a single element of a value (place >= 0) are not the counts of that value.
    row_orders& orders = *c.orders;
    std::uint32_t rows = 0;
    if (c.is_number(total) && is_addend(c.state(total))) rows = orders.rows_of(c.state(total).order);
    std::int64_t place = -1;
    const std::int64_t from = c.counts(counts, place);
    std::uint32_t order = rows;
    if (rows == 0 || from < 0 || orders[rows].counts != from || place >= 0)
        order = orders.name(row_orders::origin::runs, 0, rows, {c.operands[counts].key});
    orders.note_groups(order, c.groups(counts, false));
    return c.give({chunk_kind::permuted, 0, 0, order, 0});
}

}  // namespace stretto::chunk_rules

#endif
