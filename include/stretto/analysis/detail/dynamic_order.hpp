// A topological order of a graph that is being rewritten. When an edge or a merge puts two vertices into the wrong
// order, the vertices between them that have to move are searched for from both ends, edge by edge in turn. Whichever
// search ends first moves what it has found, so only the smaller side moves. If the two searches meet, there is a
// cycle.
//
// Sources: D. J. Pearce, P. H. J. Kelly, A dynamic topological sort algorithm for directed acyclic graphs, JEA 11, 2006
// (the affected region); M. A. Bender, J. T. Fineman, S. Gilbert, R. E. Tarjan, A new approach to incremental cycle
// detection and related problems, TALG 12(2), 2016 (two-way search over a list with labels).
#ifndef STRETTO_ANALYSIS_DETAIL_DYNAMIC_ORDER_HPP
#define STRETTO_ANALYSIS_DETAIL_DYNAMIC_ORDER_HPP

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/analysis/detail/merged_graph.hpp"
#include "stretto/analysis/detail/order_list.hpp"
#include "stretto/analysis/detail/overlay_vertex.hpp"
#include "stretto/analysis/detail/raw_array.hpp"
#include "stretto/core/config.hpp"

namespace stretto::detail {

/// The vertices that a search has met. A new search clears the previous one in O(1) by using colours that no vertex
/// has.
template <class Id>
class visit_stamps {
public:
    visit_stamps(std::size_t size, stamp_column<Id> stamps) : stamp_(stamps), size_(size) { clear(); }
    /// Begins a search with two colours that no vertex has yet: the one that is returned, and the next number.
    std::uint32_t begin_search() {
        if (last_ >= UINT32_MAX - 2) {
            clear();
            last_ = 0;
        }
        last_ += 2;
        return last_ - 1;
    }
    [[nodiscard]] std::uint32_t operator[](Id v) const { return stamp_[v]; }
    void set(Id v, std::uint32_t colour) { stamp_[v] = colour; }

private:
    void clear() {
        for (std::size_t v = 0; v < size_; ++v) stamp_[v] = 0;
    }

    stamp_column<Id> stamp_;
    std::size_t size_;
    std::uint32_t last_ = 0;
};

/// The order, the merged graph and the stamps of searches, all over ids; a merged vertex is named by its root. To merge
/// two vertices, call make_room_for_merge and then graph.merge. It takes 52 bytes per vertex, which include room for
/// labels. The object can be neither copied nor moved.
template <class Base>
class dynamic_order {
public:
    using id = typename Base::vertex_type;
    using graph_type = merged_graph<Base, root_column<id>>;

private:
    raw_array<overlay_vertex<id>> vertices_;  // by id, and one for the list itself

public:
    explicit dynamic_order(Base base)
        : vertices_(base.index_bound() + 1),
          graph(base, root_column<id>(vertices_.begin())),
          list(base.index_bound(), place_column<id>(vertices_.begin())),
          seen(base.index_bound(), stamp_column<id>(vertices_.begin())) {}
    dynamic_order(const dynamic_order&) = delete;
    dynamic_order& operator=(const dynamic_order&) = delete;

    graph_type graph;
    order_list<id, place_column<id>> list;
    visit_stamps<id> seen;

    /// The column in which moving_labels keeps its labels.
    [[nodiscard]] spine_column<id> labels() { return spine_column<id>(vertices_.begin()); }

    /// Makes one place in the order stand for two different roots: that of graph.survivor. Returns false, and changes
    /// nothing, if a path leads from one to the other through a third. O(edges on the smaller side), as the search
    /// finds it.
    bool make_room_for_merge(id a, id b) {
        if (list.precedes(b, a)) std::swap(a, b);
        const search_end end = search_between(a, b, false);
        if (end == search_end::met) return false;
        const id kept = graph.survivor(a, b);
        // Now either no dependence of `b` comes after `a`, or no dependent of `a` comes before `b`. The merged vertex
        // takes the place of `a` in the first case, and that of `b` in the second.
        const id place = end == search_end::nothing_before ? a : b;
        if (end == search_end::nothing_before) list.move_before(backward_, a);
        else list.move_behind(forward_, b);
        if (place == kept) list.remove(kept == a ? b : a);
        else list.replace(place, kept);
        return true;
    }

    /// Adds an edge between members of two different vertices, which is a precondition. Returns false, and changes
    /// nothing, if `head` reaches `tail`.
    bool add_edge(id tail, id head) {
        const id a = graph.root(tail), b = graph.root(head);
        if (list.precedes(b, a)) {
            const search_end end = search_between(b, a, true);
            if (end == search_end::met) return false;
            if (end == search_end::nothing_before) {
                backward_.push_back(a);  // after all that it depends on
                list.move_before(backward_, b);
            } else {
                forward_.push_back(b);
                for (std::size_t k = forward_.size() - 1; k > 0; --k) std::swap(forward_[k], forward_[k - 1]);
                list.move_behind(forward_, a);
            }
        }
        graph.add_edge(tail, head);
        return true;
    }

