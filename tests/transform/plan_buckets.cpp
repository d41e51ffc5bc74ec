#include "stretto/transform/plan_buckets.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "stretto/testing/model_archetypes.hpp"
#include "stretto/transform/verify_buckets.hpp"
#include "support/bucket_checks.hpp"
#include "support/prop.hpp"
#include "support/traffic_program.hpp"

using namespace stretto;
using support::program_bucket;
using support::program_bucket_plan;
using support::reduction_model;
using support::reduction_node;
using support::reduction_program;
using support::reduction_view;
using enum support::reduction_op;

namespace {

constexpr collective_kind gather = collective_kind::all_gather;
constexpr collective_kind scatter = collective_kind::reduce_scatter;

/// Everything may travel together; places run against program order.
struct together {
    const reduction_program* p;
    bucket_choice operator()(std::uint32_t v) const {
        const std::uint32_t x = p->nodes[v].operands[0];
        return {.label = 0, .place = 1000 - v, .cast = p->nodes[x].op == cast};
    }
};

program_bucket_plan plan_of(const reduction_program& p, const bucket_options& options = {}) {
    const auto plan = plan_buckets(reduction_view{&p}, reduction_model{&p}, together{&p}, options);
    REQUIRE(plan);
    return *plan;
}
bool proved(const program_bucket_plan& plan, const reduction_program& p) {
    return verify_buckets(plan, reduction_view{&p}, reduction_model{&p}).has_value();
}

}  // namespace

TEST_CASE("gathers travel together, before the first of them is needed") {
    reduction_program p;
    const std::uint32_t w = p.input(), u = p.input(6), x = p.input();
    const std::uint32_t a = p.reduced(p.op(cast, {w}), {.kind = gather}), y = p.op(mix, {x, a});
    const std::uint32_t converted = p.op(cast, {u}), b = p.reduced(converted, {.kind = gather});
    p.output({p.op(mix, {y, b})});
    const program_bucket_plan plan = plan_of(p, {.order = payload_order::execution});
    REQUIRE(plan.buckets.size() == 1);
    const program_bucket& one = plan.buckets[0];
    CHECK(one.members == std::vector{p.nodes[a].operands[0], p.nodes[b].operands[0]});
    CHECK(one.waits == std::vector{a, b});
    CHECK(one.results == std::vector{a, b});
    CHECK(one.parts == std::vector{w, u});  // the pack converts them
    CHECK(one.casts.size() == 2);
    CHECK(one.payload == bytes{80});
    CHECK(one.received == bytes{160});
    CHECK(plan.saved() == 1);
    const auto place = [&](std::uint32_t v) { return std::ranges::find(plan.order, v) - plan.order.begin(); };
    CHECK(place(converted) < place(one.members[0]));
    CHECK(place(b) < place(y));
    CHECK(plan.refused.empty());
    CHECK(proved(plan, p));
    const reduction_program after = bucketed(plan, p);
    CHECK(in_order(after));
    CHECK(after.count(start) == 1);
    CHECK(after.count(pack) == 1);
    CHECK(after.count(unpack) == 1);
    CHECK(after.count(cast) == 0);
    CHECK(run(after) == run(p));
    CHECK(plan_of(p).buckets[0].members == std::vector{one.members[1], one.members[0]});  // as they are registered
    CHECK(run(bucketed(plan_of(p), p)) == run(p));
}

TEST_CASE("reductions travel together, when the last of them is ready, and their readers wait") {
    for (const bucket_mode mode : {bucket_mode::pack, bucket_mode::coalesced}) {
        reduction_program p;
        const std::uint32_t x = p.input(), a = p.reduced(p.op(mix, {x}), {.kind = scatter});
        const std::uint32_t early = p.op(mix, {a}), y = p.op(mix, {x, x});
        const std::uint32_t b = p.reduced(p.op(mix, {y}), {.kind = scatter});
        p.output({early, b});
        const program_bucket_plan plan = plan_of(p, {.mode = mode, .order = payload_order::execution});
        REQUIRE(plan.buckets.size() == 1);
        CHECK(plan.order.back() == p.order.back());
        const auto place = [&](std::uint32_t v) { return std::ranges::find(plan.order, v) - plan.order.begin(); };
        CHECK(place(y) < place(a));
        CHECK(place(b) < place(early));
        CHECK(proved(plan, p));
        const reduction_program after = bucketed(plan, p);
        CHECK(after.count(pack) == (mode == bucket_mode::pack));
        CHECK(after.count(unpack) == (mode == bucket_mode::pack));
        CHECK(after.count(start) == 1);
        CHECK(run(after) == run(p));
    }
}

