#include "stretto/tune/try_chunks.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/transform/apply_chunks.hpp"
#include "stretto/tune/chunk_trial.hpp"
#include "support/priced_rows.hpp"
#include "support/prop.hpp"
#include "support/row_programs.hpp"
#include "support/same_tasks.hpp"

using namespace stretto;
using namespace support;

namespace {

using does = row_op::does;

/// What the row IR charges for what its rewriter makes.
template <class G, class M>
struct row_costs {
    G view;
    M model;

    static const row_op* op(const row_op* x) { return x; }
    static const row_op* op(row_value x) { return x.op; }
    template <class X>
    static std::int64_t rows(X x) {
        return static_cast<std::int64_t>(op(x)->rows);
    }
    static std::int64_t rows_of_part(row_op* v, const chunk_part& part) {
        const std::int64_t whole = static_cast<std::int64_t>(v->rows);
        return has_rows(part.results.back()) ? part.share(whole) : whole;
    }
    clone_cost of_clone(row_op* v, const chunk_part& part, std::span<bytes> allocated) const {
        std::size_t k = 0;
        for (auto x : view.results(v)) {
            allocated[k] = model.bytes_of(x);
            if (v->rows > 0)
                allocated[k].count = allocated[k].count / static_cast<std::int64_t>(v->rows) * rows_of_part(v, part);
            ++k;
        }
        std::int64_t most = rows_of_part(v, part);
        for (std::size_t i = 0; i < v->reads.size(); ++i) {
            const std::int64_t whole = static_cast<std::int64_t>(v->reads[i]->rows);
            most = std::max(most, has_rows(part.operands[i]) ? part.share(whole) : whole);
        }
        const bool works = model.kind(v) == op_kind::compute || model.kind(v) == op_kind::start;
        return {{works ? 60 * most : 0}, {4 * most}};
    }
    template <class X>
    join_cost of_concat(X x) const {
        return {op_kind::compute, {60 * rows(x)}, {8 * rows(x)}};
    }
    template <class X>
    join_cost of_sum(X x) const {
        return of_concat(x);
    }
    template <class X>
    bytes of_empty(X x) const {
        return {8 * rows(x)};
    }
    template <class X>
    nanoseconds of_slice_write(X x, std::size_t, std::span<const std::int64_t> sizes, std::size_t k) const {
        std::int64_t tokens = 0;
        for (std::int64_t s : sizes) tokens += s;
        return {60 * (rows(x) / tokens * sizes[k])};
    }
};
static_assert(part_cost_model<row_costs<row_view, priced_row_model>, row_view>);
static_assert(part_cost_model<row_costs<twin_view, twin_model>, twin_view>);

using trial = chunk_trial<numbered_part_costs<twin_view, row_costs<twin_view, twin_model>>>;
static_assert(chunking_rewriter<trial, step_table_view>);
static_assert(slice_writing_rewriter<trial, step_table_view>);

/// Where the tasks of a program that has been rewritten come from, by the numbers of their originals.
std::vector<std::uint32_t> origins(const row_program& p) {
    std::vector<std::uint32_t> all;
    for (const row_op& o : p.ops) all.push_back(static_cast<std::uint32_t>(o.number));
    return all;
}

std::size_t count(const chunked_tasks& t, task_role role) {
    return static_cast<std::size_t>(std::count(t.role.begin(), t.role.end(), role));
}

void check_counts(const chunked_tasks& t, const chunk_counts& n) {
    RC_ASSERT(count(t, task_role::clone) == n.clones);
    RC_ASSERT(count(t, task_role::concat) == n.concats);
    RC_ASSERT(count(t, task_role::empty) == n.empties);
    RC_ASSERT(count(t, task_role::slice) == n.slice_writes);
    RC_ASSERT(count(t, task_role::write) == n.slice_writes);
}

/// The output reads 3 x and the total of that, of eight rows.
struct halves {
    row_program p;
    row_op* x;
    std::vector<row_op*> body;

    halves() {
        x = p.append(does::input, {}, 8);
        body.push_back(p.append(does::scale, {x}, 8));
        body.push_back(p.append(does::total, {body[0]}, 1));
        p.append(does::output, {body[0], body[1]}, 1);
    }
    row_plan plan(std::vector<std::int64_t> sizes, chunk_options options = {}) {
        const chunk_region<row_op*> region{body, std::move(sizes)};
        const token_dimension<row_op*> token{x, 0};
        const auto made = plan_chunks(row_view{&p}, priced_row_model{}, row_chunk_model{}, std::span(&region, 1),
                                      std::span(&token, 1), options);
        REQUIRE(made);
        return *made;
    }
};

}  // namespace

