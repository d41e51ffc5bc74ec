// The rules of check_graph, one function each. A function returns a finding without a rule if nothing is wrong.
//
// A view is the caller's code, and may be wrong in any way. So read() runs first: it queries everything once, checks
// every number before it is used as an index, and stores positions in vertices(). The other rules work on the stored
// data, so a faulty view cannot mislead them. Only stable(), values() and definition() query the view again.
#ifndef STRETTO_TESTING_DETAIL_GRAPH_CHECKER_HPP
#define STRETTO_TESTING_DETAIL_GRAPH_CHECKER_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "stretto/core/concepts.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/index_lists.hpp"
#include "stretto/testing/finding.hpp"

namespace stretto::detail {

/// Reads a view once, and trusts nothing.
template <dependence_graph G>
class graph_checker {
    using V = vertex_t<G>;

public:
    explicit graph_checker(G g) : g_(g) {}

    /// The position of a listed vertex, or finding::none. An index may be out of bounds or belong to another vertex,
    /// because nothing that the view says is trusted.
    std::size_t position(const V& v) const {
        const std::size_t i = g_.index(v);
        if (i >= position_.size() || position_[i] == finding::none) return finding::none;
        return vertices_[position_[i]] == v ? position_[i] : finding::none;
    }
    // The data that read() has stored: vertices in their order, and by position the positions of successors.
    const std::vector<V>& vertices() const { return vertices_; }
    const index_lists& successors() const { return successors_; }

    /// Reads vertices and neighbours. The other functions may only be called if it has found nothing. O(V + E).
    finding read() {
        const std::size_t bound = g_.index_bound();
        if (bound >= UINT32_MAX)
            return {.rule = "bound", .hint = "index_bound() is beyond 32 bits; numbers must be dense"};
        position_.assign(bound, finding::none);
        for (V v : g_.vertices()) {
            const std::size_t here = vertices_.size(), i = g_.index(v);
            if (i >= bound) return {.rule = "index", .hint = "index(v) is not below index_bound()", .vertex = here};
            if (const std::size_t there = position_[i]; there != finding::none) {
                if (vertices_[there] == v)
                    return {.rule = "listed-once",
                            .hint = "vertices() lists the same vertex twice",
                            .vertex = there,
                            .other = here};
                return {.rule = "injective",
                        .hint = "two vertices have the same index; are the numbers stale?",
                        .vertex = there,
                        .other = here};
            }
            position_[i] = here;
            vertices_.push_back(v);
        }
        if (const finding f = read_rows(successors_, [this](V v) { return positions(g_.successors(v)); }); *f.rule)
            return f;
        return read_rows(predecessors_, [this](V v) { return positions(g_.predecessors(v)); });
    }

    /// v appears in the predecessors of its successors, and vice versa, with the same multiplicity. Inverting a list of
    /// rows sorts each of them, so that two inversions sort the predecessors in linear time. O(V + E).
    finding mirror() const {
        const index_lists expected = successors_.inverse(vertices_.size());
        const index_lists sorted = predecessors_.inverse(vertices_.size()).inverse(vertices_.size());
        for (std::size_t v = 0; v < vertices_.size(); ++v) {
            const auto want = expected[v], have = sorted[v];
            for (std::size_t k = 0; k < want.size() || k < have.size(); ++k) {
                if (k < want.size() && k < have.size() && want[k] == have[k]) continue;
                const bool missing = k >= have.size() || (k < want.size() && want[k] < have[k]);
                if (missing)
                    return {.rule = "mirror",
                            .hint =
                                "the first names the second as successor more often than the second names the "
                                "first as predecessor; parallel edges count on both sides",
                            .vertex = want[k],
                            .other = v};
                return {.rule = "mirror",
                        .hint =
                            "the second names the first as predecessor more often than the first names the second "
                            "as successor; parallel edges count on both sides",
                        .vertex = have[k],
                        .other = v};
            }
        }
        return {};
    }

    /// A depth-first search with an explicit stack, because a graph may be deeper than the stack of the thread. An edge
    /// to a vertex on the current path closes a cycle, which the finding lists. O(V + E).
    finding acyclic() const {
        enum : std::uint8_t {
            unseen,
            on_path,
            done
        };
        std::vector<std::uint8_t> state(vertices_.size(), unseen);
        struct frame {
            std::size_t vertex, next;
        };
        std::vector<frame> path;
        for (std::size_t root = 0; root < vertices_.size(); ++root) {
            if (state[root] != unseen) continue;
            path.push_back({root, 0});
            state[root] = on_path;
            while (!path.empty()) {
                frame& top = path.back();
                const auto row = successors_[top.vertex];
                if (top.next == row.size()) {
                    state[top.vertex] = done;
                    path.pop_back();
                    continue;
                }
                const std::size_t w = row[top.next++];
                if (state[w] == unseen) {
                    state[w] = on_path;
                    path.push_back({w, 0});
                } else if (state[w] == on_path) {
                    finding f{.rule = "acyclic", .hint = "the graph has a cycle", .vertex = w};
                    std::size_t begin = 0;
                    while (path[begin].vertex != w) ++begin;
                    for (std::size_t i = begin; i < path.size(); ++i) f.cycle.push_back(path[i].vertex);
                    return f;
                }
            }
        }
        return {};
    }

