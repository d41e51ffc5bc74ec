// A bucket must have a certain size for its collective to run at full speed: the size at which latency is a tenth of
// the time. A larger bucket gains no bandwidth and loses overlap. Source: the bucket cap of PyTorch's overlap
// scheduler.
#ifndef STRETTO_SCHEDULE_COST_SATURATION_HPP
#define STRETTO_SCHEDULE_COST_SATURATION_HPP

#include <algorithm>
#include <cstdint>

#include "stretto/core/config.hpp"
#include "stretto/core/units.hpp"

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

}  // namespace stretto

#endif
