#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "stretto/schedule/bounds.hpp"
#include "stretto/schedule/detail/memory_precedences.hpp"
#include "stretto/schedule/memory.hpp"
#include "support/prop.hpp"

using namespace stretto;
using detail::compact_tasks;
using detail::node_pair;
using support::kernel;
using support::toy_program;

namespace {

/// What backward does for a layer: a kernel with a large scratch value, a kernel that computes again from the input
/// what forward has not kept, and a kernel that needs both.
struct layer {
    std::int64_t peak = 0, again = 0, gradient = 0;  // nanoseconds
    std::int64_t scratch = 0, recomputed = 0;        // bytes
};

/// A kernel, an exchange of what it has made, and the layers, which follow each other. What is computed again depends
/// on nothing but what the first kernel has made, so it could run during the exchange.
toy_program with_recomputation(std::int64_t exchange, const std::vector<layer>& layers) {
    toy_program p;
    p.ops.push_back(kernel(2));
    p.ops[0].results = {{{16}, {}}};
    p.ops.push_back({.kind = op_kind::start, .duration = {exchange}, .operands = {{0, 0}}, .results = {{{16}, {}}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{1, 0}}, .results = {{{0}, {{1, 0}}}}});
    std::uint32_t passed = 2;
    for (const layer& l : layers) {
        const auto at = static_cast<std::uint32_t>(p.ops.size());
        p.ops.push_back({.duration = {l.peak}, .operands = {{passed, 0}}, .results = {{{16}, {}}, {{l.scratch}, {}}}});
        p.ops.push_back({.duration = {l.again}, .operands = {{0, 0}}, .results = {{{l.recomputed}, {}}}});
        p.ops.push_back({.duration = {l.gradient}, .operands = {{at, 0}, {at + 1, 0}}, .results = {{{16}, {}}}});
        passed = at + 2;
    }
    p.ops.push_back({.kind = op_kind::output, .operands = {{passed, 0}}});
    return p;
}

std::int64_t peak_of_program(const task_graph& g) {
    return profile_memory(g, support::program_order(g.size())).peak.count;
}

std::vector<node_pair> pairs_within(const task_graph& g, std::int64_t limit, std::vector<task_id>* scarce = nullptr) {
    detail::workspace w;
    const compact_tasks c = detail::make_compact_tasks(g, w);
    const detail::forced_memory forced(c, w);
    const auto see = [&](std::size_t place, auto) {
        if (scarce != nullptr) scarce->push_back(c.task[forced.kernels()[place]]);
    };
    std::vector<node_pair> pairs = detail::memory_precedences(c, forced, w).within(limit, see);
    for (node_pair& pair : pairs) pair = {c.task[pair.first], c.task[pair.then]};
    return pairs;
}

/// The best makespan of the orders within a limit in which `then` comes before `first`.
std::int64_t best_against(const task_graph& g, node_pair pair, std::int64_t limit) {
    std::int64_t best = INT64_MAX;
    std::vector<task_id> order;
    std::vector<std::size_t> unmet(g.size());
    for (task_id t = 0; t < g.size(); ++t) unmet[t] = g.predecessors[t].size();
    const auto extend = [&](const auto& self) -> void {
        if (order.size() == g.size()) {
            if (profile_memory(g, order).peak.count <= limit) best = std::min(best, simulate(g, order).makespan.count);
            return;
        }
        for (task_id t = 0; t < g.size(); ++t) {
            const bool done = std::find(order.begin(), order.end(), t) != order.end();
            if (done || unmet[t] != 0) continue;
            if (t == pair.first && std::find(order.begin(), order.end(), pair.then) == order.end()) continue;
            order.push_back(t);
            for (const task_id s : g.successors[t]) --unmet[s];
            self(self);
            for (const task_id s : g.successors[t]) ++unmet[s];
            order.pop_back();
        }
    };
    extend(extend);
    return best;
}

}  // namespace

