#include "stretto/transform/chunk_rules/numbers.hpp"

#include "support/rule_test.hpp"

namespace {
chunk_state share(std::int64_t rows_per_token) {
    chunk_state n = addend;
    n.positions = rows_per_token;
    return n;
}
}  // namespace

TEST_CASE("the extent of rows is a share, every other extent is the same for all") {
    rule_call c;
    CHECK(c.tensor({8, 3}, sliced(0)).makes({}).gives(read_extent{.dim = 0}).positions == 2);
    CHECK(c.tensor({8, 3}, sliced(0)).makes({}).gives(read_extent{.dim = 1}) == whole);
    CHECK(c.tensor({8, 3}, addend).makes({}).gives(read_extent{.dim = 0}) == whole);
    CHECK(c.tensor({8, 3}, sliced(0)).makes({}).gives(read_size{}).positions == 6);
}

TEST_CASE("sums of shares are shares") {
    rule_call c;
    using op = number_arithmetic::op;
    CHECK(c.number(share(2)).number(share(3)).makes({}).gives(number_arithmetic{}).positions == 5);
    CHECK(c.number(share(3)).number(share(2)).makes({}).gives(number_arithmetic{op::subtract}).positions == 1);
    const std::vector<rule_number> by_2 = {rule_number::of_operand(0), rule_number::constant(2)};
    CHECK(c.number(share(4)).makes({}).gives(number_arithmetic{op::multiply, by_2}).positions == 8);
    CHECK(c.number(share(4)).makes({}).gives(number_arithmetic{op::divide, by_2}).positions == 2);
    CHECK_FALSE(c.number(share(3)).makes({}).refuses(number_arithmetic{op::divide, by_2}).empty());
    CHECK_FALSE(c.number(share(4)).makes({}).refuses(number_arithmetic{op::add, by_2}).empty());
    CHECK_FALSE(c.number(share(4)).number(share(2)).makes({}).refuses(number_arithmetic{op::multiply}).empty());
}

TEST_CASE("shares do not overflow") {
    rule_call c;
    using op = number_arithmetic::op;
    const std::int64_t most = INT64_MAX;
    const std::vector<rule_number> by_2 = {rule_number::of_operand(0), rule_number::constant(2)};
    CHECK_FALSE(c.number(share(most)).number(share(1)).makes({}).refuses(number_arithmetic{}).empty());
    CHECK_FALSE(c.number(share(most)).makes({}).refuses(number_arithmetic{op::multiply, by_2}).empty());
}

TEST_CASE("elements and numbers become each other as sums over chunks") {
    rule_call c;
    CHECK(c.tensor({}, addend).makes({}).gives(read_element{}) == addend);
    CHECK(c.number(addend).makes({}).gives(hold_number{}) == addend);
    CHECK_FALSE(c.tensor({8}, sliced(0)).makes({}).refuses(read_element{}).empty());
}

TEST_CASE("a number of the chunk is compared with zero only") {
    rule_call c;
    CHECK(c.number(share(2)).makes({}).gives(compare_number{.with_zero = true}).what == chunk_kind::opaque);
    CHECK_FALSE(c.number(share(2)).makes({}).refuses(compare_number{}).empty());
    c.number(share(2)).gives(assertion{});
    CHECK(c.verdict.possible);
}
