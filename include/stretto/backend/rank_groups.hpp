// Maps the groups of a program that all ranks share to groups of ranks. Where every rank runs the same program on its
// own data, "my replicas" is one group of the program, but a different group of ranks for each set of replicas. The
// program numbers the former; a backend, whose communicators have members, numbers the latter.
#ifndef STRETTO_BACKEND_RANK_GROUPS_HPP
#define STRETTO_BACKEND_RANK_GROUPS_HPP

#include <cstddef>
#include <optional>
#include <vector>

#include "stretto/backend/concepts.hpp"
#include "stretto/backend/run_failure.hpp"
#include "stretto/core/config.hpp"
#include "stretto/core/process_group.hpp"
#include "stretto/core/process_groups.hpp"
#include "stretto/core/units.hpp"

namespace stretto {

/// The mapping from the groups of a program to groups of ranks: for each rank, the group of ranks that each group of
/// the program stands for.
class rank_groups {
public:
    /// Begins with a program without groups, on `ranks` ranks.
    explicit rank_groups(std::size_t ranks) : of_rank_(ranks) {}

    /// Adds a group of the program, which stands on each rank for the one of `groups` that contains the rank. Returns
    /// its number in the program, counting from 0. O(ranks + groups). Precondition: every rank is in exactly one of
    /// `groups`; strided_groups makes such lists.
    group_id add(const process_groups& groups) {
        const group_id made = programs_++;
        for (group_id g = 0; g < groups.group_count(); ++g) {
            process_group some = groups.group_at(g);
            some.duplicate_of = no_group;  // it would refer to an id of the other list
            const group_id id = all_.add(some);
            for (const rank_id r : some.ranks) {
                STRETTO_ASSERT(r < of_rank_.size(), "a group has a rank that there is not");
                of_rank_[r].push_back(id);
            }
        }
        for ([[maybe_unused]] const std::vector<group_id>& own : of_rank_)
            STRETTO_ASSERT(own.size() == programs_, "a rank must be in one of the groups, and only in one");
        return made;
    }
    /// Returns all groups of ranks. A world is created from these.
    [[nodiscard]] const process_groups& all() const noexcept { return all_; }
    /// Returns a list, indexed by group of the program, of the groups of `all()` that they stand for on a rank.
    [[nodiscard]] const std::vector<group_id>& of(rank_id rank) const { return of_rank_[rank]; }

private:
    process_groups all_;
    std::vector<std::vector<group_id>> of_rank_;
    group_id programs_ = 0;
};

/// Rank `number` of a backend, as a backend on which groups have the numbers of the program. Orders of the program are
/// bound to it. A run_failure, however, names the group of ranks, by its number in `rank_groups::all()`. It refers to
/// the rank and to the groups, which must outlive it.
template <backend Rank>
class rank_in_groups {
public:
    using queue_type = typename Rank::queue_type;
    using communicator_type = typename Rank::communicator_type;
    using arena_type = typename Rank::arena_type;
    using event_type = typename queue_type::event_type;

    rank_in_groups(Rank& rank, rank_id number, const rank_groups& groups) : rank_(rank), groups_(groups.of(number)) {}

    [[nodiscard]] queue_type& compute() { return rank_.compute(); }
    [[nodiscard]] communicator_type* channel(group_id g) {
        return g < groups_.size() ? rank_.channel(groups_[g]) : nullptr;
    }
    [[nodiscard]] event_type* make_events(std::size_t n) { return rank_.make_events(n); }
    [[nodiscard]] std::optional<arena_type> make_arena(bytes size, std::size_t alignment) {
        return rank_.make_arena(size, alignment);
    }
    void begin() { rank_.begin(); }
    [[nodiscard]] std::optional<run_failure> finish() { return rank_.finish(); }

private:
    Rank& rank_;
    const std::vector<group_id>& groups_;
};

}  // namespace stretto

#endif
