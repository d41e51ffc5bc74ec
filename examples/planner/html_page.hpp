// The style sheet and the script that every page of the report contains.
#ifndef STRETTO_PLANNER_HTML_PAGE_HPP
#define STRETTO_PLANNER_HTML_PAGE_HPP

#include <string_view>

namespace planner {

/// The style sheet of the page. It uses the colours of picture_style, which must stand before it.
extern const std::string_view page_style;

/// The script of the page. It redraws the lanes of the picture for the time span that its reader looks at, and
/// describes what is under the pointer.
extern const std::string_view page_script;

}  // namespace planner

#endif
