// How matrix products behave under chunking.
#ifndef STRETTO_ATEN_DETAIL_ATEN_PRODUCTS_HPP
#define STRETTO_ATEN_DETAIL_ATEN_PRODUCTS_HPP

#include <cstddef>
#include <cstdint>

#include "stretto/aten/detail/aten_call.hpp"
#include "stretto/aten/detail/aten_pointwise.hpp"

namespace stretto::detail::aten {

inline constexpr std::string_view sum_times_rows = "multiplies a sum over chunks with something that is not shared";

/// a [batch..., m, k] times b [batch..., k, n], operands `a` and `b`, with `batch` leading dimensions.
inline chunk_verdict matrix_product(const aten_call& c, std::size_t a, std::size_t b, std::int64_t batch) {
    const chunk_state &sa = c.state(a), &sb = c.state(b);
    if (is_addend(sa) || is_addend(sb)) {
        if (!is_whole(sa) && !is_whole(sb)) return c.refuse(sum_times_rows);
        return c.give({chunk_kind::addend, -1, 0, 0, 0});
    }
    const std::int64_t rows = batch, inner_a = batch + 1, inner_b = batch, columns = batch + 1;
    if (is_cut(sa) && is_cut(sb)) {
        chunk_state together = sa;
        if (sa.dim < batch) return join_rows(c, together, sb) ? c.give(together) : c.refuse(no_such_rows);
        if (sa.dim == inner_a && sb.dim == inner_b && join_rows(c, together, moved_to(sb, sa.dim)))
            return c.give({chunk_kind::addend, -1, 0, 0, 0});
        return c.refuse("multiplies rows of one chunk with rows of another");
    }
    if (is_cut(sa)) {
        if (sa.dim < batch) return c.want(b, sa.dim, sa);
        if (sa.dim == rows) return c.give(sa);
        return c.want(b, inner_b, sa);
    }
    if (sb.dim < batch) return c.want(a, sb.dim, sb);
    if (sb.dim == columns) return c.give(sb);
    return c.want(a, inner_a, sb);
}

/// mm (no batch) and bmm (one).
template <int Batch>
chunk_verdict multiplied(const aten_call& c) {
    chunk_verdict v;
    if (!only_values(c, v)) return v;
    const std::size_t a = c.operand(0, "self"), b = c.operand(1, "mat2");
    if (!c.is_tensor(a) || !c.is_tensor(b)) return c.refuse(chunk_number);
    return matrix_product(c, a, b, Batch);
}

/// addmm: a bias, and a product.
inline chunk_verdict multiplied_with_bias(const aten_call& c) {
    chunk_verdict v;
    if (!only_values(c, v)) return v;
    const std::size_t bias = c.operand(0, "self"), a = c.operand(1, "mat1"), b = c.operand(2, "mat2");
    if (!c.is_tensor(bias) || !c.is_tensor(a) || !c.is_tensor(b)) return c.refuse(chunk_number);
    if (is_whole(c.state(a)) && is_whole(c.state(b))) return c.refuse("adds a product that all chunks share");
    v = matrix_product(c, a, b, 0);
    if (!v.possible) return v;
    chunk_state made = c.results[0];
    if (is_addend(made)) {
        if (is_addend(c.state(bias))) return v;
        return c.refuse("would add its bias once in every chunk");
    }
    if (is_addend(c.state(bias))) return c.refuse(sum_meets_rows);
    const std::int64_t d = made.dim - (2 - static_cast<std::int64_t>(c.shape(bias).size()));
    if (is_whole(c.state(bias)))
        return d < 0 || c.shape(bias)[static_cast<std::size_t>(d)] == 1 ? v : c.want(bias, d, made);
    if (c.state(bias).dim != d || !join_rows(c, made, moved_to(c.state(bias), made.dim))) return c.refuse(no_such_rows);
    return c.give(made);
}

/// _grouped_mm: rows in groups whose ends are `offsets`, times a matrix for each group; or, from two matrices, the
/// products over the groups of their inner dimension. That the offsets of a chunk are the ends of the groups among its
/// rows, as those of all are among all, is the program's word: an addend made from counts of the rows.
inline chunk_verdict grouped_product(const aten_call& c) {
    chunk_verdict v;
    if (!only_values(c, v)) return v;
    const std::size_t a = c.operand(0, "self"), b = c.operand(1, "mat2"), ends = c.operand(2, "offs");
    if (!c.is_tensor(a) || !c.is_tensor(b) || !c.is_tensor(ends) || c.shape(a).size() != 2)
        return c.refuse("is in a form that has no rule");
    for (std::size_t k = 0; k < c.operands.size(); ++k)
        if (k != a && k != b && k != ends && !is_whole(c.state(k))) return c.refuse(chunk_number);
    const chunk_state &sa = c.state(a), &sb = c.state(b), &so = c.state(ends);
    const bool in_groups = so.what == chunk_kind::addend;
    if (is_whole(so) && (is_addend(sa) || is_addend(sb))) {
        if (!is_whole(sa) && !is_whole(sb)) return c.refuse(sum_times_rows);
        return c.give({chunk_kind::addend, -1, 0, 0, 0});
    }
    if (is_addend(sa) || is_addend(sb)) return c.refuse(sum_times_rows);
    if (c.shape(b).size() == 3) {
        if (sa.what == chunk_kind::permuted && sa.dim == 0 && is_whole(sb) && in_groups) {
            c.ledger->note_groups(sa.order, c.history.groups(c.history.program, ends, true));
            return c.give(sa);
        }
        if (is_whole(sa) && is_whole(so) && is_cut(sb) && sb.dim == 2) return c.give(moved_to(sb, 1));
        return c.refuse("needs rows that are in groups in every chunk, and the ends of its groups");
    }
    chunk_state together = sa;
    if (sa.what == chunk_kind::permuted && sb.what == chunk_kind::permuted && sa.dim == 1 && sb.dim == 0 && in_groups) {
        if (!join_rows(c, together, moved_to(sb, 1))) return c.refuse(no_such_rows);
        return c.give({chunk_kind::addend, -1, 0, 0, 0});
    }
    return c.refuse("needs rows that are in groups in every chunk, and the ends of its groups");
}

}  // namespace stretto::detail::aten

#endif
