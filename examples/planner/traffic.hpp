// Sums up what the inputs of a step are, as inferred from their use, and what its collectives are for.
#ifndef STRETTO_PLANNER_TRAFFIC_HPP
#define STRETTO_PLANNER_TRAFFIC_HPP

#include <cstddef>
#include <string>

#include "stretto/capture/capture.hpp"

namespace planner {

/// How many inputs have which role, and how many collectives serve which purpose (stretto::traffic_kind).
struct traffic_summary {
    std::size_t inputs = 0;
    std::size_t parameters = 0;  ///< inputs that are gathered before anything is computed from them
    std::size_t buffers = 0;     ///< other inputs that are written in place
    std::size_t gathers = 0;     ///< all-gathers of parameters
    std::size_t reductions = 0;  ///< reductions of results of the step
    std::size_t exchanges = 0;   ///< all-to-alls
    std::size_t others = 0;
};

/// Sums up a step.
traffic_summary summary_of_traffic(const stretto::capture& step);

/// Return the two halves of a summary in words, such as "291 parameters (gathered), 2 buffers (written), 12 others;
/// inferred from their use", and "323 gather parameters, 201 reduce results, 104 exchanges".
std::string inputs_in_words(const traffic_summary& t);
std::string collectives_in_words(const traffic_summary& t);

}  // namespace planner

#endif
