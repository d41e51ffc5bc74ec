// Spine labels: where a vertex stands to one longest path of the graph, the spine.
//
// Training steps are long: most of their vertices reach the spine, are reached from it, or both. Two positions on it
// decide most questions of reachability by comparison, and two topological ranks most of the others. What the labels
// leave open is a search that they prune.
//
// The second rank earns its place where it contradicts the first. Whatever lies beside the spine is therefore ranked
// against the order in which programs list it: what only feeds the spine (gathers) goes last need first, what only
// drains it (scatters) goes last release first, and vertices that are as far from the end are of the same rank.
#ifndef STRETTO_ANALYSIS_DETAIL_SPINE_LABELS_HPP
#define STRETTO_ANALYSIS_DETAIL_SPINE_LABELS_HPP

#include <cstddef>
#include <cstdint>

#include "stretto/analysis/detail/label_fields.hpp"
#include "stretto/analysis/detail/raw_array.hpp"
#include "stretto/analysis/topological_order.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/config.hpp"

namespace stretto::detail {

using spine_label = label_fields;

/// Ranks as bands of numbers, one above the other. A vertex is *feeding* if nothing of the spine reaches it; *draining*
/// if something does, and it reaches at most the end of the spine; all others are in the *middle*.
///
/// The rank of a vertex is a wish, or, where that is not below all its successors, just below the lowest of these. The
/// wishes of feeding and draining vertices are as far apart as 31 bits allow, so that paths of them fit in between; a
/// longer one costs no more than some contradictions, because at the bottom of every band there is room for any path.
class spine_ranks {
public:
    /// Precondition: below 2^28.
    explicit spine_ranks(std::uint32_t spine_length) : length_(spine_length) {
        while (shift_ < 20 && ((std::uint64_t{length_} + 2) << (shift_ + 1)) <= std::uint64_t{1} << 29) ++shift_;
        const std::uint32_t band = length_ + ((length_ + 2) << shift_);
        middle_ = band;
        draining_ = band + length_;
    }
    [[nodiscard]] std::uint32_t feeding(std::uint32_t next_spine) const {
        return length_ + (((next_spine > length_ ? 0 : length_ + 1 - next_spine) + 1) << shift_) - 1;
    }
    /// `height`: the number of vertices on a longest path from it.
    [[nodiscard]] std::uint32_t middle(std::uint32_t height) const { return middle_ + length_ - height; }
    [[nodiscard]] std::uint32_t draining(std::uint32_t last_spine) const {
        return draining_ + length_ + ((last_spine == length_ ? length_ + 1 : length_ - last_spine) << shift_);
    }

private:
    std::uint32_t length_, shift_ = 0, middle_, draining_;
};

/// Three passes over the graph, and no memory but the result: until a field has its value it serves the passes.
/// By index. Precondition: fewer than 2^28 vertices.
template <dependence_graph G>
[[nodiscard]] raw_array<spine_label> spine_labels_of(G g, const topological_order<vertex_t<G>>& order) {
    using V = vertex_t<G>;
    constexpr std::uint32_t none = spine_label::none;
    const auto size = static_cast<std::uint32_t>(order.size());
    STRETTO_ASSERT(size < std::uint32_t{1} << 28, "spine labels have 28-bit positions");
    raw_array<spine_label> labels(g.index_bound());
    if (size < labels.size())
        for (spine_label& l : labels) l = {none, 0, none, 0};

    // In this pass `next_spine` holds the height, and `rank` the position of the next vertex on a longest path.
    std::uint32_t length = 0, spine = 0;
    for (std::uint32_t position = size; position-- > 0;) {
        const V& v = order[position];
        std::uint32_t height = 0, next = none;
        for (V w : g.successors(v)) {
            const spine_label& behind = labels[g.index(w)];
            const bool better = behind.next_spine > height;
            height = better ? behind.next_spine : height;
            next = better ? behind.position : next;
        }
        labels[g.index(v)] = {position, next, ++height, 0};
        spine = height >= length ? position : spine;
        length = height >= length ? height : length;
    }

    // Follows the spine, and finds what of it reaches each vertex. The height moves to `rank`.
    std::uint32_t passed = 0;
    for (const V& v : order) {
        std::uint32_t last = 0;
        for (V u : g.predecessors(v)) {
            const std::uint32_t before = labels[g.index(u)].last_spine;
            last = before > last ? before : last;
        }
        spine_label& l = labels[g.index(v)];
        const bool on_spine = l.position == spine;
        spine = on_spine ? l.rank : spine;
        passed += on_spine;
        l.last_spine = on_spine ? passed : last;
        l.rank = l.next_spine;
        l.next_spine = on_spine ? passed : none;
    }

    const spine_ranks ranks(length);
    for (std::uint32_t position = size; position-- > 0;) {
        const V& v = order[position];
        spine_label& l = labels[g.index(v)];
        std::uint32_t next = l.next_spine, lowest = none;
        for (V w : g.successors(v)) {
            const spine_label& behind = labels[g.index(w)];
            next = behind.next_spine < next ? behind.next_spine : next;
            lowest = behind.rank < lowest ? behind.rank : lowest;
        }
        l.next_spine = next;
        const bool feeds = l.last_spine == 0, drains = next >= length;
        const std::uint32_t beside = feeds ? ranks.feeding(next) : ranks.draining(l.last_spine);
        const std::uint32_t wish = either(feeds, drains) ? beside : ranks.middle(l.rank);
        l.rank = wish < lowest ? wish : lowest - 1;
    }
    return labels;
}

}  // namespace stretto::detail

#endif
