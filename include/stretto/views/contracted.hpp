// views::contracted: the quotient graph. Each group of vertices becomes one vertex: "if these were one operation".
#ifndef STRETTO_VIEWS_CONTRACTED_HPP
#define STRETTO_VIEWS_CONTRACTED_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/core/config.hpp"
#include "stretto/views/adaptor.hpp"

namespace stretto {

/// Which vertices become one. The first of a group in program order, its *leader*, stands for the group, so vertex
/// type and numbers of the graph stay valid. Vertices in no group stay alone. O(V) to build; 16 bytes per index.
template <vertex_list_graph G>
    requires indexed_graph<G>
class contraction {
public:
    using vertex_type = vertex_t<G>;

    /// Precondition: the groups are disjoint. Empty groups are allowed.
    contraction(G g, std::span<const std::vector<vertex_type>> groups)
        : group_of_(g.index_bound(), no_group), first_(groups.size() + 1, 0) {
        for (std::size_t k = 0; k < groups.size(); ++k) {
            for (const vertex_type& v : groups[k]) {
                STRETTO_ASSERT(group_of_[g.index(v)] == no_group, "a vertex is in two groups, or twice in one");
                group_of_[g.index(v)] = static_cast<std::uint32_t>(k);
            }
            first_[k + 1] = first_[k] + groups[k].size();
        }
        std::vector<std::size_t> filled = first_;
        members_.resize(first_.back());
        for (vertex_type v : g.vertices())
            if (const std::uint32_t k = group_of_[g.index(v)]; k != no_group) members_[filled[k]++] = v;
    }

    /// The vertex that stands for the group of `v`: its first member in program order, or `v` if it is alone.
    vertex_type leader(const G& g, vertex_type v) const {
        const std::uint32_t k = group_of_[g.index(v)];
        return k == no_group ? v : members_[first_[k]];
    }
    /// The members of the group of `v` in program order; empty if `v` is alone.
    std::span<const vertex_type> members(const G& g, vertex_type v) const {
        const std::uint32_t k = group_of_[g.index(v)];
        if (k == no_group) return {};
        return {members_.data() + first_[k], members_.data() + first_[k + 1]};
    }

private:
    static constexpr std::uint32_t no_group = UINT32_MAX;
    std::vector<std::uint32_t> group_of_;  // by index
    std::vector<std::size_t> first_;       // by group: where its members begin
    std::vector<vertex_type> members_;
};

/// Adjacency only. Parallel edges are kept: leader u precedes leader v as often as edges lead from the group of u to
/// that of v. Edges inside a group vanish. The quotient of an acyclic graph may have cycles, and its vertices, listed
/// by leaders, need not be in topological order: topological_sort tells.
template <dependence_graph G>
class contracted_view : public detail::numbers_of_base<G> {
public:
    using typename detail::numbers_of_base<G>::vertex_type;
    using detail::numbers_of_base<G>::base;

    contracted_view(G g, const contraction<G>& groups) : detail::numbers_of_base<G>(g), groups_(&groups) {}

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
    /// The vertices that leader `v` stands for, in program order; empty if it stands for itself alone.
    std::span<const vertex_type> members(vertex_type v) const { return groups_->members(base(), v); }

private:
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

/// The quotient of `g` by `groups`, which the view refers to and which must outlive it. Neighbours come as a fresh
/// vector: O(degrees of the members) per call.
template <dependence_graph G>
[[nodiscard]] contracted_view<G> contracted(G g, const contraction<G>& groups) {
    return {g, groups};
}
template <dependence_graph G>
void contracted(G g, const contraction<G>&& groups) = delete;

}  // namespace views
}  // namespace stretto

#endif
