// Where every vertex stands in a topological order, and sets of such positions. Edges go from lower positions to higher
// ones. If a set of positions is scanned upwards while successors are inserted, it is therefore a work list that hands
// out vertices in topological order, each once, without a second mark per vertex.
#ifndef STRETTO_ANALYSIS_DETAIL_ORDER_POSITIONS_HPP
#define STRETTO_ANALYSIS_DETAIL_ORDER_POSITIONS_HPP

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/analysis/topological_order.hpp"
#include "stretto/core/checked_index.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/config.hpp"
#include "stretto/core/index_lists.hpp"

namespace stretto {

/// Some vertices: a range that lists them in any order, where duplicates are allowed, or a set that can be asked for
/// each of them, such as vertex_set. Going through a set takes one `contains` per vertex of the graph.
template <class S, class V>
concept vertex_collection = iterable_of<S, V> || requires(std::remove_reference_t<S>& set, const V v) {
    { set.contains(v) } -> std::convertible_to<bool>;
};

namespace detail {

/// Takes the place of a position where a vertex is not in the order.
inline constexpr std::uint32_t unlisted = UINT32_MAX;

/// Calls `f(v)` for every member of a collection. The members of a set must be vertices of the order.
template <class V, vertex_collection<V> S, class F>
void for_each_member(S& collection, const topological_order<V>& order, F f) {
    if constexpr (iterable_of<S&, V>) {
        for (V v : collection) f(v);
    } else {
        for (const V& v : order)
            if (collection.contains(v)) f(v);
    }
}

/// The position of every vertex, by index; `unlisted` where there is none. O(V); 4 bytes per index.
template <indexed_graph G>
[[nodiscard]] std::vector<std::uint32_t> positions_by_index(const G& g, const topological_order<vertex_t<G>>& order) {
    STRETTO_ASSERT(order.size() < unlisted, "positions are 32-bit numbers");
    std::vector<std::uint32_t> position(g.index_bound(), unlisted);
    for (std::size_t p = 0; p < order.size(); ++p)
        position[checked_index(g, order[p], position.size())] = static_cast<std::uint32_t>(p);
    return position;
}

/// The graph over positions: row p holds the positions of the predecessors of the vertex at position p. `position` must
/// hold all positions by index. O(V + E).
template <dependence_graph G>
[[nodiscard]] index_lists predecessor_positions(const G& g, const topological_order<vertex_t<G>>& order,
                                                const std::vector<std::uint32_t>& position) {
    index_lists predecessors;
    predecessors.reserve(order.size(), 2 * order.size());
    for (const vertex_t<G>& v : order) {
        for (vertex_t<G> u : g.predecessors(v)) predecessors.push(position[checked_index(g, u, position.size())]);
        predecessors.close_row();
    }
    return predecessors;
}

/// A topological order together with its inverse. The order must outlive it. O(V) to build, 4 bytes per index.
template <indexed_graph G>
class order_positions {
public:
    using vertex_type = vertex_t<G>;

    order_positions(G g, const topological_order<vertex_type>& order)
        : graph_(g), order_(&order), position_(positions_by_index(g, order)) {}
    [[nodiscard]] const G& graph() const noexcept { return graph_; }
    [[nodiscard]] std::size_t size() const noexcept { return order_->size(); }
    [[nodiscard]] const vertex_type& vertex(std::size_t position) const { return (*order_)[position]; }
    /// The position of a vertex. O(1). Precondition: it is in the order.
    [[nodiscard]] std::uint32_t of(const vertex_type& v) const {
        const std::size_t i = graph_.index(v);
        STRETTO_ASSERT(i < position_.size() && position_[i] != unlisted, "this vertex is not in the order");
        return position_[i];
    }

    /// Calls `f(position)` for every member of a collection.
    template <vertex_collection<vertex_type> S, class F>
    void for_each(S& collection, F f) const {
        for_each_member(collection, *order_, [&](const vertex_type& v) { f(of(v)); });
    }

private:
    G graph_;
    const topological_order<vertex_type>* order_;
    std::vector<std::uint32_t> position_;  // by index
};

/// A set of positions, one bit each.
template <class = void>
class position_set {
public:
    explicit position_set(std::size_t size) : words_((size + 63) / 64) {}

