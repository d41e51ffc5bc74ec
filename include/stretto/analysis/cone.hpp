// Cones: all that some vertices depend on (their down-set) and all that depends on them (their up-set).
//
// Where vertices are numbered as they are ordered, a set of positions is the work list. It is scanned in the direction
// of the search while neighbours are inserted ahead of the scan, so the vertices come out sorted, each once, their rows
// are read in the order in which they lie, and nothing is left behind.
//
// Elsewhere rows lie anywhere, and a scan, which knows its next vertex only when it has followed the last edge, would
// wait for one of them after the other. There what was found is at once the queue of what to follow: it names many
// vertices ahead, whose rows the processor fetches while it is busy with others. The set of positions then sorts them.
#ifndef STRETTO_ANALYSIS_CONE_HPP
#define STRETTO_ANALYSIS_CONE_HPP

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "stretto/analysis/detail/order_positions.hpp"
#include "stretto/core/config.hpp"
#include "stretto/core/vertex_set.hpp"
#include "stretto/views/filtered.hpp"

namespace stretto {

/// The vertices at positions first .. last-1 of an order. Default: all of them.
struct order_window {
    std::size_t first = 0;
    std::size_t last = SIZE_MAX;
};

/// Answers cone queries on one graph. A query costs O(edges out of the cone, or into it, + positions it spans / 64) and
/// allocates nothing once the largest answer has been seen. 1 bit and a handle per vertex, and 4 bytes per index unless
/// index(v) is the position of v throughout. Not for use by two threads at once. The graph may change only as long as
/// the order stays one of its vertices and edges.
template <dependence_graph G>
class cone_finder {
public:
    using vertex_type = vertex_t<G>;

    /// `order`: a topological order of `g`, which must outlive the finder. Precondition: fewer than 2^31 vertices.
    cone_finder(G g, const topological_order<vertex_type>& order)
        : graph_(g), order_(&order), numbered_in_order_(is_numbered_in_order()), pending_(order.size()) {
        STRETTO_ASSERT(order.size() < found_before, "cones have 31-bit positions");
        if (numbered_in_order_) return;
        position_ = detail::positions_by_index(g, order);
        found_.resize(order.size() + 1);
    }
    cone_finder(G g, const topological_order<vertex_type>&& order) = delete;

    /// Everything that `seeds` depend on, themselves included, in the order's order. Only vertices inside `window` are
    /// visited, so a path that leaves it ends there and seeds outside are ignored; only edges (u, v) that
    /// `keep_edge(u, v)` keeps are followed. The answer is valid until the next query.
    template <class Seeds = std::initializer_list<vertex_type>, edge_predicate<G> KeepEdge = detail::every_edge>
        requires vertex_collection<Seeds, vertex_type>
    [[nodiscard]] std::span<const vertex_type> down_set(Seeds&& seeds, order_window window = {},
                                                        KeepEdge keep_edge = {}) & {
        if (!numbered_in_order_)
            return follow_queue(
                seeds, window, [&](const vertex_type& v) -> decltype(auto) { return graph_.predecessors(v); },
                [&](const vertex_type& v, const vertex_type& u) { return keep_edge(u, v); });
        const order_window span = insert_seeds(seeds, window);
        pending_.template scan_down<true>(span.first, span.last, [&](std::size_t at, auto insert) {
            const vertex_type v = (*order_)[at];
            found_.push_back(v);
            for (vertex_type u : graph_.predecessors(v))
                if (const std::size_t p = index_of(u); p >= window.first && keep_edge(u, v)) insert(p);
        });
        for (std::size_t i = 0, j = found_.size(); i + 1 < j; ++i) std::swap(found_[i], found_[--j]);
        return found_;
    }

    /// Everything that depends on `seeds`, themselves included; otherwise as down_set.
    template <class Seeds = std::initializer_list<vertex_type>, edge_predicate<G> KeepEdge = detail::every_edge>
        requires vertex_collection<Seeds, vertex_type>
    [[nodiscard]] std::span<const vertex_type> up_set(Seeds&& seeds, order_window window = {},
                                                      KeepEdge keep_edge = {}) & {
        if (!numbered_in_order_)
            return follow_queue(
                seeds, window, [&](const vertex_type& v) -> decltype(auto) { return graph_.successors(v); }, keep_edge);
        const order_window span = insert_seeds(seeds, window);
        pending_.template scan_up<true>(span.first, span.last, [&](std::size_t at, auto insert) {
            const vertex_type v = (*order_)[at];
            found_.push_back(v);
            for (vertex_type w : graph_.successors(v))
                if (const std::size_t p = index_of(w); p < window.last && keep_edge(v, w)) insert(p);
        });
        return found_;
    }

