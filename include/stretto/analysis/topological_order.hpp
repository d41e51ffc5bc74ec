// A topological order that is stable with respect to program order, or the cycle that makes one impossible.
//
// Program order is kept wherever possible. Only vertices that are listed after one that depends on them move: forward,
// to just before the first such vertex. Kahn's algorithm would instead delay the dependent vertex, and everything that
// depends on it. If a pass adds an operation at the end of the program and lets earlier ones read it, half the program
// would then move because of one operation.
#ifndef STRETTO_ANALYSIS_TOPOLOGICAL_ORDER_HPP
#define STRETTO_ANALYSIS_TOPOLOGICAL_ORDER_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "stretto/analysis/detail/draw_forward.hpp"
#include "stretto/analysis/detail/raw_array.hpp"
#include "stretto/core/checked_index.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/config.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/views/snapshot.hpp"

namespace stretto {

/// The witness that a graph has no topological order. Each vertex depends on the one before it, and the first on the
/// last; a self-loop is a cycle of one vertex. The cycle begins with whichever of its vertices comes first in program
/// order.
template <handle V>
struct cycle {
    std::vector<V> vertices;
    friend bool operator==(const cycle&, const cycle&) = default;
};

namespace detail {
struct topological_order_maker;
}

/// Contains every vertex once, after all its predecessors. This is a witness type: only topological_sort constructs
/// one, so a function that takes it need not check. It says nothing about a graph that has changed since.
template <handle V>
class topological_order {
public:
    using value_type = V;

    [[nodiscard]] const V* begin() const noexcept { return vertices_.data(); }
    [[nodiscard]] const V* end() const noexcept { return vertices_.data() + vertices_.size(); }
    [[nodiscard]] std::size_t size() const noexcept { return vertices_.size(); }
    [[nodiscard]] const V& operator[](std::size_t position) const { return vertices_[position]; }
    friend bool operator==(const topological_order&, const topological_order&) = default;

private:
    explicit topological_order(std::vector<V> vertices) : vertices_(std::move(vertices)) {}
    friend struct detail::topological_order_maker;

    std::vector<V> vertices_;
};

namespace detail {

/// Constructs topological_order for topological_sort, the only function that may. (A constrained friend function
/// template would do, but clang 16 does not recognise one.)
struct topological_order_maker {
    template <handle V>
    static topological_order<V> make(std::vector<V> vertices) {
        return topological_order<V>(std::move(vertices));
    }
};

/// Whether vertices() lists every vertex after its predecessors. If it does not, `vertices` is left with the vertices
/// before the first one that is listed too early.
template <dependence_graph G>
bool listed_topologically(G g, std::vector<vertex_t<G>>& vertices) {
    if constexpr (std::is_same_v<G, snapshot_view>) {
        const auto size = static_cast<std::uint32_t>(g.index_bound());
        vertices.resize(size);
        for (std::uint32_t v = 0; v < size; ++v) {
            vertices[v] = v;
            for (std::uint32_t u : g.predecessors(v)) {
                if (u < v) continue;
                vertices.resize(v);
                return false;
            }
        }
        return true;
    }
    const std::size_t bound = g.index_bound();
    detail::raw_array<std::uint64_t> listed((bound + 63) / 64);  // bits by index
    for (std::uint64_t& word : listed) word = 0;
    for (vertex_t<G> v : g.vertices()) {
        for (vertex_t<G> u : g.predecessors(v)) {
            const std::size_t i = checked_index(g, u, bound);
            if (!((listed[i / 64] >> (i % 64)) & 1u)) return false;
        }
        const std::size_t i = checked_index(g, v, bound);
        STRETTO_ASSERT(!((listed[i / 64] >> (i % 64)) & 1u), "vertices() lists a vertex twice, or two with one index");
        listed[i / 64] |= std::uint64_t{1} << (i % 64);
        vertices.push_back(v);
    }
    return true;
}

}  // namespace detail

/// The vertices in program order, except that a vertex which is listed after one that depends on it is moved forward to
/// just before the first such vertex. If one vertex needs several that way, they come in program order, each after its
/// own predecessors: depth first along predecessors. So a topological program order is returned unchanged, an operation
/// that was added at the end moves alone, and the result does not depend on the order in which the view lists
/// neighbours. (The rows of a snapshot_view are followed as they are; those of a snapshot ascend.) The error is a
/// cycle.
///
/// It takes one pass and a bit per index up to the first vertex that is listed too early, and O(V + E) time from there
/// on. Scratch memory is a byte per vertex, up to 48 bytes per vertex of the longest path that is moved forward at
/// once, and a snapshot unless the view is one. There is no recursion and no hashing.
template <dependence_graph G>
[[nodiscard]] expected<topological_order<vertex_t<G>>, cycle<vertex_t<G>>> topological_sort(G g) {
    using V = vertex_t<G>;
    std::vector<V> vertices;
    if (detail::listed_topologically(g, vertices)) return detail::topological_order_maker::make(std::move(vertices));
    const auto done = static_cast<std::uint32_t>(vertices.size());
    bool acyclic = false;
    if constexpr (std::is_same_v<G, snapshot_view>) {
        acyclic = detail::forward_drawing(g)(done, vertices);
    } else {
        const snapshot<G> copy(g);
        std::vector<vertex_t<decltype(copy.view())>> ids(done);
        for (std::uint32_t id = 0; id < done; ++id) ids[id] = id;
        acyclic = detail::forward_drawing(copy.view())(done, ids);
        vertices.clear();
        for (std::uint32_t id : ids) vertices.push_back(copy.vertex(id));
    }
    if (!acyclic) return unexpected(cycle<V>{std::move(vertices)});
    return detail::topological_order_maker::make(std::move(vertices));
}

}  // namespace stretto

#endif
