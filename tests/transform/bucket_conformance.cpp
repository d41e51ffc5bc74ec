// What systems that bucket collectives promise, one test for a scenario of theirs. docs/bucket-scenarios.md lists all
// of their scenarios.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "stretto/analysis/classify_collectives.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "stretto/transform/bucket_policies.hpp"
#include "stretto/transform/plan_buckets.hpp"
#include "stretto/transform/verify_buckets.hpp"
#include "support/bucket_checks.hpp"
#include "support/priced_reductions.hpp"

using namespace stretto;
using support::priced_reductions;
using support::program_bucket_plan;
using support::reduction_model;
using support::reduction_node;
using support::reduction_program;
using support::reduction_view;
using enum support::reduction_op;

namespace {

constexpr collective_kind gather = collective_kind::all_gather, scatter = collective_kind::reduce_scatter;

struct anything {
    const reduction_program* p;
    bucket_choice operator()(std::uint32_t v) const { return {.label = 0, .cast = p->sends_cast(v)}; }
};

program_bucket_plan plan_of(const reduction_program& p, const bucket_options& o = {}) {
    const auto plan = plan_buckets(reduction_view{&p}, reduction_model{&p}, anything{&p}, o);
    REQUIRE(plan);
    REQUIRE(verify_buckets(*plan, reduction_view{&p}, reduction_model{&p}));
    CHECK(run(support::bucketed(*plan, p)) == run(p));
    return *plan;
}
std::size_t starts_after(const reduction_program& p, const bucket_options& o = {}) {
    return p.count(start) - plan_of(p, o).saved();
}
template <class Order>
std::ptrdiff_t place_in(const Order& order, std::uint32_t v) {
    return std::ranges::find(order, v) - order.begin();
}
nanoseconds makespan_of_input(const task_graph& g) {
    std::vector<task_id> given(g.size());
    std::iota(given.begin(), given.end(), 0u);
    return simulate(g, given).makespan;
}
/// Keeps a kernel between the start and the wait of a collective that it hides.
void hide(reduction_program& p, std::uint32_t w, std::uint32_t kernel) {
    p.nodes[kernel].after.push_back(p.nodes[w].operands[0]);
    p.nodes[w].after.push_back(kernel);
}

}  // namespace

TEST_CASE("Inductor A1: two gathers, hidden by a product each, become one around both products") {
    reduction_program p;
    const std::uint32_t x = p.input();
    const std::uint32_t s1 = p.start(x, {.kind = gather}), s2 = p.start(x, {.kind = gather});
    const std::uint32_t m1 = p.op(mix, {x}), m2 = p.op(mix, {x, x}), w1 = p.op(wait, {s1}), w2 = p.op(wait, {s2});
    hide(p, w1, m1);
    hide(p, w2, m2);
    p.output({w1, w2, m1, m2});
    const program_bucket_plan plan = plan_of(p);
    REQUIRE(plan.saved() == 1);
    const auto place = [&](std::uint32_t v) { return std::ranges::find(plan.order, v) - plan.order.begin(); };
    for (std::uint32_t m : {m1, m2}) CHECK((place(s2) < place(m) && place(m) < place(w1)));
}

TEST_CASE("Inductor A2: a collective hidden by what needs the other one stays apart") {
    reduction_program p;
    const std::uint32_t x = p.input();
    const std::uint32_t s1 = p.start(x, {.kind = gather}), s2 = p.start(x, {.kind = gather});
    const std::uint32_t m2 = p.op(mix, {x}), w2 = p.op(wait, {s2}), m1 = p.op(mix, {w2}), w1 = p.op(wait, {s1});
    hide(p, w2, m2);
    hide(p, w1, m1);
    p.output({w1, m1});
    CHECK(starts_after(p) == 2);
    p.nodes[w1].after.clear();  // without the dependence that hides it, nothing forbids it
    CHECK(starts_after(p) == 1);
}

