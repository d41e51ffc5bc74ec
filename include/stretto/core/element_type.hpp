// The element types of tensors that the library distinguishes.
#ifndef STRETTO_CORE_ELEMENT_TYPE_HPP
#define STRETTO_CORE_ELEMENT_TYPE_HPP

#include <cstdint>

#include "stretto/core/language.hpp"

namespace stretto {

/// The type of the elements of a tensor.
enum class element_type : std::uint8_t {
    f16,
    bf16,
    f32,
    f64,
    i8,
    u8,
    i16,
    i32,
    i64,
    boolean,
    c64,   ///< complex of two f32
    c128,  ///< complex of two f64
    other
};

/// The size of one element in bytes; 0 for `other`.
[[nodiscard]] constexpr std::int64_t size_of(element_type e) noexcept {
    switch (e) {
        case element_type::i8:
        case element_type::u8:
        case element_type::boolean:
            return 1;
        case element_type::f16:
        case element_type::bf16:
        case element_type::i16:
            return 2;
        case element_type::f32:
        case element_type::i32:
            return 4;
        case element_type::f64:
        case element_type::i64:
        case element_type::c64:
            return 8;
        case element_type::c128:
            return 16;
        case element_type::other:
            break;
    }
    return 0;
}

/// Whether `to` is a wider type of the same class as `from`: both are floating-point types or both are signed integers,
/// and every number of type `from` has the same value in type `to`.
[[nodiscard]] constexpr bool widens(element_type from, element_type to) noexcept {
    constexpr auto is_float = [](element_type e) { return e <= element_type::f64; };
    constexpr auto is_signed = [](element_type e) {
        return e == element_type::i8 || e == element_type::i16 || e == element_type::i32 || e == element_type::i64;
    };
    return ((is_float(from) && is_float(to)) || (is_signed(from) && is_signed(to))) && size_of(from) < size_of(to);
}

}  // namespace stretto

#endif
