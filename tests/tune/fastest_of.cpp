#include "stretto/tune/fastest_of.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <vector>

using namespace stretto;

TEST_CASE("the fastest form that fits, and of equal ones the first") {
    using makespans = std::vector<std::optional<nanoseconds>>;
    const auto best = [](const makespans& m) { return fastest_of(m); };
    CHECK(best({nanoseconds{5}, nanoseconds{3}, nanoseconds{4}}) == 1);
    CHECK(best({nanoseconds{3}, nanoseconds{3}}) == 0);
    CHECK(best({std::nullopt, nanoseconds{9}}) == 1);
    CHECK(best({nanoseconds{9}, std::nullopt}) == 0);
    CHECK(best({std::nullopt, std::nullopt}) == std::nullopt);
    CHECK(best({}) == std::nullopt);
}
