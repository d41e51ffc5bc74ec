// The search for a path where labels do not decide the query, pruned by the same labels.
#ifndef STRETTO_ANALYSIS_DETAIL_PRUNED_SEARCH_HPP
#define STRETTO_ANALYSIS_DETAIL_PRUNED_SEARCH_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/analysis/detail/reach_verdict.hpp"
#include "stretto/core/concepts.hpp"

namespace stretto::detail {

/// Searches breadth first, so that the nearest vertex whose labels decide ends the search. It owns its buffers, a bit
/// per index and the vertices found, and allocates only when it finds more vertices than ever before.
template <dependence_graph G>
class pruned_search {
public:
    using V = vertex_t<G>;

    explicit pruned_search(std::size_t index_bound) : found_before_((index_bound + 63) / 64) {}

    /// Whether `u` reaches another vertex `v` if their labels do not decide. `steps` grows by one for each edge that is
    /// followed; if it exceeds `most`, the search is abandoned, and the result false has no meaning.
    template <class Labels>
    bool run(const G& g, const Labels& labels, V u, V v, std::uint64_t& steps, std::uint64_t most) {
        const std::size_t goal = g.index(v);
        found_.clear();
        found_.push_back(u);
        bool reached = false;
        for (std::size_t k = 0; k < found_.size() && !reached && steps <= most; ++k) {
            const V from = found_[k];
            for (V w : g.successors(from)) {
                ++steps;
                const std::size_t i = g.index(w);
                const reach_verdict verdict = labels.compare(i, goal);
                if (i == goal || verdict == reach_verdict::yes) {
                    reached = true;
                    break;
                }
                if (verdict == reach_verdict::no) continue;
                const std::uint64_t bit = std::uint64_t{1} << (i % 64);
                if (found_before_[i / 64] & bit) continue;
                found_before_[i / 64] |= bit;
                found_.push_back(w);
            }
        }
        for (const V& w : found_) found_before_[g.index(w) / 64] = 0;
        return reached;
    }

private:
    std::vector<std::uint64_t> found_before_;  // bits by index; zero between searches
    std::vector<V> found_;
};

}  // namespace stretto::detail

#endif
