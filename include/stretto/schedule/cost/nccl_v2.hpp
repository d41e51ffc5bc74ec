// This is PyTorch's second analytic model of NCCL (pytorch#180463): ring for every collective and tree for all-reduce,
// each with three protocols. The fastest of them is the estimate, as in NCCL's own tuner.
#ifndef STRETTO_SCHEDULE_COST_NCCL_V2_HPP
#define STRETTO_SCHEDULE_COST_NCCL_V2_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "stretto/schedule/cost/cost_model.hpp"
#include "stretto/schedule/cost/nccl_common.hpp"
#include "stretto/schedule/cost/nccl_v1.hpp"

namespace stretto {

namespace detail {

/// The constants of the tuner for a GPU generation. Bandwidths are in GB/s; limits are per channel, by the number of
/// nodes.
struct pytorch_gpu {
    double channels;
    double nvlink;
    double network;
    double ring_ll128;
    per_node_count tree_ll128;
    per_node_count tree_simple;
};

/// The generations, indexed by gpu_architecture.
inline constexpr std::array<pytorch_gpu, 4> pytorch_gpus = {{
    {2, 120, 12, 20, {20, 20, 20}, {26.5, 18.5, 10}},
    {8, 240, 25, 20, {20, 20, 20}, {24, 23.6, 17.8}},
    {16, 370, 50, 36.7, {36.7, 36.7, 29}, {38.7, 41.4, 36}},
    {32, 720, 50, 40, {55.6, 31.67, 20}, {70, 42.8, 24}},
}};

/// The bandwidth within a node that has no NVLink.
inline constexpr double pcie_gigabytes_per_second = 24;

}  // namespace detail

/// A collective_cost_model. `other` and groups of one rank take no time. A query takes O(1) time. PyTorch claims an
/// accuracy of 10 % on 64 to 256 GPUs.
struct nccl_v2 {
    gpu_architecture architecture = gpu_architecture::hopper;
    double intra_node_gigabytes_per_second = 370;
    double inter_node_gigabytes_per_second = 50;
    bool nvlink = true;      ///< hops within a node go over NVLink; otherwise over PCIe
    bool infiniband = true;  ///< the network is InfiniBand, over which LL128 is off; beyond two nodes it is always off

    /// Returns the model with the bandwidths that PyTorch assumes for a generation.
    [[nodiscard]] static constexpr nccl_v2 of(gpu_architecture gpu, bool with_nvlink = true) noexcept {
        const detail::pytorch_gpu& spec = detail::pytorch_gpus[detail::position(gpu)];
        return {gpu, with_nvlink ? spec.nvlink : detail::pcie_gigabytes_per_second, spec.network, with_nvlink, true};
    }

    /// Returns the fastest algorithm and protocol, and their time before rounding. `counted` is what PyTorch counts,
    /// input plus output bytes. Among equals, ring comes before tree, and LL before LL128 before simple.
    [[nodiscard]] nccl_estimate estimate(collective_kind kind, double counted, const process_group& group) const;

    /// Returns the time before rounding, in microseconds; `counted` is as above.
    [[nodiscard]] double microseconds(collective_kind kind, double counted, const process_group& group) const {
        return estimate(kind, counted, group).microseconds;
    }
    /// Returns the time of a collective. Converts the payload to what PyTorch counts.
    [[nodiscard]] nanoseconds duration(collective_kind kind, bytes payload, const process_group& group) const {
        return from_microseconds(microseconds(kind, detail::pytorch_counted_bytes(kind, payload, group.size), group));
    }

private:
    /// Returns the bandwidth of the link after the model's corrections: one for few nodes, and one for the message size
    /// on more than two nodes.
    [[nodiscard]] double link(double counted, std::int64_t nodes) const {
        if (nodes == 1) return intra_node_gigabytes_per_second;
        double bandwidth = inter_node_gigabytes_per_second;
        bandwidth *= 0.77 + 0.23 * std::min(1.0, static_cast<double>(nodes - 1) / 7.0);
        if (nodes > 2) bandwidth *= std::pow(std::max(counted, 50e6) / 50e6, 0.17);
        return bandwidth;
    }

