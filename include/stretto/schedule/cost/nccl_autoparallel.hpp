// This is the model of NCCL in the overlap simulator of meta-pytorch/autoparallel: NCCL's tuner, re-fitted to
// measurements on H100 clusters. Below 32 nodes it is closer to real clusters than nccl_v2. It is reproduced to the
// last digit, including its defects, so that results are comparable. Apply `monotone_hull` to it before a bucketer
// relies on it.
//
// Known defects, all of which are kept: with two nodes, rings use the NVLink bandwidth even if every rank has a node to
// itself; beyond 32 nodes there is no table, and the formulas contradict the table; in places larger messages are up to
// a quarter faster than smaller ones.
#ifndef STRETTO_SCHEDULE_COST_NCCL_AUTOPARALLEL_HPP
#define STRETTO_SCHEDULE_COST_NCCL_AUTOPARALLEL_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "stretto/core/config.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/schedule/cost/cost_model.hpp"
#include "stretto/schedule/cost/nccl_autoparallel_formulas.hpp"
#include "stretto/schedule/cost/nccl_autoparallel_tables.hpp"
#include "stretto/schedule/cost/nccl_common.hpp"

namespace stretto {

/// A collective_cost_model. Groups of one rank and `other` collectives take no time. A query takes O(1) time, with at
/// most 11 evaluations of `pow` (for rings over more than four nodes).
struct nccl_autoparallel {
    gpu_architecture architecture = gpu_architecture::hopper;
    double intra_node_gigabytes_per_second = 320;  ///< per GPU
    double inter_node_gigabytes_per_second = 50;   ///< per GPU
    bool nvswitch = true;
    std::int64_t gpus_per_node = 8;
    bool collnet = false;
    double network_latency_microseconds = 0;  ///< per hop, on top of what the tables contain
    std::int64_t channels = 0;                ///< 0 means the default of the architecture

    /// These are presets for three kinds of cluster. GB200 has nodes of 72 GPUs, and A100 is modelled without NVSwitch.
    [[nodiscard]] static constexpr nccl_autoparallel a100() noexcept {
        return {gpu_architecture::ampere, 87.7, 25, false, 8};
    }
    [[nodiscard]] static constexpr nccl_autoparallel h100() noexcept { return {}; }
    [[nodiscard]] static constexpr nccl_autoparallel gb200() noexcept {
        return {gpu_architecture::blackwell, 640, 50, true, 72};
    }

    /// Returns the layout of the groups along dimension `k` of a device mesh whose last dimension varies fastest.
    /// Preconditions: `k < shape.size()`, and all extents are positive.
    [[nodiscard]] constexpr process_group mesh_dimension(std::span<const std::int64_t> shape, std::size_t k) const {
        STRETTO_ASSERT(k < shape.size(), "the mesh has no such dimension");
        std::int64_t inner = 1;
        for (std::size_t d = k + 1; d < shape.size(); ++d) inner *= shape[d];
        return {shape[k], std::max<std::int64_t>(1, std::min(gpus_per_node / inner, shape[k])), 0};
    }

    /// Returns the time before rounding, in microseconds, or infinity if no algorithm can run. `counted` is the size as
    /// this model counts it: bytes of the output for an all-gather, bytes of the input for everything else.
    [[nodiscard]] double microseconds(collective_kind kind, std::int64_t counted, const process_group& group) const;

