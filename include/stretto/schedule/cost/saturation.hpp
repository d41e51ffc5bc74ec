// A bucket must have a certain size for its collective to run at nearly full speed: the size at which latency is, say,
// a tenth of the time. A larger bucket gains little bandwidth and loses overlap. The size follows from the profile of a
// link, or from a measured curve. Source: the bucket cap of PyTorch's overlap scheduler.
#ifndef STRETTO_SCHEDULE_COST_SATURATION_HPP
#define STRETTO_SCHEDULE_COST_SATURATION_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "stretto/core/config.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/cost/cost_point.hpp"

namespace stretto {

/// One kind of link, and the cost of a ring step over it.
struct link_profile {
    const char* name = "";
    double gigabytes_per_second = 1;
    double hop_microseconds = 0;
    double base_microseconds = 0;
    bytes smallest = {};  ///< nothing smaller is recommended
};

namespace link_profiles {

inline constexpr bytes mebibyte{1 << 20};
inline constexpr link_profile nvlink_v100{"V100 NVLink", 14, 50, 10};
inline constexpr link_profile nvlink_a100{"A100 NVLink", 22, 45, 10};
inline constexpr link_profile nvlink_h100{"H100 NVLink", 36, 40, 10};
inline constexpr link_profile nvlink_b200{"B200 NVLink", 60, 30, 10};
inline constexpr link_profile infiniband_hdr{"InfiniBand HDR", 11, 14, 30, mebibyte * 75};
inline constexpr link_profile infiniband_ndr{"InfiniBand NDR", 22, 12, 30, mebibyte * 100};
inline constexpr link_profile pcie{"PCIe", 10, 60, 15};

}  // namespace link_profiles

/// Returns the bytes at which a ring of `ranks` spends the share `efficiency` of its time on moving data rather than
/// waiting: `efficiency / (1 - efficiency) * (base + (ranks - 1) * hop) * bandwidth`, rounded to the nearest byte, but
/// at least the smallest bucket of the profile. Returns 0 for one rank. Precondition: 0 <= efficiency < 1.
[[nodiscard]] constexpr bytes saturating_size(const link_profile& link, std::int64_t ranks, double efficiency = 0.9) {
    STRETTO_ASSERT(efficiency >= 0 && efficiency < 1, "no finite message reaches the whole bandwidth");
    if (ranks <= 1) return {};
    const double latency = link.base_microseconds + static_cast<double>(ranks - 1) * link.hop_microseconds;
    const double size = efficiency / (1 - efficiency) * latency * link.gigabytes_per_second * 1000.0;
    return std::max(link.smallest, bytes{static_cast<std::int64_t>(size + 0.5)});
}

/// Returns the least payload that a measured curve moves at the share `efficiency` of its best rate, rounded up to a
/// byte. The curve is constant up to its first point, linear between points, and continues with its last slope; its
/// best rate, in bytes per nanosecond, is that of a point or of the last slope. For two points (0, a) and (n, a + n/r),
/// this is the formula of saturating_size, `efficiency / (1 - efficiency) * a * r`. Returns nothing if the best rate is
/// unbounded: the curve has one point, does not rise at its end, or moves something in no time. O(points).
/// Preconditions: payloads ascend, no number is negative, and 0 <= efficiency < 1.
[[nodiscard]] inline std::optional<bytes> saturating_payload(std::span<const cost_point> points,
                                                             double efficiency = 0.9) {
    STRETTO_ASSERT(efficiency >= 0 && efficiency < 1, "a curve may reach its best rate only without end");
    const auto size = [&](std::size_t k) { return static_cast<double>(points[k].payload.count); };
    const auto time = [&](std::size_t k) { return static_cast<double>(points[k].time.count); };
    if (points.size() < 2) return std::nullopt;
    // Returns the nanoseconds that each further byte costs from a point to the next one.
    const auto slope = [&](std::size_t k) { return (time(k + 1) - time(k)) / (size(k + 1) - size(k)); };
    const std::size_t last = points.size() - 1;
    if (slope(last - 1) <= 0) return std::nullopt;
    double best = 1 / slope(last - 1);
    for (std::size_t k = 0; k <= last; ++k) {
        if (size(k) > 0 && time(k) <= 0) return std::nullopt;
        if (size(k) > 0) best = std::max(best, size(k) / time(k));
    }
    const double wanted = efficiency * best;
    const auto up = [](double x) {  // the division may have rounded up already
        constexpr double most = static_cast<double>(std::numeric_limits<std::int64_t>::max() / 2);
        return bytes{static_cast<std::int64_t>(std::ceil(std::min(x, most) * (1 - 1e-12)))};
    };
    if (size(0) > 0 && wanted * time(0) <= size(0)) return up(wanted * time(0));
    std::size_t k = 0;  // the rate is reached between this point and the next one, or behind the last one
    while (k + 1 < last && size(k + 1) < wanted * time(k + 1)) ++k;
    const double ahead = wanted * (time(k) - slope(k) * size(k));  // 0 if the curve begins with 0 bytes in no time
    return ahead > 0 ? up(ahead / (1 - wanted * slope(k))) : bytes{};
}

}  // namespace stretto

#endif
