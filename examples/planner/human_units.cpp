#include "human_units.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <string>

namespace planner {

std::string change(stretto::nanoseconds from, stretto::nanoseconds to) {
    if (from.count == 0) return "";
    if (from == to) return "unchanged";
    const double share = static_cast<double>((to - from).count) / static_cast<double>(from.count);
    return (share < 0 ? "-" : "+") + percent(std::abs(share));
}

std::string signed_time(stretto::nanoseconds difference) {
    return (difference.count > 0 ? "+" : "") + human(difference);
}

std::string percent(double share) {
    if (share == 0) return "0 %";
    std::array<char, 64> text{};
    const double x = share * 100;
    std::snprintf(text.data(), text.size(), std::abs(x) < 10 ? "%.2f %%" : "%.1f %%", x);
    return text.data();
}

std::string times_of(stretto::bytes amount, stretto::bytes other) {
    if (other.count == 0) return "-";
    char text[40];
    std::snprintf(text, sizeof text, "%.2fx", static_cast<double>(amount.count) / static_cast<double>(other.count));
    return text;
}

std::string factor(stretto::contention c) {
    char text[40];
    std::snprintf(text, sizeof text, "%.4g", static_cast<double>(c.numerator) / static_cast<double>(c.denominator));
    return text;
}

}  // namespace planner
