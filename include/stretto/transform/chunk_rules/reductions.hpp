// Rule kinds of operations that combine elements along dimensions: sums, maxima, running sums, softmax, histograms.
// Along a dimension that is not cut, each row is processed by itself. Along the cut dimension, the results of parts
// have a known relation to the result of the whole only if the operation is a sum over rows.
#ifndef STRETTO_TRANSFORM_CHUNK_RULES_REDUCTIONS_HPP
#define STRETTO_TRANSFORM_CHUNK_RULES_REDUCTIONS_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "stretto/transform/chunk_rules/chunk_call.hpp"
#include "stretto/transform/chunk_rules/detail/rows.hpp"

namespace stretto::chunk_rules {

/// Combines the elements of `x` along `dims`, or along all dimensions if `dims` is empty. Along the cut dimension, a
/// sum becomes a sum over chunks, and other reductions are refused: a mean would divide by the number of rows of a
/// part, and extremes and products of parts do not add up. Along other dimensions, every reduction is allowed. The sum
/// and the mean of a sum over chunks are such sums too. `x` must be the only operand. O(dimensions).
struct reduction {
    enum class by : std::uint8_t {
        sum,
        mean,
        other  ///< an extreme, a product, the place of an extreme, whether any is true
    };
    by how = by::sum;
    std::size_t x = 0;
    dim_list dims = {};
    bool keeps_dims = false;  ///< whether `dims` remain in the result, with extent 1

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("x", x); }
};

/// Works along one dimension or along neighbouring ones: softmax, a running product, the largest entries, the lower
/// triangles of matrices. Any other dimension may be cut, and all operands must then be cut alike. Precondition: all
/// operands that are tensors have the rank of `x`. O(operands).
struct along_dimension {
    std::size_t x = 0;
    std::int64_t dim = -1;
    std::int64_t count = 1;  ///< the number of dimensions along which it works, from `dim` on
    bool linear = false;     ///< whether it is linear in `x` if all other operands are whole: sums over chunks pass

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("x", x); }
};

/// Computes running sums along a dimension. The verdict is that of a linear along_dimension. It is a kind of its own
/// because the running sum of the counts of groups gives the ends of the groups, which value_history recognises.
struct running_sum {
    std::size_t x = 0;
    std::int64_t dim = -1;

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("x", x); }
};

/// Counts how many elements of its only operand fall into each bin. If the operand is cut, the result is a sum over
/// chunks. The elements of the result are integers, whatever its type.
struct histogram {
    bool fixed_bins = true;  ///< whether the bins are independent of the elements; otherwise it is refused

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
};

namespace detail {

inline constexpr std::string_view divides_by_part = "divides by the number of rows of a chunk; a sum could be chunked";

}  // namespace detail

inline chunk_verdict reduction::verdict(const chunk_call& c) const {
    chunk_verdict v;
    if (!detail::only_values(c, v)) return v;
    if (!c.is_tensor(x) || c.operands.size() != 1) return c.refuse(detail::chunk_number);
    const chunk_state& s = c.state(x);
    if (is_addend(s)) return how == by::other ? c.refuse(detail::not_linear) : c.give(s);
    if (!is_cut(s)) return c.refuse(detail::reads_unknown);
    const std::size_t rank = c.shape(x).size();
    std::uint64_t gone = 0;  // a bit for each dimension; laid_out_call refuses ranks above 60
    for (std::size_t k = 0; k < dims.size(); ++k) {
        const std::int64_t d = wrapped(dims[k], rank);
        if (d < 0) return c.refuse("names a dimension that its operand does not have");
        gone |= std::uint64_t{1} << d;
    }
    if (gone == 0) gone = ~std::uint64_t{0};
    if (gone >> s.dim & 1) {
        if (how == by::sum) return c.give(a_sum);
        return c.refuse_itself(how == by::mean ? detail::divides_by_part
                                               : "combines rows of different chunks other than by a sum");
    }
    if (keeps_dims) return c.give(s);
    std::int64_t before = 0;
    for (std::int64_t j = 0; j < s.dim; ++j) before += static_cast<std::int64_t>(gone >> j & 1);
    return c.give(moved_to(s, s.dim - before));
}

inline chunk_verdict along_dimension::verdict(const chunk_call& c) const {
    chunk_verdict v;
    if (!detail::only_values(c, v)) return v;
    if (!c.is_tensor(x)) return c.refuse(detail::chunk_number);
    std::size_t addends = 0;
    for (std::size_t k = 0; k < c.operands.size(); ++k) addends += c.is_tensor(k) && is_addend(c.state(k));
    if (addends != 0) {
        for (std::size_t k = 0; k < c.operands.size(); ++k)
            if (c.is_number(k) && !is_whole(c.state(k))) return c.refuse(detail::chunk_number);
        if (!linear || addends != 1 || !is_addend(c.state(x))) return c.refuse(detail::not_linear);
        for (std::size_t k = 0; k < c.operands.size(); ++k)
            if (is_cut(c.state(k))) return c.refuse(detail::sum_meets_rows);
        return c.give(c.state(x));
    }
    // This reason comes before those of rows_side_by_side, because no other state of another operand would remove it.
    const std::int64_t first = wrapped(dim, c.shape(x).size());
    for (std::size_t k = 0; k < c.operands.size(); ++k) {
        const bool along = is_cut(c.state(k)) && c.state(k).dim >= first && c.state(k).dim - first < count;
        if (first < 0 || along) return c.refuse_itself(detail::mixes_rows);
    }
    chunk_state rows;
    if (!detail::rows_side_by_side(c, c.shape(x).size(), rows, v, false)) return v;
    return c.give(rows);
}

inline chunk_verdict running_sum::verdict(const chunk_call& c) const {
    return along_dimension{.x = x, .dim = dim, .linear = true}.verdict(c);
}

inline chunk_verdict histogram::verdict(const chunk_call& c) const {
    chunk_verdict v;
    if (!detail::only_values(c, v)) return v;
    if (!c.is_tensor(0) || !is_cut(c.state(0)) || c.operands.size() != 1) return c.refuse(detail::not_linear);
    if (!fixed_bins) return c.refuse_itself("takes its bins from the least and the greatest element");
    return c.give(a_sum);
}

}  // namespace stretto::chunk_rules

#endif
