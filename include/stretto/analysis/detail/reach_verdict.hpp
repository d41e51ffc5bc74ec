// What labels alone can say about "does u reach v?".
#ifndef STRETTO_ANALYSIS_DETAIL_REACH_VERDICT_HPP
#define STRETTO_ANALYSIS_DETAIL_REACH_VERDICT_HPP

#include <cstdint>

#include "stretto/core/language.hpp"

namespace stretto::detail {

/// The answer of labels: proved, disproved, or left open.
enum class reach_verdict : std::uint8_t {
    unknown,
    yes,
    no
};

/// The verdict that two flags stand for, of which at most one is set. It is computed without branches, so that only the
/// caller branches.
[[nodiscard]] inline reach_verdict verdict_of(bool proved, bool refuted) noexcept {
    return static_cast<reach_verdict>(static_cast<unsigned>(proved) | static_cast<unsigned>(refuted) << 1);
}

/// `a && b` and `a || b` that evaluate both sides: comparing labels is cheaper than a branch that is taken at random.
[[nodiscard]] inline bool both(bool a, bool b) noexcept { return static_cast<unsigned>(a) & static_cast<unsigned>(b); }
[[nodiscard]] inline bool either(bool a, bool b) noexcept {
    return static_cast<unsigned>(a) | static_cast<unsigned>(b);
}

}  // namespace stretto::detail

#endif
