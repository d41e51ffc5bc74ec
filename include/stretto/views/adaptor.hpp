// Code that the views share: members that forward to the base where a view changes nothing, and storage for the range
// that a member of the base returned, by reference or by value. A member is forwarded only if the base has it, so every
// view models the strongest concept that its base allows.
#ifndef STRETTO_VIEWS_ADAPTOR_HPP
#define STRETTO_VIEWS_ADAPTOR_HPP

#include <cstddef>
#include <type_traits>
#include <utility>

#include "stretto/core/concepts.hpp"
#include "stretto/core/dataflow_concepts.hpp"

namespace stretto::detail {

/// The vertex type and the numbers of the base, for a view that keeps both.
template <graph_view G>
class numbers_of_base {
public:
    using vertex_type = vertex_t<G>;

    constexpr explicit numbers_of_base(G g) : base_(g) {}
    [[nodiscard]] constexpr const G& base() const noexcept { return base_; }

    constexpr std::size_t index(vertex_type v) const
        requires indexed_graph<G>
    {
        return base_.index(v);
    }
    constexpr std::size_t index_bound() const
        requires indexed_graph<G>
    {
        return base_.index_bound();
    }
    constexpr std::size_t epoch() const
        requires epoch_graph<G>
    {
        return base_.epoch();
    }

private:
    G base_;
};

/// Names the value type of the base if it has values; a separate base class, because a member type cannot be
/// constrained.
template <class G>
struct value_type_of_base {};

/// The type is forwarded even if the base is not a dataflow_graph: an error then names the member that its author has
/// forgotten, and not the type.
template <class G>
    requires requires { typename G::value_type; }
struct value_type_of_base<G> {
    using value_type = typename G::value_type;
};

/// Forwards all members of the base; a view hides those that it changes. The return types are decltype(auto) and
/// guarded by concepts, because a class template cannot spell the return type of a member that the base does not have.
template <graph_view G>
class everything_of_base : public numbers_of_base<G>, public value_type_of_base<G> {
public:
    using typename numbers_of_base<G>::vertex_type;
    using numbers_of_base<G>::numbers_of_base;
    using numbers_of_base<G>::base;

    constexpr decltype(auto) vertices() const
        requires vertex_list_graph<G>
    {
        return base().vertices();
    }
    constexpr decltype(auto) successors(vertex_type v) const
        requires adjacency_graph<G>
    {
        return base().successors(v);
    }
    constexpr decltype(auto) predecessors(vertex_type v) const
        requires bidirectional_adjacency_graph<G>
    {
        return base().predecessors(v);
    }
    // These are guarded one by one, so that an error names the member that the base lacks.
    constexpr decltype(auto) operands(vertex_type v) const
        requires requires(const G& g) { g.operands(v); }
    {
        return base().operands(v);
    }
    constexpr decltype(auto) results(vertex_type v) const
        requires requires(const G& g) { g.results(v); }
    {
        return base().results(v);
    }
    template <class X>
        requires std::convertible_to<X, typename G::value_type> && requires(const G& g, X x) { g.producer(x); }
    constexpr vertex_type producer(X x) const {
        return base().producer(x);
    }
    template <class X>
        requires std::convertible_to<X, typename G::value_type> && requires(const G& g, X x) { g.consumers(x); }
    constexpr decltype(auto) consumers(X x) const {
        return base().consumers(x);
    }
};

/// Keeps the range that a member has returned: a pointer to it if `R` is a reference, otherwise the object.
template <class R>
class kept_range {
public:
    constexpr explicit kept_range(R&& range) : range_(std::move(range)) {}
    constexpr R& get() noexcept { return range_; }

private:
    R range_;
};

template <class R>
class kept_range<R&> {
public:
    constexpr explicit kept_range(R& range) noexcept : range_(&range) {}
    constexpr R& get() noexcept { return *range_; }

private:
    R* range_;
};

/// The types of the iterator and of the end of a range of type `R`.
template <class R>
using begin_t = decltype(begin_of(std::declval<std::remove_reference_t<R>&>()));
template <class R>
using end_t = decltype(end_of(std::declval<std::remove_reference_t<R>&>()));

/// The end of a range whose iterator detects the end itself.
struct end_marker {};

/// The return types of a view's members, reference or object.
template <class G>
using vertices_range_t = decltype(std::declval<const G&>().vertices());
template <class G>
using successors_range_t = decltype(std::declval<const G&>().successors(std::declval<vertex_t<G>>()));
template <class G>
using predecessors_range_t = decltype(std::declval<const G&>().predecessors(std::declval<vertex_t<G>>()));

}  // namespace stretto::detail

#endif
