// An overlay over a graph, in which vertices are merged and edges added without copying the graph, and both can be
// undone.
//
// The members of a merged vertex form a ring, and each keeps its own row of neighbours. Merging two vertices therefore
// exchanges two pointers, and undoing the merge exchanges them back. Every member knows the root of its ring, so
// finding it takes one load. The smaller side of a merge gets the root of the larger, so a vertex is relabelled log V
// times at most.
#ifndef STRETTO_ANALYSIS_DETAIL_MERGED_GRAPH_HPP
#define STRETTO_ANALYSIS_DETAIL_MERGED_GRAPH_HPP

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/analysis/detail/raw_array.hpp"
#include "stretto/core/config.hpp"

namespace stretto::detail {

/// The overlay over a base graph, a snapshot_view whose ids are the vertices. A merged vertex is named by its root,
/// which is one of its members. It takes 24 bytes per vertex and 16 per added edge. `Roots` is where the root of every
/// id is stored.
template <class Base, class Roots>
class merged_graph {
public:
    using id = typename Base::vertex_type;

    merged_graph(Base base, Roots roots) : base_(base), roots_(roots), vertices_(base.index_bound()) {
        for (id v = 0; v < size(); ++v) {
            roots_[v] = v;
            vertices_[v] = {v, 1, v, none, none};
        }
    }
    [[nodiscard]] std::size_t size() const noexcept { return base_.index_bound(); }
    [[nodiscard]] const Base& base() const noexcept { return base_; }
    [[nodiscard]] id root(id v) const {
        STRETTO_ASSERT(v < size(), "this vertex is not in the graph");
        return roots_[v];
    }
    /// The number of vertices that have been merged into `root`, itself included.
    [[nodiscard]] std::uint32_t members(id root) const { return vertices_[root].members; }
    /// The member that comes first in program order.
    [[nodiscard]] id first(id root) const { return vertices_[root].first; }
    /// The member after `v` in the ring.
    [[nodiscard]] id next_member(id v) const { return vertices_[v].next; }

    /// Calls `stop(successor, tail, head)` for every edge from a member `tail` of `root` to a vertex `head` outside,
    /// where `successor` is the root of `head`, until it returns true. Returns whether it did.
    template <class Stop>
    bool any_successor(id root, Stop stop) const {
        id tail = root;
        do {
            for (id head : base_.successors(tail))
                if (const id other = roots_[head]; other != root && stop(other, tail, head)) return true;
            for (id e = vertices_[tail].first_out; e != none; e = added_[e].next_out)
                if (const id other = roots_[added_[e].head]; other != root && stop(other, tail, added_[e].head))
                    return true;
            tail = vertices_[tail].next;
        } while (tail != root);
        return false;
    }
    /// The same for the edges that come in: calls `stop(predecessor)` with the root of the other end.
    template <class Stop>
    bool any_predecessor(id root, Stop stop) const {
        id head = root;
        do {
            for (id tail : base_.predecessors(head))
                if (const id other = roots_[tail]; other != root && stop(other)) return true;
            for (id e = vertices_[head].first_in; e != none; e = added_[e].next_in)
                if (const id other = roots_[added_[e].tail]; other != root && stop(other)) return true;
            head = vertices_[head].next;
        } while (head != root);
        return false;
    }

    /// Adds an edge between two ids. O(1).
    void add_edge(id tail, id head) {
        const id e = static_cast<id>(added_.size());
        added_.push_back({tail, head, vertices_[tail].first_out, vertices_[head].first_in});
        vertices_[tail].first_out = e;
        vertices_[head].first_in = e;
    }

    /// Which of two roots would remain a root: that of the larger vertex, or of two equally large the first in program
    /// order.
    [[nodiscard]] id survivor(id a, id b) const {
        if (vertices_[a].members != vertices_[b].members) return vertices_[a].members > vertices_[b].members ? a : b;
        return a < b ? a : b;
    }
    /// Merges two vertices and returns the survivor of their roots. O(members of the smaller). Precondition: the roots
    /// are different.
    id merge(id a, id b) {
        const id kept = survivor(a, b), absorbed = kept == a ? b : a;
        merges_.push_back({kept, absorbed, vertices_[kept].first});
        label_ring(absorbed, kept);
        std::swap(vertices_[kept].next, vertices_[absorbed].next);
        vertices_[kept].members += vertices_[absorbed].members;
        if (vertices_[absorbed].first < vertices_[kept].first) vertices_[kept].first = vertices_[absorbed].first;
        return kept;
    }

    /// A point in the history to which undo_to leads back.
    struct moment {
        std::size_t merges = 0, edges = 0;
        friend bool operator==(const moment&, const moment&) = default;
    };
    [[nodiscard]] moment now() const noexcept { return {merges_.size(), added_.size()}; }
    /// Undoes all merges and edges since `then`. O(members that had joined + edges).
    void undo_to(moment then) {
        STRETTO_ASSERT(then.merges <= merges_.size() && then.edges <= added_.size(), "that moment has been undone");
        for (; added_.size() > then.edges; added_.pop_back()) {
            const added_edge& last = added_.back();
            vertices_[last.tail].first_out = last.next_out;
            vertices_[last.head].first_in = last.next_in;
        }
        for (; merges_.size() > then.merges; merges_.pop_back()) {
            const merge_record& last = merges_.back();
            std::swap(vertices_[last.kept].next, vertices_[last.absorbed].next);
            vertices_[last.kept].members -= vertices_[last.absorbed].members;
            vertices_[last.kept].first = last.first;
            label_ring(last.absorbed, last.absorbed);
        }
    }
    /// Makes all merges so far permanent. Added edges are part of the graph and stay, so moments go on counting all of
    /// them.
    void forget_history() noexcept { merges_.clear(); }

private:
    static constexpr id none = UINT32_MAX;

    struct ring_member {
        id next;
        std::uint32_t members;  // only valid for a root
        id first;               // only valid for a root: the first member in program order
        id first_out, first_in;
    };

    struct added_edge {
        id tail, head, next_out, next_in;
    };
    struct merge_record {
        id kept, absorbed, first;  // `first` is what the kept root had before
    };

    /// Gives all members of the ring of `member` the root `root`.
    void label_ring(id member, id root) {
        id v = member;
        do {
            roots_[v] = root;
            v = vertices_[v].next;
        } while (v != member);
    }

    Base base_;
    Roots roots_;
    raw_array<ring_member> vertices_;
    std::vector<added_edge> added_;
    std::vector<merge_record> merges_;
};

}  // namespace stretto::detail

#endif
