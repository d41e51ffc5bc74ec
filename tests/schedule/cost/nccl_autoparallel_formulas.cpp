#include "stretto/schedule/cost/nccl_autoparallel_formulas.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>

using namespace stretto;
using namespace stretto::autoparallel;
using algorithm = nccl_algorithm;
using protocol = nccl_protocol;

namespace {

/// H100s: 320 GB/s in 16 channels within a node, 50 between nodes of 8.
tuner_query hopper(std::int64_t nodes, bool reduce, std::int64_t size = 1024) {
    tuner_query q{};
    q.architecture = gpu_architecture::hopper;
    q.reduce = reduce;
    q.size = size;
    q.ranks = 8 * nodes;
    q.nodes = nodes;
    q.per_node = 8;
    q.channels = 16;
    q.intra = 20;
    q.inter = 3.125;
    q.inter_together = nodes > 1 ? 20 : 3.125;
    return q;
}

}  // namespace

TEST_CASE("autoparallel A12: ring bandwidth within a node, by protocol") {
    const tuner_query q = hopper(1, false);
    CHECK(fitted_bandwidth(q, algorithm::ring, protocol::ll) == doctest::Approx(141 * 8.0 / 7));
    CHECK(fitted_bandwidth(q, algorithm::ring, protocol::ll128) == doctest::Approx(0.92 * 320 * 8.0 / 7));
    CHECK(fitted_bandwidth(q, algorithm::ring, protocol::simple) == doctest::Approx(320 * 8.0 / 7));
    CHECK(fitted_bandwidth(hopper(1, true), algorithm::ring, protocol::simple) == doctest::Approx(320 * 8.0 / 14));
}

TEST_CASE("autoparallel A12: tree bandwidth is halved by the way up and down") {
    const tuner_query q = hopper(1, true);
    CHECK(fitted_bandwidth(q, algorithm::tree, protocol::simple) == doctest::Approx(0.92 * 320 / 2));
    CHECK(fitted_bandwidth(q, algorithm::tree, protocol::ll) == doctest::Approx(0.92 * 320 / 3.8 / 2));
    CHECK(fitted_bandwidth(q, algorithm::tree, protocol::ll128) == doctest::Approx(0.92 * 320 * 7 / 9 / 2));
}

TEST_CASE("autoparallel A12: NVLS needs two channels, and more than one node needs collnet to gather") {
    tuner_query q = hopper(1, false);
    const double share = 0.85 * 15 / 16;
    CHECK(fitted_bandwidth(q, algorithm::nvls, protocol::simple) == doctest::Approx(320 * share * 7 / 8));
    CHECK(fitted_bandwidth(hopper(1, true), algorithm::nvls, protocol::simple) ==
          doctest::Approx(2 * 320 * share * 8 / 14));
    q.channels = 1;
    CHECK(fitted_bandwidth(q, algorithm::nvls, protocol::simple) == 0);
    q = hopper(2, false);
    CHECK(fitted_bandwidth(q, algorithm::nvls, protocol::simple) == 0);
    CHECK(std::isinf(fitted_time(q, algorithm::nvls)));
    q.collnet = true;
    CHECK(fitted_bandwidth(q, algorithm::nvls, protocol::simple) == doctest::Approx(50));
}

TEST_CASE("autoparallel A12: collnet bandwidth") {
    tuner_query q = hopper(4, false);
    CHECK(fitted_bandwidth(q, algorithm::collnet_direct, protocol::simple) == doctest::Approx(8 * 45));
    q = hopper(4, true);
    // 8 ranks on 16 channels: factor 0.5, damped to 0.75.
    CHECK(fitted_bandwidth(q, algorithm::collnet_direct, protocol::simple) == doctest::Approx(320 / 0.75 * 0.85 * 0.5));
    CHECK(fitted_bandwidth(q, algorithm::collnet_chain, protocol::simple) == doctest::Approx(160));
}

TEST_CASE("autoparallel A12: latencies count hops within nodes, between nodes, and the synchronisation of the ring") {
    CHECK(fitted_latency(hopper(1, false), algorithm::ring, protocol::ll) == doctest::Approx(6.6 + 7 * 0.6));
    CHECK(fitted_latency(hopper(2, false), algorithm::ring, protocol::ll) ==
          doctest::Approx(6.6 + 14 * 1 + 2.7 + 4.7 * 2));
    CHECK(fitted_latency(hopper(2, true), algorithm::ring, protocol::simple) ==
          doctest::Approx(8.4 + 28 * 3.4 + 2 * 14 + 4.7 * 2));
    CHECK(fitted_latency(hopper(16, false), algorithm::ring, protocol::ll) ==
          doctest::Approx(6.6 + 112 * 1 + 15 * 2.7 + 4.7 * 16 * std::pow(4, 0.65)));
    CHECK(fitted_latency(hopper(8, true), algorithm::tree, protocol::ll128) ==
          doctest::Approx(14 + 2 * (7 * 1.25 + 3 * 8.5)));
    CHECK(fitted_latency(hopper(4, true), algorithm::collnet_direct, protocol::simple) ==
          doctest::Approx(2 * (3.7 + 7 * 0.4) + 31));
    CHECK(fitted_latency(hopper(4, true), algorithm::collnet_chain, protocol::simple) ==
          doctest::Approx(2 * 7 * 2.8 + 30));
    CHECK(fitted_latency(hopper(1, true), algorithm::nvls, protocol::simple) == doctest::Approx(25));
    CHECK(fitted_latency(hopper(4, true), algorithm::nvls, protocol::simple) == doctest::Approx(25 + 18));
    CHECK(fitted_latency(hopper(4, true), algorithm::nvls_tree, protocol::simple) == doctest::Approx(25 + 4 * 20.9));
}

TEST_CASE("extra latency counts twice for simple; alone on its node a rank pays the tree's hop") {
    tuner_query q = hopper(2, false);
    q.extra_hop_latency = 5;
    CHECK(network_hop(q, algorithm::ring, protocol::ll) == doctest::Approx(2.7 + 5));
    CHECK(network_hop(q, algorithm::ring, protocol::simple) == doctest::Approx(14 + 10));
    q.per_node = 1;
    CHECK(network_hop(q, algorithm::ring, protocol::ll) == doctest::Approx(5 + 5));
}

TEST_CASE("autoparallel A12: the time is that of the fastest protocol") {
    const tuner_query small = hopper(1, false, 1024);
    CHECK(fitted_time(small, algorithm::ring) == doctest::Approx(6.6 + 7 * 0.6 + 1024 / (141000 * 8.0 / 7)));
    const tuner_query large = hopper(1, false, 1 << 30);
    CHECK(fitted_time(large, algorithm::ring) == doctest::Approx(8.4 + 7 * 3.4 + (1 << 30) / (320000 * 8.0 / 7)));
}

TEST_CASE("tree shares end after the last index asked for") {
    CHECK(tree_share(0, protocol::simple, 22) == 0.9);
    CHECK(tree_share(std::int64_t{64} << 11, protocol::ll, 22) == 0.5);
    CHECK(tree_share(std::int64_t{64} << 23, protocol::simple, 22) == 1.0);
    CHECK(tree_share(std::int64_t{64} << 23, protocol::simple, 23) == 0.9);
    CHECK(tree_share(std::int64_t{64} << 40, protocol::simple, 23) == 1.0);
}
