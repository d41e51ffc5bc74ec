// Spine labels: where a vertex stands in relation to one longest path of the graph, the spine.
//
// Training steps are long, and most of their vertices reach the spine, are reached from it, or both. Two positions on
// the spine decide most questions of reachability by comparison, and two topological ranks decide most of the others.
// What the labels leave open needs a search, which they prune.
//
// The first rank is the position in the order; a second one is useful only where it contradicts the first. Whatever
// lies beside the spine is therefore ranked against the order in which programs list it. Of what only feeds the spine
// (gathers), the last to be needed goes first; of what only drains it (scatters), the last to be released goes first;
// and vertices that are equally far from the end have the same rank.
#ifndef STRETTO_ANALYSIS_DETAIL_SPINE_LABELS_HPP
#define STRETTO_ANALYSIS_DETAIL_SPINE_LABELS_HPP

#include <cstddef>
#include <cstdint>

#include "stretto/analysis/detail/packed_fields.hpp"
#include "stretto/analysis/detail/raw_array.hpp"
#include "stretto/analysis/detail/reach_verdict.hpp"
#include "stretto/analysis/topological_order.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/config.hpp"

namespace stretto::detail {

/// The second rank, as three bands of numbers one above the other. A vertex is *feeding* if nothing on the spine
/// reaches it; it is *draining* if something does, and it reaches at most the end of the spine; all others are in the
/// *middle*.
///
/// A vertex gets the rank that its position on the spine makes desirable, its wish, or, if that is not below the ranks
/// of all its successors, the rank just below the lowest of these. The wishes of feeding and draining vertices are
/// spread as far apart as there are numbers, so that paths of such vertices fit in between. A path that is too long for
/// that costs no more than some contradictions, because at the bottom there is room for any path. If not even the bands
/// of a long spine fit, several ranks become one, and then ranks only stay or grow along edges.
class spine_ranks {
public:
    /// Preconditions: the spine is shorter than 2^28 vertices, and `bits` is at most 30.
    spine_ranks(std::uint32_t spine_length, unsigned bits) : length_(spine_length) {
        while (shift_ < 20 && top(shift_ + 1) >> bits == 0) ++shift_;
        while (top(shift_) >> (bits + merged_) != 0) ++merged_;
        const std::uint32_t band = length_ + ((length_ + 2) << shift_);
        lowest_wish_ = length_ + (1u << shift_) - 1;
        middle_ = band + length_;
        draining_ = band + 2 * length_;
    }
    /// The wish of a feeding vertex. `next_spine` is the first spine position that it reaches, or anything above the
    /// length of the spine if it reaches none.
    [[nodiscard]] std::uint32_t feeding(std::uint32_t next_spine) const {
        const std::uint32_t behind = next_spine > length_ ? 0 : length_ + 1 - next_spine;
        return (lowest_wish_ + (behind << shift_)) >> merged_;
    }
    /// The wish of a vertex in the middle. `height` is the number of vertices on a longest path that begins with it.
    [[nodiscard]] std::uint32_t middle(std::uint32_t height) const { return (middle_ - height) >> merged_; }
    /// The wish of a draining vertex. `last_spine` is the last spine position that reaches it.
    [[nodiscard]] std::uint32_t draining(std::uint32_t last_spine) const {
        const std::uint32_t behind = last_spine == length_ ? length_ + 1 : length_ - last_spine;
        return (draining_ + (behind << shift_)) >> merged_;
    }
    /// Whether the rank of a vertex is always below those of its successors, and not merely not above them.
    [[nodiscard]] bool strict() const { return merged_ == 0; }

private:
    /// A number above all ranks, for wishes that are 2^shift apart.
    [[nodiscard]] std::uint64_t top(unsigned shift) const {
        return 3 * std::uint64_t{length_} + ((std::uint64_t{length_} + 2) << (shift + 1));
    }

    std::uint32_t length_;
    unsigned shift_ = 0, merged_ = 0;
    std::uint32_t lowest_wish_, middle_, draining_;
};

/// The labels of all vertices, by index: 8 bytes each, and 4 more unless indices are positions in the order.
///
/// Labels name *posts*, which are all vertices of the spine as long as there are numbers for them, and of a longer
/// spine every second vertex, every fourth, and so on. Fewer posts leave a little more open, but what they prove is as
/// true. The numbers of bits are parameters only for the sake of tests.
template <unsigned PostBits = 19, unsigned RankBits = 23>
class spine_labels {
public:
    using fields = packed_fields<PostBits, RankBits>;

    spine_labels() = default;
    /// Computes the labels in three passes over the graph. The result is the only memory that is needed, because a word
    /// serves the passes until it has its value. Precondition: fewer than 2^28 vertices.
    template <dependence_graph G>
    spine_labels(const G& g, const topological_order<vertex_t<G>>& order) : words_(g.index_bound()) {
        const auto size = static_cast<std::uint32_t>(order.size());
        STRETTO_ASSERT(size < std::uint32_t{1} << 28, "a spine has 28-bit positions");
        if (size < words_.size())
            for (std::uint64_t& word : words_) word = UINT64_MAX;
        const std::uint32_t length = measure_heights(g, order);
        follow_spine(g, order, length);
        while (length >> gap_ >= fields::none - 1) ++gap_;
        give_labels(g, order, length);
    }

    /// Whether the vertex of index `i` is in the order.
    [[nodiscard]] bool contains(std::size_t i) const { return words_[i] != UINT64_MAX; }