TEST_CASE("a plan that is tried says of every task what it is for") {
    halves c;
    const row_view view{&c.p};
    const row_costs<row_view, priced_row_model> costs{view, {}};
    const auto tried = try_chunks(c.plan({3, 1}), view, priced_row_model{}, costs);
    REQUIRE(tried);
    using role = task_role;
    constexpr std::uint32_t none = chunked_tasks::none;
    CHECK(tried->role == std::vector{role::original, role::split, role::split, role::clone, role::clone, role::concat,
                                     role::clone, role::clone, role::sum, role::original});
    CHECK(tried->original == std::vector<std::uint32_t>{0, 0, 0, 1, 1, 1, 2, 2, 2, 3});
    CHECK(tried->chunk == std::vector<std::uint32_t>{none, 0, 1, 0, 1, none, 0, 1, 1, none});
    CHECK(tried->region == std::vector<std::uint32_t>{none, 0, 0, 0, 0, 0, 0, 0, 0, none});
    CHECK(tried->graph.duration[3].count == 60 * 6);
    CHECK(tried->graph.duration[4].count == 60 * 2);
    CHECK(tried->graph.allocation[4].count == 8 * 2);

    const auto in_slices = try_chunks(c.plan({3, 1}, {.slices_from = 0}), view, priced_row_model{}, costs);
    REQUIRE(in_slices);
    CHECK(in_slices->role == std::vector{role::original, role::split, role::split, role::clone, role::empty,
                                         role::slice, role::write, role::clone, role::slice, role::write, role::clone,
                                         role::clone, role::sum, role::original});
    CHECK(in_slices->chunk[8] == 1);
}

TEST_CASE("an empty plan gives the tasks of the program") {
    halves c;
    const row_view view{&c.p};
    const auto tried =
        try_chunks(row_plan{}, view, priced_row_model{}, row_costs<row_view, priced_row_model>{view, {}});
    REQUIRE(tried);
    CHECK(tried->graph.predecessors == make_task_graph(view, priced_row_model{})->predecessors);
    CHECK(tried->original == std::vector<std::uint32_t>{0, 1, 2, 3});
}

TEST_CASE("a program that is no task graph cannot be tried") {
    halves c;
    c.x->reads.push_back(c.body[0]);
    c.p.renumber();
    const row_view view{&c.p};
    const auto tried =
        try_chunks(row_plan{}, view, priced_row_model{}, row_costs<row_view, priced_row_model>{view, {}});
    REQUIRE(!tried);
    CHECK(tried.error().why == task_graph_error::reason::reads_later_task);
    CHECK(tried.error().task == 0);
    CHECK(tried.error().other == 1);
}

TEST_CASE("trying a plan gives the tasks of the program that applying it makes") {
    std::size_t cut = 0, slices = 0;
    stretto_check("row programs", 400, [&] {
        row_case c = make_row_case(arbitrary_recipe());
        const row_plan plan = plan_row_case(c);
        const row_view view{&c.p};
        const auto tried = try_chunks(plan, view, priced_row_model{}, row_costs<row_view, priced_row_model>{view, {}});
        RC_ASSERT(tried.has_value());
        check_counts(*tried, plan.counts());
        cut += plan.operations.size();
        slices += plan.counts().empties;

        view_writing_rewriter rewriter{{&c.p, c.p.ops.end()}};
        apply_chunks(plan, view, rewriter);
        RC_ASSERT(tried->original == origins(c.p));
        c.p.renumber();
        const auto made = make_task_graph(view, priced_row_model{});
        RC_ASSERT(made.has_value());
        support::check_same_tasks(tried->graph, *made);
        RC_ASSERT(tried->graph.collective == made->collective);
        RC_ASSERT(tried->graph.first_result == made->first_result);
    });
    if (runs_all_cases()) CHECK((cut > 500 && slices > 50));
}