TEST_CASE("interleaved chains give two buckets") {
    reduction_program p;
    const std::uint32_t x = p.input(), y = p.input();
    const std::uint32_t a = p.reduced(x), b = p.reduced(p.op(mix, {a}));
    const std::uint32_t c = p.reduced(y), d = p.reduced(p.op(mix, {c}));
    p.output({b, d});
    const auto start_of = [&](std::uint32_t w) { return p.nodes[w].operands[0]; };
    const program_bucket_plan plan = plan_of(p, {.order = payload_order::execution});
    REQUIRE(plan.buckets.size() == 2);
    CHECK(plan.buckets[0].members == std::vector{start_of(a), start_of(c)});
    CHECK(plan.buckets[1].members == std::vector{start_of(b), start_of(d)});
    CHECK(run(bucketed(plan, p)) == run(p));
    // A single bucket that grows at a time leaves out what depends on it.
    const program_bucket_plan single = plan_of(p, {.most_open = 1});
    REQUIRE(single.buckets.size() == 1);
    REQUIRE(single.refused.size() == 2);
    CHECK(single.refused[0].why == bucket_obstacle::crowded);
}

TEST_CASE("a member of a bucket that needs another bucket is packed behind it, whichever begins first") {
    reduction_program p;
    const std::uint32_t x = p.input(), d = p.reduced(x, {.kind = scatter});
    const std::uint32_t a = p.reduced(p.op(mix, {x})), c = p.reduced(p.op(mix, {x}));
    const std::uint32_t b = p.reduced(a, {.kind = scatter});  // sharded replicas: it sends what the other bucket gives
    p.output({b, c, d});
    const program_bucket_plan plan = plan_of(p);
    REQUIRE(plan.buckets.size() == 2);
    CHECK(plan.buckets[0].waits == std::vector{c, a});
    CHECK(proved(plan, p));
    CHECK(in_order(bucketed(plan, p)));
    CHECK(run(bucketed(plan, p)) == run(p));
}

TEST_CASE("limits of bytes, members, span, kernel time and time on the channel; a bucket at its limit is within it") {
    struct seven_ns : reduction_model {  // each kernel
        nanoseconds duration(std::uint32_t) const { return {7}; }
    };
    struct a_ns_per_byte {
        nanoseconds of_merged(std::uint32_t, bytes b) const { return {100 + b.count}; }
        nanoseconds of_moving(bytes b) const { return {10 + b.count}; }
    };
    reduction_program p;
    const std::uint32_t x = p.input();
    std::vector<std::uint32_t> seen;
    for (int k = 0; k < 6; ++k) seen.push_back(p.reduced(p.op(mix, {x})));
    p.output(seen);
    const auto sizes = [&](const bucket_options& o) {
        const auto plan = plan_buckets(reduction_view{&p}, seven_ns{{&p}}, together{&p}, o, a_ns_per_byte{});
        REQUIRE(plan);
        CHECK(run(bucketed(*plan, p)) == run(p));
        std::vector<std::size_t> n;
        for (const program_bucket& b : plan->buckets) n.push_back(b.members.size());
        return n;
    };
    using counts = std::vector<std::size_t>;
    CHECK(sizes({}) == counts{6});
    CHECK(sizes({.most_bytes = {64}}) == counts{2, 2, 2});
    CHECK(sizes({.most_bytes = {63}}).empty());
    CHECK(sizes({.most_members = 4}) == counts{4, 2});
    CHECK(sizes({.most_span = 6}) == counts{3, 3});
    CHECK(sizes({.most_early = {14}}) == counts{3, 3});
    CHECK(sizes({.most_early = {13}}) == counts{2, 2, 2});
    CHECK(sizes({.longest = {100 + 5 * 32}}) == counts{5});
    const auto plan = plan_buckets(reduction_view{&p}, seven_ns{{&p}}, together{&p}, {}, a_ns_per_byte{});
    CHECK(plan->buckets[0].alone == nanoseconds{6 * 7});
    CHECK(plan->buckets[0].merged == nanoseconds{100 + 6 * 32});
    CHECK(plan->buckets[0].copies == nanoseconds{2 * (10 + 2 * 6 * 32)});
}

