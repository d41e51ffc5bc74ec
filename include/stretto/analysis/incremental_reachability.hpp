// Reachability that stays exact while vertices are merged and edges are added, and in which every change can be undone.
//
// One longest path of the graph, the spine, decides most questions. If the first spine position that u reaches is not
// after the last one that reaches v, then u reaches v. If one of the two labels, or the maintained order, contradicts a
// path, then u does not reach v. Only cases that the labels leave open need a search, and they prune it. Merges and
// added edges move labels in one direction only, and few of them. Bucketing of collectives asks such questions
// constantly, and most candidates are refused after comparing four numbers.
//
// Sources: maintained_order.hpp names those of the order; docs/algorithms/reachability.md those of labels relative to
// one path.
//
// Longer than 300 lines: questions and changes share the labels, the order and the stamps of searches.
#ifndef STRETTO_ANALYSIS_INCREMENTAL_REACHABILITY_HPP
#define STRETTO_ANALYSIS_INCREMENTAL_REACHABILITY_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/analysis/detail/moving_labels.hpp"
#include "stretto/analysis/detail/reach_verdict.hpp"
#include "stretto/analysis/maintained_order.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/config.hpp"
#include "stretto/core/expected.hpp"

namespace stretto {

/// The two ends of a collective.
template <handle V>
struct collective_ends {
    V start, wait;
    friend bool operator==(const collective_ends&, const collective_ends&) = default;
};

/// A point in the history of an incremental_reachability, created by its mark().
class reachability_mark {
    std::size_t depth_ = 0;
    std::uint64_t serial_ = 0;
    template <dependence_graph G>
    friend class incremental_reachability;
};

/// The graph as it would be with vertices merged and edges added. The user's own graph is not modified. Merging is
/// contraction: edges between members vanish. A path that leaves a merged vertex and comes back would be a cycle, so
/// such a merge is refused.
///
/// Building takes O(V + E) time and 52 bytes per vertex, plus a snapshot of the graph (none is made of a snapshot_view,
/// which must outlive this object) and 16 bytes per added edge. A change costs the same as in maintained_order, plus
/// the edges of the vertices whose labels move, plus the edges of the two vertices if one depends on the other. After a
/// mark, a change also costs 16 bytes for everything that it has moved. Answers are exact and deterministic, and
/// nothing is allocated once the buffers have grown. The object can be neither copied nor moved. Only one thread may
/// use it at a time, because questions use scratch memory too.
template <dependence_graph G>
class incremental_reachability {
public:
    using vertex_type = vertex_t<G>;
    using blocked = blocking_path<vertex_type>;

    /// `order` is any topological order of `g`; it is needed only during construction.
    incremental_reachability(G g, const topological_order<vertex_type>& order)
        : order_(g, order), labels_(order_.now_.graph, order_.ids_.of(order), order_.now_.labels()) {}
    incremental_reachability(const incremental_reachability&) = delete;
    incremental_reachability& operator=(const incremental_reachability&) = delete;

    /// Whether a path leads from `a` to `b`. A vertex reaches itself and everything with which it has been merged. It
    /// takes a few comparisons if the labels decide, and O(edges between the two in the order) in the worst case.
    [[nodiscard]] bool reaches(vertex_type a, vertex_type b) { return reaches_root(root(a), root(b)); }

