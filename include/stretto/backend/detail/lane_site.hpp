// Describes the place at which a lane is, for failures that report why it cannot continue.
#ifndef STRETTO_BACKEND_DETAIL_LANE_SITE_HPP
#define STRETTO_BACKEND_DETAIL_LANE_SITE_HPP

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/backend/run_failure.hpp"
#include "stretto/core/process_group.hpp"

namespace stretto::detail {

/// The place of a lane: a collective of a group, a kernel, or neither. What is unknown has its default. The data to
/// which it refers must outlive it.
struct lane_site {
    group_id group = no_group;
    std::uint32_t sequence = 0;
    task_id task = no_task;
    std::string_view operation = {};                ///< the name of what is done there
    const std::vector<rank_id>* members = nullptr;  ///< the ranks of the group, which do it together

    /// Returns the end of a sentence, which names the operation and its members; empty if no members are known.
    [[nodiscard]] std::string words() const {
        if (members == nullptr) return {};
        std::string text = ", in " + std::string(operation) + " among ranks";
        for (const rank_id r : *members) text += " " + std::to_string(r);
        return text;
    }
    /// Returns a failure at this place, as `rank` has noticed it.
    [[nodiscard]] run_failure failure(run_failure::reason why, rank_id rank, std::string detail = {}) const {
        return {why, rank, group, sequence, task, std::move(detail), {}};
    }
    /// Returns the lane of `rank` as waiting here for all other members, because it is unknown which of them is
    /// missing.
    [[nodiscard]] waiting_lane waiting(rank_id rank) const {
        waiting_lane w{rank, group == no_group ? 0 : 1 + group, group, task, sequence};
        for (std::size_t k = 0; members != nullptr && k < members->size(); ++k)
            if ((*members)[k] != rank) w.for_ranks.push_back((*members)[k]);
        return w;
    }
};

}  // namespace stretto::detail

#endif
