#include "stretto/transform/chunk_rules/products.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "support/rule_call.hpp"

using namespace stretto;
using namespace stretto::chunk_rules;
using support::addend;
using support::permuted;
using support::rule_call;
using support::sliced;
using support::whole;

TEST_CASE("a matrix product has the rows of its left factor and the columns of its right one") {
    rule_call c;
    CHECK(c.tensor({8, 3}, sliced(0)).tensor({3, 5}).makes({8, 5}).gives(matrix_product{}) == sliced(0));
    CHECK(c.tensor({3, 5}).tensor({5, 8}, sliced(1)).makes({3, 8}).gives(matrix_product{}) == sliced(1));
    CHECK(c.tensor({2, 8, 3}, sliced(1)).tensor({3, 5}).makes({2, 8, 5}).gives(matrix_product{}) == sliced(1));
}

TEST_CASE("what is summed over in chunks is a sum over chunks") {
    rule_call c;
    CHECK(c.tensor({3, 8}, sliced(1)).tensor({8, 5}, sliced(0)).makes({3, 5}).gives(matrix_product{}) == addend);
    const matrix_product of_gradient{.left_contracts = {0}, .right_contracts = {0}};
    CHECK(c.tensor({8, 3}, sliced(0)).tensor({8, 5}, sliced(0)).makes({3, 5}).gives(of_gradient) == addend);
    CHECK(c.tensor({8, 3}, sliced(0)).tensor({8, 5}).makes({3, 5}).wants(of_gradient) == std::pair(1, 0));
    CHECK_FALSE(c.tensor({8, 3}, sliced(0)).tensor({3, 8}, sliced(1)).makes({8, 8}).refuses(matrix_product{}).empty());
}

TEST_CASE("a sum times something whole is a sum") {
    rule_call c;
    CHECK(c.tensor({3, 4}, addend).tensor({4, 5}).makes({3, 5}).gives(matrix_product{}) == addend);
    CHECK_FALSE(c.tensor({3, 4}, addend).tensor({4, 5}, addend).makes({3, 5}).refuses(matrix_product{}).empty());
}

TEST_CASE("batches go together") {
    rule_call c;
    const matrix_product batched{.left_batch = {0}, .right_batch = {0}};
    const matrix_product inner_batch{
        .left_contracts = {0}, .right_contracts = {0}, .left_batch = {2}, .right_batch = {1}};
    CHECK(c.tensor({8, 2, 3}, sliced(0)).tensor({8, 3, 5}, sliced(0)).makes({8, 2, 5}).gives(batched) == sliced(0));
    CHECK(c.tensor({8, 2, 3}, sliced(0)).tensor({8, 3, 5}).makes({8, 2, 5}).wants(batched) == std::pair(1, 0));
    CHECK(c.tensor({6, 2, 3}).tensor({6, 3, 8}, sliced(2)).makes({6, 2, 8}).gives(batched) == sliced(2));
    CHECK(c.tensor({3, 2, 8}, sliced(2)).tensor({3, 8, 5}, sliced(1)).makes({8, 2, 5}).gives(inner_batch) == sliced(0));
    CHECK(c.tensor({3, 8, 6}, sliced(1)).tensor({3, 6, 5}).makes({6, 8, 5}).gives(inner_batch) == sliced(1));
}

TEST_CASE("a bias is added to rows, not to sums") {
    rule_call c;
    CHECK(c.tensor({5}).tensor({8, 3}, sliced(0)).tensor({3, 5}).makes({8, 5}).gives(biased_product{}) == sliced(0));
    CHECK(c.tensor({8, 5}).tensor({8, 3}, sliced(0)).tensor({3, 5}).makes({8, 5}).wants(biased_product{}) ==
          std::pair(0, 0));
    CHECK(c.tensor({5}).tensor({3, 8}, sliced(1)).tensor({8, 5}, sliced(0)).makes({3, 5}).refuses(biased_product{}) ==
          "op would add its bias once in every chunk");
}

TEST_CASE("groups of rows are multiplied where every chunk knows the ends of its groups") {
    rule_call c;
    const std::uint32_t sorted = c.orders.name(row_orders::origin::sorted, 0, 0, {1});
    const chunk_state rows = permuted(0, sorted);
    CHECK(c.tensor({8, 3}, rows).tensor({2, 3, 5}).tensor({2}, addend).makes({8, 5}).gives(grouped_product{}) == rows);
    CHECK_FALSE(c.tensor({8, 3}, rows).tensor({2, 3, 5}).tensor({2}).makes({8, 5}).refuses(grouped_product{}).empty());
    CHECK(c.tensor({3, 8}, permuted(1, sorted))
              .tensor({8, 5}, rows)
              .tensor({2}, addend)
              .makes({2, 3, 5})
              .gives(grouped_product{}) == addend);
}
