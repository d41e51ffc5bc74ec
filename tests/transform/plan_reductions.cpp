#include "stretto/transform/plan_reductions.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/testing/model_archetypes.hpp"
#include "stretto/transform/apply_reductions.hpp"
#include "stretto/transform/reduction_plan.hpp"
#include "stretto/transform/verify_reductions.hpp"
#include "support/prop.hpp"
#include "support/reduction_ir.hpp"

using namespace stretto;
using support::reduction_model;
using support::reduction_node;
using support::reduction_op;
using support::reduction_program;
using support::reduction_rewriter;
using support::reduction_view;
using enum support::reduction_op;

namespace {

using plan_of_program = reduction_plan<std::uint32_t, std::uint32_t>;
using one_reduction = reduction<std::uint32_t, std::uint32_t>;

plan_of_program plan_of(const reduction_program& p, const reduction_options& options = {}) {
    return plan_reductions(reduction_view{&p}, reduction_model{&p}, reduction_model{&p}, options);
}
bool proved(const plan_of_program& plan, const reduction_program& p) {
    return verify_reductions(plan, reduction_view{&p}, reduction_model{&p}, reduction_model{&p}).has_value();
}
reduction_program applied(const plan_of_program& plan, const reduction_program& p) {
    reduction_program made = p;
    reduction_rewriter rewriter{&made};
    apply_reductions(plan, reduction_view{&p}, rewriter);
    return made;
}

/// Three micro-batches, whose gradients are reduced and accumulated, in place or not.
struct micro_batches {
    reduction_program p;
    std::vector<std::uint32_t> gradients, results;
    explicit micro_batches(std::size_t n = 3, reduction_node like = {}) {
        const std::uint32_t x = p.input();
        for (std::size_t k = 0; k < n; ++k) {
            gradients.push_back(p.op(mix, {x, k == 0 ? x : gradients.back()}));
            results.push_back(p.reduced(gradients.back(), like));
        }
    }
    std::uint32_t accumulate(reduction_op how) {
        std::uint32_t total = results[0];
        for (std::size_t k = 1; k < results.size(); ++k) total = p.op(how, {total, results[k]});
        return total;
    }
};

/// The reduction that the sum at `end` would be, whatever its parts are; empty if they are no results of collectives.
one_reduction candidate(const reduction_program& p, std::uint32_t end) {
    one_reduction r;
    std::vector<std::uint32_t> open = {end}, place(p.nodes.size());
    for (std::uint32_t k = 0; k < p.order.size(); ++k) place[p.order[k]] = k;
    for (bool first = true; !open.empty(); first = false) {
        const std::uint32_t v = open.back();
        open.pop_back();
        const reduction_node& n = p.nodes[v];
        if (n.op == reduction_op::wait) {
            r.waits.push_back(v);
        } else if (n.op == add || n.op == add_to || (!first && (n.op == same || n.op == reverse))) {
            r.sums.push_back(v);
            open.insert(open.end(), n.operands.begin(), n.operands.end());
        } else return {};
        if (r.sums.size() > 200) return {};
    }
    const auto by_place = [&](std::uint32_t a, std::uint32_t b) { return place[a] < place[b]; };
    std::sort(r.sums.begin(), r.sums.end(), by_place);
    std::sort(r.waits.begin(), r.waits.end(), [&](std::uint32_t a, std::uint32_t b) {
        return by_place(p.nodes[a].operands[0], p.nodes[b].operands[0]);
    });
    for (std::uint32_t w : r.waits) {
        r.members.push_back(p.nodes[w].operands[0]);
        r.operands.push_back(p.nodes[r.members.back()].operands[0]);
    }
    r.result = end;
    for (std::uint32_t v = end; p.nodes[v].op != reduction_op::wait; v = p.nodes[v].operands[0])
        if (p.nodes[v].op == reverse) r.layout.insert(r.layout.begin(), v);
    return r;
}

}  // namespace

