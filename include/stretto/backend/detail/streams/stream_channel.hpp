// The common part of communicators whose lanes are streams. Collectives are put into a stream, each with an event
// before and after it, so that a failure can name the collective that the device has begun and not completed.
#ifndef STRETTO_BACKEND_DETAIL_STREAMS_STREAM_CHANNEL_HPP
#define STRETTO_BACKEND_DETAIL_STREAMS_STREAM_CHANNEL_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stretto/backend/collective_operation.hpp"
#include "stretto/backend/detail/collective_rules.hpp"
#include "stretto/backend/detail/streams/stream_memory.hpp"
#include "stretto/backend/detail/streams/stream_queue.hpp"
#include "stretto/backend/detail/streams/stream_times.hpp"
#include "stretto/core/process_group.hpp"

namespace stretto::detail {

/// The base of a channel. The derived class knows how a collective is put into the stream. The stream has priority over
/// that of kernels, because other ranks wait for collectives.
template <class A>
class stream_channel : public stream_queue<A> {
    using base = stream_queue<A>;

protected:
    using base::run_, base::comm_;

public:
    using typename base::event_type, typename base::form;

    stream_channel(stream_run<A>& run, const process_group& g)
        : base(run), group_(g.id), ranks_(g.ranks.begin(), g.ranks.end()), place_(g.place_of(run.rank())) {}

    /// Makes two events for each of `verbs` verbs, so that a replay makes none; it has fewer collectives than verbs.
    void reserve(std::size_t verbs) {
        while (flights_.size() < verbs && !run_.failed()) {
            if (!flights_.emplace_back().span.make(run_, comm_.at)) flights_.pop_back();
        }
    }
    [[nodiscard]] std::size_t size() const noexcept { return ranks_.size(); }
    [[nodiscard]] std::size_t place() const noexcept { return place_; }

    /// A collective that was put into the stream since `begin`: the events around it, and its site for failures.
    struct flight {
        stream_span<A> span = {};
        lane_site at = {};
    };
    /// Begins a replay, which reuses the events of the previous one.
    void begin() { first_ = launched_; }
    /// Returns how many collectives were put since `begin`.
    [[nodiscard]] std::size_t in_stream() const noexcept { return launched_ - first_; }
    [[nodiscard]] const flight& at(std::size_t k) const { return flights_[k]; }
    /// Returns the first collective since `begin` that is not complete, or null.
    [[nodiscard]] const flight* first_open() const {
        for (std::size_t k = 0; k < in_stream(); ++k)
            if (!A::query(flights_[k].span.ended.get()).done()) return &flights_[k];
        return nullptr;
    }
    /// Adds n to the number of launched collectives. A replay of a graph launches some that were not put here.
    void count(std::size_t n) { launched_ += static_cast<std::uint32_t>(n); }
    /// Forgets the collectives since `begin`, which were captured or compared, but not launched.
    void uncount() { launched_ = first_; }

    /// Returns the number of the next collective on the group.
    [[nodiscard]] std::uint32_t sequence() const noexcept { return launched_; }
    [[nodiscard]] stream_comm<A>& comm() noexcept { return comm_; }

protected:
    /// Makes the stream, memory for fetched amounts, and events for a few collectives. Returns whether the run
    /// continues.
    bool make() {
        send_sizes_.reserve(size());
        receive_sizes_.reserve(size());
        name({});
        if (!base::make(true) ||
            !run_.did(allocate<A>(counts_, 2 * size() * sizeof(std::int64_t), device_memory::pinned), comm_.at))
            return false;
        reserve(8);
        return !run_.failed();
    }
    [[nodiscard]] const std::vector<rank_id>& ranks() const noexcept { return ranks_; }
    /// For an all-to-all: the bytes that are sent to and received from each member, once they are known.
    [[nodiscard]] const std::vector<std::size_t>& send_sizes() const noexcept { return send_sizes_; }
    [[nodiscard]] const std::vector<std::size_t>& receive_sizes() const noexcept { return receive_sizes_; }

    /// Makes this operation the site of the channel, to which failures of the communicator are attributed from now on.
    void name(const collective_operation& o) { comm_.at = {group_, launched_, o.task, name_of(o.kind), &ranks_}; }
    /// Finds the amounts that are sent to and received from each member. Returns whether the run or the capture
    /// continues. Amounts that the step measures may be on the device, so they are fetched after the kernel that
    /// measures them, and this function waits for them; a capture is refused, because the amounts do not exist yet.
    bool find_amounts(const collective_operation& o) {
        if (o.send_rows.empty()) return !find_sizes(o, ranks_, send_sizes_, receive_sizes_);
        if (run_.now == form::capture) {
            run_.refused = comm_.at.failure(run_failure::reason::call_failed, run_.rank(),
                                            "amounts that the step measures cannot be captured");
            return false;
        }
        measured_ = o;
        // Only a copy is changed, because the caller's operation must refer to the counts in the next replay, too.
        auto* fetched = reinterpret_cast<std::int64_t*>(counts_.data());
        for (auto* const rows : {&measured_.send_rows, &measured_.receive_rows})
            for (const std::int64_t*& at : *rows) {
                if (at == nullptr) continue;
                if (!run_.did(A::copy(fetched, at, sizeof(std::int64_t), this->stream()), comm_.at)) return false;
                at = fetched++;
            }
        if (!base::await_stream()) return false;
        std::optional<std::string> wrong = find_sizes(measured_, ranks_, send_sizes_, receive_sizes_);
        if (wrong) run_.fail(run_failure::reason::overflow, comm_.at, *std::move(wrong));
        return !wrong;
    }
    /// Puts the collective of the current site into the stream, by `post()`, between its events. Returns whether the
    /// run continues. During a capture nothing runs, so no events are recorded.
    template <class Post>
    bool fly(Post post) {
        if (run_.now == form::capture) return post() && (++launched_, true);
        if (in_stream() == flights_.size()) reserve(flights_.size() + 1);
        if (run_.failed()) return false;
        flight& m = flights_[in_stream()];
        m.at = comm_.at;
        m.span.task = m.at.task;
        if (!this->record(m.span.began) || !post()) return false;
        ++launched_;
        return this->record(m.span.ended);
    }

private:
    group_id group_;
    std::vector<rank_id> ranks_;
    std::size_t place_;
    stream_memory<A> counts_;
    std::vector<flight> flights_;  // the first in_stream() are those of the current replay
    std::vector<std::size_t> send_sizes_, receive_sizes_;
    collective_operation measured_;           // a copy that refers to the fetched amounts
    std::uint32_t launched_ = 0, first_ = 0;  // collectives launched so far, and before the current replay
};

}  // namespace stretto::detail

#endif
