// The common part of backends whose lanes are streams: the members that the executor uses, the comparison of bound
// orders, and captures of replays. The rank's thread puts all work and waits for all of it; nothing here calls a
// library except through the type `A` of calls.
#ifndef STRETTO_BACKEND_DETAIL_STREAMS_STREAM_RANK_HPP
#define STRETTO_BACKEND_DETAIL_STREAMS_STREAM_RANK_HPP

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stretto/backend/detail/rank_lanes.hpp"
#include "stretto/backend/detail/step_times.hpp"
#include "stretto/backend/detail/streams/stream_channel.hpp"
#include "stretto/backend/detail/streams/stream_lane.hpp"
#include "stretto/backend/detail/streams/stream_memory.hpp"
#include "stretto/backend/detail/streams/stream_times.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/units.hpp"

namespace stretto::detail {

/// The base of a backend. `Channel` derives from stream_channel over the calls `A` and knows how collectives are
/// launched. A kernel that can be called with a stream puts its work there. Any other is a function of the host, which
/// is called in its turn and may throw, and for which arenas must be `managed`. Only one thread uses the rank.
template <class Channel, class A>
class stream_rank : public rank_lanes<stream_rank<Channel, A>, Channel, stream_event<A>> {
    using base = rank_lanes<stream_rank, Channel, stream_event<A>>;

public:
    using queue_type = stream_lane<A>;
    using arena_type = stream_memory<A>;
    using typename base::communicator_type, typename base::event_type;
    using stream_type = typename A::stream_type;

    [[nodiscard]] rank_id rank() const noexcept { return run_.rank(); }
    /// Returns the stream of the compute lane.
    [[nodiscard]] stream_type stream() const noexcept { return compute_.stream(); }
    [[nodiscard]] queue_type& compute() noexcept { return compute_; }
    /// Makes n events. If one cannot be made, the run fails.
    [[nodiscard]] event_type* make_events(std::size_t n) {
        event_type* const made = base::add_events(n);
        for (std::size_t k = 0; k < n && !run_.failed(); ++k) run_.make(made[k], A::make_event);
        return made;
    }
    /// Allocates an arena, which must end before the rank. Returns nothing if there is not enough memory, or if the
    /// memory is not aligned or cannot be registered. A run that has failed is no reason: what is bound to it returns
    /// the failure when it is replayed. Its communicators are gone, so there is nothing to register with.
    [[nodiscard]] std::optional<arena_type> make_arena(bytes size, std::size_t alignment) {
        const auto n = static_cast<std::size_t>(size.count);
        arena_type made;
        if (!allocate<A>(made, n, memory_).done()) return {};
        if (reinterpret_cast<std::uintptr_t>(made.data()) % alignment != 0) return {};
        made.release().run = &run_;
        for (std::size_t k = 0; memory_ == device_memory::registered && k < run_.comms.size(); ++k) {
            typename A::handle_type handle = {};
            if (!A::enter(handle, run_.comms[k]->handle, made.data(), std::max(n, std::size_t{1})).done()) return {};
            made.release().handles.emplace_back(run_.comms[k], handle);
        }
        return made;
    }
    /// Begins a replay or a single collective, and forgets an earlier refusal of a capture.
    void begin() {
        run_.refused.reset();
        compute_.begin();
        base::for_all_channels([](communicator_type& c) { return c.begin(), true; });
        if (run_.is_timed() && run_.now == form::replay && !run_.failed()) clock_.set(compute_);
    }
    /// Ends a replay: returns when all streams are done, with the failure if there is one. During a capture or a
    /// comparison there is nothing to wait for; a refused capture is returned like a failure.
    [[nodiscard]] std::optional<run_failure> finish() {
        if (run_.now == form::replay && !run_.failed() && await_lanes() && run_.is_timed()) collect_times();
        if (run_.failed()) drain();
        return run_.failed() ? run_.failure() : run_.refused;
    }

    /// Returns when the tasks of all replays so far have begun and ended here, by the clock of this machine, if the run
    /// is timed: kernels and collectives when the device has them at work, and waits from when the stream of kernels
    /// reaches them. Replays in which any task was recorded are numbered from 0 as steps; captured ones are not timed.
    [[nodiscard]] const std::vector<measured_span>& times() const noexcept { return times_.all(); }

