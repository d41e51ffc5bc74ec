// views::induced: the subgraph that a set of vertices induces, which consists of these vertices and the edges between
// them.
#ifndef STRETTO_VIEWS_INDUCED_HPP
#define STRETTO_VIEWS_INDUCED_HPP

#include <concepts>

#include "stretto/core/vertex_set.hpp"
#include "stretto/views/filtered.hpp"

namespace stretto {
namespace detail {

/// The predicate "is a member of the set".
template <indexed_graph S>
struct is_in_set {
    const vertex_set<S>* set;
    bool operator()(const vertex_t<S>& v) const { return set->contains(v); }
};

}  // namespace detail

/// A filtered view that keeps the members of a set.
template <graph_view G, indexed_graph S>
using induced_view = filtered_view<G, detail::is_in_set<S>>;

namespace views {

/// The subgraph of `g` that `members` induces. The view refers to `members`, which must outlive it; a temporary is
/// rejected at compile time. The numbers are those of `g`. It takes O(1) time for each neighbour met, and O(V) of the
/// base to list the vertices.
template <graph_view G, indexed_graph S>
    requires std::same_as<vertex_t<G>, vertex_t<S>>
[[nodiscard]] induced_view<G, S> induced(G g, const vertex_set<S>& members) {
    return {g, {&members}};
}
template <graph_view G, indexed_graph S>
void induced(G g, const vertex_set<S>&& members) = delete;

}  // namespace views
}  // namespace stretto

#endif
