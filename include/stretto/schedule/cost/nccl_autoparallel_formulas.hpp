// These are the formulas of meta-pytorch/autoparallel's model of NCCL. As NCCL's tuner does, they compute the latency
// and bandwidth of every algorithm and protocol from hop latencies and link bandwidths, with fitted corrections.
// nccl_autoparallel.hpp decides when to use them. Numbers without a name are those of NCCL's tuner or of the fit.
#ifndef STRETTO_SCHEDULE_COST_NCCL_AUTOPARALLEL_FORMULAS_HPP
#define STRETTO_SCHEDULE_COST_NCCL_AUTOPARALLEL_FORMULAS_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "stretto/schedule/cost/nccl_autoparallel_tables.hpp"
#include "stretto/schedule/cost/nccl_common.hpp"

namespace stretto::autoparallel {

/// One query to the tuner. Bandwidths are in GB/s per channel, latencies in microseconds; the size is in bytes as the
/// model counts them.
struct tuner_query {
    gpu_architecture architecture;
    bool reduce;  ///< an all-reduce; otherwise an all-gather or a reduce-scatter
    bool collnet;
    std::int64_t size;
    std::int64_t ranks;
    std::int64_t nodes;
    std::int64_t per_node;  ///< the number of ranks on one node
    double channels;
    double intra;           ///< rate of a GPU's links within its node
    double inter;           ///< rate of a GPU's network card
    double inter_together;  ///< rate of all network cards of a node, if an NVSwitch lets every GPU use them
    double extra_hop_latency;

