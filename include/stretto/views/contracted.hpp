// views::contracted: the quotient of a graph, in which each group of vertices becomes one vertex. It shows the graph as
// it would be if the operations of a group were one.
#ifndef STRETTO_VIEWS_CONTRACTED_HPP
#define STRETTO_VIEWS_CONTRACTED_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/core/checked_index.hpp"
#include "stretto/core/config.hpp"
#include "stretto/views/adaptor.hpp"

namespace stretto {

/// Says which vertices become one. The first vertex of a group in program order, its *leader*, represents the group, so
/// the vertex type and the numbers of the graph stay valid. A vertex in no group stays alone. Building takes O(V +
/// groups) time, 4 bytes per index, 8 per group and a handle per member. The contraction does not follow changes of the
/// graph.
template <vertex_list_graph G>
    requires indexed_graph<G>
class contraction {
public:
    using vertex_type = vertex_t<G>;

    /// Precondition: the groups are disjoint, no group lists a vertex twice, and all members are vertices of `g`. Empty
    /// groups are allowed.
    contraction(G g, std::span<const std::vector<vertex_type>> groups)
        : group_of_(g.index_bound(), no_group), first_(groups.size() + 1, 0) {
        for (std::size_t k = 0; k < groups.size(); ++k) {
            for (const vertex_type& v : groups[k]) {
                std::uint32_t& group = group_of_[detail::checked_index(g, v, group_of_.size())];
                STRETTO_ASSERT(group == no_group, "a vertex is in two groups, or twice in one");
                group = static_cast<std::uint32_t>(k);
            }
            first_[k + 1] = first_[k] + groups[k].size();
        }
        std::vector<std::size_t> filled = first_;
        members_.resize(first_.back());
        for (vertex_type v : g.vertices())
            if (const std::uint32_t k = group_of_[detail::checked_index(g, v, group_of_.size())]; k != no_group)
                members_[filled[k]++] = v;
    }

    /// The vertex that represents the group of `v`: its first member in program order, or `v` itself if it is alone.
    /// O(1).
    vertex_type leader(const G& g, vertex_type v) const {
        const std::uint32_t k = group_of_[detail::checked_index(g, v, group_of_.size())];
        return k == no_group ? v : members_[first_[k]];
    }
    /// The members of the group of `v` in program order; empty if `v` is alone. O(1).
    std::span<const vertex_type> members(const G& g, vertex_type v) const {
        const std::uint32_t k = group_of_[detail::checked_index(g, v, group_of_.size())];
        if (k == no_group) return {};
        return {members_.data() + first_[k], members_.data() + first_[k + 1]};
    }

private:
    static constexpr std::uint32_t no_group = UINT32_MAX;
    std::vector<std::uint32_t> group_of_;  // by index
    std::vector<std::size_t> first_;       // by group: where its members begin
    std::vector<vertex_type> members_;
};

/// The quotient graph. It offers adjacency only. Parallel edges are kept: leader u precedes leader v as often as edges
/// lead from the group of u to that of v. Edges inside a group vanish. The quotient of an acyclic graph may have
/// cycles, and its vertices, listed by their leaders, need not be in topological order; topological_sort checks both.
/// Precondition of all members that take a vertex: it is a leader or ungrouped.
template <dependence_graph G>
class contracted_view : public detail::numbers_of_base<G> {
public:
    using typename detail::numbers_of_base<G>::vertex_type;
    using detail::numbers_of_base<G>::base;

    contracted_view(G g, const contraction<G>& groups) : detail::numbers_of_base<G>(g), groups_(&groups) {}

    /// The leaders of all groups and the ungrouped vertices, in program order, as a new vector. O(V).
    std::vector<vertex_type> vertices() const {
        std::vector<vertex_type> leaders;
        for (vertex_type v : base().vertices())
            if (groups_->leader(base(), v) == v) leaders.push_back(v);
        return leaders;
    }
    std::vector<vertex_type> successors(vertex_type v) const {
        return neighbours(v, [this](vertex_type u) -> detail::successors_range_t<G> { return base().successors(u); });
    }
    std::vector<vertex_type> predecessors(vertex_type v) const {
        return neighbours(v,
                          [this](vertex_type u) -> detail::predecessors_range_t<G> { return base().predecessors(u); });
    }
    /// The vertices that leader `v` represents, in program order; empty if it is ungrouped.
    std::span<const vertex_type> members(vertex_type v) const { return groups_->members(base(), v); }

private:
    /// The leaders of all neighbours of the members of `v`, other than `v`.
    template <class Adjacency>
    std::vector<vertex_type> neighbours(vertex_type v, Adjacency adjacency) const {
        std::vector<vertex_type> found;
        const auto collect = [&](vertex_type u) {
            for (vertex_type w : adjacency(u))
                if (const vertex_type other = groups_->leader(base(), w); !(other == v)) found.push_back(other);
        };
        const std::span<const vertex_type> group = members(v);
        if (group.empty()) collect(v);
        for (const vertex_type& u : group) collect(u);
        return found;
    }

    const contraction<G>* groups_;
};

namespace views {

/// The quotient of `g` by `groups`. The view refers to `groups`, which must outlive it; a temporary is rejected at
/// compile time. Neighbours are returned as a new vector, in O(degrees of the members) per call.
template <dependence_graph G>
[[nodiscard]] contracted_view<G> contracted(G g, const contraction<G>& groups) {
    return {g, groups};
}
template <dependence_graph G>
void contracted(G g, const contraction<G>&& groups) = delete;

}  // namespace views
}  // namespace stretto

#endif