TEST_CASE("results that are only added become one collective of the sum") {
    for (reduction_op how : {add, add_to}) {
        micro_batches m;
        const std::uint32_t total = m.accumulate(how);
        m.p.output({total});
        const plan_of_program plan = plan_of(m.p);
        REQUIRE(plan.reductions.size() == 1);
        const one_reduction& r = plan.reductions[0];
        CHECK(r.operands == m.gradients);
        CHECK(r.waits == m.results);
        CHECK(r.members.size() == 3);
        CHECK(r.sums.size() == 2);
        CHECK(r.result == total);
        CHECK(r.layout.empty());
        CHECK(plan.saved() == 2);
        CHECK(proved(plan, m.p));
        const reduction_program after = applied(plan, m.p);
        CHECK(in_order(after));
        CHECK(after.count(start) == 1);
        CHECK(run(after) == run(m.p));
    }
}

TEST_CASE("the first sum is written over an operand that dies, and only over such a one") {
    micro_batches chained;  // each gradient is read by the next micro-batch
    chained.p.output({chained.accumulate(add_to)});
    CHECK(plan_of(chained.p).reductions[0].first_sum == sum_place::first);
    CHECK(plan_of(chained.p, {.in_place = false}).reductions[0].first_sum == sum_place::fresh);

    micro_batches kept;
    const std::uint32_t total = kept.accumulate(add_to);
    kept.p.output({total, kept.gradients[0]});
    CHECK(plan_of(kept.p).reductions[0].first_sum == sum_place::fresh);  // the second is read by the third batch

    micro_batches two(2);
    const std::uint32_t sum = two.accumulate(add);
    two.p.output({sum, two.gradients[0]});
    CHECK(plan_of(two.p).reductions[0].first_sum == sum_place::second);

    micro_batches looked_at(2);  // somebody has a view of it, and reads that later
    const std::uint32_t view = looked_at.p.op(same, {looked_at.gradients[0]});
    const std::uint32_t other = looked_at.p.op(same, {looked_at.gradients[1]});
    const std::uint32_t all = looked_at.accumulate(add);
    looked_at.p.output({all, looked_at.p.op(mix, {view, other})});
    CHECK(plan_of(looked_at.p).reductions[0].first_sum == sum_place::fresh);
}

TEST_CASE("an operand that two reductions read is not overwritten while the other one still needs it") {
    reduction_program p;
    const std::uint32_t x = p.input(), shared = p.op(mix, {x}), a = p.reduced(shared), b = p.reduced(shared);
    const std::uint32_t second = p.reduced(p.op(mix, {x, x})), third = p.reduced(p.op(mix, {x, x, x}));
    p.output({p.op(add, {a, second}), p.op(add, {b, third})});
    const plan_of_program plan = plan_of(p);
    REQUIRE(plan.reductions.size() == 2);
    CHECK(plan.reductions[0].first_sum == sum_place::second);  // `shared` is read again when `third` is ready
    CHECK(plan.reductions[1].first_sum == sum_place::first);
    CHECK(proved(plan, p));
    CHECK(run(applied(plan, p)) == run(p));
    plan_of_program early = plan;
    early.reductions[0].first_sum = sum_place::first;
    CHECK(!proved(early, p));
    CHECK(run(applied(early, p)) != run(p));
}

TEST_CASE("an operand in whose memory a later operand lives is not overwritten") {
    reduction_program p;
    const std::uint32_t x = p.input(), first = p.op(mix, {x}), second = p.op(mix, {x, x}), view = p.op(same, {first});
    const std::uint32_t a = p.reduced(first), b = p.reduced(second), c = p.reduced(view);
    p.output({p.op(add, {p.op(add, {a, b}), c})});
    const plan_of_program plan = plan_of(p);
    REQUIRE(plan.reductions.size() == 1);
    CHECK(plan.reductions[0].first_sum == sum_place::second);
    CHECK(proved(plan, p));
    CHECK(run(applied(plan, p)) == run(p));
    plan_of_program over = plan;
    over.reductions[0].first_sum = sum_place::first;
    CHECK(!proved(over, p));
    CHECK(run(applied(over, p)) != run(p));
}

