// Whether what a function returns can be read after the call, when the returned object itself is gone. Models give
// texts and lists as std::string_view and std::span, into memory of the program. A std::string or a std::vector made on
// the spot converts to these just as well, and what is then read is memory that has been given back.
#ifndef STRETTO_CORE_OUTLIVES_CALL_HPP
#define STRETTO_CORE_OUTLIVES_CALL_HPP

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include "stretto/core/iterable.hpp"
#include "stretto/core/language.hpp"

namespace stretto {
namespace detail {

/// A range with elements of its own: neither a view by its own word (std::string_view, std::span), nor a small handle
/// that is copied bit by bit, such as a pointer with a length. An array is copied so too, elements and all.
template <class R>
concept owning_range =
    requires(R& range) {
        begin_of(range);
        end_of(range);
    } && !std::ranges::enable_borrowed_range<R> &&
    (!std::is_trivially_copyable_v<R> || requires { std::tuple_size<R>::value; });

}  // namespace detail

/// `R`, the type of a call, converts to the view `V`, and what is then seen does not die with the result of the call:
/// `R` is a reference, a view or a pointer, or a class that merely converts to `V` and is no range. A class that owns
/// its elements and hides that from every trait cannot be told apart.
template <class R, class V>
concept outlives_call =
    std::convertible_to<R, V> && (std::is_lvalue_reference_v<R> || !detail::owning_range<std::remove_cvref_t<R>>);

}  // namespace stretto

#endif
