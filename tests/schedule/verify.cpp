#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <utility>
#include <vector>

#include "stretto/schedule/verify.hpp"
#include "support/legality.hpp"
#include "support/prop.hpp"

using namespace stretto;
using rule = order_violation::rule;
using support::toy_program;

namespace {

/// 0 input, 1 a kernel that reads it, 2 a collective of 1, 3 its wait, 4 a kernel that writes 1 in place, 5 a kernel
/// that reads 1, 6 a kernel that reads 3.
toy_program step_with_a_write() {
    toy_program p;
    p.ops.push_back({.kind = op_kind::input, .results = {{{8}, {}}}});
    p.ops.push_back({.duration = {10}, .operands = {{0, 0}}, .results = {{{16}, {}}}});
    p.ops.push_back({.kind = op_kind::start, .duration = {30}, .operands = {{1, 0}}, .results = {{{32}, {}}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{2, 0}}, .results = {{{0}, {{2, 0}}}}});
    p.ops.push_back({.duration = {10}, .operands = {{1, 0}}, .results = {}, .effects = {{1, 0}}});
    p.ops.push_back({.duration = {10}, .operands = {{1, 0}}, .results = {}});
    p.ops.push_back({.duration = {10}, .operands = {{3, 0}}, .results = {}});
    return p;
}

/// The same program, in which some of the collectives that fill a buffer either do not declare it, so that only their
/// result tells, or return memory of their own, so that only the declaration tells.
toy_program with_terse_starts(toy_program p, const std::vector<std::uint8_t>& picks) {
    for (std::size_t v = 0; v < p.ops.size() && !picks.empty(); ++v) {
        support::toy_op& op = p.ops[v];
        if (op.kind != op_kind::start || op.effects.empty()) continue;
        const unsigned form = picks[v % picks.size()] / 4u % 3u;
        if (form == 1) op.effects.clear();
        if (form == 2) op.results = {{{1}, {}}};
    }
    return p;
}

void refused(const toy_program& p, const std::vector<task_id>& order, const order_violation& expected,
             bytes limit = unlimited_bytes) {
    const auto verdict = verify_order(support::graph_of(p), order, limit);
    REQUIRE(!verdict.has_value());
    CHECK(verdict.error().broken == expected.broken);
    CHECK(verdict.error().position == expected.position);
    CHECK(verdict.error().task == expected.task);
    CHECK(verdict.error().other == expected.other);
}

}  // namespace

TEST_CASE("a legal order comes back with its times and memory") {
    const toy_program p = step_with_a_write();
    const auto verdict = verify_order(support::graph_of(p), std::vector<task_id>{0, 1, 2, 3, 6, 4, 5}, {48});
    REQUIRE(verdict.has_value());
    CHECK(verdict->times.makespan.count == 70);
    CHECK(verdict->times.exposed.count == 30);
    CHECK(verdict->memory.peak.count == 48);
}

TEST_CASE("an order is a permutation") {
    const toy_program p = step_with_a_write();
    refused(p, {0, 1, 2, 3, 4, 5}, {rule::not_a_permutation, 6, 6, no_task});
    refused(p, {0, 1, 2, 2, 4, 5, 6}, {rule::not_a_permutation, 3, 2, no_task});
    refused(p, {0, 1, 2, 3, 4, 5, 7}, {rule::not_a_permutation, 6, 7, no_task});
    refused(p, {0, 1, 2, 3, 4, 5, 6, 0}, {rule::not_a_permutation, 7, 0, no_task});
}

