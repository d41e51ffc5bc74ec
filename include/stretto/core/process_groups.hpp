// A list of process groups that owns their ranks, and the check that such a list is well formed.
#ifndef STRETTO_CORE_PROCESS_GROUPS_HPP
#define STRETTO_CORE_PROCESS_GROUPS_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "stretto/core/config.hpp"
#include "stretto/core/heap_sort.hpp"
#include "stretto/core/index_lists.hpp"
#include "stretto/core/process_group.hpp"

namespace stretto {

/// Groups by id, with their ranks. It is a group_model. A group returned by `group_at` refers to ranks in this object
/// and is valid until the next `add`.
class process_groups {
public:
    /// Appends a group like `g`, with a copy of its ranks, and returns its id; `g.id` is not read. Amortised O(size).
    group_id add(const process_group& g) {
        const auto id = static_cast<group_id>(groups_.size());
        const std::vector<rank_id> ranks(g.ranks.begin(), g.ranks.end());  // they may lie in this object
        groups_.push_back(g);
        groups_.back().id = id;
        groups_.back().ranks = {};
        ranks_.push_row(ranks);
        return id;
    }
    /// Appends another communicator for the ranks of group `original`, with the same order, the same nodes and the same
    /// priority.
    group_id duplicate(group_id original) {
        process_group g = group_at(original);
        g.duplicate_of = original;
        return add(g);
    }

    [[nodiscard]] std::size_t group_count() const noexcept { return groups_.size(); }
    /// The group with this id. O(1). Precondition: `id < group_count()`.
    [[nodiscard]] process_group group_at(group_id id) const {
        STRETTO_ASSERT(id < groups_.size(), "there is no process group of that number");
        process_group g = groups_[id];
        g.ranks = ranks_[id];
        return g;
    }

    friend bool operator==(const process_groups&, const process_groups&) = default;

private:
    std::vector<process_group> groups_;  // without ranks
    index_lists ranks_;                  // by group
};

/// Partitions `world` ranks into groups of `size` ranks each that are `stride` apart. With 8 ranks, (4, 1) is 0123 4567
/// and (4, 2) is 0246 1357. Precondition: size * stride is not 0 and divides `world`.
[[nodiscard]] inline process_groups strided_groups(std::size_t world, std::size_t size, std::size_t stride = 1) {
    const std::size_t block = size * stride;
    STRETTO_ASSERT(block != 0 && world % block == 0, "groups of so many ranks, so far apart, do not divide all ranks");
    process_groups made;
    std::vector<rank_id> ranks(size);
    for (std::size_t low = 0; block != 0 && low + block <= world; low += block)
        for (std::size_t first = low; first < low + stride; ++first) {
            for (std::size_t k = 0; k < size; ++k) ranks[k] = static_cast<rank_id>(first + k * stride);
            made.add({.size = static_cast<std::int64_t>(size), .ranks = ranks});
        }
    return made;
}

/// The first fault of a list of groups.
struct group_fault {
    enum class reason : std::uint8_t {
        other_id,                   ///< the id of `group_at(group)` is `other`
        no_rank,                    ///< `group` has fewer than one rank
        no_rank_on_node,            ///< `group` has fewer than one rank on a node
        rank_count,                 ///< `group` lists more or fewer ranks than its size
        rank_twice,                 ///< `group` lists `rank` twice
        unknown_original,           ///< `group` duplicates `other`, which does not come before it in the list
        other_ranks_than_original,  ///< `group` duplicates `other`, whose ranks differ in number, choice or order
    };
    reason why;
    group_id group = 0;
    group_id other = no_group;
    rank_id rank = 0;
};

/// Checks every group of a list, in order of ids: a group has the id under which it is found, its ranks are distinct,
/// their number equals its size, each node has at least one, and a duplicate comes after its original and agrees with
/// it. Returns nothing if there is no fault. O(all ranks * log of the largest group).
template <group_model M>
[[nodiscard]] std::optional<group_fault> first_fault(const M& groups) {
    using why = group_fault::reason;
    const auto count = static_cast<group_id>(static_cast<std::size_t>(groups.group_count()));
    std::vector<rank_id> sorted;
    for (group_id id = 0; id < count; ++id) {
        const process_group g = groups.group_at(id);
        if (g.id != id) return group_fault{why::other_id, id, g.id};
        if (g.size < 1) return group_fault{why::no_rank, id};
        if (g.ranks_per_node < 1) return group_fault{why::no_rank_on_node, id};
        if (g.knows_ranks()) {
            if (g.ranks.size() != static_cast<std::uint64_t>(g.size)) return group_fault{why::rank_count, id};
            sorted.assign(g.ranks.begin(), g.ranks.end());
            detail::heap_sort(sorted);
            for (std::size_t k = 1; k < sorted.size(); ++k)
                if (sorted[k - 1] == sorted[k]) return group_fault{why::rank_twice, id, no_group, sorted[k]};
        }
        if (g.duplicate_of == no_group) continue;
        if (g.duplicate_of >= id) return group_fault{why::unknown_original, id, g.duplicate_of};
        if (compare_ranks(g, groups.group_at(g.duplicate_of)) == rank_agreement::different)
            return group_fault{why::other_ranks_than_original, id, g.duplicate_of};
    }
    return {};
}

}  // namespace stretto

#endif
