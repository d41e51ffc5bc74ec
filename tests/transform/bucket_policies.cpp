#include "stretto/transform/bucket_policies.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "stretto/analysis/infer_input_roles.hpp"
#include "stretto/transform/plan_buckets.hpp"
#include "support/bucket_checks.hpp"

using namespace stretto;
using support::reduction_model;
using support::reduction_node;
using support::reduction_program;
using support::reduction_view;
using enum support::reduction_op;

namespace {

constexpr collective_kind gather = collective_kind::all_gather;

/// All inputs are parameters, the last one is registered first.
struct all_parameters {
    input_role role(std::uint32_t) const { return input_role::parameter; }
    std::uint32_t place(std::uint32_t x) const { return 50 - x; }
};

struct named_modules {
    std::vector<std::string> paths;
    std::vector<pass_direction> directions;
    std::string path(std::uint32_t v) const { return v < paths.size() ? paths[v] : ""; }
    pass_direction direction(std::uint32_t v) const {
        return v < directions.size() ? directions[v] : pass_direction::both;
    }
};

}  // namespace

TEST_CASE("by traffic: gathers of parameters, in registration order, and reductions of results; nothing else") {
    reduction_program p;
    const std::uint32_t w = p.input(), u = p.input();
    const std::uint32_t a = p.reduced(w, {.kind = gather}), b = p.reduced(u, {.kind = gather});
    const std::uint32_t meets = p.reduced(p.op(mix, {a, b})), late = p.reduced(p.op(mix, {meets})), c = p.reduced(late);
    p.output({p.op(mix, {c, a}), p.reduced(p.op(mix, {a})), p.reduced(p.op(mix, {b}))});
    const auto tags = classify_collectives(reduction_view{&p}, reduction_model{&p}, all_parameters{});
    const buckets_by_traffic<reduction_view> choose{&tags};
    CHECK(!is_bucketed(tags[w]));
    const auto plan = plan_buckets(reduction_view{&p}, reduction_model{&p}, choose);
    REQUIRE(plan);
    REQUIRE(plan->buckets.size() == 2);
    CHECK(plan->buckets[0].waits == std::vector{b, a});
    CHECK(plan->saved() == 2);
    CHECK(run(support::bucketed(*plan, p)) == run(p));
}

TEST_CASE("by module and direction, and errors with names") {
    reduction_program p;
    named_modules said;
    std::vector<std::uint32_t> seen;
    const auto gathered = [&](const char* path, pass_direction d) {
        const std::uint32_t a = p.reduced(p.input(), {.kind = gather});
        said.paths.resize(p.nodes.size());
        said.directions.resize(p.nodes.size(), pass_direction::both);
        for (std::uint32_t v : {a, p.nodes[a].operands[0]}) {
            said.paths[v] = path;
            said.directions[v] = d;
        }
        seen.push_back(a);
        return a;
    };
    constexpr auto fw = pass_direction::forward, bw = pass_direction::backward;
    const std::uint32_t a = gathered("layers.0.attention", fw), b = gathered("layers.1.ffn", fw);
    const std::uint32_t c = gathered("layers.0.ffn", fw), d = gathered("layers.1.ffn", bw);
    const std::uint32_t e = gathered("layers.1.attention", bw), f = gathered("norm", fw), g = gathered("head", fw);
    p.output(seen);
    const reduction_view view{&p};
    const auto tags = classify_collectives(view, reduction_model{&p}, all_parameters{});
    const step_modules<reduction_view> modules(view, reduction_model{&p}, said);
    using by_module = buckets_by_module<reduction_view>;
    const auto choose = by_module::make(modules, tags, {{"layers.0"}, {"layers.1"}, {"norm", "head"}});
    REQUIRE(choose);
    const auto plan = plan_buckets(view, reduction_model{&p}, *choose, {.order = payload_order::execution});
    REQUIRE(plan);
    REQUIRE(plan->buckets.size() == 3);
    CHECK(plan->buckets[0].waits == std::vector{a, c});
    CHECK(plan->buckets[1].waits == std::vector{d, e});
    CHECK(plan->buckets[2].waits == std::vector{f, g});
    CHECK(plan->refused.size() == 1);  // b, the only one of layer 1 in its direction
    CHECK(plan->refused[0].vertex == p.nodes[b].operands[0]);

    const auto unknown = by_module::make(modules, tags, {{"layers.0", "layers.7"}});
    REQUIRE(!unknown);
    CHECK(unknown.error().pattern == "layers.7");
    CHECK(unknown.error().other.empty());
    const auto twice = by_module::make(modules, tags, {{"layers.*.ffn"}, {"layers.1"}});
    REQUIRE(!twice);
    CHECK(twice.error().pattern == "layers.1");
    CHECK(twice.error().other == "layers.*.ffn");
}

TEST_CASE("a limit of what a bucket sends, for each collective") {
    reduction_program p;
    std::vector<std::uint32_t> seen;
    for (std::uint32_t k = 0; k < 12; ++k) seen.push_back(p.reduced(p.input(), {.kind = gather, .group = k % 2}));
    p.output(seen);
    const reduction_model ops{&p};
    const auto any = [](std::uint32_t) { return bucket_choice{.label = 0}; };
    // Each sends 32 bytes: at most four at once on one group, and three on the other.
    const auto most = [&](std::uint32_t s) { return bytes{p.nodes[s].group == 0 ? 128 : 127}; };
    const auto plan = plan_buckets(reduction_view{&p}, ops, buckets_up_to{any, most});
    REQUIRE(plan);
    std::vector<std::size_t> sizes[2];
    for (const auto& b : plan->buckets) sizes[p.nodes[b.members[0]].group].push_back(b.members.size());
    CHECK(sizes[0] == std::vector<std::size_t>{4, 2});
    CHECK(sizes[1] == std::vector<std::size_t>{3, 3});
    // The least limit of its members holds for a bucket, and what is kept apart stays apart.
    const auto mixed = [&](std::uint32_t s) { return bytes{s == p.nodes[seen[4]].operands[0] ? 64 : 1000}; };
    const auto few = [&](std::uint32_t s) {
        return p.nodes[s].group == 0 ? bucket_choice{.label = 0} : bucket_choice{};
    };
    const auto least = plan_buckets(reduction_view{&p}, ops, buckets_up_to{few, mixed}, {.most_open = 1});
    REQUIRE(least);
    REQUIRE(least->buckets.size() == 3);
    CHECK(least->buckets[0].waits == std::vector{seen[0], seen[2]});
    CHECK(least->buckets[1].waits == std::vector{seen[4], seen[6]});
    CHECK(least->buckets[2].waits == std::vector{seen[8], seen[10]});
}

TEST_CASE("as the documentation shows it") {
    reduction_program p;
    const std::uint32_t w = p.input(), u = p.input();
    const std::uint32_t a = p.reduced(w, {.kind = gather}), b = p.reduced(u, {.kind = gather});
    p.output({p.op(mix, {a, b})});
    const reduction_view view{&p};
    const reduction_model ops{&p};
    // [classify]
    const auto roles = infer_input_roles(view, ops);  // or a model of your own, which knows them
    const auto tags = classify_collectives(view, ops, roles);
    const buckets_by_traffic<reduction_view> choose{&tags};  // refers to the tags
    const auto plan = plan_buckets(view, ops, choose, {.most_bytes = {25 << 20}});
    // [/classify]
    REQUIRE(plan);
    CHECK(plan->saved() == 1);
    CHECK(run(support::bucketed(*plan, p)) == run(p));
}
