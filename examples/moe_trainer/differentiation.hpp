// Reverse-mode differentiation of programs of the trainer's IR.
#ifndef MOE_TRAINER_DIFFERENTIATION_HPP
#define MOE_TRAINER_DIFFERENTIATION_HPP

#include <functional>
#include <vector>

#include "ir.hpp"

namespace trainer {

/// Appends the derivatives of a loss, times `seed`, from the last operation to the first. `found(k, gradient)` is
/// called as soon as the gradient with respect to `weights[k]` is complete, which no derivative goes beyond; it may
/// append what becomes of it. An operation without a derivative (choices, counts) passes none on. O(operations +
/// weights * V).
void differentiate(program& p, tensor_id loss, tensor_id seed, const std::vector<tensor_id>& weights,
                   const std::function<void(std::size_t, tensor_id)>& found);

}  // namespace trainer

#endif