TEST_CASE("readers stand behind producers, waits behind starts") {
    const toy_program p = step_with_a_write();
    refused(p, {1, 0, 2, 3, 4, 5, 6}, {rule::reads_before_producer, 0, 1, 0});
    refused(p, {0, 1, 2, 6, 3, 4, 5}, {rule::reads_before_producer, 3, 6, 3});
    // That the wait reads its start is reported first; a wait that knows its start otherwise has only that to break.
    refused(p, {0, 1, 3, 2, 4, 5, 6}, {rule::reads_before_producer, 2, 3, 2});
    task_graph g;
    for (int t = 0; t < 2; ++t) {
        g.kind.push_back(t == 0 ? op_kind::start : op_kind::wait);
        g.duration.push_back({5});
        g.collective.push_back(collective_kind::other);
        g.group.push_back(0);
        g.payload.push_back({});
        g.launch.push_back(t == 0 ? no_task : 0);
        g.first_result.push_back(0);
        for (index_lists* lists : {&g.operands, &g.writes, &g.touched, &g.declared, &g.predecessors, &g.successors})
            lists->close_row();
    }
    g.first_result.push_back(0);
    g.groups = 1;
    CHECK(verify_order(g, std::vector<task_id>{0, 1}).has_value());
    const auto verdict = verify_order(g, std::vector<task_id>{1, 0});
    REQUIRE(!verdict.has_value());
    CHECK(verdict.error().broken == rule::wait_before_start);
    CHECK(verdict.error().task == 1);
    CHECK(verdict.error().other == 0);
}

TEST_CASE("uses of a storage that is written keep their order") {
    const toy_program p = step_with_a_write();
    refused(p, {0, 1, 2, 3, 5, 4, 6}, {rule::overtakes_a_write, 4, 5, 4});
    refused(p, {0, 1, 4, 2, 3, 5, 6}, {rule::overtakes_a_write, 2, 4, 2});
    // Readers among themselves may change places.
    toy_program q = p;
    q.ops[4].effects.clear();
    CHECK(verify_order(support::graph_of(q), std::vector<task_id>{0, 1, 5, 4, 2, 3, 6}).has_value());
}

TEST_CASE("what a collective has in flight is left alone") {
    toy_program p = step_with_a_write();
    // It reads 1 until its wait, so 1 must not be written before.
    refused(p, {0, 1, 2, 4, 5, 3, 6}, {rule::touches_data_in_flight, 3, 4, 2});
    // A reader of its own result that does not name the wait is in program order behind it, and must stay there.
    p.ops[6].operands = {{2, 0}};
    refused(p, {0, 1, 2, 6, 3, 4, 5}, {rule::touches_data_in_flight, 3, 6, 2});
    // What program order itself touches in flight is not the order's fault.
    std::swap(p.ops[3], p.ops[6]);
    CHECK(verify_order(support::graph_of(p), std::vector<task_id>{0, 1, 2, 3, 6, 4, 5}).has_value());
}

TEST_CASE("a collective writes its declared effects until its first wait") {
    // 0 makes a, 1 fills a in place and returns a number of its own, 2 waits, 3 reads a.
    toy_program p;
    p.ops.push_back({.duration = {10}, .results = {{{16}, {}}}});
    p.ops.push_back(
        {.kind = op_kind::start, .duration = {30}, .operands = {{0, 0}}, .results = {{{4}, {}}}, .effects = {{0, 0}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{1, 0}}, .results = {{{0}, {{1, 0}}}}});
    p.ops.push_back({.duration = {10}, .operands = {{0, 0}}, .results = {}});
    CHECK(verify_order(support::graph_of(p), support::program_order(4)).has_value());
    refused(p, {0, 1, 3, 2}, {rule::touches_data_in_flight, 2, 3, 1});
    CHECK(!support::illegality(p, support::facts_of(p), {0, 1, 3, 2}).empty());
    CHECK(!support::violation(p, {0, 1, 3, 2}).empty());
}