    /// vertices() lists every vertex before its successors. A self-loop is found here as well as by acyclic().
    finding program_order() const {
        for (std::size_t v = 0; v < vertices_.size(); ++v)
            for (std::uint32_t w : successors_[v])
                if (w <= v)
                    return {.rule = "program-order",
                            .hint = "the first must run before the second, but vertices() lists it later",
                            .vertex = v,
                            .other = w};
        return {};
    }

    /// Checks that the view gives the same vertices and neighbours when it is asked again.
    finding stable() const {
        std::size_t n = 0;
        for (V v : g_.vertices()) {
            if (n == vertices_.size() || !(vertices_[n] == v))
                return {.rule = "stable", .hint = "vertices() answers differently when asked again", .vertex = n};
            ++n;
        }
        if (n != vertices_.size())
            return {.rule = "stable", .hint = "vertices() lists fewer vertices when asked again", .vertex = n};
        for (std::size_t v = 0; v < n; ++v)
            if (!same(positions(g_.successors(vertices_[v])), successors_[v]) ||
                !same(positions(g_.predecessors(vertices_[v])), predecessors_[v]))
                return {.rule = "stable", .hint = "neighbours come out differently when asked again", .vertex = v};
        return {};
    }

    /// Values: every vertex is checked against the values that it defines or reads, and the data dependences against
    /// the edges. `count` grows by the number of values. Lists are counted through, so that it takes time quadratic in
    /// the uses of one value.
    finding values(std::size_t& count) const
        requires dataflow_graph<G>
    {
        for (std::size_t v = 0; v < vertices_.size(); ++v) {
            std::size_t before = 0;
            for (value_t<G> x : g_.results(vertices_[v])) {
                if (position(g_.producer(x)) != v)
                    return {.rule = "producer", .hint = "producer(x) of a result is another vertex", .vertex = v};
                if (times(g_.results(vertices_[v]), x) != 1)
                    return {.rule = "result-once", .hint = "results(v) lists a value twice", .vertex = v};
                for (V c : g_.consumers(x)) {
                    const std::size_t w = position(c);
                    if (w == finding::none)
                        return {.rule = "consumer", .hint = "a consumer is missing in vertices()", .vertex = v};
                    if (times(g_.operands(c), x) != times(g_.consumers(x), c))
                        return {.rule = "consumer",
                                .hint =
                                    "the second is a consumer of a result of the first, but not as often as it "
                                    "reads it; consumers are listed once per use",
                                .vertex = v,
                                .other = w};
                }
                ++before;
            }
            count += before;
            for (value_t<G> x : g_.operands(vertices_[v])) {
                const std::size_t p = position(g_.producer(x));
                if (p == finding::none)
                    return {.rule = "operand",
                            .hint =
                                "the producer of an operand is missing in vertices(); arguments of the step need "
                                "vertices of kind input",
                            .vertex = v};
                if (times(g_.results(vertices_[p]), x) != 1)
                    return {.rule = "operand",
                            .hint = "the first reads a value that is no result of its producer, the second",
                            .vertex = v,
                            .other = p};
                if (times(g_.consumers(x), vertices_[v]) == 0)
                    return {.rule = "consumer",
                            .hint = "the second reads a result of the first, but is not among its consumers",
                            .vertex = p,
                            .other = v};
                bool adjacent = false;
                for (std::uint32_t w : successors_[p]) adjacent = adjacent || w == v;
                if (!adjacent)
                    return {.rule = "data-dependence",
                            .hint = "the second reads a result of the first, but is not among its successors",
                            .vertex = p,
                            .other = v};
            }
        }
        return {};
    }

    /// The position of the vertex whose result `x` is, or finding::none if the graph has no such value.
    std::size_t definition(const auto& x) const {
        const std::size_t p = position(g_.producer(x));
        return p != finding::none && times(g_.results(vertices_[p]), x) == 1 ? p : finding::none;
    }

private:
    /// The positions of neighbours, finding::none for one that is not listed.
    template <class R>
    std::vector<std::size_t> positions(R&& neighbours) const {
        std::vector<std::size_t> found;
        for (V w : neighbours) found.push_back(position(w));
        return found;
    }
    /// How often a range contains a value.
    template <class R>
    static std::size_t times(R&& range, const auto& wanted) {
        std::size_t n = 0;
        for (std::remove_cvref_t<decltype(wanted)> x : range) n += x == wanted;
        return n;
    }
    /// Whether a list that was read again has the same items in the same order.
    static bool same(const std::vector<std::size_t>& a, std::span<const std::uint32_t> b) {
        if (a.size() != b.size()) return false;
        for (std::size_t i = 0; i < a.size(); ++i)
            if (a[i] != b[i]) return false;
        return true;
    }
    /// Reads a list of neighbours for every vertex into rows of positions. Each must be listed, because positions are
    /// used as indices from then on.
    template <class Neighbours>
    finding read_rows(index_lists& rows, Neighbours neighbours) {
        for (std::size_t v = 0; v < vertices_.size(); ++v) {
            for (std::size_t w : neighbours(vertices_[v])) {
                if (w == finding::none)
                    return {.rule = "neighbour-listed",
                            .hint = "a neighbour is missing in vertices(); leave out what lies outside the block",
                            .vertex = v};
                rows.push(static_cast<std::uint32_t>(w));
            }
            rows.close_row();
        }
        return {};
    }

    G g_;
    std::vector<std::size_t> position_;  // by index
    std::vector<V> vertices_;
    index_lists successors_, predecessors_;
};

}  // namespace stretto::detail

#endif
