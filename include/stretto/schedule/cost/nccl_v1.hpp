// This is PyTorch's first analytic model of NCCL (Inductor's comm_analysis, before 2026): a ring with the LL protocol
// and nothing else. It overestimates the time of large messages tenfold, because NCCL would not use LL for them. It is
// included because schedules made with it are the baseline that others report against.
#ifndef STRETTO_SCHEDULE_COST_NCCL_V1_HPP
#define STRETTO_SCHEDULE_COST_NCCL_V1_HPP

#include <algorithm>
#include <array>
#include <cstdint>

#include "stretto/schedule/cost/cost_model.hpp"
#include "stretto/schedule/cost/nccl_common.hpp"

namespace stretto {

namespace detail {

/// The upper limits of the LL protocol in GB/s, by generation and number of nodes. Both PyTorch models use them.
inline constexpr std::array<per_node_count, 4> pytorch_ll_limit = {{
    {39, 39, 20.4},
    {87.7, 22.5, 19},
    {141, 45, 35},
    {282, 90, 70},
}};

/// Returns the limit of a layout. One node is limited by its GPU; several are limited by the processor, for which the
/// models take the first row.
[[nodiscard]] constexpr double pytorch_ll_limit_of(gpu_architecture gpu, std::int64_t nodes) noexcept {
    const gpu_architecture row = nodes == 1 ? gpu : gpu_architecture::volta;
    return pytorch_ll_limit[position(row)][node_count_index(nodes)];
}

/// Returns the number of steps of a ring over `ranks`. An all-to-all is charged as many steps as an all-reduce.
[[nodiscard]] constexpr double pytorch_ring_steps(collective_kind kind, std::int64_t ranks) noexcept {
    const bool twice = kind == collective_kind::all_reduce || kind == collective_kind::all_to_all;
    return static_cast<double>(twice ? 2 * (ranks - 1) : ranks - 1);
}

/// Returns the bytes that PyTorch passes to both models: input plus output of one rank.
[[nodiscard]] constexpr double pytorch_counted_bytes(collective_kind kind, bytes payload, std::int64_t ranks) noexcept {
    const double input = static_cast<double>(payload.count);
    switch (kind) {
        case collective_kind::all_gather:
            return input + input * static_cast<double>(ranks);
        case collective_kind::reduce_scatter:
            return input + input / static_cast<double>(ranks);
        default:
            return 2 * input;
    }
}

}  // namespace detail

/// A collective_cost_model. `other` and groups of one rank take no time. A query takes O(1) time.
struct nccl_v1 {
    gpu_architecture architecture = gpu_architecture::hopper;
    double intra_node_gigabytes_per_second = 300;
    double inter_node_gigabytes_per_second = 25;

    /// Returns the time before rounding, in microseconds. `counted` is what PyTorch counts, input plus output bytes.
    [[nodiscard]] constexpr double microseconds(collective_kind kind, double counted,
                                                const process_group& group) const noexcept {
        if (group.size <= 1 || kind == collective_kind::other) return 0;
        const std::int64_t nodes = group.nodes();
        const bool reduce = kind == collective_kind::all_reduce;
        const double link = nodes == 1 ? intra_node_gigabytes_per_second : inter_node_gigabytes_per_second;
        const double share = nodes > 1 || reduce ? 1.0 / 4.0 : 1.0 / 3.0;
        const double bus = std::min(detail::pytorch_ll_limit_of(architecture, nodes), 2 * link * share);
        const double steps = detail::pytorch_ring_steps(kind, group.size);
        const double bandwidth = bus * static_cast<double>(group.size) / steps;

        // An all-reduce is charged 2n network hops although its ring has 2(n-1). This is an error of PyTorch, kept so
        // that results are comparable.
        const double network_steps = nodes == 1 ? 0.0 : static_cast<double>(reduce ? 2 * nodes : nodes - 1);
        const detail::nccl_latencies& ring = detail::algorithm_latencies[detail::position(nccl_algorithm::ring)];
        const double hop = std::max(ring.nvlink_hop[0], nodes > 1 ? 1.0 : 0.0);
        const double latency = ring.base[0] + (steps - network_steps) * hop + network_steps * ring.network_hop[0];
        return counted / 1073741824.0 / bandwidth * 1e6 + latency;  // PyTorch divides GiB by GB/s; this is also kept
    }

    /// Returns the time of a collective. Converts the payload to what PyTorch counts.
    [[nodiscard]] constexpr nanoseconds duration(collective_kind kind, bytes payload,
                                                 const process_group& group) const noexcept {
        return from_microseconds(microseconds(kind, detail::pytorch_counted_bytes(kind, payload, group.size), group));
    }
};

}  // namespace stretto

#endif
