// This model derives kernel times from peak rates: a kernel takes as long as its arithmetic or its memory traffic,
// whichever is longer. Source: Williams, Waterman and Patterson, "Roofline" (2009).
#ifndef STRETTO_SCHEDULE_COST_ROOFLINE_HPP
#define STRETTO_SCHEDULE_COST_ROOFLINE_HPP

#include <algorithm>
#include <array>
#include <cstddef>

#include "stretto/core/config.hpp"
#include "stretto/schedule/cost/cost_model.hpp"

namespace stretto {

/// The peak rates of a device as published, for dense data. `fp32` is the rate of matrix products (TF32 where it
/// exists).
struct device_peaks {
    const char* name = "";
    double memory_terabytes_per_second = 0;
    std::array<double, 3> teraflops = {};  ///< indexed by precision: fp64, fp32, half
};

namespace devices {

inline constexpr device_peaks a100{"A100", 2.0, {19.5, 156, 312}};
inline constexpr device_peaks h100{"H100", 3.35, {67, 494, 989}};
inline constexpr device_peaks b200{"B200", 7.7, {37, 1100, 2250}};
inline constexpr device_peaks mi300x{"MI300X", 5.3, {163.4, 653.7, 1307.4}};
inline constexpr device_peaks mi325x{"MI325X", 6.0, {163.4, 653.7, 1307.4}};
inline constexpr device_peaks mi350x{"MI350X", 8.0, {72.1, 144.2, 2309.6}};
inline constexpr device_peaks mi355x{"MI355X", 8.0, {78.6, 157.3, 2516.6}};

inline constexpr std::array<device_peaks, 7> all = {a100, h100, b200, mi300x, mi325x, mi350x, mi355x};

}  // namespace devices

/// A compute_cost_model: `launch + max(floor, bytes / (memory rate * memory_share), flops / (peak * compute_share))`.
/// The shares are the parts of the peaks that real kernels reach. Precondition: the device has a positive peak for the
/// precision of the work, unless the work has no flops.
struct roofline {
    device_peaks device = devices::h100;
    double compute_share = 1;
    double memory_share = 1;
    nanoseconds floor = {};   ///< no kernel is faster than this
    nanoseconds launch = {};  ///< added to the time of every kernel

    /// Returns the time of a kernel. O(1).
    [[nodiscard]] constexpr nanoseconds duration(const kernel_work& work) const noexcept {
        return launch + from_microseconds(microseconds(work));
    }

    /// Returns the time before rounding and without the launch, in microseconds.
    [[nodiscard]] constexpr double microseconds(const kernel_work& work) const noexcept {
        const double peak = device.teraflops[static_cast<std::size_t>(work.arithmetic)];
        STRETTO_ASSERT(work.flops <= 0 || peak > 0, "the device has no peak rate for this precision");
        const double traffic = static_cast<double>(work.moved.count) /
                               (device.memory_terabytes_per_second * memory_share) / 1e6;  // 1 TB/s = 1e6 bytes/us
        const double arithmetic = work.flops > 0 ? work.flops / (peak * compute_share) / 1e6 : 0;
        return std::max({static_cast<double>(floor.count) / 1000.0, traffic, arithmetic});
    }
};

/// Returns the kernel model of meta-pytorch/autoparallel: 70 % of both peaks, at least 7 us, and no launch time. It
/// reads the published bandwidth as TiB/s, which makes memory 10 % faster than it is; that is reproduced so that
/// results are comparable.
[[nodiscard]] constexpr roofline autoparallel_roofline(device_peaks device) noexcept {
    device.memory_terabytes_per_second *= 1.099511627776;  // 1024^4 / 10^12
    return {device, 0.7, 0.7, nanoseconds{7000}, {}};
}

}  // namespace stretto

#endif
