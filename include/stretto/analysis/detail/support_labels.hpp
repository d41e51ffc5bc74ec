// Support labels, for graphs that consist of several long parts side by side: micro-batches that share parameters, or
// the chunks of a region. A single spine says nothing about the parts that it does not run through.
//
// Up to 16 disjoint spines are taken. Every vertex stores its positions on the spine nearest to it, and two bits for
// each of 64 supports, which are vertices spread over all the spines: whether it reaches the support, and whether the
// support reaches it. The supports follow O'Reach (Hanauer, Schulz, Trummer: Faster reachability in static graphs, SEA
// 2021).
#ifndef STRETTO_ANALYSIS_DETAIL_SUPPORT_LABELS_HPP
#define STRETTO_ANALYSIS_DETAIL_SUPPORT_LABELS_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/analysis/detail/greedy_paths.hpp"
#include "stretto/analysis/detail/label_fields.hpp"
#include "stretto/analysis/detail/raw_array.hpp"
#include "stretto/analysis/detail/reach_verdict.hpp"
#include "stretto/analysis/topological_order.hpp"
#include "stretto/core/checked_index.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/index_lists.hpp"

namespace stretto::detail {

/// The label of one vertex. Bits 27 to 30 of both spine positions say which spine it is; positions on different spines
/// are not compared.
struct alignas(32) support_label {
    label_fields at;
    std::uint64_t reached;   ///< the supports that the vertex reaches
    std::uint64_t reaching;  ///< the supports that reach the vertex
};

inline constexpr std::uint32_t spine_position_bits = 27;
inline constexpr std::uint32_t spine_position_mask = (std::uint32_t{1} << spine_position_bits) - 1;

/// What the labels say about a path from `u` to another vertex `v`. "Yes" and "no" are proofs. Precondition: the
/// vertices are different.
[[nodiscard]] inline reach_verdict compare(const support_label& u, const support_label& v) noexcept {
    using found = label_contradictions;
    const bool same_spine = (u.at.next_spine ^ v.at.next_spine) <= spine_position_mask;
    const unsigned on_spine = found::next_spine | found::last_spine | found::unconnected;
    const unsigned all = contradictions(u.at, v.at);
    const unsigned valid = same_spine ? all : (all & ~on_spine) | found::unconnected;
    const bool proved = either(valid < found::unconnected, (u.reached & v.reaching) != 0);
    const bool refuted =
        either(valid > found::unconnected, ((u.reaching & ~v.reaching) | (v.reached & ~u.reached)) != 0);
    return verdict_of(proved, refuted);
}

/// Computes support labels. The vertices of the graph must be ids in topological order. It takes about 26 passes and 76
/// bytes of scratch per vertex besides the labels.
template <dependence_graph Ids>
class support_labelling {
public:
    explicit support_labelling(Ids g)
        : graph_(g),
          spines_(greedy_paths(g, lanes, 2, 8)),
          rows_(g.index_bound()),
          labels_(g.index_bound()),
          missing_(g.index_bound()) {
        place_supports();
        sweep_down();
        rank_feeding();
        rank_others();
        for (row& r : rows_) r = {};
        sweep_up();
    }
    /// The labels, by id.
    [[nodiscard]] const std::vector<support_label>& labels() const noexcept { return labels_; }

private:
    static constexpr std::size_t lanes = 16, supports = 64;
    static constexpr std::uint32_t longest_spine = spine_position_mask - 1;

    /// One number for each spine.
    struct alignas(64) row {
        std::uint32_t lane[lanes] = {};

        /// Takes the larger number for each spine.
        void raise(const row& other) {
            for (std::size_t k = 0; k < lanes; ++k) lane[k] = other.lane[k] > lane[k] ? other.lane[k] : lane[k];
        }
        /// The spine with the largest number, the first of several.
        [[nodiscard]] std::uint32_t largest() const {
            std::uint32_t best = 0;
            for (std::uint32_t k = 1; k < lanes; ++k) best = lane[k] > lane[best] ? k : best;
            return best;
        }
    };

    [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(labels_.size()); }

    /// The part of a spine for whose positions there are numbers; all of it, unless it is extremely long.
    [[nodiscard]] std::span<const std::uint32_t> spine(std::size_t k) const {
        return spines_[k].first(spines_[k].size() < longest_spine ? spines_[k].size() : longest_spine);
    }

    /// Spreads the supports evenly: as many on every spine, and evenly along each.
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

