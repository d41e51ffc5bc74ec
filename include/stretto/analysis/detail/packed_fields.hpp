// Three numbers per vertex that grow along paths, packed into one word: eight bytes to write and to load, and one
// subtraction that compares all of them. The number of bytes decides how long an index takes to build, because its
// memory is new, and how long questions take in a graph that exceeds the caches.
#ifndef STRETTO_ANALYSIS_DETAIL_PACKED_FIELDS_HPP
#define STRETTO_ANALYSIS_DETAIL_PACKED_FIELDS_HPP

#include <cstdint>

#include "stretto/core/language.hpp"

namespace stretto::detail {

/// The layout, from the lowest bit on: the last post that reaches the vertex, counted from 1, 0 if none does; the rank
/// of the vertex; the first post that it reaches, `none` if it reaches none. Above each of the three is a spare bit
/// that is 0. spine_labels.hpp says what posts are.
template <unsigned PostBits, unsigned RankBits>
struct packed_fields {
    static constexpr unsigned rank_at = PostBits + 1, next_at = rank_at + RankBits + 1;
    static_assert(next_at + PostBits < 64 && RankBits < 31);

    static constexpr std::uint32_t none = (std::uint32_t{1} << PostBits) - 1;
    static constexpr std::uint32_t highest_rank = (std::uint32_t{1} << RankBits) - 1;
    static constexpr std::uint64_t rank_one = std::uint64_t{1} << rank_at;
    static constexpr std::uint64_t rank_mask = std::uint64_t{highest_rank} << rank_at;
    static constexpr std::uint64_t spare = std::uint64_t{1} << PostBits | std::uint64_t{1} << (rank_at + RankBits) |
                                           std::uint64_t{1} << (next_at + PostBits);

    [[nodiscard]] static constexpr std::uint64_t pack(std::uint32_t next, std::uint32_t rank, std::uint32_t last) {
        return std::uint64_t{next} << next_at | std::uint64_t{rank} << rank_at | last;
    }
    [[nodiscard]] static std::uint32_t next(std::uint64_t word) { return static_cast<std::uint32_t>(word >> next_at); }
    [[nodiscard]] static std::uint32_t rank(std::uint64_t word) {
        return static_cast<std::uint32_t>(word >> rank_at) & highest_rank;
    }
    [[nodiscard]] static std::uint32_t last(std::uint64_t word) { return static_cast<std::uint32_t>(word) & none; }

    /// The number that `contradict` adds to let fields be equal, except for ranks that must be strict.
    [[nodiscard]] static constexpr std::uint64_t allowance(bool strict_ranks) {
        return spare - pack(1, strict_ranks ? 0 : 1, 1);
    }
    /// Whether any field of `u` is above that of `v`, or, for strict ranks, equal to it. For a field where that is so,
    /// the sum reaches the spare bit. No sum goes beyond that bit and no difference below 0, so fields do not disturb
    /// each other.
    [[nodiscard]] static bool contradict(std::uint64_t u, std::uint64_t v, std::uint64_t allowance) {
        return ((u + allowance - v) & spare) != 0;
    }
};

}  // namespace stretto::detail

#endif
