// A communicator among threads: where its members meet, compare what they have come for, and move bytes.
#ifndef STRETTO_BACKEND_DETAIL_HOST_GROUP_HPP
#define STRETTO_BACKEND_DETAIL_HOST_GROUP_HPP

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "stretto/backend/collective_operation.hpp"
#include "stretto/backend/detail/host_fold.hpp"
#include "stretto/backend/detail/host_run.hpp"
#include "stretto/backend/detail/host_word.hpp"
#include "stretto/backend/host_link.hpp"
#include "stretto/core/process_group.hpp"

namespace stretto::detail {

/// The name of a transfer as failures spell it.
[[nodiscard]] constexpr std::string_view name_of(transfer_kind kind) noexcept {
    constexpr std::string_view names[] = {"all_gather", "reduce_scatter", "all_reduce",
                                          "all_to_all", "broadcast",      "barrier"};
    return names[static_cast<std::size_t>(kind)];
}

/// Members come to every operation, each with its own thread, and an operation begins when all have come. It ends for
/// a member when all have what it sends, so that it may be overwritten. Bytes go from the memory of a sender straight
/// into that of a receiver. Nothing is allocated after construction, unless the run is given up.
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

    /// Performs an operation as member `place`. Returns whether it is complete; not if the run was given up.
    bool perform(const collective_operation& o, std::size_t place, host_station& station) {
        member& me = members_[place];
        me.operation = &o;
        me.came = host_now();
        me.begun.fetch_add(1, std::memory_order_relaxed);
        if (o.kind == transfer_kind::all_to_all && !find_sizes(me, place)) return false;
        if (!meet(me, station)) return false;
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
        if (in_shares) {
            if (!meet(me, station)) return false;  // every member has reduced its share
            const host_run::reading reading(run_);
            if (!reading.may_read()) return false;
            gather_shares(o, place);
        }
        if (const std::int64_t left = link_.is_emulated() ? arrival - host_now() : 0; left > 0)
            std::this_thread::sleep_for(std::chrono::nanoseconds(left));
        return meet(me, station);  // nobody reads what a member sends any more
    }

    /// How many operations a member has begun.
    [[nodiscard]] std::uint32_t begun(std::size_t place) const {
        return members_[place].begun.load(std::memory_order_relaxed);
    }
    /// Calls f(rank) for the ranks that have not begun the operation that the member has begun last.
    template <class F>
    void for_each_missing(std::size_t place, F f) const {
        const std::uint32_t mine = begun(place);
        for (std::size_t k = 0; k < size(); ++k)
            if (static_cast<std::int32_t>(begun(k) - mine) < 0) f(ranks_[k]);
    }

private:
    /// What a member shows to the others, in cache lines of its own. The others read it between
    /// two meetings only, but for the count, which a watchdog may read at any time.
    struct alignas(64) member {
        const collective_operation* operation = nullptr;
        std::vector<std::size_t> send_sizes, receive_sizes;  // of an all-to-all, in bytes
        std::int64_t came = 0;
        std::uint32_t meetings = 0;
        std::atomic<std::uint32_t> begun = 0;
    };

    /// Waits until all members have come as often as this one.
    bool meet(member& me, host_station& station) {
        met_.advance();
        station.meeting.store(true, std::memory_order_relaxed);
        const bool on = met_.await(++me.meetings * static_cast<std::uint32_t>(size()), station);
        station.meeting.store(false, std::memory_order_relaxed);
        return on;
    }

    /// Finds how much a member sends to each other one and receives, some of which may have become known just now. If
    /// it does not fit into the room that there is, the run is given up. It allocates nothing.
    bool find_sizes(member& me, std::size_t place) {
        const collective_operation& o = *me.operation;
        me.send_sizes.assign(o.send_sizes.begin(), o.send_sizes.end());
        me.receive_sizes.assign(o.receive_sizes.begin(), o.receive_sizes.end());
        if (o.send_rows.empty()) return true;
        const auto measure = [&](std::span<const std::int64_t* const> rows, std::vector<std::size_t>& sizes,
                                 std::size_t room, std::string_view verb) {
            std::size_t left = room;
            for (std::size_t k = 0; k < sizes.size(); ++k) {
                const std::int64_t count = rows[k] == nullptr ? 0 : *rows[k];
                const bool fits = count >= 0 && static_cast<std::uint64_t>(count) <= left / o.row_bytes;
                if (fits && rows[k] != nullptr) sizes[k] = static_cast<std::size_t>(count) * o.row_bytes;
                if (fits && sizes[k] <= left) {
                    left -= sizes[k];
                    continue;
                }
                run_failure why;
                why.why = run_failure::reason::overflow;
                why.rank = ranks_[place];
                why.group = id_;
                why.sequence = begun(place) - 1;
                why.task = o.task;
                why.detail = std::string(verb) + " " + std::to_string(count) + " rows of " +
                             std::to_string(o.row_bytes) + " bytes " + (verb == "sends" ? "to" : "from") + " rank " +
                             std::to_string(ranks_[k]) + ", where " + std::to_string(left) + " of " +
                             std::to_string(room) + " bytes are left";
                run_.fail(std::move(why));
                return false;
            }
            return true;
        };
        return measure(o.send_rows, me.send_sizes, o.send_bytes, "sends") &&
               measure(o.receive_rows, me.receive_sizes, o.receive_bytes, "receives");
    }

