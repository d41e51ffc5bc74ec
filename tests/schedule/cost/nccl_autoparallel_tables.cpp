#include "stretto/schedule/cost/nccl_autoparallel_tables.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/prop.hpp"

using namespace stretto::autoparallel;

TEST_CASE("autoparallel A12: reference values of the ring correction by depth") {
    const std::vector<std::pair<std::int64_t, std::array<double, 8>>> reference = {
        {8, {0.0630957, 0.126191, 0.235801, 0.363214, 0.574392, 0.488017, 0.742187, 0.916599}},
        {16, {0.0398107, 0.0796214, 0.159243, 0.3068, 0.523693, 0.43302, 0.706208, 0.903392}},
        {32, {0.0251189, 0.0502377, 0.100475, 0.200951, 0.401902, 0.38422, 0.671972, 0.890375}},
        {64, {0.0158489, 0.0316979, 0.0633957, 0.126791, 0.253583, 0.34092, 0.639397, 0.877545}},
    };
    for (const auto& [nodes, dip] : reference) {
        const size_correction scaled = ring_correction_for(nodes);
        for (std::size_t i = 0; i < scaled.size(); ++i) {
            CAPTURE(nodes);
            CAPTURE(i);
            CHECK(scaled[i] == doctest::Approx(i < 11 || i > 18 ? 1.0 : dip[i - 11]).epsilon(5e-6));
        }
    }
    for (const std::int64_t nodes : {1, 2, 4}) CHECK(ring_correction_for(nodes) == ring_correction);
}

TEST_CASE(
    "autoparallel A12: a correction is exact at its entries, linear in the logarithm between them, constant outside") {
    for (const size_correction& table : {ring_correction, nvls_tree_ramp, full_mesh_ramp, all_to_all_ramp}) {
        CHECK(interpolate(table, 0) == table.front());
        CHECK(interpolate(table, 63) == table.front());
        for (std::size_t i = 0; i < table.size(); ++i)
            CHECK(interpolate(table, std::int64_t{64} << i) == doctest::Approx(table[i]));
        CHECK(interpolate(table, std::int64_t{1} << 50) == table.back());
    }
    const double middle = std::log2(3.0) - 1;  // 192 bytes lie between entries 1 and 2
    CHECK(interpolate(full_mesh_ramp, 192) == doctest::Approx(0.02 + 0.01 * middle));
}

TEST_CASE("autoparallel A12: corrections are shares: above zero, at most one") {
    for (const size_correction& table : {ring_correction, nvls_tree_ramp, full_mesh_ramp, all_to_all_ramp})
        for (const double share : table) {
            CHECK(share > 0);
            CHECK(share <= 1);
        }
}

TEST_CASE("autoparallel A12: measured points are met, interpolated and held outside") {
    CHECK(interpolate(nvswitch_gather_bandwidth, 2) == 537);
    CHECK(interpolate(nvswitch_gather_bandwidth, 8) == 394);
    CHECK(interpolate(nvswitch_gather_bandwidth, 3) == doctest::Approx(485.5));
    CHECK(interpolate(nvswitch_gather_bandwidth, 1) == 537);
    CHECK(interpolate(nvswitch_gather_bandwidth, 72) == 394);
    CHECK(interpolate(all_to_all_latency, 24) == doctest::Approx(194));
    CHECK(interpolate(all_to_all_latency, 64) == 290);
    stretto_check("interpolation stays between its neighbours", 100, [](std::uint16_t x) {
        const double at = x / 1000.0;
        const double value = interpolate(all_to_all_latency, at);
        for (std::size_t i = 1; i < all_to_all_latency.size(); ++i) {
            const measured_point a = all_to_all_latency[i - 1];
            const measured_point b = all_to_all_latency[i];
            if (a.at <= at && at <= b.at) RC_ASSERT(a.value <= value && value <= b.value);
        }
    });
}

TEST_CASE("autoparallel A12: the tuning table has every power of two up to 32 nodes of 8 ranks, each once") {
    CHECK(h100_tuning.size() == 20);
    for (std::int64_t nodes = 2; nodes <= 32; nodes *= 2)
        for (std::int64_t per_node = 1; per_node <= 8; per_node *= 2) {
            CAPTURE(nodes);
            CAPTURE(per_node);
            const tuning_row* row = find_tuning(nodes, per_node);
            REQUIRE(row != nullptr);
            // From LL to simple, latency is traded for bandwidth.
            CHECK(row->gather_ring[0].latency < row->gather_ring[2].latency);
            for (std::size_t p = 1; p < 3; ++p) {
                CHECK(row->gather_ring[p - 1].bandwidth < row->gather_ring[p].bandwidth);
                CHECK(row->reduce_tree[p - 1].latency < row->reduce_tree[p].latency);
                CHECK(row->reduce_tree[p - 1].bandwidth < row->reduce_tree[p].bandwidth);
            }
            CHECK((row->reduce_nvls_tree.bandwidth > 0) == (per_node >= 4));
        }
    CHECK(find_tuning(1, 8) == nullptr);
    CHECK(find_tuning(3, 8) == nullptr);
    CHECK(find_tuning(64, 8) == nullptr);
}

TEST_CASE("every generation has limits; what is older than Ampere takes Ampere's") {
    using stretto::gpu_architecture;
    CHECK(limits_of(gpu_architecture::hopper).nvls_efficiency == 0.85);
    CHECK(limits_of(gpu_architecture::blackwell).tree_ll128[0] == 55.6);
    CHECK(limits_of(gpu_architecture::ampere).default_channels == 12);
    CHECK(&limits_of(gpu_architecture::volta) == &limits_of(gpu_architecture::ampere));
}
