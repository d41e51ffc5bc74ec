// boost_view presents a Boost graph, in place, as one of our views. Nothing is copied, and only a pointer is stored, so
// the view follows every change of the graph. For the opposite direction see boost_graph.hpp.
//
//     boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS> ir = ...;
//     const auto order = stretto::topological_sort(stretto::boost_view(ir));
#ifndef STRETTO_INTEROP_BOOST_VIEW_HPP
#define STRETTO_INTEROP_BOOST_VIEW_HPP

#include <boost/graph/graph_traits.hpp>
#include <boost/graph/properties.hpp>

#include <concepts>
#include <cstddef>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

#include "stretto/core/concepts.hpp"

namespace boost {
struct adj_list_tag;  // Boost's own, declared here because its header would include all of adjacency_list
}

namespace stretto {

/// A Boost graph whose vertices and out-edges can be listed: a directed VertexListGraph and IncidenceGraph.
template <class Graph>
concept directed_boost_graph =
    std::convertible_to<typename boost::graph_traits<Graph>::traversal_category, boost::vertex_list_graph_tag> &&
    std::convertible_to<typename boost::graph_traits<Graph>::traversal_category, boost::incidence_graph_tag> &&
    std::convertible_to<typename boost::graph_traits<Graph>::directed_category, boost::directed_tag>;

namespace detail {

/// The default index map of a view: the graph's own vertex_index property map is used.
struct own_vertex_index {};

template <class Graph>
using boost_vertex_t = typename boost::graph_traits<Graph>::vertex_descriptor;

/// An adjacency_list whose vertices are not numbers, and which stores no numbers either. Requesting its vertex_index is
/// not a substitution failure but an error inside Boost, so such a graph must be recognised.
template <class Graph>
concept unnumbered_adjacency_list =
    requires { typename Graph::graph_tag; } && std::same_as<typename Graph::graph_tag, boost::adj_list_tag> &&
    !boost::lookup_one_property<typename boost::vertex_property_type<Graph>::type, boost::vertex_index_t>::found;

/// A graph that has a vertex_index property map.
template <class Graph>
concept has_vertex_index =
    !unnumbered_adjacency_list<Graph> && requires(const Graph& g, const boost_vertex_t<Graph> v) {
        { get(get(boost::vertex_index, g), v) } -> std::convertible_to<std::size_t>;
    };

/// A graph that can list the edges that enter a vertex.
template <class Graph>
concept has_in_edges =
    std::convertible_to<typename boost::graph_traits<Graph>::traversal_category, boost::bidirectional_graph_tag>;

/// Makes a range of a pair of iterators, which is what Boost returns.
template <class Iterator>
struct boost_range {
    std::pair<Iterator, Iterator> ends;
    [[nodiscard]] Iterator begin() const { return ends.first; }
    [[nodiscard]] Iterator end() const { return ends.second; }
};

/// The other ends of the edges that leave a vertex (`forward`) or enter it, as a range.
template <class Graph, bool forward>
struct boost_neighbours {
    using traits = boost::graph_traits<Graph>;
    using edge_iterator = typename std::conditional_t<forward, std::type_identity<typename traits::out_edge_iterator>,
                                                      std::type_identity<typename traits::in_edge_iterator>>::type;

    class iterator {
    public:
        using value_type = boost_vertex_t<Graph>;
        using difference_type = std::ptrdiff_t;
        using reference = value_type;
        using pointer = void;
        using iterator_category = std::input_iterator_tag;  // a vertex is computed and not stored
        using iterator_concept = std::forward_iterator_tag;

        iterator() = default;
        iterator(const Graph* graph, edge_iterator at) : graph_(graph), at_(at) {}
        value_type operator*() const {
            if constexpr (forward) return target(*at_, *graph_);
            else return source(*at_, *graph_);
        }
        iterator& operator++() {
            ++at_;
            return *this;
        }
        iterator operator++(int) {
            iterator before = *this;
            ++at_;
            return before;
        }
        friend bool operator==(const iterator& a, const iterator& b) { return a.at_ == b.at_; }

    private:
        const Graph* graph_ = nullptr;
        edge_iterator at_{};
    };

    const Graph* graph;
    std::pair<edge_iterator, edge_iterator> edges;
    [[nodiscard]] iterator begin() const { return {graph, edges.first}; }
    [[nodiscard]] iterator end() const { return {graph, edges.second}; }
};

/// Calls Boost's function `vertices`, which the member of the same name would hide inside the view.
template <class Graph>
boost_range<typename boost::graph_traits<Graph>::vertex_iterator> vertices_of_boost(const Graph& g) {
    return {vertices(g)};
}

}  // namespace detail

/// A view of `Graph`, which may be an adjacency_list, a compressed_sparse_row_graph, one of Boost's adaptors, or a type
/// of your own that Boost's algorithms accept. Program order is the order of vertices(g); parallel edges and self-loops
/// are kept.
///
/// Numbers come from the vertex_index property map of the graph, or from any trivially copyable property map that
/// `get(map, v)` reads: numbers below num_vertices(g), different for each vertex. For a graph without such a map (an
/// adjacency_list with listS vertices), the view has no `index`, which views::numbered adds. For a graph without
/// in-edges (directedS), the view has no `predecessors`, which a snapshot adds. Every member takes O(1) where Boost's
/// does. The graph must outlive the view.
template <directed_boost_graph Graph, class IndexMap = detail::own_vertex_index>
class boost_view {
    static_assert(std::is_trivially_copyable_v<IndexMap>,
                  "a view is trivially copyable: give it an index map that refers to its numbers and owns none");
    static constexpr bool own_index = std::is_same_v<IndexMap, detail::own_vertex_index>;

public:
    using vertex_type = detail::boost_vertex_t<Graph>;

    explicit boost_view(const Graph& graph)
        requires own_index
        : graph_(std::addressof(graph)) {}
    boost_view(const Graph& graph, IndexMap index)
        requires(!own_index)
        : graph_(std::addressof(graph)), index_(index) {}
    explicit boost_view(const Graph&&) = delete;  // the view refers to the graph
    boost_view(const Graph&&, IndexMap) = delete;

    [[nodiscard]] const Graph& base() const noexcept { return *graph_; }

    detail::boost_range<typename boost::graph_traits<Graph>::vertex_iterator> vertices() const {
        return detail::vertices_of_boost(*graph_);
    }
    detail::boost_neighbours<Graph, true> successors(vertex_type v) const { return {graph_, out_edges(v, *graph_)}; }
    detail::boost_neighbours<Graph, false> predecessors(vertex_type v) const
        requires detail::has_in_edges<Graph>
    {
        return {graph_, in_edges(v, *graph_)};
    }
    std::size_t index(vertex_type v) const
        requires(!own_index || detail::has_vertex_index<Graph>)
    {
        if constexpr (own_index) return static_cast<std::size_t>(get(get(boost::vertex_index, *graph_), v));
        else return static_cast<std::size_t>(get(index_, v));
    }
    std::size_t index_bound() const
        requires(!own_index || detail::has_vertex_index<Graph>)
    {
        return static_cast<std::size_t>(num_vertices(*graph_));
    }

private:
    const Graph* graph_;
    [[no_unique_address]] IndexMap index_{};
};

template <class Graph>
boost_view(const Graph&) -> boost_view<Graph>;
template <class Graph, class IndexMap>
boost_view(const Graph&, IndexMap) -> boost_view<Graph, IndexMap>;

}  // namespace stretto

#endif
