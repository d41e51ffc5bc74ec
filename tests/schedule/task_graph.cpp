#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <vector>

#include "stretto/schedule/list_schedule.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/testing/model_archetypes.hpp"
#include "support/prop.hpp"
#include "support/toy_irs.hpp"

using namespace stretto;
using why = task_graph_error::reason;
using support::toy_op;
using support::toy_program;

namespace {

std::vector<std::uint32_t> row(const index_lists& lists, std::size_t r) { return {lists[r].begin(), lists[r].end()}; }

index_lists sorted_rows(const index_lists& lists) {
    index_lists sorted;
    for (std::size_t r = 0; r < lists.rows(); ++r) {
        std::vector<std::uint32_t> items = row(lists, r);
        std::sort(items.begin(), items.end());
        for (std::uint32_t x : items) sorted.push(x);
        sorted.close_row();
    }
    return sorted;
}

/// Equal in every array. A view lists the predecessors of a vertex in any order, so those are compared as sets.
bool same(const task_graph& a, const task_graph& b) {
    return a.kind == b.kind && a.duration == b.duration && a.collective == b.collective && a.group == b.group &&
           a.payload == b.payload && a.identity == b.identity && a.launch == b.launch && a.groups == b.groups &&
           a.first_result == b.first_result && a.allocation == b.allocation && a.operands == b.operands &&
           a.writes == b.writes && a.storages == b.storages && a.touched == b.touched &&
           a.storage_owner == b.storage_owner && sorted_rows(a.declared) == sorted_rows(b.declared) &&
           sorted_rows(a.predecessors) == sorted_rows(b.predecessors) && a.successors == b.successors;
}

/// A program whose vertices are listed in another order than they are numbered, or not all.
struct listed_view : support::program_view {
    const std::vector<std::uint32_t>* listed;
    const std::vector<std::uint32_t>& vertices() const { return *listed; }
};

task_graph_error error_of(const toy_program& p, const std::vector<std::uint32_t>& listed) {
    const auto made = make_task_graph(listed_view{{&p}, &listed}, support::program_model{&p});
    REQUIRE(!made.has_value());
    return made.error();
}
task_graph_error error_of(const toy_program& p) { return error_of(p, support::program_order(p.ops.size())); }

bool is(const task_graph_error& e, why reason, task_id task, task_id other = no_task) {
    return e.why == reason && e.task == task && e.other == other;
}

/// 0 makes two values; 1 a collective of both; 2 its wait; 3 a kernel on the wait.
toy_program gather_of_two() {
    toy_program p;
    p.groups = 2;
    p.ops.push_back({.duration = {10}, .results = {{{4}, {}}, {{6}, {}}}});
    p.ops.push_back({.kind = op_kind::start,
                     .collective = collective_kind::all_to_all,
                     .group = 1,
                     .duration = {20},
                     .payload = {10},
                     .operands = {{0, 0}, {0, 1}},
                     .results = {{{32}, {}}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{1, 0}}, .results = {{{0}, {{1, 0}}}}});
    p.ops.push_back({.duration = {5}, .operands = {{2, 0}, {0, 1}}, .results = {{{8}, {}}}});
    return p;
}

}  // namespace

TEST_CASE_TEMPLATE("tasks, values and storages, numbered in program order", IR, STRETTO_TOY_IRS) {
    const IR ir(gather_of_two(), 3);
    const auto made = make_task_graph(ir.view(), ir.model());
    REQUIRE(made.has_value());
    const task_graph& g = *made;
    REQUIRE(g.size() == 4);
    CHECK(g.kind == std::vector{op_kind::compute, op_kind::start, op_kind::wait, op_kind::compute});
    CHECK(g.duration == std::vector<nanoseconds>{{10}, {20}, {0}, {5}});
    CHECK(g.collective[1] == collective_kind::all_to_all);
    CHECK(g.group[1] == 1);
    CHECK(g.groups == 2);
    CHECK(g.payload[1].count == 10);
    CHECK(g.launch == std::vector<task_id>{no_task, no_task, 1, no_task});
    CHECK(g.first_result == std::vector<value_id>{0, 2, 3, 4, 5});
    CHECK(g.allocation == std::vector<bytes>{{4}, {6}, {32}, {0}, {8}});
    CHECK(g.storage_owner == std::vector<task_id>{0, 0, 1, 2, 3});
    CHECK(row(g.operands, 1) == std::vector<value_id>{0, 1});
    CHECK(row(g.storages, 3) == std::vector<value_id>{2});
    CHECK(row(g.touched, 1) == std::vector<value_id>{2, 0, 1});
    // The wait keeps what its collective reads.
    CHECK(row(g.touched, 2) == std::vector<value_id>{2, 0, 1});
    CHECK(row(sorted_rows(g.predecessors), 3) == std::vector<task_id>{0, 2});
    CHECK(row(g.successors, 0) == std::vector<task_id>{1, 3});
}

