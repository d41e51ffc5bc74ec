// Levels and slack: where each vertex stands among the longest paths. Counted in vertices (the levels of a layered
// drawing, the depth of a pipeline) or in nanoseconds (how early and how late a task may begin, and what is critical).
//
// One forward and one backward sweep over a topological order; no snapshot, because each edge is looked at once or
// twice. Source: J. E. Kelley, Critical-path planning and scheduling: mathematical basis, Operations Research 9(3),
// 1961.
#ifndef STRETTO_ANALYSIS_LEVELS_HPP
#define STRETTO_ANALYSIS_LEVELS_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/analysis/topological_order.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/config.hpp"
#include "stretto/core/units.hpp"
#include "stretto/core/vertex_map.hpp"

namespace stretto {

/// How many edges the longest path to each vertex has: 0 for a vertex without predecessors. Every edge leads to a
/// higher level, and the vertices of one level are independent of each other.
template <dependence_graph G>
class levels {
public:
    explicit levels(G g) : graph_(g), level_(g) {}

    [[nodiscard]] std::uint32_t operator[](vertex_t<G> v) const { return level_[v]; }
    /// The number of levels: vertices on the longest path of all. 0 for the empty graph.
    [[nodiscard]] std::size_t count() const noexcept { return count_; }

    /// Takes the levels again after edges have changed; `order` is that of the graph as it is now, and the index bound
    /// may not have grown. Allocates nothing. O(V + E).
    void update(const topological_order<vertex_t<G>>& order) {
        count_ = 0;
        for (const vertex_t<G>& v : order) {
            std::uint32_t level = 0;
            for (vertex_t<G> u : graph_.predecessors(v)) {
                const std::uint32_t above = level_[u] + 1;
                if (level < above) level = above;
            }
            level_[v] = level;
            if (count_ <= level) count_ = std::size_t{level} + 1;
        }
    }

private:
    G graph_;
    vertex_map<G, std::uint32_t> level_;
    std::size_t count_ = 0;
};

/// The level of every vertex of `g`. Deterministic; independent of which topological order is given. O(V + E) time,
/// 4 bytes per index.
template <dependence_graph G>
[[nodiscard]] levels<G> levels_of(G g, const topological_order<vertex_t<G>>& order) {
    levels<G> all(g);
    all.update(order);
    return all;
}

/// A cost of each vertex, by any callable.
template <class D, class G>
concept vertex_durations = graph_view<G> && requires(D& duration, const vertex_t<G> v) {
    { duration(v) } -> std::convertible_to<nanoseconds>;
};

/// When each vertex can begin if nothing but dependences holds it back. Resources are not modelled: that is what the
/// bounds and the simulator of schedule/ are for.
template <dependence_graph G>
class timing {
public:
    explicit timing(G g) : graph_(g), asap_(g), alap_(g) {}

    /// As soon as possible: the longest path to the beginning of `v`.
    [[nodiscard]] nanoseconds asap(vertex_t<G> v) const { return asap_[v]; }
    /// As late as possible: the latest beginning of `v` that does not lengthen the critical path.
    [[nodiscard]] nanoseconds alap(vertex_t<G> v) const { return alap_[v]; }
    /// By how much `v` can be late; zero exactly on critical paths, never negative.
    [[nodiscard]] nanoseconds slack(vertex_t<G> v) const { return alap_[v] - asap_[v]; }
    /// The length of the longest path.
    [[nodiscard]] nanoseconds length() const noexcept { return length_; }
    /// A longest path, each vertex a successor of the one before it, from a vertex without predecessors to one without
    /// successors. Among several: the one that begins with, and goes on with, the vertex that is first in the order.
    [[nodiscard]] const std::vector<vertex_t<G>>& critical_path() const noexcept { return critical_path_; }

    /// Takes the times again, with other durations or after edges have changed; `order` is that of the graph as it is
    /// now, and the index bound may not have grown. Calls `duration` at most three times a vertex. Allocates nothing
    /// once a critical path as long has been seen. O(V + E).
    template <vertex_durations<G> D>
    void update(const topological_order<vertex_t<G>>& order, D duration) {
        sweep_forward(order, duration);
        sweep_backward(order, duration);
        trace_critical_path(order, duration);
    }

private:
    static void raise(nanoseconds& to, nanoseconds value) {
        if (to < value) to = value;
    }

    /// asap_ ends up as the beginnings; alap_ is borrowed for the ends.
    template <class D>
    void sweep_forward(const topological_order<vertex_t<G>>& order, D& duration) {
        length_ = {};
        for (const vertex_t<G>& v : order) {
            nanoseconds begin;
            for (vertex_t<G> u : graph_.predecessors(v)) raise(begin, alap_[u]);
            const nanoseconds takes = duration(v);
            STRETTO_ASSERT(takes >= nanoseconds{}, "a vertex takes negative time");
            asap_[v] = begin;
            alap_[v] = begin + takes;
            raise(length_, alap_[v]);
        }
    }
    template <class D>
    void sweep_backward(const topological_order<vertex_t<G>>& order, D& duration) {
        for (std::size_t i = order.size(); i-- > 0;) {
            const vertex_t<G> v = order[i];
            nanoseconds due = length_;
            for (vertex_t<G> w : graph_.successors(v))
                if (alap_[w] < due) due = alap_[w];
            const nanoseconds takes = duration(v);
            alap_[v] = due - takes;
        }
    }
    /// The first vertex without slack has no predecessor, since one of those would have no slack either; and as long as
    /// the path can go on, one of the successors begins when it ends and has no slack.
    template <class D>
    void trace_critical_path(const topological_order<vertex_t<G>>& order, D& duration) {
        critical_path_.clear();
        nanoseconds end;
        for (const vertex_t<G>& v : order) {
            if (slack(v) != nanoseconds{} || asap_[v] != end) continue;
            bool goes_on = critical_path_.empty();
            for (vertex_t<G> u : graph_.predecessors(v)) goes_on = goes_on || u == critical_path_.back();
            if (!goes_on) continue;
            critical_path_.push_back(v);
            const nanoseconds takes = duration(v);
            end += takes;
        }
    }

    G graph_;
    vertex_map<G, nanoseconds> asap_, alap_;
    nanoseconds length_;
    std::vector<vertex_t<G>> critical_path_;
};

/// Earliest and latest beginnings, slack and critical path of `g` under `duration`: a callable that gives the
/// nanoseconds of a vertex, none negative, their sum along any path below 2^63. Deterministic. O(V + E) time, 16 bytes
/// per index.
template <dependence_graph G, vertex_durations<G> D>
[[nodiscard]] timing<G> timing_of(G g, const topological_order<vertex_t<G>>& order, D duration) {
    timing<G> all(g);
    all.update(order, duration);
    return all;
}

}  // namespace stretto

#endif
