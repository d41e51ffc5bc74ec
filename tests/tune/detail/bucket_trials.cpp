#include "stretto/tune/detail/bucket_trials.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "stretto/schedule/list_schedule.hpp"
#include "stretto/transform/plan_buckets.hpp"
#include "stretto/transform/verify_buckets.hpp"
#include "support/priced_reductions.hpp"
#include "support/prop.hpp"
#include "support/traffic_program.hpp"

using namespace stretto;
using support::priced_reductions;
using support::reduction_bucket_costs;
using support::reduction_program;
using support::reduction_view;
using enum support::reduction_op;

TEST_CASE("a plan does not depend on the plans that were asked for before") {
    std::size_t merged = 0, reordered = 0;
    stretto_check("divisions one after another", 4000, [&](const std::vector<std::uint8_t>& data) {
        const reduction_program p = support::random_traffic(data, 60);
        const priced_reductions ops{{&p}};
        const reduction_bucket_costs costs;
        const auto step = numbered_step<reduction_view>::read(reduction_view{&p}, ops);
        RC_ASSERT(step.has_value());
        const auto choose = [&](std::uint32_t v) {
            return bucket_choice{.label = 0, .place = (v * 7u) % 5, .cast = p.sends_cast(v)};
        };
        bucket_options limits;
        if (data.size() % 3 == 0) limits.most_members = 3;
        if (data.size() % 5 == 0) limits.mode = bucket_mode::coalesced;
        using trials = detail::bucket_trials<reduction_view, priced_reductions, reduction_bucket_costs>;
        trials reused(*step, ops, choose, costs, limits);
        const auto items = reused.items();
        if (items.size() < 2) return;
        std::vector<std::uint32_t> given(step->table().size());
        std::iota(given.begin(), given.end(), 0u);
        const auto tasks = make_task_graph(reduction_view{&p}, ops);
        RC_ASSERT(tasks.has_value());
        const auto scheduled = list_schedule(*tasks, {.memory_limit = unlimited_bytes});
        RC_ASSERT(scheduled.has_value());
        std::uint32_t random = static_cast<std::uint32_t>(data.size());
        for (int k = 0; k < 4; ++k) {
            std::vector<std::uint32_t> runs;
            for (std::size_t i = 0; i < items.size(); ++i) {
                random = random * 1664525u + 1013904223u;
                runs.push_back(random >> 31);
            }
            const std::vector<std::uint32_t>& order = k % 2 == 0 ? given : scheduled->order();
            trials fresh(*step, ops, choose, costs, limits);
            const auto plan = reused.plan(items, runs, order);
            RC_ASSERT(plan == fresh.plan(items, runs, order));
            RC_ASSERT(verify_buckets(reused.in_handles(plan), reduction_view{&p}, ops).has_value());
            merged += !plan.empty();
            reordered += !plan.empty() && k % 2 == 1 && !std::is_sorted(order.begin(), order.end());
            if (k % 2 != 0) continue;
            // The same that plan_buckets says of the step as it is.
            std::vector<std::uint32_t> run_of(p.nodes.size(), bucket_choice::apart);
            for (std::size_t i = 0; i < items.size(); ++i) run_of[step->vertex(items[i].vertex)] = runs[i];
            const auto labelled = [&](std::uint32_t v) {
                bucket_choice c = choose(v);
                c.label = run_of[v];
                return c;
            };
            const auto alone = plan_buckets(reduction_view{&p}, ops, labelled, limits, costs);
            RC_ASSERT(alone.has_value());
            RC_ASSERT(alone->buckets == reused.in_handles(plan).buckets);
        }
    });
    if (!support::runs_all_cases()) return;
    CHECK(merged > 2000);
    CHECK(reordered > 300);
}
