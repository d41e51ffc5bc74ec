// Whether the result of a function can be read after the call, when the returned object itself is gone. Models return
// texts and lists as std::string_view and std::span over memory of the program. A temporary std::string or std::vector
// converts to these as well, but reading it later would read freed memory.
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

/// A range that owns its elements: neither a declared view (std::string_view, std::span), nor a small handle that is
/// trivially copyable, such as a pointer with a length. An array is trivially copyable too, but owns.
template <class R>
concept owning_range =
    requires(R& range) {
        begin_of(range);
        end_of(range);
    } && !std::ranges::enable_borrowed_range<R> &&
    (!std::is_trivially_copyable_v<R> || requires { std::tuple_size<R>::value; });

}  // namespace detail

/// `R`, the type of a call, converts to the view `V`, and the viewed data does not die with the result of the call: `R`
/// is a reference, a view or a pointer, or a class that merely converts to `V` and is not a range. A class that owns
/// its elements and hides that from every trait is not detected.
template <class R, class V>
concept outlives_call =
    std::convertible_to<R, V> && (std::is_lvalue_reference_v<R> || !detail::owning_range<std::remove_cvref_t<R>>);

}  // namespace stretto

#endif
