// Splits the buckets of a step before it is planned.
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
    std::size_t buckets = 0;      ///< buckets that were split
    std::size_t collectives = 0;  ///< collectives of the step without them
    std::size_t given = 0;        ///< collectives of the step as it was given
    std::size_t whole = 0;        ///< buckets that could not be split
    std::string why;              ///< the first of these, and why it could not
    stretto::nanoseconds took;    ///< makespan of the step as it was given
};

/// Returns this in words, such as "buckets in which the step came: 4.20 ms with 9 collectives, without them 24; 2 stay
/// whole, first s: ...".
std::string in_words(const buckets_apart& b);

/// A step after its buckets were split, and what was done.
struct step_apart {
    stretto::capture step;
    buckets_apart what;
};

/// Splits the buckets of a step as far as possible, and computes its makespan before that, under the given contention.
stretto::expected<step_apart, failure> take_step_apart(stretto::capture step, const std::string& file,
                                                       stretto::contention under);

}  // namespace planner

#endif
