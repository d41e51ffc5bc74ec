// The figures of a comparison: a table for people, an object for programs.
#ifndef STRETTO_PLANNER_TEXT_REPORT_HPP
#define STRETTO_PLANNER_TEXT_REPORT_HPP

#include <cstddef>
#include <string>

#include "comparison.hpp"

namespace planner {

struct text_options {
    std::size_t explain = 10;  ///< collectives to explain
    bool colour = false;       ///< for a terminal
};

/// A table, then the worst collectives of the order after planning, a line each.
std::string to_table(const comparison& c, const text_options& options);

/// One JSON object with stable names; times in nanoseconds, amounts in bytes, null for no limit. Beyond the figures of
/// the table: `name`, `gap`, `compute_after_ns`, `worst` (the worst collectives), and `violations` of a checked plan.
std::string to_json(const comparison& c, const text_options& options);

}  // namespace planner

#endif
