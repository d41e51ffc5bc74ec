// Draws the picture of a comparison as SVG: before, after and measured on one time scale, each with a lane for the
// kernels, one for every channel, and the memory. A page may redraw the contents when its reader zooms in.
#ifndef STRETTO_PLANNER_PICTURE_HPP
#define STRETTO_PLANNER_PICTURE_HPP

#include <string>
#include <string_view>
#include <vector>

#include "comparison.hpp"

namespace planner {

/// How a bar is drawn. The names are classes of the style sheet.
enum class look : unsigned char {
    kernel,
    stall,
    all_gather,
    reduce_scatter,
    all_reduce,
    all_to_all,
    other
};
inline constexpr std::string_view look_names[] = {"kernel",     "stall",      "all_gather", "reduce_scatter",
                                                  "all_reduce", "all_to_all", "other"};

/// A kernel, a collective on its channel, or a wait that stalls the lane.
struct bar {
    stretto::task_id task;
    stretto::nanoseconds begin, end;
    look drawn_as;
};

/// The bars of one lane or channel, ascending in time and without overlaps.
struct lane {
    std::string title;
    std::vector<bar> bars;
};

/// Returns the compute lane, then the channels in use in the order of their groups. Operations that take no time are
/// left out.
std::vector<lane> lanes_of(const timeline& t);

/// Returns the timelines of the picture from top to bottom: before, after, and a run of the plan if there is one.
std::vector<const timeline*> sides_of(const comparison& c);

/// Returns the time that the picture covers: the longest of its timelines.
stretto::nanoseconds time_shown(const comparison& c);

/// Returns the picture as a file of its own, with styles for light and dark documents.
std::string to_svg(const comparison& c);

/// Returns the <svg> element alone, without colours. Groups whose contents depend on the time shown have ids: lane0-1
/// is the second lane of "before", memory1 the memory of "after"; end0, end1 and, for a run, end2 are the ends of the
/// steps; and axis.
std::string svg_element(const comparison& c);

/// The colours, as custom properties and classes.
extern const std::string_view picture_style;

/// Returns a text with the characters escaped that are special in HTML and XML.
std::string escaped(std::string_view text);

}  // namespace planner

#endif
