// expect: checked_order
#include <vector>

#include "stretto/backend/lane_program.hpp"

// Nothing is run in an order that was not checked.
#ifdef EXPECT_FAILURE
auto make(const stretto::task_graph& g, const std::vector<stretto::task_id>& order) {
    return stretto::plan_lanes(g, order);
}
#else
auto make(const stretto::task_graph& g, const std::vector<stretto::task_id>& order) {
    return stretto::plan_lanes(g, *stretto::check_order(g, order));
}
#endif
