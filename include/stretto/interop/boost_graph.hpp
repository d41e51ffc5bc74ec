// boost_graph copies one of our views into a graph that the algorithms of the Boost Graph Library accept. Its
// descriptors are your vertices, so results refer to your IR. For the opposite direction see boost_view.hpp.
//
//     const stretto::boost_graph g(my_view{&ir});
//     std::vector<op*> order;
//     boost::topological_sort(g, std::back_inserter(order));
#ifndef STRETTO_INTEROP_BOOST_GRAPH_HPP
#define STRETTO_INTEROP_BOOST_GRAPH_HPP

#include <boost/graph/graph_traits.hpp>
#include <boost/graph/properties.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "stretto/core/concepts.hpp"
#include "stretto/views/snapshot.hpp"

namespace stretto {
namespace detail {

/// An edge, identified by its number: its position among the out-edges of all vertices, in program order. Parallel
/// edges are different edges.
struct boost_edge {
    std::uint32_t id = UINT32_MAX;
    friend constexpr auto operator<=>(const boost_edge&, const boost_edge&) = default;
};

/// Iterates over consecutive slots, which are positions in a flat array of a graph; `read` returns the contents of a
/// slot.
template <class Graph, class Item, Item (Graph::*read)(std::uint32_t) const>
class boost_slot_iterator {
public:
    using value_type = Item;
    using difference_type = std::ptrdiff_t;
    using reference = Item;
    using pointer = void;
    using iterator_category = std::input_iterator_tag;  // items are computed and not stored
    using iterator_concept = std::forward_iterator_tag;

    boost_slot_iterator() = default;
    boost_slot_iterator(const Graph* graph, std::size_t slot)
        : graph_(graph), slot_(static_cast<std::uint32_t>(slot)) {}
    Item operator*() const { return (graph_->*read)(slot_); }
    boost_slot_iterator& operator++() {
        ++slot_;
        return *this;
    }
    boost_slot_iterator operator++(int) {
        boost_slot_iterator before = *this;
        ++slot_;
        return before;
    }
    friend bool operator==(const boost_slot_iterator& a, const boost_slot_iterator& b) { return a.slot_ == b.slot_; }

private:
    const Graph* graph_ = nullptr;
    std::uint32_t slot_ = 0;
};

}  // namespace detail

/// Models VertexListGraph, BidirectionalGraph (and so IncidenceGraph), AdjacencyGraph and EdgeListGraph of Boost, with
/// the readable property maps vertex_index (the position in program order, whatever the numbers of the view) and
/// edge_index. Vertices come in program order, and the edges of a vertex in the program order of their other ends;
/// parallel edges and self-loops are kept.
///
/// It is a value that owns a snapshot of the adjacency, because Boost's algorithms keep iterators for a long time,
/// whereas a view may return temporary ranges. It does not follow changes of the IR. Iterators and property maps are
/// valid as long as it is neither moved nor destroyed. Building takes O(V + E) time, 16 bytes per edge, 12 bytes and a
/// handle per vertex, and 4 bytes per index. All operations that Boost requires take O(1). Precondition: that of
/// snapshot.
template <vertex_list_graph G>
    requires adjacency_graph<G> && indexed_graph<G>
class boost_graph {
    struct traversal : boost::bidirectional_graph_tag,
                       boost::adjacency_graph_tag,
                       boost::vertex_list_graph_tag,
                       boost::edge_list_graph_tag {};

    vertex_t<G> target_of(std::uint32_t slot) const { return snapshot_.vertex(first_out()[slot]); }
    detail::boost_edge out_edge(std::uint32_t slot) const { return {slot}; }
    detail::boost_edge in_edge(std::uint32_t slot) const { return {in_edges_[slot]}; }

public:
    using vertex_descriptor = vertex_t<G>;
    using edge_descriptor = detail::boost_edge;
    using vertex_iterator = const vertex_descriptor*;
    using adjacency_iterator = detail::boost_slot_iterator<boost_graph, vertex_descriptor, &boost_graph::target_of>;
    using out_edge_iterator = detail::boost_slot_iterator<boost_graph, edge_descriptor, &boost_graph::out_edge>;
    using in_edge_iterator = detail::boost_slot_iterator<boost_graph, edge_descriptor, &boost_graph::in_edge>;
    using edge_iterator = out_edge_iterator;
    using vertices_size_type = std::size_t;
    using edges_size_type = std::size_t;
    using degree_size_type = std::size_t;
    using directed_category = boost::bidirectional_tag;
    using edge_parallel_category = boost::allow_parallel_edge_tag;
    using traversal_category = traversal;

    /// A readable property map, vertex_index or edge_index, depending on the key.
    template <class Key>
    class index_map {
    public:
        using category = boost::readable_property_map_tag;
        using key_type = Key;
        using value_type = std::size_t;
        using reference = std::size_t;

        explicit index_map(const boost_graph& g) : graph_(&g) {}
        std::size_t operator[](const Key& key) const { return graph_->index_of(key); }
        friend std::size_t get(const index_map& map, const Key& key) { return map[key]; }

    private:
        const boost_graph* graph_;
    };

    explicit boost_graph(G g) : snapshot_(g) {
        const snapshot_view rows = snapshot_.view();
        sources_.reserve(rows.edge_count());
        in_edges_.resize(rows.edge_count());
        // Both kinds of rows ascend, so visiting the edges by source fills every row of predecessors from its front.
        std::vector<std::uint32_t> filled(rows.index_bound(), 0);
        for (const std::uint32_t u : rows.vertices())
            for (const std::uint32_t v : rows.successors(u)) {
                in_edges_[slot_of(rows.predecessors(v), rows.predecessors(0)) + filled[v]++] =
                    static_cast<std::uint32_t>(sources_.size());
                sources_.push_back(u);
            }
    }

