#include "stretto/schedule/detail/sorted_by_key.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "support/prop.hpp"

using keys = std::vector<std::int64_t>;
using positions = std::vector<std::uint32_t>;

namespace {

positions sorted_by_key(const keys& k) {
    stretto::detail::workspace w;
    const auto sorted = stretto::detail::sorted_by_key(k, w);
    return {sorted.begin(), sorted.end()};
}

}  // namespace

TEST_CASE("positions by ascending key, ties by position") {
    CHECK(sorted_by_key(keys{30, 10, 20, 10}) == positions{1, 3, 2, 0});
    CHECK(sorted_by_key(keys{}) == positions{});
    CHECK(sorted_by_key(keys{7}) == positions{0});
    CHECK(sorted_by_key(keys{5, 5, 5}) == positions{0, 1, 2});
}

TEST_CASE("the whole range of keys") {
    CHECK(sorted_by_key(keys{INT64_MAX, INT64_MIN, 0, -1}) == positions{1, 3, 2, 0});
}

TEST_CASE("as a stable sort") {
    stretto_check("evenly spread, crowded or extreme", 3000, [] {
        const auto spread = *rc::gen::element<std::int64_t>(1, 10, 1000, INT64_MAX / 2);
        auto k = *rc::gen::container<keys>(rc::gen::inRange<std::int64_t>(-spread, spread));
        if (*rc::gen::arbitrary<bool>()) k.push_back(INT64_MAX);  // everything else shares one bucket
        positions expected(k.size());
        std::iota(expected.begin(), expected.end(), 0u);
        std::stable_sort(expected.begin(), expected.end(), [&](auto x, auto y) { return k[x] < k[y]; });
        RC_ASSERT(sorted_by_key(k) == expected);
    });
}
