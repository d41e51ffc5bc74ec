// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "stretto/schedule/detail/range_profile.hpp"
#include "support/prop.hpp"

using namespace stretto;
using detail::range_profile;

TEST_CASE("range_profile: maxima and additions over ranges; executed positions do not count") {
    detail::workspace w;
    range_profile profile(std::vector<std::int64_t>{5, 1, 4, 2}, w);
    CHECK(profile.maximum(0, 4) == 5);
    CHECK(profile.maximum(1, 2) == 1);
    CHECK(profile.maximum(2, 2) == range_profile::executed);
    profile.add(0, 3, 10);
    CHECK(profile.maximum(0, 4) == 15);
    CHECK(profile.maximum(1, 2) == 11);
    CHECK(profile.last_at_least(0, 4, 14) == 2);
    CHECK(profile.last_at_least(0, 4, 16) == 4);
    CHECK(profile.most_sunk() == 0);
    profile.mark_executed(2);
    CHECK(profile.maximum(1, 4) == 11);
    CHECK(profile.maximum(2, 3) <= range_profile::executed);
    profile.add(1, 4, -11);
    CHECK(profile.maximum(1, 4) == 0);
    CHECK(profile.maximum(3, 4) == -9);
    CHECK(profile.most_sunk() == 11);
}

TEST_CASE("range_profile is a vector of numbers of which the front is forgotten") {
    stretto_check("against a vector", 1500, [] {
        const auto size = *rc::gen::element<std::uint32_t>(1, 15, 16, 17, 100, 255, 256, 257, 2500, 4095, 4097, 33'000);
        const auto position = rc::gen::inRange<std::uint32_t>(0, size + 1);
        const auto operations = *rc::gen::container<std::vector<std::tuple<int, std::uint32_t, std::uint32_t, int>>>(
            rc::gen::tuple(rc::gen::inRange(0, 6), position, position, rc::gen::inRange(-1000, 1000)));
        std::vector<std::int64_t> values(size);
        for (std::uint32_t p = 0; p < size; ++p) values[p] = (p * 7919) % 997;
        detail::workspace w;
        range_profile profile(values, w);
        std::vector<bool> executed(size, false);
        const std::vector<std::int64_t> at_first = values;
        std::uint32_t front = 0;
        for (auto [what, from, to, amount] : operations) {
            // The front moves by a few positions, or by many.
            if (what == 0) front = std::min(size, front + from % 20);
            if (what == 1) front = std::min(size, front + from / 8);
            from = std::max(from, front);
            to = std::max(to, front);
            if (from > to) std::swap(from, to);
            if (what > 2) {
                profile.add(front, to, amount);
                for (std::uint32_t p = front; p < to; ++p) values[p] += amount;
            } else if (what == 2 && from < size && !executed[from]) {
                profile.mark_executed(from);
                executed[from] = true;
            }
            for (const auto& [first, last] : {std::pair{from, to}, std::pair{front, size}, std::pair{front, to}}) {
                std::optional<std::int64_t> expected;
                for (std::uint32_t p = first; p < last; ++p)
                    if (!executed[p] && (!expected || values[p] > *expected)) expected = values[p];
                if (expected) RC_ASSERT(profile.maximum(first, last) == *expected);
                // Additions may have moved what marks the executed, but nowhere near a number of bytes.
                else RC_ASSERT(profile.maximum(first, last) < range_profile::executed / 2);
            }
            const std::int64_t wanted = amount * 2;
            for (const auto& [first, last] : {std::pair{from, to}, std::pair{front, size}}) {
                std::uint32_t expected = last;
                for (std::uint32_t p = first; p < last; ++p)
                    if (!executed[p] && values[p] >= wanted) expected = p;
                RC_ASSERT(profile.last_at_least(first, last, wanted) == expected);
            }
            for (std::uint32_t p = front; p < size; ++p)
                if (!executed[p]) RC_ASSERT(at_first[p] - values[p] <= profile.most_sunk());
        }
    });
}
