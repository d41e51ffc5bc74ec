// What captured files call the types of elements.
#ifndef STRETTO_CAPTURE_ELEMENT_NAMES_HPP
#define STRETTO_CAPTURE_ELEMENT_NAMES_HPP

#include <array>
#include <cstddef>
#include <string_view>

#include "stretto/core/element_type.hpp"

namespace stretto {

namespace detail {

/// As files spell them, in the order of the enumerators.
inline constexpr std::array<std::string_view, 12> element_names = {"f16", "bf16", "f32", "f64",  "i8",  "u8",
                                                                   "i16", "i32",  "i64", "bool", "c64", "c128"};

}  // namespace detail

/// The element type that stretto-graph calls so; `other` for a name it does not know.
[[nodiscard]] inline element_type element_type_of(std::string_view name) noexcept {
    std::size_t k = 0;
    while (k < detail::element_names.size() && detail::element_names[k] != name) ++k;
    return static_cast<element_type>(k);
}
/// What stretto-graph calls it.
[[nodiscard]] inline std::string_view name_of(element_type e) noexcept {
    const std::size_t k = static_cast<std::size_t>(e);
    return k < detail::element_names.size() ? detail::element_names[k] : "other";
}

}  // namespace stretto

#endif
