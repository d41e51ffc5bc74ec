// A topological order that is maintained while vertices of the graph are merged and edges are added. A change that
// would make an order impossible is refused, with the path that forbids it.
//
// The user's graph is not modified, because merges and edges are kept in an overlay. A transform can thus find out what
// the graph would be if several operations were one, before anything is rewritten. To ask about reachability as well,
// or to undo changes, use incremental_reachability.
#ifndef STRETTO_ANALYSIS_MAINTAINED_ORDER_HPP
#define STRETTO_ANALYSIS_MAINTAINED_ORDER_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/analysis/detail/dynamic_order.hpp"
#include "stretto/analysis/detail/program_ids.hpp"
#include "stretto/analysis/topological_order.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/config.hpp"
#include "stretto/core/expected.hpp"

namespace stretto {

/// The dependence of `after` on `before`.
template <handle V>
struct dependence {
    V before, after;
    friend bool operator==(const dependence&, const dependence&) = default;
};

/// The witness of a refusal: a path that the change would have closed to a cycle. It begins with `from` and ends with
/// `to`; `via` is the vertex after `from` on it, or `from` itself where the two ends alone suffice (a wait on which a
/// start depends). It is small because refusals are frequent; `path(witness)` of the object that refused expands it
/// into all its vertices.
template <handle V>
struct blocking_path {
    V from, via, to;
    friend bool operator==(const blocking_path&, const blocking_path&) = default;
};

template <dependence_graph G>
class incremental_reachability;

/// The members of a merged vertex as a forward range of handles. The first in program order comes first; the order of
/// the others is deterministic but has no meaning. The range is valid until the next change.
template <dependence_graph G>
class merged_members {
    using graph_type = typename detail::dynamic_order<typename detail::program_ids<G>::view_type>::graph_type;

public:
    class iterator {
    public:
        using vertex_type = vertex_t<G>;
        iterator(const merged_members& range, std::uint32_t at, bool begun) : range_(&range), at_(at), begun_(begun) {}
        vertex_type operator*() const { return range_->ids_->vertex(at_); }
        iterator& operator++() {
            at_ = range_->graph_->next_member(at_);
            begun_ = true;
            return *this;
        }
        friend bool operator==(const iterator& a, const iterator& b) { return a.at_ == b.at_ && a.begun_ == b.begun_; }

    private:
        const merged_members* range_;
        std::uint32_t at_;
        bool begun_;  // the members form a ring, so the end is the beginning
    };

    merged_members(const detail::program_ids<G>& ids, const graph_type& graph, std::uint32_t root)
        : ids_(&ids), graph_(&graph), root_(root) {}
    iterator begin() const { return {*this, graph_->first(root_), false}; }
    iterator end() const { return {*this, graph_->first(root_), true}; }
    [[nodiscard]] std::size_t size() const { return graph_->members(root_); }

private:
    const detail::program_ids<G>* ids_;
    const graph_type* graph_;
    std::uint32_t root_;
};

/// The overlay and its order. Merging is contraction: edges between members vanish, and a merge is refused only if a
/// path leaves the merged vertex and comes back.
///
/// Building takes O(V + E) time and 52 bytes per vertex, plus a snapshot of the graph (none is made of a snapshot_view,
/// which must outlive this object) and 16 bytes per added edge. A change costs the edges on the smaller side of what
/// must move, times the logarithm of their number: a handful in a training step, O(E) in the worst case. The result is
/// deterministic, and nothing is allocated once the buffers have grown. The object can be neither copied nor moved.
/// Only one thread may use it at a time.
template <dependence_graph G>
class maintained_order {
public:
    using vertex_type = vertex_t<G>;
    using blocked = blocking_path<vertex_type>;

    /// `order` is any topological order of `g`. Vertices that no change moves stay in this order.
    maintained_order(G g, const topological_order<vertex_type>& order) : ids_(g), now_(ids_.view()) {
        STRETTO_ASSERT(order.size() == now_.graph.size(), "this order is not one of this graph");
        for (const vertex_type& v : order) now_.list.append(ids_.id(v));
    }
    maintained_order(const maintained_order&) = delete;
    maintained_order& operator=(const maintained_order&) = delete;

