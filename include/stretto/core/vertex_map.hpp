// A dense map from vertices to values, by the index of a view: one vector, no hashing, deterministic.
#ifndef STRETTO_CORE_VERTEX_MAP_HPP
#define STRETTO_CORE_VERTEX_MAP_HPP

#include <cstddef>
#include <utility>
#include <vector>

#include "stretto/core/concepts.hpp"
#include "stretto/core/config.hpp"

namespace stretto {

/// A value of type `T` for every vertex. It takes index_bound() values and is valid until the graph is renumbered.
template <indexed_graph G, class T>
class vertex_map {
public:
    explicit vertex_map(G g, T initial = T()) : graph_(g), values_(g.index_bound(), std::move(initial)) {}

    /// The value of `v`. O(1). Precondition: the index of `v` is below the index_bound() that the map was made with.
    decltype(auto) operator[](vertex_t<G> v) { return values_[slot(v)]; }
    decltype(auto) operator[](vertex_t<G> v) const { return values_[slot(v)]; }
    [[nodiscard]] std::size_t size() const noexcept { return values_.size(); }

private:
    std::size_t slot(vertex_t<G> v) const {
        const std::size_t i = graph_.index(v);
        STRETTO_ASSERT(i < values_.size(), "vertex index is not below the index_bound() this map was made with");
        return i;
    }
    G graph_;
    std::vector<T> values_;
};

}  // namespace stretto

#endif
