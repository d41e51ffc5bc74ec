#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "stretto/schedule/detail/late_pass.hpp"
#include "stretto/schedule/detail/list_pass.hpp"
#include "support/node_orders.hpp"
#include "support/prop.hpp"
#include "support/shuffle.hpp"

using namespace stretto;
using detail::compact_tasks;
using detail::workspace;
using support::legal;
using support::toy_program;

namespace {

using nodes = support::node_order;

nodes late_order(const compact_tasks& c, const nodes& witness, const nodes& preferred, std::int64_t limit,
                 workspace& w) {
    const workspace::scope scratch(w);
    const detail::baseline b = detail::make_baseline(c, witness, w);
    detail::late_witness memory(c, b, limit, w);
    return detail::late_pass(c, detail::machine_orders_of(c, preferred, w, true), memory, w).run();
}

/// The live bytes while `n` runs, if the nodes that are not in `placed` run in the order of `rest` and those in
/// `placed` afterwards.
std::int64_t live_at(const compact_tasks& c, const nodes& rest, const std::vector<bool>& placed, std::uint32_t n) {
    nodes order;
    for (std::uint32_t m : rest)
        if (!placed[m]) order.push_back(m);
    const std::size_t at = static_cast<std::size_t>(std::find(order.begin(), order.end(), n) - order.begin());
    std::int64_t live = 0;
    std::vector<bool> touched(c.storage_bytes.size(), false), used_later(c.storage_bytes.size(), false);
    for (std::size_t k = 0; k < order.size(); ++k) {
        if (k <= at) live += c.allocation[order[k]];
        for (std::uint32_t s : c.touched[order[k]]) (k < at ? touched : used_later)[s] = true;
    }
    for (std::uint32_t m = 0; m < c.size(); ++m)
        if (placed[m])
            for (std::uint32_t s : c.touched[m]) used_later[s] = true;
    for (std::uint32_t s = 0; s < touched.size(); ++s)
        if (touched[s] && !used_later[s]) live -= c.storage_bytes[s];
    return live;
}

}  // namespace

TEST_CASE("everything happens as late as its readers allow") {
    // 0 a kernel that the last one reads; 1 start and 2 wait that kernel 4 reads; 3 a kernel in between.
    toy_program p;
    p.ops.push_back({.duration = {10}, .results = {{{100}, {}}}});
    p.ops.push_back({.kind = op_kind::start, .duration = {20}, .results = {{{1}, {}}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{1, 0}}, .results = {{{0}, {{1, 0}}}}});
    p.ops.push_back({.duration = {30}, .results = {{{1}, {}}}});
    p.ops.push_back({.duration = {30}, .operands = {{2, 0}, {3, 0}}, .results = {{{1}, {}}}});
    p.ops.push_back({.duration = {5}, .operands = {{0, 0}, {4, 0}}});
    workspace w;
    const compact_tasks c = detail::make_compact_tasks(support::graph_of(p), w);
    const nodes given = support::program_order(c.size());
    const nodes late = late_order(c, given, given, 1000, w);
    REQUIRE(legal(c, late));
    // The collective begins under the kernel that hides it, and all kernels follow each other.
    CHECK(detail::makespan_of(c, late, w) == 75);
}

TEST_CASE("memory keeps a storage from being alive too early, seen from the end") {
    // Two gathers of 100 bytes, each read by one kernel: within 100 bytes, the first ends before the second begins.
    toy_program p;
    for (std::uint32_t k = 0; k < 2; ++k) {
        p.ops.push_back({.kind = op_kind::start, .duration = {20}, .results = {{{100}, {}}}});
        p.ops.push_back({.kind = op_kind::wait, .operands = {{3 * k, 0}}, .results = {{{0}, {{3 * k, 0}}}}});
        p.ops.push_back({.duration = {30}, .operands = {{3 * k + 1, 0}}});
    }
    workspace w;
    const compact_tasks c = detail::make_compact_tasks(support::graph_of(p), w);
    const nodes given = support::program_order(c.size());
    CHECK(late_order(c, given, given, 100, w) == given);
    const nodes roomy = late_order(c, given, given, 200, w);
    CHECK(detail::peak_of(c, roomy, w) == 200);
    CHECK(detail::makespan_of(c, roomy, w) == 80);
}

