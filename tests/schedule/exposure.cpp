#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <vector>

#include "stretto/schedule/exposure.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "support/prop.hpp"

using namespace stretto;
using why = exposure_reason;
using support::toy_program;

namespace {

std::vector<collective_exposure> explain(const toy_program& p, const std::vector<task_id>& order,
                                         const std::vector<task_id>& starved = {}) {
    const task_graph g = support::graph_of(p);
    return explain_exposure(g, order, simulate(g, order), starved);
}

std::vector<collective_exposure> explain(const toy_program& p) {
    return explain(p, support::program_order(p.ops.size()));
}

}  // namespace

TEST_CASE("hidden: a kernel runs as long as the collective") {
    toy_program p;
    p.ops.push_back({.kind = op_kind::start, .duration = {30}, .results = {{{8}, {}}}});
    p.ops.push_back({.duration = {30}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{0, 0}}});
    const auto all = explain(p);
    REQUIRE(all.size() == 1);
    CHECK(all[0].start == 0);
    CHECK(all[0].wait == 2);
    CHECK(all[0].exposed.count == 0);
    CHECK(all[0].ready.count == 0);
    CHECK(all[0].begin.count == 0);
    CHECK(all[0].needed.count == 30);
    CHECK(all[0].reason == why::hidden);
    CHECK(all[0].blocker == no_task);
}

TEST_CASE("dependence: its input came late, and little was left to run meanwhile") {
    toy_program p;
    p.ops.push_back({.duration = {50}, .results = {{{8}, {}}}});
    p.ops.push_back({.kind = op_kind::start, .duration = {30}, .operands = {{0, 0}}, .results = {{{8}, {}}}});
    p.ops.push_back({.duration = {10}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{1, 0}}});
    const auto all = explain(p);
    REQUIRE(all.size() == 1);
    CHECK(all[0].exposed.count == 20);
    CHECK(all[0].ready.count == 50);
    CHECK(all[0].begin.count == 50);
    CHECK(all[0].needed.count == 60);
    CHECK(all[0].reason == why::dependence);
    CHECK(all[0].blocker == 0);
}

TEST_CASE("channel: it queued behind another collective of its group") {
    toy_program p;
    p.groups = 2;
    p.ops.push_back({.kind = op_kind::start, .group = 1, .duration = {100}, .results = {{{8}, {}}}});
    p.ops.push_back({.kind = op_kind::start, .group = 1, .duration = {30}, .results = {{{8}, {}}}});
    p.ops.push_back({.kind = op_kind::start, .group = 0, .duration = {20}, .results = {{{8}, {}}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{1, 0}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{0, 0}}});
    const auto all = explain(p);
    REQUIRE(all.size() == 3);
    CHECK(all[0].reason == why::hidden);
    CHECK(all[1].exposed.count == 130);
    CHECK(all[1].ready.count == 0);
    CHECK(all[1].begin.count == 100);
    CHECK(all[1].reason == why::channel);
    CHECK(all[1].blocker == 0);
    // Nobody waits for the third.
    CHECK(all[2].wait == no_task);
    CHECK(all[2].exposed.count == 0);
    CHECK(all[2].reason == why::hidden);
}

TEST_CASE("a channel that was idle again when the collective was issued is not to blame") {
    toy_program p;
    p.ops.push_back({.kind = op_kind::start, .duration = {10}, .results = {{{8}, {}}}});
    p.ops.push_back({.duration = {100}});
    p.ops.push_back({.kind = op_kind::start, .duration = {50}, .results = {{{8}, {}}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{2, 0}}});
    const auto all = explain(p);
    REQUIRE(all.size() == 2);
    CHECK(all[1].exposed.count == 50);
    CHECK(all[1].begin.count == 100);
    CHECK(all[1].reason == why::dependence);
    CHECK(all[1].blocker == no_task);
}

