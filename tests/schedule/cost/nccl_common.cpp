#include "stretto/schedule/cost/nccl_common.hpp"

#include <doctest/doctest.h>

#include <cstdint>

using namespace stretto;

TEST_CASE("floor_log2 is the position of the highest bit, and 0 where there is none") {
    CHECK(detail::floor_log2(-5) == 0);
    CHECK(detail::floor_log2(0) == 0);
    for (std::int64_t k = 0; k < 62; ++k) {
        CHECK(detail::floor_log2(std::int64_t{1} << k) == k);
        if (k > 0) CHECK(detail::floor_log2((std::int64_t{1} << k) + 1) == k);
        if (k > 1) CHECK(detail::floor_log2((std::int64_t{1} << k) - 1) == k - 1);
    }
}

TEST_CASE("node counts fall into one, two, and many") {
    CHECK(detail::node_count_index(1) == 0);
    CHECK(detail::node_count_index(2) == 1);
    CHECK(detail::node_count_index(3) == 2);
    CHECK(detail::node_count_index(64) == 2);
}

TEST_CASE("the latency table is indexed by algorithm") {
    const auto of = [](nccl_algorithm a) { return detail::algorithm_latencies[detail::position(a)]; };
    CHECK(of(nccl_algorithm::tree).base[0] == 6.8);
    CHECK(of(nccl_algorithm::ring).base[0] == 6.6);
    CHECK(of(nccl_algorithm::ring).pcie_hop[2] == 5.7);
    CHECK(of(nccl_algorithm::collnet_direct).network_hop[2] == 31);
    CHECK(of(nccl_algorithm::collnet_chain).network_hop[2] == 30);
    CHECK(of(nccl_algorithm::nvls).network_hop[2] == 18);
    CHECK(of(nccl_algorithm::nvls_tree).network_hop[2] == 20.9);
}

TEST_CASE("LL is the fastest protocol to start and simple has the slowest hops") {
    for (const nccl_algorithm a : {nccl_algorithm::tree, nccl_algorithm::ring}) {
        const detail::nccl_latencies& row = detail::algorithm_latencies[detail::position(a)];
        CHECK(row.base[0] < row.base[2]);
        for (std::size_t p = 1; p < 3; ++p) {
            CHECK(row.nvlink_hop[p - 1] < row.nvlink_hop[p]);
            CHECK(row.pcie_hop[p - 1] < row.pcie_hop[p]);
            CHECK(row.network_hop[p - 1] < row.network_hop[p]);
        }
    }
}
