// Levels and slack: the position of each vertex among the longest paths. Lengths are counted in vertices (the levels of
// a layered drawing, the depth of a pipeline) or in nanoseconds (how early and how late a task can begin, and which
// tasks are critical).
//
// Levels take one forward sweep over a topological order; times take a forward and a backward one. No snapshot is made,
// because each edge is visited only once or twice. Source: J. E. Kelley, Critical-path planning and scheduling:
// mathematical basis, Operations Research 9(3), 1961.
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

/// The level of each vertex: the number of edges on the longest path to it, 0 for a vertex without predecessors. Every
/// edge leads to a higher level, so the vertices of one level are independent of each other.
template <dependence_graph G>
class levels {
public:
    /// All levels are 0 until `update` has been called; levels_of does both.
    explicit levels(G g) : graph_(g), level_(g) {}

    [[nodiscard]] std::uint32_t operator[](vertex_t<G> v) const { return level_[v]; }
    /// The number of levels, which is the number of vertices on a longest path; 0 for the empty graph.
    [[nodiscard]] std::size_t count() const noexcept { return count_; }

    /// Recomputes the levels after edges have changed. `order` must be an order of the graph as it is now, and its
    /// index bound must not have grown. It allocates nothing and takes O(V + E) time.
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

/// The level of every vertex of `g`. The result is deterministic and does not depend on which topological order is
/// given. It takes O(V + E) time and 4 bytes per index.
template <dependence_graph G>
[[nodiscard]] levels<G> levels_of(G g, const topological_order<vertex_t<G>>& order) {
    levels<G> all(g);
    all.update(order);
    return all;
}

/// A callable that returns the duration of a vertex.
template <class D, class G>
concept vertex_durations = graph_view<G> && requires(D& duration, const vertex_t<G> v) {
    { duration(v) } -> std::convertible_to<nanoseconds>;
};

/// When each vertex can begin if only dependences restrict it. Resources are not modelled; the bounds and the simulator
/// in schedule/ do that.
template <dependence_graph G>
class timing {
public:
    /// All times are zero until `update` has been called; timing_of does both.
    explicit timing(G g) : graph_(g), asap_(g), alap_(g) {}

    /// The earliest beginning of `v` (as soon as possible): the length of the longest path that ends where `v` begins.
    [[nodiscard]] nanoseconds asap(vertex_t<G> v) const { return asap_[v]; }
    /// The latest beginning of `v` (as late as possible) that does not lengthen the critical path.
    [[nodiscard]] nanoseconds alap(vertex_t<G> v) const { return alap_[v]; }
    /// The longest harmless delay of `v`: alap - asap. It is never negative, and it is zero exactly on critical paths.
    [[nodiscard]] nanoseconds slack(vertex_t<G> v) const { return alap_[v] - asap_[v]; }
    /// The length of the longest path, including the durations of its vertices.
    [[nodiscard]] nanoseconds length() const noexcept { return length_; }
    /// A longest path, from a vertex without predecessors to one without successors; each vertex is a successor of the
    /// one before it. Of several longest paths it is the one that begins with the vertex that is first in the order,
    /// and always continues with the vertex that is first in the order.
    [[nodiscard]] const std::vector<vertex_t<G>>& critical_path() const noexcept { return critical_path_; }

    /// Recomputes the times with other durations or after edges have changed. `order` must be an order of the graph as
    /// it is now, and its index bound must not have grown. `duration` is called at most three times for each vertex.
    /// Nothing is allocated unless the critical path is longer than all before. O(V + E).
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

    /// Leaves the earliest beginnings in asap_; alap_ holds the earliest ends until the backward sweep.
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
    /// Turns the ends in alap_ into the latest beginnings, from the last vertex to the first.
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
    /// The first vertex without slack has no predecessors, because the one of them that ends last would have no slack
    /// either. As long as the path can continue, one of the successors begins when it ends and has no slack.
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

/// Earliest and latest beginnings, slack and critical path of `g`. `duration` is a callable that returns the
/// nanoseconds of a vertex; none may be negative, and their sum along any path must be below 2^63. The result is
/// deterministic. It takes O(V + E) time and 16 bytes per index.
template <dependence_graph G, vertex_durations<G> D>
[[nodiscard]] timing<G> timing_of(G g, const topological_order<vertex_t<G>>& order, D duration) {
    timing<G> all(g);
    all.update(order, duration);
    return all;
}

}  // namespace stretto

#endif
