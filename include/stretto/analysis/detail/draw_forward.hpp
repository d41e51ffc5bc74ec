// Repairs a program order that is not topological: depth first along predecessors, with a stack of its own. Source: R.
// E. Tarjan, Edge-disjoint spanning trees and depth-first search, Acta Informatica 6, 1976.
#ifndef STRETTO_ANALYSIS_DETAIL_DRAW_FORWARD_HPP
#define STRETTO_ANALYSIS_DETAIL_DRAW_FORWARD_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/views/snapshot.hpp"

namespace stretto::detail {

/// Puts every vertex after its predecessors. A vertex that is listed too late is drawn forward to just before the first
/// that depends on it. Several that one vertex needs come in the order of the row that names them, each after what it
/// depends on itself. Everything else stays where it is. Only rows of predecessors are read. An object is good for one
/// run.
template <class Id = std::uint32_t>
class forward_drawing {
public:
    explicit forward_drawing(snapshot_view g) : g_(g), marks_(g.index_bound(), mark::untouched), path_(64) {}

    /// Completes `order`, which begins as the ids below `done`; their predecessors must be below `done` too. Returns
    /// whether the graph is acyclic. If it is not, `order` ends up as a cycle that begins with its smallest id. It
    /// takes O(V + E) time, a byte per vertex, and up to 48 bytes per vertex of the longest path that is drawn forward.
    [[nodiscard]] bool operator()(std::uint32_t done, std::vector<Id>& order) {
        const std::size_t size = marks_.size();
        order.resize(size);
        std::uint32_t* next = order.data() + done;
        for (std::uint32_t v = 0; v < done; ++v) marks_[v] = mark::placed;
        std::size_t depth = 0;  // the number of vertices on the path
        for (std::size_t listed = done; (listed = first_untouched(listed)) < size;) {
            visit at = arrive(static_cast<std::uint32_t>(listed));
            for (;;) {
                while (at.read != at.end && marks_[*at.read] == mark::placed) ++at.read;
                if (at.read == at.end) {
                    marks_[at.vertex] = mark::placed;
                    *next++ = at.vertex;
                    if (depth == 0) break;
                    at = path_[--depth];
                    continue;
                }
                const std::uint32_t needed = *at.read++;
                if (depth == path_.size()) path_.resize(2 * depth);
                path_[depth++] = at;
                if (marks_[needed] == mark::waiting) {
                    path_.resize(depth);
                    order = cycle_back_to(needed);
                    return false;
                }
                at = arrive(needed);
            }
        }
        return true;
    }

private:
    // This is not an integer of one byte, because such an integer may alias anything, and the compiler would have to
    // read everything again after each write.
    enum class mark : unsigned char {
        untouched,
        waiting,
        placed
    };

    /// A vertex that waits for its predecessors, and those of its predecessors that have not been looked at.
    struct visit {
        const std::uint32_t* read;
        const std::uint32_t* end;
        std::uint32_t vertex;
    };

    /// Skips many vertices at a time. In an order that is in disarray, a branch for each would be mispredicted as often
    /// as not.
    [[nodiscard]] std::size_t first_untouched(std::size_t from) const {
        const void* found =
            __builtin_memchr(marks_.data() + from, static_cast<int>(mark::untouched), marks_.size() - from);
        return found ? static_cast<std::size_t>(static_cast<const mark*>(found) - marks_.data()) : marks_.size();
    }

    /// Begins the visit of a vertex.
    visit arrive(std::uint32_t v) {
        marks_[v] = mark::waiting;
        const std::span<const std::uint32_t> row = g_.predecessors(v);
        return {row.data(), row.data() + row.size(), v};
    }

    /// The cycle that the path has closed. Along the path each vertex waits for the next one, and the last for `v`,
    /// which is on the path.
    [[nodiscard]] std::vector<Id> cycle_back_to(std::uint32_t v) const {
        std::size_t first = path_.size() - 1, smallest = first;
        for (; path_[first].vertex != v; --first)
            if (path_[first].vertex < path_[smallest].vertex) smallest = first;
        if (v < path_[smallest].vertex) smallest = first;
        const std::size_t length = path_.size() - first;
        std::vector<Id> cycle;
        for (std::size_t k = 0; k < length; ++k)
            cycle.push_back(path_[first + (smallest - first + length - k) % length].vertex);
        return cycle;
    }

    snapshot_view g_;
    std::vector<mark> marks_;
    std::vector<visit> path_;
};

}  // namespace stretto::detail

#endif
