// Rule kinds of matrix products: of two tensors with any arrangement of dimensions, with a bias, and of grouped rows,
// such as the rows of each expert. A product is linear in each factor, so a contracted dimension may be cut: every part
// then computes one term of the sum.
#ifndef STRETTO_TRANSFORM_CHUNK_RULES_PRODUCTS_HPP
#define STRETTO_TRANSFORM_CHUNK_RULES_PRODUCTS_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "stretto/transform/chunk_rules/chunk_call.hpp"
#include "stretto/transform/chunk_rules/detail/rows.hpp"

namespace stretto::chunk_rules {

/// The product of two tensors. Dimensions `left_contracts[j]` and `right_contracts[j]` are contracted together,
/// dimensions `left_batch[j]` and `right_batch[j]` are paired, and the others are free. The result has the batch
/// dimensions, then the free dimensions of the left operand, then those of the right one. By default this is [..., m,
/// k] times [k, n]; batches of matrices add `.left_batch = {0}, .right_batch = {0}`.
///
/// Rows of the left factor and columns of the right one may be cut. If both factors are cut alike along contracted
/// dimensions, the result is a sum over chunks. The product of a sum and a whole value is a sum over chunks; the
/// product of two sums is not. O(operands).
struct matrix_product {
    std::size_t left = 0, right = 1;
    dim_list left_contracts = {-1}, right_contracts = {-2};
    dim_list left_batch = {}, right_batch = {};

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("left", left).add("right", right); }
};

/// A matrix product to which operand `bias` is added with broadcasting. If the product is a sum over chunks, the bias
/// must be one too; otherwise every chunk would add the bias again. At least one factor must not be whole. O(operands).
struct biased_product {
    std::size_t bias = 0;
    matrix_product product = {.left = 1, .right = 2};

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const {
        to.add("bias", bias).add("left", product.left).add("right", product.right);
    }
};

/// `left` [rows, k], whose rows are in groups that end at `ends`, times one matrix per group, `right` [groups, k, n];
/// or, for two matrices, one product per group of rows of their inner dimension, and so an addend. The rule relies on
/// the program that the ends of a chunk delimit the groups among the rows of the chunk as the original ends do among
/// all rows. The ends of a chunk are an addend that was computed from counts of the rows. As a side effect, the order
/// of the rows of `left` records these counts (row_orders::note_groups). O(operands and the history of `ends`).
struct grouped_product {
    std::size_t left = 0, right = 1, ends = 2;

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("left", left).add("right", right).add("ends", ends); }
};

namespace detail {

inline constexpr std::string_view sum_times_rows = "multiplies a sum over chunks with something that is not shared";
inline constexpr std::string_view needs_groups =
    "needs rows that are in groups in every chunk, and the ends of its groups";

/// Returns the position of free dimension d among the free dimensions of its factor, which has rank `rank`.
inline std::int64_t free_place(std::int64_t d, std::size_t rank, const dim_list& contracts, const dim_list& batch) {
    std::int64_t before = 0;
    for (std::int64_t j = 0; j < d; ++j)
        before += place_of(contracts, j, rank) == contracts.size() && place_of(batch, j, rank) == batch.size();
    return before;
}

/// Returns the verdict on the product of the two factors alone. Precondition: both are tensors with plain elements.
/// Their shapes and dimension lists are arbitrary.
inline chunk_verdict multiplied(const chunk_call& c, const matrix_product& m) {
    if (m.left_contracts.size() != m.right_contracts.size() || m.left_batch.size() != m.right_batch.size())
        return c.refuse_itself("is in a form that has no rule");
    const chunk_state &sa = c.state(m.left), &sb = c.state(m.right);
    if (is_addend(sa) || is_addend(sb)) {
        if (!is_whole(sa) && !is_whole(sb)) return c.refuse(sum_times_rows);
        return c.give(a_sum);
    }
    // `beside` is the dimension of the right factor paired with the cut one of the left, or -1 if the cut one is free.
    const std::size_t rank_a = c.shape(m.left).size(), rank_b = c.shape(m.right).size();
    if (is_cut(sa)) {
        const std::size_t together = place_of(m.left_batch, sa.dim, rank_a);
        const std::size_t summed = place_of(m.left_contracts, sa.dim, rank_a);
        const bool goes_together = together < m.left_batch.size(), is_summed = summed < m.left_contracts.size();
        const std::int64_t beside = goes_together ? wrapped(m.right_batch[together], rank_b)
                                    : is_summed   ? wrapped(m.right_contracts[summed], rank_b)
                                                  : -1;
        if (is_cut(sb)) {
            chunk_state rows = sa;
            const bool alike = sb.dim == beside && join_rows(c, rows, moved_to(sb, sa.dim));
            if (goes_together)
                return alike ? c.give(moved_to(rows, static_cast<std::int64_t>(together))) : c.refuse(no_such_rows);
            if (is_summed && alike) return c.give(a_sum);
            return c.refuse("multiplies rows of one chunk with rows of another");
        }
        if (goes_together || is_summed) return c.want(m.right, beside, sa);
        return c.give(moved_to(sa, static_cast<std::int64_t>(m.left_batch.size()) +
                                       free_place(sa.dim, rank_a, m.left_contracts, m.left_batch)));
    }
    if (!is_cut(sb)) return c.refuse(reads_unknown);
    const std::size_t together = place_of(m.right_batch, sb.dim, rank_b);
    if (together < m.right_batch.size()) return c.want(m.left, wrapped(m.left_batch[together], rank_a), sb);
    const std::size_t summed = place_of(m.right_contracts, sb.dim, rank_b);
    if (summed < m.right_contracts.size()) return c.want(m.left, wrapped(m.left_contracts[summed], rank_a), sb);
    const std::int64_t before = static_cast<std::int64_t>(rank_a - m.left_contracts.size());
    return c.give(moved_to(sb, before + free_place(sb.dim, rank_b, m.right_contracts, m.right_batch)));
}

}  // namespace detail

