// Arbitrary directed multigraphs, cycles and self-loops included, which are listed in an arbitrary program order and
// numbered against it, for tests of pure graph algorithms; and the plainest possible description of any view, which is
// its edges.
#ifndef STRETTO_TESTS_SUPPORT_EDGE_GRAPH_HPP
#define STRETTO_TESTS_SUPPORT_EDGE_GRAPH_HPP

#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <utility>
#include <vector>

#include "stretto/core/concepts.hpp"

namespace support {

struct edge_graph {
    std::uint32_t size = 0;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
    std::vector<std::uint32_t> order;  ///< vertices in program order

    friend std::ostream& operator<<(std::ostream& out, const edge_graph& g);
};

struct edge_graph_view {
    using vertex_type = std::uint32_t;
    const edge_graph* g;

    const std::vector<std::uint32_t>& vertices() const { return g->order; }
    std::vector<std::uint32_t> successors(std::uint32_t v) const {
        std::vector<std::uint32_t> all;
        for (auto [from, to] : g->edges)
            if (from == v) all.push_back(to);
        return all;
    }
    std::vector<std::uint32_t> predecessors(std::uint32_t v) const {
        std::vector<std::uint32_t> all;
        for (auto [from, to] : g->edges)
            if (to == v) all.push_back(from);
        return all;
    }
    std::size_t index(std::uint32_t v) const { return g->size - 1 - v; }
    std::size_t index_bound() const { return g->size; }
};
static_assert(stretto::dependence_graph<edge_graph_view>);

/// A random graph of up to 30 vertices in a random order. Acyclic ones need not be listed in topological order either.
rc::Gen<edge_graph> random_edge_graphs(bool acyclic);

using index_pairs = std::vector<std::pair<std::size_t, std::size_t>>;

/// All edges of a view between listed vertices, as pairs of indices, sorted; parallel edges as often as they exist.
template <stretto::dependence_graph G>
index_pairs edges_of(G g) {
    index_pairs edges;
    for (stretto::vertex_t<G> u : g.vertices())
        for (stretto::vertex_t<G> v : g.successors(u)) edges.emplace_back(g.index(u), g.index(v));
    std::sort(edges.begin(), edges.end());
    return edges;
}

/// Indices of the vertices in program order.
template <stretto::dependence_graph G>
std::vector<std::size_t> indices_of(G g) {
    std::vector<std::size_t> all;
    for (stretto::vertex_t<G> v : g.vertices()) all.push_back(g.index(v));
    return all;
}

}  // namespace support

// Drawing from a generator instantiates much of rapidcheck, so it is done in one file.
extern template class rc::Gen<support::edge_graph>;

#endif
