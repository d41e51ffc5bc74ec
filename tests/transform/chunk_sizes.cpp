#include "stretto/transform/chunk_sizes.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "support/prop.hpp"

using namespace stretto;

TEST_CASE("equal chunks: all rows, none differing by more than one, larger ones first") {
    CHECK(equal_chunks(7, 3) == std::vector<std::int64_t>{3, 2, 2});
    CHECK(equal_chunks(2, 4) == std::vector<std::int64_t>{1, 1, 0, 0});
    for (std::int64_t rows = 0; rows < 40; ++rows)
        for (std::size_t chunks = 1; chunks < 12; ++chunks) {
            const std::vector<std::int64_t> sizes = equal_chunks(rows, chunks);
            CHECK(sizes.size() == chunks);
            CHECK(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) == rows);
            for (std::size_t k = 1; k < chunks; ++k) CHECK(sizes[k] <= sizes[k - 1]);
            CHECK(sizes.front() - sizes.back() <= 1);
        }
}

TEST_CASE("slices lie one behind the other, in the unit of a row") {
    const std::vector<std::int64_t> sizes{1, 0, 3};
    CHECK(place_of_slice(8, sizes, 0) == slice_place{0, 2});
    CHECK(place_of_slice(8, sizes, 1) == slice_place{2, 2});
    CHECK(place_of_slice(8, sizes, 2) == slice_place{2, 8});
}

TEST_CASE("slices of any sizes cover what is cut, each in proportion") {
    stretto_check("slices", 200, [] {
        auto sizes = *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 9));
        sizes.push_back(*rc::gen::inRange<std::int64_t>(1, 9));
        const std::int64_t rows = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
        const std::int64_t unit = *rc::gen::inRange<std::int64_t>(1, 9);
        std::int64_t next = 0;
        for (std::size_t k = 0; k < sizes.size(); ++k) {
            const slice_place place = place_of_slice(rows * unit, sizes, k);
            RC_ASSERT(place.from == next);
            RC_ASSERT(place.to - place.from == sizes[k] * unit);
            next = place.to;
        }
        RC_ASSERT(next == rows * unit);
    });
}
