#include "stretto/transform/chunk_rules/elementwise.hpp"

#include "support/rule_test.hpp"

namespace {

constexpr chunk_state opaque_rows{chunk_kind::opaque, 0, 0, 0, 0};

arithmetic with_constant(arithmetic::op what, std::int64_t n) {
    return {.what = what, .right = rule_number::constant(n)};
}

}  // namespace

TEST_CASE("elementwise operations keep rows, aligned at the last dimension") {
    rule_call c;
    CHECK(c.tensor({8, 3}, sliced(0)).makes({8, 3}).gives(elementwise{}) == sliced(0));
    CHECK(c.tensor({8, 3}, sliced(0)).tensor({3}).makes({8, 3}).gives(elementwise{}) == sliced(0));
    CHECK(c.tensor({8}, sliced(0)).tensor({2, 8}, sliced(1)).makes({2, 8}).gives(elementwise{}) == sliced(1));
    CHECK(c.tensor({8, 3}, sliced(0)).tensor({8, 3}, sliced(1)).makes({8, 3}).refuses(elementwise{}) ==
          "op its operands have rows of the chunk in different orders");
}

TEST_CASE("what is whole beside rows of the chunk is wanted in slices") {
    rule_call c;
    CHECK(c.tensor({8, 3}, sliced(0)).tensor({8, 3}).makes({8, 3}).wants(elementwise{}) == std::pair(1, 0));
    CHECK(c.tensor({8, 3}, permuted(0, c.orders.natural(2))).tensor({8, 3}).makes({8, 3}).wants(elementwise{}) ==
          std::pair(-1, -1));
}

TEST_CASE("sums pass what is linear in them") {
    rule_call c;
    CHECK(c.tensor({3}, addend).makes({3}).gives(elementwise{.linear = true}) == addend);
    CHECK_FALSE(c.tensor({3}, addend).makes({3}).refuses(elementwise{}).empty());
    CHECK_FALSE(c.tensor({3}, addend).tensor({3}).makes({3}).refuses(elementwise{.linear = true}).empty());
    CHECK(c.tensor({3}, addend).tensor({3}, addend).makes({3}).gives(arithmetic{}) == addend);
    CHECK_FALSE(c.tensor({3}, addend).tensor({3}).makes({3}).refuses(arithmetic{}).empty());
    CHECK_FALSE(c.tensor({3}, addend).makes({3}).refuses(with_constant(arithmetic::op::add, 1)).empty());
    CHECK(c.tensor({3}, addend).tensor({3}).makes({3}).gives(arithmetic{arithmetic::op::multiply}) == addend);
    const arithmetic square{.what = arithmetic::op::multiply, .right = rule_number::of_operand(0)};
    CHECK_FALSE(c.tensor({3}, addend).makes({3}).refuses(square).empty());
    CHECK(c.tensor({3}, addend).tensor({3}).makes({3}).gives(arithmetic{arithmetic::op::divide}) == addend);
    CHECK_FALSE(c.tensor({3}).tensor({3}, addend).makes({3}).refuses(arithmetic{arithmetic::op::divide}).empty());
}

TEST_CASE("a copy keeps everything, a cast all sums but those whose fractions it drops") {
    rule_call c;
    CHECK(c.tensor({8}, sliced(0, 2)).makes({8}).gives(copy{}) == sliced(0, 2));
    CHECK(c.tensor({8}, addend).makes({8}).gives(copy{}) == addend);
    CHECK(c.tensor({8}, addend).makes({8}, element_type::bf16).gives(cast{}) == addend);
    CHECK_FALSE(c.tensor({8}, addend).makes({8}, element_type::i32).refuses(cast{}).empty());
    CHECK(c.tensor({8}, addend, element_type::i64).makes({8}, element_type::i32).gives(cast{}) == addend);
}