TEST_CASE("views that are alike are passed, and made once, of the result") {
    micro_batches m(2);
    const std::uint32_t a = m.p.op(reverse, {m.p.op(same, {m.results[0]})}), b = m.p.op(reverse, {m.results[1]});
    const std::uint32_t total = m.p.op(add, {a, b});
    m.p.output({m.p.op(same, {total})});
    const plan_of_program plan = plan_of(m.p);
    REQUIRE(plan.reductions.size() == 1);
    CHECK(plan.reductions[0].layout == std::vector{a});
    CHECK(plan.reductions[0].result == total);  // the view behind the sum stays
    CHECK(proved(plan, m.p));
    CHECK(run(applied(plan, m.p)) == run(m.p));
    const plan_of_program limited = plan_of(m.p, {.most_views = 0});
    CHECK(limited.empty());
    REQUIRE(limited.refused.size() == 1);
    CHECK(limited.refused[0].why == reduction_obstacle::too_many_views);
}

TEST_CASE("collectives stay apart, and the reason is named") {
    micro_batches m(2);
    reduction_program& p = m.p;
    reduction_obstacle why{};
    SUBCASE("a part is read elsewhere") {
        const std::uint32_t total = m.accumulate(add);
        p.output({total, m.results[1]});
        why = reduction_obstacle::read_elsewhere;
    }
    SUBCASE("a part is read through a view") {
        const std::uint32_t view = p.op(same, {m.results[0]});
        const std::uint32_t total = m.accumulate(add);
        p.output({total, view});
        why = reduction_obstacle::read_elsewhere;
    }
    SUBCASE("somebody follows a part without reading it") {
        const std::uint32_t total = m.accumulate(add);
        const std::uint32_t later = p.op(mix, {m.gradients[0]});
        p.nodes[later].after.push_back(m.results[0]);
        p.output({total, later});
        why = reduction_obstacle::read_elsewhere;
    }
    SUBCASE("a member follows something that it does not read") {
        p.nodes[p.nodes[m.results[1]].operands[0]].after.push_back(m.gradients[0]);
        p.output({m.accumulate(add)});
        why = reduction_obstacle::other_dependence;
    }
    SUBCASE("another group") {
        const std::uint32_t r = p.reduced(p.op(mix, {m.gradients[1]}), {.group = 1});
        p.output({p.op(add, {m.results[0], r}), m.results[1]});
        why = reduction_obstacle::members_differ;
    }
    SUBCASE("another argument") {
        const std::uint32_t r = p.reduced(p.op(mix, {m.gradients[1]}), {.flavour = 1});
        p.output({p.op(add, {m.results[0], r}), m.results[1]});
        why = reduction_obstacle::members_differ;
    }
    SUBCASE("another payload") {
        const std::uint32_t r = p.reduced(p.op(mix, {p.input(8)}), {.kind = collective_kind::reduce_scatter});
        p.output({p.op(add, {m.results[0], r}), m.results[1]});
        why = reduction_obstacle::members_differ;
    }
    SUBCASE("laid out differently") {
        p.output({p.op(add, {m.results[0], p.op(reverse, {m.results[1]})})});
        why = reduction_obstacle::layouts_differ;
    }
    SUBCASE("one value is reduced twice") {
        const std::uint32_t again = p.reduced(m.gradients[0]);
        p.output({p.op(add, {m.results[0], again}), m.results[1]});
        why = reduction_obstacle::operand_twice;
    }
    SUBCASE("what the first one reads is overwritten before the second one is ready") {
        reduction_program q;
        const std::uint32_t x = q.input(), g = q.op(mix, {x}), r = q.reduced(g), w = q.op(twice, {q.op(same, {g})});
        const std::uint32_t second = q.reduced(q.op(mix, {w}));
        q.output({q.op(add, {r, second})});
        p = q;
        why = reduction_obstacle::overwritten;
    }
    const plan_of_program plan = plan_of(p);
    CHECK(plan.empty());
    REQUIRE(plan.refused.size() == 1);
    CHECK(plan.refused[0].why == why);
    CHECK(!explain(why).empty());
}

