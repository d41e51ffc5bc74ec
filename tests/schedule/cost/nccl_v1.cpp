#include "stretto/schedule/cost/nccl_v1.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <vector>

using namespace stretto;
using kind = collective_kind;

namespace {

static_assert(collective_cost_model<nccl_v1>);

constexpr std::array<double, 5> sizes = {65536, 1048576, 16777216, 268435456, 1073741824};

struct golden {
    kind collective;
    std::int64_t ranks;
    std::array<double, 5> milliseconds;
};

}  // namespace

TEST_CASE("reference values: Hopper, 300 GB/s within a node, 25 between") {
    const std::vector<golden> table = {
        {kind::all_gather, 2, {.0074, .0107, .0626, .8937, 3.5533}},
        {kind::all_gather, 8, {.0112, .0169, .1078, 1.5622, 6.2165}},
        {kind::all_gather, 16, {.0279, .0965, 1.1952, 18.7733, 75.0233}},
        {kind::all_gather, 64, {.0863, .1584, 1.3120, 19.7690, 78.8315}},
        {kind::all_reduce, 8, {.0158, .0271, .2089, 3.1178, 12.4263}},
        {kind::all_reduce, 16, {.0526, .1899, 2.3872, 37.5434, 150.0434}},
        {kind::all_reduce, 64, {.1694, .3136, 2.6207, 39.5348, 157.6598}},
    };
    for (const golden& row : table)
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            CAPTURE(static_cast<int>(row.collective));
            CAPTURE(row.ranks);
            CAPTURE(sizes[i]);
            const double us = nccl_v1{}.microseconds(row.collective, sizes[i], {.size = row.ranks});
            CHECK(std::abs(us / 1000 - row.milliseconds[i]) <= 0.00005001);  // four decimals are given
        }
}

TEST_CASE("a reduce-scatter takes as long as an all-gather, an exchange within a node steps like an all-reduce") {
    for (const std::int64_t ranks : {2, 8, 64})
        CHECK(nccl_v1{}.microseconds(kind::reduce_scatter, 1e6, {.size = ranks}) ==
              nccl_v1{}.microseconds(kind::all_gather, 1e6, {.size = ranks}));
    // 14 steps of 0.6 us; 141 GB/s (the LL limit) * 8 / 14.
    CHECK(nccl_v1{}.microseconds(kind::all_to_all, 1073741824, {.size = 8}) ==
          doctest::Approx(6.6 + 14 * 0.6 + 14.0 / 8 / 141 * 1e6));
}

TEST_CASE("nothing to do takes no time") {
    CHECK(nccl_v1{}.microseconds(kind::all_gather, 1e6, {.size = 1}) == 0);
    CHECK(nccl_v1{}.duration(kind::other, {1 << 20}, {.size = 8}).count == 0);
}

TEST_CASE("durations count input plus output bytes") {
    const process_group group{.size = 8};
    const auto exact = [&](kind k, double counted) {
        return from_microseconds(nccl_v1{}.microseconds(k, counted, group));
    };
    CHECK(nccl_v1{}.duration(kind::all_gather, {1 << 20}, group) == exact(kind::all_gather, 9 * 1048576.0));
    CHECK(nccl_v1{}.duration(kind::reduce_scatter, {1 << 20}, group) == exact(kind::reduce_scatter, 1.125 * 1048576));
    CHECK(nccl_v1{}.duration(kind::all_reduce, {1 << 20}, group) == exact(kind::all_reduce, 2 * 1048576.0));
    CHECK(nccl_v1{}.duration(kind::all_to_all, {1 << 20}, group) == exact(kind::all_to_all, 2 * 1048576.0));
}

TEST_CASE("linear in bytes, hence monotone") {
    for (const kind k : all_collective_kinds)
        for (const std::int64_t ranks : {2, 8, 16, 64})
            CHECK(check_monotone(nccl_v1{}, k, {.size = ranks}, {0}, {1 << 30}).has_value());
}