    [[nodiscard]] bool contains(std::size_t p) const { return (words_[p / 64] >> (p % 64)) & 1u; }
    /// Inserts a position and returns whether it is new.
    bool insert(std::size_t p) {
        const std::uint64_t bit = std::uint64_t{1} << (p % 64);
        const bool fresh = !(words_[p / 64] & bit);
        words_[p / 64] |= bit;
        return fresh;
    }
    void erase(std::size_t p) { words_[p / 64] &= ~(std::uint64_t{1} << (p % 64)); }

    /// The first member at or after `from`, if it is below `end`; otherwise `end`.
    [[nodiscard]] std::size_t first_from(std::size_t from, std::size_t end) const {
        if (from >= end) return end;
        std::size_t k = from / 64;
        std::uint64_t word = words_[k] & (~std::uint64_t{0} << (from % 64));
        while (word == 0) {
            if (++k * 64 >= end) return end;
            word = words_[k];
        }
        const std::size_t p = k * 64 + static_cast<std::size_t>(std::countr_zero(word));
        return p < end ? p : end;
    }
    /// Hands out the members from `begin` on, upwards, by calling `visit(p, insert)`; `insert(q)` adds a position `q` >
    /// `p`. `end` is a position behind the last member, and moves as positions are inserted. The word that is being
    /// scanned is kept in a register, because most edges are short. With `removes`, the positions that were handed out
    /// are removed.
    template <bool removes, class Visit>
    void scan_up(std::size_t begin, std::size_t end, Visit visit) {
        for (std::size_t k = begin / 64; k * 64 < end; ++k) {
            std::uint64_t seen = words_[k];
            if (seen == 0) continue;
            const auto insert = [&](std::size_t q) {
                const std::uint64_t bit = std::uint64_t{1} << (q % 64);
                if (q / 64 == k) {
                    seen |= bit;
                } else {
                    words_[q / 64] |= bit;
                    if (q >= end) end = q + 1;
                }
            };
            std::uint64_t ahead = ~std::uint64_t{0};  // the bits ahead of the scan
            while (const std::uint64_t word = seen & ahead) {
                const std::uint64_t bit = word & (~word + 1);
                ahead = ~(bit | (bit - 1));
                visit(k * 64 + static_cast<std::size_t>(std::countr_zero(word)), insert);
            }
            words_[k] = removes ? 0 : seen;
        }
    }
    /// The same downwards from before `end`: `insert(q)` adds a position `q` < `p`, and `begin` moves.
    template <bool removes, class Visit>
    void scan_down(std::size_t begin, std::size_t end, Visit visit) {
        if (begin >= end) return;
        for (std::size_t k = (end - 1) / 64 + 1; k-- > begin / 64;) {
            std::uint64_t seen = words_[k];
            if (seen == 0) continue;
            const auto insert = [&](std::size_t q) {
                const std::uint64_t bit = std::uint64_t{1} << (q % 64);
                if (q / 64 == k) {
                    seen |= bit;
                } else {
                    words_[q / 64] |= bit;
                    if (q < begin) begin = q;
                }
            };
            std::uint64_t ahead = ~std::uint64_t{0};
            while (const std::uint64_t word = seen & ahead) {
                const std::size_t bit = 63 - static_cast<std::size_t>(std::countl_zero(word));
                ahead = (std::uint64_t{1} << bit) - 1;
                visit(k * 64 + bit, insert);
            }
            words_[k] = removes ? 0 : seen;
        }
    }
    /// Hands out the first `count` members, upwards, and removes them. None may be below `begin`.
    template <class Visit>
    void take(std::size_t begin, std::size_t count, Visit visit) {
        for (std::size_t k = begin / 64; count > 0; ++k) {
            std::uint64_t word = words_[k];
            for (; word != 0 && count > 0; word &= word - 1, --count)
                visit(k * 64 + static_cast<std::size_t>(std::countr_zero(word)));
            words_[k] = word;
        }
    }
    /// Adds the members of another set in [begin, end), and perhaps some within 63 positions on either side.
    void insert_words(const position_set& other, std::size_t begin, std::size_t end) {
        for (std::size_t k = begin / 64; k * 64 < end; ++k) words_[k] |= other.words_[k];
    }
    /// Removes everything in [begin, end), and perhaps some within 63 positions on either side.
    void clear_words(std::size_t begin, std::size_t end) {
        for (std::size_t k = begin / 64; k * 64 < end; ++k) words_[k] = 0;
    }

private:
    std::vector<std::uint64_t> words_;
};

}  // namespace detail
}  // namespace stretto

#endif
