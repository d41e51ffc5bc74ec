#include "stretto/transform/chunk_rules/exchanges.hpp"

#include "support/rule_test.hpp"

namespace {

/// Amounts that operands 1 and 2 give to two ranks, and that 3 and 4 are the way back of.
exchange there() {
    return {.received = {rule_number::of_operand(1), rule_number::of_operand(2)},
            .sent = {rule_number::of_operand(3), rule_number::of_operand(4)}};
}
exchange back() {
    exchange e = there();
    std::swap(e.received, e.sent);
    return e;
}
rule_call& with_amounts(rule_call& c, chunk_state rows) {
    return c.tensor({8, 3}, rows).number(addend).number(addend).number(addend).number(addend).makes({8, 3});
}

}  // namespace

TEST_CASE("rows in an order of their own are exchanged in amounts of the chunk, and come back") {
    rule_call c;
    const chunk_state sorted = permuted(0, c.orders.name(row_orders::origin::sorted, 0, 0, {1}));
    const chunk_state away = with_amounts(c, sorted).gives(there());
    REQUIRE(away.what == chunk_kind::permuted);
    CHECK(away.order != sorted.order);
    CHECK(with_amounts(c, away).gives(back()) == sorted);
    exchange other = back();
    other.group_number = 1;
    CHECK(with_amounts(c, away).gives(other) != sorted);
}

TEST_CASE("rows that lie as the tokens do are not sent away by their place in the chunk") {
    rule_call c;
    CHECK(with_amounts(c, sliced(0)).refuses(there()) ==
          "op would send rows by their place in the chunk, not in the value, to other ranks");
}

TEST_CASE("amounts that chunks share exchange what lies across the rows") {
    rule_call c;
    const std::vector<rule_number> even = {rule_number::constant(4), rule_number::constant(4)};
    const exchange constant{.received = even, .sent = even};
    CHECK(c.tensor({8}, addend).makes({8}).gives(constant) == addend);
    CHECK(c.tensor({8, 4}, sliced(1)).makes({8, 4}).gives(constant) == sliced(1));
    CHECK_FALSE(with_amounts(c, addend).refuses(there()).empty());
}

TEST_CASE("other collectives are refused") {
    rule_call c;
    CHECK_FALSE(c.tensor({8}, sliced(0)).makes({16}).refuses(other_collective{}).empty());
}
