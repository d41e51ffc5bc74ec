#include "stretto/tune/detail/bucket_windows.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "support/prop.hpp"

using namespace stretto;
using stretto::detail::bucket_window;
using stretto::detail::bucketable;
using by = stretto::detail::bucket_window::by;

namespace {

constexpr std::int64_t latency = 50;
nanoseconds merged(const bucketable&, bytes payload) { return {latency + payload.count}; }

std::vector<std::uint32_t> runs(const std::vector<bucketable>& items, const bucket_window& w) {
    return runs_of(std::span<const bucketable>(items), w, merged);
}

/// How late gathers are at the worst that travel in consecutive buckets, and how many these are. `last` says of each
/// whether a bucket ends with it.
struct lateness {
    std::int64_t worst = INT64_MIN;
    std::size_t buckets = 0;
};
template <class Last>
lateness lateness_of(const std::vector<bucketable>& items, Last last) {
    lateness l;
    std::int64_t free = 0, due = INT64_MAX;
    bytes payload;
    for (std::size_t k = 0; k < items.size(); ++k) {
        payload += items[k].payload;
        due = std::min(due, items[k].needed);
        if (!last(k)) continue;
        free += latency + payload.count;
        l.worst = std::max(l.worst, free - due);
        ++l.buckets;
        payload = {};
        due = INT64_MAX;
    }
    return l;
}

}  // namespace

TEST_CASE("runs by bytes and by time, and each alone") {
    std::vector<bucketable> items(5);
    for (std::size_t k = 0; k < 5; ++k) {
        items[k].weight = {10};
        items[k].reached = static_cast<std::int64_t>(k * k);
    }
    using numbers = std::vector<std::uint32_t>;
    CHECK(runs(items, {by::bytes, 20}) == numbers{0, 0, 1, 1, 2});
    CHECK(runs(items, {by::bytes, 5}) == numbers{0, 1, 2, 3, 4});
    CHECK(runs(items, {by::time, 4}) == numbers{0, 0, 0, 1, 2});
    CHECK(runs(items, {}) == numbers{0, 1, 2, 3, 4});
    CHECK(runs({}, {by::bytes, 5}).empty());
}

TEST_CASE("reductions wait for what is ready before their channel is") {
    std::vector<bucketable> items(4);
    for (std::size_t k = 0; k < 4; ++k) items[k].payload = {100};
    items[0].ready = 0;     // ends at 150
    items[1].ready = 20;    // joins nothing: the channel is free when the first is ready
    items[2].ready = 140;   // is ready before the channel is
    items[3].ready = 2000;  // is not
    for (std::size_t k = 0; k < 4; ++k) items[k].begin = items[k].ready;
    using numbers = std::vector<std::uint32_t>;
    CHECK(runs(items, {by::slack, 0}) == numbers{0, 1, 1, 2});
    CHECK(runs(items, {by::slack, 20}) == numbers{0, 0, 1, 2});
    CHECK(runs(items, {by::slack, 5000}) == numbers{0, 0, 0, 0});
}

TEST_CASE("times that no integer holds are as late as can be") {
    std::vector<bucketable> items(4);
    for (bucketable& i : items) {
        i.gathers = true;
        i.payload = {1};
        i.needed = 1'000;
    }
    const auto endless = [](const bucketable&, bytes) { return nanoseconds{INT64_MAX}; };
    using numbers = std::vector<std::uint32_t>;
    CHECK(runs_of(std::span<const bucketable>(items), {by::slack, 0}, endless) == numbers{0, 1, 2, 3});
}

TEST_CASE("by slack: if any buckets keep gathers within the lateness, these do, and no others are fewer") {
    std::size_t met = 0, missed = 0, fewer = 0;
    stretto_check("against all divisions into consecutive buckets", 10000, [&](const std::vector<std::uint8_t>& data) {
        std::vector<bucketable> items;
        std::int64_t needed = 0;
        for (std::size_t k = 1; k + 1 < data.size() && items.size() < 9; k += 2) {
            bucketable i;
            i.gathers = true;
            i.payload = {data[k] % 64};
            i.needed = needed += data[k + 1] % 128;
            items.push_back(i);
        }
        if (items.empty()) return;
        const std::int64_t late = data[0];
        const std::vector<std::uint32_t> found = runs(items, {by::slack, late});
        const lateness ours =
            lateness_of(items, [&](std::size_t k) { return k + 1 == found.size() || found[k + 1] != found[k]; });
        std::size_t fewest = SIZE_MAX;
        for (std::size_t cuts = 0; cuts < std::size_t{1} << (items.size() - 1); ++cuts) {
            const lateness other =
                lateness_of(items, [&](std::size_t k) { return k + 1 == items.size() || (cuts >> k & 1) != 0; });
            if (other.worst <= late) fewest = std::min(fewest, other.buckets);
        }
        if (fewest == SIZE_MAX) {
            ++missed;
            return;
        }
        ++met;
        fewer += ours.buckets < items.size();
        RC_ASSERT(ours.worst <= late);
        RC_ASSERT(ours.buckets == fewest);
    });
    if (!support::runs_all_cases()) return;
    CHECK(met > 1000);
    CHECK(missed > 200);
    CHECK(fewer > 500);
}