namespace {

/// A gather, a scatter and a gather of one group, with a product behind each start, which hides it where that is said.
struct scatter_between {
    reduction_program p;
    std::uint32_t m1, m2, m3;
    explicit scatter_between(bool scatter_hidden) {
        const std::uint32_t x = p.input();
        const auto hidden = [&](collective_kind kind, std::uint32_t& product, bool hides) {
            const std::uint32_t s = p.start(x, {.kind = kind});
            product = p.op(mix, {x});
            const std::uint32_t w = p.op(wait, {s});
            if (hides) hide(p, w, product);
            return w;
        };
        const std::uint32_t w1 = hidden(gather, m1, true), rw = hidden(scatter, m2, scatter_hidden);
        p.output({w1, rw, hidden(gather, m3, true), m1, m2, m3});
    }
};

}  // namespace

TEST_CASE("Inductor A3a: gathers around a hidden scatter; decided differently: they are merged") {
    // Inductor keeps them apart, because its timeline of a process group is part of the graph. Here groups impose no
    // order on the graph, so that merging is legal, and whether the scatter is then hidden is for the schedule to say.
    const scatter_between t(true);
    CHECK(starts_after(t.p) == 2);
}

TEST_CASE("Inductor A3b: gathers around a scatter that nothing hides are merged") {
    // Decided differently: the products keep their order in Inductor. Here a plan puts the merged wait where the first
    // one was, and what has to come before it moves along; the order in which kernels run is chosen with the schedule.
    const scatter_between t(false);
    const program_bucket_plan plan = plan_of(t.p);
    CHECK(t.p.count(start) - plan.saved() == 2);
    REQUIRE(plan.buckets.size() == 1);
    for (std::uint32_t m : {t.m1, t.m3}) {
        CHECK(place_in(plan.order, m) > place_in(plan.order, plan.buckets[0].members[1]));
        CHECK(place_in(plan.order, m) < place_in(plan.order, plan.buckets[0].waits[0]));
    }
}

TEST_CASE("Inductor A4: two all-reduces become one, behind one copy and in front of one") {
    reduction_program p;
    const std::uint32_t x = p.input();
    const std::uint32_t s1 = p.start(x), s2 = p.start(p.op(mix, {x}));
    const std::uint32_t m1 = p.op(mix, {x}), m2 = p.op(mix, {x, x}), w1 = p.op(wait, {s1}), w2 = p.op(wait, {s2});
    hide(p, w1, m1);
    hide(p, w2, m2);
    p.output({w1, w2, m1, m2});
    const reduction_program after = support::bucketed(plan_of(p), p);
    CHECK(after.count(start) == 1);
    CHECK(after.count(pack) == 1);
    CHECK(after.count(unpack) == 1);
    CHECK(after.count(mix) == 3);
}

TEST_CASE("Inductor A5: four all-reduces in two layers become exactly two buckets") {
    reduction_program p;
    const std::uint32_t x = p.input(), y = p.input();
    const std::uint32_t s0 = p.reduced(x), r0 = p.reduced(p.op(mix, {s0}));
    const std::uint32_t s1 = p.reduced(y), r1 = p.reduced(p.op(mix, {s1, s0}));
    p.output({r0, r1});
    const program_bucket_plan plan = plan_of(p);
    REQUIRE(plan.buckets.size() == 2);
    CHECK(plan.buckets[0].waits == std::vector{s0, s1});
    CHECK(plan.buckets[1].waits == std::vector{r0, r1});
    CHECK(support::bucketed(plan, p).count(pack) == 2);
}

TEST_CASE("Inductor A6: all-reduces and reduce-scatters do not mix") {
    reduction_program p;
    const std::uint32_t x = p.input();
    const std::uint32_t a = p.reduced(x), b = p.reduced(x), c = p.reduced(x, {.kind = scatter});
    p.output({a, b, c, p.reduced(x, {.kind = scatter})});
    CHECK(starts_after(p) == 2);
}

TEST_CASE("Inductor A7 and A9: two reduce-scatters coalesced are one start without copies; one alone stays") {
    reduction_program p;
    const std::uint32_t x = p.input(), a = p.reduced(x, {.kind = scatter});
    reduction_program one = p;
    one.output({a});
    p.output({a, p.reduced(p.op(mix, {x}), {.kind = scatter})});
    const program_bucket_plan plan = plan_of(p, {.mode = bucket_mode::coalesced});
    const reduction_program after = support::bucketed(plan, p);
    CHECK(after.count(start) == 1);
    CHECK(after.count(pack) + after.count(unpack) == 0);
    CHECK(after.count(part) == 2);  // decided differently: one wait, of which the old ones are parts
    CHECK(plan_of(one, {.mode = bucket_mode::coalesced}).empty());
}

