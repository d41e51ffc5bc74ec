#include "stretto/transform/chunk_rules/factories.hpp"

#include "support/rule_test.hpp"

namespace {
chunk_state share(std::int64_t rows_per_token) {
    chunk_state n = addend;
    n.positions = rows_per_token;
    return n;
}
}  // namespace

TEST_CASE("a number of the chunk says how many rows are made") {
    rule_call c;
    const fill rows{.sizes = {0, no_operand}};
    CHECK(c.number(share(2)).makes({8, 3}).gives(rows) == sliced(0));
    CHECK_FALSE(c.number(share(3)).makes({8, 3}).refuses(rows).empty());
    const chunk_state counted{chunk_kind::addend, -1, 0, c.orders.name(row_orders::origin::sorted, 0, 0, {1}), 0};
    const chunk_state alike = c.number(counted).makes({8, 3}).gives(rows);
    CHECK(alike.what == chunk_kind::permuted);
    CHECK(c.orders.all_alike(alike.order));
}

TEST_CASE("what is made like another has its rows") {
    rule_call c;
    CHECK(c.tensor({8, 3}, sliced(0)).makes({8, 3}).gives(fill_like{}) == sliced(0));
    CHECK(c.tensor({8, 3}, addend).makes({8, 3}).gives(fill_like{}) == whole);
    CHECK(c.tensor({8, 3}, sliced(0)).makes({8, 5}).gives(fill_beside{}) == sliced(0));
    CHECK(c.tensor({8, 3}, sliced(0)).makes({3}).gives(fill_beside{}) == whole);
}

TEST_CASE("as many numbers as a share says are numbers of rows") {
    rule_call c;
    const chunk_state rows = c.number(share(2)).makes({8}, element_type::i64).gives(iota{.end = 0});
    CHECK(rows == chunk_state{chunk_kind::sliced, 0, 2, 0, c.orders.natural(2)});
    CHECK_FALSE(c.number(share(2)).makes({8}).refuses(iota{.end = 0}).empty());  // of floats
    CHECK_FALSE(c.number(share(2)).makes({8}, element_type::i64).refuses(iota{.end = 0, .from_0_by_1 = false}).empty());
}
