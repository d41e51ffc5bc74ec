// Changes and shares as people read them; times and amounts are stretto/schedule/human_units.hpp.
#ifndef STRETTO_PLANNER_HUMAN_UNITS_HPP
#define STRETTO_PLANNER_HUMAN_UNITS_HPP

#include <string>

#include "stretto/core/units.hpp"
#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/human_units.hpp"

namespace planner {

using stretto::human;
using stretto::with_commas;

/// The change from one time to the other, "-38.6 %"; nothing at all if it began at 0.
std::string change(stretto::nanoseconds from, stretto::nanoseconds to);

/// "1.24 %" for a share of 0.0124.
std::string percent(double share);

/// "1.05x" for an amount of 1.05 times the other; "-" if that is nothing.
std::string times_of(stretto::bytes amount, stretto::bytes other);

/// "1.25" for 5/4, with no more than four digits.
std::string factor(stretto::contention c);

}  // namespace planner

#endif