    /// Makes two vertices one and returns the leader of the result. Merging a vertex with itself changes nothing. The
    /// merge is refused, with the path as the error, if one vertex depends on the other through a third.
    expected<vertex_type, blocked> try_merge(vertex_type a, vertex_type b) {
        begin_change();
        return merge_two(order_.ids_.id(a), order_.ids_.id(b));
    }
    /// Makes the vertices of `set` one, all of them or none, and returns the leader. The merge is refused, with the
    /// path as the error, exactly if a path leaves the set and comes back. Precondition: the set is not empty.
    expected<vertex_type, blocked> try_merge(std::span<const vertex_type> set) {
        begin_change();
        return merge_set(set, now());
    }
    /// Merges two collectives, or two buckets of collectives: their starts become one vertex and their waits another,
    /// both or neither. Returns the two leaders. The merge is refused if one of the waits reaches the start of the
    /// other collective, or if one start reaches the other, or one wait the other, through a third vertex; the error
    /// names the two ends. Edges that only keep the collectives of a group in some order forbid merging too, so leave
    /// them out of the graph. Precondition: each wait depends on its start and is not merged with it.
    expected<collective_ends<vertex_type>, blocked> try_merge_collectives(const collective_ends<vertex_type>& a,
                                                                          const collective_ends<vertex_type>& b) {
        begin_change();
        STRETTO_ASSERT(follows(a.wait, a.start) && follows(b.wait, b.start), "a wait must depend on its start");
        if (reaches(a.wait, b.start)) return unexpected(blocked{a.wait, a.wait, b.start});
        if (reaches(b.wait, a.start)) return unexpected(blocked{b.wait, b.wait, a.start});
        const moment before = now();
        const auto start = merge_two(order_.ids_.id(a.start), order_.ids_.id(b.start));
        if (!start) return unexpected(start.error());
        const auto wait = merge_two(order_.ids_.id(a.wait), order_.ids_.id(b.wait));
        if (!wait) {
            go_back_to(before);
            return unexpected(wait.error());
        }
        return collective_ends<vertex_type>{*start, *wait};
    }
    /// Merges many collectives at once: their starts become one vertex and their waits another, all of them or none.
    /// The merge is refused exactly if a wait reaches a start, or if a path leaves the starts or the waits and comes
    /// back. A single search from all waits replaces the repeated searches of merging them one by one, so it is faster.
    /// Precondition: there is a collective, and each wait depends on its start and is not merged with it.
    expected<collective_ends<vertex_type>, blocked> try_merge_collectives(
        std::span<const collective_ends<vertex_type>> all) {
        begin_change();
        STRETTO_ASSERT(!all.empty(), "there is no collective to merge");
        if (const collective_ends<vertex_type>* const waiting = find_wait_before_start(all))
            for (const collective_ends<vertex_type>& c : all)
                if (reaches(waiting->wait, c.start)) return unexpected(blocked{waiting->wait, waiting->wait, c.start});
        const moment before = now();
        const auto merge_ends = [&](vertex_type collective_ends<vertex_type>::* end) {
            ends_.clear();
            for (const collective_ends<vertex_type>& c : all) ends_.push_back(c.*end);
            return merge_set(ends_, before);
        };
        const auto start = merge_ends(&collective_ends<vertex_type>::start);
        if (!start) return unexpected(start.error());
        const auto wait = merge_ends(&collective_ends<vertex_type>::wait);
        if (!wait) return unexpected(wait.error());
        return collective_ends<vertex_type>{*start, *wait};
    }
    /// Adds a dependence, for example one that keeps a collective hidden. It is refused if `after` reaches `before`.
    expected<dependence<vertex_type>, blocked> try_add_edge(vertex_type before, vertex_type after) {
        begin_change();
        if (reaches(after, before)) return unexpected(blocked{after, after, before});
        labels_.connect(order_.now_.graph, root(before), root(after));
        order_.now_.add_edge(order_.ids_.id(before), order_.ids_.id(after));
        return dependence<vertex_type>{before, after};
    }

    /// Records the present state, and from now on every change. O(1). Two marks at the same moment are the same mark. A
    /// mark is valid until undo_to an earlier mark, or until forget_marks.
    [[nodiscard]] reachability_mark mark() {
        if (marks_.empty() || !(marks_.back().at == now())) marks_.push_back({now(), ++last_serial_});
        reachability_mark here;
        here.depth_ = marks_.size() - 1;
        here.serial_ = marks_.back().serial;
        return here;
    }
    /// Undoes all changes after the mark: answers, witnesses and the order are as they were then. The mark stays valid.
    /// O(what has moved since). Precondition: the mark is valid.
    void undo_to(const reachability_mark& then) {
        STRETTO_ASSERT(then.depth_ < marks_.size() && marks_[then.depth_].serial == then.serial_,
                       "this mark has been undone or forgotten");
        go_back_to(marks_[then.depth_].at);
        marks_.resize(then.depth_ + 1);
    }
    /// Makes the present state permanent. All marks become invalid, and the next change discards the history.
    void forget_marks() noexcept { marks_.clear(); }

