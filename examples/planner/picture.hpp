// The picture of a comparison: before, after and measured on one time scale, a lane for the kernels and one for every
// channel, and the memory. As SVG, of which a page may redraw the contents when its reader zooms in.
#ifndef STRETTO_PLANNER_PICTURE_HPP
#define STRETTO_PLANNER_PICTURE_HPP

#include <string>
#include <string_view>
#include <vector>

#include "comparison.hpp"

namespace planner {

/// What a bar is drawn as; the names are classes of the style sheet.
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

/// What one machine does, ascending in time and without overlaps.
struct lane {
    std::string title;
    std::vector<bar> bars;
};

/// The compute lane, then the channels in use in the order of their groups. What takes no time is left out.
std::vector<lane> lanes_of(const timeline& t);

/// The sides of the picture from top to bottom: before, after, and a run of the plan if there is one.
std::vector<const timeline*> sides_of(const comparison& c);

/// Time that the picture covers: the longest of its sides.
stretto::nanoseconds time_shown(const comparison& c);

/// A file of its own: for documents, light and dark.
std::string to_svg(const comparison& c);

/// The <svg> element alone, without colours. Groups that hold what depends on the time shown have ids: lane0-1 is the
/// second lane of "before", memory1 the memory of "after", end0, end1 and, of a run, end2 the ends of the steps, and
/// axis.
std::string svg_element(const comparison& c);

/// Colours, as custom properties and classes.
extern const std::string_view picture_style;

/// Text for HTML and XML.
std::string escaped(std::string_view text);

}  // namespace planner

#endif
