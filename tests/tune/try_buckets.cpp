#include "stretto/tune/try_buckets.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/transform/plan_buckets.hpp"
#include "support/bucket_programs.hpp"
#include "support/priced_reductions.hpp"
#include "support/prop.hpp"
#include "support/same_tasks.hpp"
#include "support/traffic_program.hpp"

using namespace stretto;
using support::priced_reductions;
using support::program_bucket_plan;
using support::reduction_bucket_costs;
using support::reduction_node;
using support::reduction_program;
using support::reduction_view;
using enum support::reduction_op;

namespace {

program_bucket_plan plan_of(const reduction_program& p, const bucket_options& options) {
    const auto together = [&](std::uint32_t v) {
        return bucket_choice{.label = 0, .place = v, .cast = p.sends_cast(v)};
    };
    const auto plan =
        plan_buckets(reduction_view{&p}, priced_reductions{{&p}}, together, options, reduction_bucket_costs{});
    RC_ASSERT(plan.has_value());
    return *plan;
}

/// A plan in the numbers of a table, whose vertices and values are positions in program order.
program_bucket_plan in_numbers(program_bucket_plan plan, const numbered_step<reduction_view>& step) {
    const auto number = [&](std::vector<std::uint32_t>& all) {
        for (std::uint32_t& v : all) v = step.number(v);  // node v makes value v
    };
    number(plan.order);
    for (auto& b : plan.buckets)
        for (auto* all : {&b.members, &b.parts, &b.waits, &b.results, &b.casts}) number(*all);
    return plan;
}

bucketed_tasks tried(const program_bucket_plan& plan, const reduction_program& p) {
    const auto step = numbered_step<reduction_view>::read(reduction_view{&p}, priced_reductions{{&p}});
    RC_ASSERT(step.has_value());
    auto made = try_buckets(in_numbers(plan, *step), step->table(), reduction_bucket_costs{});
    RC_ASSERT(made.has_value());
    return *std::move(made);
}

}  // namespace

TEST_CASE("what a program in buckets consists of, and where it comes from") {
    const support::two_buckets t;
    const auto plan = plan_buckets(
        reduction_view{&t.p}, priced_reductions{{&t.p}},
        [&](std::uint32_t v) { return bucket_choice{.label = 0, .cast = v == t.ga}; }, {}, reduction_bucket_costs{});
    REQUIRE(plan);
    const bucketed_tasks made = tried(*plan, t.p);
    using role = bucketed_role;
    CHECK(std::vector(made.role.begin() + 2, made.role.begin() + 8) ==
          std::vector{role::pack, role::launch, role::wait, role::unpack, role::view, role::view});
    CHECK(std::vector(made.original.begin() + 2, made.original.begin() + 8) ==
          std::vector<std::uint32_t>{t.ga, t.ga, t.a, t.a, t.a, t.b});
    CHECK(made.graph.duration[2] == nanoseconds{5 + 2 * 64});
    CHECK(made.graph.duration[3] == nanoseconds{200 + 10 * 64});
    CHECK(made.graph.payload[3] == bytes{64});
}

TEST_CASE("dependences that are no values hold for the bucket and for what stands for its members") {
    reduction_program p;
    const std::uint32_t x = p.input(), first = p.op(mix, {x}), a = p.start(x), b = p.start(x);
    p.nodes[b].after = {first};
    const std::uint32_t wa = p.op(wait, {a}), wb = p.op(wait, {b}), last = p.op(mix, {x});
    p.nodes[last].after = {wb};
    const std::uint32_t beside = p.op(mix, {x});
    p.nodes[beside].after = {b};
    p.output({wa, wb, last, beside});
    for (const bucket_mode mode : {bucket_mode::pack, bucket_mode::coalesced}) {
        const bucketed_tasks made = tried(plan_of(p, {.mode = mode}), p);
        const auto task = [&](std::uint32_t v, bucketed_role role) {
            for (std::uint32_t k = 0; k < made.role.size(); ++k)
                if (made.original[k] == v && made.role[k] == role) return k;
            return no_task;
        };
        const auto follows = [&](std::uint32_t after, std::uint32_t before) {
            REQUIRE((after < made.role.size() && before < made.role.size()));
            const auto row = made.graph.predecessors[after];
            return std::find(row.begin(), row.end(), before) != row.end();
        };
        const bool packs = mode == bucket_mode::pack;
        CHECK(follows(task(a, packs ? bucketed_role::pack : bucketed_role::launch),
                      task(first, bucketed_role::original)));
        CHECK(follows(task(last, bucketed_role::original), task(wb, bucketed_role::view)));
        CHECK(follows(task(beside, bucketed_role::original), task(a, bucketed_role::launch)));
    }
}

TEST_CASE("the tasks are those of the program that the rewriter makes") {
    std::size_t merged = 0, casts = 0, at_once = 0;
    stretto_check("random programs", 10000, [&](const std::vector<std::uint8_t>& data) {
        reduction_program p = support::random_traffic(data);
        for (reduction_node& n : p.nodes) n.after.clear();  // the rewriter of the tests forgets those of members
        bucket_options o;
        if (data.size() % 3 == 1) o.mode = bucket_mode::coalesced;
        if (data.size() % 2 == 1) o.most_bytes = {40 + 16 * static_cast<std::int64_t>(data.size() % 7)};
        const program_bucket_plan plan = plan_of(p, o);
        if (plan.empty()) return;
        merged += plan.saved();
        for (const auto& b : plan.buckets) casts += b.casts.size();
        at_once += o.mode == bucket_mode::coalesced;
        const reduction_program after = bucketed(plan, p);
        const auto made = make_task_graph(reduction_view{&after}, priced_reductions{{&after}});
        RC_ASSERT(made.has_value());
        support::check_same_tasks(tried(plan, p).graph, *made);
    });
    if (!support::runs_all_cases()) return;
    CHECK(merged > 2000);
    CHECK(casts > 200);
    CHECK(at_once > 500);
}