TEST_CASE("Inductor A8: gathers coalesced; decided differently: a grouped launch is not only for reductions") {
    reduction_program p;
    const std::uint32_t x = p.input(), a = p.reduced(x, {.kind = gather}), b = p.reduced(x, {.kind = gather});
    p.output({a, b});
    CHECK(support::bucketed(plan_of(p, {.mode = bucket_mode::coalesced}), p).count(pack) == 0);
    CHECK(support::bucketed(plan_of(p), p).count(pack) == 1);
}

TEST_CASE("Inductor A10: gathers of two element types travel as bytes, if that is asked for") {
    reduction_program p;
    const std::uint32_t x = p.input();
    const std::uint32_t a = p.reduced(x, {.kind = gather}), b = p.reduced(x, {.kind = gather, .element = 1});
    p.output({a, b});
    CHECK(starts_after(p) == 1);
    CHECK(starts_after(p, {.mixed_elements = false}) == 2);
}

TEST_CASE("Inductor A11: several kernels hide a gather, one of them both") {
    reduction_program p;
    const std::uint32_t x = p.input();
    const std::uint32_t s1 = p.start(x, {.kind = gather}), s2 = p.start(x, {.kind = gather});
    const std::uint32_t m1 = p.op(mix, {x}), m2 = p.op(mix, {x}), m3 = p.op(mix, {x});
    const std::uint32_t w1 = p.op(wait, {s1}), w2 = p.op(wait, {s2});
    hide(p, w1, m1);
    hide(p, w1, m2);
    hide(p, w2, m2);
    hide(p, w2, m3);
    p.output({w1, w2, m1, m2, m3});
    CHECK(starts_after(p) == 1);
    CHECK(support::bucketed(plan_of(p), p).count(mix) == 3);
}

TEST_CASE(
    "Inductor A12 and E3: a cast that hides another gather is not absorbed; decided differently: it keeps its role") {
    reduction_program p;
    const std::uint32_t a = p.input(), b = p.input(), c = p.input();
    const std::uint32_t s1 = p.start(a, {.kind = gather}), converted = p.op(cast, {b}), w1 = p.op(wait, {s1});
    hide(p, w1, converted);
    const std::uint32_t w2 = p.reduced(converted, {.kind = gather}), w3 = p.reduced(c, {.kind = gather});
    p.output({w1, w2, w3});
    const program_bucket_plan plan = plan_of(p);
    REQUIRE(plan.buckets.size() == 1);
    CHECK(plan.buckets[0].casts.empty());
    CHECK(plan.saved() == 1);  // the first gather ends before the cast's is launched
}

TEST_CASE("Inductor E1: four gathers of casts, with no dependence of anything on itself") {
    reduction_program p;
    std::vector<std::uint32_t> seen;
    for (int k = 0; k < 4; ++k) seen.push_back(p.reduced(p.op(cast, {p.input()}), {.kind = gather}));
    p.output(seen);
    const program_bucket_plan plan = plan_of(p);
    REQUIRE(plan.buckets.size() == 1);
    CHECK(plan.buckets[0].casts.size() == 4);
    CHECK(in_order(support::bucketed(plan, p)));
}

TEST_CASE("Inductor B2: collectives of two groups that wait for each other stay legal, whichever is waited for first") {
    for (bool first : {false, true}) {
        reduction_program p;
        const std::uint32_t x = p.input(), a = p.start(x, {.kind = gather}), b = p.start(x, {.kind = gather});
        const std::uint32_t wa = first ? p.op(wait, {a}) : 0, wb = p.op(wait, {b});
        const std::uint32_t wa2 = first ? wa : p.op(wait, {a}), c = p.reduced(wb, {.kind = gather, .group = 1});
        p.output({wa2, c});
        CHECK(starts_after(p) == 2);
    }
}