    /// Returns the handle that means "no vertex": the greatest number, or a value-initialised handle. The few
    /// algorithms of Boost that use it (dominator trees) require that it differs from all vertices.
    static constexpr vertex_descriptor null_vertex() {
        if constexpr (std::is_enum_v<vertex_descriptor>)
            return vertex_descriptor{std::numeric_limits<std::underlying_type_t<vertex_descriptor>>::max()};
        else if constexpr (std::is_arithmetic_v<vertex_descriptor>)
            return std::numeric_limits<vertex_descriptor>::max();
        else return vertex_descriptor{};
    }

    // These are the functions of VertexListGraph.
    friend std::pair<vertex_iterator, vertex_iterator> vertices(const boost_graph& g) {
        const std::vector<vertex_descriptor>& all = g.snapshot_.vertices();
        return {all.data(), all.data() + all.size()};
    }
    friend std::size_t num_vertices(const boost_graph& g) { return g.snapshot_.size(); }

    // These are the functions of AdjacencyGraph, IncidenceGraph and BidirectionalGraph.
    friend std::pair<adjacency_iterator, adjacency_iterator> adjacent_vertices(const vertex_descriptor& v,
                                                                               const boost_graph& g) {
        return g.slots<adjacency_iterator>(g.successors(v), g.rows().successors(0));
    }
    friend std::pair<out_edge_iterator, out_edge_iterator> out_edges(const vertex_descriptor& v, const boost_graph& g) {
        return g.slots<out_edge_iterator>(g.successors(v), g.rows().successors(0));
    }
    friend std::pair<in_edge_iterator, in_edge_iterator> in_edges(const vertex_descriptor& v, const boost_graph& g) {
        return g.slots<in_edge_iterator>(g.predecessors(v), g.rows().predecessors(0));
    }
    friend std::size_t out_degree(const vertex_descriptor& v, const boost_graph& g) { return g.successors(v).size(); }
    friend std::size_t in_degree(const vertex_descriptor& v, const boost_graph& g) { return g.predecessors(v).size(); }
    friend std::size_t degree(const vertex_descriptor& v, const boost_graph& g) {
        return in_degree(v, g) + out_degree(v, g);
    }
    friend vertex_descriptor source(const edge_descriptor& e, const boost_graph& g) {
        return g.snapshot_.vertex(g.sources_[e.id]);
    }
    friend vertex_descriptor target(const edge_descriptor& e, const boost_graph& g) { return g.target_of(e.id); }

    // These are the functions of EdgeListGraph.
    friend std::pair<edge_iterator, edge_iterator> edges(const boost_graph& g) {
        return {edge_iterator(&g, 0), edge_iterator(&g, g.sources_.size())};
    }
    friend std::size_t num_edges(const boost_graph& g) { return g.sources_.size(); }

    // These are the functions of PropertyGraph.
    friend index_map<vertex_descriptor> get(boost::vertex_index_t, const boost_graph& g) {
        return index_map<vertex_descriptor>(g);
    }
    friend std::size_t get(boost::vertex_index_t, const boost_graph& g, const vertex_descriptor& v) {
        return g.index_of(v);
    }
    friend index_map<edge_descriptor> get(boost::edge_index_t, const boost_graph& g) {
        return index_map<edge_descriptor>(g);
    }
    friend std::size_t get(boost::edge_index_t, const boost_graph& g, const edge_descriptor& e) {
        return g.index_of(e);
    }

private:
    using row = std::span<const std::uint32_t>;

    std::size_t index_of(const vertex_descriptor& v) const { return snapshot_.id(v); }
    std::size_t index_of(const edge_descriptor& e) const { return e.id; }
    snapshot_view rows() const { return snapshot_.view(); }
    row successors(const vertex_descriptor& v) const { return rows().successors(snapshot_.id(v)); }
    row predecessors(const vertex_descriptor& v) const { return rows().predecessors(snapshot_.id(v)); }
    const std::uint32_t* first_out() const { return rows().successors(0).data(); }

    /// Returns where row `r` begins, counted from the beginning of row `first`. All rows are contiguous.
    static std::size_t slot_of(row r, row first) { return static_cast<std::size_t>(r.data() - first.data()); }
    template <class Iterator>
    std::pair<Iterator, Iterator> slots(row r, row first) const {
        const std::size_t begin = slot_of(r, first);
        return {Iterator(this, begin), Iterator(this, begin + r.size())};
    }

    snapshot<G> snapshot_;
    std::vector<std::uint32_t> sources_;   // by edge: the id of its source
    std::vector<std::uint32_t> in_edges_;  // by slot of the rows of predecessors: the edge
};

}  // namespace stretto

namespace boost {

template <class G>
struct property_map<stretto::boost_graph<G>, vertex_index_t> {
    using type = typename stretto::boost_graph<G>::template index_map<stretto::vertex_t<G>>;
    using const_type = type;
};
template <class G>
struct property_map<stretto::boost_graph<G>, edge_index_t> {
    using type = typename stretto::boost_graph<G>::template index_map<stretto::detail::boost_edge>;
    using const_type = type;
};

}  // namespace boost

#endif
