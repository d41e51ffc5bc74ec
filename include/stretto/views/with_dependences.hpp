// views::with_dependences: adds control and effect edges to a graph without touching the IR. The edges are stored in a
// dependence_table, and the view only refers to it.
#ifndef STRETTO_VIEWS_WITH_DEPENDENCES_HPP
#define STRETTO_VIEWS_WITH_DEPENDENCES_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "stretto/core/config.hpp"
#include "stretto/views/adaptor.hpp"

namespace stretto {

/// Extra edges of a graph. Adding one takes O(1); the edges of a vertex are listed in the order in which they were
/// added. The table takes 16 bytes per index, and 8 bytes and two handles per edge. A vertex that is added to the graph
/// later has no extra edges. If vertices get other numbers, rebuild the table.
template <indexed_graph G>
class dependence_table {
public:
    using vertex_type = vertex_t<G>;

    explicit dependence_table(G g)
        : graph_(g), out_(g.index_bound(), list{none, none}), in_(g.index_bound(), list{none, none}) {}

    /// Makes `after` depend on `before`. An edge that is added twice exists twice.
    void add(vertex_type before, vertex_type after) {
        STRETTO_ASSERT(graph_.index(before) < out_.size() && graph_.index(after) < out_.size(),
                       "vertex index is not below the index_bound() this table was made with");
        const std::uint32_t e = static_cast<std::uint32_t>(edges_.size());
        edges_.push_back({before, after, none, none});
        append(out_[graph_.index(before)], e, &edge::next_out);
        append(in_[graph_.index(after)], e, &edge::next_in);
    }
    [[nodiscard]] std::size_t size() const noexcept { return edges_.size(); }

    /// Walks over the extra edges of a vertex: those that leave it if `forward`, otherwise those that enter it.
    class cursor {
    public:
        cursor(const dependence_table& table, vertex_type v, bool forward) : table_(&table), forward_(forward) {
            const std::size_t i = table.graph_.index(v);
            const std::vector<list>& lists = forward ? table.out_ : table.in_;
            edge_ = i < lists.size() ? lists[i].first : none;
            STRETTO_ASSERT(edge_ == none || (forward ? table.edges_[edge_].before : table.edges_[edge_].after) == v,
                           "vertices have other numbers than when this table was made");
        }
        [[nodiscard]] bool done() const { return edge_ == none; }
        [[nodiscard]] vertex_type neighbour() const {
            return forward_ ? table_->edges_[edge_].after : table_->edges_[edge_].before;
        }
        void advance() { edge_ = forward_ ? table_->edges_[edge_].next_out : table_->edges_[edge_].next_in; }

    private:
        const dependence_table* table_;
        std::uint32_t edge_;
        bool forward_;
    };

private:
    static constexpr std::uint32_t none = UINT32_MAX;
    struct edge {
        vertex_type before, after;
        std::uint32_t next_out, next_in;
    };
    struct list {
        std::uint32_t first, last;
    };
    void append(list& l, std::uint32_t e, std::uint32_t edge::* next) {
        if (l.last == none) l.first = e;
        else edges_[l.last].*next = e;
        l.last = e;
    }

    G graph_;
    std::vector<edge> edges_;
    std::vector<list> out_, in_;  // by index
};

namespace detail {

/// The neighbours that the base lists, followed by the extra ones.
template <class V, class R, class Cursor>
class extended_range {
public:
    class iterator {
    public:
        iterator(std::remove_reference_t<R>& range, Cursor extra)
            : at_(begin_of(range)), end_(end_of(range)), extra_(extra) {}
        V operator*() {
            if (at_ != end_) return *at_;
            return extra_.neighbour();
        }
        iterator& operator++() {
            if (at_ != end_) ++at_;
            else extra_.advance();
            return *this;
        }
        bool operator!=(end_marker) { return at_ != end_ || !extra_.done(); }

    private:
        begin_t<R> at_;
        end_t<R> end_;
        Cursor extra_;
    };

    extended_range(R&& range, Cursor extra) : range_(std::forward<R>(range)), extra_(extra) {}
    iterator begin() { return iterator(range_.get(), extra_); }
    end_marker end() const noexcept { return {}; }

private:
    kept_range<R> range_;
    Cursor extra_;
};

}  // namespace detail

/// The base graph unchanged, values included, with more edges.
template <bidirectional_adjacency_graph G, indexed_graph T = G>
    requires std::same_as<vertex_t<G>, vertex_t<T>>
class extended_view : public detail::everything_of_base<G> {
    using cursor = typename dependence_table<T>::cursor;

public:
    using typename detail::everything_of_base<G>::vertex_type;
    using detail::everything_of_base<G>::base;

    extended_view(G g, const dependence_table<T>& extra) : detail::everything_of_base<G>(g), extra_(&extra) {}

    detail::extended_range<vertex_type, detail::successors_range_t<G>, cursor> successors(vertex_type v) const {
        return {base().successors(v), cursor(*extra_, v, true)};
    }
    detail::extended_range<vertex_type, detail::predecessors_range_t<G>, cursor> predecessors(vertex_type v) const {
        return {base().predecessors(v), cursor(*extra_, v, false)};
    }

private:
    const dependence_table<T>* extra_;
};

namespace views {

/// `g` with the edges of `extra`. The view refers to `extra`, which must outlive it; a temporary is rejected at compile
/// time. Edges may be added to the table while the view exists, but not during a traversal.
template <bidirectional_adjacency_graph G, indexed_graph T>
[[nodiscard]] extended_view<G, T> with_dependences(G g, const dependence_table<T>& extra) {
    return {g, extra};
}
template <bidirectional_adjacency_graph G, indexed_graph T>
void with_dependences(G g, const dependence_table<T>&& extra) = delete;

}  // namespace views
}  // namespace stretto

#endif
