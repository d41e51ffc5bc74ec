// The rule kind of normalization over the last dimensions, forward and backward. Each row is normalized independently,
// so the rule only has to decide which results have rows; the other results are sums over rows.
#ifndef STRETTO_TRANSFORM_CHUNK_RULES_NORMS_HPP
#define STRETTO_TRANSFORM_CHUNK_RULES_NORMS_HPP

#include <cstddef>

#include "stretto/transform/chunk_rules/chunk_call.hpp"
#include "stretto/transform/chunk_rules/detail/rows.hpp"

namespace stretto::chunk_rules {

/// Normalizes `x` over its last `dims` dimensions, or computes the gradient of that: layer norm, RMS norm. Results with
/// the rank of `x` (values, statistics, the gradient of `x`) have its rows. Other results are gradients of the scale
/// and shift that all rows share, and are sums over chunks. All operands are aligned at the last dimension, as
/// elementwise operands are, and must be cut alike or be broadcast, at a dimension that is not normalized. A sum over
/// chunks is refused because normalization is not linear. O(operands).
struct normalization {
    std::size_t x = 0;
    std::size_t dims = 1;  ///< at least 1, and less than the rank of `x`; otherwise it is refused

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("x", x); }
};

inline chunk_verdict normalization::verdict(const chunk_call& c) const {
    chunk_verdict v;
    if (!detail::only_values(c, v)) return v;
    if (!c.is_tensor(x)) return c.refuse(detail::chunk_number);
    for (std::size_t k = 0; k < c.operands.size(); ++k)
        if (is_addend(c.state(k))) return c.refuse(detail::not_linear);
    const std::size_t rank = c.shape(x).size();
    chunk_state rows;
    if (!detail::rows_side_by_side(c, rank, rows, v)) return v;
    if (dims == 0 || dims >= rank || static_cast<std::size_t>(rows.dim) >= rank - dims)
        return c.refuse_itself(detail::mixes_rows);
    for (std::size_t j = 0; j < c.results.size(); ++j)
        c.results[j] = c.result_types[j].shape.size() == rank ? rows : a_sum;
    return {};
}

}  // namespace stretto::chunk_rules

#endif
