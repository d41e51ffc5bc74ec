// Topological order, stable with respect to program order, or the cycle that makes one impossible.
//
// Kahn's algorithm with a twist: among the vertices that are ready, the first in program order goes next. So the
// result is the lexicographically smallest topological order by program position; a program order that is already
// topological comes back unchanged, and one misplaced vertex moves alone. The ready set is a tree of bit words.
// Source: A. B. Kahn, Topological sorting of large networks, CACM 5(11), 1962.
#ifndef STRETTO_ANALYSIS_TOPOLOGICAL_ORDER_HPP
#define STRETTO_ANALYSIS_TOPOLOGICAL_ORDER_HPP

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "stretto/core/concepts.hpp"
#include "stretto/core/config.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/views/snapshot.hpp"

namespace stretto {

/// The witness of a failure: each vertex depends on the one before it, and the first on the last. A self-loop is a
/// cycle of one vertex. Begins at its first vertex in program order.
template <handle V>
struct cycle {
    std::vector<V> vertices;
    friend bool operator==(const cycle&, const cycle&) = default;
};

namespace detail {
struct topological_order_maker;
}

/// Every vertex once, behind all its predecessors. A witness type: only topological_sort makes one, so a function
/// that takes it need not check. Says nothing about a graph that has changed since.
template <handle V>
class topological_order {
public:
    using value_type = V;

    [[nodiscard]] const V* begin() const noexcept { return vertices_.data(); }
    [[nodiscard]] const V* end() const noexcept { return vertices_.data() + vertices_.size(); }
    [[nodiscard]] std::size_t size() const noexcept { return vertices_.size(); }
    [[nodiscard]] const V& operator[](std::size_t position) const { return vertices_[position]; }
    friend bool operator==(const topological_order&, const topological_order&) = default;

private:
    explicit topological_order(std::vector<V> vertices) : vertices_(std::move(vertices)) {}
    friend struct detail::topological_order_maker;

