// Computes the minimum costs of new nodes of a plan, according to the costs of the step. The rewriters write these
// costs, and check_plan demands them. Prices are computed in doubles, so the check tolerates an error of one
// nanosecond.
#ifndef STRETTO_CAPTURE_DETAIL_PLAN_PRICES_HPP
#define STRETTO_CAPTURE_DETAIL_PLAN_PRICES_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/element_names.hpp"
#include "stretto/core/element_type.hpp"

namespace stretto::detail {

/// Returns the bytes of one element. A plan may hold types with which the library does not compute; unknown types count
/// as one byte, so that no price is too high.
inline std::int64_t width_of(std::string_view dtype) noexcept {
    const std::int64_t known = size_of(element_type_of(dtype));
    if (known != 0) return known;
    return dtype == "u64" ? 8 : dtype == "u32" ? 4 : dtype == "u16" ? 2 : 1;
}

/// Returns the size in bytes of all tensors that v produces, by shape and type; it saturates. Unreadable tensors count
/// as 0.
inline bytes size_of_results(const capture_tensors& tensors, std::uint32_t v) {
    double total = 0;
    for (std::size_t k = 0; k < tensors.components(v).size(); ++k) {
        double size = static_cast<double>(width_of(tensors.element_name(v, k)));
        for (std::int64_t extent : tensors.components(v)[k].shape) size *= static_cast<double>(extent);
        total += size;
    }
    return total < 4e18 ? bytes{static_cast<std::int64_t>(total)} : bytes{INT64_MAX / 2};
}

/// Returns whether a duration is less than a price, allowing for rounding.
inline bool underpaid(nanoseconds paid, double price) noexcept { return static_cast<double>(paid.count) + 1 < price; }

/// Returns a price as a time, rounded towards zero. Prices from a damaged table, which may be infinite, are capped at
/// 2^50 ns, about thirteen days, so that sums of thousands of prices do not overflow.
inline nanoseconds time_of_price(double price) noexcept {
    constexpr std::int64_t most = std::int64_t{1} << 50;
    return {price < static_cast<double>(most) ? static_cast<std::int64_t>(price) : most};
}

/// Returns the price, in nanoseconds, of a kernel that reads and writes `moved` bytes in total.
inline double price_of_moving(const capture_costs& costs, bytes moved) noexcept {
    constexpr double nanoseconds_per_second = 1e9;
    return static_cast<double>(costs.launch.count) +
           static_cast<double>(moved.count) / costs.memory_bytes_per_second * nanoseconds_per_second;
}
/// Returns the price of a kernel that copies: every byte is read and written.
inline double price_of_copy(const capture_costs& costs, bytes copied) noexcept {
    return price_of_moving(costs, copied + copied);
}

/// Returns the duration that the table gives, in nanoseconds: constant up to the first point, linear from there, and
/// beyond the last point with the last slope, but never below 0. Returns nothing if the step has no table for that
/// collective on that group. Unlike interpolate(), it does not round. O(tables + points).
inline std::optional<double> price_of_collective(const capture& step, group_id group, collective_kind collective,
                                                 bytes payload) {
    const collective_cost_table* const table = step.cost_table(group, collective);
    if (table == nullptr) return std::nullopt;
    const auto& points = table->points;
    if (payload <= points.front().payload || points.size() == 1) return static_cast<double>(points.front().time.count);
    std::size_t above = 1;
    while (above + 1 < points.size() && points[above].payload < payload) ++above;
    const auto &a = points[above - 1], &b = points[above];
    const double rise = static_cast<double>((b.time - a.time).count);
    const double run = static_cast<double>((b.payload - a.payload).count);
    const double price =
        static_cast<double>(a.time.count) + rise * static_cast<double>((payload - a.payload).count) / run;
    return std::max(price, 0.0);
}

}  // namespace stretto::detail

#endif
