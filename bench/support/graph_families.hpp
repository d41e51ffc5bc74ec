// Graphs as 32-bit rows in topological order, for measuring reachability and what is built on it: training steps,
// captured or synthetic, replicas of them, and the shapes that break indices made for long thin graphs. Deterministic.
#ifndef STRETTO_BENCH_SUPPORT_GRAPH_FAMILIES_HPP
#define STRETTO_BENCH_SUPPORT_GRAPH_FAMILIES_HPP

#include <algorithm>
#include <bit>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "stretto/core/concepts.hpp"
#include "stretto/core/index_lists.hpp"
#include "stretto/views/snapshot.hpp"

namespace bench {

/// A graph as ids in topological order, with rows in both directions. A view of it is valid as long as it stays where
/// it is.
struct plain_graph {
    stretto::index_lists predecessors, successors;

    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(predecessors.rows()); }
    [[nodiscard]] std::size_t edges() const { return predecessors.items(); }
    [[nodiscard]] stretto::snapshot_view view() const { return {successors, predecessors}; }
};

/// The floor of a look at every edge: computes the level of every vertex, where ids are in topological order, and
/// returns the highest.
inline std::uint32_t sweep(stretto::snapshot_view g, std::vector<std::uint32_t>& level) {
    std::uint32_t highest = 0;
    for (std::uint32_t v = 0; v < g.index_bound(); ++v) {
        std::uint32_t l = 0;
        for (std::uint32_t u : g.predecessors(v)) l = std::max(l, level[u] + 1);
        level[v] = l;
        highest = std::max(highest, l);
    }
    return highest;
}

/// A small fast generator with good low bits (xorshift64*), the same everywhere.
class random_numbers {
public:
    explicit random_numbers(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
    std::uint32_t operator()() {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return static_cast<std::uint32_t>((state_ * 0x2545F4914F6CDD1Du) >> 32);
    }
    std::uint32_t below(std::uint32_t bound) {
        return static_cast<std::uint32_t>((std::uint64_t{(*this)()} * bound) >> 32);
    }

private:
    std::uint64_t state_;
};

namespace detail {

/// Rows of predecessors, written one vertex after the other.
class row_writer {
public:
    std::uint32_t add(std::initializer_list<std::uint32_t> reads) {
        for (std::uint32_t u : reads) rows_.push(u);
        return close();
    }
    void read(std::uint32_t u) { rows_.push(u); }
    std::uint32_t close() {
        rows_.close_row();
        return static_cast<std::uint32_t>(rows_.rows() - 1);
    }
    plain_graph finish() {
        plain_graph g{std::move(rows_), {}};
        g.successors = g.predecessors.inverse(g.predecessors.rows());
        return g;
    }

private:
    stretto::index_lists rows_;
};

}  // namespace detail

/// The graph of a view whose program order is topological.
template <stretto::dependence_graph G>
[[nodiscard]] plain_graph plain_graph_of(G g) {
    std::vector<std::uint32_t> id(g.index_bound());
    detail::row_writer out;
    for (stretto::vertex_t<G> v : g.vertices()) {
        for (stretto::vertex_t<G> u : g.predecessors(v)) out.read(id[g.index(u)]);
        id[g.index(v)] = out.close();
    }
    return out.finish();
}

/// The edges as pairs (from, to), sorted by the rows of successors.
[[nodiscard]] inline std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_of(const plain_graph& g) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
    for (std::uint32_t u = 0; u < g.size(); ++u)
        for (std::uint32_t v : g.successors[u]) edges.emplace_back(u, v);
    return edges;
}

