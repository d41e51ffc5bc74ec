#include "stretto/core/unique_rows.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "support/prop.hpp"

using stretto::index_lists;
using stretto::detail::unique_rows;

TEST_CASE("a row without repetitions, in order of first appearance") {
    unique_rows rows;
    index_lists lists;
    for (std::uint32_t x : {3u, 1u, 3u, 9u, 1u}) rows.add(lists, x);
    rows.close(lists);
    rows.close(lists);
    rows.add(lists, 3);
    rows.close(lists);
    REQUIRE(lists.rows() == 3);
    CHECK(std::vector<std::uint32_t>(lists[0].begin(), lists[0].end()) == std::vector<std::uint32_t>{3, 1, 9});
    CHECK(lists[1].empty());
    CHECK(lists[2].size() == 1);
}

TEST_CASE("short rows and long ones, one after the other") {
    stretto_check("against a search of the row", 1000, [] {
        const auto universe = *rc::gen::element<std::uint32_t>(4, 16, 17, 18, 40, 300);
        const auto row = rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(0, universe));
        const auto input = *rc::gen::container<std::vector<std::vector<std::uint32_t>>>(row);
        unique_rows rows;
        index_lists lists;
        for (const std::vector<std::uint32_t>& items : input) {
            for (std::uint32_t x : items) rows.add(lists, x);
            rows.close(lists);
        }
        RC_ASSERT(lists.rows() == input.size());
        for (std::size_t k = 0; k < input.size(); ++k) {
            std::vector<std::uint32_t> expected;
            for (std::uint32_t x : input[k])
                if (std::find(expected.begin(), expected.end(), x) == expected.end()) expected.push_back(x);
            RC_ASSERT(std::equal(expected.begin(), expected.end(), lists[k].begin(), lists[k].end()));
        }
    });
}