    /// Returns the time of a collective. Converts the payload to the size that the model counts; a size that does not
    /// fit 64 bits counts as the largest that does.
    [[nodiscard]] nanoseconds duration(collective_kind kind, bytes payload, const process_group& group) const {
        const std::int64_t copies = kind == collective_kind::all_gather ? group.size : 1;
        const std::int64_t counted = payload.count > INT64_MAX / copies ? INT64_MAX : payload.count * copies;
        return from_microseconds(microseconds(kind, counted, group));
    }

private:
    /// Returns whether there is an NVSwitch of a generation that the tables cover: Hopper or later.
    [[nodiscard]] constexpr bool modern_switch() const noexcept {
        return nvswitch && detail::position(architecture) >= detail::position(gpu_architecture::hopper);
    }
    [[nodiscard]] autoparallel::tuner_query ask(collective_kind kind, std::int64_t counted,
                                                const process_group& group) const;
    [[nodiscard]] double one_switch(const autoparallel::tuner_query& q) const;
    [[nodiscard]] double tabulated(const autoparallel::tuner_query& q, nccl_algorithm algorithm, nccl_protocol protocol,
                                   autoparallel::latency_bandwidth row) const;
    [[nodiscard]] double all_to_all(const autoparallel::tuner_query& q) const;
};

/// Converts a collective and a layout into a query to the tuner. `counted` is in bytes, as above.
inline autoparallel::tuner_query nccl_autoparallel::ask(collective_kind kind, std::int64_t counted,
                                                        const process_group& group) const {
    const double count =
        static_cast<double>(channels > 0 ? channels : autoparallel::limits_of(architecture).default_channels);
    const std::int64_t per_node = std::min(group.size, group.ranks_per_node);
    const std::int64_t nodes = group.size / per_node;  // a partly filled last node is not counted
    const double intra = intra_node_gigabytes_per_second / count;
    const double inter = inter_node_gigabytes_per_second / count;
    return {.architecture = architecture,
            .reduce = kind == collective_kind::all_reduce,
            .collnet = collnet,
            .size = counted,
            .ranks = group.size,
            .nodes = nodes,
            .per_node = per_node,
            .channels = count,
            .intra = intra,
            .inter = inter,
            .inter_together = nvswitch && nodes > 1 ? std::min(intra, inter * static_cast<double>(per_node)) : inter,
            .extra_hop_latency = network_latency_microseconds};
}

/// The error of nccl_autoparallel_for: there is no preset for the device.
struct unknown_device {
    std::string_view name;
};

/// Returns the preset for a device that the driver calls `name` ("NVIDIA H100 80GB HBM3"), found by substring. The
/// error refers to `name`.
[[nodiscard]] inline expected<nccl_autoparallel, unknown_device> nccl_autoparallel_for(std::string_view name) {
    const auto contains = [name](std::string_view part) { return name.find(part) != std::string_view::npos; };
    if (contains("B200")) return nccl_autoparallel::gb200();  // GB200, too
    if (contains("H200") || contains("H100")) return nccl_autoparallel::h100();
    if (contains("A100")) return nccl_autoparallel::a100();
    return unexpected(unknown_device{name});
}

/// Returns the time in microseconds if all ranks are behind one NVSwitch.
inline double nccl_autoparallel::one_switch(const autoparallel::tuner_query& q) const {
    namespace ap = autoparallel;
    const double ranks = static_cast<double>(q.ranks);
    const double scale = architecture == gpu_architecture::blackwell ? ap::blackwell_scale : 1.0;
    const double rate =
        scale * ap::interpolate(q.reduce ? ap::nvswitch_reduce_bandwidth : ap::nvswitch_gather_bandwidth, ranks);
    return ap::interpolate(q.reduce ? ap::nvswitch_reduce_latency : ap::nvswitch_gather_latency, ranks) +
           static_cast<double>(q.size) / (1000 * rate);
}

/// Returns the time in microseconds that a row of the tuning table gives, with the corrections for size.
inline double nccl_autoparallel::tabulated(const autoparallel::tuner_query& q, nccl_algorithm algorithm,
                                           nccl_protocol protocol, autoparallel::latency_bandwidth row) const {
    namespace ap = autoparallel;
    if (architecture == gpu_architecture::blackwell) row.bandwidth *= ap::blackwell_scale;
    const std::int64_t per_rank = q.size / q.ranks;
    if (algorithm == nccl_algorithm::tree) {
        row.bandwidth *= ap::tree_share(q.size, protocol, 22);
    } else if (algorithm == nccl_algorithm::nvls_tree) {
        row.bandwidth *= ap::interpolate(ap::nvls_tree_ramp, per_rank);
    } else if (q.per_node == gpus_per_node && detail::floor_log2(per_rank / 64) < 24) {
        row.bandwidth *= ap::interpolate(ap::full_mesh_ramp, per_rank);
    }
    return row.latency + static_cast<double>(q.size) / (1000 * row.bandwidth);
}

/// Returns the time of an all-to-all in microseconds. It runs on copy engines within a node that has a modern NVSwitch,
/// on network cards between nodes with an NVSwitch, and otherwise as kernels in a ring.
inline double nccl_autoparallel::all_to_all(const autoparallel::tuner_query& q) const {
    namespace ap = autoparallel;
    const double size = static_cast<double>(q.size);
    const double ranks = static_cast<double>(q.ranks);
    const double nodes = static_cast<double>(q.nodes);
    if (modern_switch() && !q.multi_node())
        return ap::copy_engine_latency +
               size / (1000 * (architecture == gpu_architecture::blackwell ? ap::copy_engine_bandwidth_blackwell
                                                                           : ap::copy_engine_bandwidth_hopper));
    if (nvswitch && q.multi_node()) {
        const double card = inter_node_gigabytes_per_second * (1 - ap::network_card_overhead / nodes);
        if (!(card > 0)) return std::numeric_limits<double>::infinity();
        const auto i = static_cast<std::size_t>(detail::floor_log2(q.size / q.ranks / 64));
        const std::int64_t depth = detail::floor_log2(q.nodes);
        double correction = i < ap::all_to_all_ramp.size() ? ap::all_to_all_ramp[i] : 1.0;
        if (depth > 1) correction = 1 - (1 - correction) / static_cast<double>(depth);
        const double remote = static_cast<double>(q.ranks - q.per_node) / ranks;
        return ap::interpolate(ap::all_to_all_latency, nodes) + size * remote / (1000 * card * correction);
    }
    const double bus = q.channels * (q.nodes <= 2 ? q.intra : q.inter) * ap::all_to_all_kernel_share;
    const detail::nccl_latencies& ring = detail::algorithm_latencies[detail::position(nccl_algorithm::ring)];
    const std::size_t simple = detail::position(nccl_protocol::simple);
    const double inside = std::max(ring.nvlink_hop[simple], q.multi_node() ? 3.0 : 0.0);
    return ring.base[simple] + (ranks - (nodes - 1)) * inside +
           (nodes - 1) * ap::network_hop(q, nccl_algorithm::ring, nccl_protocol::simple) + size / (1000 * bus);
}

/// Returns the time from measurements where there are some, and otherwise the time of the best algorithm that can run.
inline double nccl_autoparallel::microseconds(collective_kind kind, std::int64_t counted,
                                              const process_group& group) const {
    using autoparallel::fitted_time;
    if (group.size <= 1 || kind == collective_kind::other) return 0;
    const autoparallel::tuner_query q = ask(kind, counted, group);
    if (kind == collective_kind::all_to_all) return all_to_all(q);
    if (modern_switch() && !q.multi_node()) return one_switch(q);

    double best = std::numeric_limits<double>::infinity();
    const autoparallel::tuning_row* row = modern_switch() ? autoparallel::find_tuning(q.nodes, q.per_node) : nullptr;
    if (row != nullptr) {
        const nccl_algorithm algorithm = q.reduce ? nccl_algorithm::tree : nccl_algorithm::ring;
        const auto& cells = q.reduce ? row->reduce_tree : row->gather_ring;
        for (const nccl_protocol p : all_nccl_protocols)
            best = std::min(best, tabulated(q, algorithm, p, cells[detail::position(p)]));
        if (!q.reduce) return best;
        if (row->reduce_nvls_tree.bandwidth > 0)
            best =
                std::min(best, tabulated(q, nccl_algorithm::nvls_tree, nccl_protocol::simple, row->reduce_nvls_tree));
        return std::min(best, fitted_time(q, nccl_algorithm::ring));
    }

    best = fitted_time(q, nccl_algorithm::ring);
    if (q.reduce) best = std::min(best, fitted_time(q, nccl_algorithm::tree));
    if (collnet) best = std::min(best, fitted_time(q, nccl_algorithm::collnet_direct));
    if (collnet && q.reduce) best = std::min(best, fitted_time(q, nccl_algorithm::collnet_chain));
    if (modern_switch()) best = std::min(best, fitted_time(q, nccl_algorithm::nvls));
    if (modern_switch() && q.reduce && q.multi_node()) best = std::min(best, fitted_time(q, nccl_algorithm::nvls_tree));
    return best;
}

}  // namespace stretto

#endif
