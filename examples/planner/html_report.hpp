// One page that shows a comparison: figures, timelines to zoom into, and the worst collectives with their reasons.
#ifndef STRETTO_PLANNER_HTML_REPORT_HPP
#define STRETTO_PLANNER_HTML_REPORT_HPP

#include <cstddef>
#include <string>

#include "comparison.hpp"

namespace planner {

/// A page that needs nothing but itself, with the `explain` worst collectives: no network, no other file. About 60
/// bytes per kernel and collective. Without scripts it still shows everything, only it does not zoom.
std::string to_html(const comparison& c, std::size_t explain);

}  // namespace planner

#endif
