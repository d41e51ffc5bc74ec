#include "stretto/tune/form_writer.hpp"

#include <doctest/doctest.h>

#include <type_traits>
#include <vector>

#include "stretto/schedule/memory.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/testing/form_writer_archetype.hpp"
#include "stretto/tune/best_form.hpp"
#include "support/priced_rows.hpp"
#include "support/row_layers.hpp"

using namespace stretto;

namespace {

using least = archetypes::form_writer;

struct without_buckets : least {
    void in_buckets() = delete;  // hides the verb
};
struct without_rivals : least {
    expected<std::optional<program>, error> in_buckets(const program&, const schedule_options&) {
        return std::optional<program>();
    }
};
struct nothing_whole {
    nanoseconds makespan;
    std::vector<limit_figures> figures;
};
struct wrong_error : least {
    int unschedulable(const program&, const limit_too_low&) { return 0; }
};
struct tasks_by_value : least {
    task_graph tasks(const program& p) { return least::tasks(p); }
};
struct double_makespan {
    double makespan;
    nanoseconds whole;
    std::vector<limit_figures> figures;
};

static_assert(form_writer<least>);
static_assert(!form_writer<const least>);  // its verbs are not const
static_assert(!form_writer<without_buckets>);
static_assert(!form_writer<without_rivals>);
static_assert(!form_writer<wrong_error>);
static_assert(!form_writer<tasks_by_value>);
static_assert(!form_writer<int>);
static_assert(chunk_finding<least::chunk_search>);
static_assert(!chunk_finding<double_makespan>);
static_assert(!chunk_finding<nothing_whole>);
static_assert(!std::is_default_constructible_v<least::program>);

}  // namespace

TEST_CASE("a writer that knows one form is enough for a choice: its schedule, or why there is none") {
    support::row_layers step(3, 24, false);
    const task_graph tasks = *make_task_graph(step.view(), support::priced_row_model{});
    least writer;
    const least::program program(tasks);
    const auto best = best_form(writer, program);
    REQUIRE(best);
    CHECK(best->chosen.schedule.order() == list_schedule(tasks)->order());
    CHECK(!best->is_isolated);
    CHECK(!best->is_reduced);
    CHECK(!best->unmerged);

    form_options none;
    none.within.memory_limit = bytes{1};
    const auto nothing = best_form(writer, program, none);
    REQUIRE(!nothing);
    CHECK(nothing.error().limit() == bytes{1});
}
