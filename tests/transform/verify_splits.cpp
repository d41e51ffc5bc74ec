#include "stretto/transform/verify_splits.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/transform/plan_buckets.hpp"
#include "support/bucket_programs.hpp"
#include "support/prop.hpp"
#include "support/traffic_program.hpp"
#include "transform/split_programs.hpp"

using namespace stretto;
using support::program_split_plan;
using support::reduction_model;
using support::reduction_program;
using support::reduction_view;
using enum support::reduction_op;

namespace {

expected<verified_splits, std::vector<split_violation<std::uint32_t>>> verdict(const program_split_plan& plan,
                                                                               const reduction_program& p) {
    return verify_splits(plan, reduction_view{&p}, reduction_model{&p}, support::program_forms{&p});
}
/// Whether a violation of that rule is found.
bool breaks(split_rule rule, const program_split_plan& plan, const reduction_program& p) {
    const auto found = verdict(plan, p);
    return !found && std::ranges::any_of(found.error(), [&](const auto& v) { return v.rule == rule; });
}
void insert_behind(reduction_program& p, std::uint32_t where, support::reduction_node n) {
    const std::uint32_t v = p.add(std::move(n));
    p.order.pop_back();
    p.order.insert(std::ranges::find(p.order, where) + 1, v);
}

struct planned {
    support::two_buckets t;
    reduction_program p = support::merged_by(t.plan(), t.p);
    program_split_plan plan = support::splits_of(p);
};

}  // namespace

TEST_CASE("a right plan, and what it does") {
    const planned x;
    const auto found = verdict(x.plan, x.p);
    REQUIRE(found);
    CHECK(*found == verified_splits{4, 8});
    CHECK(*verdict({}, x.p) == verified_splits{});
}

TEST_CASE("each rule, broken") {
    const planned x;
    const auto changed = [&](auto change) {
        program_split_plan plan = x.plan;
        change(plan.buckets[0]);
        return plan;
    };
    using rule = split_rule;
    CHECK(breaks(rule::unknown_vertex, changed([](auto& b) { b.parts.pop_back(); }), x.p));
    CHECK(breaks(rule::unknown_vertex, changed([](auto& b) { b.parts = b.results = {}, b.sizes = {}; }), x.p));
    CHECK(breaks(rule::unknown_vertex, changed([&](auto& b) { b.wait = x.t.ga; }), x.p));  // erased
    CHECK(breaks(rule::unknown_vertex, changed([&](auto& b) { b.parts[0] = x.t.ga; }), x.p));
    CHECK(breaks(rule::claimed_twice, changed([](auto& b) { b.packs.push_back(b.wait); }), x.p));
    program_split_plan twice_planned = x.plan;
    twice_planned.buckets.push_back(x.plan.buckets[1]);
    CHECK(breaks(rule::claimed_twice, twice_planned, x.p));
    CHECK(breaks(rule::no_bucket, changed([](auto& b) { std::swap(b.start, b.packs[0]); }), x.p));
    CHECK(breaks(rule::no_bucket, changed([&](auto& b) { b.start = x.t.re; }), x.p));
    CHECK(breaks(rule::wrong_wait, changed([](auto& b) { std::swap(b.wait, b.unpacks[0]); }), x.p));
    CHECK(breaks(rule::wrong_members, changed([](auto& b) { std::swap(b.parts[0], b.parts[1]); }), x.p));
    CHECK(breaks(rule::wrong_members, changed([](auto& b) { std::swap(b.results[0], b.results[1]); }), x.p));
    CHECK(breaks(rule::wrong_members, changed([](auto& b) { b.sizes[0] = {16}; }), x.p));
    CHECK(breaks(rule::wrong_members,
                 changed([](auto& b) { b.parts.pop_back(), b.results.pop_back(), b.sizes.pop_back(); }), x.p));
    CHECK(breaks(rule::wrong_copies, changed([](auto& b) { b.packs.clear(); }), x.p));
    CHECK(breaks(rule::wrong_copies, changed([](auto& b) { b.unpacks.pop_back(); }), x.p));
    CHECK(breaks(rule::wrong_copies, changed([&](auto& b) { b.unpacks.push_back(x.t.y); }), x.p));

    reduction_program p = x.p;
    insert_behind(p, x.plan.buckets[0].packs[0], {mix, {x.plan.buckets[0].packs[0]}, 4});
    CHECK(breaks(rule::read_elsewhere, x.plan, p));
    p = x.p;
    p.nodes[x.t.y].after = {x.plan.buckets[0].unpacks[0]};
    CHECK(breaks(rule::read_elsewhere, x.plan, p));
    p = x.p;
    p.nodes[x.plan.buckets[0].unpacks[0]].operands.push_back(x.t.w);
    p.nodes[x.plan.buckets[0].unpacks[0]].operands.push_back(p.order[0]);
    p.nodes[x.plan.buckets[1].packs[0]].operands.push_back(x.t.w);
    CHECK(breaks(rule::other_reads, x.plan, p));
    p = x.p;
    p.nodes[x.plan.buckets[0].start].after = {x.t.w};
    CHECK(breaks(rule::other_dependence, x.plan, p));
    p = x.p;
    insert_behind(p, x.plan.buckets[0].start, {twice, {x.t.u}, 4});
    CHECK(breaks(rule::overwritten, x.plan, p));
    p = x.p;
    insert_behind(p, x.plan.buckets[0].start, {wait, {x.plan.buckets[0].start}, 16});
    CHECK(breaks(rule::wrong_wait, x.plan, p));
    p = x.p;
    p.nodes[x.plan.buckets[0].start].kind = collective_kind::all_to_all;
    CHECK(breaks(rule::no_bucket, x.plan, p));
}

