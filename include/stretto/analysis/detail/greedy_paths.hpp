// Disjoint long paths: a longest path of the graph, then a longest one among the vertices that are left, and so on.
#ifndef STRETTO_ANALYSIS_DETAIL_GREEDY_PATHS_HPP
#define STRETTO_ANALYSIS_DETAIL_GREEDY_PATHS_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/core/concepts.hpp"
#include "stretto/core/index_lists.hpp"

namespace stretto::detail {

/// Up to `count` disjoint paths, longest first, each listed from its first vertex. Every path has at least `shortest`
/// vertices, and at least a `share`-th as many as the first; a `share` of UINT32_MAX sets no such limit. The vertices
/// of `g` must be ids in topological order. It takes O(V + E) time per path and 4 bytes per vertex.
template <dependence_graph Ids>
[[nodiscard]] index_lists greedy_paths(Ids g, std::size_t count, std::uint32_t shortest, std::uint32_t share) {
    using id = vertex_t<Ids>;
    constexpr id taken = UINT32_MAX;
    const auto size = static_cast<id>(g.index_bound());
    std::vector<id> length(size, 0), path;
    index_lists paths;
    while (paths.rows() < count) {
        id longest = 0, at = 0;
        for (id v = 0; v < size; ++v) {
            if (length[v] == taken) continue;
            id before = 0;
            for (id u : g.predecessors(v))
                if (length[u] != taken && length[u] > before) before = length[u];
            length[v] = before + 1;
            if (length[v] > longest) {
                longest = length[v];
                at = v;
            }
        }
        if (longest == 0 || longest < shortest) break;
        if (paths.rows() == 0 && longest / share > shortest) shortest = longest / share;
        path.resize(longest);
        for (id left = longest; left > 0; --left) {
            path[left - 1] = at;
            // The lengths of the neighbours are those of this round, because only later vertices of the path have been
            // marked.
            length[at] = taken;
            for (id u : g.predecessors(path[left - 1]))
                if (length[u] == left - 1) {
                    at = u;
                    break;
                }
        }
        paths.push_row(path);
    }
    return paths;
}

}  // namespace stretto::detail

#endif
