#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "stretto/schedule/detail/lean_order.hpp"
#include "stretto/schedule/detail/order_search.hpp"
#include "support/prop.hpp"

using namespace stretto;
using detail::compact_tasks;
using detail::found_order;
using detail::workspace;
using support::toy_program;

namespace {

/// One problem, searched within several limits.
struct searched {
    workspace w;
    compact_tasks c;
    std::int64_t makespan, peak;

    explicit searched(const support::scheduling_case& problem)
        : c(detail::make_compact_tasks(support::graph_of(problem.program()), w)) {
        const std::vector<std::uint32_t> given = support::program_order(c.size());
        makespan = detail::makespan_of(c, given, w);
        peak = detail::peak_of(c, given, w);
    }
    std::vector<found_order> within(std::int64_t limit, std::int64_t enough, unsigned effort,
                                    std::uint32_t many_nodes) {
        return as_variant(peak, limit, enough, effort, many_nodes);
    }
    /// As a variant of a step with the peak `unit`.
    std::vector<found_order> as_variant(std::int64_t unit, std::int64_t limit, std::int64_t enough, unsigned effort,
                                        std::uint32_t many_nodes) {
        return detail::order_search(c, {makespan}, {peak}, {unit}, w).run({limit}, enough, effort, many_nodes);
    }
    void check_figures(const std::vector<found_order>& front) {
        for (const found_order& o : front) {
            if (o.pass.nodes.empty()) continue;
            RC_ASSERT(o.pass.nodes.size() == c.size());
            RC_ASSERT(detail::peak_of(c, o.pass.nodes, w) == o.peak);
            RC_ASSERT(detail::makespan_of(c, o.pass.nodes, w) == o.pass.makespan);
        }
    }
};

}  // namespace