inline chunk_verdict matrix_product::verdict(const chunk_call& c) const {
    chunk_verdict v;
    if (!detail::only_values(c, v)) return v;
    if (!c.is_tensor(left) || !c.is_tensor(right)) return c.refuse(detail::chunk_number);
    return detail::multiplied(c, *this);
}

inline chunk_verdict biased_product::verdict(const chunk_call& c) const {
    const std::size_t a = product.left, b = product.right;
    chunk_verdict v;
    if (!detail::only_values(c, v)) return v;
    if (!c.is_tensor(bias) || !c.is_tensor(a) || !c.is_tensor(b)) return c.refuse(detail::chunk_number);
    if (is_whole(c.state(a)) && is_whole(c.state(b))) return c.refuse("adds a product that all chunks share");
    v = detail::multiplied(c, product);
    if (!v.possible) return v;
    chunk_state made = c.results[0];
    const chunk_state& added = c.state(bias);
    if (is_addend(made)) return is_addend(added) ? v : c.refuse("would add its bias once in every chunk");
    if (is_addend(added)) return c.refuse(detail::sum_meets_rows);
    const std::size_t rank = c.result_types[0].shape.size();
    const std::int64_t d =
        made.dim - (static_cast<std::int64_t>(rank) - static_cast<std::int64_t>(c.shape(bias).size()));
    if (is_whole(added)) return d < 0 || c.extent(bias, d) == 1 ? v : c.want(bias, d, made);
    if (added.dim != d || !detail::join_rows(c, made, moved_to(added, made.dim))) return c.refuse(detail::no_such_rows);
    return c.give(made);
}

inline chunk_verdict grouped_product::verdict(const chunk_call& c) const {
    chunk_verdict v;
    if (!detail::only_values(c, v)) return v;
    if (!c.is_tensor(left) || !c.is_tensor(right) || !c.is_tensor(ends) || c.shape(left).size() != 2)
        return c.refuse_itself("is in a form that has no rule");
    for (std::size_t k = 0; k < c.operands.size(); ++k)
        if (k != left && k != right && k != ends && !is_whole(c.state(k))) return c.refuse(detail::chunk_number);
    const chunk_state &sa = c.state(left), &sb = c.state(right), &so = c.state(ends);
    const bool in_groups = is_addend(so);
    if (is_whole(so) && (is_addend(sa) || is_addend(sb))) {
        if (!is_whole(sa) && !is_whole(sb)) return c.refuse(detail::sum_times_rows);
        return c.give(a_sum);
    }
    if (is_addend(sa) || is_addend(sb)) return c.refuse(detail::sum_times_rows);
    if (c.shape(right).size() == 3) {  // a matrix for each group, which all chunks share: rows stay rows
        if (sa.what == chunk_kind::permuted && sa.dim == 0 && is_whole(sb) && in_groups) {
            c.orders->note_groups(sa.order, c.groups(ends, true));
            return c.give(sa);
        }
        if (is_whole(sa) && is_whole(so) && is_cut(sb) && sb.dim == 2) return c.give(moved_to(sb, 1));
        return c.refuse(detail::needs_groups);
    }
    // Both are matrices, and their rows are summed within each group: every chunk computes a term of the sum of each
    // group.
    chunk_state together = sa;
    if (sa.what == chunk_kind::permuted && sb.what == chunk_kind::permuted && sa.dim == 1 && sb.dim == 0 && in_groups) {
        if (!detail::join_rows(c, together, moved_to(sb, 1))) return c.refuse(detail::no_such_rows);
        return c.give(a_sum);
    }
    return c.refuse(detail::needs_groups);
}

}  // namespace stretto::chunk_rules

#endif
