// Computes the operations of the trainer's IR, on the host, in single precision. Every sum is taken in the order of its
// index, whatever the extents, so that a row has the same bits in whatever chunk it is computed.
#ifndef MOE_TRAINER_KERNELS_HPP
#define MOE_TRAINER_KERNELS_HPP

#include <cstdint>

#include "ir.hpp"
#include "stretto/backend/concepts.hpp"

namespace trainer {

/// Computes c [m, n] = a [m, k] b [k, n], or adds the product to c. The elements of a are `a_down` apart between rows
/// and `a_along` within a row; b and c are dense. A sum begins with 0, or with what c has, and proceeds in the order of
/// k.
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, std::int64_t a_down, std::int64_t a_along,
              const float* b, float* c, bool adds);
/// Computes c = a b with b transposed: [n, k]. All three are dense.
void multiply_transposed(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c);

/// Returns the nearest number of 16 bits (bf16); of two that are equally near, the even one.
[[nodiscard]] float rounded_to_16_bits(float x);

/// Computes the results of an operation. `memory` has the addresses of its operands and results.
void compute(const program& p, op_id id, stretto::task_memory memory);

}  // namespace trainer

#endif
