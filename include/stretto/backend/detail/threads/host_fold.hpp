// Reductions among ranks on the host. The parts of the members are folded in the order of the group, so the result has
// the same bits in every run, whichever member computes it.
#ifndef STRETTO_BACKEND_DETAIL_THREADS_HOST_FOLD_HPP
#define STRETTO_BACKEND_DETAIL_THREADS_HOST_FOLD_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "stretto/core/collective_call.hpp"
#include "stretto/core/element_type.hpp"

namespace stretto::detail {

/// Returns whether fold_into supports the reduction. It supports integers and reals of 32 and 64 bits, except averages
/// of integers. All functions below require a supported one.
[[nodiscard]] constexpr bool can_fold(element_type element, reduction_kind reduction) noexcept {
    const bool real = element == element_type::f32 || element == element_type::f64;
    if (!real && element != element_type::i32 && element != element_type::i64) return false;
    if (reduction == reduction_kind::average) return real;
    return reduction != reduction_kind::none && reduction != reduction_kind::unknown;
}

/// Replaces each element at `into` by f(element at `into`, element at `from`). The two ranges are the same or disjoint.
/// `size` is in bytes, and a multiple of that of T. O(size).
template <class T, class F>
void fold_elements(std::byte* into, const std::byte* from, std::size_t size, F f) {
    for (std::size_t at = 0; at < size; at += sizeof(T)) {
        T a, b;  // addresses need not be aligned for T
        std::memcpy(&a, into + at, sizeof(T));
        std::memcpy(&b, from + at, sizeof(T));
        a = f(a, b);
        std::memcpy(into + at, &a, sizeof(T));
    }
}

/// The type in which a sum of T is formed. Integers wrap, as they do on devices; in C++ only unsigned integers do.
template <class T>
struct fold_number {
    using type = T;
};
template <>
struct fold_number<std::int32_t> {
    using type = std::uint32_t;
};
template <>
struct fold_number<std::int64_t> {
    using type = std::uint64_t;
};

/// Does what fold_into does, for one type of elements. If neither of two elements is less than the other, as with a
/// NaN, the one at `into` is kept as the maximum or minimum, so the order of members decides, as for all reductions.
template <class T>
void fold_as(reduction_kind reduction, std::byte* into, const std::byte* from, std::size_t size) {
    using number = typename fold_number<T>::type;
    switch (reduction) {
        case reduction_kind::max:
            return fold_elements<T>(into, from, size, [](T a, T b) { return a < b ? b : a; });
        case reduction_kind::min:
            return fold_elements<T>(into, from, size, [](T a, T b) { return b < a ? b : a; });
        case reduction_kind::product:
            return fold_elements<number>(into, from, size, [](number a, number b) { return a * b; });
        default:
            return fold_elements<number>(into, from, size, [](number a, number b) { return a + b; });
    }
}

/// Folds the elements in `size` bytes at `from` into those at `into`; for an average, it only forms the sums.
inline void fold_into(element_type element, reduction_kind reduction, std::byte* into, const std::byte* from,
                      std::size_t size) {
    if (element == element_type::f32) return fold_as<float>(reduction, into, from, size);
    if (element == element_type::f64) return fold_as<double>(reduction, into, from, size);
    if (element == element_type::i32) return fold_as<std::int32_t>(reduction, into, from, size);
    fold_as<std::int64_t>(reduction, into, from, size);
}

/// Turns the sums in `size` bytes, over `ranks` ranks, into averages.
inline void divide_sums(element_type element, std::byte* sums, std::size_t size, std::size_t ranks) {
    if (element == element_type::f32)
        fold_elements<float>(sums, sums, size, [&](float a, float) { return a / static_cast<float>(ranks); });
    else fold_elements<double>(sums, sums, size, [&](double a, double) { return a / static_cast<double>(ranks); });
}

/// Folds `size` bytes of each of `members` parts, the k-th of which is at `part(k)`, in the order of members, and
/// writes the result to `to`. A part may be at `to`, because each block of the result is computed in a buffer. O(size *
/// members).
template <class Part>
void fold_in_order(element_type element, reduction_kind reduction, std::byte* to, std::size_t size, std::size_t members,
                   Part part) {
    // The block is small enough to stay in the first-level cache while the parts of all members are folded into it.
    alignas(64) std::byte block[4096];
    for (std::size_t at = 0; at < size;) {
        const std::size_t length = std::min(size - at, sizeof(block));
        std::memcpy(block, part(std::size_t{0}) + at, length);
        for (std::size_t k = 1; k < members; ++k) fold_into(element, reduction, block, part(k) + at, length);
        if (reduction == reduction_kind::average) divide_sums(element, block, length, members);
        std::memcpy(to + at, block, length);
        at += length;
    }
}

}  // namespace stretto::detail

#endif