TEST_CASE("Inductor F4: planning twice gives the same, and a bucketed program has nothing left to merge") {
    reduction_program p;
    const std::uint32_t x = p.input(), a = p.reduced(x), b = p.reduced(p.op(mix, {x}));
    p.output({a, b});
    CHECK(plan_of(p) == plan_of(p));
    CHECK(plan_of(support::bucketed(plan_of(p), p)).empty());
}

TEST_CASE("Inductor J1: three gathers, two of them alike; decided differently: one is launched, and three arrive") {
    // Inductor gathers the parameter once. A parameter that is gathered again was freed in between, and whether it
    // should be is a question of memory; see torchtitan D1.
    reduction_program p;
    const std::uint32_t w = p.input(), u = p.input(), x = p.input();
    const std::uint32_t a = p.reduced(w, {.kind = gather}), b = p.reduced(w, {.kind = gather});
    const std::uint32_t c = p.reduced(u, {.kind = gather});
    p.output({p.op(mix, {x, a}), p.op(mix, {x, b}), p.op(mix, {x, c})});
    const program_bucket_plan plan = plan_of(p);
    REQUIRE(plan.buckets.size() == 1);
    CHECK(plan.buckets[0].parts == std::vector{w, w, u});
    const reduction_program after = support::bucketed(plan, p);
    CHECK(after.count(start) == 1);
    CHECK(after.count(wait) == 1);
    CHECK(after.count(part) == 3);
}

TEST_CASE("Inductor J3 and J4: gathers of parameters travel together, also of casts; those of activations do not") {
    struct roles {
        input_role role(std::uint32_t x) const { return x < 2 ? input_role::parameter : input_role::activation; }
        std::uint32_t place(std::uint32_t x) const { return x < 2 ? x : no_place; }
    };
    for (bool casts : {false, true}) {
        reduction_program p;
        const std::uint32_t w = p.input(), u = p.input(), x = p.input();
        const std::uint32_t a = p.reduced(casts ? p.op(cast, {w}) : w, {.kind = gather});
        const std::uint32_t b = p.reduced(casts ? p.op(cast, {u}) : u, {.kind = gather});
        const std::uint32_t tp = p.reduced(p.op(mix, {a, x}), {.kind = gather}), tp2 = p.reduced(x, {.kind = gather});
        p.output({b, tp, tp2});
        const auto tags = classify_collectives(reduction_view{&p}, reduction_model{&p}, roles{});
        const auto plan =
            plan_buckets(reduction_view{&p}, reduction_model{&p}, buckets_by_traffic<reduction_view>{&tags});
        REQUIRE(plan->buckets.size() == 1);
        CHECK(plan->buckets[0].waits == std::vector{a, b});
    }
}

TEST_CASE("Inductor P1: what a refused merge has tried leaves no trace") {
    reduction_program p;
    const std::uint32_t x = p.input(), y = p.input(), a = p.reduced(x), b = p.reduced(p.op(mix, {a}));
    const std::uint32_t c = p.reduced(y);
    p.output({b, c});
    const program_bucket_plan plan = plan_of(p);  // b was refused by a; a and c may still travel together
    REQUIRE(plan.buckets.size() == 1);
    CHECK(plan.buckets[0].waits == std::vector{a, c});
}

TEST_CASE("Inductor P8: an unknown effect between two collectives is a barrier, and so is an overwritten operand") {
    reduction_program p;
    const std::uint32_t x = p.input(), c = p.reduced(x), unknown = p.op(mix, {x}), d = p.reduced(x);
    p.nodes[unknown].after.push_back(c);
    p.nodes[p.nodes[d].operands[0]].after.push_back(unknown);
    p.output({c, d});
    CHECK(starts_after(p) == 2);
    reduction_program q;
    const std::uint32_t z = q.input(), a = q.reduced(z), changed = q.op(twice, {z}), b = q.reduced(z);
    q.output({a, b, changed});
    CHECK(starts_after(q) == 2);
}

TEST_CASE("Inductor P12: the cost of a bucket is estimated anew, and is no sum") {
    struct latency {
        nanoseconds of_merged(std::uint32_t, bytes b) const { return {1000 + b.count}; }
        nanoseconds of_moving(bytes b) const { return {b.count}; }
    };
    reduction_program p;
    const std::uint32_t x = p.input(), a = p.reduced(x), b = p.reduced(x);
    p.output({a, b});
    const auto plan = plan_buckets(reduction_view{&p}, reduction_model{&p}, anything{&p}, {}, latency{});
    CHECK(plan->buckets[0].merged == nanoseconds{1000 + 64});
}

