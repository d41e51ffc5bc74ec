// Measured curves consist of points, each of which is one measurement of a collective.
#ifndef STRETTO_SCHEDULE_COST_COST_POINT_HPP
#define STRETTO_SCHEDULE_COST_COST_POINT_HPP

#include "stretto/core/units.hpp"

namespace stretto {

/// A payload (bytes of one rank's input) and the time that its collective takes.
struct cost_point {
    bytes payload;
    nanoseconds time;
    friend constexpr bool operator==(const cost_point&, const cost_point&) = default;
};

}  // namespace stretto

#endif