TEST_CASE("writes in place order what uses a storage: after the writer, before the next one") {
    toy_program p;
    p.ops.push_back({.results = {{{8}, {}}}});
    p.ops.push_back({.kind = op_kind::view, .operands = {{0, 0}}, .results = {{{0}, {{0, 0}}}}});
    p.ops.push_back({.operands = {{1, 0}}});
    p.ops.push_back({.operands = {{0, 0}}, .effects = {{0, 0}}});
    p.ops.push_back({.operands = {{1, 0}}});
    p.ops.push_back({.operands = {{1, 0}}, .effects = {{1, 0}}});
    const task_graph g = support::graph_of(p);
    CHECK(row(g.writes, 3) == std::vector<value_id>{0});
    CHECK(row(g.predecessors, 2) == std::vector<task_id>{1});
    CHECK(row(g.predecessors, 3) == std::vector<task_id>{0, 1, 2});
    CHECK(row(g.predecessors, 4) == std::vector<task_id>{1, 3});
    CHECK(row(sorted_rows(g.predecessors), 5) == std::vector<task_id>{1, 3, 4});
    CHECK(row(g.declared, 4) == std::vector<task_id>{1});
}

TEST_CASE("a model that knows no sizes has its writes ordered all the same") {
    toy_program p;
    p.ops.push_back({.results = {{{0}, {}}}});
    p.ops.push_back({.operands = {{0, 0}}});
    p.ops.push_back({.operands = {{0, 0}}, .effects = {{0, 0}}});
    p.ops.push_back({.operands = {{0, 0}}});
    const task_graph g = support::graph_of(p);
    CHECK(row(g.predecessors, 2) == std::vector<task_id>{0, 1});
    CHECK(row(g.predecessors, 3) == std::vector<task_id>{0, 2});
    CHECK(g.touched.items() == 0);
}

TEST_CASE("what a collective has in flight is used behind its wait, also by those who do not name it") {
    toy_program p;
    p.ops.push_back({.results = {{{8}, {}}}});                                                     // 0
    p.ops.push_back({.kind = op_kind::start, .operands = {{0, 0}}, .results = {{{8}, {}}}});       // 1
    p.ops.push_back({.kind = op_kind::view, .operands = {{1, 0}}, .results = {{{0}, {{1, 0}}}}});  // 2
    p.ops.push_back({.kind = op_kind::view, .operands = {{1, 0}}, .results = {{{0}, {}}}});        // 3
    p.ops.push_back({.kind = op_kind::wait, .operands = {{1, 0}}});                                // 4
    p.ops.push_back({.kind = op_kind::wait, .operands = {{2, 0}}, .results = {{{0}, {{2, 0}}}}});  // 5
    p.ops.push_back({.operands = {{1, 0}}});                                                       // 6
    p.ops.push_back({.operands = {{2, 0}}});                                                       // 7
    p.ops.push_back({.operands = {{5, 0}}});                                                       // 8
    p.ops.push_back({.operands = {{3, 0}}});                                                       // 9
    p.ops.push_back({.operands = {{0, 0}}, .effects = {{0, 0}}});                                  // 10
    p.ops.push_back({.kind = op_kind::output, .operands = {{2, 0}}});                              // 11
    const task_graph g = support::graph_of(p);
    CHECK(g.launch[5] == no_task);
    CHECK(row(g.predecessors, 6) == std::vector<task_id>{1, 4});
    CHECK(row(g.predecessors, 7) == std::vector<task_id>{2, 4});
    CHECK(row(g.predecessors, 8) == std::vector<task_id>{5, 4});
    CHECK(row(g.predecessors, 9) == std::vector<task_id>{3});  // its shape only
    const std::vector<task_id> before_the_write = row(g.predecessors, 10);
    CHECK(std::find(before_the_write.begin(), before_the_write.end(), 4u) != before_the_write.end());
    CHECK(row(g.predecessors, 11) == std::vector<task_id>{2, 4});
}

