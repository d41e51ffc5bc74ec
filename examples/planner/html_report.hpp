// Writes one page that shows a comparison: figures, timelines to zoom into, and the worst collectives with their
// reasons.
#ifndef STRETTO_PLANNER_HTML_REPORT_HPP
#define STRETTO_PLANNER_HTML_REPORT_HPP

#include <cstddef>
#include <string>

#include "comparison.hpp"

namespace planner {

/// Returns the page, which needs no network and no other file. It explains the `explain` worst collectives. It has
/// about 60 bytes per kernel and collective. Without scripts, it shows everything but cannot zoom.
std::string to_html(const comparison& c, std::size_t explain);

}  // namespace planner

#endif
