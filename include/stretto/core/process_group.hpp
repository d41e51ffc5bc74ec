// A process group as a value: the ranks that communicate, in their order. Cost models, op models, captured files, the
// interpreter and the deadlock analysis all describe groups by this type.
#ifndef STRETTO_CORE_PROCESS_GROUP_HPP
#define STRETTO_CORE_PROCESS_GROUP_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "stretto/core/language.hpp"

namespace stretto {

/// The position of a process group in the caller's list of groups. Two groups with the same ranks are distinct: each
/// has its own communicator and channel.
using group_id = std::uint32_t;
/// Stands for "no group".
inline constexpr group_id no_group = UINT32_MAX;

/// The number of a process among all processes of the run.
using rank_id = std::uint32_t;

/// A process group. It refers to its ranks and does not own them; `process_groups` owns them (core/process_groups.hpp).
struct process_group {
    std::int64_t size = 1;            ///< the number of ranks, 1 or more
    std::int64_t ranks_per_node = 8;  ///< the number of its ranks on one node, 1 or more; the last node may have fewer
    group_id id = 0;                  ///< its position in the list of groups
    /// Its ranks in their order in the group, each once; empty if only their number is known.
    std::span<const rank_id> ranks = {};
    std::int32_t priority = 0;         ///< of its communicator; if two compete, the larger one goes first
    group_id duplicate_of = no_group;  ///< the group of which this is another communicator, or no_group

    /// The number of nodes that its ranks occupy.
    [[nodiscard]] constexpr std::int64_t nodes() const noexcept { return (size + ranks_per_node - 1) / ranks_per_node; }
    /// Whether the ranks are known, and not only their number.
    [[nodiscard]] constexpr bool knows_ranks() const noexcept { return !ranks.empty(); }
    /// The position of a rank in the group; `ranks.size()` if it is not a member. O(size).
    [[nodiscard]] constexpr std::size_t place_of(rank_id rank) const noexcept {
        std::size_t k = 0;
        while (k < ranks.size() && ranks[k] != rank) ++k;
        return k;
    }

    /// Groups are equal if every member is; ranks are compared one by one.
    friend constexpr bool operator==(const process_group& a, const process_group& b) noexcept {
        if (a.size != b.size || a.ranks_per_node != b.ranks_per_node || a.id != b.id || a.priority != b.priority ||
            a.duplicate_of != b.duplicate_of || a.ranks.size() != b.ranks.size())
            return false;
        for (std::size_t k = 0; k < a.ranks.size(); ++k)
            if (a.ranks[k] != b.ranks[k]) return false;
        return true;
    }
};

/// What is known about the ranks of two groups.
enum class rank_agreement : std::uint8_t {
    same,       ///< both know their ranks, and these are the same in the same order
    different,  ///< they differ in the number, the choice or the order of their ranks
    unknown,    ///< they have equally many ranks, but at least one does not list them
};

/// Compares the ranks of two groups, and nothing else about them. O(size).
[[nodiscard]] constexpr rank_agreement compare_ranks(const process_group& a, const process_group& b) noexcept {
    if (a.size != b.size) return rank_agreement::different;
    if (!a.knows_ranks() || !b.knows_ranks()) return rank_agreement::unknown;
    if (a.ranks.size() != b.ranks.size()) return rank_agreement::different;
    for (std::size_t k = 0; k < a.ranks.size(); ++k)
        if (a.ranks[k] != b.ranks[k]) return rank_agreement::different;
    return rank_agreement::same;
}

/// The caller's list of groups: `group_count()`, and `group_at(id)` for every id below it, which returns the group with
/// that `id`. The ranks to which a group refers live as long as the model and are the same at every call. The op model
/// of a program that has a list of groups may also be its group model.
template <class M>
concept group_model = requires(const M& m, const group_id id) {
    { m.group_count() } -> std::convertible_to<std::size_t>;
    { m.group_at(id) } -> std::convertible_to<process_group>;
};

}  // namespace stretto

#endif
