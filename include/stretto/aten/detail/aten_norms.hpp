// How normalisation over the last dimensions behaves under chunking: rows by themselves, and gradients of what scales
// and shifts all of them as sums.
#ifndef STRETTO_ATEN_DETAIL_ATEN_NORMS_HPP
#define STRETTO_ATEN_DETAIL_ATEN_NORMS_HPP

#include <cstddef>

#include "stretto/aten/detail/aten_call.hpp"
#include "stretto/aten/detail/aten_pointwise.hpp"

namespace stretto::detail::aten {

/// native_layer_norm(input, shape, weight, bias, eps) and _fused_rms_norm(input, shape, weight, eps): results and
/// statistics have as many dimensions as the input. Backward, input is argument `Input`, and `shape` the next one; what
/// has the shape that is normalised is the gradient of a weight or a bias.
template <std::size_t Input>
chunk_verdict normalized(const aten_call& c) {
    chunk_verdict v;
    if (!only_values(c, v)) return v;
    const std::size_t x = c.operand(Input, "input");
    if (!c.is_tensor(x)) return c.refuse(chunk_number);
    for (std::size_t k = 0; k < c.operands.size(); ++k)
        if (is_addend(c.state(k))) return c.refuse("is not linear in an operand that is a sum over chunks");
    const std::size_t rank = c.shape(x).size(), last = c.argument(Input + 1, "normalized_shape").items.size();
    chunk_state rows;
    if (!rows_side_by_side(c, rank, rows, v)) return v;
    if (last == 0 || last >= rank || static_cast<std::size_t>(rows.dim) >= rank - last)
        return c.refuse("works along the dimension that is chunked: it mixes rows of different chunks");
    for (std::size_t j = 0; j < c.results.size(); ++j) {
        const bool has_rows = c.result_types[j].shape.size() == rank;
        c.results[j] = has_rows ? rows : chunk_state{chunk_kind::addend, -1, 0, 0, 0};
    }
    return {};
}

}  // namespace stretto::detail::aten

#endif
