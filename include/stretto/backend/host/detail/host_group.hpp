// A communicator among threads. Its members meet, compare their operations, copy what they receive directly from the
// memory of its senders, and meet again. The meetings are the only synchronization: a word counts the arrivals of all
// members.
#ifndef STRETTO_BACKEND_HOST_DETAIL_HOST_GROUP_HPP
#define STRETTO_BACKEND_HOST_DETAIL_HOST_GROUP_HPP

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "stretto/backend/collective_operation.hpp"
#include "stretto/backend/detail/collective_rules.hpp"
#include "stretto/backend/detail/lane_site.hpp"
#include "stretto/backend/detail/threads/host_fold.hpp"
#include "stretto/backend/detail/threads/host_run.hpp"
#include "stretto/backend/detail/threads/host_word.hpp"
#include "stretto/backend/host/host_link.hpp"
#include "stretto/core/process_group.hpp"

namespace stretto::detail {

/// All members of one group. Each performs operations in a thread of its own. An operation begins when all members have
/// arrived at it, and ends for a member when all others have its data, so that the data may be overwritten. Nothing is
/// allocated after construction, unless the run is given up.
class host_group {
public:
    host_group(host_run& run, const process_group& g, host_link link)
        : run_(run),
          id_(g.id),
          ranks_(g.ranks.begin(), g.ranks.end()),
          link_(link),
          members_(new member[ranks_.size()]) {
        run.enter(met_);
        for (std::size_t k = 0; k < size(); ++k) {
            members_[k].send_sizes.reserve(size());
            members_[k].receive_sizes.reserve(size());
        }
    }

    [[nodiscard]] std::size_t size() const noexcept { return ranks_.size(); }
    [[nodiscard]] group_id id() const noexcept { return id_; }

    /// Performs an operation as member `place`. Returns whether it is complete, which it is not if the run is given up.
    /// The station states whether the member waits for others.
    bool perform(const collective_operation& o, std::size_t place, host_station& station) {
        member& me = members_[place];
        {
            // After a failure, the program of this rank may already have destroyed the operation.
            const host_run::reading reading(run_);
            if (!reading.may_read()) return false;
            me.operation = &o;
            me.came = host_now();
            me.begun.fetch_add(1, std::memory_order_relaxed);
            if (auto overflow = find_sizes(o, ranks_, me.send_sizes, me.receive_sizes)) {
                give_up(run_failure::reason::overflow, o, place, *std::move(overflow));
                return false;
            }
        }
        if (!meet(me, station)) return false;
        // From here to the next meeting no member changes what it has published.
        bool in_shares = false;
        std::int64_t arrival = 0;
        {
            const host_run::reading reading(run_);
            if (!reading.may_read() || !compare(o, place)) return false;
            move(o, place);
            in_shares = o.kind == transfer_kind::all_reduce;
            for (std::size_t k = 0; k < size(); ++k) arrival = std::max(arrival, members_[k].came);
            arrival += link_.duration(bytes_on_link(o, size(), place, me.send_sizes, me.receive_sizes)).count;
        }
        // In an all-reduce, each member fetches the shares of the others once all shares are reduced.
        if (in_shares) {
            if (!meet(me, station)) return false;
            const host_run::reading reading(run_);
            if (!reading.may_read()) return false;
            gather_shares(o, place);
        }
        // The emulated duration includes the time that the copies took.
        if (const std::int64_t left = link_.is_emulated() ? arrival - host_now() : 0; left > 0)
            std::this_thread::sleep_for(std::chrono::nanoseconds(left));
        return meet(me, station);  // after this no member reads the data of another
    }

    /// Returns how many operations a member has begun.
    [[nodiscard]] std::uint32_t begun(std::size_t place) const {
        return members_[place].begun.load(std::memory_order_relaxed);
    }
    /// Calls f(rank) for the members that have not begun the operation that member `place` has begun last.
    template <class F>
    void for_each_missing(std::size_t place, F f) const {
        const std::uint32_t mine = begun(place);
        for (std::size_t k = 0; k < size(); ++k)
            if (static_cast<std::int32_t>(begun(k) - mine) < 0) f(ranks_[k]);
    }

private:
    /// The state that a member publishes to the others, in its own cache lines. The others read it only between two
    /// meetings, except for the count, which a watchdog may read at any time.
    struct alignas(64) member {
        const collective_operation* operation = nullptr;
        std::vector<std::size_t> send_sizes, receive_sizes;  // of an all-to-all, in bytes
        std::int64_t came = 0;                               // the time of its arrival, by host_now()
        std::uint32_t meetings = 0;                          // how many it has come to; only this member uses it
        std::atomic<std::uint32_t> begun = 0;                // how many operations it has begun
    };

