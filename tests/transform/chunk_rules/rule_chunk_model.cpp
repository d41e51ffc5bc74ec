#include "stretto/transform/chunk_rules/rule_chunk_model.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stretto/testing/check_chunk_model.hpp"
#include "stretto/testing/check_graph.hpp"
#include "stretto/transform/plan_chunks.hpp"
#include "stretto/transform/verify_chunks.hpp"
#include "support/routed_ir.hpp"

using namespace stretto;
using support::routed_dialect;
using support::routed_evaluate;
using support::routed_layer;
using support::routed_model;
using support::routed_op;
using support::routed_value;
using support::routed_view;
using kind = chunk_state::kind;
using routed_chunks = rule_chunk_model<routed_view, routed_dialect>;

static_assert(chunk_dialect<routed_dialect, routed_view>);
static_assert(chunk_model<routed_chunks, routed_view>);

TEST_CASE("an IR with operators of its own is chunked by saying which kind of rule each of them is") {
    routed_layer layer;
    const routed_view view{&layer.p};
    REQUIRE(check_graph(view));
    // [rule-chunk-model]
    stretto::row_orders orders;  // outlives the model, and every reason that it gives
    const stretto::rule_chunk_model model(view, routed_dialect{}, orders);
    // [/rule-chunk-model]
    const std::vector<chunk_region<routed_op*>> regions = {{layer.inner(), {3, 5}}};
    const std::vector<token_dimension<routed_value*>> tokens = {{layer.x, 0}, {layer.keys, 0}};
    const auto plan = plan_chunks(view, routed_model{}, model, std::span<const chunk_region<routed_op*>>(regions),
                                  std::span<const token_dimension<routed_value*>>(tokens), {});
    REQUIRE(plan);
    CHECK(plan->refused.empty());
    CHECK(plan->operations.size() == layer.inner().size());
    REQUIRE(plan->joins.size() == 3);  // rows are concatenated, their sums are summed, gradients accumulate in a chain
    CHECK(plan->joins[0].how == recombination::concat);
    CHECK(plan->joins[1].how == recombination::sum);
    CHECK(plan->joins[1].value == layer.sum);
    CHECK(plan->joins[2].how == recombination::first);

    const auto verified = verify_chunks(*plan, view, routed_model{}, model);
    REQUIRE(verified);
    CHECK(verified->collectives == 4);
}

TEST_CASE("dispatch and combine lead rows back to the order that they were in") {
    routed_layer layer;
    const routed_view view{&layer.p};
    row_orders orders;
    const routed_chunks model(view, routed_dialect{}, orders);
    const std::uint32_t natural = orders.natural(1);
    const chunk_state grouped{kind::permuted, 0, 0, orders.name(row_orders::origin::sorted, natural, natural, {1}), 0};
    const chunk_state amount{kind::addend, -1};
    const std::vector<chunk_state> there = {grouped, amount, amount, amount, amount};
    std::array<chunk_state, 1> away, home;
    REQUIRE(model.combine_rule(layer.there, 8, there, away).possible);
    CHECK(away[0].order != grouped.order);
    const std::vector<chunk_state> back = {away[0], amount, amount, amount, amount};
    REQUIRE(model.combine_rule(layer.back, 8, back, home).possible);
    CHECK(home[0] == grouped);
}

TEST_CASE("what the rules say of a foreign program is true") {
    routed_layer layer;
    const routed_view view{&layer.p};
    row_orders orders;
    const auto checked =
        check_chunk_model(view, routed_model{}, routed_chunks(view, routed_dialect{}, orders), routed_evaluate{});
    if (!checked) FAIL(checked.error().message());
    CHECK(checked->accepted > checked->asked / 6);
}

TEST_CASE("an operation that no rule knows is refused, and so are states that do not fit") {
    routed_layer layer;
    const routed_view view{&layer.p};
    row_orders orders;
    const routed_chunks model(view, routed_dialect{}, orders);
    std::array<chunk_state, 2> out;
    const std::array<chunk_state, 3> three = {chunk_state{kind::sliced, 0}, {kind::sliced, 0}, {}};
    routed_op* output = &layer.p.ops.back();
    CHECK(model.combine_rule(output, 8, three, std::span(out).first(0)).reason == "no rule for this operation");
    const std::array<chunk_state, 1> beyond = {chunk_state{kind::sliced, 1}};
    CHECK_FALSE(model.combine_rule(layer.first_sort, 8, beyond, out).possible);
    const std::array<chunk_state, 1> uneven = {chunk_state{kind::sliced, 0}};
    CHECK_FALSE(model.combine_rule(layer.first_sort, 3, uneven, out).possible);
    CHECK(model.combine_rule(layer.first_sort, 8, uneven, out).possible);
}
