#include "stretto/schedule/cost/saturation.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/prop.hpp"

using namespace stretto;

namespace {

double mebibytes(bytes size) { return static_cast<double>(size.count) / 1048576.0; }

}  // namespace

TEST_CASE("reference sizes within an H100 node") {
    CHECK(saturating_size(link_profiles::nvlink_h100, 1) == bytes{0});
    CHECK(mebibytes(saturating_size(link_profiles::nvlink_h100, 2)) == doctest::Approx(15.4).epsilon(0.005));
    CHECK(mebibytes(saturating_size(link_profiles::nvlink_h100, 4)) == doctest::Approx(40.2).epsilon(0.002));
    CHECK(mebibytes(saturating_size(link_profiles::nvlink_h100, 8)) == doctest::Approx(89.6).epsilon(0.001));
}

TEST_CASE("reference sizes over InfiniBand, with the smallest bucket") {
    CHECK(saturating_size(link_profiles::infiniband_ndr, 1) == bytes{0});
    CHECK(saturating_size(link_profiles::infiniband_ndr, 16) == bytes{100 << 20});
    CHECK(saturating_size(link_profiles::infiniband_ndr, 32) == bytes{100 << 20});
    CHECK(mebibytes(saturating_size(link_profiles::infiniband_ndr, 64)) == doctest::Approx(148.4).epsilon(0.0005));
    CHECK(mebibytes(saturating_size(link_profiles::infiniband_ndr, 128)) == doctest::Approx(293.4).epsilon(0.0005));
    CHECK(mebibytes(saturating_size(link_profiles::infiniband_ndr, 256)) == doctest::Approx(583.5).epsilon(0.0005));
    CHECK(saturating_size(link_profiles::infiniband_hdr, 2) == bytes{75 << 20});
}

TEST_CASE("Inductor J2: nothing for one rank, never less for more ranks, and 50 to 200 MiB for a node of eight H100s") {
    bytes last{0};
    for (std::int64_t ranks = 1; ranks <= 64; ++ranks) {
        const bytes size = saturating_size(link_profiles::nvlink_h100, ranks);
        CHECK((ranks == 1) == (size == bytes{0}));
        CHECK(size >= last);
        last = size;
    }
    const double eight = mebibytes(saturating_size(link_profiles::nvlink_h100, 8));
    CHECK(eight > 50);
    CHECK(eight < 200);
}

TEST_CASE("by definition: at that size the share of time spent moving data is the efficiency") {
    for (const std::int64_t ranks : {2, 3, 8, 72})
        for (const double efficiency : {0.5, 0.8, 0.99}) {
            const link_profile& link = link_profiles::nvlink_b200;
            const double moving = static_cast<double>(saturating_size(link, ranks, efficiency).count) /
                                  (link.gigabytes_per_second * 1000);
            const double waiting = link.base_microseconds + static_cast<double>(ranks - 1) * link.hop_microseconds;
            CHECK(moving / (moving + waiting) == doctest::Approx(efficiency).epsilon(1e-6));
        }
}

TEST_CASE("of a latency and a bandwidth, the payload is that of the link with both") {
    for (const std::int64_t ranks : {2, 4, 8, 72})
        for (const double efficiency : {0.5, 0.8, 0.9, 0.99}) {
            const link_profile& link = link_profiles::nvlink_h100;  // 36 bytes per nanosecond
            const std::int64_t latency = 1000 * (10 + (ranks - 1) * 40);
            const std::vector<cost_point> curve = {{{0}, {latency}}, {{36'000'000}, {latency + 1'000'000}}};
            const auto payload = saturating_payload(curve, efficiency);
            REQUIRE(payload);
            CHECK(std::abs(payload->count - saturating_size(link, ranks, efficiency).count) <= 1);
        }
}

TEST_CASE("curves that are saturated at once, only between two points, and never") {
    using curve = std::vector<cost_point>;
    CHECK(saturating_payload(curve{{{0}, {0}}, {{100}, {50}}}) == bytes{0});        // no latency
    CHECK(saturating_payload(curve{{{0}, {100}}, {{100}, {200}}}, 0) == bytes{0});  // nothing is asked for
    CHECK(saturating_payload(curve{{{0}, {100}}, {{100}, {200}}}, 0.5) == bytes{100});
    CHECK(saturating_payload(curve{{{64}, {100}}, {{164}, {200}}}, 0.5) == bytes{50});  // before the first point
    // The best rate, 2, is that of a point in the middle; slower algorithms follow.
    CHECK(saturating_payload(curve{{{0}, {100}}, {{400}, {200}}, {{500}, {500}}}, 0.9) == bytes{328});
    CHECK(!saturating_payload(curve{}));
    CHECK(!saturating_payload(curve{{{0}, {100}}}));
    CHECK(!saturating_payload(curve{{{0}, {100}}, {{100}, {100}}}));
    CHECK(!saturating_payload(curve{{{0}, {0}}, {{100}, {0}}, {{200}, {10}}}));
}

TEST_CASE("no smaller payload has the rate, on any curve, by trying all") {
    std::size_t found = 0;
    stretto_check("random curves", 2000, [&](const std::vector<std::uint8_t>& data) {
        std::vector<cost_point> curve;
        std::int64_t payload = 0, time = 0;
        for (std::size_t k = 0; k + 1 < data.size() && curve.size() < 6; k += 2) {
            payload += (k > 0) + data[k] % 40;
            time += data[k + 1] % 50;
            curve.push_back({{payload}, {time}});
        }
        const double efficiency = 0.05 * static_cast<double>(1 + data.size() % 18);
        const auto least = saturating_payload(curve, efficiency);
        const auto time_of = [&](double b) {
            std::size_t k = 1;
            while (k + 1 < curve.size() && static_cast<double>(curve[k].payload.count) < b) ++k;
            const auto x = static_cast<double>(curve[k - 1].payload.count),
                       y = static_cast<double>(curve[k].payload.count);
            const auto s = static_cast<double>(curve[k - 1].time.count), t = static_cast<double>(curve[k].time.count);
            return b <= x ? s : s + (t - s) * (b - x) / (y - x);
        };
        // The best rate is that of some payload, or that of an endless one.
        bool bounded = curve.size() > 1 && curve[curve.size() - 2].time < curve.back().time;
        double best = bounded ? 1 / (time_of(1e6 + 1) - time_of(1e6)) : 0;
        for (const cost_point& p : curve) {
            bounded = bounded && (p.payload.count == 0 || p.time.count > 0);
            if (bounded && p.payload.count > 0)
                best = std::max(best, static_cast<double>(p.payload.count) / static_cast<double>(p.time.count));
        }
        RC_ASSERT(least.has_value() == bounded);
        if (!bounded) return;
        ++found;
        const auto rate = [&](std::int64_t b) { return static_cast<double>(b) / time_of(static_cast<double>(b)); };
        RC_ASSERT(rate(std::max<std::int64_t>(least->count, 1)) >= efficiency * best * (1 - 1e-6));
        for (std::int64_t b = 1; b < least->count; ++b) RC_ASSERT(rate(b) < efficiency * best * (1 + 1e-6));
    });
    if (support::runs_all_cases()) CHECK(found > 500);
}
