// How scattering behaves under chunking: as gathering does (aten_gather.hpp), with something that is written into.
#ifndef STRETTO_ATEN_DETAIL_ATEN_SCATTER_HPP
#define STRETTO_ATEN_DETAIL_ATEN_SCATTER_HPP

#include <cstddef>
#include <cstdint>

#include "stretto/aten/detail/aten_call.hpp"
#include "stretto/aten/detail/aten_gather.hpp"
#include "stretto/aten/detail/aten_pointwise.hpp"
#include "stretto/aten/detail/aten_views.hpp"

namespace stretto::detail::aten {

/// Whether operand `values` numbers its rows, and operand `index` is a permutation of as many: written where that says,
/// the numbers are its inverse, as sorting it would give.
inline bool inverts(const aten_call& c, std::size_t base, std::size_t index, std::size_t values) {
    if (values >= c.operands.size() || c.shape(index).size() != 1 || c.shape(values).size() != 1) return false;
    const chunk_state &by = c.state(index), &numbers = c.state(values), &into = c.state(base);
    if (!is_cut(by) || by.what == chunk_kind::opaque || by.into == 0 || !is_cut(numbers) || !is_cut(into)) return false;
    // Those that the chunk's own arange has made, not its share of everybody's.
    if (numbers.what != chunk_kind::opaque && numbers.positions * c.tokens != c.shape(values)[0]) return false;
    const aten_ledger& orders = *c.ledger;
    const std::uint32_t rows = orders.rows_of(order_of(c, by, c.shape(index)));
    return rows != 0 && orders.rows_of(by.into) == rows &&
           orders.rows_of(order_of(c, numbers, c.shape(values))) == rows &&
           orders.rows_of(order_of(c, into, c.shape(base))) == rows && c.history.ascending(c.history.program, values);
}

/// The rows of `values`, cut along `at`, written or added into operand `base` along `dim` where `by` says. `adds`: to
/// what is there. `values` == no operand: one value for all.
inline chunk_verdict rows_written(const aten_call& c, std::size_t base, std::size_t index, std::int64_t dim,
                                  std::size_t values, std::int64_t at, bool adds) {
    const chunk_state &by = c.state(index), &into = c.state(base);
    if (!adds && inverts(c, base, index, values)) {
        chunk_state inverse = rows_in(c, by.into);
        if (by.what == chunk_kind::sliced) inverse.positions = c.shape(index)[0] / c.tokens;
        inverse.into = order_of(c, by, c.shape(index));
        return c.give(inverse);
    }
    if (values < c.operands.size() && !c.shape(values).empty()) {
        chunk_state together = rows_only(by);
        if (!is_plain(c.state(values))) return c.refuse(reads_row_numbers);
        if (is_addend(c.state(values))) return c.refuse(sum_meets_rows);
        if (is_whole(c.state(values))) {
            const std::int64_t d = at;
            if (d < 0 || c.shape(values)[static_cast<std::size_t>(d)] != 1) return c.want(values, d, together);
        } else if (!join_rows(c, together, moved_to(c.state(values), c.state(values).dim - at + by.dim))) {
            return c.refuse(no_such_rows);
        }
    } else if (values < c.operands.size() && !is_whole(c.state(values))) {
        return c.refuse(sum_meets_rows);
    }
    if (is_plain(by)) {
        if (adds && (is_addend(into) || (is_whole(into) && c.history.all_zero(c.history.program, base))))
            return c.give({chunk_kind::addend, -1, 0, 0, 0});
        return c.refuse(adds ? "adds to a shared value that is not known to be zero"
                             : "writes to a shared value, and other chunks may write elsewhere");
    }
    if (is_whole(into)) {
        if (by.positions != 0 && c.shape(base)[static_cast<std::size_t>(dim)] == by.positions * c.tokens)
            return c.want(base, dim, as_tokens);
        return c.refuse(foreign_rows);
    }
    if (!is_cut(into) || into.dim != dim || !numbers_rows_of(c, by, into, c.shape(base)) || !is_plain(into))
        return c.refuse(foreign_rows);
    if (!adds && values < c.operands.size() && by.what == chunk_kind::permuted && by.into == 0)
        return c.refuse("writes in the chunk's order to rows that may be named twice");
    if (into.what == chunk_kind::sliced) return c.give(into);
    chunk_state made = rows_in(c, numbered_order(c, by));
    return c.give(moved_to(made, dim));
}

/// Elements of operand `base`, written or added to where several indices say.
inline chunk_verdict elements_written(const aten_call& c, std::size_t base, std::size_t values, bool adds) {
    chunk_verdict v;
    index_rows r;
    if (!several_indices(c, c.argument(1, "indices"), r, v)) return v;
    const chunk_state &into = c.state(base), &from = c.state(values);
    const bool sums = adds && (is_addend(into) || (is_whole(into) && c.history.all_zero(c.history.program, base)));
    if (is_whole(r.rows)) {
        if (sums && is_addend(from)) return c.give({chunk_kind::addend, -1, 0, 0, 0});
        return c.refuse("writes rows of one chunk by numbers that all chunks share");
    }
    if (is_addend(from)) return c.refuse(sum_meets_rows);
    if (!is_plain(from)) return c.refuse(reads_row_numbers);
    const std::int64_t made = static_cast<std::int64_t>(c.shape(base).size()) - r.count + r.rank;
    const std::int64_t at = r.rows.dim + r.first - made + static_cast<std::int64_t>(c.shape(values).size());
    if (is_whole(from)) {
        if (at >= 0 && c.shape(values)[static_cast<std::size_t>(at)] != 1) return c.want(values, at, r.rows);
    } else if (!join_rows(c, r.rows, moved_to(from, from.dim - at + r.rows.dim))) {
        return c.refuse(no_such_rows);
    }
    if (r.numbering == SIZE_MAX) {
        if (sums) return c.give({chunk_kind::addend, -1, 0, 0, 0});
        return c.refuse(adds ? "adds to a shared value that is not known to be zero"
                             : "writes to a shared value, and other chunks may write elsewhere");
    }
    const chunk_state& by = c.state(r.numbering);
    if (is_whole(into) && by.positions != 0 &&
        c.shape(base)[static_cast<std::size_t>(r.dim)] == by.positions * c.tokens)
        return c.want(base, r.dim, as_tokens);
    // Rows that the chunk has in another order may write the same element in another order.
    if (into.what != chunk_kind::sliced || !is_plain(into) || into.dim != r.dim ||
        (!adds && by.what != chunk_kind::sliced) || !numbers_rows_of(c, by, into, c.shape(base)))
        return c.refuse(foreign_rows);
    return c.give(into);
}

/// index_put(base, indices, values, accumulate).
inline chunk_verdict index_put(const aten_call& c) {
    std::size_t index = 0;
    std::int64_t dim = 0;
    const std::size_t base = c.operand(0, "self"), values = c.operand(2, "values");
    if (!c.is_tensor(base) || !c.is_tensor(values)) return c.refuse(chunk_number);
    const bool adds = c.integer(3, "accumulate", 0) != 0;
    if (!only_index(c, c.argument(1, "indices"), index, dim)) return elements_written(c, base, values, adds);
    const chunk_state& by = c.state(index);
    const std::size_t rank = c.shape(base).size() + c.shape(index).size() - 1;
    if (is_whole(by)) {
        // The same places in every chunk: other dimensions may be chunked, and sums may be added to sums.
        const chunk_state &into = c.state(base), &v = c.state(values);
        if (adds && is_addend(v) &&
            (is_addend(into) || (is_whole(into) && c.history.all_zero(c.history.program, base))))
            return c.give({chunk_kind::addend, -1, 0, 0, 0});
        return c.refuse("writes rows of one chunk by numbers that all chunks share");
    }
    if (is_addend(by)) return c.refuse("is not linear in an operand that is a sum over chunks");
    const std::int64_t at =
        by.dim + dim - (static_cast<std::int64_t>(rank) - static_cast<std::int64_t>(c.shape(values).size()));
    return rows_written(c, base, index, dim, values, at, adds);
}

/// scatter and scatter_add(base, dim, index, src): all of the same rank; `src` may be a number.
template <bool Adds>
chunk_verdict scattered(const aten_call& c) {
    const std::size_t base = c.operand(0, "self"), index = c.operand(2, "index");
    const std::size_t none = c.operands.size();
    std::size_t values = c.operand(3, "src");
    if (!c.is_tensor(base) || !c.is_tensor(index)) return c.refuse(chunk_number);
    const std::int64_t dim = wrapped(c.integer(1, "dim", 0), c.shape(base).size());
    const chunk_state &into = c.state(base), &by = c.state(index);
    if (values < none && !c.is_tensor(values)) return c.refuse(chunk_number);
    if (is_addend(by)) return c.refuse("is not linear in an operand that is a sum over chunks");
    if (is_whole(by)) {
        if (Adds && values < none && is_addend(c.state(values)) &&
            (is_addend(into) || (is_whole(into) && c.history.all_zero(c.history.program, base))))
            return c.give({chunk_kind::addend, -1, 0, 0, 0});
        if (is_cut(into) && into.dim != dim) return c.want(index, into.dim, into);
        return c.refuse("writes rows of one chunk by numbers that all chunks share");
    }
    if (by.dim == dim) return rows_written(c, base, index, dim, values, dim, Adds);
    if (!is_plain(by) || !is_plain(into)) return c.refuse(reads_row_numbers);
    if (is_addend(into) || (values < none && is_addend(c.state(values)))) return c.refuse(sum_meets_rows);
    if (is_whole(into)) return c.want(base, by.dim, by);
    const std::size_t d = static_cast<std::size_t>(by.dim);
    chunk_state together = into;
    if (c.shape(base)[d] != c.shape(index)[d] || !join_rows(c, together, by)) return c.refuse(no_such_rows);
    if (values < none) {
        if (is_whole(c.state(values))) return c.want(values, by.dim, by);
        if (!is_plain(c.state(values)) || !join_rows(c, together, c.state(values))) return c.refuse(no_such_rows);
    }
    return c.give(together);
}

/// index_add and index_copy(base, dim, index, source): as index_put with one index and nothing to broadcast.
template <bool Adds>
chunk_verdict rows_put(const aten_call& c) {
    const std::size_t base = c.operand(0, "self"), index = c.operand(2, "index"), source = c.operand(3, "source");
    if (!c.is_tensor(base) || !c.is_tensor(index) || !c.is_tensor(source) || c.operands.size() > 3)
        return c.refuse(chunk_number);
    const std::int64_t dim = wrapped(c.integer(1, "dim", 0), c.shape(base).size());
    const chunk_state &into = c.state(base), &rows = c.state(source);
    if (!is_whole(c.state(index))) {
        if (is_addend(c.state(index))) return c.refuse("is not linear in an operand that is a sum over chunks");
        return rows_written(c, base, index, dim, source, dim, Adds);
    }
    // The same rows in every chunk: other dimensions may be chunked, and sums may be added to sums.
    if (!is_plain(into) || !is_plain(rows)) return c.refuse(reads_row_numbers);
    if (is_addend(into) || is_addend(rows)) {
        if (Adds && is_addend(rows) &&
            (is_addend(into) || (is_whole(into) && c.history.all_zero(c.history.program, base))))
            return c.give({chunk_kind::addend, -1, 0, 0, 0});
        return c.refuse(sum_meets_rows);
    }
    if (is_whole(rows))
        return into.dim == dim ? c.refuse("writes rows of one chunk by numbers that all chunks share")
                               : c.want(source, into.dim, into);
    if (rows.dim == dim) return c.refuse("writes rows of one chunk by numbers that all chunks share");
    if (is_whole(into)) return c.want(base, rows.dim, rows);
    chunk_state together = into;
    return join_rows(c, together, rows) ? c.give(together) : c.refuse(no_such_rows);
}

/// slice_backward(gradient, sizes, dim, start, end, step) and select_backward(gradient, sizes, dim, index), which has a
/// dimension less: zeros, with the gradient where it was taken from. Along another dimension, or over all of the
/// chunked one.
template <bool Selects>
chunk_verdict part_backward(const aten_call& c) {
    const std::size_t x = c.operand(0, "grad_output");
    if (!c.is_tensor(x)) return c.refuse(chunk_number);
    const chunk_state& s = c.state(x);
    const tensor_argument& sizes = c.argument(1, "input_sizes");
    if (!is_plain(s)) return c.refuse(reads_row_numbers);
    if (!is_cut(s)) {
        if (is_whole(s) || !sizes_shared(c, sizes, -1)) return c.refuse(chunk_number);
        return c.give(s);
    }
    const std::int64_t gone = wrapped(c.integer(2, "dim", 0), c.result_types[0].shape.size());
    const std::int64_t d = Selects && gone <= s.dim ? s.dim + 1 : s.dim;
    const std::size_t at = static_cast<std::size_t>(d);
    if (d == gone && c.result_types[0].shape[at] != c.shape(x)[static_cast<std::size_t>(s.dim)])
        return c.refuse(along_chunks);
    if (d == gone && s.what != chunk_kind::sliced) return c.refuse(along_chunks);
    for (std::size_t k = 0; k < c.operands.size(); ++k)
        if (k != x && !is_whole(c.state(k)) && (at >= sizes.items.size() || c.operand(sizes.items[at]) != k))
            return c.refuse(chunk_number);
    if (!sizes_fit(c, sizes, s, at)) return c.refuse(chunk_number);
    const std::size_t count = at < sizes.items.size() ? c.operand(sizes.items[at]) : c.operands.size();
    if (s.what != chunk_kind::sliced && (count >= c.operands.size() || is_whole(c.state(count))))
        return c.refuse("spells how many rows there are, and only the operand knows that of a chunk");
    return c.give(moved_to(s, d));
}

/// torchtitan's scatter_add along dimension 0, with its index expanded to rows: (base, index, src).
inline chunk_verdict rows_scatter_added(const aten_call& c) {
    const std::size_t base = c.operand(0, "self"), index = c.operand(1, "index"), values = c.operand(2, "src");
    if (!c.is_tensor(base) || !c.is_tensor(index) || !c.is_tensor(values) || !is_cut(c.state(index)) ||
        c.state(index).dim != 0)
        return c.refuse(foreign_rows);
    return rows_written(c, base, index, 0, values, 0, true);
}

/// embedding_dense_backward(grad, indices, rows, padding, by_frequency).
inline chunk_verdict embedding_backward(const aten_call& c) {
    const std::size_t grad = c.operand(0, "grad_output"), index = c.operand(1, "indices");
    if (!c.is_tensor(grad) || !c.is_tensor(index) || c.operands.size() != 2) return c.refuse(chunk_number);
    chunk_verdict v;
    if (!only_values(c, v)) return v;
    if (c.integer(4, "scale_grad_by_freq", 0) != 0)
        return c.refuse("divides by how often a token occurs in all chunks");
    chunk_state together = c.state(grad);
    if (is_addend(together) && is_whole(c.state(index))) return c.give(together);
    if (is_addend(together) || is_addend(c.state(index))) return c.refuse(sum_meets_rows);
    if (is_whole(together)) return c.want(grad, c.state(index).dim, c.state(index));
    if (is_whole(c.state(index)))
        return together.dim < static_cast<std::int8_t>(c.shape(index).size()) ? c.want(index, together.dim, together)
                                                                              : c.give(moved_to(together, 1));
    if (!join_rows(c, together, c.state(index))) return c.refuse(no_such_rows);
    return c.give({chunk_kind::addend, -1, 0, 0, 0});
}

/// slice_scatter(base, src, dim, start, end): along another dimension, or over all of the chunked one.
inline chunk_verdict slice_scattered(const aten_call& c) {
    const std::size_t base = c.operand(0, "self"), src = c.operand(1, "src");
    if (!c.is_tensor(base) || !c.is_tensor(src)) return c.refuse(chunk_number);
    chunk_verdict v;
    if (!only_values(c, v)) return v;
    for (std::size_t k = 0; k < c.operands.size(); ++k)
        if (k != base && k != src && !is_whole(c.state(k))) return c.refuse(chunk_number);
    chunk_state together = c.state(base);
    if (is_addend(together) && is_addend(c.state(src))) return c.give(together);
    if (is_addend(together) || is_addend(c.state(src))) return c.refuse(sum_meets_rows);
    if (is_whole(together)) return c.want(base, c.state(src).dim, c.state(src));
    if (is_whole(c.state(src))) return c.want(src, together.dim, together);
    if (!join_rows(c, together, c.state(src))) return c.refuse(no_such_rows);
    const std::size_t d = static_cast<std::size_t>(together.dim);
    if (together.dim == wrapped(c.integer(2, "dim", 0), c.shape(base).size()) && c.shape(base)[d] != c.shape(src)[d])
        return c.refuse(along_chunks);
    return c.give(together);
}

}  // namespace stretto::detail::aten

#endif
