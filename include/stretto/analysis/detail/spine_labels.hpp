// Spine labels: where a vertex stands to one longest path of the graph, the spine.
//
// Training steps are long: most of their vertices reach the spine, are reached from it, or both. Two positions on it
// decide most questions of reachability by comparison, and two topological ranks most of the others. What the labels
// leave open is a search that they prune.
//
// The second rank earns its place where it contradicts the first. Whatever lies beside the spine is therefore ranked
// against the order in which programs list it: what only feeds the spine (gathers) goes last need first, what only
// drains it (scatters) goes last release first, and the rest goes deep where the program order goes wide.
#ifndef STRETTO_ANALYSIS_DETAIL_SPINE_LABELS_HPP
#define STRETTO_ANALYSIS_DETAIL_SPINE_LABELS_HPP

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/analysis/detail/reach_verdict.hpp"
#include "stretto/analysis/topological_order.hpp"
#include "stretto/core/concepts.hpp"

namespace stretto::detail {

/// All four fields grow, or stay, along every edge; the ranks grow.
struct alignas(16) spine_label {
    std::uint32_t position = UINT32_MAX;  ///< in the topological order that was given
    std::uint32_t rank = 0;               ///< in another one
    std::uint32_t next_spine = 0;  ///< the first spine position, from 1, that the vertex reaches; UINT32_MAX if none
    std::uint32_t last_spine = 0;  ///< the last spine position that reaches the vertex; 0 if none
};

/// Both answers are proofs: labels grow along paths, and the spine is one.
[[nodiscard]] inline reach_verdict compare(const spine_label& u, const spine_label& v) noexcept {
    const bool proved = either(u.next_spine <= v.last_spine, u.position == v.position);
    const bool possible = both(both(u.position < v.position, u.rank < v.rank),
                               both(u.next_spine <= v.next_spine, u.last_spine <= v.last_spine));
    return verdict_of(proved, !either(proved, possible));
}

/// Four passes over the graph, and no memory but the result and 8 bytes per spine position: until a field has its value
/// it serves the passes, as a counter or as a link to the next vertex of a list.
///
/// A vertex is *feeding* if nothing of the spine reaches it; *draining* if something does, and it reaches at most the
/// end of the spine; all others but that end are in the *middle*. Ranks go up in this order: feeding, middle, draining,
/// end.
template <dependence_graph G>
class spine_labelling {
public:
    using V = vertex_t<G>;

    spine_labelling(G g, const topological_order<V>& order) : graph_(g), order_(order), labels_(g.index_bound()) {
        if (order.size() == 0) return;
        measure_paths();
        sweep_down();
        lists_.resize(2 * std::size_t{spine_length_}, none);
        sweep_up();
        rank_middle();
        rank_draining();
        rank_feeding();
    }
    /// By index; vertices that are not in the order have no position.
    [[nodiscard]] std::vector<spine_label> take() { return std::move(labels_); }

private:
    static constexpr std::uint32_t none = UINT32_MAX;

    spine_label& label(const V& v) { return labels_[graph_.index(v)]; }
    spine_label& label_at(std::uint32_t position) { return labels_[graph_.index(order_[position])]; }

    /// Leaves in `next_spine` the number of vertices on a longest path from each, and in `rank` the position of the
    /// next of them. Of equally long ones the one that is first in the order.
    void measure_paths() {
        for (std::uint32_t position = static_cast<std::uint32_t>(order_.size()); position-- > 0;) {
            std::uint32_t length = 0, next = none;
            for (V w : graph_.successors(order_[position])) {
                const spine_label& behind = label(w);
                const bool better =
                    either(behind.next_spine > length, both(behind.next_spine == length, behind.position < next));
                length = better ? behind.next_spine : length;
                next = better ? behind.position : next;
            }
            label_at(position) = {position, next, ++length, 0};
            if (length >= spine_length_) {
                spine_length_ = length;
                spine_begin_ = position;
            }
        }
    }

