// Time and memory as types. Both are signed 64-bit integers, so that differences are values and schedules are exact:
// the same on every rank, compiler and optimisation level. Floating point enters only in cost models, which round once,
// when they make a duration.
#ifndef STRETTO_CORE_UNITS_HPP
#define STRETTO_CORE_UNITS_HPP

#include <compare>
#include <cstdint>

#include "stretto/core/language.hpp"

namespace stretto {
namespace detail {

/// A count of some unit. The tag keeps nanoseconds and bytes from being mixed.
template <class Unit>
struct quantity {
    std::int64_t count = 0;

    friend constexpr auto operator<=>(quantity, quantity) = default;
    friend constexpr quantity operator+(quantity a, quantity b) noexcept { return {a.count + b.count}; }
    friend constexpr quantity operator-(quantity a, quantity b) noexcept { return {a.count - b.count}; }
    friend constexpr quantity operator-(quantity a) noexcept { return {-a.count}; }
    friend constexpr quantity operator*(quantity a, std::int64_t n) noexcept { return {a.count * n}; }
    friend constexpr quantity operator*(std::int64_t n, quantity a) noexcept { return {a.count * n}; }
    constexpr quantity& operator+=(quantity b) noexcept {
        count += b.count;
        return *this;
    }
    constexpr quantity& operator-=(quantity b) noexcept {
        count -= b.count;
        return *this;
    }
};

struct nanosecond_unit;
struct byte_unit;

}  // namespace detail

/// A duration, or a point in time since the start of the step.
using nanoseconds = detail::quantity<detail::nanosecond_unit>;

/// An amount of memory or of communicated data.
using bytes = detail::quantity<detail::byte_unit>;

/// A duration in milliseconds, for printing only.
[[nodiscard]] constexpr double to_milliseconds(nanoseconds t) noexcept { return static_cast<double>(t.count) / 1e6; }

/// Stands for "no limit" in options that take bytes.
inline constexpr bytes unlimited_bytes{INT64_MAX};

}  // namespace stretto

#endif
