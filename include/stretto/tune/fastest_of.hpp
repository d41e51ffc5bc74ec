// Chooses among several forms of a step: the fastest one that fits into memory. All forms compute the same result: the
// given program, the program with its sums reduced once, and each of them in chunks.
#ifndef STRETTO_TUNE_FASTEST_OF_HPP
#define STRETTO_TUNE_FASTEST_OF_HPP

#include <cstddef>
#include <optional>
#include <span>

#include "stretto/core/units.hpp"

namespace stretto {

/// Returns the position of the shortest makespan, or the first of equal ones, so list the form that changes least
/// first. A form without a schedule within the limit has no makespan. Returns nothing if no form has one. O(forms).
[[nodiscard]] constexpr std::optional<std::size_t> fastest_of(
    std::span<const std::optional<nanoseconds>> makespans) noexcept {
    std::optional<std::size_t> best;
    for (std::size_t k = 0; k < makespans.size(); ++k)
        if (makespans[k] && (!best || *makespans[k] < *makespans[*best])) best = k;
    return best;
}

}  // namespace stretto

#endif