TEST_CASE("a late pass keeps dependences and the limit, whatever it prefers and whatever its witness") {
    stretto_check("late", 30000, [](std::uint32_t seed) {
        const support::scheduling_case problem = *support::scheduling_cases(50);
        workspace w;
        const compact_tasks c = detail::make_compact_tasks(support::graph_of(problem.program()), w);
        const nodes given = support::program_order(c.size());
        const std::int64_t limit = problem.limit({detail::peak_of(c, given, w)}).count;
        const nodes first = late_order(c, given, support::shuffled(c.size(), seed), limit, w);
        RC_ASSERT(legal(c, first));
        RC_ASSERT(detail::peak_of(c, first, w) <= limit);
        // Its order is a witness as good as any, for both kinds of passes.
        const nodes again = late_order(c, first, support::shuffled(c.size(), seed + 1), limit, w);
        RC_ASSERT(legal(c, again));
        RC_ASSERT(detail::peak_of(c, again, w) <= limit);
        const detail::baseline b = detail::make_baseline(c, again, w);
        detail::baseline_witness memory(c, b, limit, w);
        const detail::machine_orders preference = detail::machine_orders_of(c, again, w);
        const nodes forward = detail::forward_pass(c, preference, &memory, w).run().nodes;
        RC_ASSERT(legal(c, forward));
        RC_ASSERT(detail::peak_of(c, forward, w) <= limit);
    });
}

TEST_CASE("after everything the late witness allows, the rest of the baseline fits") {
    stretto_check("against recomputation", 2000, [](const std::vector<std::uint8_t>& picks) {
        const support::scheduling_case problem = *support::scheduling_cases(30);
        workspace w;
        const compact_tasks c = detail::make_compact_tasks(support::graph_of(problem.program()), w);
        const nodes given = support::program_order(c.size());
        const std::int64_t limit = problem.limit({detail::peak_of(c, given, w)}).count;
        const detail::baseline b = detail::make_baseline(c, given, w);
        detail::late_witness witness(c, b, limit, w);
        std::vector<bool> placed(c.size(), false);
        nodes order;
        while (order.size() < c.size()) {
            nodes allowed;
            // What one knows of what was in the way of refused nodes changes no answer.
            const workspace::scope scratch(w);
            detail::late_witness never_asked(c, b, limit, w);
            for (std::uint32_t m : order) never_asked.run(m);
            for (std::uint32_t n = 0; n < c.size(); ++n) {
                const auto after = c.successors[n];
                if (placed[n] || !std::all_of(after.begin(), after.end(), [&](std::uint32_t m) { return placed[m]; }))
                    continue;
                const bool fits = never_asked.allows(n);
                RC_ASSERT(witness.allows(n) == fits);
                RC_ASSERT(witness.allows(n) == fits);
                if (fits) allowed.push_back(n);
            }
            RC_ASSERT(std::find(allowed.begin(), allowed.end(), witness.front()) != allowed.end());
            const std::size_t pick = picks.empty() ? 0 : picks[order.size() % picks.size()];
            const std::uint32_t n = allowed[pick % allowed.size()];
            witness.run(n);
            placed[n] = true;
            order.push_back(n);
            for (std::uint32_t m = 0; m < c.size(); ++m)
                if (!placed[m]) RC_ASSERT(live_at(c, given, placed, m) <= limit);
        }
        std::reverse(order.begin(), order.end());
        RC_ASSERT(detail::peak_of(c, order, w) <= limit);
    });
}
