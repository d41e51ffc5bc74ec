#include "stretto/schedule/cost/cost_model.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "support/prop.hpp"

using namespace stretto;

namespace {

/// A model that is a list: payload b takes times[b], the last entry beyond. `other` takes no time.
struct listed {
    std::vector<std::int64_t> times;
    nanoseconds duration(collective_kind kind, bytes payload, const process_group&) const {
        if (kind == collective_kind::other) return {};
        return {times[std::min(times.size() - 1, static_cast<std::size_t>(payload.count))]};
    }
};

/// 1 ns per byte and a saving of `drop` from `cliff` on.
struct cliff_model {
    std::int64_t cliff;
    std::int64_t drop;
    nanoseconds duration(collective_kind, bytes payload, const process_group&) const {
        return {payload.count >= cliff ? payload.count - drop : payload.count};
    }
};

struct flops_only {
    nanoseconds duration(const kernel_work& work) const { return {static_cast<std::int64_t>(work.flops)}; }
};

struct returns_double {
    double duration(collective_kind, bytes, const process_group&) const { return 1; }
};

static_assert(collective_cost_model<listed>);
static_assert(compute_cost_model<flops_only>);
static_assert(!collective_cost_model<flops_only>);
static_assert(!compute_cost_model<listed>);
static_assert(!collective_cost_model<returns_double>, "durations are integers");

}  // namespace

TEST_CASE("a layout fills its nodes") {
    CHECK(process_group{.size = 1, .ranks_per_node = 8}.nodes() == 1);
    CHECK(process_group{.size = 8, .ranks_per_node = 8}.nodes() == 1);
    CHECK(process_group{.size = 9, .ranks_per_node = 8}.nodes() == 2);
    CHECK(process_group{.size = 64, .ranks_per_node = 1}.nodes() == 64);
}

TEST_CASE("microseconds round to the nearest nanosecond and saturate") {
    CHECK(from_microseconds(1.0).count == 1000);
    CHECK(from_microseconds(0.0014).count == 1);
    CHECK(from_microseconds(0.0016).count == 2);
    CHECK(from_microseconds(0).count == 0);
    CHECK(from_microseconds(-3).count == 0);
    CHECK(from_microseconds(std::nan("")).count == 0);
    CHECK(from_microseconds(std::numeric_limits<double>::infinity()) == longest_duration);
    CHECK(from_microseconds(1e30) == longest_duration);
    static_assert(longest_duration + longest_duration > longest_duration);  // an overflow would not compile
    // Doubles just below 2^62 are 512 apart.
    CHECK(from_microseconds(std::nextafter(std::ldexp(1.0, 62), 0.0) / 1000) <= longest_duration);
}

TEST_CASE("check_monotone reports what it looked at") {
    const auto result = check_monotone(cliff_model{1, 0}, collective_kind::all_gather, {.size = 8}, {0}, {1 << 20});
    REQUIRE(result.has_value());
    CHECK(result->lo == bytes{0});
    CHECK(result->hi == bytes{1 << 20});
    CHECK(result->sizes_checked > 64 * 14);
    CHECK(result->sizes_checked < 80 * 20);
}

TEST_CASE("a cliff at a power of two is found at its very edge") {
    const auto result =
        check_monotone(cliff_model{4096, 1024}, collective_kind::all_reduce, {.size = 8}, {1}, {1 << 20});
    REQUIRE(!result.has_value());
    CHECK(result.error().smaller == bytes{4095});
    CHECK(result.error().larger == bytes{4096});
    CHECK(result.error().smaller_time == nanoseconds{4095});
    CHECK(result.error().larger_time == nanoseconds{3072});
    CHECK(result.error().drop() == doctest::Approx(1023.0 / 4095.0));
}

TEST_CASE("a cliff at a power of two per rank is found at its very edge") {
    const cliff_model model{3 * 8192, 9};
    const auto result = check_monotone(model, collective_kind::all_to_all, {.size = 3}, {1000}, {1 << 20});
    REQUIRE(!result.has_value());
    CHECK(result.error().smaller == bytes{3 * 8192 - 1});
    CHECK(result.error().larger == bytes{3 * 8192});
}

TEST_CASE("the range is respected, to the byte and to its largest values") {
    const cliff_model model{5000, 100};
    CHECK(check_monotone(model, collective_kind::all_gather, {.size = 2}, {0}, {4999}).has_value());
    CHECK(check_monotone(model, collective_kind::all_gather, {.size = 2}, {5000}, {9000}).has_value());
    CHECK(!check_monotone(model, collective_kind::all_gather, {.size = 2}, {4999}, {5000}).has_value());
    CHECK(check_monotone(model, collective_kind::all_gather, {.size = 2}, {7}, {7})->sizes_checked == 1);
    CHECK(!check_monotone(model, collective_kind::all_gather, {.size = 512}, {0}, {INT64_MAX}).has_value());
}

TEST_CASE("up to 128 bytes the check is exhaustive, and finds the deepest drop") {
    stretto_check("check_monotone against all pairs", 200, [](std::vector<std::uint8_t> raw) {
        listed model{{1}};
        for (const std::uint8_t t : raw) model.times.push_back(1 + t);
        if (model.times.size() > 128) model.times.resize(128);
        double deepest = 0;
        for (std::size_t b = 0; b < model.times.size(); ++b)
            for (std::size_t a = 0; a < b; ++a)
                deepest =
                    std::max(deepest, 1 - static_cast<double>(model.times[b]) / static_cast<double>(model.times[a]));
        const auto result = check_monotone(model, collective_kind::all_gather, {.size = 8}, {0}, {128});
        RC_ASSERT(result.has_value() == (deepest <= 0));
        if (result.has_value()) return;
        const non_monotone& found = result.error();
        RC_ASSERT(found.smaller < found.larger);
        RC_ASSERT(found.smaller_time > found.larger_time);
        RC_ASSERT(model.duration(collective_kind::all_gather, found.smaller, {}) == found.smaller_time);
        RC_ASSERT(model.duration(collective_kind::all_gather, found.larger, {}) == found.larger_time);
        RC_ASSERT(std::abs(found.drop() - deepest) < 1e-12);
    });
}
