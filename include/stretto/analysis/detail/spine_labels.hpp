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

/// Five passes over the graph, and no memory but the result and 8 bytes per spine position: until a field has its value
/// it serves the passes, as a counter or as a link to the next vertex of a list.
template <dependence_graph G>
class spine_labelling {
public:
    using V = vertex_t<G>;

    spine_labelling(G g, const topological_order<V>& order) : graph_(g), order_(order), labels_(g.index_bound()) {
        if (order.size() == 0) return;
        lists_.resize(2 * trace_spine(measure_paths()) + 2, none);
        sweep_down();
        sweep_up();
        rank_middle();
        rank_list_range(1, spine_length_, static_cast<std::uint32_t>(order.size()) - 1);
        rank_list_range(spine_length_ + 1, 2 * spine_length_ + 1, feeding_);
    }
    /// By index; vertices that are not in the order have no position.
    [[nodiscard]] std::vector<spine_label> take() { return std::move(labels_); }

private:
    static constexpr std::uint32_t none = UINT32_MAX;

    /// Which vertices are ranked together, in the order of their ranks. No edge leads back.
    enum class part : std::uint8_t {
        feeding,   // nothing of the spine reaches it
        middle,    // reached from the spine, reaches it before its end
        draining,  // reached from the spine, reaches at most its end
        end        // of the spine
    };

    spine_label& label(const V& v) { return labels_[graph_.index(v)]; }
    spine_label& label_at(std::uint32_t position) { return labels_[graph_.index(order_[position])]; }
    part part_of(const spine_label& l) const {
        if (l.last_spine == 0) return part::feeding;
        if (l.next_spine < spine_length_) return part::middle;
        return l.last_spine < spine_length_ ? part::draining : part::end;
    }

    /// Leaves in `next_spine` the number of vertices on a longest path to each. Returns where the longest ends.
    std::uint32_t measure_paths() {
        std::uint32_t position = 0, deepest = 0;
        for (const V& v : order_) {
            std::uint32_t length = 0;
            for (V u : graph_.predecessors(v)) {
                const std::uint32_t before = label(u).next_spine;
                length = before > length ? before : length;
            }
            label(v) = {position, 0, ++length, 0};
            if (length > spine_length_) {
                spine_length_ = length;
                deepest = position;
            }
            ++position;
        }
        return deepest;
    }

    /// Marks the spine in `last_spine`, from its end; of equally long ways the one that is first in the order.
    std::uint32_t trace_spine(std::uint32_t at) {
        for (std::uint32_t length = spine_length_; length > 0; --length) {
            label_at(at).last_spine = length;
            std::uint32_t before = none;
            for (V u : graph_.predecessors(order_[at])) {
                const spine_label& l = label(u);
                if (l.next_spine == length - 1 && l.position < before) before = l.position;
            }
            at = before;
        }
        return spine_length_;
    }

    /// What of the spine reaches each vertex. Leaves in `rank` how many predecessors are not feeding.
    void sweep_down() {
        for (const V& v : order_) {
            std::uint32_t last = 0, missing = 0;
            for (V u : graph_.predecessors(v)) {
                const std::uint32_t before = label(u).last_spine;
                last = before > last ? before : last;
                missing += before != 0;
            }
            spine_label& l = label(v);
            const bool on_spine = l.last_spine != 0;
            l.next_spine = on_spine ? l.last_spine : none;
            if (!on_spine) l.last_spine = last;
            l.rank = missing;
            feeding_ += l.last_spine == 0;
        }
    }

    /// What of the spine each vertex reaches. Leaves in `rank` how many neighbours of the own part must be ranked
    /// first, and lists those that wait for none.
    void sweep_up() {
        for (std::size_t k = order_.size(); k-- > 0;) {
            spine_label& l = label(order_[k]);
            std::uint32_t next = l.next_spine, feeding = 0, not_end = 0;
            for (V w : graph_.successors(order_[k])) {
                const spine_label& after = label(w);
                next = after.next_spine < next ? after.next_spine : next;
                feeding += after.last_spine == 0;
                not_end += after.last_spine != spine_length_;
            }
            l.next_spine = next;
            switch (part_of(l)) {
                case part::feeding:
                    l.rank = feeding;
                    if (feeding == 0)
                        push(l, lists_[spine_length_ + 1 + (next < spine_length_ ? next : spine_length_)]);
                    break;
                case part::middle:
                    if (l.rank == 0) push(l, lists_[0]);  // the begin of the spine
                    break;
                case part::draining:
                    l.rank = not_end;
                    if (not_end == 0) push(l, lists_[l.last_spine]);
                    break;
                case part::end:
                    l.rank = static_cast<std::uint32_t>(order_.size()) - 1;
                    break;
            }
        }
    }

    static void push(spine_label& l, std::uint32_t& list) {
        l.rank = list;
        list = l.position;
    }
    std::uint32_t pop(std::uint32_t& list) {
        const std::uint32_t at = list;
        list = label_at(at).rank;
        return at;
    }

    /// Forwards, always on from the vertex that has become ready last.
    void rank_middle() {
        std::uint32_t ready = lists_[0];
        for (std::uint32_t rank = feeding_; ready != none; ++rank) {
            const V v = order_[pop(ready)];
            label(v).rank = rank;
            for (V w : graph_.successors(v))
                if (spine_label& after = label(w); part_of(after) == part::middle && --after.rank == 0)
                    push(after, ready);
        }
    }

    /// Backwards, below `rank`, list by list.
    void rank_list_range(std::uint32_t first, std::uint32_t last, std::uint32_t rank) {
        for (std::uint32_t k = first; k <= last; ++k)
            for (std::uint32_t ready = lists_[k]; ready != none;) {
                const V v = order_[pop(ready)];
                label(v).rank = --rank;
                const part mine = part_of(label(v));
                for (V u : graph_.predecessors(v))
                    if (spine_label& before = label(u); part_of(before) == mine && --before.rank == 0)
                        push(before, ready);
            }
    }

    G graph_;
    const topological_order<V>& order_;
    std::vector<spine_label> labels_;
    std::vector<std::uint32_t> lists_;  // [0] middle; then draining by last_spine, then feeding by next_spine
    std::uint32_t spine_length_ = 0, feeding_ = 0;
};

}  // namespace stretto::detail

#endif
