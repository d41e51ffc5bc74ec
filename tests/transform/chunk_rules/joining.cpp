#include "stretto/transform/chunk_rules/joining.hpp"

#include "support/rule_test.hpp"

TEST_CASE("tensors are joined along another dimension than the cut one") {
    rule_call c;
    CHECK(c.tensor({8, 3}, sliced(0)).tensor({8, 2}, sliced(0)).makes({8, 5}).gives(concat{.dim = 1}) == sliced(0));
    CHECK(c.tensor({8, 3}, sliced(0)).tensor({8, 2}).makes({8, 5}).wants(concat{.dim = 1}) == std::pair(1, 0));
    CHECK(c.tensor({8}, addend).tensor({8}, addend).makes({16}).gives(concat{}) == addend);
    CHECK_FALSE(c.tensor({8}, addend).tensor({8}).makes({16}).refuses(concat{}).empty());
    CHECK(c.tensor({8}, sliced(0)).tensor({8}, sliced(0)).makes({2, 8}).gives(stack{.dim = 0}) == sliced(1));
}

TEST_CASE("what is joined along the cut dimension lies in blocks, of as many rows each") {
    rule_call c;
    const auto two = permuted(0, c.orders.in_blocks(2, 2));
    CHECK(c.tensor({8}, sliced(0)).tensor({8}, sliced(0)).makes({16}).gives(concat{}) == two);
    CHECK(c.tensor({8}, sliced(0)).makes({16}).gives(concat{}) == two);  // a value, joined to itself
    CHECK(c.tensor({3, 8}, sliced(1)).tensor({3, 8}, sliced(1)).makes({3, 16}).gives(concat{.dim = 1}) ==
          permuted(1, two.order));
    for (const chunk_state& other : {sliced(0), whole, sliced(0, 1), two})
        CHECK_FALSE(c.tensor({8}, sliced(0)).tensor({16}, other).makes({24}).refuses(concat{}).empty());
}

TEST_CASE("zeros that all chunks share are joined to a sum, as in every chunk they are a sum of zeros") {
    rule_call c;
    c.history.all_zero = [](const void*, std::size_t k) { return k == 0; };
    CHECK(c.tensor({1}).tensor({8}, addend).makes({9}).gives(concat{}) == addend);
    CHECK(c.tensor({8}).tensor({8}, addend).makes({2, 8}).gives(stack{}) == addend);
    CHECK_FALSE(c.tensor({8}, addend).tensor({1}).makes({9}).refuses(concat{}).empty());  // not the one that is zero
    CHECK_FALSE(c.tensor({1}).tensor({8}, addend).tensor({8}).makes({17}).refuses(concat{}).empty());
    // Beside rows zeros are rows, and must be cut like any others.
    CHECK(c.tensor({8, 1}).tensor({8, 3}, sliced(0)).makes({8, 4}).wants(concat{.dim = 1}) == std::pair(0, 0));
}

TEST_CASE("a component of a tuple is in the state of that component") {
    rule_call c;
    CHECK(c.tensor({8}, sliced(0)).beside({3}, addend).makes({3}).gives(component{.which = 1}) == addend);
    CHECK(c.tensor({8}, sliced(0)).beside({3}, addend).makes({8}).gives(component{.which = 0}) == sliced(0));
    CHECK_FALSE(c.tensor({8}, sliced(0)).beside({3}).makes({5}).refuses(component{.which = 1}).empty());
    CHECK_FALSE(c.tensor({8}, sliced(0)).makes({8}).refuses(component{.which = -1}).empty());
}
