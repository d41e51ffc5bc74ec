#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include "stretto/backend/arena_plan.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "stretto/schedule/memory.hpp"
#include "support/prop.hpp"

using namespace stretto;
using support::toy_program;

TEST_CASE("storages that do not live together share bytes") {
    toy_program p;
    p.ops.push_back({.kind = op_kind::input, .results = {{{100}, {}}}});
    p.ops.push_back({.operands = {{0, 0}}, .results = {{{100}, {}}}});
    p.ops.push_back({.operands = {{1, 0}}, .results = {{{100}, {}}}});
    p.ops.push_back({.operands = {{2, 0}}, .results = {{{100}, {}}}});
    p.ops.push_back({.kind = op_kind::output, .operands = {{3, 0}}});
    const arena_plan plan = plan_arena(support::graph_of(p), support::program_order(5));
    CHECK(plan.offset == std::vector<std::int64_t>{arena_plan::outside, 0, 128, 0});
    CHECK(plan.size.count == 256);
    const std::vector<value_id> of_caller = {1};
    const arena_plan without = plan_arena(support::graph_of(p), support::program_order(5), 64, of_caller);
    CHECK(without.offset == std::vector<std::int64_t>{arena_plan::outside, arena_plan::outside, 0, 128});
}

TEST_CASE("no two storages that live at the same time overlap, and nothing is placed outside") {
    stretto_check("live storages are apart", 2000, [](const std::vector<std::uint8_t>& picks) {
        const task_graph g = support::graph_of(support::scheduling_case(*support::scheduling_cases(30)).program());
        const support::task_order order = support::random_order(g, picks);
        std::vector<value_id> of_caller;
        for (value_id s = 0; !picks.empty() && picks[0] % 2 == 0 && s < g.allocation.size(); ++s)
            if (picks[s % picks.size()] % 3 == 0) of_caller.push_back(s);
        const arena_plan plan = plan_arena(g, order, 8, of_caller);
        // A storage lives from its task to the last that touches it, or to the end if no task frees it.
        std::vector<std::size_t> from(g.allocation.size(), SIZE_MAX), to(g.allocation.size(), SIZE_MAX);
        for (std::size_t k = 0; k < order.size(); ++k) {
            for (value_id s = g.first_result[order[k]]; s < g.first_result[order[k] + 1]; ++s) from[s] = k;
            for (const value_id s : g.touched[order[k]]) to[s] = k;
        }
        std::int64_t end = 0;
        for (value_id s = 0; s < g.allocation.size(); ++s) {
            const bool inside = g.allocation[s].count > 0 && g.kind[g.storage_owner[s]] != op_kind::input &&
                                std::count(of_caller.begin(), of_caller.end(), s) == 0;
            RC_ASSERT(plan.holds(s) == inside);
            if (!inside) continue;
            RC_ASSERT(plan.offset[s] % 8 == 0);
            end = std::max(end, plan.offset[s] + (g.allocation[s].count + 7) / 8 * 8);
            for (value_id other = 0; other < s; ++other) {
                if (!plan.holds(other) || from[s] > to[other] || from[other] > to[s]) continue;
                RC_ASSERT(plan.offset[s] >= plan.offset[other] + g.allocation[other].count ||
                          plan.offset[other] >= plan.offset[s] + g.allocation[s].count);
            }
        }
        RC_ASSERT(plan.size.count == end);
        if (of_caller.empty()) RC_ASSERT(plan.size >= profile_memory(g, order).peak);
        RC_ASSERT(plan == plan_arena(g, order, 8, of_caller));
    });
}