/// The same graph under ids in a random order. Rows ascend, as those of a snapshot do.
[[nodiscard]] inline plain_graph shuffled_ids(const plain_graph& g, std::uint64_t seed) {
    std::vector<std::uint32_t> id(g.size()), vertex(g.size());
    for (std::uint32_t v = 0; v < g.size(); ++v) id[v] = v;
    random_numbers random(seed);
    for (std::uint32_t n = g.size(); n > 1; --n) std::swap(id[n - 1], id[random.below(n)]);
    for (std::uint32_t v = 0; v < g.size(); ++v) vertex[id[v]] = v;
    detail::row_writer out;
    for (std::uint32_t v : vertex) {
        for (std::uint32_t u : g.predecessors[v]) out.read(id[u]);
        out.close();
    }
    plain_graph shuffled = out.finish();
    shuffled.predecessors = shuffled.successors.inverse(g.size());
    return shuffled;
}

/// A chain with a side branch of six vertices at every eighth: what a captured step is when everything else is removed.
[[nodiscard]] inline plain_graph long_spine(std::uint32_t size) {
    detail::row_writer out;
    std::uint32_t n = 1, spine = out.add({});
    for (std::uint32_t k = 1; n + 7 < size; ++k, ++n) {
        if (k % 8 == 0) {
            std::uint32_t branch = out.add({spine});
            for (int step = 0; step < 5; ++step) branch = out.add({branch});
            n += 6;
        }
        spine = out.add({spine});
    }
    return out.finish();
}

/// `copies` of `g`, one after the other, that share the vertices without predecessors, as micro-batches share
/// parameters. With `summed`, every vertex without successors is added up over the copies, as gradients are.
[[nodiscard]] inline plain_graph replicas(const plain_graph& g, std::uint32_t copies, bool summed = false) {
    detail::row_writer out;
    std::vector<std::uint32_t> shared(g.size()), id(g.size()), sum(g.size());
    for (std::uint32_t v = 0; v < g.size(); ++v)
        if (g.predecessors[v].empty()) shared[v] = out.close();
    for (std::uint32_t copy = 0; copy < copies; ++copy)
        for (std::uint32_t v = 0; v < g.size(); ++v) {
            if (g.predecessors[v].empty()) {
                id[v] = shared[v];
                continue;
            }
            for (std::uint32_t u : g.predecessors[v]) out.read(id[u]);
            id[v] = out.close();
            if (summed && g.successors[v].empty()) sum[v] = copy == 0 ? id[v] : out.add({sum[v], id[v]});
        }
    return out.finish();
}

/// Ranks of `width` (a power of two) vertices; each reads its own place and one other of the rank before it, as in a
/// fast Fourier transform, again and again.
[[nodiscard]] inline plain_graph butterfly(std::uint32_t size, std::uint32_t width) {
    detail::row_writer out;
    const auto levels = static_cast<std::uint32_t>(std::countr_zero(width));
    for (std::uint32_t v = 0; v < width; ++v) out.add({});
    for (std::uint32_t rank = 1; (rank + 1) * width <= size; ++rank)
        for (std::uint32_t v = 0; v < width; ++v)
            out.add({(rank - 1) * width + v, (rank - 1) * width + (v ^ (1u << (rank % levels)))});
    return out.finish();
}

/// Every vertex but the first reads `reads` vertices anywhere before it, or among the `window` before it.
[[nodiscard]] inline plain_graph random_dag(std::uint32_t size, std::uint32_t reads, std::uint32_t window) {
    random_numbers random(size);
    detail::row_writer out;
    for (std::uint32_t v = 0; v < size; ++v) {
        for (std::uint32_t k = 0; k < reads && v > 0; ++k) out.read(v - 1 - random.below(std::min(window, v)));
        out.close();
    }
    return out.finish();
}

/// One vertex, its `size` consumers, and one that reads them all.
[[nodiscard]] inline plain_graph star(std::uint32_t size) {
    detail::row_writer out;
    out.add({});
    for (std::uint32_t v = 1; v <= size; ++v) out.add({0});
    for (std::uint32_t v = 1; v <= size; ++v) out.read(v);
    out.close();
    return out.finish();
}

}  // namespace bench

#endif