    /// The current topological order, leaders and members.
    [[nodiscard]] const maintained_order<G>& order() const noexcept { return order_; }
    [[nodiscard]] vertex_type leader(vertex_type v) const { return order_.leader(v); }
    [[nodiscard]] merged_members<G> members(vertex_type v) const { return order_.members(v); }

    /// A path from `from` to `to` with the fewest edges, both ends included; empty if there is none. Two neighbours on
    /// the path are the ends of an edge, or members of the same merged vertex. O(edges between the two in the order).
    [[nodiscard]] std::vector<vertex_type> path(vertex_type from, vertex_type to) { return order_.path(from, to); }
    /// Expands a witness into all the vertices of its path. A witness is valid until the next change.
    [[nodiscard]] std::vector<vertex_type> path(const blocked& witness) { return order_.path(witness); }

private:
    using dynamic_order = detail::dynamic_order<typename detail::program_ids<G>::view_type>;
    using moving_labels =
        detail::moving_labels<typename dynamic_order::graph_type, detail::spine_column<std::uint32_t>>;
    using label = typename moving_labels::label;

    /// A point in the histories of the order and of the labels, to which both can return.
    struct moment {
        typename dynamic_order::moment order;
        std::size_t labels = 0;
        friend bool operator==(const moment&, const moment&) = default;
    };
    struct marked_moment {
        moment at;
        std::uint64_t serial = 0;
    };

    [[nodiscard]] std::uint32_t root(vertex_type v) const { return order_.root(v); }
    /// Whether `after` depends on `before` and is not merged with it.
    [[nodiscard]] bool follows(vertex_type after, vertex_type before) {
        return root(after) != root(before) && reaches(before, after);
    }

    [[nodiscard]] static label join(const label& a, const label& b) {
        return {a.next_spine < b.next_spine ? a.next_spine : b.next_spine,
                a.last_spine > b.last_spine ? a.last_spine : b.last_spine};
    }
    /// The verdict of labels and order alone on two roots; see the top of this header.
    [[nodiscard]] detail::reach_verdict compare(std::uint32_t a, std::uint32_t b) const {
        const label &of_a = labels_[a], &of_b = labels_[b];
        if (!order_.now_.list.precedes(a, b) || of_a.next_spine > of_b.next_spine || of_a.last_spine > of_b.last_spine)
            return detail::reach_verdict::no;
        return of_a.next_spine <= of_b.last_spine ? detail::reach_verdict::yes : detail::reach_verdict::unknown;
    }
    /// The search behind `reaches`: depth first, over the roots whose labels leave the question open.
    [[nodiscard]] bool reaches_root(std::uint32_t a, std::uint32_t b) {
        if (a == b) return true;
        const detail::reach_verdict verdict = compare(a, b);
        if (verdict != detail::reach_verdict::unknown) return verdict == detail::reach_verdict::yes;
        const std::uint32_t colour = order_.now_.seen.begin_search();
        for (open_.assign(1, a); !open_.empty();) {
            const std::uint32_t u = open_.back();
            open_.pop_back();
            const bool arrived = order_.now_.graph.any_successor(u, [&](std::uint32_t x, std::uint32_t, std::uint32_t) {
                if (x == b) return true;
                if (order_.now_.seen[x] == colour) return false;
                const detail::reach_verdict further = compare(x, b);
                if (further == detail::reach_verdict::unknown) {
                    order_.now_.seen.set(x, colour);
                    open_.push_back(x);
                }
                return further == detail::reach_verdict::yes;
            });
            if (arrived) return true;
        }
        return false;
    }

