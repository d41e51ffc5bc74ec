// Times and amounts as people read them: few digits, and the unit that fits.
#ifndef STRETTO_PLANNER_HUMAN_UNITS_HPP
#define STRETTO_PLANNER_HUMAN_UNITS_HPP

#include <cstddef>
#include <string>

#include "stretto/core/units.hpp"

namespace planner {

/// "613.7 ms", "1.17 ms", "41.50 us", "7 ns".
std::string human(stretto::nanoseconds t);

/// "4.40 GiB", "512 B"; "unlimited" for stretto::unlimited_bytes.
std::string human(stretto::bytes amount);

/// "27,576".
std::string with_commas(std::size_t n);

/// The change from one time to the other, "-38.6 %"; nothing at all if it began at 0.
std::string change(stretto::nanoseconds from, stretto::nanoseconds to);

/// "1.24 %" for a share of 0.0124.
std::string percent(double share);

}  // namespace planner

#endif
