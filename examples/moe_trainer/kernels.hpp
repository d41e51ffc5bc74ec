// What the operations of the trainer's IR compute, on the host, in single precision. Every sum is taken in the order of
// its index, whatever the extents, so that a row has the same bits in whatever chunk it is computed.
#ifndef MOE_TRAINER_KERNELS_HPP
#define MOE_TRAINER_KERNELS_HPP

#include <cstdint>

#include "ir.hpp"
#include "stretto/backend/concepts.hpp"

namespace trainer {

/// c [m, n] = or += a [m, k] b [k, n]; the elements of a stand so far apart, down and along; b and c are dense. Sums
/// begin with what c has if it adds, and go on in the order of k.
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, std::int64_t a_down, std::int64_t a_along,
              const float* b, float* c, bool adds);
/// The same with b transposed: [n, k].
void multiply_transposed(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c);

/// The nearest number of 16 bits (bf16); of two, the even one.
[[nodiscard]] float rounded_to_16_bits(float x);

/// Computes what an operation makes. Its operands and results are where these say.
void compute(const program& p, op_id id, stretto::task_memory memory);

}  // namespace trainer

#endif