    std::vector<V> vertices_;
};

namespace detail {

/// For topological_sort alone. (A friend function template with constraints is one that clang 16 does not recognise.)
struct topological_order_maker {
    template <handle V>
    static topological_order<V> make(std::vector<V> vertices) {
        return topological_order<V>(std::move(vertices));
    }
};

/// A set of ids whose smallest is found and removed in O(log_32 bound): bit words, then bit words that say which of
/// those are not empty, and so on up to a single word, all in one array.
class id_queue {
public:
    explicit id_queue(std::size_t bound) {
        std::size_t words = 0;
        do {
            bound = (bound + 31) / 32;
            first_word_[levels_++] = words;
            words += bound;
        } while (bound > 1);
        words_.resize(words + 1);  // one for the queue that can hold nothing
    }
    void push(std::uint32_t id) {
        std::size_t i = id;
        for (std::size_t k = 0; k < levels_; ++k, i /= 32) {
            std::uint32_t& word = words_[first_word_[k] + i / 32];
            const bool known = word != 0;
            word |= std::uint32_t{1} << (i % 32);
            if (known) break;  // the levels above point here already
        }
    }
    /// Precondition: not empty.
    std::uint32_t pop() {
        std::size_t i = 0;
        for (std::size_t k = levels_; k-- > 0;)
            i = i * 32 + static_cast<std::size_t>(std::countr_zero(words_[first_word_[k] + i]));
        const std::uint32_t smallest = static_cast<std::uint32_t>(i);
        for (std::size_t k = 0; k < levels_; ++k, i /= 32) {
            std::uint32_t& word = words_[first_word_[k] + i / 32];
            word &= ~(std::uint32_t{1} << (i % 32));
            if (word) break;  // the levels above still have something to point at
        }
        return smallest;
    }
    [[nodiscard]] bool empty() const { return words_[first_word_[levels_ - 1]] == 0; }

private:
    static constexpr std::size_t max_levels = 7;  // 32^7 ids
    std::size_t first_word_[max_levels] = {};
    std::size_t levels_ = 0;
    std::vector<std::uint32_t> words_;
};

/// Whether vertices() lists every vertex behind its predecessors; if so, `vertices` gets them all. Ends at the first
/// that it finds too early.
template <dependence_graph G>
bool listed_topologically(G g, std::vector<vertex_t<G>>& vertices) {
    std::vector<std::uint64_t> listed((g.index_bound() + 63) / 64);  // bits by index
    for (vertex_t<G> v : g.vertices()) {
        for (vertex_t<G> u : g.predecessors(v)) {
            const std::size_t i = g.index(u);
            if (!((listed[i / 64] >> (i % 64)) & 1u)) return false;
        }
        const std::size_t i = g.index(v);
        STRETTO_ASSERT(!((listed[i / 64] >> (i % 64)) & 1u), "vertices() lists a vertex twice, or two with one index");
        listed[i / 64] |= std::uint64_t{1} << (i % 64);
        vertices.push_back(v);
    }
    return true;
}

inline bool listed_topologically(snapshot_view g, std::vector<std::uint32_t>& vertices) {
    const auto size = static_cast<std::uint32_t>(g.index_bound());
    vertices.resize(size);
    for (std::uint32_t v = 0; v < size; ++v) {
        vertices[v] = v;
        for (std::uint32_t u : g.predecessors(v))
            if (u >= v) return false;
    }
    return true;
}

/// The smallest topological order of ids; shorter than the graph if there is a cycle. `missing[v]` ends up as the
/// number of predecessors of `v` that never ran.
inline std::vector<std::uint32_t> smallest_topological_order(snapshot_view g, std::vector<std::uint32_t>& missing) {
    const std::uint32_t n = static_cast<std::uint32_t>(g.index_bound());
    missing.resize(n);
    id_queue ready(n);
    for (std::uint32_t v = 0; v < n; ++v) {
        missing[v] = static_cast<std::uint32_t>(g.predecessors(v).size());
        if (missing[v] == 0) ready.push(v);
    }
    std::vector<std::uint32_t> order;
    order.reserve(n);
    while (!ready.empty()) {
        const std::uint32_t v = ready.pop();
        order.push_back(v);
        for (std::uint32_t w : g.successors(v))
            if (--missing[w] == 0) ready.push(w);
    }
    return order;
}

/// A cycle among the vertices that never ran. Each of them misses a predecessor that never ran either, so walking
/// backwards must come round.
inline std::vector<std::uint32_t> cycle_among(snapshot_view g, const std::vector<std::uint32_t>& missing) {
    std::uint32_t v = 0;
    while (missing[v] == 0) ++v;
    std::vector<std::uint32_t> walk;
    std::vector<std::uint32_t> step(missing.size(), UINT32_MAX);
    while (step[v] == UINT32_MAX) {
        step[v] = static_cast<std::uint32_t>(walk.size());
        walk.push_back(v);
        std::uint32_t before = UINT32_MAX;
        for (std::uint32_t u : g.predecessors(v))
            if (missing[u] != 0 && u < before) before = u;
        v = before;
    }
    // The walk went from each vertex to one it depends on; turn it around, beginning at the smallest id.
    const std::size_t length = walk.size() - step[v];
    std::size_t smallest = step[v];
    for (std::size_t i = step[v]; i < walk.size(); ++i)
        if (walk[i] < walk[smallest]) smallest = i;
    std::vector<std::uint32_t> around;
    for (std::size_t k = 0; k < length; ++k)
        around.push_back(walk[step[v] + (smallest - step[v] + length - k) % length]);
    return around;
}

}  // namespace detail

/// The lexicographically smallest topological order by position in program order: stable, deterministic, independent
/// of the order in which the view names neighbours. Failure: a cycle. One pass and a bit per index where the program
/// order is topological; else O(V + E + V log_32 V) time and 24 bytes per vertex and 16 per edge of scratch (a
/// snapshot, unless the view is one). No recursion, no hashing.
template <dependence_graph G>
[[nodiscard]] expected<topological_order<vertex_t<G>>, cycle<vertex_t<G>>> topological_sort(G g) {
    using V = vertex_t<G>;
    std::vector<V> vertices;
    if (detail::listed_topologically(g, vertices)) return detail::topological_order_maker::make(std::move(vertices));
    vertices.clear();
    const auto sort = [&vertices](snapshot_view ids, auto vertex) -> bool {
        std::vector<std::uint32_t> missing;
        std::vector<std::uint32_t> sorted = detail::smallest_topological_order(ids, missing);
        const bool acyclic = sorted.size() == ids.index_bound();
        if (!acyclic) sorted = detail::cycle_among(ids, missing);
        vertices.reserve(sorted.size());
        for (std::uint32_t id : sorted) vertices.push_back(vertex(id));
        return acyclic;
    };
    bool acyclic = false;
    if constexpr (std::is_same_v<G, snapshot_view>) {
        acyclic = sort(g, [](std::uint32_t id) { return id; });
    } else {
        const snapshot<G> copy(g);
        acyclic = sort(copy.view(), [&copy](std::uint32_t id) { return copy.vertex(id); });
    }
    if (!acyclic) return unexpected(cycle<V>{std::move(vertices)});
    return detail::topological_order_maker::make(std::move(vertices));
}

}  // namespace stretto

#endif