    /// Returns the bandwidth on the wire: what the protocol leaves of the link, but no more than the generation allows.
    [[nodiscard]] double bus(nccl_algorithm algorithm, nccl_protocol protocol, double bandwidth,
                             std::int64_t nodes) const {
        const detail::pytorch_gpu& gpu = detail::pytorch_gpus[detail::position(architecture)];
        const std::size_t n = detail::node_count_index(nodes);
        const double ll_limit = detail::pytorch_ll_limit_of(architecture, nodes);
        const bool tree = algorithm == nccl_algorithm::tree;
        switch (protocol) {
            case nccl_protocol::ll:
                return std::min(tree ? bandwidth / 3.8 : bandwidth * 0.5, ll_limit);
            case nccl_protocol::ll128:
                return tree ? std::min(bandwidth * (nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0),
                                       gpu.channels * gpu.tree_ll128[n])
                            : std::min(bandwidth * 120.0 / 128.0, gpu.channels * gpu.ring_ll128);
            case nccl_protocol::simple:
                break;
        }
        return tree ? std::min(0.92 * bandwidth, gpu.channels * gpu.tree_simple[n]) : bandwidth;
    }

    /// Returns the part of the time that does not depend on the size, in microseconds.
    [[nodiscard]] double latency(nccl_algorithm algorithm, nccl_protocol protocol, collective_kind kind,
                                 std::int64_t ranks, std::int64_t nodes) const {
        const detail::nccl_latencies& table = detail::algorithm_latencies[detail::position(algorithm)];
        const std::size_t p = detail::position(protocol);
        const double overhead = nodes == 1 ? 0.0 : protocol == nccl_protocol::simple ? 3.0 : 1.0;
        const double inside = std::max(nvlink ? table.nvlink_hop[p] : table.pcie_hop[p], overhead);
        const double n = static_cast<double>(nodes);
        if (algorithm == nccl_algorithm::tree)
            return table.base[p] +
                   2 * ((static_cast<double>(ranks) / n - 1) * inside + std::log2(n) * table.network_hop[p]);
        const double network_steps = (kind == collective_kind::all_reduce ? 2 : 1) * (n - 1);
        return table.base[p] + (detail::pytorch_ring_steps(kind, ranks) - network_steps) * inside +
               network_steps * table.network_hop[p];
    }
};

inline nccl_estimate nccl_v2::estimate(collective_kind kind, double counted, const process_group& group) const {
    if (group.size <= 1 || kind == collective_kind::other) return {};
    const std::int64_t nodes = group.nodes();
    const double bandwidth = link(counted, nodes);
    nccl_estimate best{std::numeric_limits<double>::infinity()};
    for (const nccl_algorithm algorithm : {nccl_algorithm::ring, nccl_algorithm::tree}) {
        const bool tree = algorithm == nccl_algorithm::tree;
        if (tree && kind != collective_kind::all_reduce) continue;
        for (const nccl_protocol protocol : all_nccl_protocols) {
            if (protocol == nccl_protocol::ll128 && ((nodes > 1 && infiniband) || nodes > 2)) continue;
            double reached = bus(algorithm, protocol, bandwidth, nodes);
            reached *= tree ? 0.5 : static_cast<double>(group.size) / detail::pytorch_ring_steps(kind, group.size);
            // The table says which share of its bandwidth a tree reaches at this size.
            if (tree && counted >= 64) {
                const std::int64_t size = detail::floor_log2(static_cast<std::int64_t>(counted / 64));
                if (size < 24)
                    reached *= detail::tree_correction[detail::position(protocol)][static_cast<std::size_t>(size)];
            }
            const double time = counted / reached / 1000.0 + latency(algorithm, protocol, kind, group.size, nodes);
            if (time < best.microseconds) best = {time, algorithm, protocol};
        }
    }
    return best;
}

}  // namespace stretto

#endif