    /// Checks that all ranks have bound the same collectives, with the same amounts as far as these are known, in the
    /// same order, because a mismatch in a replay could be a hang. Nothing is run except the comparison. All ranks call
    /// it at the same time. A difference ends the run and is returned.
    template <class Executor>
    [[nodiscard]] std::optional<run_failure> compare(Executor& bound) {
        run_.now = form::compare;
        std::optional<run_failure> failure = bound.replay();
        run_.now = form::replay;
        base::for_all_channels([](communicator_type& c) { return c.uncount(), true; });
        return failure;
    }

    /// A captured replay: a graph that the device launches as one. It must end before the rank and before the executor
    /// whose replay it is.
    class capture_type {
    public:
        /// Runs the captured replay and returns when it is complete, as executor::replay does. Either all ranks of a
        /// group replay their captures, or all replay the bound order.
        [[nodiscard]] std::optional<run_failure> replay() { return rank_->replay(*this); }

    private:
        friend class stream_rank;
        capture_type() = default;

        stream_rank* rank_ = nullptr;
        owned<typename A::graph_type, &A::end_graph> graph_;
        typename queue_type::host_calls calls_;
        std::vector<std::size_t> collectives_;  // how many there are in each channel
    };
    /// Captures a replay, which is not run. All ranks of the participating groups call it. Returns the capture, or the
    /// failure. Amounts that the step measures, and numbers that the host reads, cannot be captured; such a refusal
    /// does not end the run.
    template <class Executor>
    [[nodiscard]] expected<capture_type, run_failure> capture(Executor& bound) {
        capture_type made;
        if (run_.failed()) return unexpected(*run_.failure());
        run_.now = form::capture;
        std::optional<run_failure> failure;
        const bool began = run_.did(A::begin_capture(stream()));
        if (began && fork()) failure = bound.replay();
        else failure = finish();
        // The streams that the capture has spread to must be joined, and the capture must end, even if it is discarded.
        if (!run_.failed()) join_lanes();
        if (began) {
            const call_result ended = A::end_capture(made.graph_.slot(), stream());
            made.graph_.keep(ended.done());
            if (!failure) run_.did(ended);
        }
        run_.now = form::replay;
        base::for_all_channels([&](communicator_type& c) {
            made.collectives_.push_back(c.in_stream());
            return c.uncount(), true;
        });
        made.rank_ = this;
        made.calls_ = compute_.take_calls();
        if (run_.failed()) failure = finish();
        if (failure) return unexpected(*std::move(failure));
        return expected<capture_type, run_failure>(std::move(made));
    }

protected:
    using form = typename stream_run<A>::form;

    /// `memory` is the kind of memory from which arenas are allocated.
    stream_rank(rank_id rank, std::chrono::milliseconds deadline, device_memory memory, bool timed)
        : run_(rank, deadline, timed), memory_(memory), compute_(run_), times_(rank) {}
    /// Channels end before the run that they refer to.
    ~stream_rank() { base::channels().clear(); }

    [[nodiscard]] stream_run<A>& run() noexcept { return run_; }
    /// Waits after a failure until the streams are done, so that nothing uses memory that the caller will free. All
    /// communicators are aborted by then, so only kernels can take long; the wait ends after the deadline.
    void drain() {
        const auto end = std::chrono::steady_clock::now() + run_.deadline();
        for_all_queues([&](auto& q) {
            if (!q.end().is_there() || !A::record(q.end().get(), q.stream()).done()) return true;
            const auto busy = [&] { return A::query(q.end().get()).is == call_result::state::in_progress; };
            for (patience between(64); busy() && std::chrono::steady_clock::now() < end;) between.pause();
            return true;
        });
    }

private:
    /// Calls f(queue) for every channel and then for the lane of kernels until it returns false. Returns whether all
    /// calls returned true.
    template <class F>
    bool for_all_queues(F f) {
        return base::for_all_channels(f) && f(compute_);
    }

