// Cones: all that some vertices depend on (their down-set) and all that depends on them (their up-set).
//
// A set of positions in topological order is the work list. It is scanned in the direction of the search while
// neighbours are inserted ahead of the scan, so the vertices come out sorted, each once, and nothing is left behind.
#ifndef STRETTO_ANALYSIS_CONE_HPP
#define STRETTO_ANALYSIS_CONE_HPP

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "stretto/analysis/detail/order_positions.hpp"
#include "stretto/core/vertex_set.hpp"
#include "stretto/views/filtered.hpp"

namespace stretto {

/// The vertices at positions first .. last-1 of an order. Default: all of them.
struct order_window {
    std::size_t first = 0;
    std::size_t last = SIZE_MAX;
};

/// Answers cone queries on one graph. A query costs O(edges out of the cone, or into it, + positions it spans / 64) and
/// allocates nothing once the largest answer has been seen. 4 bytes per index, 1 bit and a handle per vertex. Not for
/// use by two threads at once. The graph may change only as long as the order stays one of its vertices and edges.
template <dependence_graph G>
class cone_finder {
public:
    using vertex_type = vertex_t<G>;

    /// `order`: a topological order of `g`, which must outlive the finder.
    cone_finder(G g, const topological_order<vertex_type>& order) : at_(g, order), pending_(order.size()) {}
    cone_finder(G g, const topological_order<vertex_type>&& order) = delete;

    /// Everything that `seeds` depend on, themselves included, in the order's order. Only vertices inside `window` are
    /// visited, so a path that leaves it ends there and seeds outside are ignored; only edges (u, v) that
    /// `keep_edge(u, v)` keeps are followed. The answer is valid until the next query.
    template <class Seeds = std::initializer_list<vertex_type>, edge_predicate<G> KeepEdge = detail::every_edge>
        requires vertex_collection<Seeds, vertex_type>
    [[nodiscard]] std::span<const vertex_type> down_set(Seeds&& seeds, order_window window = {},
                                                        KeepEdge keep_edge = {}) & {
        const order_window span = insert_seeds(seeds, window);
        pending_.scan_down<true>(span.first, span.last, [&](std::size_t at, auto insert) {
            const vertex_type v = at_.vertex(at);
            found_.push_back(v);
            for (vertex_type u : at_.graph().predecessors(v))
                if (const std::size_t p = at_.of(u); p >= window.first && keep_edge(u, v)) insert(p);
        });
        for (std::size_t i = 0, j = found_.size(); i + 1 < j; ++i) std::swap(found_[i], found_[--j]);
        return found_;
    }

    /// Everything that depends on `seeds`, themselves included; otherwise as down_set.
    template <class Seeds = std::initializer_list<vertex_type>, edge_predicate<G> KeepEdge = detail::every_edge>
        requires vertex_collection<Seeds, vertex_type>
    [[nodiscard]] std::span<const vertex_type> up_set(Seeds&& seeds, order_window window = {},
                                                      KeepEdge keep_edge = {}) & {
        const order_window span = insert_seeds(seeds, window);
        pending_.scan_up<true>(span.first, span.last, [&](std::size_t at, auto insert) {
            const vertex_type v = at_.vertex(at);
            found_.push_back(v);
            for (vertex_type w : at_.graph().successors(v))
                if (const std::size_t p = at_.of(w); p < window.last && keep_edge(v, w)) insert(p);
        });
        return found_;
    }

    /// Where a vertex stands in the order: for making windows.
    [[nodiscard]] std::size_t position(vertex_type v) const { return at_.of(v); }

private:
    /// The seeds become pending. Returns the window that they span.
    template <class Seeds>
    order_window insert_seeds(Seeds& seeds, order_window window) {
        found_.clear();
        order_window span{at_.size(), 0};
        at_.for_each(seeds, [&](std::size_t p) {
            if (p < window.first || p >= window.last) return;
            pending_.insert(p);
            if (p < span.first) span.first = p;
            if (p >= span.last) span.last = p + 1;
        });
        return span;
    }
    detail::order_positions<G> at_;
    detail::position_set<> pending_;  // empty between queries
    std::vector<vertex_type> found_;
};

/// All that `seeds` depend on, themselves included. For one query; several are cheaper through a cone_finder, which
/// also lists the vertices in order. O(V + edges into the cone) time, 4 bytes per index of scratch.
template <dependence_graph G, class Seeds = std::initializer_list<vertex_t<G>>>
    requires vertex_collection<Seeds, vertex_t<G>>
[[nodiscard]] vertex_set<G> down_set(G g, const topological_order<vertex_t<G>>& order, Seeds&& seeds) {
    cone_finder<G> finder(g, order);
    vertex_set<G> cone(g);
    for (const vertex_t<G>& v : finder.down_set(seeds)) cone.insert(v);
    return cone;
}

/// All that depends on `seeds`, themselves included; otherwise as down_set.
template <dependence_graph G, class Seeds = std::initializer_list<vertex_t<G>>>
    requires vertex_collection<Seeds, vertex_t<G>>
[[nodiscard]] vertex_set<G> up_set(G g, const topological_order<vertex_t<G>>& order, Seeds&& seeds) {
    cone_finder<G> finder(g, order);
    vertex_set<G> cone(g);
    for (const vertex_t<G>& v : finder.up_set(seeds)) cone.insert(v);
    return cone;
}

}  // namespace stretto

#endif
