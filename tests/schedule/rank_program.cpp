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
#include "support/reading_model.hpp"

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

TEST_CASE("the host waits for all that was launched before it where it reads a number, be it a kernel or a view") {
    for (const op_kind kind : {op_kind::compute, op_kind::view}) {
        toy_program p;
        p.ops.push_back({.kind = op_kind::start, .results = {{{8}, {}}}});
        p.ops.push_back({.kind = op_kind::wait, .operands = {{0, 0}}, .results = {{{0}, {{0, 0}}}}});
        p.ops.push_back({.kind = kind, .operands = {{1, 0}}});
        p.ops.push_back({.kind = op_kind::start, .results = {{{8}, {}}}});
        const task_graph g = support::graph_of(p, {1, 1, 1, 1});  // of others than kernels and views nobody asks
        const rank_program behind = program_of(g, std::vector<task_id>{0, 1, 2, 3});
        REQUIRE(behind.size() == 4);
        CHECK(behind[2].what == rank_action::form::host_wait);
        CHECK(behind[2].after == std::vector<std::uint32_t>{1});
        const rank_program alone = program_of(support::graph_of({{{.kind = kind}}}, {1}), std::vector<task_id>{0});
        REQUIRE(alone.size() == 1);
        CHECK(alone[0].after.empty());
    }
}

TEST_CASE("ranks that read numbers between different launches hang, and say that a host waits") {
    // A collective on each of two groups and its wait; the host reads a number behind the first wait.
    toy_program p;
    p.groups = 2;
    for (const group_id group : {0u, 1u})
        p.ops.push_back({.kind = op_kind::start, .group = group, .results = {{{8}, {}}}});
    for (const std::uint32_t start : {0u, 1u})
        p.ops.push_back({.kind = op_kind::wait, .operands = {{start, 0}}, .results = {{{0}, {{start, 0}}}}});
    p.ops.push_back({.operands = {{2, 0}}});
    p.ops.push_back({.operands = {{3, 0}}});
    const std::vector<rank_id> both = {0, 1};
    const std::vector<process_group> groups = {{.size = 2, .id = 0, .ranks = both},
                                               {.size = 2, .id = 1, .ranks = both}};
    const std::vector<task_id> here = {0, 2, 4, 1, 3, 5}, there = {1, 3, 5, 0, 2, 4}, together = {0, 1, 2, 3, 4, 5};
    const auto judged = [&](const task_graph& g, const std::vector<task_id>& a, const std::vector<task_id>& b) {
        return check_deadlock(std::vector<rank_program>{program_of(g, a), program_of(g, b)}, groups);
    };
    const task_graph reads = support::graph_of(p, {0, 0, 0, 0, 1, 1});
    CHECK(judged(reads, here, here));
    CHECK(judged(reads, together, together));
    const auto hang = judged(reads, here, there);
    REQUIRE(!hang);
    CHECK(hang.error().why == deadlock::reason::cycle);
    bool held = false;
    for (const blocked_action& b : hang.error().chain) held = held || b.why == blocked_action::reason::host;
    CHECK(held);
    // Where no data flows between the two collectives, launches that nobody holds up are all made.
    const std::vector<task_id> early = {0, 1, 2, 4, 3, 5}, late = {1, 0, 3, 5, 2, 4};
    CHECK(judged(reads, early, late));
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
        const auto drawn = *rc::gen::arbitrary<std::vector<std::uint8_t>>();
        const task_graph g = support::graph_of(p, support::marks_of(p, drawn));
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
