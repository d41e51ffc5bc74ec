#include "stretto/views/from_values.hpp"

#include <doctest/doctest.h>

#include <array>
#include <utility>
#include <vector>

#include "stretto/schedule/plan_overlap.hpp"
#include "stretto/testing/archetypes.hpp"
#include "stretto/testing/check_graph.hpp"
#include "stretto/views/numbered.hpp"
#include "support/edge_graph.hpp"
#include "support/prop.hpp"
#include "support/random_program.hpp"
#include "support/toy_irs.hpp"

using namespace stretto;

namespace {

/// Values and nothing else.
// [values-only]
struct instruction {
    std::vector<instruction*> operands, users;
};

struct values_only {
    using vertex_type = instruction*;
    using value_type = instruction*;  // an instruction is its own only result
    const std::vector<instruction*>* body;

    const std::vector<instruction*>& vertices() const { return *body; }
    const std::vector<instruction*>& operands(instruction* i) const { return i->operands; }
    std::array<instruction*, 1> results(instruction* i) const { return {i}; }
    instruction* producer(instruction* x) const { return x; }
    const std::vector<instruction*>& consumers(instruction* x) const { return x->users; }
};
// [/values-only]
static_assert(stretto::dependence_graph<decltype(stretto::views::numbered(
                  stretto::views::from_values(values_only{}), std::declval<stretto::numbering<instruction*>&>()))>);

template <class R>
auto listed(R&& range) {
    std::vector<instruction*> all;
    for (instruction* i : range) all.push_back(i);
    return all;
}

}  // namespace

TEST_CASE("from_values: producers come before, consumers come after, once per use") {
    std::array<instruction, 3> i;
    i[1].operands = {&i[0], &i[0]};
    i[0].users = {&i[1], &i[1], &i[2]};
    i[2].operands = {&i[1], &i[0]};
    i[1].users = {&i[2]};
    const std::vector<instruction*> body{&i[0], &i[1], &i[2]};
    const auto g = views::from_values(values_only{&body});
    CHECK(listed(g.predecessors(&i[0])).empty());
    CHECK(listed(g.predecessors(&i[1])) == std::vector{&i[0], &i[0]});
    CHECK(listed(g.predecessors(&i[2])) == std::vector{&i[1], &i[0]});
    CHECK(listed(g.successors(&i[0])) == std::vector{&i[1], &i[1], &i[2]});
    CHECK(listed(g.successors(&i[2])).empty());
    const numbering numbers(g);
    CHECK(check_graph(views::numbered(g, numbers)));
    CHECK(check_graph(views::numbered(g, numbers))->edges == 4);
}

TEST_CASE("from_values: everything but the adjacency is that of the base") {
    static_assert(!adjacency_graph<values_only> && !indexed_graph<values_only>);
    static_assert(bidirectional_adjacency_graph<from_values_view<values_only>>);
    static_assert(dataflow_graph<from_values_view<values_only>> && !indexed_graph<from_values_view<values_only>>);
    const support::linked_ir ir(support::seeded_program(1, 5));
    CHECK(views::from_values(ir.view()).epoch() == ir.view().epoch());
}

TEST_CASE_TEMPLATE("from_values: the edges of an IR whose edges are its values, and its schedule", IR,
                   STRETTO_TOY_IRS) {
    stretto_check("from_values", 40, [] {
        const support::toy_program p = *support::random_programs();
        const IR ir(p, 3);
        const auto g = views::from_values(ir.view());
        const auto checked = check_graph(g);
        if (!checked) RC_FAIL(checked.error().message());
        RC_ASSERT(support::edges_of(g) == support::edges_of(ir.view()));
        RC_ASSERT(support::indices_of(g) == support::indices_of(ir.view()));
        const auto plan = plan_overlap(g, ir.model()), expected = plan_overlap(ir.view(), ir.model());
        RC_ASSERT(plan.has_value() == expected.has_value());
        if (plan) RC_ASSERT(plan->order == expected->order);
    });
}

TEST_CASE("from_values: archetypes suffice") {
    const auto g = views::from_values(archetypes::program(0));
    CHECK(check_graph(g));
    CHECK(support::edges_of(g) == support::edges_of(archetypes::program(0)));
}