TEST_CASE("keys: kinds, groups, reductions, element types and labels do not mix, but for the bytes of gathers") {
    reduction_program p;
    const std::uint32_t x = p.input();
    const reduction_node likes[] = {
        {}, {.kind = scatter}, {.kind = gather}, {.group = 1}, {.how = reduction_kind::max}, {.element = 1}};
    std::vector<std::uint32_t> seen;
    for (const reduction_node& like : likes)
        for (int k = 0; k < 2; ++k) seen.push_back(p.reduced(x, like));
    seen.push_back(p.reduced(x, {.kind = gather, .element = 1}));
    p.output(seen);
    const program_bucket_plan mixed = plan_of(p), apart = plan_of(p, {.mixed_elements = false});
    CHECK(mixed.buckets.size() == 6);
    CHECK(mixed.saved() == 7);
    CHECK(apart.saved() == 6);
    REQUIRE(apart.refused.size() == 1);
    CHECK(apart.refused[0].why == bucket_obstacle::nobody_fits);
    CHECK(run(bucketed(mixed, p)) == run(p));
    const auto labelled = plan_buckets(reduction_view{&p}, reduction_model{&p},
                                       [](std::uint32_t v) { return bucket_choice{.label = v}; });
    CHECK(labelled->empty());
    const auto none =
        plan_buckets(reduction_view{&p}, reduction_model{&p}, [](std::uint32_t) { return bucket_choice{}; });
    CHECK(*none == program_bucket_plan{});
}

TEST_CASE("what can be no member stays apart, and the reason is named") {
    reduction_program p;
    const std::uint32_t x = p.input();
    std::uint32_t s = 0;
    bucket_obstacle why{};
    std::vector<std::uint32_t> seen = {p.reduced(x)};
    SUBCASE("an exchange") {
        seen.push_back(p.reduced(x, {.kind = collective_kind::all_to_all}));
        s = p.nodes[seen.back()].operands[0];
        why = bucket_obstacle::kind;
    }
    SUBCASE("a fold that nobody knows") {
        seen.push_back(p.reduced(x, {.how = reduction_kind::unknown}));
        s = p.nodes[seen.back()].operands[0];
        why = bucket_obstacle::kind;
    }
    SUBCASE("somebody looks at it in flight") {
        s = p.start(x);
        seen.push_back(p.op(same, {s}));
        seen.push_back(p.op(support::reduction_op::wait, {s}));
        why = bucket_obstacle::read_in_flight;
    }
    SUBCASE("it is waited for twice") {
        s = p.start(x);
        seen.push_back(p.op(support::reduction_op::wait, {s}));
        seen.push_back(p.op(support::reduction_op::wait, {s}));
        why = bucket_obstacle::several_values;
    }
    SUBCASE("nobody waits for it") {
        s = p.start(x);
        why = bucket_obstacle::several_values;
    }
    p.output(seen);
    const program_bucket_plan plan = plan_of(p);
    CHECK(plan.empty());
    REQUIRE(plan.refused.size() == 2);
    CHECK(plan.refused[1].vertex == s);
    CHECK(plan.refused[1].why == why);
    CHECK(!explain(why).empty());
}

TEST_CASE("a start with a second wait is no member, even if that wait does not read the result") {
    reduction_program p;
    const std::uint32_t x = p.input(), a = p.reduced(x), b = p.reduced(x);
    const std::uint32_t again = p.op(support::reduction_op::wait, {x});
    p.output({a, b, again});
    const std::uint32_t start_of_a = p.nodes[a].operands[0];
    const support::waited_again_model model(p, start_of_a, again);
    const auto plan = plan_buckets(reduction_view{&p}, model, together{&p});
    REQUIRE(plan);
    CHECK(plan->empty());
    REQUIRE(plan->refused.size() == 2);
    using refused = refused_bucket<std::uint32_t>;
    CHECK(plan->refused[0] == refused{bucket_obstacle::several_values, start_of_a, again});
    const program_bucket_plan careless = plan_of(p);
    REQUIRE(careless.buckets.size() == 1);
    const auto judged = verify_buckets(careless, reduction_view{&p}, model);
    REQUIRE(!judged);
    CHECK(judged.error()[0].rule == bucket_rule::no_member);
    CHECK(judged.error()[0].vertex == start_of_a);
}

