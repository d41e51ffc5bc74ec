#include "stretto/transform/chunk_rules/lookups.hpp"

#include "support/rule_test.hpp"

TEST_CASE("plain indices look up what is whole") {
    rule_call c;
    CHECK(c.tensor({10, 3}).tensor({8}, sliced(0)).makes({8, 3}).gives(look_up{}) == sliced(0));
    CHECK(c.tensor({3, 10}).tensor({8}, sliced(0)).makes({3, 8}).gives(look_up{.dim = 1}) == sliced(1));
    CHECK(c.tensor({10, 3}).tensor({2, 8}, sliced(1)).makes({2, 8, 3}).gives(look_up{}) == sliced(1));
    CHECK(c.tensor({8, 3}, sliced(1)).tensor({5}).makes({5, 3}).gives(look_up{}) == sliced(1));
    CHECK_FALSE(c.tensor({8, 3}, sliced(0)).tensor({5}).makes({5, 3}).refuses(look_up{}).empty());
}

TEST_CASE("numbers of rows look up the value whose rows they number") {
    rule_call c;
    CHECK(c.tensor({4, 3}, sliced(0)).tensor({8}, sliced(0, 1)).makes({8, 3}).gives(look_up{}) == sliced(0));
    CHECK(c.tensor({4, 3}).tensor({8}, sliced(0, 1)).makes({8, 3}).wants(look_up{}) == std::pair(0, 0));
    CHECK_FALSE(c.tensor({8, 3}, sliced(0)).tensor({8}, sliced(0, 1)).makes({8, 3}).refuses(look_up{}).empty());
    const std::uint32_t natural = c.orders.natural(2),
                        sorted = c.orders.name(row_orders::origin::sorted, natural, natural, {1});
    chunk_state by = permuted(0, sorted, natural);
    by.positions = 2;
    CHECK(c.tensor({8, 3}, sliced(0)).tensor({8}, by).makes({8, 3}).gives(look_up{}) == permuted(0, sorted));
}

TEST_CASE("elements are looked up by several indices side by side") {
    rule_call c;
    const look_up_elements two{.indices = {1, 2}};
    CHECK(c.tensor({10, 3}).tensor({8}, sliced(0)).tensor({8}, sliced(0)).makes({8}).gives(two) == sliced(0));
    CHECK(c.tensor({10, 3}).tensor({8}, sliced(0)).tensor({8}).makes({8}).wants(two) == std::pair(2, 0));
    CHECK(c.tensor({4, 3}, sliced(0)).tensor({8}, sliced(0, 1)).tensor({8}, sliced(0)).makes({8}).gives(two) ==
          sliced(0));
    const look_up_elements one{.indices = {no_operand, 1}};
    CHECK(c.tensor({3, 10}).tensor({8}, sliced(0)).makes({3, 8}).gives(one) == sliced(1));
}

TEST_CASE("a gather keeps rows along other dimensions than its own") {
    rule_call c;
    CHECK(c.tensor({8, 5}, sliced(0)).tensor({8, 2}, sliced(0)).makes({8, 2}).gives(gather{.dim = 1}) == sliced(0));
    CHECK(c.tensor({8, 5}).tensor({8, 2}, sliced(0)).makes({8, 2}).wants(gather{.dim = 1}) == std::pair(0, 0));
    CHECK(c.tensor({5}).tensor({8}, sliced(0)).makes({8}).gives(gather{.dim = 0}) == sliced(0));
}

TEST_CASE("unknown counts are not those of an exchange whose counts are unknown") {
    rule_call c;
    chunk_state total = addend;
    total.order = c.orders.name(row_orders::origin::exchanged, 0, 0, {1});
    const chunk_state rows =
        c.tensor({3}, addend, element_type::i64).number(total).makes({8}).gives(repeat_by_counts{.total = 1});
    CHECK(rows.what == chunk_kind::permuted);
    CHECK(rows.order != total.order);
}

TEST_CASE("counts of the chunk say how many rows of each kind there are") {
    rule_call c;
    const chunk_state rows = c.tensor({3}, addend, element_type::i64).makes({8}).gives(repeat_by_counts{});
    REQUIRE(rows.what == chunk_kind::permuted);
    CHECK(c.orders[rows.order].how == row_orders::origin::runs);
    CHECK_FALSE(c.tensor({3}, sliced(0)).makes({8}).refuses(repeat_by_counts{}).empty());
}
