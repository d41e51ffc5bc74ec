#include "human_units.hpp"

#include <array>
#include <cmath>
#include <cstdio>

namespace planner {
namespace {

/// `x`, at least 0, with two digits after the point as long as they say something.
std::string digits(double x) {
    const int decimals = x < 100 ? 2 : x < 1000 ? 1 : 0;
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.*f", decimals, x);
    return text.data();
}

}  // namespace

std::string human(stretto::nanoseconds t) {
    if (t.count < 0) return "-" + human(-t);
    const auto ns = static_cast<double>(t.count);
    if (ns < 999.5) return std::to_string(t.count) + " ns";
    if (ns < 999.5e3) return digits(ns / 1e3) + " us";
    if (ns < 9999.5e6) return digits(ns / 1e6) + " ms";
    return digits(ns / 1e9) + " s";
}

std::string human(stretto::bytes amount) {
    if (amount == stretto::unlimited_bytes) return "unlimited";
    auto x = static_cast<double>(amount.count);
    if (x < 1024) return std::to_string(amount.count) + " B";
    for (const char* unit : {" KiB", " MiB"}) {
        x /= 1024;
        if (x < 1023.5) return digits(x) + unit;
    }
    return digits(x / 1024) + " GiB";
}

std::string with_commas(std::size_t n) {
    std::string text = std::to_string(n);
    for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
    return text;
}

std::string change(stretto::nanoseconds from, stretto::nanoseconds to) {
    if (from.count == 0) return "";
    if (from == to) return "unchanged";
    const double share = static_cast<double>((to - from).count) / static_cast<double>(from.count);
    return (share < 0 ? "-" : "+") + percent(std::abs(share));
}

std::string percent(double share) {
    if (share == 0) return "0 %";
    std::array<char, 64> text{};
    const double x = share * 100;
    std::snprintf(text.data(), text.size(), std::abs(x) < 10 ? "%.2f %%" : "%.1f %%", x);
    return text.data();
}

}  // namespace planner
