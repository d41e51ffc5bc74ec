// views::from_values: the adjacency of a view that knows its values. An operation depends on the producers of its
// operands, and the consumers of its results depend on it, so a view with values need not list its edges separately.
#ifndef STRETTO_VIEWS_FROM_VALUES_HPP
#define STRETTO_VIEWS_FROM_VALUES_HPP

#include <optional>
#include <type_traits>
#include <utility>

#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/views/adaptor.hpp"

namespace stretto {
namespace detail {

template <class G>
using operands_range_t = decltype(std::declval<const G&>().operands(std::declval<vertex_t<G>>()));
template <class G>
using results_range_t = decltype(std::declval<const G&>().results(std::declval<vertex_t<G>>()));
template <class G>
using consumers_range_t = decltype(std::declval<const G&>().consumers(std::declval<value_t<G>>()));

/// The producers of operands, one for each. The iterator points into the range object.
template <class G>
class producers_range {
    using R = operands_range_t<G>;

public:
    class iterator {
    public:
        constexpr explicit iterator(producers_range& range)
            : at_(begin_of(range.operands_.get())), end_(end_of(range.operands_.get())), graph_(&range.graph_) {}
        constexpr vertex_t<G> operator*() { return graph_->producer(value_t<G>(*at_)); }
        constexpr iterator& operator++() {
            ++at_;
            return *this;
        }
        constexpr bool operator!=(end_marker) { return at_ != end_; }

    private:
        begin_t<R> at_;
        end_t<R> end_;
        const G* graph_;
    };

    constexpr producers_range(const G& g, vertex_t<G> v) : graph_(g), operands_(g.operands(v)) {}
    constexpr iterator begin() { return iterator(*this); }
    constexpr end_marker end() const noexcept { return {}; }

private:
    G graph_;
    kept_range<R> operands_;
};

/// The consumers of one result after the other, once per use. It is a single-pass range, which stores its position.
template <class G>
class readers_range {
    using R = results_range_t<G>;
    using C = consumers_range_t<G>;

    /// The consumers of one result.
    struct inner {
        kept_range<C> consumers;
        begin_t<C> at;
        end_t<C> end;
        constexpr inner(const G& g, value_t<G> x)
            : consumers(g.consumers(x)), at(begin_of(consumers.get())), end(end_of(consumers.get())) {}
    };
    /// The current result.
    struct outer {
        begin_t<R> at;
        end_t<R> end;
        constexpr explicit outer(std::remove_reference_t<R>& results) : at(begin_of(results)), end(end_of(results)) {}
    };

public:
    class iterator {
    public:
        constexpr explicit iterator(readers_range& range) : range_(&range) {}
        constexpr vertex_t<G> operator*() { return *range_->inner_->at; }
        constexpr iterator& operator++() {
            ++range_->inner_->at;
            range_->settle();
            return *this;
        }
        constexpr bool operator!=(end_marker) { return range_->inner_.has_value(); }

    private:
        readers_range* range_;
    };

    constexpr readers_range(const G& g, vertex_t<G> v) : graph_(g), results_(g.results(v)) {}
    constexpr iterator begin() {
        outer_.emplace(results_.get());
        if (outer_->at != outer_->end) inner_.emplace(graph_, value_t<G>(*outer_->at));
        settle();
        return iterator(*this);
    }
    constexpr end_marker end() const noexcept { return {}; }

private:
    /// Advances to the next result that has a consumer left, if there is one.
    constexpr void settle() {
        while (inner_.has_value() && !(inner_->at != inner_->end)) {
            inner_.reset();
            ++outer_->at;
            if (outer_->at != outer_->end) inner_.emplace(graph_, value_t<G>(*outer_->at));
        }
    }

    G graph_;
    kept_range<R> results_;
    std::optional<outer> outer_;  // set by begin()
    std::optional<inner> inner_;
};

}  // namespace detail

/// A dataflow graph with the edges that its values imply; everything else is that of the base.
template <dataflow_graph G>
class from_values_view : public detail::everything_of_base<G> {
public:
    using typename detail::everything_of_base<G>::vertex_type;
    using detail::everything_of_base<G>::base;
    using detail::everything_of_base<G>::everything_of_base;

    constexpr detail::readers_range<G> successors(vertex_type v) const { return {base(), v}; }
    constexpr detail::producers_range<G> predecessors(vertex_type v) const { return {base(), v}; }
};

namespace views {

/// `g` with `successors` and `predecessors` derived from its values: there is one edge for every operand, so parallel
/// edges occur as often as a value is read; edges that `g` itself declares are not included. Nothing is stored.
/// `predecessors(v)` costs one call of `operands(v)` and one of `producer` for each operand; `successors(v)` costs one
/// call of `results(v)` and one of `consumers` for each result. views::with_dependences adds dependences that are not
/// data, and the op model's `effects` adds those of in-place writes.
template <dataflow_graph G>
[[nodiscard]] constexpr from_values_view<G> from_values(G g) {
    return from_values_view<G>(g);
}

}  // namespace views
}  // namespace stretto

#endif
