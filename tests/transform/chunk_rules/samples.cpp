#include "stretto/transform/chunk_rules/samples.hpp"

#include "support/rule_test.hpp"

TEST_CASE("samples are worked on by themselves, gradients of what they share are sums over them") {
    rule_call c;
    const by_sample forward{}, backward{.batched = {0, 1}, .own = 1};
    CHECK(c.tensor({8, 3, 5}, sliced(0)).tensor({4, 3, 2}).makes({8, 4, 4}).gives(forward) == sliced(0));
    CHECK(c.tensor({8, 4, 4}, sliced(0))
              .tensor({8, 3, 5}, sliced(0))
              .makes({8, 3, 5})
              .makes({4, 3, 2})
              .makes({4})
              .gives(backward) == sliced(0));
    CHECK(c.results[1] == addend);
    CHECK(c.results[2] == addend);
    // Where the gradient of the input is not wanted, all results are sums.
    const by_sample weights{.batched = {0, 1}, .own = 0};
    CHECK(c.tensor({8, 4, 4}, sliced(0)).tensor({8, 3, 5}, sliced(0)).makes({4, 3, 2}).makes({4}).gives(weights) ==
          addend);
    CHECK(c.results[1] == addend);
    const std::uint32_t order =
        c.orders.name(row_orders::origin::sorted, c.orders.natural(1), c.orders.natural(1), {1});
    CHECK(c.tensor({8, 3, 5}, permuted(0, order)).tensor({4, 3, 2}).makes({8, 4, 4}).gives(forward) ==
          permuted(0, order));
}

TEST_CASE("places and channels of a sample meet, weights are shared, and all samples must be there") {
    rule_call c;
    const by_sample forward{}, backward{.batched = {0, 1}, .own = 1};
    CHECK(c.tensor({2, 8, 5}, sliced(1)).tensor({4, 8, 2}).makes({2, 4, 4}).refuses(forward) ==
          "op works along the dimension that is chunked: chunk it along the samples of the batch");
    CHECK(c.verdict.inherent);
    CHECK_FALSE(c.tensor({2, 3, 5}).tensor({8, 3, 2}, sliced(0)).makes({2, 8, 4}).refuses(forward).empty());
    CHECK(c.tensor({8, 4, 4}, sliced(0)).tensor({8, 3, 5}).makes({8, 3, 5}).wants(backward) == std::pair(1, 0));
}

TEST_CASE("a sum over chunks passes where everything is linear in it") {
    rule_call c;
    CHECK(c.tensor({2, 3, 5}, addend).tensor({4, 3, 2}).makes({2, 4, 4}).gives(by_sample{.linear_in = 0}) == addend);
    CHECK_FALSE(c.tensor({2, 3, 5}, addend).tensor({4, 3, 2}).makes({2, 4, 4}).refuses(by_sample{}).empty());
    CHECK_FALSE(
        c.tensor({2, 3, 5}).tensor({4, 3, 2}, addend).makes({2, 4, 4}).refuses(by_sample{.linear_in = 0}).empty());
    CHECK_FALSE(c.tensor({8, 3, 5}, sliced(0))
                    .tensor({4, 3, 2}, addend)
                    .makes({8, 4, 4})
                    .refuses(by_sample{.linear_in = 1})
                    .empty());
}

TEST_CASE("a number of samples is that of the chunk") {
    rule_call c;
    const by_sample counted{.samples = rule_number::of_operand(1)};
    chunk_state two_a_token{chunk_state::kind::addend, -1, 2, c.orders.natural(2), 0}, one_a_token = two_a_token;
    one_a_token.positions = 1;
    CHECK(c.tensor({8, 3, 5}, sliced(0)).number(two_a_token).makes({8, 3, 5}).gives(counted) == sliced(0));
    CHECK(c.tensor({8, 3, 5}, sliced(0)).number().makes({8, 3, 5}).gives(counted) == sliced(0));
    CHECK(c.tensor({8, 3, 5}, sliced(0)).number(one_a_token).makes({8, 3, 5}).refuses(counted) ==
          "op is told a number of samples that is not that of the chunk");
    CHECK_FALSE(c.tensor({8, 3, 5}).number(two_a_token).makes({8, 3, 5}).refuses(counted).empty());
    // Only the tensor knows how many rows a chunk has that are in no order of the tokens: a constant cannot say it.
    const std::uint32_t order =
        c.orders.name(row_orders::origin::sorted, c.orders.natural(2), c.orders.natural(2), {1});
    const by_sample spelt{.samples = rule_number::constant(8)};
    CHECK_FALSE(c.tensor({8, 3, 5}, permuted(0, order)).makes({8, 3, 5}).refuses(spelt).empty());
    CHECK(c.tensor({8, 3, 5}, permuted(0, order)).number(two_a_token).makes({8, 3, 5}).gives(counted) ==
          permuted(0, order));
    CHECK(c.tensor({8, 3, 5}, sliced(0)).makes({8, 3, 5}).gives(spelt) == sliced(0));
}
