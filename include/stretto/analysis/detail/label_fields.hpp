// Four numbers per vertex that grow along paths, and what two vertices' numbers say about each other. One load per
// vertex and few operations that wait for it: of a graph that no cache holds, a processor then has more questions in
// flight at the same time, and that is what a question costs there.
#ifndef STRETTO_ANALYSIS_DETAIL_LABEL_FIELDS_HPP
#define STRETTO_ANALYSIS_DETAIL_LABEL_FIELDS_HPP

#include <cstdint>

#include "stretto/analysis/detail/reach_verdict.hpp"

namespace stretto::detail {

/// All fields grow, or stay, along every edge; position and rank grow. All are below 2^31.
struct alignas(16) label_fields {
    std::uint32_t position;    ///< in the topological order that was given; `none` if the vertex is not in it
    std::uint32_t rank;        ///< in another topological order
    std::uint32_t next_spine;  ///< the first position on a spine, from 1, that the vertex reaches; `none` if none
    std::uint32_t last_spine;  ///< the last position on it that reaches the vertex; 0 if none

    static constexpr std::uint32_t none = INT32_MAX;
};

/// Why there is no path from `u` to `v`, another vertex, as bits, and whether a spine connects them.
struct label_contradictions {
    enum : unsigned {
        position = 1,     ///< that of `v` is not larger
        rank = 2,         ///< likewise
        next_spine = 4,   ///< that of `v` is smaller
        last_spine = 8,   ///< likewise
        unconnected = 16  ///< what `u` reaches of the spine lies behind all of it that reaches `v`
    };
};

/// One number after the other, as the language has it.
[[nodiscard]] inline unsigned contradictions_one_by_one(const label_fields& u, const label_fields& v) noexcept {
    using bits = label_contradictions;
    return (u.position < v.position ? 0u : bits::position) | (u.rank < v.rank ? 0u : bits::rank) |
           (u.next_spine <= v.next_spine ? 0u : bits::next_spine) |
           (u.last_spine <= v.last_spine ? 0u : bits::last_spine) |
           (u.next_spine <= v.last_spine ? 0u : bits::unconnected);
}

#if defined(__SSE2__) && !defined(__CUDACC__)
/// All four at once.
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
[[nodiscard]] inline unsigned contradictions(const label_fields& u, const label_fields& v) noexcept {
    return contradictions_one_by_one(u, v);
}
#endif

/// Both answers are proofs: labels grow along paths, and a spine is one. Precondition: two different vertices.
[[nodiscard]] inline reach_verdict compare(const label_fields& u, const label_fields& v) noexcept {
    const unsigned found = contradictions(u, v);
    if (found == label_contradictions::unconnected) return reach_verdict::unknown;
    return found < label_contradictions::unconnected ? reach_verdict::yes : reach_verdict::no;
}

}  // namespace stretto::detail

#endif
