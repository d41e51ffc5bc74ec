#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <span>
#include <vector>

#include "stretto/schedule/detail/list_pass.hpp"
#include "support/prop.hpp"
#include "support/shuffle.hpp"

using namespace stretto;
using detail::compact_tasks;
using detail::machine_orders;
using detail::pass_result;
using detail::workspace;
using support::toy_program;

namespace {

/// Kernels 0, 2, 3 and collectives 1, 4 on channels 1 and 2, none of which depends on another.
compact_tasks five_nodes(workspace& w) {
    toy_program p;
    p.groups = 2;
    p.ops.push_back({.duration = {10}});
    p.ops.push_back({.kind = op_kind::start, .group = 0, .duration = {10}, .results = {{{1}, {}}}});
    p.ops.push_back({.duration = {10}});
    p.ops.push_back({.duration = {10}});
    p.ops.push_back({.kind = op_kind::start, .group = 1, .duration = {10}, .results = {{{1}, {}}}});
    return detail::make_compact_tasks(support::graph_of(p), w);
}

using nodes = std::vector<std::uint32_t>;
nodes listed(std::span<const std::uint32_t> all) { return {all.begin(), all.end()}; }

bool same(const machine_orders& a, const machine_orders& b) {
    return a.first == b.first && listed(a.node) == listed(b.node) && listed(a.rank) == listed(b.rank);
}

pass_result forward(const compact_tasks& c, const machine_orders& preference, workspace& w) {
    const workspace::scope scratch(w);
    return detail::forward_pass(c, preference, nullptr, w).run();
}

pass_result forward(const compact_tasks& c, const machine_orders& preference, workspace& w, std::int64_t limit) {
    const workspace::scope scratch(w);
    const detail::baseline b = detail::make_baseline(c, support::program_order(c.size()), w);
    detail::baseline_witness memory(c, b, limit, w);
    return detail::forward_pass(c, preference, &memory, w).run();
}

}  // namespace

TEST_CASE("machine orders: what each machine does, first to last or last to first") {
    workspace w;
    const compact_tasks c = five_nodes(w);
    const nodes order{3, 4, 0, 1, 2};
    const machine_orders m = detail::machine_orders_of(c, order, w);
    CHECK(m.first == nodes{0, 3, 4, 5, 5});
    CHECK(listed(m.node) == nodes{3, 0, 2, 1, 4});
    CHECK(listed(m.rank) == nodes{1, 3, 2, 0, 4});
    CHECK(listed(detail::machine_orders_of(c, order, w, true).node) == nodes{2, 0, 3, 1, 4});
}

TEST_CASE("a blend follows one preference on the channels and stands between both on the lane") {
    workspace w;
    const compact_tasks c = five_nodes(w);
    const machine_orders a = detail::machine_orders_of(c, nodes{0, 1, 2, 3, 4}, w);
    const machine_orders b = detail::machine_orders_of(c, nodes{3, 4, 0, 2, 1}, w);
    CHECK(same(detail::blend(a, b, 1, w), b));
    CHECK(listed(detail::blend(a, b, 0, w).node) == nodes{0, 2, 3, 1, 4});
    // Ranks on the lane: 0, 1, 2 by a and 1, 2, 0 by b. In the middle 0.5, 1.5, 1; at a quarter 0.25, 1.25, 1.5.
    CHECK(listed(detail::blend(a, b, 0.5, w).node) == nodes{0, 3, 2, 1, 4});
    CHECK(listed(detail::blend(a, b, 0.25, w).node) == nodes{0, 2, 3, 1, 4});
    const machine_orders m = detail::blend(a, b, 0.5, w);
    for (std::uint32_t r = 0; r < m.node.size(); ++r) CHECK(m.rank[m.node[r]] == r);
}

TEST_CASE("a collective whose channel falls idle under a kernel is issued before it") {
    // 0 a kernel; 1, 2 collectives on one channel; 3 a kernel; 4, 5 their waits. Both fit under the kernels.
    toy_program p;
    p.ops.push_back({.duration = {30}});
    p.ops.push_back({.kind = op_kind::start, .duration = {20}, .results = {{{1}, {}}}});
    p.ops.push_back({.kind = op_kind::start, .duration = {20}, .results = {{{1}, {}}}});
    p.ops.push_back({.duration = {30}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{1, 0}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{2, 0}}});
    workspace w;
    const compact_tasks c = detail::make_compact_tasks(support::graph_of(p), w);
    const machine_orders preference = detail::machine_orders_of(c, support::program_order(c.size()), w);
    const pass_result r = forward(c, preference, w);
    CHECK(r.nodes == std::vector<std::uint32_t>{1, 2, 0, 4, 3, 5});
    CHECK(r.makespan == 60);
    CHECK(r.starved.empty());
}

