// The same graph as Boost graphs of several types, as a type list. `IR ir(n, edges)` has the vertices 0 .. n-1 in
// program order, and the edges, given as pairs of positions, in the given order. `ir.view()` is a dependence_graph
// whose numbers are the positions, and `ir.vertex(i)` is vertex i.
#ifndef STRETTO_TESTS_SUPPORT_BOOST_GRAPHS_HPP
#define STRETTO_TESTS_SUPPORT_BOOST_GRAPHS_HPP

#include <doctest/doctest.h>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/property_map/property_map.hpp>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "stretto/interop/boost_view.hpp"
#include "stretto/views/numbered.hpp"
#include "support/edge_graph.hpp"

namespace support {

/// An adjacency_list whose vertices are numbers.
template <class EdgeList>
class boost_vectors {
public:
    using graph = boost::adjacency_list<EdgeList, boost::vecS, boost::bidirectionalS>;

    boost_vectors(std::size_t n, const index_pairs& edges) : graph_(n) {
        for (auto [u, v] : edges) add_edge(u, v, graph_);
    }
    boost_vectors(const boost_vectors&) = delete;
    boost_vectors& operator=(const boost_vectors&) = delete;
    stretto::boost_view<graph> view() const { return stretto::boost_view(graph_); }
    std::size_t vertex(std::size_t i) const { return i; }

private:
    graph graph_;
};

/// An adjacency_list whose vertices are pointers, without numbers.
template <class EdgeList, class VertexProperty = boost::no_property>
class boost_nodes {
public:
    using graph = boost::adjacency_list<EdgeList, boost::listS, boost::bidirectionalS, VertexProperty>;
    using vertex_type = typename boost::graph_traits<graph>::vertex_descriptor;

    boost_nodes(std::size_t n, const index_pairs& edges) {
        for (std::size_t i = 0; i < n; ++i) vertices_.push_back(add_vertex(graph_));
        for (auto [u, v] : edges) add_edge(vertices_[u], vertices_[v], graph_);
    }
    boost_nodes(const boost_nodes&) = delete;
    boost_nodes& operator=(const boost_nodes&) = delete;
    vertex_type vertex(std::size_t i) const { return vertices_[i]; }

protected:
    graph graph_;
    std::vector<vertex_type> vertices_;
};

/// A type whose numbers are stored in the graph.
class boost_property_nodes : public boost_nodes<boost::vecS, boost::property<boost::vertex_index_t, std::size_t>> {
public:
    boost_property_nodes(std::size_t n, const index_pairs& edges) : boost_nodes(n, edges) {
        for (std::size_t i = 0; i < n; ++i) put(boost::vertex_index, graph_, vertices_[i], i);
    }
    stretto::boost_view<graph> view() const { return stretto::boost_view(graph_); }
};

/// A type whose numbers are in a map beside the graph.
class boost_mapped_nodes : public boost_nodes<boost::listS> {
public:
    using numbers = std::map<vertex_type, std::size_t>;
    using number_map = boost::const_associative_property_map<numbers>;

    boost_mapped_nodes(std::size_t n, const index_pairs& edges) : boost_nodes(n, edges) {
        for (std::size_t i = 0; i < n; ++i) numbers_[vertices_[i]] = i;
    }
    stretto::boost_view<graph, number_map> view() const { return {graph_, number_map(numbers_)}; }

private:
    numbers numbers_;
};

/// A type whose numbers come from views::numbered.
class boost_numbered_nodes : public boost_nodes<boost::vecS> {
public:
    boost_numbered_nodes(std::size_t n, const index_pairs& edges)
        : boost_nodes(n, edges), numbers_(stretto::boost_view(graph_)) {}
    stretto::numbered_view<stretto::boost_view<graph>> view() const {
        return stretto::views::numbered(stretto::boost_view(graph_), numbers_);
    }

private:
    stretto::numbering<vertex_type> numbers_;
};

class boost_rows {
public:
    using graph = boost::compressed_sparse_row_graph<boost::bidirectionalS>;

    boost_rows(std::size_t n, const index_pairs& edges)
        : graph_(boost::edges_are_unsorted_multi_pass, edges.begin(), edges.end(), n) {}
    boost_rows(const boost_rows&) = delete;
    boost_rows& operator=(const boost_rows&) = delete;
    stretto::boost_view<graph> view() const { return stretto::boost_view(graph_); }
    std::size_t vertex(std::size_t i) const { return i; }

private:
    graph graph_;
};

/// The edges of `g` as pairs of positions in its program order.
inline index_pairs edges_by_position(const edge_graph& g) {
    std::vector<std::size_t> position(g.size);
    for (std::size_t i = 0; i < g.size; ++i) position[g.order[i]] = i;
    index_pairs edges;
    for (auto [u, v] : g.edges) edges.emplace_back(position[u], position[v]);
    return edges;
}

}  // namespace support

#define STRETTO_BOOST_GRAPHS                                                                                  \
    support::boost_vectors<boost::vecS>, support::boost_vectors<boost::listS>, support::boost_property_nodes, \
        support::boost_mapped_nodes, support::boost_numbered_nodes, support::boost_rows

TYPE_TO_STRING(support::boost_vectors<boost::vecS>);
TYPE_TO_STRING(support::boost_vectors<boost::listS>);
TYPE_TO_STRING(support::boost_property_nodes);
TYPE_TO_STRING(support::boost_mapped_nodes);
TYPE_TO_STRING(support::boost_numbered_nodes);
TYPE_TO_STRING(support::boost_rows);

#endif