TEST_CASE("what is computed again could hide an exchange, but finds no room at the kernel between them") {
    const task_graph g = support::graph_of(with_recomputation(10, {{8, 7, 1, 400, 100}}));
    const std::int64_t peak = peak_of_program(g);
    CHECK(peak == 16 + 16 + 16 + 400);
    CHECK(bound_below(g).value.count == 2 + 10 + 8 + 1);
    CHECK(support::optimal_makespan(g) == 21);
    const lower_bound bound = bound_below(g, bytes{peak});
    CHECK(bound.value.count == 2 + 10 + 8 + 7 + 1);
    CHECK(bound.kind == bound_kind::precedence);
    CHECK(support::optimal_makespan(g, peak) == 28);
    const std::vector<node_pair> pairs = pairs_within(g, peak);
    REQUIRE(pairs.size() == 1);
    CHECK(pairs[0].first == 3);
    CHECK(pairs[0].then == 4);
    // Once it has run, what it has read is gone. With a byte less than the rest, nothing is proved; with room, either.
    CHECK(support::optimal_makespan(g, peak + 83) == 28);
    CHECK(bound_below(g, bytes{peak + 83}).value.count == 28);
    CHECK(support::optimal_makespan(g, peak + 84) == 21);
    CHECK(pairs_within(g, peak + 84).empty());
    CHECK(bound_below(g, bytes{peak + 84}).value == bound_below(g).value);
}

TEST_CASE("what is found in two halves, and by what they come after, counts together") {
    // A kernel makes two values of 60 from the kept 16; where 100 are free beside these, neither excludes it alone.
    toy_program p = with_recomputation(10, {{8, 7, 1, 400, 60}});
    p.ops[4].results.push_back({{60}, {}});
    p.ops[5].operands.push_back({4, 1});
    const task_graph g = support::graph_of(p);
    const std::int64_t peak = peak_of_program(g);
    CHECK(pairs_within(g, peak + 100).size() == 1);
    CHECK(support::optimal_makespan(g, peak + 100) == 28);
    CHECK(bound_below(g, bytes{peak + 100}).value.count == 28);
    CHECK(pairs_within(g, peak + 104).empty());
    CHECK(support::optimal_makespan(g, peak + 104) == 21);
}

TEST_CASE("what would keep too much alive behind a kernel comes before it") {
    // Two kernels make 400 bytes each, which one other kernel reads; that of the first could hide the exchange.
    toy_program p;
    p.ops.push_back({.duration = {2}, .results = {{{16}, {}}, {{400}, {}}}});
    p.ops.push_back({.duration = {7}, .operands = {{0, 1}}, .results = {{{16}, {}}}});
    p.ops.push_back({.duration = {3}, .operands = {{0, 0}}, .results = {{{400}, {}}}});
    p.ops.push_back({.duration = {1}, .operands = {{2, 0}}, .results = {{{16}, {}}}});
    p.ops.push_back({.kind = op_kind::start, .duration = {10}, .operands = {{3, 0}}, .results = {{{16}, {}}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{4, 0}}, .results = {{{0}, {{4, 0}}}}});
    p.ops.push_back({.duration = {1}, .operands = {{1, 0}, {5, 0}}, .results = {{{16}, {}}}});
    p.ops.push_back({.kind = op_kind::output, .operands = {{6, 0}}});
    const task_graph g = support::graph_of(p);
    const std::int64_t peak = peak_of_program(g);
    CHECK(peak == 432);
    CHECK(support::optimal_makespan(g) == 2 + 3 + 1 + 10 + 1);
    CHECK(support::optimal_makespan(g, peak) == 2 + 7 + 3 + 1 + 10 + 1);
    const std::vector<node_pair> pairs = pairs_within(g, peak);
    REQUIRE(pairs.size() == 1);
    CHECK(pairs[0].first == 1);
    CHECK(pairs[0].then == 3);
    CHECK(bound_below(g, bytes{peak}).value.count == 24);
    // Once it has run, 16 bytes are alive instead of 400.
    CHECK(support::optimal_makespan(g, peak + 383) == 24);
    CHECK(pairs_within(g, peak + 383).size() == 1);
    CHECK(support::optimal_makespan(g, peak + 384) == 17);
    CHECK(pairs_within(g, peak + 384).empty());
}

