// Writes changes and shares as people read them. Times and amounts are in stretto/schedule/human_units.hpp.
#ifndef STRETTO_PLANNER_HUMAN_UNITS_HPP
#define STRETTO_PLANNER_HUMAN_UNITS_HPP

#include <string>

#include "stretto/core/units.hpp"
#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/human_units.hpp"

namespace planner {

using stretto::human;
using stretto::with_commas;

/// Returns the change from one time to another, such as "-38.6 %" or "unchanged"; an empty text if the first is 0.
std::string change(stretto::nanoseconds from, stretto::nanoseconds to);

/// Returns a difference of times with its sign, such as "+2.00 us", "-7 ns" or "0 ns".
std::string signed_time(stretto::nanoseconds difference);

/// Returns a share as a percentage: "1.24 %" for 0.0124.
std::string percent(double share);

/// Returns the ratio of two amounts, such as "1.05x"; "-" if the other is 0.
std::string times_of(stretto::bytes amount, stretto::bytes other);

/// Returns a contention as a decimal number of at most four digits: "1.25" for 5/4.
std::string factor(stretto::contention c);

}  // namespace planner

#endif
