#include "stretto/transform/chunk_rules/reductions.hpp"

#include "support/rule_test.hpp"

TEST_CASE("a sum over rows is a sum over chunks; a mean and an extreme of rows are refused") {
    rule_call c;
    const reduction rows{.dims = {0}};
    CHECK(c.tensor({8, 3}, sliced(0)).makes({3}).gives(rows) == addend);
    CHECK(c.tensor({8, 3}, sliced(0)).makes({}).gives(reduction{}) == addend);
    CHECK_FALSE(
        c.tensor({8, 3}, sliced(0)).makes({3}).refuses(reduction{.how = reduction::by::mean, .dims = {0}}).empty());
    CHECK_FALSE(
        c.tensor({8, 3}, sliced(0)).makes({3}).refuses(reduction{.how = reduction::by::other, .dims = {0}}).empty());
}

TEST_CASE("what divides by the rows of a chunk is refused for what it does, whatever it reads") {
    rule_call c;
    for (const reduction::by how : {reduction::by::mean, reduction::by::other}) {
        CHECK_FALSE(c.tensor({8, 3}, sliced(0)).makes({3}).refuses(reduction{.how = how, .dims = {0}}).empty());
        CHECK(c.verdict.inherent);
    }
}

TEST_CASE("along other dimensions rows are reduced by themselves") {
    rule_call c;
    const reduction of_first{.how = reduction::by::other, .dims = {0}};
    CHECK(c.tensor({3, 8}, sliced(1)).makes({8}).gives(of_first) == sliced(0));
    CHECK(c.tensor({3, 8}, sliced(1))
              .makes({1, 8})
              .gives(reduction{.how = reduction::by::mean, .dims = {-2}, .keeps_dims = true}) == sliced(1));
    CHECK_FALSE(c.tensor({8}, sliced(0)).makes({}).refuses(reduction{.dims = {1}}).empty());
}

TEST_CASE("what works along one dimension leaves the others to themselves") {
    rule_call c;
    CHECK(c.tensor({8, 3}, sliced(0)).makes({8, 3}).gives(along_dimension{.dim = -1}) == sliced(0));
    CHECK_FALSE(c.tensor({8, 3}, sliced(0)).makes({8, 3}).refuses(along_dimension{.dim = 0}).empty());
    CHECK(c.tensor({3}, addend).tensor({3}).makes({3}).gives(along_dimension{.linear = true}) == addend);
    const along_dimension matrices{.dim = -2, .count = 2, .linear = true};
    CHECK(c.tensor({8, 3, 4}, sliced(0)).makes({8, 3, 4}).gives(matrices) == sliced(0));
    CHECK_FALSE(c.tensor({4, 8, 4}, sliced(1)).makes({4, 8, 4}).refuses(matrices).empty());
    CHECK_FALSE(c.tensor({4, 3, 8}, sliced(2)).makes({4, 3, 8}).refuses(matrices).empty());
    CHECK_FALSE(c.tensor({8}, sliced(0)).makes({8}).refuses(matrices).empty());
    CHECK(c.tensor({3, 4}, addend).makes({3, 4}).gives(matrices) == addend);
    CHECK(c.tensor({3}, addend).makes({3}).gives(running_sum{.dim = 0}) == addend);
    CHECK_FALSE(c.tensor({8}, sliced(0)).makes({8}).refuses(running_sum{.dim = 0}).empty());
}

TEST_CASE("histograms of rows add up if their bins are fixed") {
    rule_call c;
    CHECK(c.tensor({8}, sliced(0)).makes({4}).gives(histogram{}) == addend);
    CHECK_FALSE(c.tensor({8}, sliced(0)).makes({4}).refuses(histogram{.fixed_bins = false}).empty());
}

TEST_CASE("that an operation works along the cut dimension is the cause, whatever number it is given") {
    rule_call c;
    CHECK(c.tensor({8, 3}, sliced(0)).number(addend).makes({2, 3}).refuses(along_dimension{.dim = 0}) ==
          "op works along the dimension that is chunked: it mixes rows of different chunks");
    CHECK(c.verdict.inherent);
    CHECK(c.tensor({8, 3}, sliced(0)).number(addend).makes({8, 2}).refuses(along_dimension{.dim = 1}) ==
          "op a number of the chunk stands where a shared one is expected");
    // A gated linear unit is half as long along its dimension as its operand.
    CHECK_FALSE(c.tensor({8}, sliced(0)).tensor({16}, sliced(0)).makes({16}).refuses(along_dimension{}).empty());
    CHECK(c.verdict.inherent);
}
