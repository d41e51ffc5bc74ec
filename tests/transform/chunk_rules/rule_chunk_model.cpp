#include "stretto/transform/chunk_rules/rule_chunk_model.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stretto/analysis/value_numbers.hpp"
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
using support::routed_program;
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

namespace {

/// A dialect that counts the operands of one operation wrongly.
struct miscounting_dialect : routed_dialect {
    routed_op::does wrong = routed_op::does::output;  // none
    chunk_rules::any_rule rule(routed_op* o) const {
        using namespace stretto::chunk_rules;
        using does = routed_op::does;
        if (o->what != wrong) return routed_dialect::rule(o);
        switch (o->what) {
            case does::dense:
                return matrix_product{.left = 1, .right = 2};
            case does::ramp:
                return any_rule(elementwise{}).in_place(1);
            case does::fetch:
                return look_up{.x = 0, .index = 7};
            case does::swap_rows:
                return exchange{.received = {rule_number::of_operand(1), rule_number::of_operand(9)}};
            default:
                return copy{.x = 4};
        }
    }
};

/// What check_chunk_model says, and where.
std::string found(routed_op::does wrong) {
    routed_layer layer;
    const routed_view view{&layer.p};
    row_orders orders;
    const rule_chunk_model<routed_view, miscounting_dialect> model(view, {{}, wrong}, orders);
    const auto checked = check_chunk_model(view, routed_model{}, model, routed_evaluate{});
    if (checked) return "fine";
    const std::string text = checked.error().detail;
    return checked.error().rule + std::string(": ") + text.substr(text.rfind(": ") + 2);
}

}  // namespace

TEST_CASE("a rule that names an operand which is not there is refused as a fault of the model, and found") {
    using does = routed_op::does;
    CHECK(found(does::output) == "fine");
    CHECK(found(does::dense) == "rule: right of matrix_product is operand 2, and the operation has 2");
    CHECK(found(does::ramp) == "rule: in_place of elementwise is operand 1, and the operation has 1");
    CHECK(found(does::fetch) == "rule: index of look_up is operand 7, and the operation has 2");
    CHECK(found(does::swap_rows) == "rule: received of exchange is operand 9, and the operation has 5");
    CHECK(found(does::overall) == "rule: x of copy is operand 4, and the operation has 1");

    routed_layer layer;
    const routed_view view{&layer.p};
    row_orders orders;
    const rule_chunk_model<routed_view, miscounting_dialect> model(view, {{}, does::rank_rows}, orders);
    std::array<chunk_state, 2> out;
    const std::array<chunk_state, 1> in = {chunk_state{kind::sliced, 0}};
    const chunk_verdict verdict = model.combine_rule(layer.first_sort, 8, in, out);
    CHECK_FALSE(verdict.possible);
    CHECK(verdict.inherent);
    CHECK(verdict.model_faulty);
    CHECK(verdict.reason ==
          "has a rule that names an operand which is not there: x of copy is operand 4, and the operation has 1");
    CHECK_FALSE(routed_chunks(view, routed_dialect{}, orders).combine_rule(layer.there, 8, in, out).model_faulty);
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

namespace {

/// Rows are sorted by keys, and put back by the numbers of another sort of the same keys, computed again.
struct sorted_twice {
    routed_program p;
    routed_value *x, *keys, *back;

    explicit sorted_twice(bool written_in_between) {
        using does = routed_op::does;
        using element = stretto::element_type;
        x = p.tensor(p.add(does::input, {}), {8, 3});
        keys = p.tensor(p.add(does::input, {}), {8}, element::i64);
        const auto sort_of = [&](routed_value* by) {
            routed_op* sort = p.add(does::rank_rows, {by});
            p.tensor(sort, {8}, element::i64);
            return p.tensor(sort, {8}, element::i64);
        };
        routed_value* once = p.tensor(p.add(does::ramp, {keys}), {8}, element::i64);
        routed_value* there = sort_of(once);
        routed_value* rows = p.tensor(p.add(does::fetch, {x, there}), {8, 3});
        routed_value* again = p.tensor(p.add(does::ramp, {keys}), {8}, element::i64);
        if (written_in_between) p.tensor(p.add(does::accumulate, {again, keys}), {8}, element::i64);
        routed_value* blank = p.tensor(p.add(does::blank_like, {x}), {8, 3});
        back = p.tensor(p.add(does::deposit, {blank, sort_of(again), rows}), {8, 3});
        p.add(does::output, {back});
    }

    /// Whether the rows are put back per chunk.
    [[nodiscard]] bool is_chunked(bool with_numbers) {
        const routed_view view{&p};
        const value_numbers<routed_view> numbers(view, routed_model{}, support::routed_calls{});
        row_orders orders, other_orders;
        const auto* known = with_numbers ? &numbers : nullptr;
        const routed_chunks model(view, routed_dialect{}, orders, known),
            other(view, routed_dialect{}, other_orders, known);
        chunk_region<routed_op*> region{{}, {3, 5}};
        for (routed_op& o : p.ops)
            if (o.what != routed_op::does::input && o.what != routed_op::does::output) region.candidates.push_back(&o);
        const std::array<token_dimension<routed_value*>, 2> tokens = {{{x, 0}, {keys, 0}}};
        const auto plan =
            plan_chunks(view, routed_model{}, model, std::span<const chunk_region<routed_op*>>(&region, 1),
                        std::span<const token_dimension<routed_value*>>(tokens), {.skip_refused = true});
        REQUIRE(plan);
        CHECK(verify_chunks(*plan, view, routed_model{}, other).has_value());
        bool found = false;
        for (const auto& o : plan->operations) found = found || o.vertex == back->by;
        return found;
    }
};

}  // namespace

TEST_CASE("rows that are sorted again are in the same order, if their keys are known to be the same") {
    CHECK(sorted_twice(false).is_chunked(true));
    CHECK_FALSE(sorted_twice(false).is_chunked(false));
    CHECK_FALSE(sorted_twice(true).is_chunked(true));
}

TEST_CASE("rows sorted by keys that are written in between are in another order") {
    using does = routed_op::does;
    routed_program p;
    routed_value* keys = p.tensor(p.add(does::input, {}), {8}, element_type::i64);
    routed_value* own = p.tensor(p.add(does::ramp, {keys}), {8}, element_type::i64);
    routed_op* first = p.add(does::rank_rows, {own});
    routed_op* second = p.add(does::rank_rows, {own});
    for (routed_op* sort : {first, second})
        for (int k = 0; k < 2; ++k) p.tensor(sort, {8}, element_type::i64);
    const auto same = [&](bool with_numbers) {
        const routed_view view{&p};
        const value_numbers<routed_view> numbers(view, routed_model{}, support::routed_calls{});
        row_orders orders;
        const routed_chunks model(view, routed_dialect{}, orders, with_numbers ? &numbers : nullptr);
        const std::array<chunk_state, 1> rows = {chunk_state{kind::sliced, 0}};
        std::array<chunk_state, 2> once, again;
        REQUIRE(model.combine_rule(first, 8, rows, once).possible);
        REQUIRE(model.combine_rule(&p.ops.back(), 8, rows, again).possible);
        return once[0].order == again[0].order;
    };
    CHECK(same(true));
    CHECK(same(false));
    p.tensor(p.add(does::accumulate, {own, keys}), {8}, element_type::i64);
    routed_op* third = p.add(does::rank_rows, {own});
    for (int k = 0; k < 2; ++k) p.tensor(third, {8}, element_type::i64);
    CHECK_FALSE(same(true));
    CHECK_FALSE(same(false));
}