TEST_CASE("clones of a chain write one behind the other") {
    row_case c;
    row_op* x = c.p.append(does::input, {}, 4);
    row_op* counts = c.p.append(does::input, {}, 1);
    row_op* t = c.p.append(does::total, {x}, 1);
    row_op* up = c.p.append(does::increment, {counts, t}, 1);
    row_op* y = c.p.append(does::add, {x, up}, 4);
    c.p.append(does::output, {y, up}, 1);
    c.regions = {{{t, up, y}, {1, 2, 1}}};
    c.tokens = {{x, 0}};
    const row_plan plan = plan_row_case(c);
    REQUIRE(plan.operations.size() == 3);
    REQUIRE(plan.operations[1].is_chain());
    const row_view view{&c.p};
    const auto tried = try_chunks(plan, view, priced_row_model{}, row_costs<row_view, priced_row_model>{view, {}});
    REQUIRE(tried);
    view_writing_rewriter rewriter{{&c.p, c.p.ops.end()}};
    apply_chunks(plan, view, rewriter);
    c.p.renumber();
    const auto made = make_task_graph(view, priced_row_model{});
    REQUIRE(made);
    CHECK(support::sets(tried->graph.predecessors) == support::sets(made->predecessors));
    CHECK(support::sets(tried->graph.storages) == support::sets(made->storages));
    CHECK(support::sets(tried->graph.writes) == support::sets(made->writes));
}

TEST_CASE("trying a plan is right where operations have several results") {
    stretto_check("twin programs", 200, [&] {
        row_case c = make_row_case(arbitrary_recipe());
        const twin_view view{&c.p};
        std::vector<token_dimension<row_value>> tokens;
        for (const auto& t : c.tokens) tokens.push_back({{t.value}, t.dim});
        auto plan =
            plan_chunks(view, twin_model{}, twin_chunk_model{}, std::span<const chunk_region<row_op*>>(c.regions),
                        std::span<const token_dimension<row_value>>(tokens), {.skip_refused = true});
        if (!plan) {
            RC_ASSERT(plan.error().why == chunk_reason::nothing_reached);
            return;
        }
        choose_slices(*plan, [](const auto& join) { return join.value.op->number % 2 == 1; });
        const auto tried = try_chunks(*plan, view, twin_model{}, row_costs<twin_view, twin_model>{view, {}});
        RC_ASSERT(tried.has_value());
        twin_rewriter rewriter{{{&c.p, c.p.ops.end()}}};
        apply_chunks(*plan, view, rewriter);
        RC_ASSERT(tried->original == origins(c.p));
        c.p.renumber();
        const auto made = make_task_graph(view, twin_model{});
        RC_ASSERT(made.has_value());
        support::check_same_tasks(tried->graph, *made);
        RC_ASSERT(tried->graph.collective == made->collective);
        RC_ASSERT(tried->graph.first_result == made->first_result);
    });
}

TEST_CASE("what comes after an operation without reading it comes after all of its clones") {
    halves c;
    c.body.push_back(c.p.append(does::total, {c.body[0]}, 1));
    c.p.append(does::output, {c.body[2]}, 1);
    const twin_view view{&c.p, true}, by_values{&c.p};
    const chunk_region<row_op*> region{c.body, {2, 2}};
    const token_dimension<row_value> token{{c.x}, 0};
    const auto refused =
        plan_chunks(view, twin_model{}, twin_chunk_model{}, std::span(&region, 1), std::span(&token, 1));
    REQUIRE(!refused);
    CHECK(refused.error().detail.find("dependence that is no value") != std::string::npos);
    // Whoever carries such a dependence over plans without it; a trial on the view that has it keeps it.
    const auto plan =
        plan_chunks(by_values, twin_model{}, twin_chunk_model{}, std::span(&region, 1), std::span(&token, 1));
    REQUIRE(plan);
    const auto tried = try_chunks(*plan, view, twin_model{}, row_costs<twin_view, twin_model>{view, {}});
    REQUIRE(tried);
    std::vector<std::uint32_t> first, second;
    for (std::uint32_t t = 0; t < tried->graph.size(); ++t)
        if (tried->role[t] == task_role::clone && tried->original[t] == 2) first.push_back(t);
        else if (tried->role[t] == task_role::clone && tried->original[t] == 4) second.push_back(t);
    REQUIRE((first.size() == 2 && second.size() == 2));
    for (std::uint32_t t : second)
        for (std::uint32_t before : first) {
            const auto row = tried->graph.predecessors[t];
            CHECK(std::find(row.begin(), row.end(), before) != row.end());
        }
}
