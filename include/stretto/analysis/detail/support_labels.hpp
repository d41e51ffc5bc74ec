// Support labels, for graphs that consist of several long parts side by side: micro-batches that share parameters,
// chunks of a region. One spine says nothing about the parts that it does not run through.
//
// Up to 16 disjoint spines are taken. Every vertex keeps its positions on the one that is nearest to it, and one bit
// for each of 64 supports, vertices spread over all spines: which of them it reaches, and which reach it.
// The supports follow O'Reach (Hanauer, Schulz, Trummer: Faster reachability in static graphs, SEA 2021).
#ifndef STRETTO_ANALYSIS_DETAIL_SUPPORT_LABELS_HPP
#define STRETTO_ANALYSIS_DETAIL_SUPPORT_LABELS_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/analysis/detail/greedy_paths.hpp"
#include "stretto/analysis/detail/reach_verdict.hpp"
#include "stretto/views/snapshot.hpp"

namespace stretto::detail {

/// The upper four bits of both spine positions say which spine; positions on different ones are not compared.
struct alignas(32) support_label {
    std::uint32_t position = UINT32_MAX;
    std::uint32_t rank = 0;
    std::uint32_t next_spine = 0;  ///< the first position, from 1, that the vertex reaches; all ones if none
    std::uint32_t last_spine = 0;  ///< the last position that reaches the vertex; 0 if none
    std::uint64_t reached = 0;     ///< supports that the vertex reaches
    std::uint64_t reaching = 0;    ///< supports that reach the vertex
};

inline constexpr std::uint32_t spine_position_bits = 28;
inline constexpr std::uint32_t spine_position_mask = (std::uint32_t{1} << spine_position_bits) - 1;

/// Both answers are proofs.
[[nodiscard]] inline reach_verdict compare(const support_label& u, const support_label& v) noexcept {
    const bool same_spine = (u.next_spine ^ v.next_spine) <= spine_position_mask;
    const bool proved = either(either(u.position == v.position, both(same_spine, u.next_spine <= v.last_spine)),
                               (u.reached & v.reaching) != 0);
    const bool possible = both(both(both(u.position < v.position, u.rank < v.rank),
                                    ((u.reaching & ~v.reaching) | (v.reached & ~u.reached)) == 0),
                               either(!same_spine, both(u.next_spine <= v.next_spine, u.last_spine <= v.last_spine)));
    return verdict_of(proved, !either(proved, possible));
}

/// Ids must be in topological order. About 24 passes; 72 bytes of scratch per vertex beside the labels.
template <class = void>
class support_labelling {
public:
    /// `rank` is another topological order.
    support_labelling(snapshot_view g, std::span<const std::uint32_t> rank)
        : graph_(g), spines_(greedy_paths(g, lanes, 2, 8)), rows_(g.index_bound()), labels_(g.index_bound()) {
        place_supports();
        sweep_down(rank);
        for (row& r : rows_) r = {};
        sweep_up();
    }
    /// By id.
    [[nodiscard]] const std::vector<support_label>& labels() const noexcept { return labels_; }

private:
    static constexpr std::size_t lanes = 16, supports = 64;
    static constexpr std::uint32_t longest_spine = spine_position_mask - 1;

    /// One number per spine.
    struct alignas(64) row {
        std::uint32_t lane[lanes] = {};

        void raise(const row& other) {
            for (std::size_t k = 0; k < lanes; ++k) lane[k] = other.lane[k] > lane[k] ? other.lane[k] : lane[k];
        }
        [[nodiscard]] std::uint32_t largest() const {
            std::uint32_t best = 0;
            for (std::uint32_t k = 1; k < lanes; ++k) best = lane[k] > lane[best] ? k : best;
            return best;
        }
    };

    /// Only as much of a spine as there are numbers for its positions.
    [[nodiscard]] std::span<const std::uint32_t> spine(std::size_t k) const {
        return spines_[k].first(spines_[k].size() < longest_spine ? spines_[k].size() : longest_spine);
    }

    /// As many on every spine, evenly spread.
    void place_supports() {
        for (std::size_t k = 0; k < spines_.rows(); ++k) {
            const std::size_t first = supports * k / spines_.rows();
            const std::size_t share = supports * (k + 1) / spines_.rows() - first;
            for (std::size_t s = 0; s < share; ++s) {
                support_label& l = labels_[spine(k)[(2 * s + 1) * spine(k).size() / (2 * share)]];
                l.reached |= std::uint64_t{1} << (first + s);
            }
        }
        for (support_label& l : labels_) l.reaching = l.reached;
    }

    /// The spine of a vertex: its own if it lies on one; else the one of which it comes after most.
    void sweep_down(std::span<const std::uint32_t> rank) {
        for (std::uint32_t k = 0; k < spines_.rows(); ++k)
            for (std::uint32_t p = 0; p < spine(k).size(); ++p) {
                rows_[spine(k)[p]].lane[k] = p + 1;
                labels_[spine(k)[p]].last_spine = k << spine_position_bits | (p + 1);
            }
        for (std::uint32_t v = 0; v < labels_.size(); ++v) {
            support_label& l = labels_[v];
            for (std::uint32_t u : graph_.predecessors(v)) {
                rows_[v].raise(rows_[u]);
                l.reaching |= labels_[u].reaching;
            }
            l.position = v;
            l.rank = rank[v];
            if (l.last_spine != 0) continue;
            const std::uint32_t k = rows_[v].largest();
            l.last_spine = k << spine_position_bits | rows_[v].lane[k];
        }
    }

    /// A vertex that comes after none belongs to the spine on which what it reaches leaves most behind it. Lanes hold
    /// complements of positions, so that nothing is zero and smaller is larger.
    void sweep_up() {
        for (std::size_t k = 0; k < spines_.rows(); ++k)
            for (std::uint32_t p = 0; p < spine(k).size(); ++p)
                rows_[spine(k)[p]].lane[k] = spine_position_mask - (p + 1);
        for (std::uint32_t v = static_cast<std::uint32_t>(labels_.size()); v-- > 0;) {
            support_label& l = labels_[v];
            for (std::uint32_t w : graph_.successors(v)) {
                rows_[v].raise(rows_[w]);
                l.reached |= labels_[w].reached;
            }
            if ((l.last_spine & spine_position_mask) == 0) l.last_spine = rows_[v].largest() << spine_position_bits;
            const std::uint32_t k = l.last_spine >> spine_position_bits;
            l.next_spine = k << spine_position_bits | (spine_position_mask - rows_[v].lane[k]);
        }
    }

    snapshot_view graph_;
    index_lists spines_;
    std::vector<row> rows_;
    std::vector<support_label> labels_;
};

}  // namespace stretto::detail

#endif