TEST_CASE("a kernel comes after another by a pair, and that decides what comes before it") {
    // 0 makes the input of all; 1 needs most memory, and leaves 50 bytes for 2. What 3 makes finds no room at 1, so 4,
    // which reads that and needs much memory of its own, comes after 1. At 4 there is no room for the 50.
    toy_program p = {{kernel(2), kernel(3), kernel(4), kernel(5), kernel(6), kernel(1)}};
    p.ops[0].results = {{{16}, {}}};
    p.ops[1].operands = {{0, 0}};
    p.ops[1].results = {{{50}, {}}, {{382}, {}}};
    p.ops[2].operands = {{1, 0}};
    p.ops[2].results = {{{1}, {}}};
    p.ops[3].operands = {{0, 0}};
    p.ops[3].results = {{{100}, {}}};
    p.ops[4].operands = {{3, 0}};
    p.ops[4].results = {{{1}, {}}, {{300}, {}}};
    p.ops[5].operands = {{2, 0}, {4, 0}};
    p.ops[5].results = {{{1}, {}}};
    p.ops.push_back({.kind = op_kind::output, .operands = {{5, 0}, {0, 0}}});
    const task_graph g = support::graph_of(p);
    const std::int64_t peak = peak_of_program(g);
    REQUIRE(peak == 448);
    const std::vector<node_pair> pairs = pairs_within(g, peak);
    REQUIRE(pairs.size() == 2);
    CHECK(pairs[0].first == 1);
    CHECK(pairs[0].then == 3);
    CHECK(pairs[1].first == 2);
    CHECK(pairs[1].then == 4);
    for (const node_pair& pair : pairs) CHECK(best_against(g, pair, peak) == INT64_MAX);
}

TEST_CASE("on small graphs no order within a limit breaks a pair, or is faster than the bound") {
    std::size_t raised = 0, tight = 0, found = 0, before = 0;
    stretto_check("steps with recomputation", 4000, [&](const std::vector<std::uint8_t>& numbers) {
        const auto pick = [&](std::size_t k, int most) {
            return numbers.empty() ? 1 : numbers[k % numbers.size()] * (static_cast<int>(k) + 3) % most;
        };
        std::vector<layer> layers;
        for (std::size_t k = 0; k < 2; ++k)
            layers.push_back({1 + pick(5 * k, 4), pick(5 * k + 1, 12), pick(5 * k + 2, 4), 16 * pick(5 * k + 3, 20),
                              16 * pick(5 * k + 4, 6)});
        const task_graph g = support::graph_of(with_recomputation(pick(10, 30), layers));
        const std::int64_t peak = peak_of_program(g);
        for (std::int64_t limit = std::max(least_peak(g).value.count, peak - 32); limit < peak + 64; limit += 16) {
            const lower_bound bound = bound_below(g, bytes{limit});
            const std::int64_t optimum = support::optimal_makespan(g, limit);
            RC_ASSERT(bound.value.count <= optimum);
            RC_ASSERT(bound.value >= bound_below(g).value);
            if (bound.kind != bound_kind::precedence) continue;
            ++raised;
            tight += bound.value.count == optimum;
        }
    });
    stretto_check("random steps", 6000, [&] {
        const support::scheduling_case problem = *support::scheduling_cases(8);
        toy_program p = problem.program();
        if (p.ops.size() > 8) p.ops.resize(8);
        const task_graph g = support::graph_of(p);
        const std::int64_t peak = peak_of_program(g);
        for (const std::int64_t limit : {least_peak(g).value.count, peak, problem.limit({peak}).count}) {
            RC_ASSERT(bound_below(g, bytes{limit}).value.count <= support::optimal_makespan(g, limit));
            std::vector<task_id> scarce;
            for (const node_pair& pair : pairs_within(g, limit, &scarce)) {
                RC_ASSERT(best_against(g, pair, limit) == INT64_MAX);
                ++found;
                before += std::find(scarce.begin(), scarce.end(), pair.first) == scarce.end();
            }
        }
    });
    MESSAGE(raised << " bounds are raised, " << tight << " to the best makespan within the limit; " << found
                   << " pairs of random steps hold, and in " << before << " the scarce kernel comes second");
    CHECK(raised > 0);
    if (!support::runs_all_cases()) return;
    CHECK(raised > 1000);
    CHECK(tight > 500);
    CHECK(found > 100);
    CHECK(before > 50);
}
