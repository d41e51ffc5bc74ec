// Latency plus bytes over bandwidth: the two-parameter models that every paper on overlap reasons with.
#ifndef STRETTO_SCHEDULE_COST_ALPHA_BETA_HPP
#define STRETTO_SCHEDULE_COST_ALPHA_BETA_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "stretto/schedule/cost/cost_model.hpp"

namespace stretto {

/// One message of b bytes takes `alpha + b / beta`. Beta is in GB/s, which is bytes per nanosecond; it is positive.
struct link_cost {
    nanoseconds alpha = {};
    double beta = 1;
};

/// A collective_cost_model with one alpha and beta per collective, fitted to payloads (one rank's input bytes) of one
/// group size. A group of one rank communicates nothing and takes no time.
struct alpha_beta {
    std::array<link_cost, 5> costs = {};  ///< indexed by collective_kind

    [[nodiscard]] constexpr nanoseconds duration(collective_kind kind, bytes payload,
                                                 const group_layout& group) const noexcept {
        if (group.ranks <= 1) return {};
        const link_cost& cost = costs[static_cast<std::size_t>(kind)];
        return cost.alpha + from_microseconds(static_cast<double>(payload.count) / cost.beta / 1000.0);
    }
};

/// A collective_cost_model that counts the steps of a ring over R ranks with an input of S bytes on each:
///
///     all-gather       R-1 steps of S          reduce-scatter  R-1 steps of S/R
///     all-reduce    2 steps of S/R       all-to-all      R-1 steps of S/R (pairwise exchange)
///
/// A ring over N nodes crosses between nodes in N-1 of every R-1 steps, which pay the alpha of `inter_node`; all steps
/// move in lock step at the lower of the two betas. The pairwise exchange of P ranks per node stays within the node for
/// P-1 steps and crosses in the other R-P. `other` is one message over the slower link.
/// After Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH" (2005).
struct ring_alpha_beta {
    link_cost intra_node = {};
    link_cost inter_node = {};

    [[nodiscard]] constexpr nanoseconds duration(collective_kind kind, bytes payload,
                                                 const group_layout& group) const noexcept {
        if (group.ranks <= 1) return {};
        const bool one_node = group.nodes() == 1;
        const double input = static_cast<double>(payload.count);
        const double part = input / static_cast<double>(group.ranks);
        const double lock_step_beta = one_node ? intra_node.beta : std::min(intra_node.beta, inter_node.beta);
        const std::int64_t steps = group.ranks - 1;
        switch (kind) {
            case collective_kind::all_gather:
                return ring(1, steps, group.nodes() - 1, input, lock_step_beta);
            case collective_kind::reduce_scatter:
                return ring(1, steps, group.nodes() - 1, part, lock_step_beta);
            case collective_kind::all_reduce:
                return ring(2, steps, group.nodes() - 1, part, lock_step_beta);
            case collective_kind::all_to_all: {
                const std::int64_t crossing = one_node ? 0 : group.ranks - group.ranks_per_node;
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
    [[nodiscard]] constexpr nanoseconds ring(std::int64_t rounds, std::int64_t steps, std::int64_t crossing,
                                             double step_bytes, double beta) const noexcept {
        return rounds * (intra_node.alpha * (steps - crossing) + inter_node.alpha * crossing) +
               from_microseconds(static_cast<double>(rounds * steps) * step_bytes / beta / 1000.0);
    }
};

}  // namespace stretto

#endif
