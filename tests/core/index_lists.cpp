#include "stretto/core/index_lists.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "support/prop.hpp"

using stretto::index_lists;

namespace {

std::vector<std::uint32_t> row(const index_lists& lists, std::size_t r) { return {lists[r].begin(), lists[r].end()}; }

index_lists lists_of(const std::vector<std::vector<std::uint8_t>>& rows) {
    index_lists lists;
    for (const std::vector<std::uint8_t>& r : rows) {
        for (std::uint8_t x : r) lists.push(x);
        lists.close_row();
    }
    return lists;
}

}  // namespace

TEST_CASE("rows hold what was pushed before they were closed") {
    index_lists lists;
    CHECK(lists.rows() == 0);
    CHECK(lists.items() == 0);
    lists.reserve(3, 3);
    lists.push(7);
    lists.push(7);
    lists.close_row();
    lists.close_row();
    lists.push(0);
    lists.close_row();
    REQUIRE(lists.rows() == 3);
    CHECK(lists.items() == 3);
    CHECK(row(lists, 0) == std::vector<std::uint32_t>{7, 7});
    CHECK(lists[1].empty());
    CHECK(row(lists, 2) == std::vector<std::uint32_t>{0});
}

TEST_CASE("rows of other lists are appended in new numbers") {
    index_lists from, lists;
    for (const std::vector<std::uint32_t>& r : std::vector<std::vector<std::uint32_t>>{{3}, {0, 1}, {}, {2, 2}})
        from.push_row(r);
    const std::uint32_t map[] = {10, 11, 12, 13};
    lists.push_row(std::vector<std::uint32_t>{7});
    lists.push_rows(from, 1, 4, map);
    REQUIRE(lists.rows() == 4);
    CHECK(lists.items() == 5);
    CHECK(row(lists, 0) == std::vector<std::uint32_t>{7});
    CHECK(row(lists, 1) == std::vector<std::uint32_t>{10, 11});
    CHECK(lists[2].empty());
    CHECK(row(lists, 3) == std::vector<std::uint32_t>{12, 12});
    lists.push_rows(from, 2, 2, map);
    CHECK(lists.rows() == 4);
    lists.push_row(std::vector<std::uint32_t>{8});
    CHECK(row(lists, 4) == std::vector<std::uint32_t>{8});
}

TEST_CASE("lists whose room is used again are as new ones") {
    index_lists lists, inverse;
    for (std::uint32_t round = 0; round < 3; ++round) {
        lists.clear();
        CHECK(lists.rows() == 0);
        CHECK(lists.items() == 0);
        for (std::uint32_t k = 0; k < 2 + round; ++k) lists.push_row(std::vector<std::uint32_t>{k, 0});
        lists.invert_into(inverse, 4);
        CHECK(inverse == lists.inverse(4));
        CHECK(inverse.rows() == 4);
    }
}

TEST_CASE("the open row is what has been pushed since the last was closed") {
    index_lists lists;
    CHECK(lists.open_row().empty());
    lists.push(4);
    lists.push(5);
    CHECK(std::vector<std::uint32_t>(lists.open_row().begin(), lists.open_row().end()) ==
          std::vector<std::uint32_t>{4, 5});
    lists.close_row();
    CHECK(lists.open_row().empty());
    lists.push(6);
    CHECK(lists.open_row().size() == 1);
    CHECK(lists.rows() == 1);
}

TEST_CASE("a copy is a list of its own; what is moved from has nothing, and can be assigned to") {
    index_lists lists;
    lists.push(1);
    lists.close_row();
    index_lists copy = lists;
    copy.push_row(std::vector<std::uint32_t>{2, 3});
    CHECK(lists.rows() == 1);
    CHECK(row(copy, 1) == std::vector<std::uint32_t>{2, 3});
    const index_lists moved = std::move(copy);
    CHECK(moved.rows() == 2);
    copy = lists;
    CHECK(copy == lists);
    copy = {};
    CHECK(copy.rows() == 0);
    CHECK(copy == index_lists{});
    lists = *&lists;
    CHECK(row(lists, 0) == std::vector<std::uint32_t>{1});
}

TEST_CASE("equal lists have equal rows, not only equal items") {
    CHECK(lists_of({{1}, {2}}) == lists_of({{1}, {2}}));
    CHECK(lists_of({{1}, {2}}) != lists_of({{1, 2}, {}}));
    CHECK(lists_of({{1}, {2}}) != lists_of({{1}, {2}, {}}));
    CHECK(lists_of({}) == index_lists{});
}

TEST_CASE("the inverse names, ascending, the rows that hold an item") {
    const index_lists inverse = lists_of({{2, 0}, {}, {0}, {2, 2}}).inverse(4);
    REQUIRE(inverse.rows() == 4);
    CHECK(row(inverse, 0) == std::vector<std::uint32_t>{0, 2});
    CHECK(inverse[1].empty());
    CHECK(row(inverse, 2) == std::vector<std::uint32_t>{0, 3, 3});
    CHECK(inverse[3].empty());
    CHECK(lists_of({}).inverse(0).rows() == 0);
    CHECK(lists_of({}).inverse(2).rows() == 2);
}

TEST_CASE("the inverse is the same relation; twice inverted, rows come back sorted") {
    stretto_check("inverse", 500, [](std::vector<std::vector<std::uint8_t>> rows) {
        const index_lists lists = lists_of(rows);
        const index_lists inverse = lists.inverse(256);
        RC_ASSERT(inverse.items() == lists.items());
        for (std::size_t j = 0; j < 256; ++j) {
            std::vector<std::uint32_t> expected;
            for (std::uint32_t r = 0; r < rows.size(); ++r)
                for (std::uint8_t x : rows[r])
                    if (x == j) expected.push_back(r);
            RC_ASSERT(row(inverse, j) == expected);
        }
        for (std::vector<std::uint8_t>& r : rows) std::sort(r.begin(), r.end());
        RC_ASSERT(inverse.inverse(rows.size()) == lists_of(rows));
    });
}

TEST_CASE("grouped lists hold the items of a row in the order of the pairs") {
    stretto_check("grouped", 500, [](std::vector<std::pair<std::uint8_t, std::uint32_t>> drawn) {
        std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
        for (const auto& [key, item] : drawn) pairs.emplace_back(key % 6, item);
        const index_lists lists = index_lists::grouped(pairs, 6);
        RC_ASSERT(lists.rows() == 6u);
        RC_ASSERT(lists.items() == pairs.size());
        for (std::uint32_t r = 0; r < 6; ++r) {
            std::vector<std::uint32_t> scanned;
            for (const auto& [key, item] : pairs)
                if (key == r) scanned.push_back(item);
            RC_ASSERT(row(lists, r) == scanned);
        }
    });
}