    /// Waits until all members have come to as many meetings as this one. Returns false if the run is given up.
    bool meet(member& me, host_station& station) {
        met_.advance();
        station.meeting.store(true, std::memory_order_relaxed);
        const bool on = met_.await(++me.meetings * static_cast<std::uint32_t>(size()), station);
        station.meeting.store(false, std::memory_order_relaxed);
        return on;
    }

    /// Returns whether all members perform the same operation. If not, the run is given up.
    bool compare(const collective_operation& o, std::size_t place) {
        auto wrong = first_difference(
            o, ranks_, [&](std::size_t k) -> const collective_operation& { return *members_[k].operation; },
            [&](std::size_t k) { return members_[place].receive_sizes[k]; },
            [&](std::size_t k) { return members_[k].send_sizes[place]; });
        if (wrong) give_up(run_failure::reason::mismatch, o, place, *std::move(wrong));
        return !wrong;
    }
    void give_up(run_failure::reason why, const collective_operation& o, std::size_t place, std::string detail) {
        run_.fail(lane_site{id_, begun(place) - 1, o.task}.failure(why, ranks_[place], std::move(detail)));
    }

    /// Fetches the data of the other members, and reduces them. No member writes into the memory of another, so members
    /// need no order among themselves. For an all-reduce a member reduces only its own share.
    void move(const collective_operation& o, std::size_t place) const {
        const auto sent = [&](std::size_t k) { return members_[k].operation->send; };
        const auto copy = [](std::byte* to, const std::byte* from, std::size_t size) {
            if (size != 0 && to != from) std::memcpy(to, from, size);  // in place, its own share is already there
        };
        switch (o.kind) {
            case transfer_kind::all_gather:
                for (std::size_t k = 0; k < size(); ++k) copy(o.receive + k * o.send_bytes, sent(k), o.send_bytes);
                break;
            case transfer_kind::all_to_all: {
                std::byte* to = o.receive;
                for (std::size_t k = 0; k < size(); ++k) {
                    const std::vector<std::size_t>& sizes = members_[k].send_sizes;
                    std::size_t from = 0;
                    for (std::size_t j = 0; j < place; ++j) from += sizes[j];
                    copy(to, sent(k) + from, sizes[place]);
                    to += sizes[place];
                }
                break;
            }
            case transfer_kind::broadcast:
                copy(o.receive, sent(o.root), o.send_bytes);
                break;
            case transfer_kind::reduce_scatter:
                reduce(o, o.receive, place * o.receive_bytes, o.receive_bytes);
                break;
            case transfer_kind::all_reduce: {
                const auto [from, to] = share_of(o, size(), place);
                reduce(o, o.receive + from, from, to - from);
                break;
            }
            case transfer_kind::barrier:
                break;
        }
    }
    /// Reduces the bytes [from, from + size_of_share) of the data of all members.
    void reduce(const collective_operation& o, std::byte* to, std::size_t from, std::size_t size_of_share) const {
        fold_in_order(o.element, o.reduction, to, size_of_share, size(),
                      [&](std::size_t k) { return members_[k].operation->send + from; });
    }
    /// Completes an all-reduce: fetches the shares that the others have reduced, to the same offsets.
    void gather_shares(const collective_operation& o, std::size_t place) const {
        for (std::size_t k = 0; k < size(); ++k) {
            const auto [from, to] = share_of(o, size(), k);
            if (k != place && to != from)
                std::memcpy(o.receive + from, members_[k].operation->receive + from, to - from);
        }
    }

    host_run& run_;
    group_id id_;
    std::vector<rank_id> ranks_;
    host_link link_;
    std::unique_ptr<member[]> members_;  // by place
    host_word met_;                      // counts every member of every meeting
};

}  // namespace stretto::detail

#endif
