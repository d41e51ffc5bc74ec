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

TEST_CASE("a sum is written into zeros, or zeros into a sum; into anything else it is not") {
    rule_call c;
    const auto zero = [](std::size_t which) {
        return which == 0 ? +[](const void*, std::size_t k) { return k == 0; }
                          : +[](const void*, std::size_t k) { return k == 1; };
    };
    c.history.all_zero = zero(0);
    CHECK(c.tensor({4}).tensor({3}, addend).makes({4}).gives(put_slice{}) == addend);
    CHECK_FALSE(c.tensor({4}, addend).tensor({3}).makes({4}).refuses(put_slice{}).empty());
    c.history.all_zero = zero(1);
    CHECK(c.tensor({4}, addend).tensor({3}).makes({4}).gives(put_slice{}) == addend);
    CHECK_FALSE(c.tensor({4}).tensor({3}, addend).makes({4}).refuses(put_slice{}).empty());
}

TEST_CASE("the gradient of a slice is cut where the gradient is") {
    rule_call c;
    CHECK(c.tensor({8, 1}, sliced(0)).makes({8, 3}).gives(slice_gradient{.dim = 1}) == sliced(0));
    CHECK(c.tensor({8}, sliced(0)).makes({3, 8}).gives(slice_gradient{.dim = 0, .of_select = true}) == sliced(1));
    CHECK(c.tensor({8, 3}, sliced(0)).makes({8, 3}).gives(slice_gradient{.dim = 0}) == sliced(0));
    CHECK_FALSE(c.tensor({4, 3}, sliced(0)).makes({8, 3}).refuses(slice_gradient{.dim = 0}).empty());
    CHECK(c.tensor({1}, addend).makes({3}).gives(slice_gradient{}) == addend);
}

TEST_CASE("what is shifted, padded or cropped along other dimensions has the same rows") {
    rule_call c;
    const shift last{.dims = {-1}}, first{.dims = {0}}, filled{.dims = {-1}, .adds_constants = true};
    CHECK(c.tensor({8, 3}, sliced(0)).makes({8, 5}).gives(last) == sliced(0));
    CHECK(c.tensor({8, 3}, sliced(0)).makes({8, 5}).gives(filled) == sliced(0));
    CHECK_FALSE(c.tensor({8, 3}, sliced(0)).makes({9, 3}).refuses(first).empty());
    CHECK(c.verdict.inherent);
    CHECK(c.tensor({3, 8}, sliced(1)).makes({5, 8}).gives(first) == sliced(1));
    CHECK(c.tensor({8, 3}, addend).makes({8, 5}).gives(last) == addend);
    CHECK_FALSE(c.tensor({8, 3}, addend).makes({8, 5}).refuses(filled).empty());
    CHECK_FALSE(c.tensor({8}, sliced(0, 1)).makes({8}).refuses(shift{}).empty());
}