TEST_CASE("a part is overwritten by a collective that fills its memory before the part could be sent by itself") {
    planned x;
    const auto fills = static_cast<std::uint32_t>(x.p.nodes.size());
    insert_behind(x.p, x.plan.buckets[0].start, {.op = start, .operands = {x.t.w}});
    const support::filling_model model(x.p, x.t.u, fills);
    const support::program_forms forms{&x.p};
    CHECK(verdict(x.plan, x.p));
    const auto found = verify_splits(x.plan, reduction_view{&x.p}, model, forms);
    REQUIRE(!found);
    CHECK(found.error()[0].rule == split_rule::overwritten);
    CHECK(found.error()[0].other == fills);
    const auto plan = split_buckets(reduction_view{&x.p}, model, forms);
    CHECK(plan.buckets.size() == 1);
    REQUIRE(plan.refused.size() == 1);
    CHECK(plan.refused[0].why == split_obstacle::overwritten);
}

TEST_CASE("every rule has words of its own") {
    std::vector<std::string_view> words;
    for (int k = 0; k <= static_cast<int>(split_rule::overwritten); ++k) {
        words.push_back(explain(static_cast<split_rule>(k)));
        for (int i = 0; i < k; ++i) CHECK(words[static_cast<std::size_t>(i)] != words.back());
    }
}

TEST_CASE("a plan that was damaged is refused, or computes the same") {
    std::size_t refused = 0, proved = 0;
    stretto_check("random damage", 5000, [&](const std::vector<std::uint8_t>& data) {
        const reduction_program p = support::random_traffic(data);
        const auto merged_plan = plan_buckets(reduction_view{&p}, reduction_model{&p},
                                              [](std::uint32_t v) { return bucket_choice{.label = 0, .place = v}; });
        RC_ASSERT(merged_plan.has_value());
        const reduction_program merged = support::merged_by(*merged_plan, p);
        program_split_plan plan = support::splits_of(merged);
        if (plan.empty()) return;
        const std::size_t seed = data.size() * 31 + data[data.size() / 2];
        auto& b = plan.buckets[seed % plan.buckets.size()];
        const std::size_t k = seed / 3 % b.parts.size(), i = seed / 7 % b.parts.size();
        switch (seed % 8) {
            case 0:
                std::swap(b.parts[k], b.parts[i]);
                break;
            case 1:
                std::swap(b.results[k], b.results[i]);
                break;
            case 2:
                std::swap(b.sizes[k], b.sizes[i]);
                break;
            case 3:
                b.parts[k] = merged.order[seed % merged.order.size()];
                break;
            case 4:
                std::swap(b.packs, b.unpacks);
                break;
            case 5:
                b.unpacks.push_back(merged.order[seed % merged.order.size()]);
                break;
            case 6:
                std::swap(b.start, plan.buckets[seed / 5 % plan.buckets.size()].start);
                break;
            case 7:
                b.results[k] = b.results[i];
                break;
        }
        if (!verdict(plan, merged)) {
            ++refused;
            return;
        }
        ++proved;
        RC_ASSERT(run(support::taken_apart(plan, merged)) == run(merged));
    });
    if (support::runs_all_cases()) {
        CHECK(refused > 300);
        CHECK(proved > 30);
    }
}
