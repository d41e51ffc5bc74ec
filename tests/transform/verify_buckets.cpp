#include "stretto/transform/verify_buckets.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "support/bucket_programs.hpp"
#include "support/prop.hpp"
#include "support/traffic_program.hpp"

using namespace stretto;
using support::program_bucket_plan;
using support::reduction_model;
using support::reduction_program;
using support::reduction_view;
using support::two_buckets;

namespace {

auto judged(const program_bucket_plan& plan, const reduction_program& p) {
    return verify_buckets(plan, reduction_view{&p}, reduction_model{&p});
}

struct damage {
    const char* what;
    bucket_rule rule;
    std::function<void(const two_buckets&, program_bucket_plan&)> harm;
};

void move_behind(program_bucket_plan& plan, std::uint32_t v, std::uint32_t behind) {
    plan.order.erase(std::ranges::find(plan.order, v));
    plan.order.insert(std::ranges::find(plan.order, behind) + 1, v);
}

}  // namespace

TEST_CASE("a right plan, and what it does") {
    const two_buckets t;
    const auto verified = judged(t.plan(), t.p);
    REQUIRE(verified);
    CHECK(*verified == verified_buckets{4, 1, {64 + 128}});
    CHECK(judged({}, t.p).has_value());
}

TEST_CASE("each rule is broken, and named") {
    const damage all[] = {
        {"a handle from elsewhere", bucket_rule::unknown_vertex, [](auto&, auto& q) { q.buckets[0].members[0] = 99; }},
        {"a list too short", bucket_rule::unknown_vertex, [](auto&, auto& q) { q.buckets[0].parts.pop_back(); }},
        {"one start in two buckets", bucket_rule::claimed_twice,
         [](auto&, auto& q) { q.buckets[1].members[0] = q.buckets[0].members[0]; }},
        {"one member", bucket_rule::too_few_members, [](auto&, auto& q) { q.buckets[0].members.resize(1); }},
        {"a kernel as a member", bucket_rule::no_member, [](auto& t, auto& q) { q.buckets[1].members[0] = t.y; }},
        {"a gather among reductions", bucket_rule::members_differ,
         [](auto& t, auto& q) {
             q.buckets.erase(q.buckets.begin());
             q.buckets[0].members[1] = t.gb;
         }},
        {"waits in another order", bucket_rule::wrong_wait,
         [](auto&, auto& q) { std::swap(q.buckets[0].waits[0], q.buckets[0].waits[1]); }},
        {"another result", bucket_rule::wrong_wait, [](auto& t, auto& q) { q.buckets[0].results[0] = t.y; }},
        {"another part", bucket_rule::wrong_part, [](auto& t, auto& q) { q.buckets[1].parts[0] = t.w; }},
        {"what a cast reads, but the cast stays", bucket_rule::wrong_part,
         [](auto&, auto& q) { q.buckets[0].casts.clear(); }},
        {"a kernel as a cast", bucket_rule::wrong_cast, [](auto& t, auto& q) { q.buckets[1].casts = {t.y}; }},
        {"a cast without a pack", bucket_rule::wrong_cast,
         [](auto&, auto& q) { q.buckets[0].mode = bucket_mode::coalesced; }},
        {"another amount", bucket_rule::wrong_amounts, [](auto&, auto& q) { ++q.buckets[0].payload.count; }},
        {"an order without the end", bucket_rule::order_incomplete, [](auto&, auto& q) { q.order.pop_back(); }},
        {"an order with something twice", bucket_rule::order_incomplete,
         [](auto&, auto& q) { q.order[0] = q.order[1]; }},
        {"something between two members", bucket_rule::not_adjacent,
         [](auto& t, auto& q) { move_behind(q, t.u, q.buckets[0].members[0]); }},
        {"members not as in the payload", bucket_rule::not_adjacent,
         [](auto&, auto& q) {
             for (auto* list : {&q.buckets[0].members, &q.buckets[0].waits}) std::swap((*list)[0], (*list)[1]);
             std::swap(q.buckets[0].parts[0], q.buckets[0].parts[1]);
             std::swap(q.buckets[0].results[0], q.buckets[0].results[1]);
         }},
        {"a reader in front of what it reads", bucket_rule::out_of_order,
         [](auto& t, auto& q) { move_behind(q, t.y, t.u); }},
        {"buckets not in the order in which they are launched", bucket_rule::out_of_order,
         [](auto&, auto& q) { std::swap(q.buckets[0], q.buckets[1]); }},
    };
    std::set<bucket_rule> met;
    for (const damage& d : all) {
        const two_buckets t;
        program_bucket_plan plan = t.plan();
        d.harm(t, plan);
        const auto found = judged(plan, t.p);
        REQUIRE_MESSAGE(!found, d.what);
        CHECK_MESSAGE(std::ranges::any_of(found.error(), [&](const auto& v) { return v.rule == d.rule; }), d.what);
        CHECK(!explain(d.rule).empty());
        met.insert(d.rule);
    }
    CHECK(met.size() == static_cast<std::size_t>(bucket_rule::out_of_order) + 1);
}

TEST_CASE("a plan that is damaged anywhere is refused, or still computes the same") {
    std::size_t damaged = 0, refused = 0;
    stretto_check("random damage", 100'000, [&](const std::vector<std::uint8_t>& data) {
        const reduction_program p = support::random_traffic(data);
        program_bucket_plan plan = *plan_buckets(reduction_view{&p}, reduction_model{&p},
                                                 [](std::uint32_t) { return bucket_choice{.label = 0}; });
        if (plan.empty() || data.size() < 4) return;
        const auto n = static_cast<std::uint32_t>(p.nodes.size());
        auto& b = plan.buckets[data[0] % plan.buckets.size()];
        std::vector<std::uint32_t>* const lists[] = {&b.members, &b.parts,    &b.waits,
                                                     &b.results, &plan.order, &plan.order};
        auto& list = *lists[data[1] % 6];
        if (data[2] % 2 == 0) list[data[3] % list.size()] = data[2] % n;
        else std::swap(list[data[2] % list.size()], list[data[3] % list.size()]);
        ++damaged;
        if (!judged(plan, p)) {
            ++refused;
            return;
        }
        const reduction_program after = bucketed(plan, p);
        RC_ASSERT(in_order(after));
        RC_ASSERT(run(after) == run(p));
    });
    if (support::runs_all_cases()) {
        CHECK(damaged > 500);
        CHECK(refused > damaged / 3);
    }
}
