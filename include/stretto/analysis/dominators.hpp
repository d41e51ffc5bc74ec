// Dominators and post-dominators of an acyclic graph: the vertices that lie on every path to a vertex, or from it.
//
// One pass in topological order suffices, without iteration: when v is processed, its predecessors are already in the
// tree, and the immediate dominator of v is their nearest common ancestor. Each vertex knows its parent and one farther
// ancestor, its jump, whose length depends only on the depth of the vertex. This finds an ancestor in O(log V) steps in
// the worst case; in a training step most vertices find theirs close by. Sources: G. Ramalingam, T. Reps, An
// incremental algorithm for maintaining the dominator tree of a reducible flowgraph, POPL 1994 (the pass); E. W. Myers,
// An applicative random-access stack, IPL 17(5), 1983 (the jumps).
#ifndef STRETTO_ANALYSIS_DOMINATORS_HPP
#define STRETTO_ANALYSIS_DOMINATORS_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/analysis/topological_order.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/config.hpp"

namespace stretto {
namespace detail {

/// A rooted tree that grows leaf by leaf. Vertices are numbers below `bound`; the root has the number `bound` itself.
/// Adding a leaf that is already in the tree moves it, provided that everything below it is added again too.
class jump_tree {
public:
    explicit jump_tree(std::size_t bound) : nodes_(bound + 1) {
        const std::uint32_t root = static_cast<std::uint32_t>(bound);
        nodes_[bound] = {root, root, 0, 0};
    }
    [[nodiscard]] std::uint32_t root() const { return static_cast<std::uint32_t>(nodes_.size() - 1); }
    [[nodiscard]] std::uint32_t parent(std::uint32_t v) const { return nodes_[v].parent; }
    [[nodiscard]] std::uint32_t depth(std::uint32_t v) const { return nodes_[v].depth; }

    /// Adds `v` below `parent`. If the parent's jump is as long as the jump of the vertex where it lands, the two are
    /// joined into one; otherwise the new jump goes to the parent. The length of a jump thus depends only on depth, and
    /// every ancestor is O(log depth) jumps and steps away.
    void add_leaf(std::uint32_t v, std::uint32_t parent) {
        const node& p = nodes_[parent];
        const node& landing = nodes_[p.jump];
        const bool joined = p.length == landing.length;
        nodes_[v] = {parent, joined ? landing.jump : parent, p.depth + 1, joined ? 2 * p.length + 1 : 1};
    }
    /// The ancestor of `v` at a depth that does not exceed its own.
    [[nodiscard]] std::uint32_t ancestor_at(std::uint32_t v, std::uint32_t depth) const {
        while (nodes_[v].depth > depth) v = nodes_[nodes_[v].jump].depth >= depth ? nodes_[v].jump : nodes_[v].parent;
        return v;
    }
    /// The nearest vertex that is an ancestor of both; a vertex counts as its own ancestor.
    [[nodiscard]] std::uint32_t common_ancestor(std::uint32_t a, std::uint32_t b) const {
        if (nodes_[a].depth > nodes_[b].depth) a = ancestor_at(a, nodes_[b].depth);
        else b = ancestor_at(b, nodes_[a].depth);
        while (a != b) {
            // Vertices of equal depth have jumps of equal length. If both land on the same vertex, the nearest common
            // ancestor may be below it, so only a step to the parents is safe.
            const bool far = nodes_[a].jump != nodes_[b].jump;
            a = far ? nodes_[a].jump : nodes_[a].parent;
            b = far ? nodes_[b].jump : nodes_[b].parent;
        }
        return a;
    }

private:
    struct node {
        std::uint32_t parent, jump, depth;
        std::uint32_t length;  // of the jump, in edges of the tree
    };
    std::vector<node> nodes_;
};

}  // namespace detail

/// The direction of the paths that dominance refers to.
enum class dominance : bool {
    forward,  ///< paths that lead to a vertex, from vertices without predecessors
    backward  ///< paths that lead from it, to vertices without successors: post-dominators
};

/// The dominators of every vertex, as a tree. `d` dominates `v` if every path to `v` that begins at a vertex without
/// predecessors contains `d`; so every vertex dominates itself. The dominators of `v` form a chain, and the nearest one
/// other than `v` is its immediate dominator. A vertex to which paths from several such beginnings lead may have none.
/// With `dominance::backward` all edges are reversed. The tree takes 16 bytes and a handle per index.
template <dependence_graph G>
class dominator_tree {
public:
    /// A tree without vertices; `update` fills it.
    dominator_tree(G g, dominance direction)
        : graph_(g), direction_(direction), tree_(checked_bound(g)), vertices_(g.index_bound()) {}

