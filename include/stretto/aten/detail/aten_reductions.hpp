// How operators that combine elements along dimensions behave under chunking: sums, maxima, running sums, softmax,
// sort.
#ifndef STRETTO_ATEN_DETAIL_ATEN_REDUCTIONS_HPP
#define STRETTO_ATEN_DETAIL_ATEN_REDUCTIONS_HPP

#include <cstddef>
#include <cstdint>

#include "stretto/aten/detail/aten_call.hpp"
#include "stretto/aten/detail/aten_pointwise.hpp"
#include "stretto/aten/detail/aten_views.hpp"

namespace stretto::detail::aten {

enum class reduction {
    sum,
    mean,    ///< linear, but divides by how many a part has
    extreme  ///< of the parts nothing can be told
};

/// `Dims`: which argument names the dimensions (an integer or a list; none: all); -1: all, always.
template <reduction R, int Dims>
chunk_verdict reduced(const aten_call& c) {
    chunk_verdict v;
    if (!only_values(c, v)) return v;
    const std::size_t x = c.operand(0, "self");
    if (!c.is_tensor(x) || c.operands.size() != 1) return c.refuse(chunk_number);
    const chunk_state& s = c.state(x);
    if (is_addend(s)) {
        if (R == reduction::extreme) return c.refuse("is not linear in an operand that is a sum over chunks");
        return c.give(s);
    }
    const std::size_t rank = c.shape(x).size();
    static constexpr tensor_argument none{};
    const tensor_argument& dims = Dims < 0 ? none : c.argument(static_cast<std::size_t>(Dims), "dim");
    std::uint64_t gone = 0;
    const auto remove = [&](const tensor_argument& a) {
        const std::int64_t d = a.what == argument_form::integer ? wrapped(a.integer, rank) : -1;
        if (d >= 0) gone |= std::uint64_t{1} << d;
        return d >= 0;
    };
    bool named = dims.what != argument_form::integer || remove(dims);
    for (const tensor_argument& a : dims.items) named = remove(a) && named;
    if (!named) return c.refuse("names a dimension that its operand does not have");
    if (gone == 0) gone = ~std::uint64_t{0};
    if (gone >> s.dim & 1) {
        if (R == reduction::sum) return c.give({chunk_kind::addend, -1, 0, 0, 0});
        return c.refuse(R == reduction::mean ? "divides by the number of rows of a chunk; a sum could be chunked"
                                             : "combines rows of different chunks other than by a sum");
    }
    if (c.integer(static_cast<std::size_t>(Dims + 1), "keepdim", 0) != 0) return c.give(s);
    std::int64_t before = 0;
    for (std::int64_t j = 0; j < s.dim; ++j) before += static_cast<std::int64_t>(gone >> j & 1);
    return c.give(moved_to(s, s.dim - before));
}

/// Operators that work along one dimension, argument `Dim`, and on nothing else: every other dimension may be chunked.
/// All tensors that are operands have the same rank. `Linear`: a sum over chunks passes if it is the first operand.
template <int Dim, bool Linear, std::int64_t Otherwise = -1>
chunk_verdict along_one(const aten_call& c) {
    chunk_verdict v;
    if (!only_values(c, v)) return v;
    std::size_t addends = 0;
    for (std::size_t k = 0; k < c.operands.size(); ++k) addends += is_addend(c.state(k));
    const std::size_t x = c.operand(0, "self");
    if (!c.is_tensor(x)) return c.refuse(chunk_number);
    if (addends != 0) {
        if (!Linear || addends != 1 || !is_addend(c.state(x)))
            return c.refuse("is not linear in an operand that is a sum over chunks");
        for (std::size_t k = 0; k < c.operands.size(); ++k)
            if (is_cut(c.state(k))) return c.refuse(sum_meets_rows);
        return c.give(c.state(x));
    }
    chunk_state rows;
    if (!rows_side_by_side(c, c.shape(x).size(), rows, v, false)) return v;
    if (rows.dim == wrapped(c.integer(static_cast<std::size_t>(Dim), "dim", Otherwise), c.shape(x).size()))
        return c.refuse("works along the dimension that is chunked: it mixes rows of different chunks");
    return c.give(rows);
}

/// sort: values and the numbers of the rows they came from. Sorting all rows chunk by chunk brings them into an order
/// of its own, the same for all that is then gathered by those numbers; what ties do makes no difference to that.
/// Sorting a permutation of numbers of rows inverts it.
inline chunk_verdict sorted(const aten_call& c) {
    const std::size_t x = c.operand(0, "self");
    if (!c.is_tensor(x) || c.results.size() != 2) return c.refuse(chunk_number);
    const chunk_state& s = c.state(x);
    if (s.what == chunk_kind::opaque) return c.refuse(reads_unknown);
    if (is_addend(s)) return c.refuse("is not linear in an operand that is a sum over chunks");
    const std::size_t rank = c.shape(x).size();
    const bool stable_form = c.name == "aten.sort.stable";
    const std::int64_t dim = wrapped(stable_form ? c.integer(SIZE_MAX, "dim", -1) : c.integer(1, "dim", -1), rank);
    const bool descending = (stable_form ? c.integer(SIZE_MAX, "descending", 0) : c.integer(2, "descending", 0)) != 0;
    if (dim != s.dim) {
        if (counts_rows(s)) return c.refuse(reads_row_numbers);
        return c.give(s);
    }
    if (rank != 1) return c.refuse("sorts each column of the chunk's rows by itself");
    const std::uint32_t from = order_of(c, s, c.shape(x));
    aten_ledger& orders = *c.ledger;
    if (s.into != 0 && orders.rows_of(s.into) == orders.rows_of(from) && !descending) {
        chunk_state values = rows_in(c, s.into);
        values.positions = s.positions;
        values.into = s.into;
        c.results[0] = values;
        c.results[1] = rows_only(values);
        c.results[1].into = from;
        if (s.what == chunk_kind::sliced) c.results[1].positions = c.shape(x)[0] / c.tokens;
        return {};
    }
    if (s.into != 0) return c.refuse(reads_row_numbers);
    const bool by_value = stable_form && c.integer(SIZE_MAX, "stable", 0) != 0;
    const std::uint32_t to = orders.name(aten_ledger::origin::sorted, from, orders.rows_of(from),
                                         {by_value ? c.operands[x].key : -1 - c.key, descending});
    chunk_state rows{chunk_kind::permuted, 0, s.positions, to, 0};
    c.results[0] = rows;
    rows.positions = s.what == chunk_kind::sliced ? c.shape(x)[0] / c.tokens : 0;
    rows.into = from;
    c.results[1] = rows;
    return {};
}

/// topk: along another dimension than the chunked one.
inline chunk_verdict top(const aten_call& c) { return along_one<2, false>(c); }

/// histc: how many elements fall into each bin.
inline chunk_verdict histogram(const aten_call& c) {
    chunk_verdict v;
    if (!only_values(c, v)) return v;
    if (!c.is_tensor(0) || !is_cut(c.state(0)) || c.operands.size() != 1)
        return c.refuse("is not linear in an operand that is a sum over chunks");
    const tensor_argument &low = c.argument(2, "min"), &high = c.argument(3, "max");
    const auto fixed = [](const tensor_argument& a) {
        return a.what == argument_form::real ? a.real : static_cast<double>(a.integer);
    };
    if (!(fixed(low) < fixed(high))) return c.refuse("takes its bins from the least and the greatest element");
    return c.give({chunk_kind::addend, -1, 0, 0, 0});
}

}  // namespace stretto::detail::aten

#endif
