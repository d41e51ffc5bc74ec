#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include "stretto/schedule/checked_order.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <vector>

#include "support/prop.hpp"

using namespace stretto;
using support::toy_program;

static_assert(!std::default_initializable<checked_order>);
static_assert(!std::constructible_from<checked_order, std::vector<task_id>>);
static_assert(std::copyable<checked_order>);

TEST_CASE("only a legal order is a checked one") {
    toy_program p;
    p.ops.push_back({.duration = {10}, .results = {{{16}, {}}}});
    p.ops.push_back({.kind = op_kind::start, .duration = {30}, .operands = {{0, 0}}, .results = {{{32}, {}}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{1, 0}}, .results = {{{0}, {{1, 0}}}}});
    p.ops.push_back({.duration = {5}, .results = {{{16}, {}}}});
    const task_graph g = support::graph_of(p);

    const auto legal = check_order(g, {0, 1, 3, 2}, {64});
    REQUIRE(legal.has_value());
    CHECK(legal->order() == std::vector<task_id>{0, 1, 3, 2});
    CHECK(legal->memory_limit().count == 64);
    CHECK(legal->belongs_to(g));
    CHECK(legal->fingerprint() == fingerprint_of(g, legal->order()));

    const auto illegal = check_order(g, {1, 0, 2, 3});
    REQUIRE_FALSE(illegal.has_value());
    CHECK(illegal.error().broken == order_violation::rule::reads_before_producer);
    const auto too_much = check_order(g, {0, 1, 3, 2}, {63});
    REQUIRE_FALSE(too_much.has_value());
    CHECK(too_much.error().broken == order_violation::rule::exceeds_memory_limit);
}

TEST_CASE("the order in which a program is written is a legal one, and says so") {
    stretto_check("program order", 50, [](const std::vector<std::uint8_t>& bytes) {
        toy_program p;
        for (const std::uint8_t b : bytes) {
            support::toy_op op{.results = {{{8}, {}}}};
            if (!p.ops.empty()) op.operands.push_back({static_cast<std::uint32_t>(b % p.ops.size()), 0});
            p.ops.push_back(op);
        }
        const task_graph g = support::graph_of(p);
        const std::vector<task_id> order = program_order(g);
        RC_ASSERT(order == support::program_order(g.size()));
        RC_ASSERT(check_order(g, order).has_value());
    });
}

TEST_CASE("an order belongs to the graph that it was checked for, and to what is as good") {
    toy_program p;
    p.ops.push_back({.duration = {10}, .results = {{{16}, {}}}});
    p.ops.push_back({.duration = {20}, .operands = {{0, 0}}, .results = {{{16}, {}}}});
    p.ops.push_back({.duration = {20}, .operands = {{0, 0}}, .results = {{{16}, {}}}});
    const task_graph g = support::graph_of(p);
    const auto checked = check_order(g, {0, 2, 1});
    REQUIRE(checked.has_value());
    const auto after = [&](auto change) {
        toy_program q = p;
        change(q);
        return checked->belongs_to(support::graph_of(q));
    };
    CHECK(after([](toy_program&) {}));
    CHECK(after([](toy_program& q) { q.ops[1].duration = {7}; }));  // measured again
    CHECK_FALSE(after([](toy_program& q) { q.ops.pop_back(); }));
    CHECK_FALSE(after([](toy_program& q) { q.ops[2].operands = {{1, 0}}; }));
    CHECK_FALSE(after([](toy_program& q) { q.ops[2].operands.clear(); }));
    CHECK_FALSE(after([](toy_program& q) { q.ops[2].effects = {{0, 0}}; }));
    CHECK_FALSE(after([](toy_program& q) { q.ops[2].results[0].size = {17}; }));
    CHECK_FALSE(after([](toy_program& q) { q.ops[2].results[0].aliases = {{0, 0}}; }));
    CHECK_FALSE(after([](toy_program& q) { q.ops[2].kind = op_kind::view; }));
}

TEST_CASE("check_order accepts what verify_order accepts, and nothing else") {
    stretto_check("agree", 2000, [](const std::vector<std::uint8_t>& picks, std::uint16_t from) {
        const support::scheduling_case problem = *support::scheduling_cases(30);
        const task_graph g = support::graph_of(problem.program());
        support::task_order order = support::random_order(g, picks);
        if (order.size() < 2) return;
        const std::size_t a = from % (order.size() - 1);
        if (from & 1024) std::swap(order[a], order[a + 1]);
        const auto verdict = verify_order(g, order);
        const auto checked = check_order(g, order);
        RC_ASSERT(checked.has_value() == verdict.has_value());
        if (!checked) return;
        RC_ASSERT(checked->order() == order);
        RC_ASSERT(checked->graph() == identity_of(g));
    });
}
