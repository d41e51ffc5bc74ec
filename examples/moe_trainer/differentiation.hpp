// Reverse-mode differentiation of programs of the trainer's IR.
#ifndef MOE_TRAINER_DIFFERENTIATION_HPP
#define MOE_TRAINER_DIFFERENTIATION_HPP

#include <functional>
#include <vector>

#include "ir.hpp"

namespace trainer {

/// Appends the derivatives of a loss, times `seed`, from the last operation to the first. Calls `found(k, gradient)` as
/// soon as the gradient with respect to `weights[k]` is complete; no derivative goes beyond a weight. `found` may
/// append operations that use the gradient. An operation without a derivative (choices, counts) passes none on.
/// O(operations * weights).
void differentiate(program& p, tensor_id loss, tensor_id seed, const std::vector<tensor_id>& weights,
                   const std::function<void(std::size_t, tensor_id)>& found);

}  // namespace trainer

#endif