    /// A path with the fewest edges from vertex `from` to vertex `to`, both included; empty if there is none. Two
    /// neighbours on it are the ends of an edge or members of one merged vertex. O(edges between the two).
    std::vector<id> path(id from, id to) {
        std::vector<id> found;
        const auto append = [&](id v) {
            if (found.empty() || found.back() != v) found.push_back(v);
        };
        const id a = graph.root(from), b = graph.root(to);
        if (a != b && !find_path(a, b, false)) return found;
        append(to);
        // Follow the steps back from the end. Both ends of an edge are listed where they are different members of one
        // vertex.
        if (a != b)
            for (std::size_t k = steps_.size() - 1; k != none; k = steps_[k].before) {
                append(steps_[k].head);
                append(steps_[k].tail);
            }
        append(from);
        for (std::size_t i = 0, k = found.size(); i + 1 < k; ++i) std::swap(found[i], found[--k]);
        return found;
    }
    struct path_ends {
        id from, via, to;
    };
    /// The first two vertices and the last one of a shortest path from one root to another through a third.
    /// Precondition: there is such a path.
    path_ends indirect_path(id a, id b) {
        [[maybe_unused]] const bool found = find_path(a, b, true);
        STRETTO_ASSERT(found, "a merge was refused without a reason");
        std::size_t first = steps_.size() - 1;
        while (steps_[first].before != none) first = steps_[first].before;
        return {steps_[first].tail, steps_[first].head, steps_.back().head};
    }

    /// A point in the history to which undo_to leads back.
    struct moment {
        typename graph_type::moment graph;
        std::size_t list = 0;
        friend bool operator==(const moment&, const moment&) = default;
    };
    [[nodiscard]] moment now() const noexcept { return {graph.now(), list.now()}; }
    void undo_to(const moment& then) {
        graph.undo_to(then.graph);
        list.undo_to(then.list);
    }
    void forget_history() noexcept {
        graph.forget_history();
        list.forget_history();
    }

private:
    enum class search_end {
        met,             ///< a path joins the two ends
        nothing_before,  ///< `backward_` holds all between them that the later one depends on, sorted
        nothing_behind   ///< `forward_` holds all between them that depends on the earlier one, sorted
    };

    /// Searches breadth first from one root to another, and leaves steps that lead back from the last one. With
    /// `indirect`, the path must pass through a third root.
    bool find_path(id a, id b, bool indirect) {
        const std::uint32_t colour = seen.begin_search();
        steps_.clear();
        const auto expand = [&](id u, std::size_t before) {
            return graph.any_successor(u, [&](id x, id tail, id head) {
                if (x == b && indirect && before == none) return false;
                if (seen[x] == colour || (x != b && !list.precedes(x, b))) return false;
                seen.set(x, colour);
                steps_.push_back({tail, head, before});
                return x == b;
            });
        };
        bool arrived = expand(a, none);
        for (std::size_t k = 0; !arrived && k < steps_.size(); ++k) arrived = expand(graph.root(steps_[k].head), k);
        return arrived;
    }

    /// Searches from both ends at once; see the top of this header. A direct edge between the two counts as a path only
    /// if `direct_counts`. Precondition: `early` precedes `late`.
    search_end search_between(id early, id late, bool direct_counts) {
        const std::uint32_t ahead = seen.begin_search(), back = ahead + 1;
        forward_.clear();
        backward_.clear();
        id u = early, w = late;  // the roots to be expanded next
        std::size_t expanded_forward = 0, expanded_backward = 0;
        std::size_t work_forward = 0, work_backward = 0;
        for (;;) {
            if (work_forward + graph.members(u) <= work_backward + graph.members(w)) {
                const bool met = graph.any_successor(u, [&](id x, id, id) {
                    ++work_forward;
                    if (x == late) return direct_counts || u != early;
                    if (seen[x] == back) return true;
                    if (seen[x] == ahead || !list.precedes(x, late)) return false;
                    seen.set(x, ahead);
                    forward_.push_back(x);
                    return false;
                });
                if (met) return search_end::met;
                if (expanded_forward == forward_.size()) {
                    list.sort(forward_);
                    return search_end::nothing_behind;
                }
                u = forward_[expanded_forward++];
            } else {
                const bool met = graph.any_predecessor(w, [&](id x) {
                    ++work_backward;
                    if (x == early) return direct_counts || w != late;
                    if (seen[x] == ahead) return true;
                    if (seen[x] == back || !list.precedes(early, x)) return false;
                    seen.set(x, back);
                    backward_.push_back(x);
                    return false;
                });
                if (met) return search_end::met;
                if (expanded_backward == backward_.size()) {
                    list.sort(backward_);
                    return search_end::nothing_before;
                }
                w = backward_[expanded_backward++];
            }
        }
    }

    static constexpr std::size_t none = SIZE_MAX;
    struct step {
        id tail, head;
        std::size_t before;  // the step that led to `tail`
    };

    std::vector<id> forward_, backward_;
    std::vector<step> steps_;
};

}  // namespace stretto::detail

#endif
