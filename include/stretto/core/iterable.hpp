// `iterable_of<R, T>` states the only requirement on a range: it must work in a range-for. The concept is weaker than
// std::ranges::input_range on purpose. The iterators of existing compilers often lack typedefs or post-increment, and
// <iterator> and <ranges> would cost every user 100-300 ms per translation unit.
#ifndef STRETTO_CORE_ITERABLE_HPP
#define STRETTO_CORE_ITERABLE_HPP

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "stretto/core/language.hpp"

namespace stretto {
namespace detail {

/// The begin and the end that a range-for would use, for arrays and for ranges with member functions.
template <class T, std::size_t N>
constexpr T* begin_of(T (&a)[N]) noexcept {
    return a;
}
template <class T, std::size_t N>
constexpr T* end_of(T (&a)[N]) noexcept {
    return a + N;
}
template <class R>
constexpr auto begin_of(R& r) -> decltype(r.begin()) {
    return r.begin();
}
template <class R>
constexpr auto end_of(R& r) -> decltype(r.end()) {
    return r.end();
}

}  // namespace detail

/// A range, returned by reference or by value, whose elements convert to `T` in `for (T x : range)`.
template <class R, class T>
concept iterable_of = requires(std::remove_reference_t<R>& range) {
    { *detail::begin_of(range) } -> std::convertible_to<T>;
    { detail::begin_of(range) != detail::end_of(range) } -> std::convertible_to<bool>;
};

}  // namespace stretto

#endif