TEST_CASE("what is not linear, or writes elsewhere, is no member") {
    micro_batches largest(2, {.how = reduction_kind::max});
    largest.p.output({largest.accumulate(add)});
    CHECK(plan_of(largest.p) == plan_of_program{});
    micro_batches moves(2, {.kind = collective_kind::all_gather});
    moves.p.output({moves.accumulate(add)});
    CHECK(plan_of(moves.p) == plan_of_program{});
    micro_batches unknown(2, {.how = reduction_kind::unknown});
    unknown.p.output({unknown.accumulate(add)});
    CHECK(plan_of(unknown.p) == plan_of_program{});
    micro_batches rounded(2, {.how = reduction_kind::average});  // of integers
    rounded.p.output({rounded.accumulate(add)});
    CHECK(plan_of(rounded.p) == plan_of_program{});
    micro_batches once(2);
    once.p.output({once.p.op(add, {once.results[0], once.results[0]}), once.results[1]});
    CHECK(plan_of(once.p) == plan_of_program{});
}

TEST_CASE("a start with a second wait is no member, even if that wait does not read the result") {
    micro_batches m(2);
    const std::uint32_t total = m.accumulate(add), again = m.p.op(reduction_op::wait, {m.gradients[0]});
    m.p.output({total, again});
    const plan_of_program careless = plan_of(m.p);
    REQUIRE(careless.reductions.size() == 1);
    const std::uint32_t first = careless.reductions[0].members[0];
    const support::waited_again_model model(m.p, first, again);
    const reduction_view view{&m.p};
    CHECK(plan_reductions(view, model, model).empty());
    const auto judged = verify_reductions(careless, view, model, model);
    REQUIRE(!judged);
    CHECK(judged.error()[0].rule == reduction_rule::wrong_wait);
    CHECK(judged.error()[0].vertex == first);
}

TEST_CASE("a sum that goes on with something else ends before it") {
    micro_batches m(3);
    const std::uint32_t two = m.p.op(add, {m.results[0], m.results[1]});
    const std::uint32_t weight = m.p.input();
    const std::uint32_t three = m.p.op(add, {m.p.op(add, {two, weight}), m.results[2]});
    m.p.output({three});
    const plan_of_program plan = plan_of(m.p);
    REQUIRE(plan.reductions.size() == 1);
    CHECK(plan.reductions[0].result == two);
    CHECK(run(applied(plan, m.p)) == run(m.p));
}

TEST_CASE("an addition in place may name what it writes by any value in that memory") {
    micro_batches m(3);
    m.results[0] = m.p.op(same, {m.results[0]});
    m.p.output({m.accumulate(add_to)});
    const support::owner_writing_model by_owner(m.p);
    const reduction_view view{&m.p};
    const plan_of_program plan = plan_reductions(view, by_owner, by_owner);
    CHECK(plan == plan_of(m.p));
    REQUIRE(plan.reductions.size() == 1);
    CHECK(plan.reductions[0].members.size() == 3);
    CHECK(verify_reductions(plan, view, by_owner, by_owner).has_value());
}

TEST_CASE("a value that vanishes may not be named where a remaining operation writes") {
    micro_batches m(3);
    const std::uint32_t total = m.accumulate(add_to), doubled = m.p.op(twice, {total});
    m.p.output({doubled});
    CHECK(plan_of(m.p).reductions.size() == 1);  // the result of the sum is named, which stays
    const support::owner_writing_model by_owner(m.p);
    const reduction_view view{&m.p};
    const plan_of_program plan = plan_reductions(view, by_owner, by_owner);
    CHECK(plan.reductions.empty());
    REQUIRE(!plan.refused.empty());
    CHECK(plan.refused[0].why == reduction_obstacle::read_elsewhere);
    CHECK(plan.refused[0].other == doubled);
    const auto judged = verify_reductions(plan_of(m.p), view, by_owner, by_owner);
    REQUIRE(!judged);
    CHECK(judged.error()[0].rule == reduction_rule::read_elsewhere);
    CHECK(judged.error()[0].other == doubled);
}

