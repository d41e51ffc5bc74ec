// Finds which lanes of a rank wait, and for what, to be listed in a failure. A watchdog calls it for ranks whose lanes
// are threads, while these may continue.
#ifndef STRETTO_BACKEND_DETAIL_THREADS_WAITING_LANES_HPP
#define STRETTO_BACKEND_DETAIL_THREADS_WAITING_LANES_HPP

#include <atomic>
#include <cstdint>
#include <vector>

#include "stretto/backend/detail/threads/host_word.hpp"
#include "stretto/backend/run_failure.hpp"
#include "stretto/core/process_group.hpp"

namespace stretto::detail {

/// Returns whether a lane has waited for longer than `longest` nanoseconds by the time `now`.
[[nodiscard]] inline bool overdue(const host_station& s, std::int64_t now, std::int64_t longest) {
    const std::int64_t since = s.since.load(std::memory_order_relaxed);
    return since != 0 && now - since > longest;
}

/// Returns whether a channel waits for other members of its group.
template <class Channel>
[[nodiscard]] bool waits_for_members(const Channel& channel) {
    return channel.station().meeting.load(std::memory_order_relaxed) &&
           channel.station().since.load(std::memory_order_relaxed) != 0;
}

/// Adds the waiting lanes among the compute lane and the channels of a rank to `all`; the channels are pointers by
/// group, some of which are null. A lane may continue while it is read, so its values may be from different moments.
/// They are for messages; `overdue` decides whether a lane has waited too long.
template <class Channels>
void add_waiting_lanes(rank_id rank, const host_station& compute, const Channels& channels,
                       std::vector<waiting_lane>& all) {
    const auto add = [&](const host_station& s, std::uint32_t lane) -> waiting_lane* {
        if (s.since.load(std::memory_order_relaxed) == 0) return nullptr;
        waiting_lane& w = all.emplace_back();
        w.rank = rank;
        w.lane = lane;
        w.task = s.task.load(std::memory_order_relaxed);
        if (const host_event* e = s.event.load(std::memory_order_acquire); e != nullptr)
            w.for_tasks.push_back(e->task.load(std::memory_order_relaxed));
        return &w;
    };
    add(compute, 0);
    for (const auto& channel : channels) {
        if (!channel) continue;
        const group_id group = channel->group().id();
        waiting_lane* const w = add(channel->station(), 1 + group);
        if (w == nullptr) continue;
        w->group = group;
        // A channel that waits for an event waits before its next collective. It has not come to it, so its task is
        // unknown, and the one in the station is that of a collective that is complete.
        const bool is_before = !w->for_tasks.empty();
        if (is_before) w->task = no_task;
        w->sequence = channel->group().begun(channel->place()) - (is_before ? 0 : 1);
        if (waits_for_members(*channel))
            channel->group().for_each_missing(channel->place(), [&](rank_id other) { w->for_ranks.push_back(other); });
    }
}

/// Attributes a failure without a group to the first of its waiting collectives in which a member is missing, because
/// other lanes may wait until that one ends; if no member is missing, to the first waiting collective.
inline void name_missing(run_failure& failure) {
    for (const bool missing : {true, false})
        for (const waiting_lane& w : failure.waiting) {
            if (failure.group != no_group || w.group == no_group || (missing && w.for_ranks.empty())) continue;
            failure.group = w.group;
            failure.sequence = w.sequence;
            failure.task = w.task;
        }
}

}  // namespace stretto::detail

#endif
