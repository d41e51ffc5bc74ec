#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "stretto/schedule/detail/held_launches.hpp"
#include "stretto/schedule/detail/list_pass.hpp"
#include "support/node_orders.hpp"
#include "support/prop.hpp"
#include "support/shuffle.hpp"

using namespace stretto;
using detail::compact_tasks;
using detail::workspace;
using support::legal;
using support::toy_program;
using nodes = support::node_order;

namespace {

/// Kernels of 10 ns; the last one reads what a collective of `duration` ns has made of `read` bytes: `made` bytes.
toy_program gather_before_last(std::uint32_t kernels, std::int64_t duration, std::int64_t read, std::int64_t made) {
    toy_program p;
    p.ops.push_back({.duration = {10}, .results = {{{read}, {}}}});
    p.ops.push_back({.kind = op_kind::start, .duration = {duration}, .operands = {{0, 0}}, .results = {{{made}, {}}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{1, 0}}, .results = {{{0}, {{1, 0}}}}});
    for (std::uint32_t k = 0; k < kernels; ++k) p.ops.push_back({.duration = {10}, .results = {{{0}, {}}}});
    p.ops.push_back({.duration = {10}, .operands = {{2, 0}}});
    return p;
}

nodes held(const compact_tasks& c, workspace& w) {
    const nodes given = support::program_order(c.size());
    const workspace::scope scratch(w);
    const detail::held_order held =
        detail::held_within(c, given, detail::times_of(c, given, w), detail::peak_of(c, given, w), w);
    CHECK(held.peak == detail::peak_of(c, held.nodes, w));
    return held.nodes;
}

std::vector<std::int64_t> kernel_begins(const compact_tasks& c, const nodes& order, workspace& w) {
    const workspace::scope scratch(w);
    const detail::order_times t = detail::times_of(c, order, w);
    std::vector<std::int64_t> begins(c.size(), -1);
    for (std::uint32_t n = 0; n < c.size(); ++n)
        if (c.kind[n] == compact_tasks::role::compute) begins[n] = t.lane[t.position[n]];
    return begins;
}

}  // namespace

TEST_CASE("a gather is launched twice its time before its reader, and waited for there") {
    workspace w;
    // 0 kernel, 1 start, 2 wait, 3 to 7 kernels, 8 reader. It takes 15: launched 30 before the reader, behind 4.
    const compact_tasks c = detail::make_compact_tasks(support::graph_of(gather_before_last(5, 15, 1, 100)), w);
    CHECK(held(c, w) == nodes{0, 3, 4, 1, 5, 6, 7, 2, 8});
}

TEST_CASE("a wait that frees more than its collective has made stays") {
    workspace w;
    // Only the wait says when the operand is freed. The start may follow it up to where it must be done.
    const compact_tasks c = detail::make_compact_tasks(support::graph_of(gather_before_last(5, 15, 100, 1)), w);
    CHECK(held(c, w) == nodes{0, 1, 2, 3, 4, 5, 6, 7, 8});
}

TEST_CASE("a collective that is exposed is launched as early as it was") {
    workspace w;
    const compact_tasks c = detail::make_compact_tasks(support::graph_of(gather_before_last(2, 100, 1, 100)), w);
    const nodes order = held(c, w);
    CHECK(order == nodes{0, 1, 3, 4, 2, 5});
    CHECK(detail::makespan_of(c, order, w) == 120);  // the kernels in between are hidden now
    CHECK(detail::makespan_of(c, support::program_order(c.size()), w) == 140);
}

TEST_CASE("a wait goes no further than to the moment where its operand has no room") {
    // As the first one, but kernel 6 needs all the memory there is once the operand of 50 bytes has been freed.
    toy_program p = gather_before_last(5, 15, 50, 100);
    p.ops[6].results[0].size = {200};
    workspace w;
    const compact_tasks c = detail::make_compact_tasks(support::graph_of(p), w);
    const nodes given = support::program_order(c.size());
    const std::int64_t peak = detail::peak_of(c, given, w);
    const nodes order = held(c, w);
    CHECK(detail::peak_of(c, order, w) <= peak);
    CHECK(order == nodes{0, 1, 3, 4, 5, 2, 6, 7, 8});
}

TEST_CASE("property: held orders are legal, no slower anywhere, no higher, and keep the order of each channel") {
    int changed = 0, lower = 0;
    stretto_check("held", 20000, [&](std::uint32_t seed) {
        const support::scheduling_case problem = *support::scheduling_cases(50);
        workspace w;
        const compact_tasks c = detail::make_compact_tasks(support::graph_of(problem.program()), w);
        const nodes wanted = support::shuffled(c.size(), seed);
        const detail::machine_orders preference = detail::machine_orders_of(c, wanted, w);
        const nodes order = detail::forward_pass(c, preference, nullptr, w).run().nodes;
        const std::int64_t peak = detail::peak_of(c, order, w);
        const detail::held_order held = detail::held_within(c, order, detail::times_of(c, order, w), peak, w);
        const nodes& late = held.nodes;
        RC_ASSERT(held.peak == detail::peak_of(c, late, w));
        RC_ASSERT(legal(c, late));
        RC_ASSERT(detail::makespan_of(c, late, w) <= detail::makespan_of(c, order, w));
        RC_ASSERT(detail::peak_of(c, late, w) <= peak);
        const std::vector<std::int64_t> before = kernel_begins(c, order, w), after = kernel_begins(c, late, w);
        for (std::uint32_t n = 0; n < c.size(); ++n) RC_ASSERT(after[n] <= before[n]);
        const detail::machine_orders now = detail::machine_orders_of(c, late, w);
        const detail::machine_orders then = detail::machine_orders_of(c, order, w);
        for (std::uint32_t k = 0; k < now.first[c.machines]; ++k) RC_ASSERT(now.node[k] == then.node[k]);
        changed += late != order;
        lower += detail::peak_of(c, late, w) < peak;
    });
    if (support::runs_all_cases()) {
        CHECK(changed > 2000);
        CHECK(lower > 100);
    }
}

TEST_CASE("stalls that memory is to blame for are found again where they are now") {
    // The wait (2) stalls at once, since memory kept kernel 3 from running; held, it stalls before its reader.
    workspace w;
    const compact_tasks c = detail::make_compact_tasks(support::graph_of(gather_before_last(2, 100, 1, 100)), w);
    const nodes given = support::program_order(c.size());
    const nodes order = held(c, w);
    const nodes starved{2};
    const detail::order_times before = detail::times_of(c, given, w), after = detail::times_of(c, order, w);
    CHECK(detail::starved_when_held(c, before, starved, order, after) == nodes{2});
    CHECK(detail::starved_when_held(c, before, nodes{}, order, after).empty());
}
