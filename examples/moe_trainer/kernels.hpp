// Computes the operations of the trainer's IR, on the host, in single precision. Every sum is taken in the order of its
// index, whatever the extents, so that a row has the same bits in whatever chunk it is computed, unless products.hpp
// has been told to use a BLAS.
#ifndef MOE_TRAINER_KERNELS_HPP
#define MOE_TRAINER_KERNELS_HPP

#include <cstdint>

#include "ir.hpp"
#include "stretto/backend/concepts.hpp"

namespace trainer {

/// Returns the nearest number of 16 bits (bf16); of two that are equally near, the even one.
[[nodiscard]] float rounded_to_16_bits(float x);

/// Computes the results of an operation. `memory` has the addresses of its operands and results.
void compute(const program& p, op_id id, stretto::task_memory memory);

}  // namespace trainer

#endif