TEST_CASE(
    "Inductor O, autoparallel A1 to A3: the primary group; decided differently: each group may have its buckets") {
    // autoparallel merges on the group with the most gathers of parameters alone, because collectives of other groups
    // end its buckets. Here they do not, so that a group need not be chosen; it can be.
    struct roles {
        std::uint32_t parameters;
        input_role role(std::uint32_t x) const {
            return x < parameters ? input_role::parameter : input_role::activation;
        }
        std::uint32_t place(std::uint32_t x) const { return x < parameters ? x : no_place; }
    };
    const auto sizes = [](std::uint32_t on_dp, std::uint32_t on_tp, bool of_parameters) {
        reduction_program p;
        std::vector<std::uint32_t> seen;
        for (std::uint32_t k = 0; k < on_dp + on_tp; ++k) p.input();
        for (std::uint32_t k = 0; k < on_dp + on_tp; ++k)
            seen.push_back(p.reduced(k, {.kind = gather, .group = k < on_dp ? 0u : 1u}));
        p.output(seen);
        const roles said{of_parameters ? on_dp + on_tp : on_dp};
        const auto tags = classify_collectives(reduction_view{&p}, reduction_model{&p}, said);
        const buckets_by_traffic<reduction_view> choose{&tags};
        const auto plan = plan_buckets(reduction_view{&p}, reduction_model{&p}, choose);
        REQUIRE(plan);
        CHECK(*plan == *plan_buckets(reduction_view{&p}, reduction_model{&p}, choose));
        const reduction_model ops{&p};
        const auto primary = primary_group_of(reduction_view{&p}, ops, tags);
        CHECK(primary.has_value() == (on_dp > 0));  // A2
        if (primary) {
            CHECK(primary->group == 0);  // A1, and A3: the first in a tie
            CHECK(primary->gathers == on_dp);
            CHECK(p.nodes[primary->first].group == 0);  // whose size is that of the group
            const auto only = plan_buckets(reduction_view{&p}, ops, buckets_on_group{choose, &ops, primary->group});
            REQUIRE(only);
            REQUIRE(only->buckets.size() == 1);
            CHECK(only->buckets[0].members.size() == on_dp);
        }
        std::vector<std::size_t> all;
        for (const auto& b : plan->buckets) all.push_back(b.members.size());
        return all;
    };
    using list = std::vector<std::size_t>;
    CHECK(sizes(5, 2, false) == list{5});    // A1: what tensor parallelism gathers are activations
    CHECK(sizes(5, 2, true) == list{5, 2});  // and if they are parameters, they are merged, too
    CHECK(sizes(0, 0, true).empty());        // A2
    CHECK(sizes(3, 3, true) == list{3, 3});  // A3
}

TEST_CASE("autoparallel A4 and A5: a cap of bytes") {
    reduction_program p;
    const std::uint32_t x = p.input(5);
    std::vector<std::uint32_t> seen;
    for (int k = 0; k < 6; ++k) seen.push_back(p.reduced(x, {.kind = gather}));
    p.output(seen);
    CHECK(plan_of(p).buckets.size() == 1);
    const program_bucket_plan plan = plan_of(p, {.most_bytes = {2 * 2 * 5 * 8}});
    REQUIRE(plan.buckets.size() == 3);
    for (const auto& b : plan.buckets) CHECK(b.members.size() == 2);
}

TEST_CASE("autoparallel A6 and A7: a span that is exceeded ends a bucket; one that is reached does not") {
    reduction_program p;
    const std::uint32_t x = p.input();
    std::vector<std::uint32_t> seen;
    for (int k = 0; k < 4; ++k) {
        seen.push_back(p.reduced(x, {.kind = gather}));
        for (int i = 0; i < 50; ++i) p.op(mix, {x});
    }
    p.output(seen);
    CHECK(plan_of(p, {.most_span = 80, .most_open = 1}).buckets.size() == 2);
    CHECK(plan_of(p, {.most_span = 51, .most_open = 1}).buckets.empty());
    CHECK(plan_of(p, {.most_span = 52, .most_open = 1}).buckets.size() == 2);
    CHECK(plan_of(p, {.most_open = 1}).buckets.size() == 1);
}