    /// Whether all members have come for the same. If not, the run is given up.
    bool compare(const collective_operation& o, std::size_t place) {
        for (std::size_t k = 0; k < size(); ++k) {
            const collective_operation& other = *members_[k].operation;
            const bool same_call = o.kind == other.kind && o.reduction == other.reduction &&
                                   o.element == other.element && o.root == other.root &&
                                   o.logical_id == other.logical_id && o.chunk == other.chunk;
            bool same_size = same_call;
            std::size_t here = o.send_bytes, there = other.send_bytes;
            if (same_call && o.kind == transfer_kind::all_to_all) {
                here = members_[place].receive_sizes[k];
                there = members_[k].send_sizes[place];
            }
            if (o.kind != transfer_kind::barrier) same_size = same_size && here == there;
            if (same_size) continue;
            const auto words = [](const collective_operation& x, std::size_t size) {
                std::string text(name_of(x.kind));
                if (x.logical_id != 0)
                    text += " of id " + std::to_string(x.logical_id) + ", chunk " + std::to_string(x.chunk);
                return text + " of " + std::to_string(size) + " bytes";
            };
            // It is a defect of the program on one of the ranks, and nobody can say on which: both are named.
            run_failure why;
            why.why = run_failure::reason::mismatch;
            why.rank = ranks_[place];
            why.group = id_;
            why.sequence = begun(place) - 1;
            why.task = o.task;
            why.detail = words(o, here) + " here, " + words(other, there) + " on rank " + std::to_string(ranks_[k]);
            if (words(o, here) == words(other, there)) why.detail += ", reduced in another way or from another root";
            run_.fail(std::move(why));
            return false;
        }
        return true;
    }

    /// This member fetches what others send. Of an all-reduce it reduces its share only.
    void move(const collective_operation& o, std::size_t place) const {
        const auto sent = [&](std::size_t k) { return members_[k].operation->send; };
        const auto copy = [](std::byte* to, const std::byte* from, std::size_t size) {
            if (size != 0 && to != from) std::memcpy(to, from, size);  // in place, its own share is there
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
                const auto [from, to] = share_of(o, place);
                reduce(o, o.receive + from, from, to - from);
                break;
            }
            case transfer_kind::barrier:
                break;
        }
    }
    /// Reduces the bytes [from, from + size) of what members send, in the order of members. In place, `to` holds what
    /// this member sends until its turn has come, so sums are formed beside it, block by block.
    void reduce(const collective_operation& o, std::byte* to, std::size_t from, std::size_t size_of_share) const {
        alignas(64) std::byte block[4096];
        while (size_of_share != 0) {
            const std::size_t length = std::min(size_of_share, sizeof(block));
            std::memcpy(block, members_[0].operation->send + from, length);
            for (std::size_t k = 1; k < size(); ++k)
                fold_into(o.element, o.reduction, block, members_[k].operation->send + from, length);
            if (o.reduction == reduction_kind::average) divide_sums(o.element, block, length, size());
            std::memcpy(to, block, length);
            to += length;
            from += length;
            size_of_share -= length;
        }
    }
    /// The bytes of an all-reduce that a member reduces for all: whole elements.
    [[nodiscard]] std::pair<std::size_t, std::size_t> share_of(const collective_operation& o, std::size_t place) const {
        const auto element = static_cast<std::size_t>(size_of(o.element));
        const std::size_t count = o.send_bytes / element;
        return {count * place / size() * element, count * (place + 1) / size() * element};
    }
    /// The second half of an all-reduce: fetches what the others have reduced, into the same places.
    void gather_shares(const collective_operation& o, std::size_t place) const {
        for (std::size_t k = 0; k < size(); ++k) {
            const auto [from, to] = share_of(o, k);
            if (k != place && to != from)
                std::memcpy(o.receive + from, members_[k].operation->receive + from, to - from);
        }
    }

    host_run& run_;
    group_id id_;
    std::vector<rank_id> ranks_;
    host_link link_;
    std::unique_ptr<member[]> members_;
    host_word met_;
};

}  // namespace stretto::detail

#endif
