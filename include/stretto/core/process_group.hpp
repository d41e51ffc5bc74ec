// A process group as a value: the ranks that communicate, in their order. Cost models, op models, captured files, the
// interpreter and whatever reasons about deadlocks speak of groups through this one type.
#ifndef STRETTO_CORE_PROCESS_GROUP_HPP
#define STRETTO_CORE_PROCESS_GROUP_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace stretto {

/// Position of a process group in the caller's list of groups. Two groups with the same ranks are two groups: each has
/// a communicator, and a channel, of its own.
using group_id = std::uint32_t;
inline constexpr group_id no_group = UINT32_MAX;

/// Number of a process among all that take part.
using rank_id = std::uint32_t;

/// A process group. It refers to its ranks and does not own them; `process_groups` does (core/process_groups.hpp).
struct process_group {
    std::int64_t size = 1;            ///< number of ranks, 1 or more
    std::int64_t ranks_per_node = 8;  ///< so many of its ranks share a node; the last node may hold fewer
    group_id id = 0;                  ///< its position in the list of groups
    /// Its ranks, in their order in the group, each once; empty where only their number is known.
    std::span<const rank_id> ranks = {};
    std::int32_t priority = 0;         ///< of its communicator: where two compete, the larger one goes first
    group_id duplicate_of = no_group;  ///< the group of which this is a further communicator, or no_group

    /// How many nodes its ranks lie on.
    [[nodiscard]] constexpr std::int64_t nodes() const noexcept { return (size + ranks_per_node - 1) / ranks_per_node; }
    [[nodiscard]] constexpr bool knows_ranks() const noexcept { return !ranks.empty(); }
    /// Where a rank stands in the group; `ranks.size()` if it is no member. O(size).
    [[nodiscard]] constexpr std::size_t place_of(rank_id rank) const noexcept {
        std::size_t k = 0;
        while (k < ranks.size() && ranks[k] != rank) ++k;
        return k;
    }

    /// Equal in every member, rank by rank.
    friend constexpr bool operator==(const process_group& a, const process_group& b) noexcept {
        if (a.size != b.size || a.ranks_per_node != b.ranks_per_node || a.id != b.id || a.priority != b.priority ||
            a.duplicate_of != b.duplicate_of || a.ranks.size() != b.ranks.size())
            return false;
        for (std::size_t k = 0; k < a.ranks.size(); ++k)
            if (a.ranks[k] != b.ranks[k]) return false;
        return true;
    }
};

/// What is known of the ranks of two groups.
enum class rank_agreement : std::uint8_t {
    same,       ///< both know their ranks, which are the same in the same order
    different,  ///< they have different numbers of ranks, or other ranks, or another order
    unknown,    ///< as many ranks, but one of them does not know which
};

/// Compares the ranks of two groups, and nothing else of them. O(size).
[[nodiscard]] constexpr rank_agreement compare_ranks(const process_group& a, const process_group& b) noexcept {
    if (a.size != b.size) return rank_agreement::different;
    if (!a.knows_ranks() || !b.knows_ranks()) return rank_agreement::unknown;
    if (a.ranks.size() != b.ranks.size()) return rank_agreement::different;
    for (std::size_t k = 0; k < a.ranks.size(); ++k)
        if (a.ranks[k] != b.ranks[k]) return rank_agreement::different;
    return rank_agreement::same;
}

/// The caller's list of groups: `group_count()`, and `group_at(id)` for every id below it, which gives the group whose
/// `id` that is. The ranks it refers to live as long as the model and are the same at every call. An op model of a
/// program that has a list of groups may be its group model as well.
template <class M>
concept group_model = requires(const M& m, const group_id id) {
    { m.group_count() } -> std::convertible_to<std::size_t>;
    { m.group_at(id) } -> std::convertible_to<process_group>;
};

}  // namespace stretto

#endif