TEST_CASE("autoparallel A8: what depends on a member is never in its bucket") {
    reduction_program p;
    const std::uint32_t a = p.reduced(p.input(), {.kind = gather}), b = p.reduced(a, {.kind = gather});
    p.output({b});
    CHECK(plan_of(p).empty());
}

TEST_CASE("torchtitan F1 and the payload: members lie in registration order, whatever the order of execution") {
    struct reversed {
        input_role role(std::uint32_t) const { return input_role::parameter; }
        std::uint32_t place(std::uint32_t x) const { return 9 - x; }
    };
    reduction_program p;
    const std::uint32_t w = p.input(), u = p.input();
    const std::uint32_t a = p.reduced(w, {.kind = gather}), b = p.reduced(u, {.kind = gather});
    p.output({a, b});
    const auto tags = classify_collectives(reduction_view{&p}, reduction_model{&p}, reversed{});
    const buckets_by_traffic<reduction_view> choose{&tags};
    const auto in = [&](payload_order o) {
        return plan_buckets(reduction_view{&p}, reduction_model{&p}, choose, {.order = o})->buckets[0].waits;
    };
    CHECK(in(payload_order::registration) == std::vector{b, a});
    CHECK(in(payload_order::execution) == std::vector{a, b});
}

TEST_CASE("torchtitan D1: two gathers of one parameter; decided differently: they travel together and stay two") {
    // A parameter is gathered again to free its memory in between. Which gather to keep is a question of memory, and
    // the one who captured the step has answered it.
    reduction_program p;
    const std::uint32_t w = p.input(), x = p.input();
    const std::uint32_t a = p.reduced(w, {.kind = gather}), b = p.reduced(w, {.kind = gather});
    p.output({p.op(mix, {x, a}), p.op(mix, {x, b})});
    const program_bucket_plan plan = plan_of(p);
    REQUIRE(plan.buckets.size() == 1);
    CHECK(plan.buckets[0].parts == std::vector{w, w});
    CHECK(plan.buckets[0].results == std::vector{a, b});
    CHECK(plan.buckets[0].payload.count == 2 * 8 * p.nodes[w].length);
}

TEST_CASE("torchtitan F1 and F2: buckets are launched in the order of their layers, forward and backward") {
    reduction_program p;
    std::vector<std::uint32_t> weights, starts, results;
    std::uint32_t x = p.input();
    const auto layer = [&](std::uint32_t k) {
        const std::uint32_t a = p.reduced(weights[2 * k], {.kind = gather});
        const std::uint32_t b = p.reduced(weights[2 * k + 1], {.kind = gather});
        starts.push_back(p.nodes[a].operands[0]);
        starts.push_back(p.nodes[b].operands[0]);
        x = p.op(mix, {p.op(mix, {x, a}), b});
    };
    for (int k = 0; k < 8; ++k) weights.push_back(p.input());
    for (std::uint32_t k = 0; k < 4; ++k) layer(k);
    for (std::uint32_t k = 4; k-- > 0;) layer(k);
    p.output({x});
    const auto by_layer = [&](std::uint32_t v) {
        return bucket_choice{.label = static_cast<std::uint32_t>(std::ranges::find(starts, v) - starts.begin()) / 2};
    };
    const auto plan = plan_buckets(reduction_view{&p}, reduction_model{&p}, by_layer);
    REQUIRE(plan);
    REQUIRE(plan->buckets.size() == 8);
    for (std::size_t k = 0; k < 8; ++k) {
        CHECK(plan->buckets[k].members == std::vector{starts[2 * k], starts[2 * k + 1]});
        if (k > 0) CHECK(place_in(plan->order, starts[2 * k]) > place_in(plan->order, starts[2 * k - 1]));
    }
}