    [[nodiscard]] constexpr bool multi_node() const noexcept { return nodes > 1; }
    [[nodiscard]] constexpr bool hopper_or_later() const noexcept {
        return detail::position(architecture) >= detail::position(gpu_architecture::hopper);
    }
    /// Returns the number of steps of a ring.
    [[nodiscard]] constexpr double steps() const noexcept {
        return static_cast<double>((reduce ? 2 : 1) * (ranks - 1));
    }
};

/// Returns the bandwidth of an algorithm in GB/s, before corrections for size. It is not positive where the algorithm
/// cannot run.
[[nodiscard]] inline double fitted_bandwidth(const tuner_query& q, nccl_algorithm algorithm, nccl_protocol protocol) {
    const architecture_limits& limit = limits_of(q.architecture);
    const std::size_t n = detail::node_count_index(q.nodes);
    const double per_node = static_cast<double>(q.per_node);
    const double ring_bus = q.channels * (q.nodes <= 2 ? q.intra : q.inter_together);
    const double nvls_share = limit.nvls_efficiency * (q.channels - 1) / q.channels;
    double bus = ring_bus;
    switch (algorithm) {
        case nccl_algorithm::ring:
            if (protocol == nccl_protocol::ll) bus = std::min(limit.ll[n], bus / 2);
            if (protocol == nccl_protocol::ll128) bus = std::min(0.92 * bus, q.channels * limit.ring_ll128[n]);
            break;
        case nccl_algorithm::tree:
            bus = std::min(0.92 * bus, q.channels * limit.tree[n]);
            if (protocol == nccl_protocol::ll) bus = std::min(bus / 3.8, limit.ll[n]);
            if (protocol == nccl_protocol::ll128)
                bus = std::min(bus * (q.nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0), q.channels * limit.tree_ll128[n]);
            break;
        case nccl_algorithm::collnet_direct: {
            if (!q.reduce) return per_node * std::min(q.intra * q.channels, 0.9 * q.inter * q.channels);
            double factor = per_node / q.channels;
            factor -= (factor - 1) / 2;
            bus /= factor;
            if (q.hopper_or_later()) bus *= 0.85;
            break;
        }
        case nccl_algorithm::collnet_chain:
            break;
        case nccl_algorithm::nvls: {
            if (q.channels < 2 || (!q.reduce && q.multi_node() && !q.collnet)) return 0;
            double rate = q.intra * nvls_share * (q.reduce ? 2.0 : (per_node - 1) / per_node);
            if (q.multi_node()) rate = std::min(rate, q.inter);
            bus = q.channels * rate;
            break;
        }
        case nccl_algorithm::nvls_tree:
            bus = q.channels *
                  std::min({2 * q.intra * nvls_share, q.inter_together * (q.nodes <= 2 ? 2 : 1), limit.nvls_tree[n]});
            break;
    }
    // The factors below turn the rate on the wire into bytes of `size` per unit of time.
    if (algorithm != nccl_algorithm::ring && !q.reduce) return bus;
    const bool pipelined = algorithm == nccl_algorithm::ring || algorithm == nccl_algorithm::nvls ||
                           algorithm == nccl_algorithm::nvls_tree;
    return bus * (pipelined ? static_cast<double>(q.ranks) / q.steps() : 0.5);
}

/// Returns the time of one hop over the network in microseconds.
[[nodiscard]] inline double network_hop(const tuner_query& q, nccl_algorithm algorithm, nccl_protocol protocol) {
    const nccl_algorithm row = q.per_node == 1 ? nccl_algorithm::tree : algorithm;
    return detail::algorithm_latencies[detail::position(row)].network_hop[detail::position(protocol)] +
           q.extra_hop_latency * (protocol == nccl_protocol::simple ? 2 : 1);
}

/// Returns the part of the time that does not depend on the size, in microseconds.
[[nodiscard]] inline double fitted_latency(const tuner_query& q, nccl_algorithm algorithm, nccl_protocol protocol) {
    const detail::nccl_latencies& table = detail::algorithm_latencies[detail::position(algorithm)];
    const double base = table.base[detail::position(protocol)];
    const double inside = table.nvlink_hop[detail::position(protocol)];
    const double across = network_hop(q, algorithm, protocol);
    const double nodes = static_cast<double>(q.nodes);
    const double depth = static_cast<double>(detail::floor_log2(q.nodes));
    switch (algorithm) {
        case nccl_algorithm::ring: {
            const double overhead = !q.multi_node() ? 0.0 : protocol == nccl_protocol::simple ? 3.0 : 1.0;
            const double crossing = (q.reduce ? 2 : 1) * (nodes - 1);
            double time = base + (q.steps() - crossing) * std::max(inside, overhead) + crossing * across;
            if (q.multi_node()) time += ring_synchronisation * nodes * (q.nodes > 4 ? std::pow(nodes / 4, 0.65) : 1.0);
            return time;
        }
        case nccl_algorithm::tree:
            return base + 2 * (static_cast<double>(q.ranks / q.nodes - 1) * inside + depth * across);
        case nccl_algorithm::collnet_direct:
            return base +
                   2 * (static_cast<double>(std::min<std::int64_t>(1, q.per_node - 1)) * inside +
                        static_cast<double>(q.per_node - 1) * 0.4) +
                   across;
        case nccl_algorithm::collnet_chain:
            return base + 2 * static_cast<double>(q.per_node - 1) * inside + across;
        case nccl_algorithm::nvls:
            return inside + (q.multi_node() ? across : 0);
        case nccl_algorithm::nvls_tree:
            break;
    }
    return base + inside + 2 * depth * across;
}

/// Returns the share of its bandwidth that a tree reaches at this size. Only the entries of the table up to index
/// `last` are used; above them, the tree reaches its full bandwidth.
[[nodiscard]] constexpr double tree_share(std::int64_t size, nccl_protocol protocol, std::size_t last) noexcept {
    const auto i = static_cast<std::size_t>(detail::floor_log2(size / 64));
    return i <= last ? detail::tree_correction[detail::position(protocol)][i] : 1.0;
}

/// Returns the time of the fastest protocol of an algorithm in microseconds, or infinity where the algorithm cannot
/// run. Ring and tree have three protocols, the others only the simple one.
[[nodiscard]] inline double fitted_time(const tuner_query& q, nccl_algorithm algorithm) {
    const bool ring = algorithm == nccl_algorithm::ring;
    const bool tree = algorithm == nccl_algorithm::tree;
    const double size = static_cast<double>(q.size);
    const double ring_share =
        ring && q.multi_node() ? interpolate(ring_correction_for(q.nodes), q.size / q.ranks) : 1.0;
    double best = std::numeric_limits<double>::infinity();
    for (const nccl_protocol protocol : all_nccl_protocols) {
        const bool simple = protocol == nccl_protocol::simple;
        if (!ring && !tree && !simple) continue;
        double rate = fitted_bandwidth(q, algorithm, protocol) * ring_share;
        if (tree) rate *= tree_share(q.size, protocol, 22);
        if (algorithm == nccl_algorithm::nvls_tree && q.architecture == gpu_architecture::blackwell)
            rate *= tree_share(q.size, protocol, 23);
        if (!(rate > 0)) continue;
        double wait = fitted_latency(q, algorithm, protocol);
        // Large ring all-reduces with the simple protocol pay more per step.
        if (ring && simple && q.reduce && q.multi_node() && size / (q.channels * static_cast<double>(q.ranks)) >= 64)
            wait *= 1.4;
        best = std::min(best, wait + size / (1000 * rate));
    }
    return best;
}

}  // namespace stretto::autoparallel

#endif