TEST_CASE("a dependence between operations that all vanish keeps nothing") {
    micro_batches m(3);
    const std::uint32_t first = m.p.nodes[m.results[0]].operands[0];
    const std::uint32_t total = m.accumulate(add_to);
    m.p.nodes[total].after.push_back(first);  // a view may say that what is written depends on the start that made it
    m.p.output({total});
    const plan_of_program plan = plan_of(m.p);
    REQUIRE(plan.reductions.size() == 1);
    CHECK(proved(plan, m.p));
    CHECK(run(applied(plan, m.p)) == run(m.p));
}

TEST_CASE("archetypes suffice") {
    struct nothing_linear {
        linear_kind linearity(archetypes::vertex) const { return linear_kind::other; }
        bool alike(archetypes::vertex, archetypes::vertex) const { return false; }
    };
    const archetypes::program g(0);
    CHECK(plan_reductions(g, archetypes::kinds(0), nothing_linear{}).empty());
    CHECK(plan_reductions(g, archetypes::kinds(0), archetypes::sums(0)).empty());
}

TEST_CASE("any program computes the same reduced once, and nothing that could be is left") {
    std::size_t programs = 0, found = 0, members = 0, written = 0, refused = 0, fewer = 0;
    const auto reduce = [&](const reduction_program& p, const auto& model) {
        const reduction_view view{&p};
        const plan_of_program plan = plan_reductions(view, model, model);
        const auto is_proved = [&](const plan_of_program& a) {
            return verify_reductions(a, view, model, model).has_value();
        };
        ++programs;
        refused += plan.refused.size();
        RC_ASSERT(is_proved(plan));
        for (std::uint32_t v : p.order) {  // by brute force: every sum of collectives that is proved is in the plan
            one_reduction r = p.nodes[v].op == add || p.nodes[v].op == add_to ? candidate(p, v) : one_reduction{};
            if (r.members.size() < 2 || !is_proved({{r}, {}})) continue;
            RC_ASSERT(std::ranges::any_of(plan.reductions, [&](const one_reduction& whole) {
                return std::ranges::includes(
                    whole.sums, r.sums, {},
                    [&](std::uint32_t s) { return std::ranges::find(p.order, s) - p.order.begin(); },
                    [&](std::uint32_t s) { return std::ranges::find(p.order, s) - p.order.begin(); });
            }));
        }
        if (plan.empty()) return plan;
        ++found;
        for (const one_reduction& r : plan.reductions) {
            members += r.members.size();
            written += r.first_sum != sum_place::fresh;
        }
        const reduction_program after = applied(plan, p);
        RC_ASSERT(in_order(after));
        RC_ASSERT(after.count(start) + plan.saved() == p.count(start));
        RC_ASSERT(run(after) == run(p));
        return plan;
    };
    stretto_check("random programs", 100'000, [&](const std::vector<std::uint8_t>& bytes) {
        const reduction_program p = support::random_reductions(bytes);
        const plan_of_program plan = reduce(p, reduction_model{&p});
        const plan_of_program by_owner = reduce(p, support::owner_writing_model(p));
        RC_ASSERT(by_owner.saved() <= plan.saved());  // what is written elsewhere may name a value that would vanish
        fewer += by_owner.saved() < plan.saved();
    });
    MESSAGE(found << " of " << programs << " programs reduce once, " << members << " collectives, " << written
                  << " sums in place; " << refused << " sums refused; " << fewer << " times fewer by owners");
    if (support::runs_all_cases()) {
        CHECK(found > programs / 12);
        CHECK(written > found / 8);
        CHECK(refused > programs / 40);
        CHECK(fewer > 0);
        CHECK(fewer < found / 8);
    }
}
