// What every page of the report has in common: its style sheet and its script.
#ifndef STRETTO_PLANNER_HTML_PAGE_HPP
#define STRETTO_PLANNER_HTML_PAGE_HPP

#include <string_view>

namespace planner {

/// Beside picture_style, whose colours it uses.
extern const std::string_view page_style;

/// Redraws the lanes of the picture for the time that its reader looks at, and says what is under the pointer.
extern const std::string_view page_script;

}  // namespace planner

#endif