TEST_CASE("a collective whose result lives in the memory of another task writes that memory") {
    // 0 makes b, 1 reads b, 2 fills b through its result, 3 waits, 4 reads b.
    toy_program p;
    p.ops.push_back({.duration = {10}, .results = {{{16}, {}}}});
    p.ops.push_back({.duration = {10}, .operands = {{0, 0}}, .results = {}});
    p.ops.push_back({.kind = op_kind::start, .duration = {30}, .operands = {{0, 0}}, .results = {{{0}, {{0, 0}}}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{2, 0}}, .results = {{{0}, {{2, 0}}}}});
    p.ops.push_back({.duration = {10}, .operands = {{0, 0}}, .results = {}});
    CHECK(verify_order(support::graph_of(p), support::program_order(5)).has_value());
    refused(p, {0, 2, 3, 1, 4}, {rule::overtakes_a_write, 1, 2, 1});
    refused(p, {0, 2, 1, 3, 4}, {rule::overtakes_a_write, 1, 2, 1});
    refused(p, {0, 1, 4, 2, 3}, {rule::overtakes_a_write, 2, 4, 2});
    refused(p, {0, 1, 2, 4, 3}, {rule::touches_data_in_flight, 3, 4, 2});
    for (const std::vector<task_id>& order :
         {std::vector<task_id>{0, 2, 3, 1, 4}, std::vector<task_id>{0, 1, 4, 2, 3}, {0, 1, 2, 4, 3}}) {
        CHECK(!support::illegality(p, support::facts_of(p), order).empty());
        CHECK(!support::violation(p, order).empty());
    }
}

TEST_CASE("the limit holds at every task, and the peak is named") {
    const toy_program p = step_with_a_write();
    refused(p, {0, 1, 2, 3, 4, 5, 6}, {rule::exceeds_memory_limit, 2, 2, no_task}, {47});
    CHECK(verify_order(support::graph_of(p), support::program_order(7), {48}).has_value());
}

TEST_CASE("every order that respects the dependences is legal") {
    stretto_check("by all three oracles", 6000, [](const std::vector<std::uint8_t>& picks) {
        support::scheduling_case problem = *support::scheduling_cases(40);
        problem.flavour |= 32;              // the third takes tensors of no bytes for memory
        problem.flavour &= 255 - 64 - 128;  // and has its own opinion of these
        const toy_program p = with_terse_starts(problem.program(), picks);
        const task_graph g = support::graph_of(p);
        const support::task_order order = support::random_order(g, picks);
        const support::storage_facts facts = support::facts_of(p);
        std::string reason = support::illegality(p, facts, order);
        if (!reason.empty()) RC_FAIL(reason);
        reason = support::violation(p, order);
        if (!reason.empty()) RC_FAIL(reason);
        const auto verdict = verify_order(g, order);
        RC_ASSERT(verdict.has_value());
        const support::naive_figures expected = support::figures_of(p, facts, order);
        RC_ASSERT(verdict->times.makespan.count == expected.makespan);
        RC_ASSERT(verdict->memory.peak.count == expected.peak);
    });
}

TEST_CASE("verify_order and the naive rules agree on orders that were tampered with") {
    int legal = 0, illegal = 0;
    stretto_check("agree", 12000, [&](const std::vector<std::uint8_t>& picks, std::uint16_t from, std::uint16_t to) {
        const support::scheduling_case problem = *support::scheduling_cases(30);
        const toy_program p = with_terse_starts(problem.program(), picks);
        const task_graph g = support::graph_of(p);
        const support::storage_facts facts = support::facts_of(p);
        support::task_order order = support::random_order(g, picks);
        if (order.empty()) return;
        // One task moves somewhere else: near by, so that half of the results are legal; or it is lost or doubled.
        const std::size_t a = from % order.size(), b = std::min(order.size() - 1, a + to % 4u);
        if (to % 64 == 63) order[a] = order[b];
        else if (to % 64 == 62) order.erase(order.begin() + static_cast<std::ptrdiff_t>(a));
        else
            std::rotate(order.begin() + static_cast<std::ptrdiff_t>(a),
                        order.begin() + static_cast<std::ptrdiff_t>(a) + 1,
                        order.begin() + static_cast<std::ptrdiff_t>(b) + 1);
        const bool expected = support::illegality(p, facts, order).empty();
        RC_ASSERT(verify_order(g, order).has_value() == expected);
        ++(expected ? legal : illegal);
        if (!expected) return;
        const std::int64_t peak = support::figures_of(p, facts, order).peak;
        RC_ASSERT(verify_order(g, order, {peak}).has_value());
        RC_ASSERT(!verify_order(g, order, {peak - 1}).has_value());
    });
    // Both verdicts are frequent, or the comparison means little.
    CHECK(legal * 10 > illegal);
    CHECK(illegal * 10 > legal);
}
