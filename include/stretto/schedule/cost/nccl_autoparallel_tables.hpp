// These are the measured and fitted numbers of meta-pytorch/autoparallel's model of NCCL (BSD-3), in microseconds and
// GB/s; the formulas are in nccl_autoparallel.hpp and nccl_autoparallel_formulas.hpp. The numbers were measured on H100
// clusters and are scaled for others.
#ifndef STRETTO_SCHEDULE_COST_NCCL_AUTOPARALLEL_TABLES_HPP
#define STRETTO_SCHEDULE_COST_NCCL_AUTOPARALLEL_TABLES_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "stretto/schedule/cost/nccl_common.hpp"

namespace stretto::autoparallel {

using detail::per_node_count;
using detail::size_correction;

/// The bandwidth limits of one GPU generation in GB/s, by the number of nodes.
struct architecture_limits {
    per_node_count tree;        ///< per channel
    per_node_count nvls_tree;   ///< per channel
    per_node_count ll;          ///< all channels together
    per_node_count ring_ll128;  ///< per channel
    per_node_count tree_ll128;  ///< per channel
    double nvls_efficiency;
    std::int64_t default_channels;
};

inline constexpr architecture_limits ampere_limits{
    {24, 23.6, 17.8}, {24, 23.6, 17.8}, {87.7, 39, 20.4}, {20, 20, 20}, {20, 20, 20}, 0, 12};
inline constexpr architecture_limits hopper_limits{
    {38.7, 41.4, 36}, {0, 57.7, 45.5}, {141, 39, 20.4}, {36.7, 36.7, 36.7}, {36.7, 36.7, 29}, 0.85, 16};
inline constexpr architecture_limits blackwell_limits{
    {70, 42.8, 24}, {0, 96, 43.8}, {282, 39, 20.4}, {40, 40, 40}, {55.6, 31.67, 20}, 0.74, 16};

[[nodiscard]] constexpr const architecture_limits& limits_of(gpu_architecture gpu) noexcept {
    return gpu == gpu_architecture::blackwell ? blackwell_limits
           : gpu == gpu_architecture::hopper  ? hopper_limits
                                              : ampere_limits;
}

/// The share of its bandwidth that an algorithm reaches, by floor(log2(bytes per rank / 64)).
inline constexpr size_correction ring_correction = {1,    1,   1,    1,    1,    1,    1,    1, 1, 1, 1, 0.1,
                                                    0.18, 0.3, 0.43, 0.63, 0.55, 0.78, 0.93, 1, 1, 1, 1, 1};
inline constexpr size_correction nvls_tree_ramp = {1,    1,    1,    1,    1, 1, 1, 1, 0.1, 0.1, 0.15, 0.28,
                                                   0.41, 0.55, 0.72, 0.88, 1, 1, 1, 1, 1,   1,   1,    1};
inline constexpr size_correction full_mesh_ramp = {0.01, 0.02, 0.03, 0.06, 0.1,  0.16, 0.25, 0.36,
                                                   0.68, 0.68, 0.68, 0.68, 0.68, 0.68, 0.68, 0.68,
                                                   0.68, 0.68, 0.79, 0.87, 0.87, 0.87, 0.87, 0.87};
inline constexpr size_correction all_to_all_ramp = {1,    1,    1,    1,    1,    1,    1, 1, 0.28, 0.28, 0.35, 0.43,
                                                    0.62, 0.71, 0.82, 0.89, 0.92, 0.95, 1, 1, 1,    1,    1,    1};

/// Returns `ring_correction` for the given number of nodes. Beyond four nodes the dips become deeper with the depth of
/// the network, and then no entry may exceed twice the one before. (That clamp makes the time independent of the size
/// while a dip lasts, which is a known defect of the model.)
[[nodiscard]] inline size_correction ring_correction_for(std::int64_t nodes) {
    size_correction scaled = ring_correction;
    if (nodes <= 4) return scaled;
    const double exponent = 1 + 0.2 * static_cast<double>(detail::floor_log2(nodes) - 2);
    for (std::size_t i = 0; i < scaled.size(); ++i) {
        if (scaled[i] < 1) scaled[i] = std::pow(scaled[i], exponent);
        if (i > 0) scaled[i] = std::min(scaled[i], 2 * scaled[i - 1]);
    }
    return scaled;
}

/// A value measured at some number of ranks or nodes.
struct measured_point {
    double at;
    double value;
};

/// These are for collectives within one node behind an NVSwitch, by the number of ranks.
inline constexpr std::array<measured_point, 3> nvswitch_gather_bandwidth = {{{2, 537}, {4, 434}, {8, 394}}};
inline constexpr std::array<measured_point, 3> nvswitch_reduce_bandwidth = {{{2, 324}, {4, 236}, {8, 267}}};
inline constexpr std::array<measured_point, 3> nvswitch_gather_latency = {{{2, 8}, {4, 17}, {8, 30}}};
inline constexpr std::array<measured_point, 3> nvswitch_reduce_latency = {{{2, 10}, {4, 15}, {8, 31}}};
/// The latency of an all-to-all over several nodes, by the number of nodes.
inline constexpr std::array<measured_point, 5> all_to_all_latency = {{{2, 37}, {4, 42}, {8, 60}, {16, 98}, {32, 290}}};

inline constexpr double copy_engine_latency = 50;
inline constexpr double copy_engine_bandwidth_hopper = 380;
inline constexpr double copy_engine_bandwidth_blackwell = 675;
inline constexpr double all_to_all_kernel_share = 0.7;  ///< share of the link without copy engines
inline constexpr double network_card_overhead = 0.44;   ///< twice the share of a card that two nodes lose
inline constexpr double ring_synchronisation = 4.7;     ///< per node
inline constexpr double blackwell_scale = 2;  ///< Blackwell has no table: it gets H100's bandwidths times this

/// Returns the value at `at`, which is piecewise linear between the points and constant outside.
[[nodiscard]] constexpr double interpolate(std::span<const measured_point> points, double at) noexcept {
    if (at <= points.front().at) return points.front().value;
    for (std::size_t i = 1; i < points.size(); ++i) {
        const measured_point a = points[i - 1];
        const measured_point b = points[i];
        if (at <= b.at) return a.value + (b.value - a.value) * (at - a.at) / (b.at - a.at);
    }
    return points.back().value;
}

/// Returns a size correction between its entries, which is linear in log2(size / 64) and constant outside.
[[nodiscard]] inline double interpolate(const size_correction& table, std::int64_t size) {
    const std::int64_t units = size >> 6;
    if (units <= 0) return table.front();
    const double log = std::log2(static_cast<double>(units));
    const auto below = static_cast<std::size_t>(log);
    if (below + 1 >= table.size()) return table.back();
    return table[below] + (table[below + 1] - table[below]) * (log - static_cast<double>(below));
}

/// A cell of the tuning table: the latency in microseconds and the bandwidth in GB/s.
struct latency_bandwidth {
    double latency;
    double bandwidth;
};

/// A row of what NCCL's tuner prints for an H100 cluster: ring for all-gather and reduce-scatter; tree and NVLS tree
/// for all-reduce. The arrays are indexed by protocol. NVLS tree has only the simple protocol, and its bandwidth is 0
/// where it does not exist.
struct tuning_row {
    std::int64_t nodes;
    std::int64_t ranks_per_node;
    std::array<latency_bandwidth, 3> gather_ring;
    std::array<latency_bandwidth, 3> reduce_tree;
    latency_bandwidth reduce_nvls_tree;
};

inline constexpr std::array<tuning_row, 20> h100_tuning = {{
    {2, 1, {{{11.6, 48}, {22.5, 88.3}, {22.4, 96}}}, {{{16.8, 9.3}, {31, 31.2}, {36.4, 35.2}}}, {0, 0}},
    {2, 2, {{{11.3, 52}, {21.8, 117.8}, {29.2, 128}}}, {{{18, 16.6}, {33.5, 62.4}, {44.4, 70.4}}}, {0, 0}},
    {2, 4, {{{15.3, 44.6}, {29.4, 201.9}, {42.8, 219.4}}}, {{{20.4, 16.6}, {38.5, 124.8}, {60.4, 140.8}}}, {53, 160}},
    {2, 8, {{{23.3, 41.6}, {44.6, 313.2}, {70, 409.6}}}, {{{25.2, 16.6}, {48.5, 124.8}, {92.4, 140.8}}}, {53, 266.7}},
    {4, 1, {{{21.6, 27.2}, {39.5, 58.9}, {50.4, 64}}}, {{{26.8, 4.9}, {48, 17.6}, {64.4, 18.8}}}, {0, 0}},
    {4, 2, {{{18.7, 23.3}, {33.6, 100.9}, {64, 109.7}}}, {{{28, 8.7}, {50.5, 35.2}, {72.4, 37.5}}}, {0, 0}},
    {4, 4, {{{26.7, 21.8}, {48.8, 188.4}, {91.2, 204.8}}}, {{{30.4, 8.7}, {55.5, 70.4}, {88.4, 75.1}}}, {81, 80}},
    {4, 8, {{{42.7, 21.1}, {79.2, 303.1}, {145.6, 396.4}}}, {{{35.2, 8.7}, {65.5, 98.6}, {120.4, 122.4}}}, {81, 160}},
    {8, 1, {{{41.6, 23.3}, {73.5, 50.5}, {106.4, 54.9}}}, {{{36.8, 4.9}, {65, 17.6}, {92.4, 18.8}}}, {0, 0}},
    {8, 2, {{{33.5, 21.8}, {57.2, 94.2}, {133.6, 102.4}}}, {{{38, 8.7}, {67.5, 35.2}, {100.4, 37.5}}}, {0, 0}},
    {8, 4, {{{49.5, 21.1}, {87.6, 182.3}, {188, 198.2}}}, {{{40.4, 8.7}, {72.5, 70.4}, {116.4, 75.1}}}, {109, 80}},
    {8, 8, {{{81.5, 20.7}, {148.4, 298.3}, {296.8, 390.1}}}, {{{45.2, 8.7}, {82.5, 98.6}, {148.4, 122.4}}}, {109, 160}},
    {16, 1, {{{81.6, 21.8}, {141.5, 47.1}, {218.4, 51.2}}}, {{{46.8, 4.9}, {82, 17.6}, {120.4, 18.8}}}, {0, 0}},
    {16, 2, {{{63.1, 21.1}, {104.4, 91.2}, {272.8, 99.1}}}, {{{48, 8.7}, {84.5, 35.2}, {128.4, 37.5}}}, {0, 0}},
    {16, 4, {{{95.1, 20.7}, {165.2, 179.4}, {381.6, 195}}}, {{{50.4, 8.7}, {89.5, 70.4}, {144.4, 75.1}}}, {137, 80}},
    {16, 8, {{{159.1, 20.6}, {286.8, 295.9}, {599.2, 387}}}, {{{55.2, 8.7}, {99.5, 98.6}, {176.4, 122.4}}}, {137, 160}},
    {32, 1, {{{161.6, 21.1}, {277.5, 45.6}, {442.4, 49.5}}}, {{{56.8, 4.9}, {99, 17.6}, {148.4, 18.8}}}, {0, 0}},
    {32, 2, {{{122.3, 20.7}, {198.8, 89.7}, {551.2, 97.5}}}, {{{58, 8.7}, {101.5, 35.2}, {156.4, 37.5}}}, {0, 0}},
    {32, 4, {{{186.3, 20.6}, {320.4, 178}, {768.8, 193.5}}}, {{{60.4, 8.7}, {106.5, 70.4}, {172.4, 75.1}}}, {165, 80}},
    {32,
     8,
     {{{314.3, 20.5}, {563.6, 294.8}, {1204, 385.5}}},
     {{{65.2, 8.7}, {116.5, 98.6}, {204.4, 122.4}}},
     {165, 160}},
}};

/// Returns the row of the table for a layout, or null if there is none.
[[nodiscard]] constexpr const tuning_row* find_tuning(std::int64_t nodes, std::int64_t ranks_per_node) noexcept {
    for (const tuning_row& row : h100_tuning)
        if (row.nodes == nodes && row.ranks_per_node == ranks_per_node) return &row;
    return nullptr;
}

}  // namespace stretto::autoparallel

#endif
