// Which of several forms of a step to run: the fastest one that fits into memory. Forms compute the same: the program
// as it is, the program with its sums reduced once, and each of them in chunks.
#ifndef STRETTO_TUNE_FASTEST_OF_HPP
#define STRETTO_TUNE_FASTEST_OF_HPP

#include <cstddef>
#include <optional>
#include <span>

#include "stretto/core/units.hpp"

namespace stretto {

/// The position of the shortest makespan; of equal ones the first, so the form that changes least should stand first.
/// A form that has no schedule within the limit has none, and nothing is returned if that is so for all of them.
/// O(forms).
[[nodiscard]] constexpr std::optional<std::size_t> fastest_of(
    std::span<const std::optional<nanoseconds>> makespans) noexcept {
    std::optional<std::size_t> best;
    for (std::size_t k = 0; k < makespans.size(); ++k)
        if (makespans[k] && (!best || *makespans[k] < *makespans[*best])) best = k;
    return best;
}

}  // namespace stretto

#endif