    /// A collective whose wait reaches a start of one of them, or null. All searches share their stamps, and a question
    /// concerns all starts together, so each vertex is visited once.
    [[nodiscard]] const collective_ends<vertex_type>* find_wait_before_start(
        std::span<const collective_ends<vertex_type>> all) {
        const std::uint32_t met = order_.now_.seen.begin_search(), is_start = met + 1;
        label largest{0, 0};
        std::uint32_t last = root(all[0].start);
        for (const collective_ends<vertex_type>& c : all) {
            STRETTO_ASSERT(root(c.start) != root(c.wait), "a wait must depend on its start");
            const std::uint32_t s = root(c.start);
            order_.now_.seen.set(s, is_start);
            if (order_.now_.list.precedes(last, s)) last = s;
            if (labels_[s].next_spine > largest.next_spine) largest.next_spine = labels_[s].next_spine;
            if (labels_[s].last_spine > largest.last_spine) largest.last_spine = labels_[s].last_spine;
        }
        // Whether x is a start or certainly reaches one; undecided cases are searched.
        const auto arrives = [&](std::uint32_t x) {
            if (order_.now_.seen[x] == is_start) return true;
            const label& l = labels_[x];
            if (order_.now_.seen[x] == met || !order_.now_.list.precedes(x, last) ||
                l.next_spine > largest.next_spine || l.last_spine > largest.last_spine)
                return false;
            if (l.next_spine <= largest.last_spine) return true;
            order_.now_.seen.set(x, met);
            open_.push_back(x);
            return false;
        };
        for (const collective_ends<vertex_type>& c : all) {
            open_.clear();
            if (arrives(root(c.wait))) return &c;
            while (!open_.empty()) {
                const std::uint32_t u = open_.back();
                open_.pop_back();
                if (order_.now_.graph.any_successor(
                        u, [&](std::uint32_t x, std::uint32_t, std::uint32_t) { return arrives(x); }))
                    return &c;
            }
        }
        return nullptr;
    }

    /// Merges a set, or restores `before`.
    expected<vertex_type, blocked> merge_set(std::span<const vertex_type> set, const moment& before) {
        label all{UINT32_MAX, 0};
        for (const vertex_type& v : set) all = join(all, labels_[root(v)]);
        const auto merged = order_.merge_set(set, [&] { go_back_to(before); });
        if (merged) labels_.settle(order_.now_.graph, root(set[0]), all);
        return merged;
    }
    expected<vertex_type, blocked> merge_two(std::uint32_t a, std::uint32_t b) {
        dynamic_order& order = order_.now_;
        const std::uint32_t named[2] = {a, b};
        a = order.graph.root(a);
        b = order.graph.root(b);
        if (a == b) return order_.leader_of_root(a);
        const bool swapped = order.list.precedes(b, a);
        if (swapped) std::swap(a, b);
        if (reaches_root(a, b)) {
            // A direct edge between the two would vanish. Any other path would be a cycle.
            std::uint32_t from = 0, via = 0;
            const bool blocks =
                order.graph.any_successor(a, [&](std::uint32_t x, std::uint32_t tail, std::uint32_t head) {
                    from = tail;
                    via = head;
                    return x != b && reaches_root(x, b);
                });
            if (blocks) {
                const std::uint32_t to = named[swapped ? 0 : 1];
                return unexpected(blocked{order_.ids_.vertex(from), order_.ids_.vertex(via), order_.ids_.vertex(to)});
            }
        }
        [[maybe_unused]] const bool found = order.make_room_for_merge(a, b);
        STRETTO_ASSERT(found, "the labels and the order contradict each other");
        labels_.unite(order.graph, a, b);
        return order_.leader_of_root(order.graph.merge(a, b));
    }

    [[nodiscard]] moment now() const noexcept { return {order_.now_.now(), labels_.now()}; }
    void go_back_to(const moment& then) {
        order_.now_.undo_to(then.order);
        labels_.undo_to(then.labels);
    }
    /// Without a mark no earlier state can be requested, so the history need not be kept.
    void begin_change() noexcept {
        if (!marks_.empty()) return;
        order_.now_.forget_history();
        labels_.forget_history();
    }

    maintained_order<G> order_;
    moving_labels labels_;
    std::vector<typename dynamic_order::id> open_;
    std::vector<vertex_type> ends_;
    std::vector<marked_moment> marks_;
    std::uint64_t last_serial_ = 0;
};

}  // namespace stretto

#endif
