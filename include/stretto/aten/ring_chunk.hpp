// Models the order in which a reduction adds the data of the ranks. On a ring the data is cut into one chunk per rank;
// the sum of a chunk begins at the rank after its owner and goes round until it reaches the owner. So the position of
// an element in the payload decides the order in which its parts are added, and the last bits of floats depend on that
// order: if the same gradient lies at another place in a bucket, its last bits differ. Several rings share the payload
// and alternate in direction, because NCCL's rings visit ranks in different orders where they cross nodes.
//
// This is only a model. NCCL also rounds chunks to the granularity of its protocols, moves long payloads in several
// passes, and derives the orders of its rings from the topology of the machine.
#ifndef STRETTO_ATEN_RING_CHUNK_HPP
#define STRETTO_ATEN_RING_CHUNK_HPP

#include <cstddef>
#include <cstdint>

#include "stretto/core/language.hpp"

namespace stretto::aten {

/// The chunk in which an element lies. All elements of a chunk are added in the same order.
struct ring_chunk {
    std::size_t ring = 0;   ///< rings of odd number go round the other way
    std::size_t owner = 0;  ///< the position in the group that adds its part last
    friend constexpr bool operator==(const ring_chunk&, const ring_chunk&) = default;
};

/// Returns the chunk in which element `at` of an all-reduce of `elements` elements is reduced. Each ring takes a
/// contiguous run of the elements: all runs have the same length, rounded up, until the elements are used up. In the
/// same way, each rank owns an equal part of a run. On one ring of n ranks, the element at byte offset o of a payload
/// of B bytes therefore belongs to chunk floor(o / (B / n)), apart from the rounding. O(1). Precondition: 0 <= at <
/// elements; ranks and rings are not 0.
[[nodiscard]] constexpr ring_chunk chunk_of_all_reduce(std::int64_t at, std::int64_t elements, std::size_t ranks,
                                                       std::size_t rings) noexcept {
    const auto parts = static_cast<std::int64_t>(rings), owners = static_cast<std::int64_t>(ranks);
    const std::int64_t run = (elements + parts - 1) / parts;
    const std::int64_t ring = at / run, first = ring * run;
    const std::int64_t length = elements - first < run ? elements - first : run;  // the last one may be shorter
    const std::int64_t chunk = (length + owners - 1) / owners;
    return {static_cast<std::size_t>(ring), static_cast<std::size_t>((at - first) / chunk)};
}

/// Returns the chunk in which element `at` of a reduce-scatter of `elements` input elements is reduced. Its owner is
/// the rank that receives it, and each ring takes a contiguous run of every share. On one ring the order therefore
/// depends on the owner alone; on several rings it also depends on the position in the share. O(1). Precondition: 0 <=
/// at < elements; ranks and rings are not 0; `ranks` divides `elements`.
[[nodiscard]] constexpr ring_chunk chunk_of_reduce_scatter(std::int64_t at, std::int64_t elements, std::size_t ranks,
                                                           std::size_t rings) noexcept {
    const auto parts = static_cast<std::int64_t>(rings);
    const std::int64_t share = elements / static_cast<std::int64_t>(ranks);
    const std::int64_t run = (share + parts - 1) / parts;
    return {static_cast<std::size_t>(at % share / run), static_cast<std::size_t>(at / share)};
}

/// Returns the position in the group of the rank whose part is added k-th, counting from 0. The owner's part is the
/// last. O(1). Precondition: k < ranks and c.owner < ranks.
[[nodiscard]] constexpr std::size_t position_in_sum(const ring_chunk& c, std::size_t k, std::size_t ranks) noexcept {
    return c.ring % 2 == 0 ? (c.owner + 1 + k) % ranks : (c.owner + 2 * ranks - 1 - k) % ranks;
}

}  // namespace stretto::aten

#endif
