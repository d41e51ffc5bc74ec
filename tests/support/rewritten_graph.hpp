// A graph that is merged and extended the plain way: a list of edges, a group for every vertex, and a search from
// scratch for every question. It is the oracle for whatever follows a graph while it is rewritten.
#ifndef STRETTO_TESTS_SUPPORT_REWRITTEN_GRAPH_HPP
#define STRETTO_TESTS_SUPPORT_REWRITTEN_GRAPH_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/analysis/maintained_order.hpp"
#include "support/edge_graph.hpp"
#include "support/shuffle.hpp"

namespace support {

/// The graph, listed in the order of its ids.
inline edge_graph graph(std::uint32_t size, std::vector<std::pair<std::uint32_t, std::uint32_t>> edges) {
    return {size, std::move(edges), shuffled(size, 0)};
}

struct rewritten_graph {
    using id = std::uint32_t;

    std::vector<std::pair<id, id>> edges;
    std::vector<id> group;  ///< by vertex

    explicit rewritten_graph(const edge_graph& g) : edges(g.edges), group(g.size) {
        for (id v = 0; v < g.size; ++v) group[v] = v;
    }
    void merge(id a, id b) {
        const id from = group[b], to = group[a];
        std::replace(group.begin(), group.end(), from, to);
    }
    std::vector<id> members(id v) const {
        std::vector<id> all;
        for (id u = 0; u < group.size(); ++u)
            if (group[u] == group[v]) all.push_back(u);
        return all;
    }

    /// Successors of every group, without edges inside one.
    std::vector<std::vector<id>> successors() const {
        std::vector<std::vector<id>> rows(group.size());
        for (auto [u, v] : edges)
            if (group[u] != group[v]) rows[group[u]].push_back(group[v]);
        return rows;
    }
    /// reached[w]: whether a path leads from `v` to the group `w`; breadth-first.
    std::vector<bool> reached_from(id v) const {
        const auto rows = successors();
        std::vector<bool> reached(group.size());
        std::vector<id> queue{group[v]};
        reached[group[v]] = true;
        for (std::size_t k = 0; k < queue.size(); ++k)
            for (id w : rows[queue[k]])
                if (!reached[w]) {
                    reached[w] = true;
                    queue.push_back(w);
                }
        return reached;
    }
    bool reaches(id a, id b) const { return reached_from(a)[group[b]]; }
    bool acyclic() const {
        const auto rows = successors();
        std::vector<std::size_t> missing(group.size());
        for (const auto& row : rows)
            for (id w : row) ++missing[w];
        std::vector<id> done;
        for (id v = 0; v < group.size(); ++v)
            if (missing[v] == 0) done.push_back(v);
        for (std::size_t k = 0; k < done.size(); ++k)
            for (id w : rows[done[k]])
                if (--missing[w] == 0) done.push_back(w);
        return done.size() == group.size();
    }
    bool has_edge(id u, id v) const { return std::count(edges.begin(), edges.end(), std::pair(u, v)) > 0; }

    /// Whether `path` leads from `from` to `to`: two neighbours on it are the ends of an edge or members of one group.
    bool is_path(const std::vector<id>& path, id from, id to) const {
        if (path.empty() || path.front() != from || path.back() != to) return false;
        for (std::size_t k = 1; k < path.size(); ++k)
            if (!has_edge(path[k - 1], path[k]) && (group[path[k - 1]] != group[path[k]] || path[k - 1] == path[k]))
                return false;
        return true;
    }
    /// Whether the witness is what it says, and its path really closes a cycle once every vertex in `one` is the same
    /// vertex: it must leave that vertex and come back.
    bool blocks_merge(const stretto::blocking_path<id>& witness, const std::vector<id>& path,
                      const std::vector<id>& one) const {
        const auto inside = [&](id v) {
            return std::any_of(one.begin(), one.end(), [&](id u) { return group[u] == group[v]; });
        };
        return path.size() >= 3 && is_path(path, witness.from, witness.to) && path[1] == witness.via &&
               has_edge(witness.from, witness.via) && inside(witness.from) && inside(witness.to) &&
               !inside(witness.via);
    }
    /// Whether `leaders`, one for every group and in the order given, come after everything that they depend on.
    bool is_order(const std::vector<id>& leaders) const {
        std::vector<std::size_t> position(group.size(), SIZE_MAX);
        for (std::size_t k = 0; k < leaders.size(); ++k) {
            if (position[group[leaders[k]]] != SIZE_MAX) return false;
            position[group[leaders[k]]] = k;
        }
        for (id v = 0; v < group.size(); ++v)
            if (position[group[v]] == SIZE_MAX) return false;
        return std::all_of(edges.begin(), edges.end(), [&](auto e) {
            return group[e.first] == group[e.second] || position[group[e.first]] < position[group[e.second]];
        });
    }
};

/// A graph of up to 16 vertices and some operations on it, decoded from bytes so that it shrinks. Every list of bytes
/// stands for something legal.
class byte_reader {
public:
    explicit byte_reader(const std::vector<std::uint8_t>& bytes) : bytes_(&bytes) {}
    [[nodiscard]] bool done() const { return at_ >= bytes_->size(); }
    std::uint32_t next() { return done() ? 0u : (*bytes_)[at_++]; }

private:
    const std::vector<std::uint8_t>* bytes_;
    std::size_t at_ = 0;
};

/// The graph. Edges lead from lower vertices to higher ones; the listing is shuffled, and so it is usually not
/// topological.
inline edge_graph small_acyclic_graph(byte_reader& bytes) {
    edge_graph g;
    g.size = 1 + bytes.next() % 16;
    g.order = shuffled(g.size, bytes.next());
    for (std::uint32_t k = bytes.next() % 32; k > 0; --k) {
        const std::uint32_t b = bytes.next(), u = b % 16 % g.size, v = b / 16 % g.size;
        if (u != v) g.edges.emplace_back(std::min(u, v), std::max(u, v));
    }
    return g;
}

}  // namespace support

#endif
