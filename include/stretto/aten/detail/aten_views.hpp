// How operators that only arrange elements behave under chunking.
#ifndef STRETTO_ATEN_DETAIL_ATEN_VIEWS_HPP
#define STRETTO_ATEN_DETAIL_ATEN_VIEWS_HPP

#include <cstddef>
#include <cstdint>
#include <span>

#include "stretto/aten/detail/aten_call.hpp"
#include "stretto/aten/detail/aten_pointwise.hpp"

namespace stretto::detail::aten {

inline constexpr std::string_view cuts_rows = "would cut rows of the chunk apart or merge them with others";
inline constexpr std::string_view along_chunks = "works along the dimension that is chunked";

/// Whether all numbers in a list of sizes, but that of dimension `but`, are the same in every chunk.
inline bool sizes_shared(const aten_call& c, const tensor_argument& sizes, std::int64_t but) {
    for (std::size_t j = 0; j < sizes.items.size(); ++j) {
        const std::size_t k = c.operand(sizes.items[j]);
        if (k < c.operands.size() && !is_whole(c.state(k)) && static_cast<std::int64_t>(j) != but) return false;
    }
    return true;
}

/// As above, and the number of dimension `at`, if it is one of the chunk, is how many rows `rows` has there.
inline bool sizes_fit(const aten_call& c, const tensor_argument& sizes, const chunk_state& rows, std::size_t at) {
    if (!sizes_shared(c, sizes, static_cast<std::int64_t>(at))) return false;
    const std::size_t k = at < sizes.items.size() ? c.operand(sizes.items[at]) : c.operands.size();
    if (k >= c.operands.size() || is_whole(c.state(k))) return true;
    const chunk_state& n = c.state(k);
    if (!is_addend(n)) return false;
    if (rows.what == chunk_kind::sliced) return n.positions * c.tokens == c.result_types[0].shape[at];
    return c.ledger->rows_of(n.order) != 0 && c.ledger->rows_of(n.order) == c.ledger->rows_of(rows.order);
}

/// view and reshape: the elements in the order they have.
inline chunk_verdict reshaped(const aten_call& c) {
    const std::size_t x = c.operand(0, "self");
    if (!c.is_tensor(x)) return c.refuse(chunk_number);
    const tensor_argument& sizes = c.argument(1, "shape");
    const chunk_state& s = c.state(x);
    if (!is_cut(s)) {
        if (is_whole(s) || !sizes_shared(c, sizes, -1)) return c.refuse(chunk_number);
        return c.give(s);
    }
    const std::span<const std::int64_t> from = c.shape(x), to = c.result_types[0].shape;
    const std::size_t d = static_cast<std::size_t>(s.dim);
    const std::int64_t outside = product(from, 0, d);
    std::int64_t before = 1;
    for (std::size_t j = 0; j < to.size() && before <= outside; before *= to[j++]) {
        if (before != outside || to[j] == 0) continue;
        const bool fits = s.what == chunk_kind::sliced ? to[j] % c.tokens == 0 : to[j] == from[d];
        if (!fits) continue;
        if (!sizes_fit(c, sizes, s, j)) return c.refuse(chunk_number);
        return c.give(moved_to(s, static_cast<std::int64_t>(j)));
    }
    return c.refuse(cuts_rows);
}

/// The rows that a value of the result's shape would have if the number of the chunk in `sizes` says how many: all
/// alike. False if no number there is the chunk's.
inline bool rows_by_number(const aten_call& c, const tensor_argument& sizes, chunk_state& rows, chunk_verdict& v) {
    const std::span<const std::int64_t> shape = c.result_types[0].shape;
    for (std::size_t j = 0; j < sizes.items.size(); ++j) {
        const std::size_t k = c.operand(sizes.items[j]);
        if (k >= c.operands.size() || is_whole(c.state(k))) continue;
        const chunk_state& n = c.state(k);
        if (!is_addend(n) || !sizes_shared(c, sizes, static_cast<std::int64_t>(j)) || j >= shape.size())
            return v = c.refuse(chunk_number), true;
        if (n.positions > 0 && shape[j] == n.positions * c.tokens)
            rows = {chunk_kind::sliced, static_cast<std::int8_t>(j), 0, 0, 0};
        else if (c.ledger->rows_of(n.order) != 0)
            rows = {chunk_kind::permuted, static_cast<std::int8_t>(j), 0, c.ledger->alike(c.ledger->rows_of(n.order)),
                    0};
        else v = c.refuse("makes as many rows as a number says that counts the rows of nothing known");
        return true;
    }
    return false;
}

inline chunk_verdict expanded(const aten_call& c) {
    const std::size_t x = c.operand(0, "self");
    if (!c.is_tensor(x)) return c.refuse(chunk_number);
    const tensor_argument& sizes = c.argument(1, "size");
    const chunk_state& s = c.state(x);
    if (!is_cut(s)) {
        chunk_verdict v;
        chunk_state rows;
        if (!rows_by_number(c, sizes, rows, v)) return c.give(s);
        if (!v.possible) return v;
        if (!is_whole(s)) return c.refuse(sum_meets_rows);
        const std::int64_t own = rows.dim - static_cast<std::int64_t>(c.result_types[0].shape.size()) +
                                 static_cast<std::int64_t>(c.shape(x).size());
        if (own >= 0 && c.shape(x)[static_cast<std::size_t>(own)] != 1) return c.want(x, own, rows);
        return c.give(rows);
    }
    const std::int64_t d = s.dim + static_cast<std::int64_t>(c.result_types[0].shape.size()) -
                           static_cast<std::int64_t>(c.shape(x).size());
    const std::size_t at = static_cast<std::size_t>(d);
    if (c.result_types[0].shape[at] != c.shape(x)[static_cast<std::size_t>(s.dim)]) return c.refuse(cuts_rows);
    if (!sizes_fit(c, sizes, s, at)) return c.refuse(chunk_number);
    return c.give(moved_to(s, d));
}

/// Where dimension d of operand x goes, for the operators that move dimensions about; -1: nowhere.
template <class Where>
chunk_verdict dimensions_moved(const aten_call& c, Where where) {
    const std::size_t x = c.operand(0, "self");
    if (!c.is_tensor(x)) return c.refuse(chunk_number);
    for (std::size_t k = 0; k < c.operands.size(); ++k)
        if (k != x && !is_whole(c.state(k))) return c.refuse(chunk_number);
    const chunk_state& s = c.state(x);
    if (!is_cut(s)) return c.give(s);
    const std::int64_t d = where(static_cast<std::int64_t>(s.dim), c.shape(x).size());
    return d < 0 ? c.refuse(along_chunks) : c.give(moved_to(s, d));
}

inline chunk_verdict transposed_2d(const aten_call& c) {
    return dimensions_moved(c, [](std::int64_t d, std::size_t rank) { return rank == 2 ? 1 - d : d; });
}
inline chunk_verdict transposed(const aten_call& c) {
    return dimensions_moved(c, [&](std::int64_t d, std::size_t rank) {
        const std::int64_t a = wrapped(c.integer(1, "dim0", 0), rank), b = wrapped(c.integer(2, "dim1", 0), rank);
        return d == a ? b : d == b ? a : d;
    });
}
inline chunk_verdict dimensions_permuted(const aten_call& c) {
    return dimensions_moved(c, [&](std::int64_t d, std::size_t rank) -> std::int64_t {
        const tensor_argument& dims = c.argument(1, "dims");
        for (std::size_t j = 0; j < dims.items.size(); ++j)
            if (wrapped(dims.items[j].integer, rank) == d) return static_cast<std::int64_t>(j);
        return -1;
    });
}
inline chunk_verdict unsqueezed(const aten_call& c) {
    return dimensions_moved(
        c, [&](std::int64_t d, std::size_t rank) { return d + (wrapped(c.integer(1, "dim", 0), rank + 1) <= d); });
}
/// squeeze.dim and squeeze.dims. A part may have one row where the value has many, so the chunked dimension must not be
/// named.
inline chunk_verdict squeezed(const aten_call& c) {
    return dimensions_moved(c, [&](std::int64_t d, std::size_t rank) -> std::int64_t {
        const tensor_argument& dims = c.argument(1, "dim");
        const std::span<const std::int64_t> shape = c.shape(0);
        const auto removed = [&](const tensor_argument& a, std::int64_t at) {
            return a.what == argument_form::integer && wrapped(a.integer, rank) == at;
        };
        std::int64_t before = 0;
        for (std::int64_t j = 0; j <= d; ++j) {
            bool named = removed(dims, j);
            for (const tensor_argument& a : dims.items) named = named || removed(a, j);
            if (named && j == d) return -1;
            before += named && shape[static_cast<std::size_t>(j)] == 1;
        }
        return d - before;
    });
}
inline chunk_verdict selected(const aten_call& c) {
    return dimensions_moved(c, [&](std::int64_t d, std::size_t rank) -> std::int64_t {
        const std::int64_t gone = wrapped(c.integer(1, "dim", 0), rank);
        return gone == d ? -1 : d - (gone < d);
    });
}
inline chunk_verdict unbound(const aten_call& c) {
    return dimensions_moved(c, [&](std::int64_t d, std::size_t rank) -> std::int64_t {
        const std::int64_t gone = wrapped(c.integer(1, "dim", 0), rank);
        return gone == d ? -1 : d - (gone < d);
    });
}
/// split, split_with_sizes, chunk.
inline chunk_verdict split_elsewhere(const aten_call& c) {
    return dimensions_moved(c, [&](std::int64_t d, std::size_t rank) -> std::int64_t {
        return wrapped(c.integer(2, "dim", 0), rank) == d ? -1 : d;
    });
}
/// slice.Tensor: along another dimension, or all of the chunked one.
inline chunk_verdict sliced_elsewhere(const aten_call& c) {
    return dimensions_moved(c, [&](std::int64_t d, std::size_t rank) -> std::int64_t {
        if (wrapped(c.integer(1, "dim", 0), rank) != d) return d;
        const tensor_argument &start = c.argument(2, "start"), &end = c.argument(3, "end");
        const bool from_first =
            start.what == argument_form::none || (start.what == argument_form::integer && start.integer == 0);
        const bool to_last =
            end.what == argument_form::none ||
            (end.what == argument_form::integer && end.integer >= c.shape(0)[static_cast<std::size_t>(d)]);
        return from_first && to_last && c.integer(4, "step", 1) == 1 ? d : -1;
    });
}
inline chunk_verdict flipped(const aten_call& c) {
    const std::size_t x = c.operand(0, "self");
    if (!c.is_tensor(x)) return c.refuse(chunk_number);
    const chunk_state& s = c.state(x);
    bool along = false;
    for (const tensor_argument& a : c.argument(1, "dims").items)
        along = along || (is_cut(s) && wrapped(a.integer, c.shape(x).size()) == s.dim);
    if (!along) return c.give(s);
    if (s.what == chunk_kind::opaque) return c.refuse(reads_unknown);
    const std::uint32_t from = order_of(c, s, c.shape(x));
    const bool back = c.ledger->knows(from) && (*c.ledger)[from].how == aten_ledger::origin::flipped;
    chunk_state r = rows_in(c, back ? (*c.ledger)[from].before
                                    : c.ledger->name(aten_ledger::origin::flipped, from, c.ledger->rows_of(from), {}));
    r.dim = s.dim;
    r.positions = s.positions;
    r.into = s.into;
    return c.give(r);
}

/// view_as_complex folds the last dimension away; view_as_real adds one.
inline chunk_verdict complex_view(const aten_call& c) {
    return dimensions_moved(c, [&](std::int64_t d, std::size_t) -> std::int64_t {
        return d < static_cast<std::int64_t>(c.result_types[0].shape.size()) ? d : -1;
    });
}
inline chunk_verdict repeated(const aten_call& c) {
    return dimensions_moved(c, [&](std::int64_t d, std::size_t rank) -> std::int64_t {
        const tensor_argument& times = c.argument(1, "repeats");
        const std::int64_t j = d + static_cast<std::int64_t>(times.items.size()) - static_cast<std::int64_t>(rank);
        if (j < 0 || times.items[static_cast<std::size_t>(j)].what != argument_form::integer) return -1;
        return times.items[static_cast<std::size_t>(j)].integer == 1 ? j : -1;
    });
}

/// cat, and stack, which adds a dimension.
template <bool AddsDimension>
chunk_verdict joined(const aten_call& c) {
    const std::size_t rank = c.result_types[0].shape.size();
    const std::int64_t along = wrapped(c.integer(1, "dim", 0), rank);
    chunk_verdict v;
    if (!only_values(c, v)) return v;
    std::size_t addends = 0, first = c.operands.size();
    chunk_state rows;
    for (std::size_t k = 0; k < c.operands.size(); ++k) {
        if (c.is_number(k)) return c.refuse(chunk_number);
        addends += is_addend(c.state(k));
        if (!is_cut(c.state(k))) continue;
        if (first == c.operands.size()) rows = c.state(first = k);
        else if (!join_rows(c, rows, c.state(k))) return c.refuse(no_such_rows);
    }
    if (addends == c.operands.size()) return c.give(c.state(0));
    if (addends != 0) return c.refuse("joins a sum over chunks with something else");
    if (!AddsDimension && rows.dim == along) return c.refuse(along_chunks);
    for (std::size_t k = 0; k < c.operands.size(); ++k)
        if (is_whole(c.state(k))) return c.want(k, rows.dim, rows);
    return c.give(moved_to(rows, AddsDimension && along <= rows.dim ? rows.dim + 1 : rows.dim));
}

/// getitem: one member of a tuple. A tuple's components are its tensors; where it has other members too, its tensors
/// are told apart by what they are, and what is no tensor is the same in every chunk.
inline chunk_verdict component(const aten_call& c) {
    const tensor_argument& which = c.argument(1, "index");
    if (which.what != argument_form::integer || which.integer < 0 || c.operands.size() != 1 ||
        c.operands[0].tensors == 0)
        return c.refuse("names no component of its operand");
    const tensor_type& made = c.result_types[0];
    const std::size_t first = c.operands[0].first, count = c.operands[0].tensors;
    const auto is_made = [&](std::size_t k) {
        const tensor_type& t = c.types[first + k];
        if (t.element != made.element || t.shape.size() != made.shape.size()) return false;
        for (std::size_t d = 0; d < t.shape.size(); ++d)
            if (t.shape[d] != made.shape[d]) return false;
        return true;
    };
    const std::size_t at = static_cast<std::size_t>(which.integer);
    if (at < count && is_made(at)) return c.give(c.states[first + at]);
    if (made.element == element_type::other && made.shape.empty()) return c.give({});
    const chunk_state* found = nullptr;
    for (std::size_t k = 0; k < count; ++k) {
        if (!is_made(k)) continue;
        if (found != nullptr && !(*found == c.states[first + k])) return c.refuse("names no component of its operand");
        found = &c.states[first + k];
    }
    return found != nullptr ? c.give(*found) : c.refuse("names no component of its operand");
}

}  // namespace stretto::detail::aten

#endif
