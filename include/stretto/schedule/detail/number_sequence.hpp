// Numbers that look random but are the same in every run and on every machine, so that a search that uses them is
// deterministic.
#ifndef STRETTO_SCHEDULE_DETAIL_NUMBER_SEQUENCE_HPP
#define STRETTO_SCHEDULE_DETAIL_NUMBER_SEQUENCE_HPP

#include <algorithm>
#include <bit>
#include <cstdint>

namespace stretto::detail {

/// A sequence of such numbers.
///
/// Source: G. Marsaglia, Xorshift RNGs, Journal of Statistical Software 8, 2003.
class number_sequence {
public:
    /// Returns the next number below `end`, which is positive. It is also below 2^48.
    [[nodiscard]] std::int64_t below(std::int64_t end) {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return static_cast<std::int64_t>((state_ >> 16) % static_cast<std::uint64_t>(end));
    }
    /// Returns a number that is not negative. Such numbers are `mean` on average, and exponentially distributed, but
    /// for the logarithm, which is linear between powers of two. Precondition: 0 <= mean < 2^42.
    [[nodiscard]] std::int64_t exponential(std::int64_t mean) {
        constexpr int range = 16;
        const auto number = static_cast<std::uint32_t>(1 + below(1 << range));
        const int power = static_cast<int>(std::bit_width(number)) - 1;
        const std::uint32_t one = 1 << range, fraction = (number << (range - power)) - one;
        const std::int64_t logarithm = std::int64_t{power - range} * one + fraction;  // to base 2, of number / one
        return mean * -logarithm / 94'548;                                            // `one` times log2(e)
    }
    /// Returns a number from 1 to `most`, which is positive. All orders of magnitude are about equally frequent.
    [[nodiscard]] std::uint32_t magnitude(std::uint32_t most) {
        std::int64_t bits = 1;
        while (most >> bits != 0) ++bits;
        const std::uint32_t range = std::max(1u, most >> below(bits));
        return static_cast<std::uint32_t>(1 + below(range));
    }

private:
    std::uint64_t state_ = 0x9e3779b97f4a7c15;
};

}  // namespace stretto::detail

#endif
