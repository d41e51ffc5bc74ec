// Limits at which a step is planned again and again, for tests of what more memory may not do.
#ifndef STRETTO_TESTS_SUPPORT_TWELVE_LIMITS_HPP
#define STRETTO_TESTS_SUPPORT_TWELVE_LIMITS_HPP

#include <cstdint>
#include <vector>

#include "stretto/core/units.hpp"

namespace support {

/// Twelve limits, ascending: those from the peak on, the last of which is none, or those below it.
inline std::vector<stretto::bytes> twelve_limits(stretto::bytes peak, bool below) {
    std::vector<stretto::bytes> limits;
    if (below) {
        for (const std::int64_t percent : {7, 13, 25, 40, 50, 55, 60, 70, 75, 80, 90, 97})
            if (const std::int64_t limit = peak.count * percent / 100; limit < peak.count) limits.push_back({limit});
    } else {
        for (const std::int64_t percent : {100, 101, 102, 107, 110, 120, 125, 150, 180, 200, 350})
            limits.push_back({peak.count * percent / 100});
        limits.push_back(stretto::unlimited_bytes);
    }
    return limits;
}

}  // namespace support

#endif
