#include "stretto/schedule/detail/ready_set.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <set>
#include <vector>

#include "support/prop.hpp"

using stretto::detail::ready_set;
using stretto::detail::workspace;

TEST_CASE("the smallest member not below a number") {
    workspace w;
    ready_set s(5000, w);
    CHECK(s.next(0) == UINT32_MAX);
    for (std::uint32_t x : {4999u, 64u, 63u, 4096u}) s.insert(x);
    CHECK(s.next(0) == 63);
    CHECK(s.next(63) == 63);
    CHECK(s.next(64) == 64);
    CHECK(s.next(65) == 4096);
    CHECK(s.next(4097) == 4999);
    CHECK(s.next(5000) == UINT32_MAX);
    s.erase(64);
    s.erase(64);
    s.erase(4096);
    CHECK(s.next(64) == 4999);
    s.insert(64);
    CHECK(s.next(64) == 64);
}

TEST_CASE("sets of no and of one number") {
    workspace w;
    ready_set none(0, w);
    CHECK(none.next(0) == UINT32_MAX);
    ready_set one(1, w);
    one.insert(0);
    CHECK(one.next(0) == 0);
    CHECK(one.next(1) == UINT32_MAX);
    one.erase(0);
    CHECK(one.next(0) == UINT32_MAX);
}

TEST_CASE("like std::set") {
    stretto_check("insert, erase, next", 1500, [] {
        // Around the widths at which a level is added: 64 and 4096.
        const std::uint32_t universe = *rc::gen::element<std::uint32_t>(1, 2, 63, 64, 65, 300, 4095, 4096, 4097, 9000);
        const auto operations = *rc::gen::container<std::vector<std::pair<std::uint8_t, std::uint32_t>>>(
            rc::gen::pair(rc::gen::inRange<std::uint8_t>(0, 3), rc::gen::inRange<std::uint32_t>(0, universe)));
        workspace w;
        ready_set s(universe, w);
        std::set<std::uint32_t> expected;
        for (const auto& [what, x] : operations) {
            if (what == 0) {
                s.insert(x);
                expected.insert(x);
            } else if (what == 1) {
                s.erase(x);
                expected.erase(x);
            }
            for (std::uint32_t from : {std::uint32_t{0}, x, x + 1, universe}) {
                const auto it = expected.lower_bound(from);
                RC_ASSERT(s.next(from) == (it == expected.end() ? UINT32_MAX : *it));
            }
        }
    });
}
