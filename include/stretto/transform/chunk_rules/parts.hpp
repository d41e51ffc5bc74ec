// Rule kinds of writing a slice into a tensor, of gradients of slices (zeros except in one place), and of shifts within
// a tensor. Rows of the chunk pass if the operation works along a dimension that is not cut, or if the slice is the
// complete dimension: a slice of the cut dimension would lie in some chunks and not in others.
#ifndef STRETTO_TRANSFORM_CHUNK_RULES_PARTS_HPP
#define STRETTO_TRANSFORM_CHUNK_RULES_PARTS_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/transform/chunk_rules/chunk_call.hpp"
#include "stretto/transform/chunk_rules/detail/rows.hpp"
#include "stretto/transform/chunk_rules/rule_operands.hpp"

namespace stretto::chunk_rules {

/// Returns `base` with `source` written over a slice along `dim`. `dim` must not be the cut dimension unless the slice
/// is all of it. Both operands must be cut alike, or each must be a sum over chunks or shared zeros; other operands
/// must be whole. O(operands).
struct put_slice {
    std::size_t base = 0, source = 1;
    std::int64_t dim = 0;
    std::int64_t first = -1;  ///< the first entry of the contiguous slice; -1 if it is not known

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("base", base).add("source", source); }
};

/// The gradient of a slice or a select: zeros, with `gradient` at the place along `dim` from which the slice was taken.
/// The result for a select has one dimension more than `gradient`. `dim` must not be the cut dimension unless the slice
/// is all of it. `sizes` gives, for each extent of the result, the operand that determines it, or no_operand; it is
/// empty if all extents are constants. If rows are not in the order of the tokens, an operand must give their number,
/// because a constant cannot. O(operands).
struct slice_gradient {
    std::size_t gradient = 0;
    std::int64_t dim = 0;  ///< a dimension of the result
    bool of_select = false;
    std::vector<std::size_t> sizes = {};

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("gradient", gradient).add("sizes", sizes); }
};

/// Shifts the elements of `x` along `dims`: rolls them around, pads them at the ends, or crops them there. The cut
/// dimension must not be among `dims`. O(operands).
struct shift {
    std::size_t x = 0;
    dim_list dims = {};
    /// Whether the padding is not zero. A sum over chunks is then refused, because every chunk would add the padding.
    bool adds_constants = false;

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("x", x); }
};

inline chunk_verdict put_slice::verdict(const chunk_call& c) const {
    if (!c.is_tensor(base) || !c.is_tensor(source)) return c.refuse(detail::chunk_number);
    chunk_verdict v;
    if (!detail::only_values(c, v)) return v;
    for (std::size_t k = 0; k < c.operands.size(); ++k)
        if (k != base && k != source && !is_whole(c.state(k))) return c.refuse(detail::chunk_number);
    chunk_state together = c.state(base);
    const chunk_state& written = c.state(source);
    const auto sums = [&](std::size_t k) { return is_addend(c.state(k)) || (is_whole(c.state(k)) && c.all_zero(k)); };
    if (sums(base) && sums(source)) return c.give(a_sum);
    if (is_addend(together) || is_addend(written)) return c.refuse(detail::sum_meets_rows);
    if (is_whole(together)) return c.want(base, written.dim, written);
    if (is_whole(written)) return c.want(source, together.dim, together);
    if (!detail::join_rows(c, together, written)) return c.refuse(detail::no_such_rows);
    const std::size_t d = static_cast<std::size_t>(together.dim);
    if (together.dim == wrapped(dim, c.shape(base).size()) && c.extent(base, d) != c.extent(source, d))
        return c.refuse_itself(detail::along_chunks);
    return c.give(together);
}

inline chunk_verdict slice_gradient::verdict(const chunk_call& c) const {
    if (!c.is_tensor(gradient)) return c.refuse(detail::chunk_number);
    const chunk_state& s = c.state(gradient);
    if (!is_plain(s)) return c.refuse(detail::reads_row_numbers);
    if (!is_cut(s)) {
        if (is_whole(s) || !detail::sizes_shared(c, sizes, -1)) return c.refuse(detail::chunk_number);
        return c.give(s);
    }
    const std::int64_t gone = wrapped(dim, c.result_types[0].shape.size());
    const std::int64_t d = of_select && gone <= s.dim ? s.dim + 1 : s.dim;
    const std::size_t at = static_cast<std::size_t>(d);
    if (d == gone && c.result_extent(at) != c.extent(gradient, s.dim)) return c.refuse_itself(detail::along_chunks);
    if (d == gone && s.what != chunk_kind::sliced) return c.refuse_itself(detail::along_chunks);
    const std::size_t count = detail::operand_at(sizes, at);
    for (std::size_t k = 0; k < c.operands.size(); ++k)
        if (k != gradient && k != count && !is_whole(c.state(k))) return c.refuse(detail::chunk_number);
    if (!detail::sizes_fit(c, sizes, s, at)) return c.refuse(detail::chunk_number);
    if (s.what != chunk_kind::sliced && (count >= c.operands.size() || is_whole(c.state(count))))
        return c.refuse("spells how many rows there are, and only the operand knows that of a chunk");
    return c.give(moved_to(s, d));
}

inline chunk_verdict shift::verdict(const chunk_call& c) const {
    chunk_verdict v;
    if (!detail::only_values(c, v)) return v;
    if (!c.is_tensor(x)) return c.refuse(detail::chunk_number);
    for (std::size_t k = 0; k < c.operands.size(); ++k)
        if (k != x && !is_whole(c.state(k))) return c.refuse(detail::chunk_number);
    const chunk_state& s = c.state(x);
    if (is_addend(s)) return adds_constants ? c.refuse(detail::not_linear) : c.give(s);
    const bool along = place_of(dims, s.dim, c.shape(x).size()) < dims.size();
    return along ? c.refuse_itself(detail::mixes_rows) : c.give(s);
}

}  // namespace stretto::chunk_rules

#endif
