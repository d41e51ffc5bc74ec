// views::reversed: the same vertices with every dependence reversed.
#ifndef STRETTO_VIEWS_REVERSED_HPP
#define STRETTO_VIEWS_REVERSED_HPP

#include <cstddef>
#include <vector>

#include "stretto/views/adaptor.hpp"

namespace stretto {

/// The reversed graph. It offers adjacency only: a reversed value would have many producers, so the value members of
/// the base are hidden.
template <vertex_list_graph G>
    requires bidirectional_adjacency_graph<G>
class reversed_view : public detail::numbers_of_base<G> {
public:
    using typename detail::numbers_of_base<G>::vertex_type;
    using detail::numbers_of_base<G>::numbers_of_base;
    using detail::numbers_of_base<G>::base;

    /// The vertices in reversed program order, so that a topological program order stays topological. Every call builds
    /// a vector: O(V).
    std::vector<vertex_type> vertices() const {
        std::vector<vertex_type> forward;
        for (vertex_type v : base().vertices()) forward.push_back(v);
        for (std::size_t i = 0, j = forward.size(); i + 1 < j; ++i) {
            --j;
            const vertex_type v = forward[i];
            forward[i] = forward[j];
            forward[j] = v;
        }
        return forward;
    }
    constexpr detail::predecessors_range_t<G> successors(vertex_type v) const { return base().predecessors(v); }
    constexpr detail::successors_range_t<G> predecessors(vertex_type v) const { return base().successors(v); }
};

namespace views {

/// The reversed graph of `g`. Indices are those of the base.
template <vertex_list_graph G>
    requires bidirectional_adjacency_graph<G>
[[nodiscard]] constexpr reversed_view<G> reversed(G g) {
    return reversed_view<G>(g);
}

/// Reversing a reversed view returns its base.
template <class G>
[[nodiscard]] constexpr G reversed(reversed_view<G> g) {
    return g.base();
}

}  // namespace views
}  // namespace stretto

#endif