    /// Finds what reaches each vertex, and chooses its spine: its own if it lies on one, otherwise the one on which the
    /// last position that reaches it is the largest.
    void sweep_down() {
        for (std::uint32_t k = 0; k < spines_.rows(); ++k)
            for (std::uint32_t p = 0; p < spine(k).size(); ++p) {
                rows_[spine(k)[p]].lane[k] = p + 1;
                labels_[spine(k)[p]].at.last_spine = k << spine_position_bits | (p + 1);
            }
        for (std::uint32_t v = 0; v < labels_.size(); ++v) {
            support_label& l = labels_[v];
            for (std::uint32_t u : graph_.predecessors(v)) {
                rows_[v].raise(rows_[u]);
                l.reaching |= labels_[u].reaching;
            }
            l.at.position = v;
            if (l.at.last_spine != 0) continue;
            const std::uint32_t k = rows_[v].largest();
            l.at.last_spine = k << spine_position_bits | rows_[v].lane[k];
        }
    }

    /// Whether no spine reaches the vertex.
    [[nodiscard]] bool feeds(std::uint32_t v) const { return (labels_[v].at.last_spine & spine_position_mask) == 0; }

    /// Ranks the vertices that no spine reaches, from the last back to the first. It always goes on with the vertex
    /// that became ready last. Programs list one replica after the other, and in breadth; this rank goes in depth, and
    /// through the last replica first, so that it contradicts the position often.
    void rank_feeding() {
        for (std::uint32_t v = size(); v-- > 0;) {
            if (!feeds(v)) continue;
            ++feeding_;
            for (std::uint32_t w : graph_.successors(v)) missing_[v] += feeds(w);
            if (missing_[v] == 0) ready_.push_back(v);
        }
        for (std::uint32_t rank = feeding_; !ready_.empty();) {
            const std::uint32_t v = ready_.back();
            ready_.pop_back();
            labels_[v].at.rank = --rank;
            for (std::uint32_t u : graph_.predecessors(v))
                if (--missing_[u] == 0) ready_.push_back(u);
        }
    }
    /// Ranks all other vertices the same way, but from the first on.
    void rank_others() {
        for (std::uint32_t v = 0; v < size(); ++v) {
            if (feeds(v)) continue;
            for (std::uint32_t u : graph_.predecessors(v)) missing_[v] += !feeds(u);
            if (missing_[v] == 0) ready_.push_back(v);
        }
        for (std::uint32_t rank = feeding_; !ready_.empty(); ++rank) {
            const std::uint32_t v = ready_.back();
            ready_.pop_back();
            labels_[v].at.rank = rank;
            for (std::uint32_t w : graph_.successors(v))
                if (--missing_[w] == 0) ready_.push_back(w);
        }
    }

    /// Finds what each vertex reaches. A vertex that no spine reaches gets the spine on which the first position that
    /// it reaches is the smallest. The lanes hold complements of positions, so that no position is zero and an earlier
    /// one is a larger number.
    void sweep_up() {
        for (std::size_t k = 0; k < spines_.rows(); ++k)
            for (std::uint32_t p = 0; p < spine(k).size(); ++p)
                rows_[spine(k)[p]].lane[k] = spine_position_mask - (p + 1);
        for (std::uint32_t v = size(); v-- > 0;) {
            support_label& l = labels_[v];
            for (std::uint32_t w : graph_.successors(v)) {
                rows_[v].raise(rows_[w]);
                l.reached |= labels_[w].reached;
            }
            if ((l.at.last_spine & spine_position_mask) == 0)
                l.at.last_spine = rows_[v].largest() << spine_position_bits;
            const std::uint32_t k = l.at.last_spine >> spine_position_bits;
            l.at.next_spine = k << spine_position_bits | (spine_position_mask - rows_[v].lane[k]);
        }
    }

    Ids graph_;
    index_lists spines_;
    std::vector<row> rows_;
    std::vector<support_label> labels_;
    std::vector<std::uint32_t> missing_, ready_;  // neighbours that must be ranked first; vertices that wait for none
    std::uint32_t feeding_ = 0;
};

/// The finished labels, by index.
class support_labels {
public:
    support_labels() = default;
    /// `labelling` must be that of the positions of `order`.
    template <class Ids, dependence_graph G>
    support_labels(const support_labelling<Ids>& labelling, const G& g, const topological_order<vertex_t<G>>& order)
        : labels_(g.index_bound()) {
        if (order.size() < labels_.size())
            for (support_label& l : labels_) l = {{label_fields::none, 0, 0, 0}, 0, 0};
        for (std::size_t p = 0; p < order.size(); ++p)
            labels_[checked_index(g, order[p], labels_.size())] = labelling.labels()[p];
    }

    /// Whether the vertex of index `i` is in the order.
    [[nodiscard]] bool contains(std::size_t i) const {
        return i < labels_.size() && labels_[i].at.position != label_fields::none;
    }
    [[nodiscard]] reach_verdict compare(std::size_t i, std::size_t j) const {
        return detail::compare(labels_[i], labels_[j]);
    }
    [[nodiscard]] std::size_t bytes() const { return labels_.size() * sizeof(support_label); }

private:
    raw_array<support_label> labels_;
};

}  // namespace stretto::detail

#endif
