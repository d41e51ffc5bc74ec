// Sorting by a key that is spread evenly, as points in time along a step are.
#ifndef STRETTO_SCHEDULE_DETAIL_SORTED_BY_KEY_HPP
#define STRETTO_SCHEDULE_DETAIL_SORTED_BY_KEY_HPP

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace stretto::detail {

/// The positions of `keys` by ascending key, ties by position. Keys go into as many buckets of equal width as there are
/// keys: O(n) where they are spread evenly, O(n log n) at worst.
template <class = void>
[[nodiscard]] inline std::vector<std::uint32_t> sorted_by_key(std::span<const std::int64_t> keys) {
    std::vector<std::uint32_t> sorted(keys.size());
    if (keys.empty()) return sorted;
    const auto [least, largest] = std::minmax_element(keys.begin(), keys.end());
    auto distance = [first = *least](std::int64_t key) {
        return static_cast<std::uint64_t>(key) - static_cast<std::uint64_t>(first);  // may exceed the signed range
    };
    int shift = 0;
    while ((distance(*largest) >> shift) >= keys.size()) ++shift;
    auto bucket = [&](std::size_t i) { return static_cast<std::size_t>(distance(keys[i]) >> shift); };

    std::vector<std::uint32_t> end(keys.size() + 1, 0);
    for (std::size_t i = 0; i < keys.size(); ++i) ++end[bucket(i) + 1];
    for (std::size_t b = 0; b < keys.size(); ++b) end[b + 1] += end[b];
    for (std::size_t i = 0; i < keys.size(); ++i) sorted[end[bucket(i)]++] = static_cast<std::uint32_t>(i);
    for (std::size_t b = 0, first = 0; b < keys.size(); first = end[b++])
        if (end[b] - first > 1)
            std::sort(sorted.data() + first, sorted.data() + end[b],
                      [&](std::uint32_t x, std::uint32_t y) { return keys[x] != keys[y] ? keys[x] < keys[y] : x < y; });
    return sorted;
}

}  // namespace stretto::detail

#endif
