#include "stretto/capture/capture_of_tasks.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <vector>

#include "stretto/capture/capture_reader.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/capture/capture_writer.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "stretto/schedule/memory.hpp"
#include "stretto/schedule/simulate.hpp"
#include "support/prop.hpp"
#include "support/random_program.hpp"
#include "support/soa_ir.hpp"

using namespace stretto;

namespace {

struct labels {
    std::string name(task_id t) const { return "t" + std::to_string(t); }
    std::string op(task_id t) const { return t % 2 == 0 ? "even" : "odd"; }
    std::string group(group_id g) const { return "g" + std::to_string(g); }
};

struct one_name : labels {
    std::string name(task_id) const { return "same"; }
};

/// Files know four kinds of collectives.
support::toy_program with_known_collectives(support::toy_program p) {
    for (support::toy_op& o : p.ops)
        if (o.kind == op_kind::start && o.collective == collective_kind::other)
            o.collective = collective_kind::all_reduce;
    return p;
}

std::vector<capture_group> groups_of(const support::toy_program& p) {
    std::vector<capture_group> groups;
    for (group_id k = 0; k < p.groups; ++k) groups.push_back({labels().group(k), 2});
    return groups;
}

task_graph tasks_of(const support::toy_program& p) {
    const support::soa_ir ir(p);
    return *make_task_graph(ir.view(), ir.model());
}

/// Which tasks come before which in every order. Which of several aliases a task was written with is not known any
/// more, so direct predecessors may be others.
std::vector<std::vector<bool>> closure_of(const task_graph& g) {
    std::vector<std::vector<bool>> before(g.size(), std::vector<bool>(g.size(), false));
    for (task_id t = 0; t < g.size(); ++t)
        for (const task_id p : g.predecessors[t]) {
            before[t][p] = true;
            for (task_id q = 0; q < p; ++q)
                if (before[p][q]) before[t][q] = true;
        }
    return before;
}

}  // namespace

TEST_CASE("a program as a captured step has the same times, memory and dependences in every order") {
    support::program_options options;
    options.multi_result = options.waits_on_nothing = false;
    stretto_check("captures of tasks", 2'000, [&] {
        const support::toy_program p = with_known_collectives(*support::random_programs(options));
        const task_graph g = tasks_of(p);
        const auto step = capture_of_tasks(g, "a step", groups_of(p), labels());
        if (!step) RC_FAIL(step.error().message());
        const auto again = make_task_graph(capture_view{&*step}, capture_op_model{&*step});
        RC_ASSERT(again.has_value());
        RC_ASSERT(again->kind == g.kind);
        RC_ASSERT(again->launch == g.launch);
        RC_ASSERT(closure_of(*again) == closure_of(g));
        const auto ordered = list_schedule(g, {});
        RC_ASSERT(ordered.has_value());
        const auto order = ordered->order();
        RC_ASSERT(simulate(*again, order).makespan == simulate(g, order).makespan);
        RC_ASSERT(profile_memory(*again, order).live == profile_memory(g, order).live);
    });
}

TEST_CASE("the results of one task become one value, and memory is no less than it is") {
    support::program_options options;
    options.waits_on_nothing = false;
    stretto_check("captures of tasks with several results", 1'000, [&] {
        const support::toy_program p = with_known_collectives(*support::random_programs(options));
        const task_graph g = tasks_of(p);
        const auto step = capture_of_tasks(g, "a step", groups_of(p), labels());
        if (!step) RC_FAIL(step.error().message());
        const auto again = make_task_graph(capture_view{&*step}, capture_op_model{&*step});
        RC_ASSERT(again.has_value());
        std::vector<task_id> order(g.size());
        for (task_id t = 0; t < g.size(); ++t) order[t] = t;
        RC_ASSERT(simulate(*again, order).makespan == simulate(g, order).makespan);
        RC_ASSERT(profile_memory(*again, order).peak >= profile_memory(g, order).peak);
    });
}

TEST_CASE("names that occur twice, groups that are missing, and collectives that files do not know are errors") {
    support::toy_program p;
    p.ops.resize(2);
    p.ops[0].kind = op_kind::input;
    p.ops[1] = {.kind = op_kind::start, .collective = collective_kind::all_gather, .group = 1};
    const task_graph g = tasks_of(p);
    CHECK_FALSE(capture_of_tasks(g, "s", std::vector<capture_group>{{"a", 2}}, labels()));
    const std::vector<capture_group> groups = {{"a", 2}, {"b", 2}};
    CHECK(capture_of_tasks(g, "s", groups, labels()));
    CHECK_FALSE(capture_of_tasks(g, "s", groups, one_name()));
    p.ops[1].collective = collective_kind::other;
    CHECK_FALSE(capture_of_tasks(tasks_of(p), "s", groups, labels()));
}