TEST_CASE("casts stay where others need them, or where what they read is overwritten") {
    reduction_program p;
    const std::uint32_t w = p.input(), u = p.input(), t = p.input();
    const std::uint32_t shared = p.op(cast, {w}), overwritten = p.op(cast, {u}), alone = p.op(cast, {t});
    p.op(twice, {p.op(same, {u})});
    const std::uint32_t a = p.reduced(shared, {.kind = gather}), b = p.reduced(overwritten, {.kind = gather});
    const std::uint32_t c = p.reduced(alone, {.kind = gather});
    p.output({a, b, c, shared});
    const program_bucket_plan plan = plan_of(p, {.order = payload_order::execution});
    REQUIRE(plan.buckets.size() == 1);
    CHECK(plan.buckets[0].parts == std::vector{shared, overwritten, t});
    CHECK(plan.buckets[0].casts == std::vector{alone});
    CHECK(run(bucketed(plan, p)) == run(p));
    CHECK(plan_of(p, {.mode = bucket_mode::coalesced}).buckets[0].casts.empty());
}

TEST_CASE("casts stay where a collective then fills the memory that they read") {
    reduction_program p;
    const std::uint32_t w = p.input(), u = p.input(), first = p.op(cast, {w}), second = p.op(cast, {u});
    const std::uint32_t fills = p.start(p.input()), filled = p.op(support::reduction_op::wait, {fills});
    const std::uint32_t a = p.reduced(first, {.kind = gather}), b = p.reduced(second, {.kind = gather});
    p.output({a, b, filled});
    const auto planned = [&](const auto& model) {
        return *plan_buckets(reduction_view{&p}, model, together{&p}, {.order = payload_order::execution});
    };
    const support::filling_model model(p, w, fills);
    const program_bucket_plan plan = planned(model), careless = planned(reduction_model{&p});
    REQUIRE(plan.buckets.size() == 1);
    CHECK(plan.buckets[0].casts == std::vector{second});
    CHECK(plan.buckets[0].parts == std::vector{first, u});
    CHECK(verify_buckets(plan, reduction_view{&p}, model));
    REQUIRE(careless.buckets.size() == 1);
    CHECK(careless.buckets[0].casts == std::vector{first, second});
    const auto judged = verify_buckets(careless, reduction_view{&p}, model);
    REQUIRE(!judged);
    CHECK(judged.error()[0].rule == bucket_rule::wrong_cast);
    CHECK(judged.error()[0].vertex == first);
}

TEST_CASE("starts with something between them depend on each other, even if that does not wait for the first") {
    reduction_program p;
    const std::uint32_t x = p.input(), a = p.reduced(x), between = p.op(mix, {x}), b = p.reduced(between);
    const std::uint32_t first = p.nodes[a].operands[0], second = p.nodes[b].operands[0];
    p.nodes[between].after.push_back(first);
    p.output({a, b});
    const program_bucket_plan plan = plan_of(p);
    CHECK(plan.empty());
    using refused = refused_bucket<std::uint32_t>;
    REQUIRE(plan.refused.size() == 2);
    CHECK(plan.refused[0] == refused{bucket_obstacle::dependent, first, second});
    CHECK(plan.refused[1] == refused{bucket_obstacle::dependent, second, first});
}