    /// The immediate dominator of `v`, or nullptr if only `v` dominates itself. O(1). The pointer is valid as long as
    /// this tree is neither moved nor destroyed.
    [[nodiscard]] const vertex_t<G>* immediate(vertex_t<G> v) const { return named(tree_.parent(slot(v))); }

    /// Whether every path to `v` contains `d`. O(log V).
    [[nodiscard]] bool dominates(vertex_t<G> d, vertex_t<G> v) const {
        const std::uint32_t top = slot(d), bottom = slot(v);
        return tree_.depth(top) <= tree_.depth(bottom) && tree_.ancestor_at(bottom, tree_.depth(top)) == top;
    }

    /// The nearest vertex that dominates both `a` and `b`, or nullptr if there is none; it is `a` itself if `a`
    /// dominates `b`. O(log V).
    [[nodiscard]] const vertex_t<G>* common(vertex_t<G> a, vertex_t<G> b) const {
        return named(tree_.common_ancestor(slot(a), slot(b)));
    }

    /// The number of vertices that dominate `v`, `v` included. O(1).
    [[nodiscard]] std::size_t depth(vertex_t<G> v) const { return tree_.depth(slot(v)); }

    /// Recomputes the dominators after edges have changed. `order` must be an order of the graph as it is now, and its
    /// index bound must not have grown. It allocates nothing and takes O((V + E) log V) time in the worst case.
    void update(const topological_order<vertex_t<G>>& order) {
        if (direction_ == dominance::forward) {
            for (const vertex_t<G>& v : order) add(v, graph_.predecessors(v));
        } else {
            for (std::size_t i = order.size(); i-- > 0;) add(order[i], graph_.successors(order[i]));
        }
    }

private:
    static std::size_t checked_bound(const G& g) {
        const std::size_t bound = g.index_bound();
        STRETTO_ASSERT(bound < UINT32_MAX, "a dominator tree has 32-bit numbers");
        return bound;
    }
    std::uint32_t slot(vertex_t<G> v) const {
        const std::size_t i = graph_.index(v);
        STRETTO_ASSERT(i < vertices_.size(), "vertex index is not below the index_bound() this tree was made with");
        return static_cast<std::uint32_t>(i);
    }
    const vertex_t<G>* named(std::uint32_t i) const { return i == tree_.root() ? nullptr : &vertices_[i]; }

    template <class R>
    void add(vertex_t<G> v, R&& sources) {
        std::uint32_t parent = tree_.root();
        bool first = true;
        for (vertex_t<G> u : sources) {
            const std::uint32_t s = slot(u);
            parent = first ? s : parent == s ? s : tree_.common_ancestor(parent, s);
            first = false;
        }
        const std::uint32_t i = slot(v);
        vertices_[i] = v;
        tree_.add_leaf(i, parent);
    }

    G graph_;
    dominance direction_;
    detail::jump_tree tree_;
    std::vector<vertex_t<G>> vertices_;  // by index
};

/// The dominators of `g`. The result is deterministic and does not depend on which topological order is given. It takes
/// O((V + E) log V) time in the worst case, and a few nanoseconds per vertex and edge on training steps.
template <dependence_graph G>
[[nodiscard]] dominator_tree<G> dominators(G g, const topological_order<vertex_t<G>>& order) {
    dominator_tree<G> tree(g, dominance::forward);
    tree.update(order);
    return tree;
}

/// The post-dominators of `g`: the vertices that lie on every path from a vertex to one without successors. Otherwise
/// it is like dominators.
template <dependence_graph G>
[[nodiscard]] dominator_tree<G> post_dominators(G g, const topological_order<vertex_t<G>>& order) {
    dominator_tree<G> tree(g, dominance::backward);
    tree.update(order);
    return tree;
}

}  // namespace stretto

#endif