TEST_CASE("the front: within the limit, each order with its exact figures, none beaten by another") {
    stretto_check("front", 3000, [](bool many, std::uint8_t effort) {
        const support::scheduling_case problem = *support::scheduling_cases(60);
        searched s(problem);
        const std::int64_t limit = problem.limit({s.peak}).count;
        const auto front = s.within(limit, 0, effort % 4, many ? 0 : 200'000);
        RC_ASSERT(!front.empty());
        RC_ASSERT(front.back().pass.makespan <= s.makespan);
        for (std::size_t k = 0; k < front.size(); ++k) {
            RC_ASSERT(front[k].peak <= limit);
            if (k > 0) RC_ASSERT(front[k].peak > front[k - 1].peak);
            if (k > 0) RC_ASSERT(front[k].pass.makespan < front[k - 1].pass.makespan);
        }
        s.check_figures(front);
    });
}

TEST_CASE("10^5 random steps: a larger limit never gives a longer makespan, whatever is good enough") {
    stretto_check("two limits", 100000, [](bool many, std::uint8_t effort, std::uint8_t share, std::uint8_t more) {
        const support::scheduling_case problem = *support::scheduling_cases(40);
        searched s(problem);
        const std::int64_t small = problem.limit({s.peak}).count;
        const std::int64_t large = small > INT64_MAX / 512 ? small : small + small * more / 256 + more % 3;
        const std::int64_t enough = s.makespan * share / 256;  // the search stops early in some cases, late in others
        const std::uint32_t many_nodes = many && effort % 8 == 0 ? 0 : 200'000;
        const auto a = s.within(small, enough, effort % 3, many_nodes);
        const auto b = s.within(large, enough, effort % 3, many_nodes);
        RC_ASSERT(b.back().pass.makespan <= a.back().pass.makespan);
        // What the larger limit has found within the smaller one is no worse either: one search serves both.
        std::int64_t within = INT64_MAX;
        for (const found_order& o : b)
            if (o.peak <= small) within = o.pass.makespan;
        RC_ASSERT(within <= a.back().pass.makespan);
    });
}

TEST_CASE("variants of other steps, and limits below the peak: within the limit, and never slower with a larger one") {
    std::size_t lowered = 0;
    stretto_check("variants", 30000,
                  [&](bool many, std::uint8_t of_peak, std::uint8_t of_unit, std::uint8_t more, std::uint8_t share) {
                      const support::scheduling_case problem = *support::scheduling_cases(40);
                      searched s(problem);
                      const std::int64_t unit = s.peak / 256 * 128 + s.peak * of_peak / 256;
                      const std::int64_t small = unit / 256 * 200 + unit * of_unit / 256;
                      std::int64_t large = small + small * more / 256 + more % 3;
                      if (small < unit) {  // from the unit on, and from the peak on, the rungs are others
                          large = std::min(large, unit - 1);
                          if (small < s.peak) large = std::min(large, s.peak - 1);
                      }
                      const std::uint32_t many_nodes = many ? 0 : 200'000;
                      const std::int64_t enough = share < 128 ? 0 : s.makespan * share / 256;
                      const auto a = s.as_variant(unit, small, enough, 1, many_nodes);
                      const auto b = s.as_variant(unit, large, enough, 1, many_nodes);
                      s.check_figures(a);
                      s.check_figures(b);
                      if (a.front().peak > small) return;  // no order within the limit is known
                      lowered += small < s.peak;
                      RC_ASSERT(b.back().peak <= large);
                      RC_ASSERT(b.back().pass.makespan <= a.back().pass.makespan);
                      std::int64_t within = INT64_MAX;
                      for (const found_order& o : b)
                          if (o.peak <= small) within = o.pass.makespan;
                      RC_ASSERT(within <= a.back().pass.makespan);
                  });
    MESSAGE(lowered << " orders within less than the peak of the given one");
    if (support::runs_all_cases()) CHECK(lowered > 0);
}

TEST_CASE("a limit between the leanest order and the rung above it has a rung of its own") {
    std::size_t tight = 0, faster = 0, faster_as_variant = 0;
    stretto_check("leanest", 4000, [&] {
        const support::scheduling_case problem = *support::scheduling_cases(60);
        searched s(problem);
        const std::vector<std::uint32_t> given = support::program_order(s.c.size());
        std::vector<std::uint32_t> lean;
        std::int64_t least = 0;
        {
            const workspace::scope scratch(s.w);
            detail::lean_order order(s.c, given, s.w);
            lean = order.run(0);
            least = order.peak();
        }
        if (least >= s.peak) return;
        const std::int64_t of_lean = detail::makespan_of(s.c, lean, s.w);
        const auto front = s.within(least, 0, 1, 200'000);
        s.check_figures(front);
        RC_ASSERT(front.back().peak <= least);
        RC_ASSERT(front.back().pass.makespan <= of_lean);
        ++tight;
        faster += front.back().pass.makespan < of_lean;
        // As a variant of a step that needs a hundredth less, with a rung above that hundredth.
        for (const std::uint32_t many_nodes : {200'000u, 0u}) {
            const auto variants = s.as_variant(least - least / 100 - 1, least, 0, 1, many_nodes);
            s.check_figures(variants);
            RC_ASSERT(variants.back().peak <= least);
            RC_ASSERT(variants.back().pass.makespan <= of_lean);
            faster_as_variant += many_nodes != 0 && variants.back().pass.makespan < of_lean;
        }
    });
    MESSAGE(faster << " of " << tight << " are faster than the leanest order, " << faster_as_variant << " as variants");
    if (!support::runs_all_cases()) return;
    CHECK(tight > 1000);
    CHECK(faster * 3 > tight);  // of orders that ignore memory alone a seventh would be
    CHECK(faster_as_variant * 3 > tight);
}

TEST_CASE("a variant that needs a little more than its step is searched within what it needs") {
    // The result of the collective and that of the last kernel together exceed the limit, so free passes are too large.
    // The leanest order waits for the collective at once, but the first kernel could hide half of it.
    toy_program p;
    p.ops.push_back({.duration = {10}});
    p.ops.push_back({.kind = op_kind::start, .duration = {20}, .results = {{{3300}, {}}}});
    p.ops.push_back({.duration = {20}, .results = {{{2400}, {}}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{1, 0}}, .results = {{{0}, {{1, 0}}}}});
    p.ops.push_back({.kind = op_kind::output, .operands = {{2, 0}}});
    workspace w;
    const compact_tasks c = detail::make_compact_tasks(support::graph_of(p), w);
    const std::vector<std::uint32_t> given = support::program_order(c.size());
    const std::int64_t peak = detail::peak_of(c, given, w), makespan = detail::makespan_of(c, given, w);
    REQUIRE(peak == 5700);
    // The rungs of its step are at 1.00 and 1.02 times a peak that is one byte too small.
    const auto found = detail::order_search(c, {makespan}, {peak}, {3299}, w).run({3300}, 0);
    REQUIRE(found.back().peak == 3300);
    CHECK(found.back().pass.makespan == 40);  // 50 for the leanest order
    const auto briefly = detail::order_search(c, {makespan}, {peak}, {3299}, w).run({3300}, 0, 1, 0);
    CHECK(briefly.back().pass.makespan == 40);
}

TEST_CASE("a variant whose own order exceeds the limit is searched within it") {
    // Two chunks side by side, each of which needs 200 at its peak. A collective in each has time to be hidden.
    toy_program p;
    for (std::int64_t allocates : {0, 100, 100}) {
        const auto before = static_cast<std::uint32_t>(p.ops.size());
        for (std::uint32_t half = 0; half < 2; ++half) {
            p.ops.push_back({.duration = {10}, .results = {{{allocates}, {}}}});
            if (before > 0) p.ops.back().operands = {{before - 2 + half, 0}};
        }
    }
    p.ops.push_back({.duration = {10}, .operands = {{4, 0}}, .results = {{{1}, {}}}});
    p.ops.push_back({.duration = {10}, .operands = {{5, 0}}, .results = {{{1}, {}}}});
    p.ops.push_back({.kind = op_kind::start, .duration = {30}, .operands = {{6, 0}}, .results = {{{1}, {}}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{8, 0}}, .results = {{{0}, {{8, 0}}}}});
    workspace w;
    const task_graph g = support::graph_of(p);
    const compact_tasks c = detail::make_compact_tasks(g, w);
    const std::vector<std::uint32_t> given = support::program_order(c.size());
    const std::int64_t peak = detail::peak_of(c, given, w), makespan = detail::makespan_of(c, given, w);
    REQUIRE(peak > 250);
    const auto found = detail::order_search(c, {makespan}, {peak}, {250}, w).run({250}, 0);
    REQUIRE(found.back().peak <= 250);
    CHECK(found.back().pass.makespan == 80);  // the collective runs under the other half
    CHECK(makespan == 110);
}
