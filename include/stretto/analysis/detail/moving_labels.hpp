// Spine labels of a graph that is being rewritten. Edges and merges only add paths, so the first spine position that a
// vertex reaches can only decrease, and the last that reaches it can only increase. A change is propagated along the
// edges only as far as it changes labels.
#ifndef STRETTO_ANALYSIS_DETAIL_MOVING_LABELS_HPP
#define STRETTO_ANALYSIS_DETAIL_MOVING_LABELS_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/analysis/detail/raw_array.hpp"
#include "stretto/core/config.hpp"

namespace stretto::detail {

/// The labels of one vertex.
struct moving_label {
    std::uint32_t next_spine;  ///< the first spine position, from 1, that the vertex reaches; UINT32_MAX if none
    std::uint32_t last_spine;  ///< the last spine position that reaches the vertex; 0 if none
};

/// The labels of a merged_graph, by root, and their history. It takes 8 bytes per vertex, and 12 per change that can
/// still be undone. `Labels` is where the labels are stored.
template <class Graph, class Labels>
class moving_labels {
public:
    using id = typename Graph::id;
    using label = moving_label;

    /// Computes the labels of a graph in which nothing has been merged yet. `order` names its ids in a topological
    /// order. The spine is a path with the most vertices; of several it is the one that ends first in the order and
    /// then, going back, the one that comes first in the rows of predecessors. It takes three passes over the graph and
    /// 8 bytes per vertex of scratch.
    template <class Order>
    moving_labels(const Graph& graph, const Order& order, Labels labels) : labels_(labels) {
        if (graph.size() == 0) return;
        const auto& base = graph.base();
        raw_array<label> found(graph.size());
        for (label& l : found) l = {UINT32_MAX, 0};
        const auto largest_before = [&](id v) {
            std::uint32_t largest = 0;
            for (id u : base.predecessors(v)) largest = found[u].last_spine > largest ? found[u].last_spine : largest;
            return largest;
        };
        // Until the spine is known, `last_spine` holds the length of a longest path to the vertex.
        id deepest = order[0];
        for (id v : order) {
            found[v].last_spine = 1 + largest_before(v);
            if (found[v].last_spine > found[deepest].last_spine) deepest = v;
        }
        for (std::uint32_t position = found[deepest].last_spine; position > 0; --position) {
            found[deepest].next_spine = position;
            for (id u : base.predecessors(deepest))
                if (found[u].last_spine == position - 1) {
                    deepest = u;
                    break;
                }
        }
        for (id v : order) {
            const bool on_spine = found[v].next_spine != UINT32_MAX;
            found[v].last_spine = on_spine ? found[v].next_spine : largest_before(v);
        }
        for (std::size_t k = order.size(); k-- > 0;) {
            label& l = found[order[k]];
            for (id w : base.successors(order[k]))
                l.next_spine = found[w].next_spine < l.next_spine ? found[w].next_spine : l.next_spine;
        }
        for (id v = 0; v < found.size(); ++v) labels_[v] = found[v];
    }
    [[nodiscard]] const label& operator[](id root) const { return labels_[root]; }

    /// Updates the labels for an edge from `tail` to `head`, two roots. Call it before the edge is added.
    void connect(const Graph& graph, id tail, id head) {
        advance(graph, tail, labels_[head].next_spine);
        retreat(graph, head, labels_[tail].last_spine);
    }
    /// Updates the labels for a merge of two roots, which then both have the labels of the result. Call it before the
    /// merge.
    void unite(const Graph& graph, id a, id b) {
        connect(graph, a, b);
        connect(graph, b, a);
    }

    /// Updates the labels after many vertices have been merged into `root`. `all` must be their labels, joined.
    void settle(const Graph& graph, id root, label all) {
        history_.push_back({root, labels_[root]});
        labels_[root] = all;
        changed_.push_back(root);
        push_next(graph, all.next_spine);
        changed_.push_back(root);
        push_last(graph, all.last_spine);
    }

    /// The length of the history is a moment to which undo_to leads back.
    [[nodiscard]] std::size_t now() const noexcept { return history_.size(); }
    void undo_to(std::size_t then) {
        STRETTO_ASSERT(then <= history_.size(), "that moment has been undone");
        for (; history_.size() > then; history_.pop_back()) labels_[history_.back().v] = history_.back().before;
    }
    void forget_history() noexcept { history_.clear(); }

private:
    struct change {
        id v;
        label before;
    };

    /// Lowers the first spine position of a root and of all that leads to it.
    void advance(const Graph& graph, id root, std::uint32_t next_spine) {
        set_next(root, next_spine);
        push_next(graph, next_spine);
    }
    /// Raises the last spine position of a root and of all that it leads to.
    void retreat(const Graph& graph, id root, std::uint32_t last_spine) {
        set_last(root, last_spine);
        push_last(graph, last_spine);
    }
    void set_next(id v, std::uint32_t next_spine) {
        if (labels_[v].next_spine <= next_spine) return;
        history_.push_back({v, labels_[v]});
        labels_[v].next_spine = next_spine;
        changed_.push_back(v);
    }
    void set_last(id v, std::uint32_t last_spine) {
        if (labels_[v].last_spine >= last_spine) return;
        history_.push_back({v, labels_[v]});
        labels_[v].last_spine = last_spine;
        changed_.push_back(v);
    }
    void push_next(const Graph& graph, std::uint32_t next_spine) {
        while (!changed_.empty()) {
            const id v = changed_.back();
            changed_.pop_back();
            graph.any_predecessor(v, [&](id u) {
                set_next(u, next_spine);
                return false;
            });
        }
    }
    void push_last(const Graph& graph, std::uint32_t last_spine) {
        while (!changed_.empty()) {
            const id v = changed_.back();
            changed_.pop_back();
            graph.any_successor(v, [&](id w, id, id) {
                set_last(w, last_spine);
                return false;
            });
        }
    }

    Labels labels_;
    std::vector<id> changed_;
    std::vector<change> history_;
};

}  // namespace stretto::detail

#endif
