#include "stretto/schedule/cost/nccl_v2.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <vector>

using namespace stretto;
using kind = collective_kind;

namespace {

static_assert(collective_cost_model<nccl_v2>);

constexpr std::array<double, 5> sizes = {65536, 1048576, 16777216, 268435456, 1073741824};

struct cell {
    double milliseconds;
    nccl_protocol protocol;
    nccl_algorithm algorithm = nccl_algorithm::ring;
};

struct golden {
    kind collective;
    std::int64_t ranks;
    std::array<cell, 5> cells;
};

constexpr auto ll = nccl_protocol::ll;
constexpr auto ll128 = nccl_protocol::ll128;
constexpr auto simple = nccl_protocol::simple;
constexpr auto tree = nccl_algorithm::tree;

}  // namespace

TEST_CASE("reference values: Hopper, 370 GB/s within a node, 50 between, InfiniBand") {
    const std::vector<golden> table = {
        {kind::all_gather, 2, {{{.0074, ll}, {.0109, ll}, {.0345, simple}, {.3746, simple}, {1.4628, simple}}}},
        {kind::all_gather, 8, {{{.0112, ll}, {.0173, ll}, {.0696, ll128}, {.6670, simple}, {2.5715, simple}}}},
        {kind::all_gather, 16, {{{.0264, ll}, {.0723, ll}, {.4618, simple}, {6.3391, simple}, {25.1463, simple}}}},
        {kind::all_gather, 64, {{{.0847, ll}, {.1321, ll}, {.6271, simple}, {4.2683, simple}, {12.8473, simple}}}},
        {kind::all_reduce, 8, {{{.0158, ll}, {.0280, ll}, {.1252, ll128}, {1.3256, simple}, {5.1345, simple}}}},
        {kind::all_reduce, 16, {{{.0461, ll}, {.1380, ll}, {.9152, simple}, {12.6697, simple}, {50.2841, simple}}}},
        {kind::all_reduce,
         64,
         {{{.0674, ll, tree}, {.2396, simple, tree}, {1.1905, simple, tree}, {8.5282, simple}, {25.6863, simple}}}},
    };
    for (const golden& row : table)
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            CAPTURE(static_cast<int>(row.collective));
            CAPTURE(row.ranks);
            CAPTURE(sizes[i]);
            const nccl_estimate got = nccl_v2{}.estimate(row.collective, sizes[i], {.size = row.ranks});
            CHECK(std::abs(got.microseconds / 1000 - row.cells[i].milliseconds) <= 0.00005001);
            CHECK(got.protocol == row.cells[i].protocol);
            CHECK(got.algorithm == row.cells[i].algorithm);
        }
}

TEST_CASE("the network overhead applies to the tree's hops within a node") {
    // Without it the tree would take 45.9 us here and win.
    const nccl_estimate got = nccl_v2{}.estimate(kind::all_reduce, 65536, {.size = 16});
    CHECK(got.algorithm == nccl_algorithm::ring);
    CHECK(got.microseconds == doctest::Approx(46.1).epsilon(0.002));
}

TEST_CASE("LL128 is used between two nodes only without InfiniBand") {
    nccl_v2 ethernet;
    ethernet.infiniband = false;
    const process_group two{.size = 16};
    const process_group three{.size = 24};
    bool used = false;
    for (double size = 65536; size < 1e8; size *= 2) {
        CHECK(nccl_v2{}.estimate(kind::all_gather, size, two).protocol != ll128);
        CHECK(ethernet.estimate(kind::all_gather, size, three).protocol != ll128);
        used = used || ethernet.estimate(kind::all_gather, size, two).protocol == ll128;
    }
    CHECK(used);
}

TEST_CASE("presets take the bandwidths of the generation, and PCIe its own hops") {
    CHECK(nccl_v2::of(gpu_architecture::hopper).intra_node_gigabytes_per_second == 370);
    CHECK(nccl_v2::of(gpu_architecture::ampere).inter_node_gigabytes_per_second == 25);
    CHECK(nccl_v2::of(gpu_architecture::blackwell).intra_node_gigabytes_per_second == 720);
    CHECK(nccl_v2::of(gpu_architecture::volta, false).intra_node_gigabytes_per_second == 24);
    // LL on PCIe: 6.6 + 7 * 1 us, half of 24 GB/s.
    CHECK(nccl_v2::of(gpu_architecture::hopper, false).microseconds(kind::all_gather, 8000, {.size = 8}) ==
          doctest::Approx(6.6 + 7 + 7.0 / 8 * 8000 / 12000));
}

TEST_CASE("every generation takes longer for more ranks, and nothing for one") {
    for (const gpu_architecture gpu :
         {gpu_architecture::volta, gpu_architecture::ampere, gpu_architecture::hopper, gpu_architecture::blackwell}) {
        const nccl_v2 model = nccl_v2::of(gpu);
        for (const kind k : all_collective_kinds) {
            CHECK(model.microseconds(k, 1e6, {.size = 1}) == 0);
            CHECK(model.microseconds(k, 1e6, {.size = 8}) > model.microseconds(k, 1e6, {.size = 2}));
            CHECK(model.microseconds(k, 1e6, {.size = 16}) > model.microseconds(k, 1e6, {.size = 8}));
        }
        CHECK(model.duration(kind::other, {1 << 20}, {.size = 8}).count == 0);
    }
}

TEST_CASE("durations count input plus output bytes and round once") {
    const process_group group{.size = 16};
    CHECK(nccl_v2{}.duration(kind::all_gather, {1 << 20}, group) ==
          from_microseconds(nccl_v2{}.microseconds(kind::all_gather, 17 * 1048576.0, group)));
    CHECK(nccl_v2{}.duration(kind::reduce_scatter, {16 << 20}, group) ==
          from_microseconds(nccl_v2{}.microseconds(kind::reduce_scatter, 17 * 1048576.0, group)));
}

TEST_CASE("rings are monotone; the tree's corrections are not") {
    for (const kind k : {kind::all_gather, kind::reduce_scatter, kind::all_to_all})
        for (const std::int64_t ranks : {2, 8, 16, 64})
            CHECK(check_monotone(nccl_v2{}, k, {.size = ranks}, {0}, {1 << 30}).has_value());
    CHECK(!check_monotone(nccl_v2{}, kind::all_reduce, {.size = 64}, {0}, {1 << 30}).has_value());
}
