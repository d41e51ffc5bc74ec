// Multiplies matrices in single precision: with loops of the trainer's own, or with a BLAS that is opened when the
// program runs. In the loops every sum is taken in the order of its index, whatever the extents. A BLAS may choose the
// order by the extents, so the last bits of a row can depend on how many rows there are.
#ifndef MOE_TRAINER_PRODUCTS_HPP
#define MOE_TRAINER_PRODUCTS_HPP

#include <cstdint>
#include <optional>
#include <string>

namespace trainer {

/// Opens a library, whose cblas_sgemm computes all products of this process from now on; or returns to the loops, if
/// the name is empty. Returns nothing, or what is wrong with the library, with a hint; then nothing has changed.
/// Precondition: no other thread computes products now. Threads that start later need no lock.
[[nodiscard]] std::optional<std::string> compute_products_with(const std::string& library);

/// Computes c [m, n] = a [m, k] b [k, n], or adds the product to c. The elements of a are `a_down` apart between rows
/// and `a_along` within a row: k and 1, or 1 and m if a is stored transposed. b and c are dense. Without an element to
/// sum, the product is 0.
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, std::int64_t a_down, std::int64_t a_along,
              const float* b, float* c, bool adds);
/// Computes c = a b with b transposed: [n, k]. All three are dense.
void multiply_transposed(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c);

}  // namespace trainer

#endif