TEST_CASE("buckets that are asked for: an error with both names, or exactly these") {
    reduction_program p;
    const std::uint32_t x = p.input();
    const auto starting = [&](std::uint32_t of, reduction_node like = {}) {
        return p.nodes[p.reduced(of, like)].operands[0];
    };
    const std::uint32_t a = starting(x), b = starting(p.op(mix, {x})), needs = starting(p.op(mix, {p.order.back()}));
    const std::uint32_t other = starting(x, {.kind = scatter});
    p.output({p.order.back()});
    using sets = std::vector<std::vector<std::uint32_t>>;
    const auto ask = [&](const sets& s, const bucket_options& o = {}) {
        return plan_these_buckets(reduction_view{&p}, reduction_model{&p}, std::span(s), together{&p}, o);
    };
    const auto error = [&](const sets& s, const bucket_options& o = {}) { return ask(s, o).error(); };
    using refused = refused_bucket<std::uint32_t>;
    REQUIRE(ask({{b, a}}));
    CHECK(ask({{b, a}})->buckets[0].members == std::vector{b, a});  // registered so
    CHECK(ask({{a}, {b}})->empty());
    CHECK(error({{b, needs}}) == refused{bucket_obstacle::dependent, needs, b});
    CHECK(error({{a, b, needs}}) == refused{bucket_obstacle::dependent, needs, b});  // not a, which is merged with b
    CHECK(error({{a, other}}) == refused{bucket_obstacle::keys_differ, other, a});
    CHECK(error({{a, b}, {a, needs}}) == refused{bucket_obstacle::claimed_twice, a, a});
    CHECK(error({{a, x}}) == refused{bucket_obstacle::kind, x, x});
    CHECK(error({{a, b}}, {.most_bytes = {63}}) == refused{bucket_obstacle::limits, b, a});
    CHECK(ask({{a}}, {.most_bytes = {1}})->empty());  // one start alone is no bucket, so no limit concerns it
    for (const bucket_options& o : {bucket_options{.most_bytes = {0}}, bucket_options{.most_members = 0},
                                    bucket_options{.longest = {0}}, bucket_options{.most_open = 0}})
        CHECK(plan_buckets(reduction_view{&p}, reduction_model{&p}, together{&p}, o).error() ==
              bucket_obstacle::no_room);
}

TEST_CASE("archetypes suffice to plan buckets") {
    const archetypes::program g(0);
    const auto plan = plan_buckets(
        g, archetypes::kinds(0), [](archetypes::vertex) { return bucket_choice{.label = 1}; }, {},
        archetypes::bucket_costs(0));
    REQUIRE(plan);
    CHECK(plan->empty());
    CHECK(plan->refused.size() == 2);  // the model does not say what they launch
}

TEST_CASE("whatever is alike and may be merged one by one travels together, however many keys there are") {
    std::size_t together_at_once = 0, one_by_one = 0;
    stretto_check("random programs", 100'000, [&](const std::vector<std::uint8_t>& data) {
        const reduction_program p = support::random_traffic(data);
        const std::uint32_t labels = 1 + static_cast<std::uint32_t>(data.size() % 4);
        const auto choose = [&](std::uint32_t v) {
            bucket_choice c = together{&p}(v);
            c.label = v % labels;
            return c;
        };
        const auto plan = plan_buckets(reduction_view{&p}, reduction_model{&p}, choose);
        RC_ASSERT(plan.has_value());
        std::map<std::vector<std::uint32_t>, std::vector<std::uint32_t>> alike;
        const auto add = [&](std::uint32_t v) {
            const reduction_node& n = p.nodes[v];
            alike[{v % labels, static_cast<std::uint32_t>(n.kind), static_cast<std::uint32_t>(n.group),
                   static_cast<std::uint32_t>(n.how), n.kind == gather ? 0u : static_cast<std::uint32_t>(n.element)}]
                .push_back(v);
        };
        for (const program_bucket& b : plan->buckets)
            for (std::uint32_t v : b.members) add(v);
        for (const auto& r : plan->refused)
            if (r.why == bucket_obstacle::dependent || r.why == bucket_obstacle::crowded ||
                r.why == bucket_obstacle::nobody_fits)
                add(r.vertex);
        std::vector<std::vector<std::uint32_t>> sets;
        for (auto& [key, all] : alike) {
            std::ranges::sort(all, {}, [&](std::uint32_t v) { return std::ranges::find(p.order, v); });
            if (all.size() > 1) sets.push_back(all);
        }
        const auto merged = plan_these_buckets(reduction_view{&p}, reduction_model{&p},
                                               std::span<const std::vector<std::uint32_t>>(sets), choose);
        if (!merged) {
            ++one_by_one;
            return;
        }
        together_at_once += !sets.empty();
        RC_ASSERT(plan->buckets == merged->buckets);
        RC_ASSERT(plan->order == merged->order);
    });
    if (!support::runs_all_cases()) return;
    CHECK(together_at_once > 500);
    CHECK(one_by_one > 500);
}

