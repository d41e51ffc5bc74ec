#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include "stretto/schedule/explain.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "stretto/schedule/certificate.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "stretto/schedule/task_labels.hpp"

using namespace stretto;
using support::toy_program;

namespace {

/// Names that merely convert to text.
struct names {
    struct text {
        std::string is;
        operator std::string_view() const { return is; }
    };
    text name(task_id t) const { return {"t" + std::to_string(t)}; }
    text group(group_id g) const { return {"g" + std::to_string(g)}; }
};
static_assert(task_names<names> && !task_labels<names>);

/// What is said of every collective of program order.
std::vector<std::string> said(const toy_program& p) {
    const task_graph g = support::graph_of(p);
    std::vector<task_id> order(g.size());
    for (task_id t = 0; t < g.size(); ++t) order[t] = t;
    const simulation times = simulate(g, order);
    std::vector<std::string> all;
    for (const collective_exposure& e : explain_exposure(g, order, times))
        all.push_back(explain({g, order, times}, e, names{}));
    return all;
}
support::toy_op kernel(std::int64_t ns, std::vector<support::toy_value> reads = {}) {
    return {.duration = {ns}, .operands = std::move(reads), .results = {{{8}, {}}}};
}
support::toy_op start(std::int64_t ns, std::vector<support::toy_value> reads = {}) {
    return {.kind = op_kind::start, .duration = {ns}, .operands = std::move(reads), .results = {{{8}, {}}}};
}
support::toy_op wait(std::uint32_t launch) {
    return {.kind = op_kind::wait, .operands = {{launch, 0}}, .results = {{{0}, {{launch, 0}}}}};
}

}  // namespace

TEST_CASE("names are those of the enumerators") {
    CHECK(name_of(exposure_reason::hidden) == "hidden");
    CHECK(name_of(exposure_reason::dependence) == "dependence");
    CHECK(name_of(exposure_reason::channel) == "channel");
    CHECK(name_of(exposure_reason::memory) == "memory");
    CHECK(name_of(bound_kind::load) == "load");
    CHECK(name_of(bound_kind::critical_path) == "critical_path");
    CHECK(name_of(bound_kind::jackson) == "jackson");
    CHECK(name_of(bound_kind::spine) == "spine");
    CHECK(name_of(bound_kind::memory) == "memory");
    CHECK(name_of(bound_kind::precedence) == "precedence");
    CHECK(name_of(bound_kind::deferral) == "deferral");
}

TEST_CASE("a dependence names what came late, and how little work was left") {
    toy_program p;
    p.ops = {kernel(1000), start(5000, {{0, 0}}), kernel(2000), wait(1)};
    CHECK(said(p) ==
          std::vector<std::string>{"depends on t0, which ends at 1.00 us; only 2.00 us of other work was left "
                                   "before t3 needed it"});
    p.ops = {start(5000), wait(0)};
    CHECK(said(p) ==
          std::vector<std::string>{"reads nothing that is computed; no other work was left before t1 needed it"});
    p.ops = {kernel(9000), start(5000), wait(1)};
    CHECK(said(p) ==
          std::vector<std::string>{"reads nothing that is computed, and was launched 9.00 us later; no other "
                                   "work was left before t2 needed it"});
}

TEST_CASE("of a collective that need only have begun, its beginning is named") {
    // A view reads the shape of what the first collective will make, and the second collective, on a channel of its
    // own, reads the view.
    toy_program p;
    p.groups = 2;
    p.ops = {kernel(1000),
             start(9000, {{0, 0}}),
             {.kind = op_kind::view, .operands = {{1, 0}}, .results = {{{0}, {}}}},
             start(5000, {{2, 0}}),
             wait(3)};
    p.ops[3].group = 1;
    CHECK(said(p)[1] == "depends on t1, which begins at 1.00 us; no other work was left before t4 needed it");
}

TEST_CASE("a busy channel names the collective in front, and the group") {
    toy_program p;
    p.ops = {start(8000), start(1000), kernel(100), wait(1), wait(0)};
    CHECK(said(p)[1] == "queued 8.00 us behind t0 on g0");
    p.ops = {start(100), kernel(200), wait(0)};
    CHECK(said(p)[0] == "hidden under other work");
}

TEST_CASE("memory that keeps kernels back is named with its limit") {
    toy_program p;
    p.ops = {start(1000), wait(0), kernel(100), kernel(100), kernel(100, {{1, 0}})};
    const task_graph g = support::graph_of(p);
    const std::vector<task_id> order = {0, 1, 2, 3, 4};
    const simulation times = simulate(g, order);
    const std::vector<task_id> starved = {1};
    const auto all = explain_exposure(g, order, times, starved);
    REQUIRE(all[0].reason == exposure_reason::memory);
    CHECK(explain({g, order, times, {1536}}, all[0], names{}) ==
          "2 kernels were ready, but would have exceeded the memory limit of 1.50 KiB");
    CHECK(culprit_of(g, times, all[0]) == no_task);
}

TEST_CASE("the culprit is what the reason blames") {
    toy_program p;
    p.ops = {kernel(1000),
             {.kind = op_kind::view, .operands = {{0, 0}}, .results = {{{0}, {{0, 0}}}}},
             start(5000, {{1, 0}}),
             start(100),
             wait(3),
             wait(2)};
    const task_graph g = support::graph_of(p);
    const std::vector<task_id> order = {0, 1, 2, 3, 4, 5};
    const simulation times = simulate(g, order);
    const auto all = explain_exposure(g, order, times);
    REQUIRE(all.size() == 2);
    CHECK(culprit_of(g, times, all[1]) == 2);  // on the channel in front of it
    collective_exposure first = all[0];
    first.reason = exposure_reason::dependence;
    CHECK(culprit_of(g, times, first) == 0);  // seen through the view
}

TEST_CASE("what bounds rest on") {
    CHECK(explain(lower_bound{{1}, bound_kind::load, 0}, names{}) == "the compute lane is busy that long");
    CHECK(explain(lower_bound{{1}, bound_kind::load, 3}, names{}) == "the channel of g2 is busy that long");
    CHECK(explain(lower_bound{{1}, bound_kind::jackson, 1}, names{}) ==
          "the channel of g0 with what must come before and after its work");
    CHECK(explain(lower_bound{{1}, bound_kind::critical_path, 0}, names{}) == "a chain of dependences takes that long");
    CHECK(explain(lower_bound{{1}, bound_kind::memory, 0}, names{}) ==
          "what finds no room beside each other must lie between points of the critical path");
    CHECK(explain(lower_bound{{1}, bound_kind::precedence, 0}, names{}) ==
          "what memory has no room for before a kernel comes after it");
    CHECK(explain(lower_bound{{1}, bound_kind::deferral, 0}, names{}) ==
          "work that memory has no room to put off comes before a kernel and what must follow it");
    CHECK(explain(lower_bound{{1}, bound_kind::spine, 0}, names{}) ==
          "work that must lie between points of the critical path");
}
