// Small acyclic graphs, written down or decoded from bytes, for properties that run on hundreds of thousands of them.
// They shrink as the bytes do: fewer, and smaller. Listed in an order of their own, which need not be topological, and
// numbered against it.
#ifndef STRETTO_TESTS_SUPPORT_SMALL_DAG_HPP
#define STRETTO_TESTS_SUPPORT_SMALL_DAG_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "stretto/core/concepts.hpp"
#include "support/shuffle.hpp"
#include "support/toy_program.hpp"

namespace support {

struct small_dag {
    std::uint32_t size = 0;
    std::vector<std::vector<std::uint32_t>> predecessors, successors;  ///< edges lead to higher vertices
    std::vector<std::uint32_t> listed;

    /// `bytes` name the size, below `bound`, how vertices are listed, and then two ends of an edge each. Parallel edges
    /// occur. Every other graph prefers short edges, which makes it long and thin.
    static small_dag decode(const std::vector<std::uint8_t>& bytes, std::uint32_t bound = 32) {
        small_dag g;
        const auto byte = [&](std::size_t i) { return i < bytes.size() ? std::uint32_t{bytes[i]} : 0u; };
        g.size = byte(0) % bound;
        g.predecessors.resize(g.size);
        g.successors.resize(g.size);
        g.listed = shuffled(g.size, byte(1) / 2);
        for (std::size_t i = 2; i + 1 < bytes.size() && g.size > 0; i += 2) {
            std::uint32_t u = byte(i) % g.size, v = byte(i + 1) % g.size;
            if (byte(1) % 2 != 0) v = (u + 1 + v % 4) % g.size;
            if (u != v) g.add_edge(std::min(u, v), std::max(u, v));
        }
        return g;
    }
    /// Vertices are listed in ascending order.
    static small_dag of_edges(std::uint32_t size,
                              std::initializer_list<std::pair<std::uint32_t, std::uint32_t>> edges) {
        small_dag g{size, {}, {}, shuffled(size, 0)};
        g.predecessors.resize(size);
        g.successors.resize(size);
        for (auto [u, v] : edges) g.add_edge(u, v);
        return g;
    }
    /// The operations of a program in program order; an edge for every operand.
    static small_dag of_program(const toy_program& p) {
        small_dag g = of_edges(static_cast<std::uint32_t>(p.ops.size()), {});
        for (std::uint32_t v = 0; v < g.size; ++v)
            for (toy_value x : p.ops[v].operands) g.add_edge(x.op, v);
        return g;
    }
    void add_edge(std::uint32_t u, std::uint32_t v) {
        successors[u].push_back(v);
        predecessors[v].push_back(u);
    }
    /// reaches[u]: a bit for every vertex that a path of any length, 0 included, leads to. For up to 64 vertices.
    [[nodiscard]] std::vector<std::uint64_t> closure() const {
        std::vector<std::uint64_t> reaches(size);
        for (std::uint32_t u = size; u-- > 0;) {
            reaches[u] = std::uint64_t{1} << u;
            for (std::uint32_t v : successors[u]) reaches[u] |= reaches[v];
        }
        return reaches;
    }
};

struct small_dag_view {
    using vertex_type = std::uint32_t;
    const small_dag* g;

    const std::vector<std::uint32_t>& vertices() const { return g->listed; }
    const std::vector<std::uint32_t>& successors(std::uint32_t v) const { return g->successors[v]; }
    const std::vector<std::uint32_t>& predecessors(std::uint32_t v) const { return g->predecessors[v]; }
    std::size_t index(std::uint32_t v) const { return g->size - 1 - v; }
    std::size_t index_bound() const { return g->size; }
};
static_assert(stretto::dependence_graph<small_dag_view>);

}  // namespace support

#endif