TEST_CASE("any program computes the same in buckets, which nothing could be added to, and which come apart again") {
    std::size_t found = 0, programs = 0, casts = 0, refused = 0, buckets = 0;
    stretto_check("random programs", 100'000, [&](const std::vector<std::uint8_t>& data) {
        const reduction_program p = support::random_traffic(data);
        bucket_options o;
        if (data.size() % 2 == 1) o.order = payload_order::execution;
        if (data.size() % 5 == 1) o.mode = bucket_mode::coalesced;
        const bool limited = data.size() % 3 == 0;
        if (limited) {
            o.most_bytes = {40 + 16 * static_cast<std::int64_t>(data.size() % 7)};
            o.most_members = 2 + data.size() % 3;
            o.most_span = 8 + data.size() % 11;
        }
        const auto planned = plan_buckets(reduction_view{&p}, reduction_model{&p}, together{&p}, o);
        RC_ASSERT(planned.has_value());
        const program_bucket_plan& plan = *planned;
        ++programs;
        refused += plan.refused.size();
        const auto dependences = all_dependences(p);
        if (!limited) {  // by brute force: no two of what is left may become one
            std::vector<std::vector<std::uint32_t>> units;
            for (const program_bucket& b : plan.buckets) units.push_back(b.members);
            for (const auto& r : plan.refused)
                if (r.why != bucket_obstacle::kind && r.why != bucket_obstacle::read_in_flight &&
                    r.why != bucket_obstacle::several_values && r.why != bucket_obstacle::shared_memory)
                    units.push_back({r.vertex});
            const auto key = [&](std::uint32_t s) {
                const reduction_node& n = p.nodes[s];
                return std::vector{static_cast<int>(n.kind), static_cast<int>(n.group), static_cast<int>(n.how),
                                   n.kind == gather ? 0 : n.element};
            };
            const auto wait_of = [&](std::uint32_t s) {
                return *std::ranges::find_if(p.order, [&](std::uint32_t v) {
                    return p.nodes[v].op == support::reduction_op::wait && p.nodes[v].operands[0] == s;
                });
            };
            for (std::size_t i = 0; i < units.size(); ++i)
                for (std::size_t k = 0; k < i; ++k) {
                    if (key(units[i][0]) != key(units[k][0])) continue;
                    auto sets = support::sets_of(plan);
                    // Contracted sets are joined by naming one member of each.
                    std::vector<std::uint32_t> starts = units[i], waits;
                    starts.insert(starts.end(), units[k].begin(), units[k].end());
                    for (std::uint32_t s : starts) waits.push_back(wait_of(s));
                    std::erase_if(sets, [&](const auto& set) {
                        return std::ranges::count(starts, set[0]) > 0 || std::ranges::count(waits, set[0]) > 0;
                    });
                    sets.push_back(starts);
                    sets.push_back(waits);
                    RC_ASSERT(!contracts(p, dependences, sets));
                }
        }
        if (plan.empty()) return;
        ++found;
        RC_ASSERT(proved(plan, p));
        RC_ASSERT(contracts(p, dependences, support::sets_of(plan)));
        const reduction_model model{&p};
        for (const program_bucket& b : plan.buckets) {
            ++buckets;
            casts += b.casts.size();
            bytes weight;
            std::vector<std::ptrdiff_t> places;
            for (std::uint32_t s : b.members) {
                weight += std::max(model.payload(s), model.bytes_of(s));
                places.push_back(std::ranges::find(p.order, s) - p.order.begin());
            }
            RC_ASSERT(weight <= o.most_bytes);
            RC_ASSERT(b.members.size() <= o.most_members);
            RC_ASSERT(static_cast<std::size_t>(std::ranges::max(places) - std::ranges::min(places)) <= o.most_span);
            RC_ASSERT(std::ranges::is_sorted(b.members, [&](std::uint32_t x, std::uint32_t y) {
                return o.order == payload_order::registration ? x > y : x < y;
            }));
        }
        const reduction_program after = bucketed(plan, p);
        RC_ASSERT(in_order(after));
        RC_ASSERT(after.count(start) + plan.saved() == p.count(start));
        RC_ASSERT(run(after) == run(p));
        const reduction_program again = unmerged(plan, after, p.nodes.size());
        for (std::uint32_t v = 0; v < p.nodes.size(); ++v) RC_ASSERT(again.nodes[v].operands == p.nodes[v].operands);
        RC_ASSERT(run(again) == run(p));
    });
    MESSAGE(found << " of " << programs << " programs have buckets, " << buckets << " in all, with " << casts
                  << " casts; " << refused << " collectives stay apart");
    if (support::runs_all_cases()) {
        CHECK(found > programs / 8);
        CHECK(casts > 100);
    }
}