    /// Follows the spine, and finds what of it reaches each vertex. Leaves in `rank` how many predecessors are not
    /// feeding.
    void sweep_down() {
        std::uint32_t spine = spine_begin_, passed = 0;
        for (const V& v : order_) {
            std::uint32_t last = 0, missing = 0;
            for (V u : graph_.predecessors(v)) {
                const std::uint32_t before = label(u).last_spine;
                last = before > last ? before : last;
                missing += before != 0;
            }
            spine_label& l = label(v);
            const bool on_spine = l.position == spine;
            passed += on_spine;
            last = on_spine ? passed : last;
            spine = on_spine ? l.rank : spine;
            spine_end_ = on_spine ? l.position : spine_end_;
            l.next_spine = on_spine ? passed : none;
            l.last_spine = last;
            l.rank = missing;
            feeding_ += last == 0;
        }
    }

    /// What of the spine each vertex reaches. Leaves in `rank` of what is feeding or draining how many successors of
    /// its own part must be ranked before it, and lists what waits for none: draining vertices by `last_spine`, then
    /// feeding ones by `next_spine`.
    void sweep_up() {
        const std::uint32_t end = spine_length_;
        for (std::size_t k = order_.size(); k-- > 0;) {
            spine_label& l = label(order_[k]);
            std::uint32_t next = l.next_spine, feeding = 0, not_end = 0;
            for (V w : graph_.successors(order_[k])) {
                const spine_label& after = label(w);
                next = after.next_spine < next ? after.next_spine : next;
                feeding += after.last_spine == 0;
                not_end += after.last_spine != end;
            }
            l.next_spine = next;
            const std::uint32_t last = l.last_spine;
            const bool feeds = last == 0, drains = both(last != 0, next >= end);
            l.rank = feeds ? feeding : drains ? not_end : l.rank;
            if (both(l.rank == 0, either(feeds, both(drains, last != end))))
                push(l, lists_[feeds ? end + (next < end ? next : end) - 1 : last]);
        }
    }

    static void push(spine_label& l, std::uint32_t& list) {
        l.rank = list;
        list = l.position;
    }

    /// Empties `ready`, always going on from the vertex that has become ready last. `neighbours(v)` are those that wait
    /// for v, `waits(label)` says which of them do, and `next_rank()` gives the ranks.
    template <class Neighbours, class Waits, class NextRank>
    void drain(std::uint32_t ready, Neighbours neighbours, Waits waits, NextRank next_rank) {
        while (ready != none) {
            V v = order_[ready];
            ready = label(v).rank;
            for (bool goes_on = true; goes_on;) {
                label(v).rank = next_rank();
                goes_on = false;
                V next = v;
                for (V w : neighbours(v)) {
                    spine_label& l = label(w);
                    if (!waits(l) || --l.rank != 0) continue;
                    if (goes_on) push(label(next), ready);
                    next = w;
                    goes_on = true;
                }
                v = next;
            }
        }
    }

    /// All but the end of the spine, which goes last.
    void rank_middle() {
        if (spine_length_ == 1) return;
        label_at(spine_begin_).rank = none;
        drain(
            spine_begin_, [g = graph_](const V& v) -> decltype(auto) { return g.successors(v); },
            [end = spine_length_](const spine_label& l) { return l.next_spine < end; },
            [rank = feeding_]() mutable { return rank++; });
    }
    void rank_draining() {
        const auto last = static_cast<std::uint32_t>(order_.size()) - 1;
        label_at(spine_end_).rank = last;
        rank_backwards(1, spine_length_, last, [end = spine_length_](const spine_label& l) {
            return both(l.last_spine != 0, l.next_spine >= end);
        });
    }
    void rank_feeding() {
        rank_backwards(spine_length_, lists_.size(), feeding_, [](const spine_label&) { return true; });
    }
    /// Lists `first` up to `end`, below `rank`.
    template <class Waits>
    void rank_backwards(std::size_t first, std::size_t end, std::uint32_t rank, Waits waits) {
        for (std::size_t k = first; k < end; ++k)
            drain(
                lists_[k], [g = graph_](const V& v) -> decltype(auto) { return g.predecessors(v); }, waits,
                [&rank] { return --rank; });
    }

    G graph_;
    const topological_order<V>& order_;
    std::vector<spine_label> labels_;
    std::vector<std::uint32_t>
        lists_;  // first positions; from [1] of draining vertices, from [spine_length_] of feeding
    std::uint32_t spine_length_ = 0, spine_begin_ = 0, spine_end_ = 0, feeding_ = 0;
};

}  // namespace stretto::detail

#endif
