#include "stretto/transform/chunk_rules/chunk_call.hpp"

#include "support/rule_test.hpp"

TEST_CASE("states are cut, plain, or numbers of rows") {
    CHECK(is_cut(sliced(0)));
    CHECK(is_cut(permuted(0, 1)));
    CHECK_FALSE(is_cut(addend));
    CHECK_FALSE(is_cut({chunk_kind::opaque, -1}));
    CHECK(is_plain(sliced(0)));
    CHECK(counts_rows(sliced(0, 2)));
    CHECK_FALSE(counts_rows({chunk_kind::addend, -1, 2}));
    CHECK(rows_only(sliced(0, 2)) == sliced(0));
    CHECK(moved_to(sliced(0), 3) == sliced(3));
}

TEST_CASE("the extent of a part is its share, unless only its operands know it") {
    CHECK(part_extent(sliced(0), 8, 0, 4, {1, 2}) == 4);
    CHECK(part_extent(sliced(0), 8, 1, 4, {1, 2}) == 8);
    CHECK(part_extent(permuted(0, 1), 8, 0, 4, {1, 2}) == -1);
    CHECK(part_extent(addend, 8, 0, 4, {1, 2}) == 8);
}

TEST_CASE("without a history nothing is known") {
    const chunk_call c;
    std::int64_t place = 7;
    CHECK_FALSE(c.all_zero(0));
    CHECK_FALSE(c.read_here_only(0));
    CHECK_FALSE(c.integers(0));
    CHECK_FALSE(c.ascending(0));
    CHECK(c.counts(0, place) == -1);
    CHECK(place == -1);
    CHECK(c.groups(0, true) == -1);
}
