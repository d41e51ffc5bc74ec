// These cost models have two parameters, a latency and a bandwidth. Papers on overlap generally reason with them.
#ifndef STRETTO_SCHEDULE_COST_ALPHA_BETA_HPP
#define STRETTO_SCHEDULE_COST_ALPHA_BETA_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "stretto/schedule/cost/cost_model.hpp"

namespace stretto {

/// The cost of one message: b bytes take `alpha + b / beta`. Beta is in GB/s, which is bytes per nanosecond.
/// Precondition: beta is positive.
struct link_cost {
    nanoseconds alpha = {};
    double beta = 1;
};

/// A collective_cost_model with one latency and one bandwidth for each kind of collective, fitted to payloads (bytes of
/// one rank's input) for groups of one size. A group of one rank communicates nothing, so its collectives take no time.
struct alpha_beta {
    std::array<link_cost, 5> costs = {};  ///< indexed by collective_kind

    /// Returns the time of a collective. O(1).
    [[nodiscard]] constexpr nanoseconds duration(collective_kind kind, bytes payload,
                                                 const process_group& group) const noexcept {
        if (group.size <= 1) return {};
        const link_cost& cost = costs[static_cast<std::size_t>(kind)];
        return cost.alpha + from_microseconds(static_cast<double>(payload.count) / cost.beta / 1000.0);
    }
};

/// A collective_cost_model that counts the steps of a ring over R ranks, each of which has an input of S bytes:
///
///     all-gather       R-1 steps of S          reduce-scatter  R-1 steps of S/R
///     all-reduce    2 steps of S/R       all-to-all      R-1 steps of S/R (pairwise exchange)
///
/// A ring over N > 1 nodes crosses between nodes in N-1 of every R-1 steps, and these steps pay the alpha of
/// `inter_node`. All ranks move in lock step, so every step runs at the lower of the two betas. In the pairwise
/// exchange with P ranks per node, P-1 steps stay within the node and the other R-P cross. `other` is one message over
/// the slower link. A group of one rank takes no time. Source: Thakur, Rabenseifner and Gropp, "Optimization of
/// collective communication operations in MPICH" (2005).
struct ring_alpha_beta {
    link_cost intra_node = {};
    link_cost inter_node = {};

    /// Returns the time of a collective. O(1).
    [[nodiscard]] constexpr nanoseconds duration(collective_kind kind, bytes payload,
                                                 const process_group& group) const noexcept {
        if (group.size <= 1) return {};
        const bool one_node = group.nodes() == 1;
        const double input = static_cast<double>(payload.count);
        const double part = input / static_cast<double>(group.size);
        const double lock_step_beta = one_node ? intra_node.beta : std::min(intra_node.beta, inter_node.beta);
        const std::int64_t steps = group.size - 1;
        switch (kind) {
            case collective_kind::all_gather:
                return ring(1, steps, group.nodes() - 1, input, lock_step_beta);
            case collective_kind::reduce_scatter:
                return ring(1, steps, group.nodes() - 1, part, lock_step_beta);
            case collective_kind::all_reduce:
                return ring(2, steps, group.nodes() - 1, part, lock_step_beta);
            case collective_kind::all_to_all: {
                const std::int64_t crossing = one_node ? 0 : group.size - group.ranks_per_node;
                return intra_node.alpha * (steps - crossing) + inter_node.alpha * crossing +
                       from_microseconds(part *
                                         (static_cast<double>(steps - crossing) / intra_node.beta +
                                          static_cast<double>(crossing) / inter_node.beta) /
                                         1000.0);
            }
            case collective_kind::other:
                break;
        }
        return (one_node ? intra_node : inter_node).alpha + from_microseconds(input / lock_step_beta / 1000.0);
    }

private:
    /// Returns the time of `rounds` rounds of `steps` steps each, of which `crossing` steps per round cross between
    /// nodes.
    [[nodiscard]] constexpr nanoseconds ring(std::int64_t rounds, std::int64_t steps, std::int64_t crossing,
                                             double step_bytes, double beta) const noexcept {
        return rounds * (intra_node.alpha * (steps - crossing) + inter_node.alpha * crossing) +
               from_microseconds(static_cast<double>(rounds * steps) * step_bytes / beta / 1000.0);
    }
};

}  // namespace stretto

#endif