TEST_CASE("memory: kernels were ready, but would have exceeded the limit") {
    // 0 and 1: a gather and its wait; 2 frees it. 4 needs room that is there only when the gather is gone.
    toy_program p;
    p.ops.push_back({.kind = op_kind::start, .duration = {40}, .results = {{{100}, {}}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{0, 0}}, .results = {{{0}, {{0, 0}}}}});
    p.ops.push_back({.duration = {10}, .operands = {{1, 0}}, .results = {}});
    // Something to win, so that the input order does not stand: 3 and 6 can begin at once.
    p.ops.push_back({.duration = {1}, .results = {}});
    p.ops.push_back({.duration = {40}, .results = {{{100}, {}}}});
    p.ops.push_back({.duration = {1}, .operands = {{4, 0}}, .results = {}});
    p.ops.push_back({.kind = op_kind::start, .group = 1, .duration = {20}, .results = {{{0}, {}}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{6, 0}}});
    p.groups = 2;
    const task_graph g = support::graph_of(p);
    const auto tight = list_schedule(g, {.memory_limit = bytes{100}});
    REQUIRE(tight.has_value());
    REQUIRE(tight->makespan().count == 91);
    const auto& reasons = tight->exposures();
    REQUIRE(reasons.size() == 2);
    const collective_exposure& gather = reasons[0].start == 0 ? reasons[0] : reasons[1];
    CHECK(gather.start == 0);
    CHECK(gather.exposed.count > 0);
    CHECK(gather.reason == why::memory);
    const auto roomy = list_schedule(g, {.memory_limit = bytes{200}});
    REQUIRE(roomy.has_value());
    for (const collective_exposure& e : roomy->exposures()) CHECK(e.reason == why::hidden);
    // Told so, it says so of any order.
    CHECK(explain(p, support::program_order(8), {1})[0].reason == why::memory);
    CHECK(explain(p, support::program_order(8))[0].reason == why::dependence);
}

TEST_CASE("collectives come in the order of their starts; several waits of one add up") {
    toy_program p;
    p.ops.push_back({.kind = op_kind::start, .duration = {10}, .results = {{{8}, {}}}});
    p.ops.push_back({.kind = op_kind::start, .duration = {10}, .results = {{{8}, {}}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{0, 0}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{0, 0}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{1, 0}}});
    const auto all = explain(p, {1, 0, 3, 2, 4});
    REQUIRE(all.size() == 2);
    CHECK(all[0].start == 1);
    CHECK(all[0].exposed.count == 0);
    CHECK(all[1].start == 0);
    CHECK(all[1].wait == 3);
    CHECK(all[1].exposed.count == 20);
}

TEST_CASE("exposures add up, and each is a reason exactly if it is not zero") {
    stretto_check("sums", 3000, [](const std::vector<std::uint8_t>& picks) {
        const toy_program p = (*support::scheduling_cases(50)).program();
        const task_graph g = support::graph_of(p);
        const support::task_order order = support::random_order(g, picks);
        const simulation s = simulate(g, order);
        const auto all = explain_exposure(g, order, s);
        std::size_t next = 0;
        nanoseconds sum;
        for (task_id t : order)
            if (g.kind[t] == op_kind::start) RC_ASSERT(all[next++].start == t);
        RC_ASSERT(next == all.size());
        for (const collective_exposure& e : all) {
            sum += e.exposed;
            RC_ASSERT((e.exposed.count > 0) == (e.reason != why::hidden));
            RC_ASSERT(e.reason != why::memory);
            RC_ASSERT(e.begin == s.begin[e.start]);
            if (e.wait != no_task) RC_ASSERT(e.needed + s.stall[e.wait] == s.begin[e.wait]);
            if (e.reason == why::channel) {
                RC_ASSERT(g.group[e.blocker] == g.group[e.start]);
                RC_ASSERT(s.end(g, e.blocker) == e.begin);
                RC_ASSERT(e.ready < e.begin);
            }
        }
        RC_ASSERT(sum == s.exposed);
    });
}
