#include "stretto/transform/chunk_rules/parts.hpp"

#include "support/rule_test.hpp"

TEST_CASE("a slice is written along another dimension, or over all rows") {
    rule_call c;
    CHECK(c.tensor({8, 3}, sliced(0)).tensor({8, 1}, sliced(0)).makes({8, 3}).gives(put_slice{.dim = 1}) == sliced(0));
    CHECK(c.tensor({8, 3}).tensor({8, 1}, sliced(0)).makes({8, 3}).wants(put_slice{.dim = 1}) == std::pair(0, 0));
    CHECK_FALSE(
        c.tensor({8, 3}, sliced(0)).tensor({4, 3}, sliced(0)).makes({8, 3}).refuses(put_slice{.dim = 0}).empty());
    CHECK(c.tensor({3}, addend).tensor({1}, addend).makes({3}).gives(put_slice{}) == addend);
}

TEST_CASE("the gradient of a slice is cut where the gradient is") {
    rule_call c;
    CHECK(c.tensor({8, 1}, sliced(0)).makes({8, 3}).gives(slice_gradient{.dim = 1}) == sliced(0));
    CHECK(c.tensor({8}, sliced(0)).makes({3, 8}).gives(slice_gradient{.dim = 0, .of_select = true}) == sliced(1));
    CHECK(c.tensor({8, 3}, sliced(0)).makes({8, 3}).gives(slice_gradient{.dim = 0}) == sliced(0));
    CHECK_FALSE(c.tensor({4, 3}, sliced(0)).makes({8, 3}).refuses(slice_gradient{.dim = 0}).empty());
    CHECK(c.tensor({1}, addend).makes({3}).gives(slice_gradient{}) == addend);
}
