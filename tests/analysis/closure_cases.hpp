// What the tests of cones, influence, convexity and boundaries share: cases decoded from bytes, and large graphs of the
// shapes that break naive code.
#ifndef STRETTO_TESTS_ANALYSIS_CLOSURE_CASES_HPP
#define STRETTO_TESTS_ANALYSIS_CLOSURE_CASES_HPP

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/analysis/topological_order.hpp"
#include "stretto/core/index_lists.hpp"
#include "stretto/views/snapshot.hpp"
#include "support/small_dag.hpp"

namespace support {

/// A small graph, its order, and some of its vertices: the first four bytes name the vertices, the rest the graph.
struct closure_case {
    small_dag dag;
    stretto::topological_order<std::uint32_t> order;
    std::vector<std::uint32_t> position;  ///< by vertex
    std::vector<std::uint64_t> reaches;   ///< by vertex, a bit per vertex
    std::vector<std::uint32_t> chosen;    ///< in the order of their numbers
    std::uint8_t spare;                   ///< for whatever else a case needs

    explicit closure_case(const std::vector<std::uint8_t>& bytes, std::uint32_t bound = 24)
        : dag(small_dag::decode(
              {bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() < 4 ? bytes.size() : 4), bytes.end()}, bound)),
          order(*stretto::topological_sort(view())),
          position(dag.size),
          reaches(dag.closure()),
          spare(byte(bytes, 3)) {
        for (std::uint32_t p = 0; p < order.size(); ++p) position[order[p]] = p;
        const std::uint32_t bits = byte(bytes, 0) | byte(bytes, 1) * 256u | byte(bytes, 2) * 65536u;
        for (std::uint32_t v = 0; v < dag.size; ++v)
            if (bits >> (v % 24) & 1u) chosen.push_back(v);
    }
    small_dag_view view() const { return {&dag}; }
    bool path(std::uint32_t from, std::uint32_t to) const { return reaches[from] >> to & 1u; }
    bool is_chosen(std::uint32_t v) const {
        for (std::uint32_t w : chosen)
            if (w == v) return true;
        return false;
    }
    /// The vertices that satisfy `keep`, in the order's order.
    template <class Keep>
    std::vector<std::uint32_t> in_order(Keep keep) const {
        std::vector<std::uint32_t> all;
        for (std::uint32_t v : order)
            if (keep(v)) all.push_back(v);
        return all;
    }

private:
    static std::uint8_t byte(const std::vector<std::uint8_t>& bytes, std::size_t i) {
        return i < bytes.size() ? bytes[i] : std::uint8_t{0};
    }
};

/// A large graph in compressed rows; edges lead to higher ids, so that ids are a topological order.
class large_graph {
public:
    explicit large_graph(std::uint32_t size) : predecessors_of_(size) {}
    void add_edge(std::uint32_t u, std::uint32_t v) { predecessors_of_[v].push_back(u); }
    void finish() {
        for (const std::vector<std::uint32_t>& row : predecessors_of_) predecessors_.push_row(row);
        successors_ = predecessors_.inverse(predecessors_of_.size());
    }
    std::uint32_t size() const { return static_cast<std::uint32_t>(predecessors_of_.size()); }
    stretto::snapshot_view view() const { return {successors_, predecessors_}; }

private:
    std::vector<std::vector<std::uint32_t>> predecessors_of_;
    stretto::index_lists predecessors_, successors_;
};

inline large_graph path_graph(std::uint32_t size) {
    large_graph g(size);
    for (std::uint32_t v = 1; v < size; ++v) g.add_edge(v - 1, v);
    g.finish();
    return g;
}
/// One vertex that all others depend on, and a last one that depends on all.
inline large_graph star_graph(std::uint32_t size) {
    large_graph g(size);
    for (std::uint32_t v = 1; v < size; ++v) g.add_edge(0, v);
    for (std::uint32_t v = 1; v + 1 < size; ++v) g.add_edge(v, size - 1);
    g.finish();
    return g;
}
/// Layers of 2^log vertices, each of which feeds itself and a partner in the next layer: 2^layers paths.
inline large_graph butterfly_graph(std::uint32_t log, std::uint32_t layers) {
    const std::uint32_t width = 1u << log;
    large_graph g(width * layers);
    for (std::uint32_t l = 1; l < layers; ++l)
        for (std::uint32_t i = 0; i < width; ++i) {
            g.add_edge((l - 1) * width + i, l * width + i);
            g.add_edge((l - 1) * width + (i ^ (1u << (l % log))), l * width + i);
        }
    g.finish();
    return g;
}
/// Chains of equal length that all read the first `shared` vertices, link by link.
inline large_graph replica_graph(std::uint32_t replicas, std::uint32_t length, std::uint32_t shared) {
    large_graph g(shared + replicas * length);
    for (std::uint32_t r = 0; r < replicas; ++r)
        for (std::uint32_t i = 0; i < length; ++i) {
            const std::uint32_t v = shared + r * length + i;
            g.add_edge(i % shared, v);
            if (i > 0) g.add_edge(v - 1, v);
        }
    g.finish();
    return g;
}

}  // namespace support

#endif
