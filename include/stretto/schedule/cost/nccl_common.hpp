// The models of NCCL have these parts in common: names for its algorithms and protocols, and the latency constants of
// its tuner (src/graph/tuning.cc), on which all of them are based.
#ifndef STRETTO_SCHEDULE_COST_NCCL_COMMON_HPP
#define STRETTO_SCHEDULE_COST_NCCL_COMMON_HPP

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "stretto/core/language.hpp"

namespace stretto {

/// The GPU generations that the tuner's tables distinguish.
enum class gpu_architecture : std::uint8_t {
    volta,
    ampere,
    hopper,
    blackwell
};

/// The algorithms by which NCCL may run a collective.
enum class nccl_algorithm : std::uint8_t {
    tree,
    ring,
    collnet_direct,
    collnet_chain,
    nvls,
    nvls_tree
};

/// The protocols. LL and LL128 trade bandwidth for latency; simple does the opposite.
enum class nccl_protocol : std::uint8_t {
    ll,
    ll128,
    simple
};

inline constexpr std::array<nccl_protocol, 3> all_nccl_protocols = {nccl_protocol::ll, nccl_protocol::ll128,
                                                                    nccl_protocol::simple};

/// A predicted time, and the algorithm and protocol that reach it.
struct nccl_estimate {
    double microseconds = 0;
    nccl_algorithm algorithm = nccl_algorithm::ring;
    nccl_protocol protocol = nccl_protocol::simple;
};

namespace detail {

/// One number for each protocol: ll, ll128, simple.
using per_protocol = std::array<double, 3>;
/// One number for each class of node counts: one node, two nodes, three or more.
using per_node_count = std::array<double, 3>;
/// One number for each power of two of a size in units of 64 bytes.
using size_correction = std::array<double, 24>;

/// Returns the index of a scoped enumerator in the tables of this model.
template <class E>
[[nodiscard]] constexpr std::size_t position(E e) noexcept {
    return static_cast<std::size_t>(e);
}

/// Returns the index of a number of nodes in a per_node_count.
[[nodiscard]] constexpr std::size_t node_count_index(std::int64_t nodes) noexcept {
    return nodes <= 1 ? 0 : nodes == 2 ? 1 : 2;
}

/// Returns floor(log2(x)) for x >= 1, and 0 for smaller x.
[[nodiscard]] constexpr std::int64_t floor_log2(std::int64_t x) noexcept {
    return x <= 1 ? 0 : static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(x))) - 1;
}

/// The share of its bandwidth that the tree algorithm reaches, by protocol and size.
inline constexpr std::array<size_correction, 3> tree_correction = {{
    {1, 1, 1, 1, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9, 0.9, 1, 1, 1},
    {0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5,
     0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7, 0.8, 0.9, 0.9, 0.9},
}};

/// The latencies of one algorithm in microseconds: once per call, and for each hop over NVLink, PCIe or the network.
struct nccl_latencies {
    per_protocol base;
    per_protocol nvlink_hop;
    per_protocol pcie_hop;
    per_protocol network_hop;
};

/// The latencies of all algorithms, indexed by nccl_algorithm.
inline constexpr std::array<nccl_latencies, 6> algorithm_latencies = {{
    {{6.8, 14, 8.4}, {0.6, 1.25, 4}, {1, 1.9, 4}, {5, 8.5, 14}},     // tree
    {{6.6, 14, 8.4}, {0.6, 1.9, 3.4}, {1, 2.5, 5.7}, {2.7, 4, 14}},  // ring
    {{0, 0, 0}, {0, 0, 3.7}, {0, 0, 3.7}, {0, 0, 31}},               // collnet direct
    {{0, 0, 0}, {0, 0, 2.8}, {0, 0, 2.8}, {0, 0, 30}},               // collnet chain
    {{0, 0, 0}, {0, 0, 25}, {0, 0, 0}, {0, 0, 18}},                  // NVLS
    {{0, 0, 0}, {0, 0, 25}, {0, 0, 0}, {0, 0, 20.9}},                // NVLS tree
}};

}  // namespace detail
}  // namespace stretto

#endif
