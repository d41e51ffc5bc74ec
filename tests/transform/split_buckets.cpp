#include "stretto/transform/split_buckets.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/testing/model_archetypes.hpp"
#include "stretto/transform/plan_buckets.hpp"
#include "stretto/transform/verify_splits.hpp"
#include "support/bucket_programs.hpp"
#include "support/prop.hpp"
#include "support/traffic_program.hpp"
#include "transform/split_programs.hpp"

using namespace stretto;
using support::reduction_model;
using support::reduction_program;
using support::reduction_view;
using enum support::reduction_op;

namespace {

bool proved(const support::program_split_plan& plan, const reduction_program& p) {
    return verify_splits(plan, reduction_view{&p}, reduction_model{&p}, support::program_forms{&p}).has_value();
}
/// Why the first bucket stays whole.
split_obstacle obstacle(const reduction_program& p) {
    const auto plan = support::splits_of(p);
    REQUIRE(!plan.refused.empty());
    return plan.refused[0].why;
}
/// The first vertex of such an operation, or the k-th one.
std::uint32_t find(const reduction_program& p, support::reduction_op op, std::size_t k = 0) {
    for (std::uint32_t v : p.order)
        if (p.nodes[v].op == op && k-- == 0) return v;
    FAIL("there is no such operation");
    return 0;
}
std::uint32_t bucket_start(const reduction_program& p) {
    for (std::uint32_t v : p.order)
        if (!p.nodes[v].members.empty() && p.nodes[v].op == start) return v;
    FAIL("there is no bucket");
    return 0;
}
void insert_behind(reduction_program& p, std::uint32_t where, support::reduction_node n) {
    const std::uint32_t v = p.add(std::move(n));
    p.order.pop_back();
    p.order.insert(std::ranges::find(p.order, where) + 1, v);
}

/// Reads a bucket as another one does, changed as a test wants it.
template <class Change>
struct changed_forms {
    support::program_forms forms;
    Change change;
    [[nodiscard]] std::optional<support::program_bucket_form> form(std::uint32_t v) const {
        auto f = forms.form(v);
        if (f) change(*f);
        return f;
    }
};
template <class Change>
split_obstacle obstacle(const reduction_program& p, Change change) {
    const changed_forms<Change> forms{{&p}, change};
    const auto plan = split_buckets(reduction_view{&p}, reduction_model{&p}, forms);
    REQUIRE(!plan.refused.empty());
    return plan.refused[0].why;
}

}  // namespace

TEST_CASE("buckets come apart: the members, with the cast that the pack did") {
    const support::two_buckets t;
    for (const bucket_mode mode : {bucket_mode::pack, bucket_mode::coalesced}) {
        const reduction_program merged = support::merged_by(t.plan(mode), t.p);
        const auto plan = support::splits_of(merged);
        REQUIRE(plan.buckets.size() == 2);
        CHECK(plan.refused.empty());
        CHECK(plan.members() == 4);
        CHECK(plan.buckets[0].sizes == std::vector<bytes>{{32}, {32}});
        CHECK(plan.buckets[0].packs.size() == (mode == bucket_mode::pack ? 1 : 0));
        CHECK(plan.buckets[0].unpacks.size() == (mode == bucket_mode::pack ? 3 : 2));
        CHECK(proved(plan, merged));
        const reduction_program apart = support::taken_apart(plan, merged);
        CHECK(run(apart) == run(t.p));
        support::value_numbers numbers;
        CHECK(numbers.of(apart) == numbers.of(t.p));
    }
}

TEST_CASE("a program without buckets, and one that is to keep them") {
    const support::two_buckets t;
    CHECK(support::splits_of(t.p).empty());
    const reduction_program merged = support::merged_by(t.plan(), t.p);
    const auto kept = split_buckets(reduction_view{&merged}, reduction_model{&merged}, support::program_forms{&merged},
                                    [](std::uint32_t) { return false; });
    CHECK(kept == support::program_split_plan{});
}

TEST_CASE("it asks for what the concepts say, and no more") {
    const archetypes::program g(0);
    const auto plan = split_buckets(g, archetypes::kinds(0), archetypes::bucket_forms(0));
    REQUIRE(plan.refused.size() == 1);  // nobody has said what kind of collective it is
    CHECK(plan.refused[0].why == split_obstacle::kind);
}

