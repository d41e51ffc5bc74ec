// Cones: all vertices on which some vertices depend (their down-set) and all that depend on them (their up-set).
//
// There are two ways to collect a cone, and the numbering of the vertices decides which is faster. If every vertex is
// numbered by its position in the order, a set of positions is the work list. It is scanned in the direction of the
// search while neighbours are inserted ahead of the scan, so the vertices come out sorted and each once, their rows are
// read in memory order, and the set is empty afterwards.
//
// With any other numbering, rows are scattered in memory. A scan would wait for one cache miss after the other, because
// it knows its next vertex only after following the last edge. In this case the list of vertices found so far also
// serves as the queue: it names many vertices in advance, and the processor fetches their rows while it works on
// others. The set of positions is then used only to sort the answer.
#ifndef STRETTO_ANALYSIS_CONE_HPP
#define STRETTO_ANALYSIS_CONE_HPP

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "stretto/analysis/detail/order_positions.hpp"
#include "stretto/core/checked_index.hpp"
#include "stretto/core/config.hpp"
#include "stretto/core/vertex_set.hpp"
#include "stretto/views/filtered.hpp"

namespace stretto {

/// The vertices at positions first .. last-1 of an order; by default all of them.
struct order_window {
    std::size_t first = 0;
    std::size_t last = SIZE_MAX;
};

/// Answers cone queries on one graph. A query takes O(edges that lead to vertices of a down-set, or leave those of an
/// up-set, + positions that the cone spans / 64) time and allocates nothing unless its answer is larger than all
/// before. The finder holds 1 bit and a handle per vertex, and 4 bytes per index unless index(v) is the position of v
/// throughout. Two threads must not use one finder at the same time. The graph may change as long as the order remains
/// a topological order of it.
template <dependence_graph G>
class cone_finder {
public:
    using vertex_type = vertex_t<G>;

    /// `order` is a topological order of `g` and must outlive the finder; a temporary is rejected at compile time.
    /// Precondition: fewer than 2^31 vertices.
    cone_finder(G g, const topological_order<vertex_type>& order)
        : graph_(g), order_(&order), numbered_in_order_(is_numbered_in_order()), pending_(order.size()) {
        STRETTO_ASSERT(order.size() < found_before, "cones have 31-bit positions");
        if (numbered_in_order_) return;
        position_ = detail::positions_by_index(g, order);
        found_.resize(order.size() + 1);
    }
    cone_finder(G g, const topological_order<vertex_type>&& order) = delete;

    /// The down-set of `seeds`: all vertices on which they depend, the seeds included, in topological order. Only
    /// vertices inside `window` are visited: a path that leaves the window ends there, and seeds outside are ignored.
    /// Only edges (u, v) for which `keep_edge(u, v)` is true are followed. The span is valid until the next query.
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

    /// The up-set of `seeds`: all vertices that depend on them, the seeds included. Otherwise it is like down_set.
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

    /// The position of `v` in the order, for making windows. Precondition: `v` is in the order.
    [[nodiscard]] std::size_t position(vertex_type v) const {
        return numbered_in_order_
                   ? index_of(v)
                   : listed(position_[detail::checked_index(graph_, v, position_.size())]) & ~found_before;
    }

private:
    static constexpr std::uint32_t found_before = std::uint32_t{1} << 31;  // marks vertices found by the running query

    [[nodiscard]] bool is_numbered_in_order() const {
        for (std::size_t p = 0; p < order_->size(); ++p)
            if (graph_.index((*order_)[p]) != p) return false;
        return true;
    }
    /// The position of `v` if vertices are numbered in order: its index, checked.
    [[nodiscard]] std::size_t index_of(const vertex_type& v) const {
        const std::size_t i = graph_.index(v);
        STRETTO_ASSERT(i < order_->size(), "this vertex is not in the order");
        return i;
    }
    /// Checks that an entry of `position_` is a position, with or without the mark.
    [[nodiscard]] static std::uint32_t listed(std::uint32_t marked_position) {
        STRETTO_ASSERT(marked_position != detail::unlisted, "this vertex is not in the order");
        return marked_position;
    }

    /// Makes the seeds inside `window` pending and returns the window that they span. Only for vertices numbered in
    /// order.
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

    /// Collects the seeds and all vertices to which `next` leads along edges that `keep` accepts. For any other
    /// numbering.
    template <class Seeds, class Next, class Keep>
    std::span<const vertex_type> follow_queue(Seeds& seeds, order_window window, Next next, Keep keep) {
        const std::size_t end = window.last < order_->size() ? window.last : order_->size();
        const auto low = static_cast<std::uint32_t>(window.first < end ? window.first : end);
        const std::uint32_t width = static_cast<std::uint32_t>(end) - low;
        std::uint32_t* const position = position_.data();
        vertex_type* const found = found_.data();
        std::size_t size = 0;
        // The vertex is always written behind the others and stays only if it is new, because a branch here would be
        // unpredictable. A marked position lies beyond every window, so one comparison tests for both.
        const auto find = [&](const vertex_type& v, auto kept) {
            std::uint32_t& at = position[detail::checked_index(graph_, v, position_.size())];
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
    bool numbered_in_order_;               // whether index(v) is the position of v throughout
    std::vector<std::uint32_t> position_;  // otherwise, by index; marked while a query runs
    detail::position_set<> pending_;       // empty between queries
    std::vector<vertex_type> found_;       // with a queue: one slot more than there are vertices
};

/// All vertices on which `seeds` depend, the seeds included, as a set. For several queries a cone_finder is cheaper; it
/// also lists the vertices in order. It takes O(V + edges into the cone) time; the memory of the finder is scratch.
template <dependence_graph G, class Seeds = std::initializer_list<vertex_t<G>>>
    requires vertex_collection<Seeds, vertex_t<G>>
[[nodiscard]] vertex_set<G> down_set(G g, const topological_order<vertex_t<G>>& order, Seeds&& seeds) {
    cone_finder<G> finder(g, order);
    vertex_set<G> cone(g);
    for (const vertex_t<G>& v : finder.down_set(seeds)) cone.insert(v);
    return cone;
}

/// All vertices that depend on `seeds`, the seeds included, as a set. Otherwise it is like down_set.
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