    /// Orders the streams of all channels after the work in the stream of kernels. This spreads a capture to them.
    bool fork() {
        event_type& e = compute_.end();
        return compute_.record(e) && base::for_all_channels([&](communicator_type& c) { return c.wait(e); });
    }
    /// Orders the stream of kernels after the work in the streams of all channels.
    bool join_lanes() {
        return base::for_all_channels(
            [&](communicator_type& c) { return c.record(c.end()) && compute_.wait(c.end()); });
    }

    /// Waits until all streams are done. It awaits each collective by itself, so the deadline applies to each of them.
    /// Returns whether the run continues.
    bool await_lanes() {
        const bool done = for_all_queues([](auto& q) { return q.record(q.end()); }) &&
                          base::for_all_channels([&](communicator_type& c) {
                              for (std::size_t k = 0; k < c.in_stream(); ++k)
                                  if (!await(c.at(k).span.ended, c.at(k).at)) return false;
                              return true;
                          }) &&
                          for_all_queues([&](auto& q) { return await(q.end(), q.site()); });
        return done && run_.poll();  // the last kernel may have thrown
    }
    /// Reads the times of the tasks of the replay, which is complete.
    void collect_times() {
        const auto add = [&](const stream_span<A>& s, const lane_site& at) {
            nanoseconds begin, end;
            if (s.task == no_task) return;
            if (clock_.read(begin, s.began, run_, at) && clock_.read(end, s.ended, run_, at))
                times_.add(s.task, begin, end);
        };
        for (const stream_span<A>& s : compute_.spans()) add(s, compute_.site());
        base::for_all_channels([&](communicator_type& c) {
            for (std::size_t k = 0; k < c.in_stream(); ++k) add(c.at(k).span, c.at(k).at);
            return true;
        });
        times_.end_step();
    }
    /// Waits until an event that belongs to this site is reached. Returns whether the run continues.
    bool await(const event_type& e, const lane_site& at) {
        return run_.await([&] { return A::query(e.get()); }, at, [&](const char* call) { give_up(call); });
    }

    /// Ends the run because `call` has not become done before the deadline. The failure names the first collective that
    /// the device has begun and not completed, if there is one, and lists all lanes that are not done.
    void give_up(const char* call) {
        run_failure f = compute_.site().failure(run_failure::reason::timeout, rank());
        if (!A::query(compute_.end().get()).done()) f.waiting.push_back(compute_.site().waiting(rank()));
        base::for_all_channels([&](communicator_type& c) {
            const auto* const open = c.first_open();
            if (open == nullptr) return true;
            f.waiting.push_back(open->at.waiting(rank()));
            if (f.group != no_group || !A::query(open->span.began.get()).done()) return true;
            f.group = open->at.group;
            f.sequence = open->at.sequence;
            f.task = open->at.task;
            f.detail = std::string(call) + " is never done" + open->at.words();
            return true;
        });
        run_.fail(std::move(f));
    }

    /// Launches a captured graph and waits for it. Its collectives are counted like those of a replay. The progress
    /// within the graph is unknown, so a failure names the first group that takes part.
    [[nodiscard]] std::optional<run_failure> replay(capture_type& captured) {
        begin();
        lane_site at;
        auto count = captured.collectives_.begin();
        base::for_all_channels([&](communicator_type& c) {
            if (*count++ == 0 || at.members != nullptr) return true;
            at = c.site();
            at.sequence = c.sequence();
            at.task = no_task;
            at.operation = "a graph that was captured, whose first collectives are";
            return true;
        });
        if (!run_.failed() && run_.did(A::launch(captured.graph_.get(), stream()), at) &&
            compute_.record(compute_.end()) && run_.await([&] { return A::query(compute_.end().get()); }, at))
            run_.poll();
        count = captured.collectives_.begin();
        base::for_all_channels([&](communicator_type& c) {
            c.count(*count++);
            return c.begin(), true;
        });
        if (run_.failed()) drain();
        return run_.failure();
    }

    stream_run<A> run_;
    device_memory memory_;
    queue_type compute_;
    event_clock<A> clock_;
    step_times times_;
};

}  // namespace stretto::detail

#endif