    /// Makes two vertices one and returns the leader of the result. Merging a vertex with itself changes nothing. The
    /// merge is refused, with the path as the error, if one vertex depends on the other through a third.
    expected<vertex_type, blocked> try_merge(vertex_type a, vertex_type b) {
        now_.forget_history();
        return merge_two(ids_.id(a), ids_.id(b));
    }
    /// Makes the vertices of `set` one, all of them or none, and returns the leader. The merge is refused, with the
    /// path as the error, exactly if a path leaves the set and comes back. Precondition: the set is not empty.
    expected<vertex_type, blocked> try_merge(std::span<const vertex_type> set) {
        now_.forget_history();
        const auto before = now_.now();
        return merge_set(set, [&] { now_.undo_to(before); });
    }
    /// Adds a dependence. It is refused if `before` already depends on `after`, or if both are members of one vertex.
    /// An edge that is added twice exists twice.
    expected<dependence<vertex_type>, blocked> try_add_edge(vertex_type before, vertex_type after) {
        now_.forget_history();
        const std::uint32_t tail = ids_.id(before), head = ids_.id(after);
        if (now_.graph.root(tail) == now_.graph.root(head) || !now_.add_edge(tail, head))
            return unexpected(blocked{after, after, before});
        return dependence<vertex_type>{before, after};
    }

    /// Whether the merged vertex of `a` comes before that of `b` in the order. O(1). If it does not, either the two are
    /// the same vertex or `b` does not depend on `a`.
    [[nodiscard]] bool precedes(vertex_type a, vertex_type b) const { return now_.list.precedes(root(a), root(b)); }
    /// The vertex that represents the merged vertex of `v`: its first member in program order, or `v` itself if it is
    /// alone. O(1).
    [[nodiscard]] vertex_type leader(vertex_type v) const { return ids_.vertex(now_.graph.first(root(v))); }
    /// All vertices with which `v` has been merged, `v` included.
    [[nodiscard]] merged_members<G> members(vertex_type v) const { return {ids_, now_.graph, root(v)}; }
    /// The leaders of all vertices, merged or alone, in the present order. O(V).
    [[nodiscard]] std::vector<vertex_type> leaders() const {
        std::vector<vertex_type> all;
        for (std::uint32_t v = now_.list.front(); v != now_.list.end(); v = now_.list.next(v))
            all.push_back(ids_.vertex(now_.graph.first(v)));
        return all;
    }

    /// A path from `from` to `to` with the fewest edges, both ends included; empty if there is none. Two neighbours on
    /// the path are the ends of an edge, or members of the same merged vertex. O(edges between the two in the order).
    [[nodiscard]] std::vector<vertex_type> path(vertex_type from, vertex_type to) {
        return vertices(now_.path(ids_.id(from), ids_.id(to)));
    }
    /// Expands a witness into all the vertices of its path. A witness is valid until the next change.
    [[nodiscard]] std::vector<vertex_type> path(const blocked& witness) {
        auto ids = now_.path(ids_.id(witness.via), ids_.id(witness.to));
        if (!(witness.via == witness.from)) ids.insert(ids.begin(), ids_.id(witness.from));
        return vertices(ids);
    }

private:
    friend class incremental_reachability<G>;
    using dynamic_order = detail::dynamic_order<typename detail::program_ids<G>::view_type>;
    using id = typename dynamic_order::id;

    [[nodiscard]] std::uint32_t root(vertex_type v) const { return now_.graph.root(ids_.id(v)); }
    [[nodiscard]] std::vector<vertex_type> vertices(const std::vector<id>& ids) const {
        std::vector<vertex_type> all;
        all.reserve(ids.size());
        for (id each : ids) all.push_back(ids_.vertex(each));
        return all;
    }
    [[nodiscard]] vertex_type leader_of_root(std::uint32_t root) const { return ids_.vertex(now_.graph.first(root)); }

    expected<vertex_type, blocked> merge_two(std::uint32_t a, std::uint32_t b) {
        a = now_.graph.root(a);
        b = now_.graph.root(b);
        if (a == b) return leader_of_root(a);
        if (!now_.make_room_for_merge(a, b)) {
            if (now_.list.precedes(b, a)) std::swap(a, b);
            const auto [from, via, to] = now_.indirect_path(a, b);
            return unexpected(blocked{ids_.vertex(from), ids_.vertex(via), ids_.vertex(to)});
        }
        return leader_of_root(now_.graph.merge(a, b));
    }
    /// Merges the first two members of the set in the order, then the result with the third, and so on. Merging two
    /// members with none of the others between them leaves the others where they are, so no third member can come to
    /// stand between two, and one of these merges is refused exactly if the set must be.
    template <class Undo>
    expected<vertex_type, blocked> merge_set(std::span<const vertex_type> set, Undo undo) {
        STRETTO_ASSERT(!set.empty(), "there is no vertex to merge");
        set_.clear();
        for (const vertex_type& v : set) set_.push_back(root(v));
        now_.list.sort(set_);
        for (std::size_t k = 1; k < set_.size(); ++k) {
            const auto merged = merge_two(set_[0], set_[k]);
            if (merged) continue;
            undo();
            return merged;
        }
        return leader_of_root(now_.graph.root(set_[0]));
    }

    detail::program_ids<G> ids_;
    dynamic_order now_;
    std::vector<id> set_;
};

}  // namespace stretto

#endif
