// Reports show times and amounts to people: with few digits, and in the unit that fits.
#ifndef STRETTO_SCHEDULE_HUMAN_UNITS_HPP
#define STRETTO_SCHEDULE_HUMAN_UNITS_HPP

#include <array>
#include <cstddef>
#include <cstdio>
#include <string>

#include "stretto/core/units.hpp"

namespace stretto {

namespace detail {

/// Returns `x` with two decimals if it is below 100, one if it is below 1000, and none otherwise. Precondition: x >= 0.
[[nodiscard]] inline std::string few_digits(double x) {
    const int decimals = x < 100 ? 2 : x < 1000 ? 1 : 0;
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.*f", decimals, x);
    return text.data();
}

}  // namespace detail

/// Returns a time as text, such as "613.7 ms", "1.17 ms", "41.50 us" or "7 ns".
[[nodiscard]] inline std::string human(nanoseconds t) {
    if (t.count < 0) return "-" + human(-t);
    const auto ns = static_cast<double>(t.count);
    if (ns < 999.5) return std::to_string(t.count) + " ns";
    if (ns < 999.5e3) return detail::few_digits(ns / 1e3) + " us";
    if (ns < 9999.5e6) return detail::few_digits(ns / 1e6) + " ms";
    return detail::few_digits(ns / 1e9) + " s";
}

/// Returns an amount as text, such as "4.40 GiB" or "512 B"; it is "unlimited" for `unlimited_bytes`.
[[nodiscard]] inline std::string human(bytes amount) {
    if (amount == unlimited_bytes) return "unlimited";
    auto x = static_cast<double>(amount.count);
    if (x < 1024) return std::to_string(amount.count) + " B";
    for (const char* unit : {" KiB", " MiB"}) {
        x /= 1024;
        if (x < 1023.5) return detail::few_digits(x) + unit;
    }
    return detail::few_digits(x / 1024) + " GiB";
}

/// Returns a number with separated thousands, such as "27,576".
[[nodiscard]] inline std::string with_commas(std::size_t n) {
    std::string text = std::to_string(n);
    for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
    return text;
}

}  // namespace stretto

#endif
