#include "stretto/schedule/task_labels.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using namespace stretto;

namespace {

struct names {
    std::string name(task_id t) const { return "task " + std::to_string(t); }
    std::string_view group(group_id) const { return "dp"; }
};
struct labels : names {
    const char* op(task_id) const { return "mm"; }
};
struct without_group {
    std::string_view name(task_id) const { return ""; }
    std::string_view op(task_id) const { return ""; }
};
struct named_by_number : names {
    int name(task_id t) const { return static_cast<int>(t); }
};
struct changes_when_asked : names {
    std::string name(task_id) { return ""; }
};
struct numbered_ops : names {
    int op(task_id) const { return 0; }
};

}  // namespace

TEST_CASE("names are texts of tasks and of groups, and may be made when they are asked for") {
    static_assert(task_names<names>);
    static_assert(!task_names<without_group>);
    static_assert(!task_names<named_by_number>);
    static_assert(!task_names<changes_when_asked>);
    const names n;
    CHECK(std::string_view(n.name(7)) == "task 7");
}

TEST_CASE("traces ask for operators as well") {
    static_assert(task_labels<labels>);
    static_assert(task_names<labels>);
    static_assert(!task_labels<names>);
    static_assert(!task_labels<without_group>);
    static_assert(!task_labels<numbered_ops>);
    CHECK(std::string_view(labels().op(0)) == "mm");
}