TEST_CASE("a forward pass keeps exact time and the limit, whatever it prefers") {
    stretto_check("forward", 6000, [](std::uint32_t seed) {
        const support::scheduling_case problem = *support::scheduling_cases(50);
        const toy_program p = problem.program();
        const task_graph g = support::graph_of(p);
        const support::storage_facts facts = support::facts_of(p);
        workspace w;
        const compact_tasks c = detail::make_compact_tasks(g, w);
        // Any permutation is a preference, also one that contradicts the dependences.
        const machine_orders preference = detail::machine_orders_of(c, support::shuffled(c.size(), seed), w);
        const std::int64_t peak = detail::peak_of(c, support::program_order(c.size()), w);
        const std::int64_t limit = problem.limit({peak}).count;
        for (bool limited : {false, true}) {
            const pass_result r = limited ? forward(c, preference, w, limit) : forward(c, preference, w);
            const support::task_order order = detail::expand(c, r.nodes);
            const std::string reason = support::illegality(p, facts, order);
            if (!reason.empty()) RC_FAIL(reason);
            const support::naive_figures found = support::figures_of(p, facts, order);
            // A wait that allocates may return later than its collective ends, without the lane waiting that long.
            const bool exact = (problem.flavour & 64) == 0 || !limited;
            RC_ASSERT(found.makespan == detail::makespan_of(c, r.nodes, w));
            if (exact) RC_ASSERT(found.makespan == r.makespan);
            else RC_ASSERT(found.makespan <= r.makespan);
            if (limited) RC_ASSERT(found.peak <= limit);
            else RC_ASSERT(r.starved.empty());
            for (std::uint32_t n : r.starved) RC_ASSERT(c.kind[n] == compact_tasks::role::wait);
            const pass_result again = limited ? forward(c, preference, w, limit) : forward(c, preference, w);
            RC_ASSERT(again.nodes == r.nodes);
            RC_ASSERT(again.starved == r.starved);
        }
    });
}

TEST_CASE("without a limit the lane never idles while a kernel is ready") {
    stretto_check("work-conserving", 3000, [](std::uint32_t seed) {
        const toy_program p = (*support::scheduling_cases(50)).program();
        const task_graph g = support::graph_of(p);
        workspace w;
        const compact_tasks c = detail::make_compact_tasks(g, w);
        const machine_orders preference = detail::machine_orders_of(c, support::shuffled(c.size(), seed), w);
        const pass_result r = forward(c, preference, w);
        // Some machine is busy at all times: the step is no longer than all work in a row.
        std::int64_t work = 0;
        for (std::int64_t d : c.duration) work += d;
        RC_ASSERT(r.makespan <= work);
        // A wait that stalls the lane stands behind every kernel that was ready.
        std::vector<bool> done(c.size(), false);
        std::int64_t lane = 0;
        std::vector<std::int64_t> free(c.machines, 0), end(c.size(), 0);
        for (std::uint32_t n : r.nodes) {
            if (c.kind[n] == compact_tasks::role::wait && end[c.launch[n]] > lane) {
                for (std::uint32_t k = 0; k < c.size(); ++k) {
                    const auto preds = c.predecessors[k];
                    const bool ready =
                        !done[k] && c.kind[k] == compact_tasks::role::compute &&
                        std::all_of(preds.begin(), preds.end(), [&](std::uint32_t m) { return done[m]; });
                    RC_ASSERT(!ready);
                }
                lane = end[c.launch[n]];
            }
            if (c.kind[n] == compact_tasks::role::compute) lane += c.duration[n];
            if (c.kind[n] == compact_tasks::role::start)
                end[n] = free[c.machine[n]] = std::max(lane, free[c.machine[n]]) + c.duration[n];
            done[n] = true;
        }
    });
}

TEST_CASE("a backward pass lists every node behind its successors, and is reproducible") {
    stretto_check("backward", 4000, [](std::uint32_t seed) {
        workspace w;
        const compact_tasks c =
            detail::make_compact_tasks(support::graph_of((*support::scheduling_cases(50)).program()), w);
        const nodes order = support::shuffled(c.size(), seed);
        const pass_result r = detail::backward_pass(c, order, w);
        std::vector<std::uint32_t> sorted = r.nodes;
        std::sort(sorted.begin(), sorted.end());
        RC_ASSERT(sorted == support::program_order(c.size()));
        std::vector<bool> done(c.size(), false);
        for (std::uint32_t n : r.nodes) {
            for (std::uint32_t s : c.successors[n]) RC_ASSERT(done[s]);
            done[n] = true;
        }
        std::vector<std::int64_t> load(c.machines + 1, 0);
        for (std::uint32_t n = 0; n < c.size(); ++n) load[c.machine[n]] += c.duration[n];
        RC_ASSERT(r.makespan >= *std::max_element(load.begin(), load.end()));
        const pass_result again = detail::backward_pass(c, order, w);
        RC_ASSERT(again.nodes == r.nodes);
        RC_ASSERT(again.makespan == r.makespan);
    });
}