    /// Whether the vertex of index `i` reaches another vertex, that of index `j`. "Yes" and "no" are proofs, because
    /// labels grow along paths and a spine is a path.
    [[nodiscard]] reach_verdict compare(std::size_t i, std::size_t j) const {
        const std::uint64_t u = words_[i], v = words_[j];
        const bool connected = fields::next(u) <= fields::last(v);
        const bool contradicted = either(fields::contradict(u, v, allowance_), position(i) >= position(j));
        return verdict_of(connected, contradicted);
    }

    [[nodiscard]] std::size_t bytes() const {
        return words_.size() * sizeof(std::uint64_t) + positions_.size() * sizeof(std::uint32_t);
    }
    [[nodiscard]] std::size_t position(std::size_t i) const { return positions_.size() == 0 ? i : positions_[i]; }
    [[nodiscard]] std::uint32_t rank(std::size_t i) const { return fields::rank(words_[i]); }

private:
    /// Stores the height of every vertex, the number of vertices on a longest path that begins with it, in the upper
    /// half of its word. Returns the largest. The positions are stored too if they are not the indices.
    template <dependence_graph G>
    std::uint32_t measure_heights(const G& g, const topological_order<vertex_t<G>>& order) {
        constexpr std::uint64_t one = std::uint64_t{1} << 32;
        std::uint64_t highest = 0;
        std::size_t moved = 0;
        latest_word latest;
        for (std::size_t position = order.size(); position-- > 0;) {
            std::uint64_t behind = 0;
            for (vertex_t<G> w : g.successors(order[position])) {
                const std::uint64_t height = word(g.index(w), latest);
                behind = height > behind ? height : behind;
            }
            const std::size_t i = g.index(order[position]);
            latest = {i, words_[i] = behind + one};
            highest = latest.word > highest ? latest.word : highest;
            moved |= i ^ position;
        }
        if (moved != 0) {
            positions_ = raw_array<std::uint32_t>(words_.size());
            std::uint32_t position = 0;
            for (const vertex_t<G>& v : order) positions_[g.index(v)] = position++;
        }
        return height_of(highest);
    }

    /// Stores, below the heights, the last spine position that reaches each vertex, and so chooses the spine. It begins
    /// at the first vertex of full height and goes on each time to the first successor of the next lower height.
    /// (Whatever the last vertex of the spine reaches at that height is a successor, because any detour would make the
    /// vertex higher.)
    template <dependence_graph G>
    void follow_spine(const G& g, const topological_order<vertex_t<G>>& order, std::uint32_t length) {
        std::uint32_t passed = 0;
        latest_word latest;
        for (const vertex_t<G>& v : order) {
            std::uint32_t last = 0;
            for (vertex_t<G> u : g.predecessors(v)) {
                const auto before = static_cast<std::uint32_t>(word(g.index(u), latest));
                last = before > last ? before : last;
            }
            const std::size_t i = g.index(v);
            if (last == passed && height_of(words_[i]) + passed == length) last = ++passed;
            latest = {i, words_[i] |= last};
        }
    }

    /// Turns heights and last positions into labels, from the last vertex to the first.
    template <dependence_graph G>
    void give_labels(const G& g, const topological_order<vertex_t<G>>& order, std::uint32_t length) {
        const spine_ranks ranks(length, RankBits);
        allowance_ = fields::allowance(ranks.strict());
        const std::uint64_t step = ranks.strict() ? fields::rank_one : 0;
        const std::uint32_t gap = gap_, round_up = (std::uint32_t{1} << gap) - 1, end = (length + round_up) >> gap;
        latest_word latest;
        for (std::size_t position = order.size(); position-- > 0;) {
            const std::size_t i = g.index(order[position]);
            const auto height = height_of(words_[i]), last = static_cast<std::uint32_t>(words_[i]);
            // This vertex is on the spine: any other vertex that is reached from the same position is closer to the
            // end, so its sum is smaller.
            if (height + last == length + 1) {
                const std::uint32_t rank = last == length ? ranks.draining(last) : ranks.middle(height);
                latest = {i, words_[i] = fields::pack((last + round_up) >> gap, rank, last >> gap)};
                continue;
            }
            std::uint64_t first = fields::pack(fields::none, 0, 0), lowest = UINT64_MAX;
            for (vertex_t<G> w : g.successors(order[position])) {
                const std::uint64_t behind = word(g.index(w), latest), rank = behind & fields::rank_mask;
                first = behind < first ? behind : first;
                lowest = rank < lowest ? rank : lowest;
            }
            const std::uint32_t next = fields::next(first);
            const std::uint32_t wish = last == 0     ? ranks.feeding(next << gap)
                                       : next >= end ? ranks.draining(last)
                                                     : ranks.middle(height);
            const std::uint64_t wished = fields::pack(0, wish, 0), most = lowest - step;
            latest = {i, words_[i] = fields::pack(next, 0, last >> gap) | (wished < most ? wished : most)};
        }
    }

    /// The word that was written last. Programs list most vertices next to a neighbour, so this word is often the next
    /// one that is needed, and it is faster to test for that than to load what has just been stored.
    struct latest_word {
        std::size_t index = SIZE_MAX;
        std::uint64_t word = 0;
    };
    [[nodiscard]] std::uint64_t word(std::size_t i, const latest_word& latest) const {
        return i == latest.index ? latest.word : words_[i];
    }

    [[nodiscard]] static std::uint32_t height_of(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); }

    raw_array<std::uint64_t> words_;
    raw_array<std::uint32_t> positions_;  // empty if the positions are the indices
    std::uint64_t allowance_ = 0;         // what fields::contradict needs to compare words
    std::uint32_t gap_ = 0;               // there is one post per 2^gap_ vertices of the spine
};

}  // namespace stretto::detail

#endif
