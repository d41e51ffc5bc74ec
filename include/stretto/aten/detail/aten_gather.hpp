// How gathering behaves under chunking. What decides is what the indices are: plain values that look up what all chunks
// share; numbers of rows of the chunk, which stay among them; or row numbers that the program computes.
#ifndef STRETTO_ATEN_DETAIL_ATEN_GATHER_HPP
#define STRETTO_ATEN_DETAIL_ATEN_GATHER_HPP

#include <cstddef>
#include <cstdint>
#include <span>

#include "stretto/aten/detail/aten_call.hpp"
#include "stretto/aten/detail/aten_pointwise.hpp"
#include "stretto/aten/detail/aten_views.hpp"

namespace stretto::detail::aten {

/// The rows of a value that numbers of rows of the chunk name.
inline constexpr chunk_state as_tokens{chunk_kind::sliced, 0, 0, 0, 0};

inline constexpr std::string_view foreign_rows = "indexes rows of the chunk by numbers that are not known to be theirs";

/// Whether `index` has numbers of rows of a value in the state `rows` and of that shape, along the dimension where it
/// is cut. Numbers that the program computes from counts and its own row numbers are taken to number the rows of the
/// order that all orders of the same rows share, each once: that is the program's word.
inline bool numbers_rows_of(const aten_call& c, const chunk_state& index, const chunk_state& rows,
                            std::span<const std::int64_t> shape) {
    const aten_ledger& orders = *c.ledger;
    if (rows.what == chunk_kind::sliced)
        return index.what != chunk_kind::opaque && index.positions != 0 &&
               shape[static_cast<std::size_t>(rows.dim)] == index.positions * c.tokens;
    if (rows.what != chunk_kind::permuted || orders.rows_of(rows.order) == 0) return false;
    if (index.what == chunk_kind::opaque)
        return !orders.all_alike(index.order) && orders.rows_of(index.order) == orders.rows_of(rows.order) &&
               (orders.all_alike(rows.order) || rows.order == orders.rows_of(rows.order));
    return index.into != 0 && (rows.order == index.into || (orders.all_alike(rows.order) &&
                                                            orders.rows_of(rows.order) == orders.rows_of(index.into)));
}

/// The order of rows that such an index numbers.
inline std::uint32_t numbered_order(const aten_call& c, const chunk_state& index) {
    return index.what == chunk_kind::opaque ? c.ledger->rows_of(index.order) : index.into;
}

constexpr bool is_plain(const chunk_state& s) { return s.what != chunk_kind::opaque && !counts_rows(s); }

/// Rows of operand x along dimension `dim`, as many and in the order as operand `index`, of any rank, says.
inline chunk_verdict rows_looked_up(const aten_call& c, std::size_t x, std::size_t index, std::int64_t dim) {
    const chunk_state &rows = c.state(x), &by = c.state(index);
    const std::int64_t widened = static_cast<std::int64_t>(c.shape(index).size()) - 1;
    for (std::size_t k = 0; k < c.operands.size(); ++k)
        if (k != x && k != index && !is_whole(c.state(k))) return c.refuse(chunk_number);
    if (is_addend(by)) return c.refuse("is not linear in an operand that is a sum over chunks");
    if (is_whole(by)) {
        if (is_addend(rows)) return c.give(rows);
        if (rows.dim == dim) return c.refuse("looks up rows of one chunk by numbers that all chunks share");
        if (rows.what == chunk_kind::opaque) return c.refuse(reads_unknown);
        return c.give(moved_to(rows, rows.dim < dim ? rows.dim : rows.dim + widened));
    }
    chunk_state found = moved_to(rows_only(by), by.dim + dim);
    if (is_plain(by)) {
        if (is_whole(rows)) return c.give(found);
        if (is_addend(rows) && is_integral(c.type(x).element)) {
            // An entry of a sum is what the entries of the parts sum to; one part's entry says nothing of it.
            if (found.what == chunk_kind::sliced) return c.refuse("looks up a part of a sum");
            found.what = chunk_kind::opaque;
            return c.give(found);
        }
        return c.refuse(is_addend(rows) ? "looks up a part of a sum" : foreign_rows);
    }
    if (is_whole(rows)) {
        if (by.positions != 0 && c.shape(x)[static_cast<std::size_t>(dim)] == by.positions * c.tokens)
            return c.want(x, dim, as_tokens);
        return c.refuse(foreign_rows);
    }
    if (!is_cut(rows) || rows.dim != dim || !numbers_rows_of(c, by, rows, c.shape(x))) return c.refuse(foreign_rows);
    if (found.what == chunk_kind::opaque) {
        if (counts_rows(rows)) return c.refuse(reads_row_numbers);
        found.what = chunk_kind::permuted;
        found.order = c.ledger->placed(found.order);
    }
    found.positions = rows.positions;
    if (by.into != 0) found.into = rows.into;
    if (rows.into != 0 && found.into == 0 && found.positions == 0) return c.refuse(reads_row_numbers);
    return c.give(found);
}

/// index.Tensor and index_put: the only index that is given, and its dimension. False if there are several.
inline bool only_index(const aten_call& c, const tensor_argument& list, std::size_t& index, std::int64_t& dim) {
    std::size_t given = 0;
    for (std::size_t j = 0; j < list.items.size(); ++j) {
        if (list.items[j].what == argument_form::none) continue;
        index = c.operand(list.items[j]);
        dim = static_cast<std::int64_t>(j);
        ++given;
    }
    return given == 1 && c.is_tensor(index) && c.type(index).element != element_type::boolean;
}

/// Several indices side by side, broadcast against each other.
struct index_rows {
    std::int64_t first = 0, count = 0;  ///< the dimensions that are indexed
    std::int64_t rank = 0;              ///< of the indices, broadcast
    chunk_state rows;                   ///< of these; whole if all chunks share them
    std::size_t numbering = SIZE_MAX;   ///< the one that has numbers of rows of the chunk,
    std::int64_t dim = -1;              ///< and its dimension
};
/// False: `v` says why not.
inline bool several_indices(const aten_call& c, const tensor_argument& list, index_rows& r, chunk_verdict& v) {
    static constexpr std::string_view apart = "has indices that are not side by side, or a mask: no rule for that";
    const std::int64_t end = static_cast<std::int64_t>(list.items.size());
    const auto at = [&](std::int64_t d) { return c.operand(list.items[static_cast<std::size_t>(d)]); };
    const auto rank_of = [&](std::size_t k) { return static_cast<std::int64_t>(c.shape(k).size()); };
    while (r.first < end && list.items[static_cast<std::size_t>(r.first)].what == argument_form::none) ++r.first;
    for (std::int64_t d = r.first; d < end; ++d) {
        if (!c.is_tensor(at(d)) || c.type(at(d)).element == element_type::boolean) return v = c.refuse(apart), false;
        if (rank_of(at(d)) > r.rank) r.rank = rank_of(at(d));
        ++r.count;
    }
    bool any = false;
    for (std::int64_t d = r.first; d < end; ++d) {
        const chunk_state& s = c.state(at(d));
        if (is_whole(s)) continue;
        if (is_addend(s)) return v = c.refuse("is not linear in an operand that is a sum over chunks"), false;
        if (s.what == chunk_kind::opaque) return v = c.refuse(foreign_rows), false;
        const chunk_state here = moved_to(rows_only(s), s.dim + r.rank - rank_of(at(d)));
        if (!any) r.rows = here;
        else if (!join_rows(c, r.rows, here)) return v = c.refuse(no_such_rows), false;
        any = true;
        if (!counts_rows(s)) continue;
        if (r.numbering != SIZE_MAX) return v = c.refuse(reads_row_numbers), false;
        r.numbering = at(d);
        r.dim = d;
    }
    for (std::int64_t d = r.first; any && d < end; ++d) {
        const std::int64_t own = r.rows.dim - r.rank + rank_of(at(d));
        if (is_whole(c.state(at(d))) && own >= 0 && c.shape(at(d))[static_cast<std::size_t>(own)] != 1)
            return v = c.want(at(d), own, r.rows), false;
    }
    return true;
}

/// Elements of operand x where several indices say.
inline chunk_verdict elements_looked_up(const aten_call& c, std::size_t x, const tensor_argument& list) {
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
    if (is_whole(s) && by.positions != 0 && c.shape(x)[static_cast<std::size_t>(r.dim)] == by.positions * c.tokens)
        return c.want(x, r.dim, as_tokens);
    if (!is_cut(s) || !is_plain(s) || s.dim != r.dim || !numbers_rows_of(c, by, s, c.shape(x)))
        return c.refuse(foreign_rows);
    return c.give(found);
}

inline chunk_verdict indexed(const aten_call& c) {
    std::size_t index = 0;
    std::int64_t dim = 0;
    const std::size_t x = c.operand(0, "self");
    if (!c.is_tensor(x)) return c.refuse(chunk_number);
    if (!only_index(c, c.argument(1, "indices"), index, dim)) return elements_looked_up(c, x, c.argument(1, "indices"));
    return rows_looked_up(c, x, index, dim);
}

inline chunk_verdict index_selected(const aten_call& c) {
    const std::size_t x = c.operand(0, "self"), index = c.operand(2, "index");
    if (!c.is_tensor(x) || !c.is_tensor(index)) return c.refuse(chunk_number);
    return rows_looked_up(c, x, index, wrapped(c.integer(1, "dim", 0), c.shape(x).size()));
}

/// embedding(weight, indices).
inline chunk_verdict embedded(const aten_call& c) {
    const std::size_t weight = c.operand(0, "weight"), index = c.operand(1, "indices");
    if (!c.is_tensor(weight) || !c.is_tensor(index)) return c.refuse(chunk_number);
    return rows_looked_up(c, weight, index, 0);
}

/// gather(x, dim, index): x and index have the same rank.
inline chunk_verdict gathered(const aten_call& c) {
    const std::size_t x = c.operand(0, "self"), index = c.operand(2, "index");
    if (!c.is_tensor(x) || !c.is_tensor(index)) return c.refuse(chunk_number);
    const std::int64_t dim = wrapped(c.integer(1, "dim", 0), c.shape(x).size());
    const chunk_state &rows = c.state(x), &by = c.state(index);
    if (is_addend(by)) return c.refuse("is not linear in an operand that is a sum over chunks");
    if (is_whole(by)) {
        if (is_addend(rows)) return c.give(rows);
        if (rows.what == chunk_kind::opaque) return c.refuse(reads_unknown);
        if (rows.dim == dim) return c.refuse("looks up rows of one chunk by numbers that all chunks share");
        return c.want(index, rows.dim, rows);
    }
    if (by.dim == dim) {
        if (is_plain(by) && is_whole(rows)) return c.give(by);
        if (is_whole(rows) && by.positions != 0 && c.shape(x)[static_cast<std::size_t>(dim)] == by.positions * c.tokens)
            return c.want(x, dim, as_tokens);
        if (by.what == chunk_kind::opaque || !is_cut(rows) || rows.dim != dim || !is_plain(rows) ||
            !numbers_rows_of(c, by, rows, c.shape(x)))
            return c.refuse(foreign_rows);
        return c.give(rows_only(by));
    }
    if (!is_plain(by) || rows.what == chunk_kind::opaque) return c.refuse(reads_row_numbers);
    if (is_addend(rows)) return c.refuse("looks up a part of a sum");
    if (is_whole(rows)) return c.want(x, by.dim, by);
    const std::size_t d = static_cast<std::size_t>(by.dim);
    chunk_state together = by;
    if (c.shape(x)[d] != c.shape(index)[d] || !join_rows(c, together, rows_only(rows))) return c.refuse(no_such_rows);
    together.positions = rows.positions;
    if (rows.into != 0) return c.refuse(reads_row_numbers);
    return c.give(together);
}

/// repeat_interleave(counts): as many rows of each kind as counts say. They are the rows that an exchange has received,
/// in that order, if the counts are those that it was told; and may be taken for rows that a grouped product has in
/// groups of these counts.
inline chunk_verdict runs(const aten_call& c) {
    const std::size_t counts = c.operand(0, "repeats"), total = c.operand(SIZE_MAX, "output_size");
    if (!c.is_tensor(counts) || !is_addend(c.state(counts)) || c.operands.size() > 2)
        return c.refuse("repeats rows of one chunk by counts of another");
    aten_ledger& orders = *c.ledger;
    std::uint32_t rows = 0;
    if (c.is_number(total) && is_addend(c.state(total))) rows = orders.rows_of(c.state(total).order);
    std::int64_t place = -1;
    const std::int64_t from = c.history.counts(c.history.program, counts, place);
    std::uint32_t order = rows;
    if (rows == 0 || orders[rows].counts != from || place >= 0)
        order = orders.name(aten_ledger::origin::runs, 0, rows, {c.operands[counts].key});
    orders.note_groups(order, c.history.groups(c.history.program, counts, false));
    return c.give({chunk_kind::permuted, 0, 0, order, 0});
}

}  // namespace stretto::detail::aten

#endif
