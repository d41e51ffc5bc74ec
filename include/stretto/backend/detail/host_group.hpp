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
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "stretto/backend/collective_operation.hpp"
#include "stretto/backend/detail/host_fold.hpp"
#include "stretto/backend/detail/host_run.hpp"
#include "stretto/backend/detail/host_word.hpp"
#include "stretto/core/process_group.hpp"

namespace stretto {

/// A link whose speed is made up: what a rank sends to others, or receives from them, is there `latency` and the time
/// of its bytes after all members have begun the collective. Nobody computes while the clock runs. Without a bandwidth,
/// there is no link: memory is as fast as it is.
struct host_link {
    nanoseconds latency = {};
    std::int64_t bytes_per_second = 0;

    [[nodiscard]] constexpr bool is_emulated() const noexcept { return bytes_per_second > 0; }
    /// The time of a collective of so many bytes.
    [[nodiscard]] constexpr nanoseconds duration(bytes moved) const noexcept {
        if (!is_emulated()) return {};
        return latency + nanoseconds{static_cast<std::int64_t>(static_cast<double>(moved.count) * 1e9 /
                                                               static_cast<double>(bytes_per_second))};
    }
};

/// How many bytes of an operation cross the link of a rank in a group of `members`, in the direction that has more.
[[nodiscard]] inline bytes bytes_on_link(const collective_operation& o, std::size_t members, std::size_t place) {
    const auto share = [&](std::size_t whole) { return static_cast<std::int64_t>(whole - whole / members); };
    switch (o.kind) {
        case transfer_kind::all_gather:
            return {share(o.receive_bytes)};
        case transfer_kind::reduce_scatter:
            return {share(o.send_bytes)};
        case transfer_kind::all_reduce:
            return {2 * share(o.send_bytes)};
        case transfer_kind::all_to_all: {
            std::size_t sent = 0, received = 0;
            for (std::size_t k = 0; k < members; ++k) {
                if (k == place) continue;
                sent += o.send_sizes[k];
                received += o.receive_sizes[k];
            }
            return {static_cast<std::int64_t>(std::max(sent, received))};
        }
        case transfer_kind::broadcast:
            return {members > 1 ? static_cast<std::int64_t>(o.send_bytes) : 0};
        case transfer_kind::barrier:
            break;
    }
    return {};
}

namespace detail {

[[nodiscard]] constexpr std::string_view name_of(transfer_kind kind) noexcept {
    constexpr std::string_view names[] = {"all_gather", "reduce_scatter", "all_reduce",
                                          "all_to_all", "broadcast",      "barrier"};
    return names[static_cast<std::size_t>(kind)];
}

class host_group {
public:
    host_group(host_run& run, const process_group& g, host_link link)
        : run_(run),
          id_(g.id),
          ranks_(g.ranks.begin(), g.ranks.end()),
          link_(link),
          members_(new member[ranks_.size()]) {
        run.enter(met_);
    }

    [[nodiscard]] std::size_t size() const noexcept { return ranks_.size(); }
    [[nodiscard]] group_id id() const noexcept { return id_; }

    /// Performs an operation as member `place`. Returns whether it is complete; not if the run was given up.
    bool perform(const collective_operation& o, std::size_t place, host_station& station) {
        member& me = members_[place];
        me.operation = &o;
        me.came = host_now();
        me.begun.fetch_add(1, std::memory_order_relaxed);
        if (!meet(me, station)) return false;
        bool in_shares = false;
        std::int64_t arrival = 0;
        {
            const host_run::reading reading(run_);
            if (!reading.may_read() || !compare(o, place)) return false;
            move(o, place);
            in_shares = o.kind == transfer_kind::all_reduce;
            for (std::size_t k = 0; k < size(); ++k) arrival = std::max(arrival, members_[k].came);
            arrival += link_.duration(bytes_on_link(o, size(), place)).count;
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
    struct alignas(64) member {
        const collective_operation* operation = nullptr;
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
                here = o.receive_sizes[k];
                there = other.send_sizes[place];
            }
            if (o.kind != transfer_kind::barrier) same_size = same_size && here == there;
            if (same_size) continue;
            const auto words = [](const collective_operation& x, std::size_t size) {
                std::string text(name_of(x.kind));
                if (x.logical_id != 0)
                    text += " of id " + std::to_string(x.logical_id) + ", chunk " + std::to_string(x.chunk);
                return text + " of " + std::to_string(size) + " bytes";
            };
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
            if (size != 0) std::memcpy(to, from, size);
        };
        switch (o.kind) {
            case transfer_kind::all_gather:
                for (std::size_t k = 0; k < size(); ++k) copy(o.receive + k * o.send_bytes, sent(k), o.send_bytes);
                break;
            case transfer_kind::all_to_all: {
                std::byte* to = o.receive;
                for (std::size_t k = 0; k < size(); ++k) {
                    const std::vector<std::size_t>& sizes = members_[k].operation->send_sizes;
                    std::size_t from = 0;
                    for (std::size_t j = 0; j < place; ++j) from += sizes[j];
                    copy(to, sent(k) + from, o.receive_sizes[k]);
                    to += o.receive_sizes[k];
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
    /// Reduces the bytes [from, from + size) of what members send, in the order of members.
    void reduce(const collective_operation& o, std::byte* to, std::size_t from, std::size_t size_of_share) const {
        if (size_of_share == 0) return;
        std::memcpy(to, members_[0].operation->send + from, size_of_share);
        for (std::size_t k = 1; k < size(); ++k)
            fold_into(o.element, o.reduction, to, members_[k].operation->send + from, size_of_share);
        if (o.reduction == reduction_kind::average) divide_sums(o.element, to, size_of_share, size());
    }
    /// The bytes of an all-reduce that a member reduces for all: whole elements.
    [[nodiscard]] std::pair<std::size_t, std::size_t> share_of(const collective_operation& o, std::size_t place) const {
        const auto element = static_cast<std::size_t>(size_of(o.element));
        const std::size_t count = o.send_bytes / element;
        return {count * place / size() * element, count * (place + 1) / size() * element};
    }
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

}  // namespace detail
}  // namespace stretto

#endif
