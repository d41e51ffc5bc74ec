#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include "stretto/schedule/rank_program.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <vector>

#include "stretto/schedule/deadlock.hpp"
#include "support/prop.hpp"
#include "support/random_program.hpp"

using namespace stretto;
using support::toy_program;

namespace {

/// Starts on the groups, then one wait for each, in the order of `waits`.
task_graph step(const std::vector<group_id>& starts) {
    toy_program p;
    p.groups = 3;
    for (const group_id g : starts) p.ops.push_back({.kind = op_kind::start, .group = g, .results = {{{8}, {}}}});
    for (std::uint32_t k = 0; k < starts.size(); ++k)
        p.ops.push_back({.kind = op_kind::wait, .operands = {{k, 0}}, .results = {{{0}, {{k, 0}}}}});
    return support::graph_of(p);
}

}  // namespace

TEST_CASE("a collective begins after the kernels launched before it, and a wait is where those wait") {
    const task_graph g = step({1, 0});
    const rank_program p = program_of(g, std::vector<task_id>{0, 2, 1, 3});
    REQUIRE(p.size() == 4);
    CHECK(p[0].what == rank_action::form::collective);
    CHECK(p[0].group == 1);
    CHECK(p[0].after.empty());
    CHECK(p[1].what == rank_action::form::kernel);
    CHECK(p[1].after == std::vector<std::uint32_t>{0});
    CHECK(p[2].group == 0);
    CHECK(p[2].after == std::vector<std::uint32_t>{1});
    CHECK(p[3].stream == p[1].stream);
    CHECK(p[3].stream != p[0].stream);
    CHECK(p[3].stream != p[2].stream);
}

TEST_CASE("communicators in flight are those with collectives that no wait has seen") {
    const auto most = [](const task_graph& g, const std::vector<task_id>& order) {
        return communicators_in_flight(g, order);
    };
    const task_graph two = step({1, 0});
    CHECK(most(two, {0, 1, 2, 3}) == 2);
    CHECK(most(two, {0, 2, 1, 3}) == 1);
    const task_graph one = step({2, 2, 1});
    CHECK(most(one, {0, 1, 3, 4, 2, 5}) == 1);
    CHECK(most(one, {0, 1, 3, 2, 4, 5}) == 2);
    CHECK_MESSAGE(most(one, {0, 1, 4, 2, 3, 5}) == 1, "with the second collective of a stream, the first is complete");
}

TEST_CASE("property: ranks that issue one order cannot hang where their devices hold what is in flight") {
    int tight = 0;
    stretto_check("one order", 300, [&] {
        const toy_program p = *support::random_programs({.max_ops = 24});
        const task_graph g = support::graph_of(p);
        std::vector<task_id> order(g.size());
        for (task_id t = 0; t < g.size(); ++t) order[t] = t;
        const std::vector<rank_id> both = {0, 1};
        std::vector<process_group> groups;
        for (group_id k = 0; k < g.groups; ++k) groups.push_back({.size = 2, .id = k, .ranks = both});
        const std::vector<rank_program> programs(2, program_of(g, order));
        const std::uint32_t in_flight = communicators_in_flight(g, order);
        RC_ASSERT(check_deadlock(programs, groups, {.resident = in_flight == 0 ? 1 : in_flight}));
        RC_ASSERT(check_deadlock(programs, groups, {.resident = 1, .in_launch_order = true}));
        // Two ranks hang in fewer places if each can hold as many collectives that the other has not begun.
        if (in_flight >= 2 && !check_deadlock(programs, groups, {.resident = in_flight / 2})) ++tight;
    });
    if (support::runs_all_cases()) CHECK(tight > 30);
}
