#include "stretto/transform/chunk_rules/exchanges.hpp"

#include "support/rule_test.hpp"

namespace {

/// Amounts that operands 1 and 2 give to two ranks, and that 3 and 4 are the way back of.
exchange there() {
    return {.received = {rule_number::of_operand(1), rule_number::of_operand(2)},
            .sent = {rule_number::of_operand(3), rule_number::of_operand(4)}};
}
exchange back() {
    exchange e = there();
    std::swap(e.received, e.sent);
    return e;
}
rule_call& with_amounts(rule_call& c, chunk_state rows) {
    return c.tensor({8, 3}, rows).number(addend).number(addend).number(addend).number(addend).makes({8, 3});
}

}  // namespace

TEST_CASE("rows in an order of their own are exchanged in amounts of the chunk, and come back") {
    rule_call c;
    const chunk_state sorted = permuted(0, c.orders.name(row_orders::origin::sorted, 0, 0, {1}));
    const chunk_state away = with_amounts(c, sorted).gives(there());
    REQUIRE(away.what == chunk_kind::permuted);
    CHECK(away.order != sorted.order);
    CHECK(with_amounts(c, away).gives(back()) == sorted);
    exchange other = back();
    other.group_number = 1;
    CHECK(with_amounts(c, away).gives(other) != sorted);
}

TEST_CASE("rows that lie as the tokens do are not sent away by their place in the chunk") {
    rule_call c;
    const std::uint32_t blocks = c.orders.in_blocks(2, 1);
    const std::uint32_t last_first = c.orders.name(row_orders::origin::flipped, blocks, blocks, {});
    for (const chunk_state& rows : {sliced(0), permuted(0, blocks), permuted(0, last_first)})
        CHECK(with_amounts(c, rows).refuses(there()) ==
              "op would send rows by their place in the chunk, not in the value, to other ranks");
}

TEST_CASE("rows whose place decides where they go are not sent away in chunks") {
    rule_call c;
    const chunk_state sorted = permuted(0, c.orders.name(row_orders::origin::sorted, 0, 0, {1}));
    CHECK_FALSE(c.tensor({8, 3}, sorted).makes({8, 3}).refuses(exchange{}).empty());
    exchange one_way = there();
    one_way.sent.clear();
    CHECK_FALSE(with_amounts(c, sorted).refuses(one_way).empty());
    CHECK(c.tensor({8, 4}, sliced(1)).makes({8, 4}).gives(exchange{}) == sliced(1));
}

TEST_CASE("amounts that chunks share exchange what lies across the rows") {
    rule_call c;
    const std::vector<rule_number> even = {rule_number::constant(4), rule_number::constant(4)};
    const exchange constant{.received = even, .sent = even};
    CHECK(c.tensor({8}, addend).makes({8}).gives(constant) == addend);
    CHECK(c.tensor({8, 4}, sliced(1)).makes({8, 4}).gives(constant) == sliced(1));
    CHECK_FALSE(with_amounts(c, addend).refuses(there()).empty());
}

TEST_CASE("collectives of which nothing else is known are refused") {
    rule_call c;
    CHECK_FALSE(c.tensor({8}, sliced(0)).makes({16}).refuses(other_collective{}).empty());
}

TEST_CASE("a reduction among ranks leaves rows in the order of the tokens where they are, at any dimension") {
    rule_call c;
    for (int d = 0; d < 3; ++d)
        CHECK(c.tensor({8, 4, 12}, sliced(d)).makes({8, 4, 12}).gives(aligned_collective{}) == sliced(d));
}

TEST_CASE("blocks of ranks are joined and parted across the rows of the chunk") {
    rule_call c;
    const aligned_collective blocks{.joins_blocks = true};
    CHECK(c.tensor({3, 8}, sliced(1)).makes({6, 8}).gives(blocks) == sliced(1));
    CHECK(c.tensor({3, 8}, permuted(1, c.orders.in_blocks(2, 1))).makes({6, 8}).gives(blocks).what ==
          chunk_state::kind::permuted);
}

TEST_CASE("along the rows of the chunk, rows of ranks lie in blocks, and in as many they are parted again") {
    rule_call c;
    const aligned_collective blocks{.joins_blocks = true};
    const auto in_blocks = [&](std::int64_t n) { return permuted(0, c.orders.in_blocks(n, 2)); };
    CHECK(c.tensor({8, 3}, sliced(0)).makes({16, 3}).gives(blocks) == in_blocks(2));
    CHECK(c.tensor({16, 3}, in_blocks(2)).makes({48, 3}).gives(blocks) == in_blocks(6));
    CHECK(c.tensor({16, 3}, in_blocks(2)).makes({8, 3}).gives(blocks) == sliced(0));
    CHECK(c.tensor({48, 3}, in_blocks(6)).makes({24, 3}).gives(blocks) == in_blocks(3));
    // Ranks would get rows by their place in the chunk, or parts of blocks.
    CHECK(c.tensor({16, 3}, sliced(0)).makes({8, 3}).refuses(blocks) ==
          "op joins or parts blocks of ranks along the dimension that is chunked");
    CHECK(c.verdict.inherent);
    CHECK_FALSE(c.tensor({48, 3}, in_blocks(6)).makes({12, 3}).refuses(blocks).empty());
    const std::uint32_t order = c.orders.name(row_orders::origin::sorted, 0, 0, {1});
    CHECK_FALSE(c.tensor({16, 3}, permuted(0, order)).makes({8, 3}).refuses(blocks).empty());
}

TEST_CASE("ranks do not meet in sums over chunks, in rows of an order of their own, or in numbers of rows") {
    rule_call c;
    const std::uint32_t order = c.orders.name(row_orders::origin::sorted, 0, 0, {1});
    for (const chunk_state& s : {addend, permuted(1, order), sliced(1, 2)})
        CHECK_FALSE(c.tensor({3, 8}, s).makes({3, 8}).refuses(aligned_collective{}).empty());
    CHECK_FALSE(c.tensor({3, 8}, sliced(1)).number(addend).makes({3, 8}).refuses(aligned_collective{}).empty());
}
