// Sorts short lists of numbers without <algorithm>, which would double the cost of including a header of core or
// analysis.
#ifndef STRETTO_CORE_HEAP_SORT_HPP
#define STRETTO_CORE_HEAP_SORT_HPP

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/core/language.hpp"

namespace stretto::detail {

/// Sorts `keys` in place, ascending. It takes O(n) time if they are already sorted, which is usual for lists that
/// follow program order, and O(n log n) otherwise. Source: J. W. J. Williams, Algorithm 232: Heapsort, CACM 7(6), 1964.
template <class = void>
void heap_sort(std::vector<std::uint32_t>& keys) {
    const std::size_t n = keys.size();
    std::size_t sorted = 1;
    while (sorted < n && keys[sorted - 1] <= keys[sorted]) ++sorted;
    if (sorted >= n) return;
    const auto sift_down = [&](std::size_t at, std::size_t end) {
        for (std::size_t child; (child = 2 * at + 1) < end; at = child) {
            if (child + 1 < end && keys[child] < keys[child + 1]) ++child;
            if (keys[child] <= keys[at]) return;
            std::swap(keys[child], keys[at]);
        }
    };
    for (std::size_t k = n / 2; k-- > 0;) sift_down(k, n);
    for (std::size_t end = n; --end > 0;) {
        std::swap(keys[0], keys[end]);
        sift_down(0, end);
    }
}

}  // namespace stretto::detail

#endif
