#include "stretto/schedule/detail/lane_clock.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "stretto/schedule/contention.hpp"
#include "support/prop.hpp"

using namespace stretto;
using detail::contended_clock;

namespace {

contended_clock clock_at(contention c) { return contended_clock({}, c); }

}  // namespace

TEST_CASE("kernels are slow until the last transfer ends that was launched") {
    const contended_clock clock = clock_at({2, 1});
    contended_clock::moment lane;
    const auto after = [&](std::int64_t work) {
        lane.work += work;
        return clock.time(lane);
    };
    CHECK(after(5) == 5);
    clock.launch(lane, 15);
    CHECK(clock.time(lane) == 5);
    CHECK(after(3) == 11);
    clock.launch(lane, 13);  // it ends while the other one still transfers
    CHECK(after(2) == 15);
    CHECK(after(4) == 19);
    clock.launch(lane, 29);
    CHECK(after(7) == 31);  // 5 during the transfer, and 2 after it
    clock.launch(lane, 41);
    clock.wait_until(lane, 33);
    CHECK(clock.time(lane) == 33);
    clock.wait_until(lane, 32);  // past that
    CHECK(clock.time(lane) == 33);
    CHECK(after(4) == 41);
    clock.wait_until(lane, 50);
    CHECK(after(1) == 51);
}

TEST_CASE("without contention, both clocks say the same") {
    stretto_check("clocks without contention", 2000, [](const std::vector<std::uint16_t>& numbers) {
        const contended_clock clock = clock_at({3, 3});
        contended_clock::moment lane;
        detail::plain_clock::moment plain;
        for (std::size_t k = 0; k < numbers.size(); ++k) {
            const std::int64_t time = detail::plain_clock::time(plain) + numbers[k] % 1000 - 300;
            if (k % 3 == 0) {
                lane.work += numbers[k];
                plain.work += numbers[k];
            } else if (k % 3 == 1) {
                clock.launch(lane, time);
                detail::plain_clock::launch(plain, time);
            } else {
                clock.wait_until(lane, time);
                detail::plain_clock::wait_until(plain, time);
            }
            RC_ASSERT(clock.time(lane) == detail::plain_clock::time(plain));
        }
    });
}

TEST_CASE("the exact clock differs by rounding alone, and kernels may be taken together") {
    std::int64_t slowed = 0, furthest = 0;
    stretto_check("clocks under contention", 20'000, [&](const std::vector<std::uint16_t>& numbers) {
        const contention under{*rc::gen::inRange<std::int64_t>(4, 12), 4};
        const contended_clock clock = clock_at(under);
        contended_clock::moment lane, together;
        detail::contended_lane<> exact(3, under);
        std::int64_t now = 0, work = 0, free[3] = {};
        // Each event rounds a time, and each kernel of the exact clock, too, once for each transfer that it meets.
        std::int64_t tolerated = 2;
        for (const std::uint16_t number : numbers) {
            const std::int64_t size = 1 + number / 16;
            if (number % 4 < 2) {
                lane.work += size;
                together.work += size;
                work += size;
                now = exact.end_of(now, size);
                tolerated += 3 * 4;
            } else if (number % 4 == 2) {
                // Both clocks see the same transfers, whatever the difference between them.
                const std::size_t channel = number / 4 % 3;
                const std::int64_t begin = std::max(now, free[channel]);
                free[channel] = begin + size;
                exact.add_transfer(channel, begin, free[channel]);
                clock.launch(lane, free[channel]);
                clock.launch(together, free[channel]);
                tolerated += 4;
            } else {
                const std::int64_t end = free[number / 4 % 3];
                slowed += now > work;
                now = std::max(now, end);
                clock.wait_until(lane, end);
                clock.wait_until(together, end);
            }
            RC_ASSERT(lane == together);
            const std::int64_t apart = std::abs(clock.time(lane) - now);
            furthest = std::max(furthest, apart);
            RC_ASSERT(apart <= tolerated);
        }
    });
    MESSAGE("at most " << furthest << " ns apart");
    if (support::runs_all_cases()) CHECK(slowed > 1000);
}
