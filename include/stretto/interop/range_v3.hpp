// Makes our ranges usable in range-v3 pipelines. Most of them can be piped as they are: rows of a snapshot and of a
// capture are std::span, and orders and lists are named vectors. This header adds two things. The vertices of a
// snapshot or of a Boost graph, and their neighbours, may be piped without a name; and as_range turns anything that
// works in a range-for into a range.
//
//     const std::size_t leaves = ranges::distance(
//         copy.view().vertices() | ranges::views::filter([&](auto v) { return copy.view().successors(v).empty(); }));
//
// Do not use it in .cu files, because nvcc 13.0 cannot compile range-v3.
#ifndef STRETTO_INTEROP_RANGE_V3_HPP
#define STRETTO_INTEROP_RANGE_V3_HPP

#include <range/v3/range/concepts.hpp>
#include <range/v3/view/facade.hpp>

#include <concepts>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "stretto/core/iterable.hpp"
#include "stretto/views/adaptor.hpp"
#include "stretto/views/snapshot.hpp"

namespace stretto {
namespace detail {

// These are defined in boost_view.hpp. Their iterators, too, refer to the graph and not to the range.
template <class Iterator>
struct boost_range;
template <class Graph, bool forward>
struct boost_neighbours;

/// An input view over `R`. It keeps the range if that was returned by value, and otherwise refers to it.
template <class R>
class weak_range : public ranges::view_facade<weak_range<R>, ranges::unknown> {
    friend ranges::range_access;
    using range = std::remove_reference_t<R>;
    // The range is shared, because a view must be copied in constant time and iterators may point into the range.
    using holder = std::conditional_t<std::is_reference_v<R>, range*, std::shared_ptr<range>>;
    using element = decltype(*std::declval<begin_t<R>&>());

    class cursor {
    public:
        using value_type = std::remove_cvref_t<element>;
        using single_pass = std::true_type;

        cursor() = default;
        explicit cursor(range& r) : at_(begin_of(r)), end_(end_of(r)) {}
        element read() const { return **at_; }
        void next() { ++*at_; }
        bool equal(ranges::default_sentinel_t) const { return !(*at_ != *end_); }

    private:
        // These are optional because iterators need not be default constructible, and mutable because some can only be
        // read by members that are not const.
        mutable std::optional<begin_t<R>> at_;
        mutable std::optional<end_t<R>> end_;
    };

    cursor begin_cursor() const { return cursor(*range_); }

    holder range_{};

public:
    weak_range() = default;
    explicit weak_range(holder r) : range_(std::move(r)) {}
};

}  // namespace detail

/// Returns the range that a view returned, as an input view of range-v3: `as_range(g.successors(v)) |
/// ranges::views::filter(...)`. It is needed for ranges that merely work in a range-for, and for containers that are
/// returned by value, which it keeps alive (one allocation). A range that is passed by reference must outlive the
/// result. Iterators must be copyable.
template <class R>
    requires std::copyable<detail::begin_t<R>> && std::copyable<detail::end_t<R>>
[[nodiscard]] detail::weak_range<R> as_range(R&& r) {
    if constexpr (std::is_reference_v<R>) return detail::weak_range<R>(std::addressof(r));
    else return detail::weak_range<R>(std::make_shared<R>(std::move(r)));
}

}  // namespace stretto

namespace ranges {

// Iterators of these ranges refer to the graph, or are numbers, so they may outlive the range.
template <>
inline constexpr bool enable_borrowed_range<stretto::id_range> = true;
template <class Iterator>
inline constexpr bool enable_borrowed_range<stretto::detail::boost_range<Iterator>> = true;
template <class Graph, bool forward>
inline constexpr bool enable_borrowed_range<stretto::detail::boost_neighbours<Graph, forward>> = true;

}  // namespace ranges

#endif
