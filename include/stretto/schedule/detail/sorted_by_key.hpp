// This sort is for keys that are spread evenly, as points in time along a step are.
#ifndef STRETTO_SCHEDULE_DETAIL_SORTED_BY_KEY_HPP
#define STRETTO_SCHEDULE_DETAIL_SORTED_BY_KEY_HPP

#include <algorithm>
#include <cstdint>
#include <span>

#include "stretto/schedule/detail/workspace.hpp"

namespace stretto::detail {

/// Returns the positions of `keys` by ascending key, and by position among equal keys. The keys are put into as many
/// buckets of equal width as there are keys. That takes O(n) time if they are spread evenly, and O(n log n) at worst.
/// The result is taken from `w`.
template <class = void>
[[nodiscard]] inline std::span<std::uint32_t> sorted_by_key(std::span<const std::int64_t> keys, workspace& w) {
    const std::span<std::uint32_t> sorted = w.take<std::uint32_t>(keys.size());
    if (keys.empty()) return sorted;
    const auto [least, largest] = std::minmax_element(keys.begin(), keys.end());
    auto distance = [first = *least](std::int64_t key) {
        return static_cast<std::uint64_t>(key) -
               static_cast<std::uint64_t>(first);  // the difference may exceed the signed range
    };
    int shift = 0;
    while ((distance(*largest) >> shift) >= keys.size()) ++shift;
    auto bucket = [&](std::size_t i) { return static_cast<std::size_t>(distance(keys[i]) >> shift); };

    const workspace::scope scratch(w);
    const std::span<std::uint32_t> end = w.take(keys.size() + 1, 0u);
    for (std::size_t i = 0; i < keys.size(); ++i) ++end[bucket(i) + 1];
    for (std::size_t b = 0; b < keys.size(); ++b) end[b + 1] += end[b];
    for (std::size_t i = 0; i < keys.size(); ++i) sorted[end[bucket(i)]++] = static_cast<std::uint32_t>(i);
    for (std::size_t b = 0, first = 0; b < keys.size(); first = end[b++]) {
        // Positions ascend within a bucket. If its keys ascend too, or are all equal, it is in order already.
        bool in_order = true;
        for (std::size_t k = first + 1; k < end[b] && in_order; ++k) in_order = keys[sorted[k - 1]] <= keys[sorted[k]];
        if (!in_order)
            std::sort(sorted.data() + first, sorted.data() + end[b],
                      [&](std::uint32_t x, std::uint32_t y) { return keys[x] != keys[y] ? keys[x] < keys[y] : x < y; });
    }
    return sorted;
}

}  // namespace stretto::detail

#endif
