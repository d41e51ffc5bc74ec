// Launches of different ranks are matched into collectives. This header does that, and finds the first error that makes
// programs impossible to run.
#ifndef STRETTO_SCHEDULE_DETAIL_MATCHED_LAUNCHES_HPP
#define STRETTO_SCHEDULE_DETAIL_MATCHED_LAUNCHES_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/process_group.hpp"
#include "stretto/schedule/rank_program.hpp"

namespace stretto::detail {

/// The number that means "no action".
inline constexpr std::uint32_t no_action = UINT32_MAX;

/// An action of a rank.
struct ranked_action {
    rank_id rank = 0;
    std::uint32_t action = no_action;
};

/// Returns the first action that is not valid: see deadlock::reason::not_a_program. O(A + M) for A actions and M ranks
/// of all groups, each counted once per group.
template <class = void>
[[nodiscard]] std::optional<ranked_action> first_broken_action(std::span<const rank_program> programs,
                                                               std::span<const process_group> groups) {
    // By rank: the groups that contain it, without those in which no action is valid.
    std::vector<std::vector<group_id>> groups_of(programs.size());
    for (group_id k = 0; k < groups.size(); ++k) {
        bool sound = true;
        for (const rank_id r : groups[k].ranks) sound = sound && r < programs.size();
        if (!sound) continue;
        for (const rank_id r : groups[k].ranks) groups_of[r].push_back(k);
    }
    // By group: the last of its ranks that has been reached.
    std::vector<std::size_t> last_member(groups.size(), programs.size());
    for (rank_id r = 0; r < programs.size(); ++r) {
        for (const group_id k : groups_of[r]) last_member[k] = r;
        for (std::uint32_t i = 0; i < programs[r].size(); ++i) {
            const rank_action& a = programs[r][i];
            bool good = true;
            for (const std::uint32_t earlier : a.after)
                good = good && earlier < i && programs[r][earlier].what != rank_action::form::host_wait;
            if (a.what == rank_action::form::collective)
                good = good && a.group < groups.size() && last_member[a.group] == r;
            if (!good) return ranked_action{r, i};
        }
    }
    return {};
}

/// The matching of launches: which launches of different ranks are the same collective. In each group, the k-th
/// launches of all its ranks belong together.
template <class = void>
class matched_launches {
public:
    /// Matches the launches. O(A + R + G) for A actions, R ranks and G groups. Precondition: the programs have no
    /// broken action.
    matched_launches(std::span<const rank_program> programs, std::span<const process_group> groups) {
        first_.assign(programs.size() + 1, 0);
        for (std::size_t r = 0; r < programs.size(); ++r) first_[r + 1] = first_[r] + programs[r].size();
        collective_.assign(first_.back(), no_action);
        // The launches of a group are matched by their number on each rank. `sequence` lists the collectives of each
        // group.
        std::vector<std::vector<std::uint32_t>> sequence(groups.size());
        std::vector<std::uint32_t> next(groups.size(), 0);  // by group: the launches of this rank so far
        for (rank_id r = 0; r < programs.size(); ++r) {
            for (std::uint32_t i = 0; i < programs[r].size(); ++i) {
                const rank_action& a = programs[r][i];
                if (a.what != rank_action::form::collective) continue;
                const std::uint32_t k = next[a.group]++;
                if (k == sequence[a.group].size()) {
                    sequence[a.group].push_back(static_cast<std::uint32_t>(members_.size()));
                    members_.emplace_back();
                }
                std::vector<ranked_action>& members = members_[sequence[a.group][k]];
                if (!mismatch_ && !members.empty() && call_of(programs, members[0]) != a.call)
                    mismatch_ = {members[0], {r, i}};
                members.push_back({r, i});
                collective_[first_[r] + i] = sequence[a.group][k];
            }
            for (const rank_action& a : programs[r])
                if (a.what == rank_action::form::collective) next[a.group] = 0;
        }
        for (std::size_t g = 0; !mismatch_ && g < groups.size(); ++g)
            for (const std::uint32_t c : sequence[g])
                if (!mismatch_ && members_[c].size() != groups[g].ranks.size())
                    mismatch_ = {members_[c][0], {absent(groups[g], members_[c]), no_action}};
    }

    [[nodiscard]] std::size_t collectives() const noexcept { return members_.size(); }
    [[nodiscard]] std::size_t actions() const noexcept { return first_.back(); }
    /// Returns the place of an action among the actions of all ranks.
    [[nodiscard]] std::size_t place(rank_id rank, std::uint32_t action) const noexcept { return first_[rank] + action; }
    /// Returns the collective that the action at this place launches, or no_action.
    [[nodiscard]] std::uint32_t collective(std::size_t place) const noexcept { return collective_[place]; }
    [[nodiscard]] const std::vector<ranked_action>& members(std::uint32_t c) const noexcept { return members_[c]; }
    /// Returns two launches of one collective that name different calls, or a launch and a rank that lacks it.
    [[nodiscard]] const std::optional<std::pair<ranked_action, ranked_action>>& mismatch() const noexcept {
        return mismatch_;
    }

private:
    [[nodiscard]] static std::uint64_t call_of(std::span<const rank_program> programs, ranked_action a) {
        return programs[a.rank][a.action].call;
    }
    /// Returns the first rank of a group that has no launch among `members`.
    [[nodiscard]] static rank_id absent(const process_group& group, const std::vector<ranked_action>& members) {
        for (const rank_id r : group.ranks) {
            bool there = false;
            for (const ranked_action m : members) there = there || m.rank == r;
            if (!there) return r;
        }
        return group.ranks[0];
    }

    std::vector<std::size_t> first_;                   // by rank: the place of its first action
    std::vector<std::uint32_t> collective_;            // by place
    std::vector<std::vector<ranked_action>> members_;  // by collective, in the order of ranks
    std::optional<std::pair<ranked_action, ranked_action>> mismatch_;
};

}  // namespace stretto::detail

#endif
