// Maps the names of element types in captured files to element_type and back.
#ifndef STRETTO_CAPTURE_ELEMENT_NAMES_HPP
#define STRETTO_CAPTURE_ELEMENT_NAMES_HPP

#include <array>
#include <cstddef>
#include <string_view>

#include "stretto/core/element_type.hpp"

namespace stretto {

namespace detail {

/// Their spelling in files, in the order of the enumerators.
inline constexpr std::array<std::string_view, 12> element_names = {"f16", "bf16", "f32", "f64",  "i8",  "u8",
                                                                   "i16", "i32",  "i64", "bool", "c64", "c128"};

}  // namespace detail

/// Returns the element type with this name in stretto-graph; `other` for an unknown name.
[[nodiscard]] inline element_type element_type_of(std::string_view name) noexcept {
    std::size_t k = 0;
    while (k < detail::element_names.size() && detail::element_names[k] != name) ++k;
    return static_cast<element_type>(k);
}
/// Returns the name of an element type in stretto-graph; "other" for `other`.
[[nodiscard]] inline std::string_view name_of(element_type e) noexcept {
    const std::size_t k = static_cast<std::size_t>(e);
    return k < detail::element_names.size() ? detail::element_names[k] : "other";
}

}  // namespace stretto

#endif
