#include "stretto/transform/chunk_rules/sorting.hpp"

#include "support/rule_test.hpp"

TEST_CASE("sorted rows are in an order of their own, and their numbers lead back") {
    rule_call c;
    const chunk_state values = c.tensor({8}, sliced(0)).makes({8}).makes({8}).gives(chunk_rules::sort{.stable = true});
    REQUIRE(values.what == chunk_kind::permuted);
    const chunk_state numbers = c.results[1];
    CHECK(numbers.order == values.order);
    CHECK(numbers.positions == 2);
    CHECK(numbers.into == c.orders.natural(2));
    // The numbers of sorted rows, sorted: rows in the order before, numbers into the order that they were in.
    CHECK(c.tensor({8}, numbers).makes({8}).makes({8}).gives(chunk_rules::sort{}).what == chunk_kind::sliced);
    CHECK(c.results[1].into == values.order);
}

TEST_CASE("a stable sort of the same value gives the same order, another sort one of its own") {
    rule_call c;
    const auto order = [&](bool stable) {
        return c.tensor({8}, sliced(0)).makes({8}).makes({8}).gives(chunk_rules::sort{.stable = stable}).order;
    };
    CHECK(order(true) == order(true));
    CHECK(order(true) != order(false));
}

TEST_CASE("rows are sorted by themselves along another dimension") {
    rule_call c;
    CHECK(c.tensor({8, 3}, sliced(0)).makes({8, 3}).makes({8, 3}).gives(chunk_rules::sort{}) == sliced(0));
    CHECK_FALSE(c.tensor({8, 3}, sliced(0)).makes({8, 3}).makes({8, 3}).refuses(chunk_rules::sort{.dim = 0}).empty());
}
