#include "stretto/transform/chunk_rules/norms.hpp"

#include "support/rule_test.hpp"

TEST_CASE("rows are normalised by themselves, gradients of scales are sums over chunks") {
    rule_call c;
    CHECK(c.tensor({8, 3}, sliced(0)).tensor({3}).makes({8, 3}).makes({8, 1}).gives(normalization{}) == sliced(0));
    CHECK(c.results[1] == sliced(0));
    CHECK(c.tensor({8, 3}, sliced(0)).tensor({8, 3}, sliced(0)).makes({8, 3}).makes({3}).gives(normalization{}) ==
          sliced(0));
    CHECK(c.results[1] == addend);
    CHECK_FALSE(c.tensor({8, 3}, sliced(1)).makes({8, 3}).refuses(normalization{}).empty());
    CHECK_FALSE(c.tensor({8, 3}, sliced(0)).makes({8, 3}).refuses(normalization{.dims = 2}).empty());
}
