#include "stretto/schedule/cost/cost_point.hpp"

#include <doctest/doctest.h>

TEST_CASE("points are equal if payload and time are") {
    using namespace stretto;
    constexpr cost_point p{bytes{8}, nanoseconds{5}};
    static_assert(p == cost_point{bytes{8}, nanoseconds{5}});
    CHECK(p != cost_point{bytes{9}, nanoseconds{5}});
    CHECK(p != cost_point{bytes{8}, nanoseconds{6}});
}