TEST_CASE("buckets that stay whole, and why") {
    const support::two_buckets t;
    const reduction_program merged = support::merged_by(t.plan(), t.p);
    using form = support::program_bucket_form;
    CHECK(obstacle(merged, [](form& f) { f.parts[0].size = {24}; }) == split_obstacle::gaps);
    CHECK(obstacle(merged, [](form& f) { f.parts[1].offset = {24}; }) == split_obstacle::gaps);
    CHECK(obstacle(merged, [](form& f) { f.row = {72}; }) == split_obstacle::gaps);
    CHECK(obstacle(merged, [](form& f) { f.parts.clear(); }) == split_obstacle::gaps);
    CHECK(obstacle(merged, [](form& f) { f.results.pop_back(); }) == split_obstacle::results_differ);
    CHECK(obstacle(merged, [](form& f) { f.results[1] = f.results[0]; }) == split_obstacle::results_differ);
    CHECK(obstacle(merged, [](form& f) { f.unpacks.pop_back(); }) == split_obstacle::results_differ);
    CHECK(obstacle(merged, [](form& f) { f.packs.clear(); }) == split_obstacle::other_reads);
    CHECK(obstacle(merged, [](form& f) { std::swap(f.parts[0].value, f.packs[0]); }) != split_obstacle::kind);
    CHECK(obstacle(merged, [](form& f) { f.parts[0].value = f.parts[1].value; }) == split_obstacle::other_reads);
    CHECK(obstacle(merged, [](form& f) { f.wait = f.unpacks[0]; }) == split_obstacle::several_waits);
    CHECK(obstacle(merged, [](form& f) { f.packs.push_back(f.packs[0]); }) == split_obstacle::shared);

    reduction_program p = merged;
    p.nodes[bucket_start(p)].kind = collective_kind::all_to_all;
    CHECK(obstacle(p) == split_obstacle::kind);
    p = merged;
    insert_behind(p, find(p, wait), {support::reduction_op::wait, {bucket_start(p)}, 16});
    CHECK(obstacle(p) == split_obstacle::several_waits);
    for (const auto looked_at : {pack, unpack}) {
        p = merged;
        const std::uint32_t v = find(p, looked_at);
        insert_behind(p, v, {mix, {v}, 4});
        CHECK(obstacle(p) == split_obstacle::looked_at);
    }
    p = merged;
    p.nodes[find(p, mix)].after = {find(p, unpack)};
    CHECK(obstacle(p) == split_obstacle::looked_at);
    p = merged;
    p.nodes[bucket_start(p)].after = {t.w};
    CHECK(obstacle(p) == split_obstacle::other_dependence);
    p = merged;
    insert_behind(p, bucket_start(p), {twice, {t.u}, 4});
    CHECK(obstacle(p) == split_obstacle::overwritten);
    p = merged;
    insert_behind(p, find(p, wait), {twice, {t.u}, 4});
    CHECK(support::splits_of(p).buckets.size() == 2);
    CHECK(run(support::taken_apart(support::splits_of(p), p)) == run(p));
}

TEST_CASE("every reason has words of its own") {
    std::vector<std::string_view> words;
    for (int k = 0; k <= static_cast<int>(split_obstacle::shared); ++k) {
        words.push_back(explain(static_cast<split_obstacle>(k)));
        CHECK(!words.back().empty());
        for (int i = 0; i < k; ++i) CHECK(words[static_cast<std::size_t>(i)] != words.back());
    }
}

TEST_CASE("merged and taken apart: the same operations, and the same values") {
    std::size_t programs = 0, merged_programs = 0, casts = 0;
    stretto_check("random programs", 100'000, [&](const std::vector<std::uint8_t>& data) {
        const reduction_program p = support::random_traffic(data);
        bucket_options o;
        if (data.size() % 2 == 1) o.order = payload_order::execution;
        if (data.size() % 5 == 1) o.mode = bucket_mode::coalesced;
        const auto plan = plan_buckets(
            reduction_view{&p}, reduction_model{&p},
            [&](std::uint32_t v) { return bucket_choice{.label = 0, .place = v, .cast = p.sends_cast(v)}; }, o);
        RC_ASSERT(plan.has_value());
        const reduction_program merged = support::merged_by(*plan, p);
        const auto apart = support::splits_of(merged);
        RC_ASSERT(apart.refused.empty());
        RC_ASSERT(apart.members() == plan->saved() + plan->buckets.size());
        RC_ASSERT(proved(apart, merged));
        const reduction_program made = support::taken_apart(apart, merged);
        RC_ASSERT(run(made) == run(p));
        support::value_numbers numbers;
        RC_ASSERT(numbers.of(made) == numbers.of(p));
        ++programs;
        merged_programs += !plan->empty();
        for (const auto& b : plan->buckets) casts += b.casts.size();
    });
    if (support::runs_all_cases()) {
        CHECK(merged_programs > programs / 5);
        CHECK(casts > programs / 20);
    }
}

TEST_CASE("whatever is done to a program in buckets, what is taken apart computes the same") {
    std::size_t apart = 0, whole = 0;
    stretto_check("random damage", 100'000, [&](const std::vector<std::uint8_t>& data) {
        const reduction_program p = support::random_traffic(data);
        const auto plan = plan_buckets(reduction_view{&p}, reduction_model{&p},
                                       [](std::uint32_t v) { return bucket_choice{.label = 0, .place = v}; });
        RC_ASSERT(plan.has_value());
        reduction_program merged = support::merged_by(*plan, p);
        // Somebody writes over a value in place, or looks at one, anywhere behind it.
        std::size_t at = 0;
        const auto next = [&](std::size_t bound) {
            const std::size_t n = data.size() - at < 2 ? 0 : data[data.size() - ++at];
            return bound == 0 ? 0 : (n * 257 + data.size()) % bound;
        };
        for (std::size_t k = 0; k < 1 + data.size() % 3; ++k) {
            const std::size_t last = merged.order.size() - 2;
            const std::size_t from = next(last);
            const std::uint32_t x = merged.order[from];
            const reduction_model model{&merged};
            std::uint32_t memory = x;
            while (!model.aliases(memory).empty()) memory = model.aliases(memory)[0];
            if (merged.nodes[memory].op == start) continue;  // what flies is nobody's to look at
            const std::uint32_t where = merged.order[from + next(last - from + 1)];
            insert_behind(merged, where, {next(3) == 0 ? mix : twice, {x}, merged.nodes[x].length});
        }
        const auto splits = support::splits_of(merged);
        RC_ASSERT(proved(splits, merged));
        RC_ASSERT(run(support::taken_apart(splits, merged)) == run(merged));
        apart += splits.buckets.size();
        whole += splits.refused.size();
    });
    if (support::runs_all_cases()) {
        CHECK(apart > 1000);
        CHECK(whole > 400);
    }
}
