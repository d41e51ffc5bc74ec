// Writes the figures of a comparison: a table for people, or a JSON object for programs.
#ifndef STRETTO_PLANNER_TEXT_REPORT_HPP
#define STRETTO_PLANNER_TEXT_REPORT_HPP

#include <cstddef>
#include <string>

#include "comparison.hpp"

namespace planner {

struct text_options {
    std::size_t explain = 10;  ///< how many of the worst collectives to explain
    bool colour = false;       ///< whether to use the colours of a terminal
};

/// Returns a table, and then a line for each of the worst collectives of the order after planning.
std::string to_table(const comparison& c, const text_options& options);

/// Returns one JSON object with stable names; times are in nanoseconds, amounts in bytes, and a missing limit is null.
/// Beyond the figures of the table, it contains `name`, `gap`, `compute_after_ns`, `worst` (the worst collectives), and
/// the `violations` of a checked plan.
std::string to_json(const comparison& c, const text_options& options);

}  // namespace planner

#endif
