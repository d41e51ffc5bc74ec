// The graph concepts. A view is a small struct over your graph: one or two pointers and a few const member functions
// with explicit return types. Views are passed by value; being trivially copyable, they cannot own (and therefore
// cannot copy) your graph. There is no base class, no specialisation, and no argument-dependent lookup.
//
//     struct block_view {
//         using vertex_type = op*;
//         block* b;
//         op_range            vertices() const;              // vertex_list_graph: in program order, each once
//         users_range         successors(op* v) const;       // bidirectional_adjacency_graph
//         defs_range          predecessors(op* v) const;
//         std::size_t         index(op* v) const;            // indexed_graph: dense numbers
//         std::size_t         index_bound() const;
//     };
//
// testing/check_graph.hpp checks what a compiler cannot: predecessors mirror successors with multiplicity, indices are
// injective and below the bound, and everything is stable until the graph is mutated.
#ifndef STRETTO_CORE_CONCEPTS_HPP
#define STRETTO_CORE_CONCEPTS_HPP

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "stretto/core/iterable.hpp"

namespace stretto {

/// A handle is cheap to copy and is compared by identity: a pointer, an integer, or a small struct.
template <class T>
concept handle = std::regular<T> && std::is_trivially_copyable_v<T>;

/// Any read-only view of a graph. A struct that holds a `const my_ir*` is a model; an IR that owns its operations is
/// not.
template <class G>
concept graph_view = std::copy_constructible<G> && std::is_trivially_copyable_v<G> &&
                     requires { typename G::vertex_type; } && handle<typename G::vertex_type>;

/// The handle type of the vertices of a view.
template <graph_view G>
using vertex_t = typename G::vertex_type;

/// The vertices can be listed, in program order, each exactly once.
template <class G>
concept vertex_list_graph = graph_view<G> && requires(const G& g) {
    { g.vertices() } -> iterable_of<typename G::vertex_type>;
};

/// `successors(v)` are the vertices that depend on `v`. A vertex to which parallel edges lead appears once for each.
template <class G>
concept adjacency_graph = graph_view<G> && requires(const G& g, const typename G::vertex_type v) {
    { g.successors(v) } -> iterable_of<typename G::vertex_type>;
};

/// Also has `predecessors(v)`. u appears in predecessors(v) as often as v appears in successors(u).
template <class G>
concept bidirectional_adjacency_graph = adjacency_graph<G> && requires(const G& g, const typename G::vertex_type v) {
    { g.predecessors(v) } -> iterable_of<typename G::vertex_type>;
};

/// Vertices carry dense numbers: `index(v)` is injective and below `index_bound()`. views::numbered adds numbers to an
/// IR that has none. An optional `epoch()` changes whenever the numbers may have become stale.
template <class G>
concept indexed_graph = graph_view<G> && requires(const G& g, const typename G::vertex_type v) {
    { g.index(v) } -> std::convertible_to<std::size_t>;
    { g.index_bound() } -> std::convertible_to<std::size_t>;
};

/// The requirements of most algorithms: vertices are listed and numbered, and edges can be followed both ways.
template <class G>
concept dependence_graph = vertex_list_graph<G> && bidirectional_adjacency_graph<G> && indexed_graph<G>;

/// The view reports when its indices have become stale: `epoch()` then returns another number.
template <class G>
concept epoch_graph = graph_view<G> && requires(const G& g) {
    { g.epoch() } -> std::convertible_to<std::size_t>;
};

}  // namespace stretto

#endif
