// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "stretto/schedule/detail/range_profile.hpp"
#include "support/prop.hpp"

using namespace stretto;
using detail::range_profile;

TEST_CASE("range_profile: additions before a position; the last one above a value; executed positions do not count") {
    detail::workspace w;
    range_profile profile(std::vector<std::int64_t>{5, 1, 4, 2}, w);
    const auto check = [&](std::uint32_t front, std::uint32_t to, std::int64_t value, std::uint32_t at,
                           std::int64_t found) {
        const range_profile::point p = profile.last_above(front, to, value);
        CHECK(p.position == at);
        CHECK(p.value == found);
    };
    check(0, 4, 4, 0, 5);
    check(0, 4, 3, 2, 4);
    check(0, 4, 5, 4, 5);  // there is none
    check(0, 2, 0, 1, 1);
    check(0, 0, 0, 0, 0);
    profile.add_before(3, 10);
    check(0, 4, 13, 2, 14);
    check(0, 4, 1, 3, 2);
    check(0, 4, 15, 4, 15);
    CHECK(profile.most_sunk() == 0);
    profile.mark_executed(2);
    check(1, 3, 10, 1, 11);
    check(1, 4, 11, 4, 11);
    check(2, 3, -1000, 3, -1000);
    profile.add_before(4, -11);
    check(2, 4, -10, 3, -9);
    check(2, 4, -9, 4, -9);
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
        for (auto [what, far, to, amount] : operations) {
            // The front moves by a few positions, or by many.
            if (what == 0) front = std::min(size, front + far % 20);
            if (what == 1) front = std::min(size, front + far / 8);
            to = std::max(to, front);
            if (what > 2 && to > 0) {
                profile.add_before(to, amount);
                for (std::uint32_t p = 0; p < to; ++p) values[p] += amount;
            } else if (what == 2 && to < size && !executed[to]) {
                profile.mark_executed(to);
                executed[to] = true;
            }
            // About the highest of all, where bounds decide; just below it; and anything.
            std::int64_t highest = -5000;
            for (std::uint32_t p = front; p < to; ++p)
                if (!executed[p]) highest = std::max(highest, values[p]);
            for (const std::uint32_t end : {to, size})
                for (const std::int64_t value : {highest, highest - 1, std::int64_t{amount} * 2}) {
                    std::uint32_t expected = end;
                    for (std::uint32_t p = front; p < end; ++p)
                        if (!executed[p] && values[p] > value) expected = p;
                    const range_profile::point found = profile.last_above(front, end, value);
                    RC_ASSERT(found.position == expected);
                    RC_ASSERT(found.value == (expected < end ? values[expected] : value));
                }
            for (std::uint32_t p = front; p < size; ++p)
                if (!executed[p]) RC_ASSERT(at_first[p] - values[p] <= profile.most_sunk());
        }
    });
}
