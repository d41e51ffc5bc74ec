// views::filtered: hides vertices, and optionally edges, for which a predicate is false. Nothing is computed in
// advance: the predicate is called whenever a traversal meets a vertex or an edge, so the view follows every change of
// its base.
#ifndef STRETTO_VIEWS_FILTERED_HPP
#define STRETTO_VIEWS_FILTERED_HPP

#include <concepts>
#include <type_traits>
#include <utility>

#include "stretto/views/adaptor.hpp"

namespace stretto {

/// `keep(v)`: a small callable, which may be a lambda with captures. It must be trivially copyable, because a view is.
template <class F, class G>
concept vertex_predicate =
    std::copy_constructible<F> && std::is_trivially_copyable_v<F> && requires(const F& keep, const vertex_t<G> v) {
        { keep(v) } -> std::convertible_to<bool>;
    };

/// `keep(u, v)`: a callable like a vertex_predicate, which is called for the edge from `u` to `v`.
template <class F, class G>
concept edge_predicate =
    std::copy_constructible<F> && std::is_trivially_copyable_v<F> && requires(const F& keep, const vertex_t<G> v) {
        { keep(v, v) } -> std::convertible_to<bool>;
    };

namespace detail {

/// The edge predicate that keeps every edge.
struct every_edge {
    template <class V>
    constexpr bool operator()(const V&, const V&) const noexcept {
        return true;
    }
};

/// The elements of a range of `V` that satisfy `keep`. An iterator points into the range object, which must outlive it.
template <class V, class R, class Keep>
class filtered_range {
public:
    class iterator {
    public:
        constexpr explicit iterator(filtered_range& range)
            : at_(begin_of(range.range_.get())), end_(end_of(range.range_.get())), keep_(&range.keep_) {
            settle();
        }
        constexpr V operator*() { return *at_; }
        constexpr iterator& operator++() {
            ++at_;
            settle();
            return *this;
        }
        constexpr bool operator!=(end_marker) { return at_ != end_; }

    private:
        /// Advances to the next element that is kept, if there is one.
        constexpr void settle() {
            while (at_ != end_ && !(*keep_)(*at_)) ++at_;
        }
        begin_t<R> at_;
        end_t<R> end_;
        const Keep* keep_;
    };

    constexpr filtered_range(R&& range, Keep keep) : range_(std::forward<R>(range)), keep_(keep) {}
    constexpr iterator begin() { return iterator(*this); }
    constexpr end_marker end() const noexcept { return {}; }

private:
    kept_range<R> range_;
    Keep keep_;
};

/// Whether a neighbour, and the edge that leads to it, are kept. With `forward` the neighbour is the target of the
/// edge, otherwise its source.
template <class V, class KeepVertex, class KeepEdge, bool forward>
struct keep_neighbour {
    V from;
    KeepVertex keep_vertex;
    KeepEdge keep_edge;

    constexpr bool operator()(const V& v) const {
        if constexpr (forward) return keep_vertex(v) && keep_edge(from, v);
        else return keep_vertex(v) && keep_edge(v, from);
    }
};

}  // namespace detail

/// A graph with some vertices and edges hidden. It offers adjacency only, because values whose producer is hidden would
/// have nowhere to come from.
template <graph_view G, class KeepVertex, class KeepEdge = detail::every_edge>
class filtered_view : public detail::numbers_of_base<G> {
    static_assert(vertex_predicate<KeepVertex, G> && edge_predicate<KeepEdge, G>);

public:
    using typename detail::numbers_of_base<G>::vertex_type;
    using detail::numbers_of_base<G>::base;

    constexpr filtered_view(G g, KeepVertex keep_vertex, KeepEdge keep_edge = {})
        : detail::numbers_of_base<G>(g), keep_vertex_(keep_vertex), keep_edge_(keep_edge) {}

    constexpr auto vertices() const
        requires vertex_list_graph<G>
    {
        using range = detail::vertices_range_t<G>;
        return detail::filtered_range<vertex_type, range, KeepVertex>(base().vertices(), keep_vertex_);
    }
    constexpr auto successors(vertex_type v) const
        requires adjacency_graph<G>
    {
        using range = detail::successors_range_t<G>;
        using keep = detail::keep_neighbour<vertex_type, KeepVertex, KeepEdge, true>;
        return detail::filtered_range<vertex_type, range, keep>(base().successors(v), {v, keep_vertex_, keep_edge_});
    }
    constexpr auto predecessors(vertex_type v) const
        requires bidirectional_adjacency_graph<G>
    {
        using range = detail::predecessors_range_t<G>;
        using keep = detail::keep_neighbour<vertex_type, KeepVertex, KeepEdge, false>;
        return detail::filtered_range<vertex_type, range, keep>(base().predecessors(v), {v, keep_vertex_, keep_edge_});
    }

private:
    KeepVertex keep_vertex_;
    KeepEdge keep_edge_;
};

namespace views {

/// The vertices that `keep_vertex` keeps, and all edges between them. Indices and their bound are those of the base.
/// Listing the vertices takes O(V) of the base. Precondition of the adjacency members: `v` is kept.
template <graph_view G, vertex_predicate<G> KeepVertex>
[[nodiscard]] constexpr filtered_view<G, KeepVertex> filtered(G g, KeepVertex keep_vertex) {
    return {g, keep_vertex};
}

/// The same with only those of the edges that `keep_edge` keeps.
template <graph_view G, vertex_predicate<G> KeepVertex, edge_predicate<G> KeepEdge>
[[nodiscard]] constexpr filtered_view<G, KeepVertex, KeepEdge> filtered(G g, KeepVertex keep_vertex,
                                                                        KeepEdge keep_edge) {
    return {g, keep_vertex, keep_edge};
}

}  // namespace views
}  // namespace stretto

#endif