    /// Where a vertex stands in the order: for making windows.
    [[nodiscard]] std::size_t position(vertex_type v) const {
        return numbered_in_order_ ? index_of(v) : listed(position_[graph_.index(v)]) & ~found_before;
    }

private:
    static constexpr std::uint32_t found_before = std::uint32_t{1} << 31;  // marks a position

    [[nodiscard]] bool is_numbered_in_order() const {
        for (std::size_t p = 0; p < order_->size(); ++p)
            if (graph_.index((*order_)[p]) != p) return false;
        return true;
    }
    /// Where vertices are numbered in order.
    [[nodiscard]] std::size_t index_of(const vertex_type& v) const {
        const std::size_t i = graph_.index(v);
        STRETTO_ASSERT(i < order_->size(), "this vertex is not in the order");
        return i;
    }
    [[nodiscard]] static std::uint32_t listed(std::uint32_t marked_position) {
        STRETTO_ASSERT(marked_position != detail::unlisted, "this vertex is not in the order");
        return marked_position;
    }

    /// The seeds become pending. Returns the window that they span. Where vertices are numbered in order.
    template <class Seeds>
    order_window insert_seeds(Seeds& seeds, order_window window) {
        found_.clear();
        order_window span{order_->size(), 0};
        detail::for_each_member(seeds, *order_, [&](const vertex_type& v) {
            const std::size_t p = index_of(v);
            if (p < window.first || p >= window.last) return;
            pending_.insert(p);
            if (p < span.first) span.first = p;
            if (p >= span.last) span.last = p + 1;
        });
        return span;
    }

    /// The seeds and all that `next` leads to along edges that are kept. Where vertices are numbered otherwise.
    template <class Seeds, class Next, class Keep>
    std::span<const vertex_type> follow_queue(Seeds& seeds, order_window window, Next next, Keep keep) {
        const std::size_t end = window.last < order_->size() ? window.last : order_->size();
        const auto low = static_cast<std::uint32_t>(window.first < end ? window.first : end);
        const std::uint32_t width = static_cast<std::uint32_t>(end) - low;
        std::uint32_t* const position = position_.data();
        vertex_type* const found = found_.data();
        std::size_t size = 0;
        // Written behind the others in any case, it stays if it is new: a branch would be anyone's guess. What is
        // marked lies behind every window.
        const auto find = [&](const vertex_type& v, auto kept) {
            std::uint32_t& at = position[graph_.index(v)];
            const std::uint32_t p = listed(at);
            const std::size_t is_new = p - low < width && kept();
            at = p | static_cast<std::uint32_t>(is_new << 31);
            found[size] = v;
            size += is_new;
        };
        detail::for_each_member(seeds, *order_, [&](const vertex_type& v) { find(v, [] { return true; }); });
        std::size_t first = end;
        for (std::size_t k = 0; k < size; ++k) {
            const vertex_type v = found[k];
            const std::size_t p = position[graph_.index(v)] & ~found_before;
            pending_.insert(p);
            first = p < first ? p : first;
            for (vertex_type w : next(v)) find(w, [&] { return keep(v, w); });
        }
        std::size_t sorted = 0;
        pending_.take(first, size, [&](std::size_t p) {
            const vertex_type v = (*order_)[p];
            position[graph_.index(v)] = static_cast<std::uint32_t>(p);
            found[sorted++] = v;
        });
        return {found, size};
    }

    G graph_;
    const topological_order<vertex_type>* order_;
    bool numbered_in_order_;               // index(v) is the position of v, throughout
    std::vector<std::uint32_t> position_;  // else: by index; marked while a query is under way
    detail::position_set<> pending_;       // empty between queries
    std::vector<vertex_type> found_;       // with a queue: room for one more than there are
};

/// All that `seeds` depend on, themselves included. For one query; several are cheaper through a cone_finder, which
/// also lists the vertices in order. O(V + edges into the cone) time; the finder's memory is scratch.
template <dependence_graph G, class Seeds = std::initializer_list<vertex_t<G>>>
    requires vertex_collection<Seeds, vertex_t<G>>
[[nodiscard]] vertex_set<G> down_set(G g, const topological_order<vertex_t<G>>& order, Seeds&& seeds) {
    cone_finder<G> finder(g, order);
    vertex_set<G> cone(g);
    for (const vertex_t<G>& v : finder.down_set(seeds)) cone.insert(v);
    return cone;
}

/// All that depends on `seeds`, themselves included; otherwise as down_set.
template <dependence_graph G, class Seeds = std::initializer_list<vertex_t<G>>>
    requires vertex_collection<Seeds, vertex_t<G>>
[[nodiscard]] vertex_set<G> up_set(G g, const topological_order<vertex_t<G>>& order, Seeds&& seeds) {
    cone_finder<G> finder(g, order);
    vertex_set<G> cone(g);
    for (const vertex_t<G>& v : finder.up_set(seeds)) cone.insert(v);
    return cone;
}

}  // namespace stretto

#endif
