// The index of a vertex, checked against the size of an array that was allocated for index_bound() entries.
#ifndef STRETTO_CORE_CHECKED_INDEX_HPP
#define STRETTO_CORE_CHECKED_INDEX_HPP

#include <cstddef>

#include "stretto/core/concepts.hpp"
#include "stretto/core/config.hpp"

namespace stretto::detail {

/// The index of v, which must be below `bound`. A view whose graph has grown since it was numbered returns indices that
/// lie outside the array; this assertion detects that before anything is written there.
template <indexed_graph G>
[[nodiscard]] constexpr std::size_t checked_index(const G& g, const vertex_t<G>& v,
                                                  [[maybe_unused]] std::size_t bound) {
    const std::size_t i = g.index(v);
    STRETTO_ASSERT(i < bound, "a vertex has no index below index_bound(): are the numbers stale?");
    return i;
}

}  // namespace stretto::detail

#endif
