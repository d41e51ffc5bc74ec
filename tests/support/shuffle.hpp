// A permutation from a seed, the same on every machine. Toy IRs allocate their nodes in such an order, so that the
// order of addresses (or of ids) says nothing about program order and a test can vary it.
#ifndef STRETTO_TESTS_SUPPORT_SHUFFLE_HPP
#define STRETTO_TESTS_SUPPORT_SHUFFLE_HPP

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace support {

/// 0 .. n-1 in some order; seed 0 leaves them in order.
inline std::vector<std::uint32_t> shuffled(std::size_t n, std::uint64_t seed) {
    std::vector<std::uint32_t> order(n);
    for (std::size_t i = 0; i < n; ++i) order[i] = static_cast<std::uint32_t>(i);
    if (seed == 0) return order;
    for (std::size_t i = n; i > 1; --i) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        std::swap(order[i - 1], order[static_cast<std::size_t>((seed >> 33) % i)]);
    }
    return order;
}

}  // namespace support

#endif
