// Who waits for whom on a rank whose lanes are threads, for the failure that says so.
#ifndef STRETTO_BACKEND_DETAIL_THREADS_WAITING_LANES_HPP
#define STRETTO_BACKEND_DETAIL_THREADS_WAITING_LANES_HPP

#include <atomic>
#include <cstdint>
#include <vector>

#include "stretto/backend/detail/threads/host_word.hpp"
#include "stretto/backend/run_failure.hpp"
#include "stretto/core/process_group.hpp"

namespace stretto::detail {

/// Whether a lane has waited for longer than `longest` nanoseconds.
[[nodiscard]] inline bool overdue(const host_station& s, std::int64_t now, std::int64_t longest) {
    const std::int64_t since = s.since.load(std::memory_order_relaxed);
    return since != 0 && now - since > longest;
}

/// Whether a channel waits for other members of its group.
template <class Channel>
[[nodiscard]] bool waits_for_members(const Channel& channel) {
    return channel.station().meeting.load(std::memory_order_relaxed) &&
           channel.station().since.load(std::memory_order_relaxed) != 0;
}

/// Adds the lanes of a rank that wait: its compute lane, and its channels, pointers by group of which some are null. A
/// lane may go on while it is looked at, so that what is read of it may be of different moments. That is for words
/// only: whether to give up is decided by `overdue`.
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
        w->sequence = channel->group().begun(channel->place()) - 1;
        if (waits_for_members(*channel))
            channel->group().for_each_missing(channel->place(), [&](rank_id other) { w->for_ranks.push_back(other); });
    }
}

/// Makes the failure one of the first collective that somebody is missing from, because other lanes wait until that one
/// ends; if all have come to theirs, one of the first that somebody waits in.
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