TEST_CASE("inputs and what the output reads are never freed") {
    toy_program p;
    p.ops.push_back({.kind = op_kind::input, .results = {{{8}, {}}}});
    p.ops.push_back({.operands = {{0, 0}}, .results = {{{8}, {}}}});
    p.ops.push_back({.operands = {{1, 0}}, .results = {{{8}, {}}}});
    p.ops.push_back({.kind = op_kind::output, .operands = {{2, 0}}});
    const task_graph g = support::graph_of(p);
    CHECK(g.touched[0].empty());
    CHECK(row(g.touched, 1) == std::vector<value_id>{1});
    CHECK(row(g.touched, 2) == std::vector<value_id>{1});
    CHECK(g.touched[3].empty());
}

TEST_CASE("program order must be topological; the error names both places") {
    toy_program p = gather_of_two();
    CHECK(is(error_of(p, {0, 1, 3, 2}), why::reads_later_task, 2, 3));
    CHECK(is(error_of(p, {1, 0, 2, 3}), why::reads_later_task, 0, 1));
    CHECK(is(error_of(p, {1, 2, 3}), why::reads_later_task, 0));
    p.ops[3].operands.push_back({3, 0});
    CHECK(is(error_of(p), why::reads_later_task, 3, 3));
}

TEST_CASE("a wait names a start that precedes it") {
    struct any_launch : support::program_model {
        std::uint32_t launch;
        std::uint32_t launch_of(std::uint32_t) const { return launch; }
    };
    const toy_program p = gather_of_two();
    const auto with_launch = [&](std::uint32_t launch) {
        return make_task_graph(support::program_view{&p}, any_launch{{&p}, launch});
    };
    REQUIRE(with_launch(1).has_value());
    REQUIRE(with_launch(2).has_value());
    CHECK(with_launch(2)->launch[2] == no_task);
    REQUIRE(!with_launch(0).has_value());
    CHECK(is(with_launch(0).error(), why::launch_is_no_start, 2, 0));
    REQUIRE(!with_launch(3).has_value());
    CHECK(is(with_launch(3).error(), why::reads_later_task, 2, 3));
}

TEST_CASE("negative times and sizes, and sums that do not fit") {
    toy_program p = gather_of_two();
    p.ops[1].duration = {-1};
    CHECK(is(error_of(p), why::negative_duration, 1));
    p = gather_of_two();
    p.ops[1].payload = {-1};
    CHECK(is(error_of(p), why::negative_bytes, 1));
    p = gather_of_two();
    p.ops[3].results[0].size = {-1};
    CHECK(is(error_of(p), why::negative_bytes, 3));
    p = gather_of_two();
    p.ops[1].duration = {(std::int64_t{1} << 62) - 10};
    CHECK(is(error_of(p), why::overflow, 3));
    p.ops[3].duration = {0};
    CHECK(make_task_graph(support::program_view{&p}, support::program_model{&p}).has_value());
    p = gather_of_two();
    p.ops[0].results[1].size = {std::int64_t{1} << 62};
    CHECK(is(error_of(p), why::overflow, 0));
    p.ops[0].results[1].size = {(std::int64_t{1} << 62) - 4};
    CHECK(is(error_of(p), why::overflow, 1));
}

TEST_CASE("a group that is a hash or a handle makes no arrays of that size") {
    toy_program p = gather_of_two();
    p.ops[1].group = group_limit - 1;
    CHECK(support::graph_of(p).groups == group_limit);
    p.ops[1].group = group_limit;
    CHECK(is(error_of(p), why::group_out_of_range, 1));
    p.ops[1].group = 0xdeadbeef;
    CHECK(is(error_of(p), why::group_out_of_range, 1));
}

TEST_CASE("values of vertices that are not listed cannot be read, aliased or written") {
    // 1 is not listed, and 2 names its value without depending on it.
    struct forgetful : listed_view {
        std::vector<std::uint32_t> predecessors(std::uint32_t) const { return {}; }
    };
    const std::vector<std::uint32_t> listed{0, 2};
    const auto error = [&](const toy_op& op) {
        toy_program p;
        p.ops = {toy_op{.results = {{{8}, {}}}}, toy_op{.results = {{{8}, {}}}}, op};
        const auto made = make_task_graph(forgetful{{{&p}, &listed}}, support::program_model{&p});
        REQUIRE(!made.has_value());
        return made.error();
    };
    CHECK(is(error({.operands = {{1, 0}}}), why::operand_not_in_graph, 1));
    CHECK(is(error({.results = {{{0}, {{1, 0}}}}}), why::operand_not_in_graph, 1));
    CHECK(is(error({.effects = {{1, 0}}}), why::operand_not_in_graph, 1));
    CHECK(is(error({.operands = {{0, 1}}}), why::operand_not_in_graph, 1));
}

