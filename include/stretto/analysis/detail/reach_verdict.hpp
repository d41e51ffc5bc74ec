// What labels alone can say about "does u reach v?".
#ifndef STRETTO_ANALYSIS_DETAIL_REACH_VERDICT_HPP
#define STRETTO_ANALYSIS_DETAIL_REACH_VERDICT_HPP

#include <cstdint>

namespace stretto::detail {

enum class reach_verdict : std::uint8_t {
    unknown,
    yes,
    no
};

/// Of two proofs; at most one of them holds. Without branches but the one that the caller takes.
[[nodiscard]] inline reach_verdict verdict_of(bool proved, bool refuted) noexcept {
    return static_cast<reach_verdict>(static_cast<unsigned>(proved) | static_cast<unsigned>(refuted) << 1);
}

/// `a && b` that evaluates both: comparisons of labels are cheaper than a branch that is taken at random.
[[nodiscard]] inline bool both(bool a, bool b) noexcept { return static_cast<unsigned>(a) & static_cast<unsigned>(b); }
[[nodiscard]] inline bool either(bool a, bool b) noexcept {
    return static_cast<unsigned>(a) | static_cast<unsigned>(b);
}

}  // namespace stretto::detail

#endif
