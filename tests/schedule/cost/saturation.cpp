#include "stretto/schedule/cost/saturation.hpp"

#include <doctest/doctest.h>

#include <cstdint>

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
