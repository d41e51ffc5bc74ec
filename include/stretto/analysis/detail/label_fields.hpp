// Four numbers per vertex that grow along paths, and the conclusions from comparing those of two vertices. A comparison
// takes one load per vertex and few dependent operations. In a graph that exceeds the caches, a query costs little more
// than its loads, and the processor can execute several queries at the same time.
#ifndef STRETTO_ANALYSIS_DETAIL_LABEL_FIELDS_HPP
#define STRETTO_ANALYSIS_DETAIL_LABEL_FIELDS_HPP

#include <cstdint>

#include "stretto/analysis/detail/reach_verdict.hpp"

namespace stretto::detail {

/// The numbers of one vertex. Along every edge, position and rank grow, and the others grow or stay. All are below
/// 2^31, so they can be compared as signed integers.
struct alignas(16) label_fields {
    std::uint32_t position;    ///< position in the topological order that was given; `none` if the vertex is not in it
    std::uint32_t rank;        ///< position in another topological order
    std::uint32_t next_spine;  ///< the first position on a spine, counted from 1, that the vertex reaches; `none` if it
                               ///< reaches none
    std::uint32_t last_spine;  ///< the last position on that spine that reaches the vertex; 0 if none does

    static constexpr std::uint32_t none = INT32_MAX;
};

/// Why there is no path from `u` to another vertex `v`, as bits; and one bit that says whether a spine connects them.
struct label_contradictions {
    enum : unsigned {
        position = 1,     ///< the position of `v` is not larger
        rank = 2,         ///< the rank of `v` is not larger
        next_spine = 4,   ///< the first spine position of `v` is smaller
        last_spine = 8,   ///< the last spine position of `v` is smaller
        unconnected = 16  ///< everything on the spine that `u` reaches comes after everything that reaches `v`
    };
};

/// Compares the numbers one after the other. This is the meaning of `contradictions`, in plain C++.
[[nodiscard]] inline unsigned contradictions_one_by_one(const label_fields& u, const label_fields& v) noexcept {
    using bits = label_contradictions;
    return (u.position < v.position ? 0u : bits::position) | (u.rank < v.rank ? 0u : bits::rank) |
           (u.next_spine <= v.next_spine ? 0u : bits::next_spine) |
           (u.last_spine <= v.last_spine ? 0u : bits::last_spine) |
           (u.next_spine <= v.last_spine ? 0u : bits::unconnected);
}

#if defined(__SSE2__) && !defined(__CUDACC__)
/// Compares all four numbers at once, with the vector extensions of the compiler.
[[nodiscard]] inline unsigned contradictions(const label_fields& u, const label_fields& v) noexcept {
    using numbers [[gnu::vector_size(16)]] = std::int32_t;
    using mask [[gnu::vector_size(16)]] = float;
    numbers of_u, of_v;
    __builtin_memcpy(&of_u, &u, sizeof of_u);
    __builtin_memcpy(&of_v, &v, sizeof of_v);
    const numbers strict = {1, 1, 0, 0};
    const numbers next = __builtin_shufflevector(of_u, of_u, 2, 2, 2, 2);
    const auto larger = static_cast<unsigned>(__builtin_ia32_movmskps(reinterpret_cast<mask>(of_u > of_v - strict)));
    const auto behind = static_cast<unsigned>(__builtin_ia32_movmskps(reinterpret_cast<mask>(next > of_v)));
    return larger | (behind & 8u) << 1;
}
#else
/// Without vector instructions the numbers are compared one after the other.
[[nodiscard]] inline unsigned contradictions(const label_fields& u, const label_fields& v) noexcept {
    return contradictions_one_by_one(u, v);
}
#endif

/// What the labels say about a path from `u` to another vertex `v`. "Yes" and "no" are proofs, because labels grow
/// along paths and a spine is a path. Precondition: the vertices are different.
[[nodiscard]] inline reach_verdict compare(const label_fields& u, const label_fields& v) noexcept {
    const unsigned found = contradictions(u, v);
    if (found == label_contradictions::unconnected) return reach_verdict::unknown;
    return found < label_contradictions::unconnected ? reach_verdict::yes : reach_verdict::no;
}

}  // namespace stretto::detail

#endif