TEST_CASE("a result may alias an earlier one of its operation, and share what happens to it") {
    toy_program p;
    p.ops.push_back({.kind = op_kind::input, .results = {{{8}, {}}}});
    p.ops.push_back({.operands = {{0, 0}}, .results = {{{8}, {}}, {{0}, {{1, 0}}}}});
    p.ops.push_back({.operands = {{1, 1}}, .results = {{{4}, {}}}});                             // reads the view
    p.ops.push_back({.operands = {{1, 0}}, .results = {{{0}, {{1, 0}}}}, .effects = {{1, 0}}});  // writes behind it
    p.ops.push_back({.kind = op_kind::output, .operands = {{2, 0}, {3, 0}}});
    const task_graph g = support::graph_of(p);
    const std::span<const task_id> before = g.predecessors[3];
    CHECK(std::find(before.begin(), before.end(), 2u) != before.end());
    REQUIRE(g.storages[2].size() == 1);
    CHECK(g.storages[2][0] == 1);  // the view has no memory of its own

    std::swap(p.ops[1].results[0], p.ops[1].results[1]);
    p.ops[1].results[0].aliases = {{1, 1}};
    CHECK(is(error_of(p), why::aliases_later_result, 1));
    p.ops[1].results[0].aliases = {{1, 0}};  // itself
    CHECK(make_task_graph(support::program_view{&p}, support::program_model{&p}));
}

TEST_CASE("four IRs of one program, however allocated, give one task graph and one schedule") {
    stretto_check("identical", 400, [](std::uint32_t seed) {
        const support::scheduling_case problem = *support::scheduling_cases(40);
        const toy_program p = problem.program();
        const task_graph expected = support::graph_of(p);
        const auto best = list_schedule(expected);
        RC_ASSERT(best.has_value());
        support::for_each_toy_ir(
            p,
            [&](auto& ir) {
                const auto made = make_task_graph(ir.view(), ir.model());
                RC_ASSERT(made.has_value());
                RC_ASSERT(same(*made, expected));
                RC_ASSERT(list_schedule(*made)->order() == best->order());
            },
            seed);
    });
}

TEST_CASE("storages and lifetimes are those of the definition; dependences follow program order, each once") {
    stretto_check("against the oracle", 3000, [] {
        const toy_program p = (*support::scheduling_cases(60)).program();
        const task_graph g = support::graph_of(p);
        const support::storage_facts facts = support::facts_of(p);
        std::vector<bool> kept(g.allocation.size(), false);
        for (std::uint32_t v = 0; v < p.ops.size(); ++v) {
            if (p.ops[v].kind == op_kind::input)
                for (std::uint32_t s : facts.results[v]) kept[s] = true;
            if (p.ops[v].kind == op_kind::output)
                for (std::uint32_t s : facts.reads[v]) kept[s] = true;
        }
        for (value_id x = 0; x < g.allocation.size(); ++x)
            RC_ASSERT(row(sorted_rows(g.storages), x) == facts.of_value[x]);
        for (task_id t = 0; t < g.size(); ++t) {
            support::storage_facts::set expected;
            for (std::uint32_t s : support::touched_by(p, facts, t))
                if (!kept[s] && facts.size[s] > 0) expected.push_back(s);
            RC_ASSERT(row(sorted_rows(g.touched), t) == expected);
            std::vector<task_id> before = row(g.predecessors, t);
            for (task_id q : before) RC_ASSERT(q < t);
            std::sort(before.begin(), before.end());
            RC_ASSERT(std::adjacent_find(before.begin(), before.end()) == before.end());
        }
        RC_ASSERT(g.successors == g.predecessors.inverse(g.size()));
    });
}

TEST_CASE("what tells collectives apart is kept if the model tells calls, and only then") {
    const auto kinds = make_task_graph(archetypes::program(0), archetypes::kinds(0));
    REQUIRE(kinds.has_value());
    CHECK(kinds->identity.empty());
    struct named : archetypes::kinds {
        using archetypes::kinds::kinds;
        collective_call call(archetypes::vertex v) const {
            return {.kind = collective_kind::all_reduce,
                    .element = element_type::bf16,
                    .logical_id = 100 + archetypes::detail::position(v),
                    .chunk = 2};
        }
    };
    const auto told = make_task_graph(archetypes::program(0), named(0));
    REQUIRE(told.has_value());
    REQUIRE(told->identity.size() == told->size());
    CHECK(told->identity[1] == call_identity{element_type::bf16, 2, 101});
    CHECK(told->identity[5] == call_identity{element_type::bf16, 2, 105});
    CHECK(told->identity[4] == call_identity{});
    CHECK(told->identity[7] == call_identity{});
    CHECK(told->collective[5] == collective_kind::all_reduce);
}