TEST_CASE("torchtitan S1 to S3: how many buckets a layer must have; decided differently: as many as there are") {
    // torchtitan is told how many buckets each layer has, and a step with fewer is an error. Here a policy may ask for
    // more than there is; collectives without a partner are listed with the reason, and only unknown modules are
    // errors.
    struct one_parameter {
        input_role role(std::uint32_t x) const { return x < 2 ? input_role::parameter : input_role::activation; }
        std::uint32_t place(std::uint32_t x) const { return x; }
    };
    struct modules_of {
        std::vector<std::string> paths;
        std::vector<pass_direction> directions;
        std::string path(std::uint32_t v) const { return paths[v]; }
        pass_direction direction(std::uint32_t v) const { return directions[v]; }
    };
    reduction_program p;
    const std::uint32_t w = p.input(), u = p.input(), x = p.input();
    const std::uint32_t fwd = p.reduced(w, {.kind = gather}), use = p.op(mix, {x, fwd});
    const std::uint32_t bwd = p.reduced(w, {.kind = gather}), gradient = p.op(mix, {use, bwd});
    const std::uint32_t norm = p.reduced(u, {.kind = gather});
    p.output({p.reduced(gradient, {.kind = scatter}), norm});
    modules_of said{std::vector<std::string>(p.nodes.size(), "layers.0"),
                    std::vector(p.nodes.size(), pass_direction::forward)};
    for (std::uint32_t v : {p.nodes[norm].operands[0], norm}) said.paths[v] = "norm";
    for (std::uint32_t v = bwd - 1; v < p.nodes.size(); ++v) said.directions[v] = pass_direction::backward;
    const reduction_view view{&p};
    const auto tags = classify_collectives(view, reduction_model{&p}, one_parameter{});
    const step_modules<reduction_view> modules(view, reduction_model{&p}, said);
    using by_module = buckets_by_module<reduction_view>;
    const auto choose = by_module::make(modules, tags, {{"layers.0"}, {"norm"}});
    REQUIRE(choose);
    const auto plan = plan_buckets(view, reduction_model{&p}, *choose);
    REQUIRE(plan);
    CHECK(plan->empty());  // one gather in each direction and one reduction, and that of the norm does not count as one
    REQUIRE(plan->refused.size() == 4);
    for (const auto& r : plan->refused) CHECK(r.why == bucket_obstacle::nobody_fits);
    const auto unknown = by_module::make(modules, tags, {{"layers.1"}});
    REQUIRE(!unknown);
    CHECK(unknown.error().pattern == "layers.1");
}

TEST_CASE("torchtitan's dense regions beside an exchange of tokens: the schedule finds where collectives are hidden") {
    // Tokens are exchanged on a group of their own, and the lane waits for them. The gather of the next layer and the
    // reduction of the last one are launched where kernels hide them, and the wait that only the output reads sinks.
    reduction_program p;
    const std::uint32_t w = p.input(16), x = p.input(16);
    const std::uint32_t gradient = p.op(mix, {x});
    const std::uint32_t reduced = p.reduced(gradient, {.kind = scatter});
    const std::uint32_t sent = p.start(x, {.kind = collective_kind::all_to_all, .group = 1});
    const std::uint32_t arrived = p.op(wait, {sent});
    const std::uint32_t experts = p.op(mix, {arrived}), dense1 = p.op(mix, {experts}), dense2 = p.op(mix, {dense1});
    const std::uint32_t gathered = p.reduced(w, {.kind = gather});
    const std::uint32_t next = p.op(mix, {dense2, gathered});
    p.output({reduced, next});
    const priced_reductions ops{{&p}};
    const auto tasks = make_task_graph(reduction_view{&p}, ops);
    REQUIRE(tasks);
    const auto found = list_schedule(*tasks, {.memory_limit = unlimited_bytes});
    REQUIRE(found);
    const auto place = [&](std::uint32_t v) {
        return place_in(found->order(), static_cast<task_id>(place_in(p.order, v)));
    };
    CHECK(place(p.nodes[gathered].operands[0]) < place(dense1));
    CHECK(place(gathered) > place(dense2));
    CHECK(place(p.nodes[reduced].operands[0]) > place(gradient));
    CHECK(place(reduced) > place(dense2));
    CHECK(place(sent) < place(gradient));
    CHECK(found->makespan() < makespan_of_input(*tasks));
}
