// Rule kinds of losses and of their gradients. Class losses compare rows with their target classes; element losses
// compare single elements with their target values. The rows of the prediction and of the classes must be cut alike,
// along dimension 0; elements may be cut along any dimension. The reduction of the losses decides the rest: without a
// reduction each loss keeps its place, a sum is a sum over chunks, and a mean would divide by the number of rows of a
// part.
#ifndef STRETTO_TRANSFORM_CHUNK_RULES_LOSSES_HPP
#define STRETTO_TRANSFORM_CHUNK_RULES_LOSSES_HPP

#include <cstddef>
#include <cstdint>

#include "stretto/transform/chunk_rules/chunk_call.hpp"
#include "stretto/transform/chunk_rules/detail/rows.hpp"
#include "stretto/transform/chunk_rules/reductions.hpp"

namespace stretto::chunk_rules {

/// The reduction that is applied to the losses.
enum class loss_of : std::uint8_t {
    each_row,  ///< no reduction: one loss for each row
    mean,      ///< the losses are summed and divided by the number that is the second result of class_loss
    sum        ///< the losses are summed
};

/// The negative log-likelihood of the classes `target` under the log-probabilities in the rows of `x`. It has two
/// results: the loss, and the number by which a mean would divide. Both are sums over chunks if the losses are summed;
/// a mean is refused. Any other operand, such as weights of the classes, must be whole.
struct class_loss {
    std::size_t x = 0, target = 1;
    loss_of how = loss_of::mean;

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("x", x).add("target", target); }
};

/// The gradient of class_loss with respect to `x`. `gradient` is the gradient of the loss, and `total` is the divisor
/// of a mean. The result has the rows of `x`. The mean must divide by the same number in every chunk as in the original
/// program, so `total` must then be a whole tensor; without one, a mean is refused. O(operands).
struct class_loss_gradient {
    std::size_t gradient = 0, x = 1, target = 2, total = no_operand;
    loss_of how = loss_of::mean;

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const {
        to.add("gradient", gradient).add("x", x).add("target", target).add("total", total);
    }
};

/// The losses of single elements, where all operands are aligned elementwise and broadcast. If the losses are summed,
/// the result is a sum over chunks; a mean is refused. With `of_gradient`, the operation is the gradient of such a
/// loss. The gradient is elementwise for each_row and sum. The gradient of a mean divides by the number of rows of a
/// part, so it is refused too. O(operands).
struct element_loss {
    loss_of how = loss_of::mean;
    bool of_gradient = false;

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
};

inline chunk_verdict class_loss::verdict(const chunk_call& c) const {
    chunk_verdict v;
    if (!detail::only_values(c, v)) return v;
    if (!c.is_tensor(x) || !c.is_tensor(target) || c.results.size() != 2) return c.refuse(detail::chunk_number);
    const chunk_state &rows = c.state(x), &names = c.state(target);
    for (std::size_t k = 0; k < c.operands.size(); ++k)
        if (is_addend(c.state(k)) || (k != x && k != target && !is_whole(c.state(k))))
            return c.refuse(detail::sum_meets_rows);
    if (is_whole(names)) return rows.dim == 0 ? c.want(target, 0, rows) : c.refuse_itself(detail::along_chunks);
    if (is_whole(rows)) return c.want(x, 0, names);
    chunk_state together = rows;
    if (rows.dim != 0 || !detail::join_rows(c, together, names)) return c.refuse(detail::no_such_rows);
    if (how == loss_of::mean) return c.refuse_itself(detail::divides_by_part);
    if (how == loss_of::sum) return c.give(a_sum);
    c.results[0] = together;
    c.results[1] = {};
    return {};
}

inline chunk_verdict class_loss_gradient::verdict(const chunk_call& c) const {
    chunk_verdict v;
    if (!detail::only_values(c, v)) return v;
    if (!c.is_tensor(gradient) || !c.is_tensor(x) || !c.is_tensor(target)) return c.refuse(detail::chunk_number);
    if (how == loss_of::mean && (!c.is_tensor(total) || !is_whole(c.state(total))))
        return c.refuse(detail::divides_by_part);
    const bool of_rows = how == loss_of::each_row;
    for (std::size_t k = 0; k < c.operands.size(); ++k)
        if (k != x && k != target && k != total && !(k == gradient && of_rows) && !is_whole(c.state(k)))
            return c.refuse(detail::sum_meets_rows);
    const chunk_state &rows = c.state(x), &names = c.state(target), &up = c.state(gradient);
    if (is_addend(rows) || is_addend(names) || is_addend(up)) return c.refuse(detail::sum_meets_rows);
    if (is_whole(rows)) return c.want(x, 0, is_whole(names) ? up : names);
    if (is_whole(names)) return c.want(target, 0, rows);
    if (of_rows && is_whole(up)) return c.want(gradient, 0, rows);
    chunk_state together = rows;
    if (rows.dim != 0 || !detail::join_rows(c, together, names) || (of_rows && !detail::join_rows(c, together, up)))
        return c.refuse(detail::no_such_rows);
    return c.give(together);
}

inline chunk_verdict element_loss::verdict(const chunk_call& c) const {
    chunk_verdict v;
    if (!detail::only_values(c, v)) return v;
    std::size_t rank = 0;
    for (std::size_t k = 0; k < c.operands.size(); ++k) {
        if (is_addend(c.state(k))) return c.refuse(detail::not_linear);
        rank = rank < c.shape(k).size() ? c.shape(k).size() : rank;
    }
    chunk_state rows;
    if (!detail::rows_side_by_side(c, rank, rows, v)) return v;
    if (how == loss_of::mean) return c.refuse_itself(detail::divides_by_part);
    return c.give(of_gradient || how == loss_of::each_row ? rows : a_sum);
}

}  // namespace stretto::chunk_rules

#endif
