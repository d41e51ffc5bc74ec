// A step that arrives in buckets, taken apart before it is planned.
#ifndef STRETTO_PLANNER_TAKING_APART_HPP
#define STRETTO_PLANNER_TAKING_APART_HPP

#include <cstddef>
#include <string>

#include "program.hpp"
#include "stretto/capture/capture.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/contention.hpp"

namespace planner {

/// What has become of the buckets of a step.
struct buckets_apart {
    std::size_t buckets = 0;      ///< that were taken apart
    std::size_t collectives = 0;  ///< in the step without them
    std::size_t given = 0;        ///< collectives of the step as it came
    std::size_t whole = 0;        ///< buckets that stay
    std::string why;              ///< the first of them, and why it stays
    stretto::nanoseconds took;    ///< the step as it came
};

/// "buckets in which the step came: 4.20 ms with 9 collectives, without them 24; 2 stay whole, first s: ...".
std::string in_words(const buckets_apart& b);

struct step_apart {
    stretto::capture step;
    buckets_apart what;
};

/// The step without buckets, as far as they come apart, and what it took before, under that clock.
stretto::expected<step_apart, failure> take_step_apart(stretto::capture step, const std::string& file,
                                                       stretto::contention under);

}  // namespace planner

#endif
