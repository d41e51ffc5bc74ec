#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "stretto/schedule/detail/kernel_window.hpp"
#include "stretto/schedule/detail/list_pass.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "support/prop.hpp"
#include "support/shuffle.hpp"

using namespace stretto;
using detail::compact_tasks;
using detail::kernel_places;
using detail::kernel_window;
using detail::workspace;
using support::toy_program;

namespace {

using nodes = std::vector<std::uint32_t>;

/// Layers of forward and of backward, last layer first. In a forward layer a collective is exposed unless other work is
/// there. Backward first computes the layer's activations again, which nobody has kept.
toy_program recomputed(int layers) {
    toy_program p;
    const auto add = [&](support::toy_op o) {
        p.ops.push_back(std::move(o));
        return support::toy_value{static_cast<std::uint32_t>(p.ops.size() - 1), 0};
    };
    support::toy_value x = add({.kind = op_kind::input, .results = {{{1}, {}}}});
    std::vector<support::toy_value> kept;
    for (int k = 0; k < layers; ++k) {
        kept.push_back(x);
        const auto sent = add({.kind = op_kind::start, .duration = {20}, .operands = {x}, .results = {{{1}, {}}}});
        const auto got = add({.kind = op_kind::wait, .operands = {sent}, .results = {{{0}, {sent}}}});
        x = add({.duration = {20}, .operands = {got}, .results = {{{1}, {}}}});
    }
    for (int k = layers; k-- > 0;) {
        const auto again =
            add({.duration = {10}, .operands = {kept[static_cast<std::size_t>(k)]}, .results = {{{100}, {}}}});
        const auto sent = add({.kind = op_kind::start, .duration = {20}, .operands = {x}, .results = {{{1}, {}}}});
        const auto got = add({.kind = op_kind::wait, .operands = {sent}, .results = {{{0}, {sent}}}});
        x = add({.duration = {20}, .operands = {got, again}, .results = {{{1}, {}}}});
    }
    p.ops.push_back({.kind = op_kind::output, .operands = {x}});
    return p;
}

}  // namespace

TEST_CASE("places are those of the backward pass, and what is computed again adds to the memory in use") {
    workspace w;
    const compact_tasks c = detail::make_compact_tasks(support::graph_of(recomputed(2)), w);
    const auto late = detail::backward_pass(c, support::program_order(c.size()), w);
    const kernel_places places = detail::places_in(c, late.nodes, w);
    REQUIRE(places.lane.size() == 6);
    std::int64_t lane = 0;
    for (std::uint32_t n : places.lane) {
        CHECK(places.place[n] == lane);
        lane += c.duration[n];
        CHECK(static_cast<bool>(places.adds[n]) == (c.allocation[n] == 100));
    }
}

TEST_CASE("a window holds back what adds memory until the lane comes close, and gives it back by place") {
    workspace w;
    const compact_tasks c = detail::make_compact_tasks(support::graph_of(recomputed(3)), w);
    const auto late = detail::backward_pass(c, support::program_order(c.size()), w);
    const kernel_places places = detail::places_in(c, late.nodes, w);
    nodes again;
    for (std::uint32_t n : places.lane)
        if (places.adds[n]) again.push_back(n);
    REQUIRE(again.size() == 3);
    kernel_window wide(places, INT64_MAX / 4, w), narrow(places, 0, w);
    for (std::uint32_t n : again) CHECK(!wide.holds(n));
    for (std::uint32_t k = 3; k-- > 0;) {
        CHECK(narrow.holds(again[k]));
        narrow.keep(again[k]);
    }
    CHECK(!narrow.has_due());
    for (std::uint32_t n : places.lane) {
        if (n == again[0]) break;
        CHECK(!narrow.holds(n));
        narrow.run(n);
    }
    CHECK(narrow.has_due());
    CHECK(narrow.take_first() == again[0]);
    CHECK(!narrow.has_due());
    CHECK(narrow.take_first() == again[1]);
    CHECK(narrow.take_first() == again[2]);
    CHECK(!narrow.keeps_any());
}

// That windows are what makes it so is seen on a captured step only: tests/reference/golden.cpp.
TEST_CASE("a small step that computes activations again is never slower with more memory") {
    const task_graph g = support::graph_of(recomputed(24));
    const bytes peak = profile_memory(g, support::program_order(g.size())).peak;
    nanoseconds before{INT64_MAX};
    for (std::int64_t percent : {100, 110, 125, 150, 200, 400, 1000, 3000}) {
        const bytes limit{peak.count * percent / 100};
        const auto s = list_schedule(g, {.memory_limit = limit});
        REQUIRE(s.has_value());
        CHECK(s->memory().peak <= limit);
        CHECK(s->makespan() <= before);
        before = s->makespan();
    }
}

TEST_CASE("a pass with a window is legal, exact and within the limit, whatever it prefers and holds back") {
    stretto_check("window", 6000, [](std::uint32_t seed) {
        const support::scheduling_case problem = *support::scheduling_cases(50);
        const toy_program p = problem.program();
        const task_graph g = support::graph_of(p);
        const support::storage_facts facts = support::facts_of(p);
        workspace w;
        const compact_tasks c = detail::make_compact_tasks(g, w);
        const auto preference = detail::machine_orders_of(c, support::shuffled(c.size(), seed), w);
        const auto late = detail::backward_pass(c, support::shuffled(c.size(), seed + 1), w);
        const kernel_places places = detail::places_in(c, late.nodes, w);
        const std::int64_t limit = problem.limit({detail::peak_of(c, support::program_order(c.size()), w)}).count;
        std::int64_t work = 0;
        for (std::uint32_t n : places.lane) work += c.duration[n];
        const detail::baseline b = detail::make_baseline(c, w);
        for (std::int64_t length : {std::int64_t{0}, work / 8, work}) {
            const workspace::scope scratch(w);
            detail::baseline_witness memory(c, b, limit, w);
            kernel_window window(places, length, w);
            const detail::pass_result r = detail::forward_pass(c, preference, &memory, w, &window).run();
            RC_ASSERT(!window.keeps_any());
            const support::task_order order = detail::expand(c, r.nodes);
            const std::string reason = support::illegality(p, facts, order);
            if (!reason.empty()) RC_FAIL(reason);
            const support::naive_figures found = support::figures_of(p, facts, order);
            // A wait that allocates may return later than its collective ends, without the lane waiting that long.
            if ((problem.flavour & 64) == 0) RC_ASSERT(found.makespan == r.makespan);
            else RC_ASSERT(found.makespan <= r.makespan);
            RC_ASSERT(found.peak <= limit);
        }
    });
}
