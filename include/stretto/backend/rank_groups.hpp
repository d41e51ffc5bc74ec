// The groups of a program that all ranks share, and the ranks that they are. Where every rank runs the same program on
// data of its own, "my replicas" is one group of the program, and another group of ranks for each block of them. The
// program numbers the first; a backend, whose communicators have members, numbers the second.
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

/// What every group of a program is, for each rank.
class rank_groups {
public:
    /// A program without groups, on so many ranks.
    explicit rank_groups(std::size_t ranks) : of_rank_(ranks) {}

    /// Adds a group of the program: for each rank, the one of `groups` that has it. Returns its number in the program,
    /// which counts them from 0. O(groups and their ranks). Precondition: every rank is in one of `groups`, and in no
    /// other one; strided_groups makes such lists.
    group_id add(const process_groups& groups) {
        const group_id made = programs_++;
        for (group_id g = 0; g < groups.group_count(); ++g) {
            process_group some = groups.group_at(g);
            some.duplicate_of = no_group;  // it would name one of the other list
            const group_id id = all_.add(some);
            for (const rank_id r : some.ranks) {
                STRETTO_ASSERT(r < of_rank_.size(), "a group has a rank that there is not");
                of_rank_[r].push_back(id);
            }
        }
        for (const std::vector<group_id>& own : of_rank_)
            STRETTO_ASSERT(own.size() == programs_, "a rank must be in one of the groups, and only in one");
        return made;
    }
    /// All groups of ranks: what a world is made of.
    [[nodiscard]] const process_groups& all() const noexcept { return all_; }
    /// By group of the program: which of `all` it is for a rank.
    [[nodiscard]] const std::vector<group_id>& of(rank_id rank) const { return of_rank_[rank]; }

private:
    process_groups all_;
    std::vector<std::vector<group_id>> of_rank_;
    group_id programs_ = 0;
};

/// A rank of a backend, on which groups have the numbers of the program: the backend to which its orders are bound. It
/// refers to both.
template <backend Rank>
class rank_in_groups {
public:
    using queue_type = typename Rank::queue_type;
    using communicator_type = typename Rank::communicator_type;
    using arena_type = typename Rank::arena_type;
    using event_type = typename Rank::event_type;

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
