#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <vector>

#include "stretto/schedule/simulate.hpp"
#include "support/prop.hpp"

using namespace stretto;
using support::toy_program;

namespace {

simulation simulate_program(const toy_program& p) {
    const task_graph g = support::graph_of(p);
    return simulate(g, support::program_order(g.size()));
}

}  // namespace

TEST_CASE("kernels occupy the lane one after the other; nothing else does") {
    toy_program p;
    p.ops.push_back({.kind = op_kind::input, .duration = {1000}, .results = {{{8}, {}}}});
    p.ops.push_back({.duration = {10}, .operands = {{0, 0}}, .results = {{{8}, {}}}});
    p.ops.push_back({.kind = op_kind::view, .duration = {1000}, .operands = {{1, 0}}, .results = {{{0}, {{1, 0}}}}});
    p.ops.push_back({.kind = op_kind::wait, .duration = {1000}, .operands = {{2, 0}}, .results = {{{0}, {{2, 0}}}}});
    p.ops.push_back({.kind = op_kind::wait, .duration = {1000}});
    p.ops.push_back({.duration = {5}, .operands = {{3, 0}}, .results = {{{8}, {}}}});
    p.ops.push_back({.kind = op_kind::output, .duration = {1000}, .operands = {{5, 0}}});
    const simulation s = simulate_program(p);
    CHECK(s.makespan.count == 15);
    CHECK(s.compute.count == 15);
    CHECK(s.exposed.count == 0);
    CHECK(s.begin == std::vector<nanoseconds>{{0}, {0}, {10}, {10}, {10}, {10}, {15}});
    const task_graph g = support::graph_of(p);
    CHECK(s.end(g, 0).count == 0);
    CHECK(s.end(g, 1).count == 10);
    CHECK(s.end(g, 3).count == 10);
}

TEST_CASE("a collective begins when the lane has reached it and its channel is free; the lane goes on") {
    toy_program p;
    p.groups = 2;
    p.ops.push_back({.duration = {10}});
    p.ops.push_back({.kind = op_kind::start, .group = 0, .duration = {100}, .results = {{{8}, {}}}});
    p.ops.push_back({.kind = op_kind::start, .group = 0, .duration = {20}, .results = {{{8}, {}}}});
    p.ops.push_back({.kind = op_kind::start, .group = 1, .duration = {30}, .results = {{{8}, {}}}});
    p.ops.push_back({.duration = {50}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{3, 0}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{2, 0}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{1, 0}}});
    const simulation s = simulate_program(p);
    CHECK(s.begin == std::vector<nanoseconds>{{0}, {10}, {110}, {10}, {10}, {60}, {130}, {130}});
    CHECK(s.stall == std::vector<nanoseconds>{{0}, {0}, {0}, {0}, {0}, {0}, {70}, {0}});
    CHECK(s.exposed.count == 70);
    CHECK(s.compute.count == 60);
    CHECK(s.makespan.count == 130);
    CHECK(s.end(support::graph_of(p), 2).count == 130);
}

TEST_CASE("a collective that nobody waits for still belongs to the step") {
    toy_program p;
    p.ops.push_back({.kind = op_kind::start, .duration = {40}, .results = {{{8}, {}}}});
    p.ops.push_back({.duration = {10}});
    CHECK(simulate_program(p).makespan.count == 40);
    CHECK(simulate_program(p).exposed.count == 0);
    CHECK(simulate_program({}).makespan.count == 0);
}

TEST_CASE("the clock is that of the definition, in any order") {
    stretto_check("against the oracle", 4000, [](const std::vector<std::uint8_t>& picks) {
        const toy_program p = (*support::scheduling_cases(50)).program();
        const task_graph g = support::graph_of(p);
        const support::task_order order = support::random_order(g, picks);
        RC_ASSERT(order.size() == g.size());
        const simulation s = simulate(g, order);
        const support::naive_figures expected = support::figures_of(p, support::facts_of(p), order);
        RC_ASSERT(s.makespan.count == expected.makespan);
        RC_ASSERT(s.exposed.count == expected.exposed);
        RC_ASSERT(s.compute.count == expected.compute);
        nanoseconds stalls;
        for (nanoseconds stall : s.stall) stalls += stall;
        RC_ASSERT(stalls == s.exposed);
        for (std::size_t i = 1; i < order.size(); ++i) {
            // What runs on the lane begins in the order of the list; only collectives may begin later.
            const bool on_lane = g.kind[order[i]] != op_kind::start && g.kind[order[i - 1]] != op_kind::start;
            if (on_lane) RC_ASSERT(s.begin[order[i - 1]] <= s.begin[order[i]]);
        }
    });
}
