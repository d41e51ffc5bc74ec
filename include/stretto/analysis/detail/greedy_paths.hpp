// Disjoint long paths: a longest path, then a longest one among the vertices that are left, and so on.
#ifndef STRETTO_ANALYSIS_DETAIL_GREEDY_PATHS_HPP
#define STRETTO_ANALYSIS_DETAIL_GREEDY_PATHS_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/core/index_lists.hpp"
#include "stretto/views/snapshot.hpp"

namespace stretto::detail {

/// Up to `count` paths of at least `shortest` vertices and at least one `share`-th of the first, longest first, each
/// from its first vertex. Ids must be in topological order. O(V + E) time per path, 4 bytes per vertex.
template <class = void>
[[nodiscard]] index_lists greedy_paths(snapshot_view g, std::size_t count, std::uint32_t shortest,
                                       std::uint32_t share) {
    constexpr std::uint32_t taken = UINT32_MAX;
    const auto size = static_cast<std::uint32_t>(g.index_bound());
    std::vector<std::uint32_t> length(size, 0), path;
    index_lists paths;
    while (paths.rows() < count) {
        std::uint32_t longest = 0, at = 0;
        for (std::uint32_t v = 0; v < size; ++v) {
            if (length[v] == taken) continue;
            std::uint32_t before = 0;
            for (std::uint32_t u : g.predecessors(v))
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
        for (std::uint32_t left = longest; left > 0; --left) {
            path[left - 1] = at;
            // The neighbours' lengths are those of this round: a vertex of the path has been marked only behind them.
            length[at] = taken;
            for (std::uint32_t u : g.predecessors(path[left - 1]))
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
