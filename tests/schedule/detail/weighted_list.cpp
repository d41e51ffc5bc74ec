#include "stretto/schedule/detail/weighted_list.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>

using namespace stretto;

TEST_CASE("each thing is found at as many places as it weighs") {
    detail::weighted_list<char> list;
    CHECK(list.sum() == 0);
    list.add('a', 2);
    list.add('b', 0);
    list.add('c', 5);
    list.add('d', 1);
    REQUIRE(list.sum() == 8);
    std::array<int, 4> places{};
    for (std::int64_t place = 0; place < list.sum(); ++place)
        ++places[static_cast<std::size_t>(list.at(place).thing - 'a')];
    CHECK(places == std::array<int, 4>{2, 0, 5, 1});
    CHECK(list.at(6).weight == 5);
    list.clear();
    CHECK(list.sum() == 0);
}