TEST_CASE("numbers of rows go through arithmetic that moves all of them alike") {
    rule_call c;
    const auto rows = [&](const arithmetic& a) {
        return c.tensor({8}, sliced(0, 2), element_type::i64).makes({8}, element_type::i64).gives(a).positions;
    };
    CHECK(rows(with_constant(arithmetic::op::add, 0)) == 2);
    CHECK(rows(with_constant(arithmetic::op::multiply, 3)) == 6);
    CHECK(rows(with_constant(arithmetic::op::floor_divide, 2)) == 1);
    CHECK(rows(with_constant(arithmetic::op::remainder, 2)) == 0);
    CHECK_FALSE(c.tensor({8}, sliced(0, 2)).makes({8}).refuses(with_constant(arithmetic::op::floor_divide, 3)).empty());
    CHECK_FALSE(c.tensor({8}, sliced(0, 2)).makes({8}).refuses(elementwise{}).empty());
    CHECK(c.tensor({8}, opaque_rows).makes({8}).refuses(elementwise{}) ==
          "op an operand has parts that are in no known relation to it");
}

TEST_CASE("numbers of rows are not moved to rows of another chunk") {
    rule_call c;
    using op = arithmetic::op;
    const auto rows = [&](op what, chunk_state left, chunk_state right) {
        c.tensor({8}, left, element_type::i64).tensor({8}, right, element_type::i64).makes({8}, element_type::i64);
        return c.gives(arithmetic{what});
    };
    CHECK(rows(op::add, sliced(0, 2), sliced(0, 1)) == sliced(0, 3));
    CHECK(rows(op::subtract, sliced(0, 2), sliced(0, 2)) == sliced(0));
    for (const chunk_state& other : {sliced(0, 1), sliced(0)})
        CHECK(rows(op::subtract, sliced(0, 2), other).what == chunk_kind::unset);
    CHECK(rows(op::add, sliced(0, 2), sliced(0)).what == chunk_kind::unset);
    CHECK(rows(op::add, sliced(0), sliced(0, 2)).what == chunk_kind::unset);
    CHECK(rows(op::subtract, sliced(0), sliced(0, 2)).what == chunk_kind::unset);
    for (const arithmetic& a :
         {with_constant(op::add, 1), with_constant(op::subtract, 1), with_constant(op::multiply, -1)})
        CHECK_FALSE(c.tensor({8}, sliced(0, 2), element_type::i64).makes({8}, element_type::i64).refuses(a).empty());
    CHECK(c.tensor({8}, sliced(0, 2), element_type::i64)
              .makes({8}, element_type::i64)
              .gives(with_constant(op::subtract, 0)) == sliced(0, 2));
}

TEST_CASE("a constant is not divided by numbers of rows") {
    rule_call c;
    for (arithmetic::op what : {arithmetic::op::floor_divide, arithmetic::op::remainder}) {
        const arithmetic a{.what = what, .left = rule_number::constant(8), .right = rule_number::of_operand(0)};
        CHECK_FALSE(c.tensor({8}, sliced(0, 2), element_type::i64).makes({8}, element_type::i64).refuses(a).empty());
    }
}

TEST_CASE("amounts by which numbers of rows are shifted do not overflow") {
    rule_call c;
    const std::int64_t most = INT64_MAX;
    CHECK_FALSE(c.tensor({8}, sliced(0, most)).makes({8}).refuses(with_constant(arithmetic::op::multiply, 2)).empty());
    CHECK_FALSE(c.tensor({8}, sliced(0, most)).tensor({8}, sliced(0, 1)).makes({8}).refuses(arithmetic{}).empty());
}

TEST_CASE("a copy of what is no sum is none, although a sum gives its shape") {
    rule_call c;
    CHECK_FALSE(c.tensor({8}).tensor({8}, addend).makes({8}).gives(copy{}) == addend);
    CHECK_FALSE(c.tensor({8}).tensor({8}, addend).makes({8}).gives(cast{}) == addend);
}

TEST_CASE("a number of the chunk is a summand, but no factor of one") {
    rule_call c;
    CHECK(c.tensor({3}, addend).number(addend).makes({3}).gives(arithmetic{}) == addend);
    CHECK_FALSE(c.tensor({3}, addend).tensor({3}, addend).number(addend).makes({3}).refuses(arithmetic{}).empty());
}

TEST_CASE("rows may be overwritten by rows in the same order") {
    rule_call c;
    CHECK(c.tensor({8}, sliced(0)).tensor({8}, sliced(0)).makes({8}).gives(copy_into{}) == sliced(0));
    CHECK(c.tensor({8}, addend).tensor({8}, addend).makes({8}).gives(copy_into{}) == addend);
    CHECK_FALSE(c.tensor({8}, addend).tensor({8}, sliced(0)).makes({8}).refuses(copy_into{}).empty());
}
