#include "stretto/transform/chunk_rules/losses.hpp"

#include "support/rule_test.hpp"

TEST_CASE("a loss of rows is a sum over chunks, unless a mean divides it by what a chunk has") {
    rule_call c;
    CHECK(
        c.tensor({8, 3}, sliced(0)).tensor({8}, sliced(0)).makes({}).makes({}).gives(class_loss{.how = loss_of::sum}) ==
        addend);
    CHECK(c.tensor({8, 3}, sliced(0))
              .tensor({8}, sliced(0))
              .makes({8})
              .makes({})
              .gives(class_loss{.how = loss_of::each_row}) == sliced(0));
    CHECK(c.tensor({8, 3}, sliced(0)).tensor({8}, sliced(0)).makes({}).makes({}).refuses(class_loss{}) ==
          "op divides by the number of rows of a chunk; a sum could be chunked");
    CHECK(c.verdict.inherent);
    CHECK(c.tensor({8, 3}, sliced(0)).tensor({8}).makes({}).makes({}).wants(class_loss{}) == std::pair(1, 0));
}

TEST_CASE("the gradient of a loss has its rows") {
    rule_call c;
    const class_loss_gradient of_sum{.how = loss_of::sum}, of_rows{.how = loss_of::each_row};
    CHECK(c.tensor({}).tensor({8, 3}, sliced(0)).tensor({8}, sliced(0)).makes({8, 3}).gives(of_sum) == sliced(0));
    CHECK(c.tensor({}).tensor({8, 3}).tensor({8}, sliced(0)).makes({8, 3}).wants(of_sum) == std::pair(1, 0));
    CHECK(c.tensor({8}, sliced(0)).tensor({8, 3}, sliced(0)).tensor({8}, sliced(0)).makes({8, 3}).gives(of_rows) ==
          sliced(0));
}

TEST_CASE("the gradient of a mean divides by what all chunks share") {
    rule_call c;
    const auto asks = [&](chunk_state total) -> rule_call& {
        return c.tensor({}).tensor({8, 3}, sliced(0)).tensor({8}, sliced(0)).tensor({}, total).makes({8, 3});
    };
    CHECK(asks(whole).gives(class_loss_gradient{.total = 3}) == sliced(0));
    CHECK_FALSE(asks(addend).refuses(class_loss_gradient{.total = 3}).empty());
    CHECK_FALSE(asks(whole).refuses(class_loss_gradient{}).empty());
}

TEST_CASE("losses of elements stay in their places or are summed, and their gradients are elements") {
    rule_call c;
    const element_loss each{.how = loss_of::each_row}, sum{.how = loss_of::sum}, mean{};
    CHECK(c.tensor({8, 3}, sliced(0)).tensor({8, 3}, sliced(0)).makes({8, 3}).gives(each) == sliced(0));
    CHECK(c.tensor({3, 8}, sliced(1)).tensor({3, 8}, sliced(1)).makes({}).gives(sum) == addend);
    CHECK(c.tensor({8, 3}, sliced(0)).tensor({8, 3}).makes({}).wants(sum) == std::pair(1, 0));
    CHECK(c.tensor({8, 3}, sliced(0)).tensor({8, 3}, sliced(0)).makes({}).refuses(mean) ==
          "op divides by the number of rows of a chunk; a sum could be chunked");
    CHECK(c.verdict.inherent);
    CHECK_FALSE(c.tensor({8, 3}, addend).tensor({8, 3}).makes({}).refuses(sum).empty());
    const element_loss of_sum{.how = loss_of::sum, .of_gradient = true}, of_mean{.of_gradient = true};
    CHECK(c.tensor({}).tensor({8, 3}, sliced(0)).tensor({8, 3}, sliced(0)).makes({8, 3}).gives(of_sum) == sliced(0));
    CHECK_FALSE(
        c.tensor({}).tensor({8, 3}, sliced(0)).tensor({8, 3}, sliced(0)).makes({8, 3}).refuses(of_mean).empty());
}
