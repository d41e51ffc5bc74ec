// The compute lane of a rank whose lanes are streams. It puts kernels of the device into its stream, and functions of
// the host, which the stream calls in their turn.
#ifndef STRETTO_BACKEND_DETAIL_STREAMS_STREAM_LANE_HPP
#define STRETTO_BACKEND_DETAIL_STREAMS_STREAM_LANE_HPP

#include <concepts>
#include <cstddef>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "stretto/backend/detail/failure_of.hpp"
#include "stretto/backend/detail/streams/stream_queue.hpp"
#include "stretto/backend/detail/streams/stream_times.hpp"

namespace stretto::detail {

/// A kernel that is a function of the host, as an entry of a stream. It must keep its address until the stream has
/// called it for the last time.
template <class A>
struct host_call_in_stream {
    stream_run<A>* run;
    void (*perform)(void*);
    void* kernel;
    task_id task;

    /// The function that the stream calls. A stream runs its remaining entries even after a failure, so none calls its
    /// kernel once the run has failed, or an earlier kernel has thrown and not made what this one may read.
    static void call(void* data) {
        const auto& c = *static_cast<const host_call_in_stream*>(data);
        if (c.run->failed() || c.run->has_thrown()) return;
        if (auto thrown = failure_of([&] { c.perform(c.kernel); })) c.run->threw(c.task, *std::move(thrown));
    }
};

/// The compute lane. Its site has no group, because its failures are failures of kernels.
template <class A>
class stream_lane : public stream_queue<A> {
    using base = stream_queue<A>;
    using base::run_, base::comm_;

public:
    using host_calls = std::deque<host_call_in_stream<A>>;

    explicit stream_lane(stream_run<A>& run) : base(run) {}
    bool make() { return base::make(false); }

    /// Orders the stream after an event. In a timed run, the span of the next task begins before its first wait.
    bool wait(typename base::event_type& e) { return (is_open_ || begin_span()) && base::wait(e); }
    /// Makes a task without work the current one, to which failures are attributed; in a timed run, its span is that of
    /// its waits. Returns whether the replay continues.
    bool pass(task_id t) {
        comm_.at.task = t;
        if (is_open_) end_span();
        return run_.goes_on();
    }
    /// Waits for all work in the stream, because the host reads a number. During a capture there is no number yet, so
    /// the capture is refused.
    bool settle() {
        if (run_.goes_on() && run_.now == base::form::capture)
            run_.refused = comm_.at.failure(run_failure::reason::call_failed, run_.rank(),
                                            "a number that the host reads cannot be captured");
        if (!run_.goes_on() || run_.now == base::form::compare) return run_.goes_on();
        return base::await_stream();
    }
    /// Puts a kernel. One that takes a stream is called here and puts its work into the stream; any other is a function
    /// of the host, which the stream calls. If the former throws, the run fails here; if the latter throws, it fails
    /// when the rank polls.
    template <class Kernel>
    bool launch(task_id t, Kernel& kernel) {
        comm_.at.task = t;
        if (!run_.goes_on() || run_.now == base::form::compare) return run_.goes_on();
        return begin_span() && put(t, kernel) && end_span();
    }

    /// Begins a replay, which reuses the entries and the spans of the previous one.
    void begin() {
        used_ = timed_ = 0;
        is_open_ = false;
        pass(no_task);
    }
    /// Returns the entries of a capture, to which its graph refers, and keeps none.
    [[nodiscard]] host_calls take_calls() { return std::exchange(calls_, {}); }
    /// Returns the spans of kernels and waits since `begin`, if the run is timed.
    [[nodiscard]] std::span<const stream_span<A>> spans() const noexcept { return {spans_.data(), timed_}; }

private:
    template <class Kernel>
    bool put(task_id t, Kernel& kernel) {
        if constexpr (std::invocable<Kernel&, typename base::stream_type>) {
            auto thrown = failure_of([&] { kernel(this->stream()); });
            if (!thrown) return run_.did(A::may_put().of("a kernel"), comm_.at);
            run_.threw(t, *std::move(thrown));
            return run_.poll();
        } else {
            if (used_ == calls_.size()) calls_.emplace_back();
            host_call_in_stream<A>& c = calls_[used_++];
            c = {&run_, [](void* k) { (*static_cast<Kernel*>(k))(); }, &kernel, t};
            return run_.did(A::call(this->stream(), &host_call_in_stream<A>::call, &c), comm_.at);
        }
    }

    /// Begins the span of the next task here, or again here if it is open, when the run is timed. Captures are not, nor
    /// are comparisons. Returns whether the run continues.
    bool begin_span() {
        if (!run_.is_timed() || run_.now != base::form::replay || run_.failed()) return !run_.failed();
        if (!is_open_ && timed_ == spans_.size() && !spans_.emplace_back().make(run_, comm_.at))
            return spans_.pop_back(), false;
        if (!is_open_) ++timed_;
        is_open_ = true;
        return base::record(spans_[timed_ - 1].began);
    }
    /// Ends the open span, if there is one, as that of the current task. Returns whether the run continues.
    bool end_span() {
        if (!std::exchange(is_open_, false)) return !run_.failed();
        spans_[timed_ - 1].task = comm_.at.task;
        return base::record(spans_[timed_ - 1].ended);
    }

    host_calls calls_;      // reused by each replay; a deque, because streams hold the addresses of its elements
    std::size_t used_ = 0;  // how many of them the current replay uses
    std::vector<stream_span<A>> spans_;  // reused by each replay
    std::size_t timed_ = 0;              // how many of them the current replay uses
    bool is_open_ = false;               // whether the last of these has begun and not ended
};

}  // namespace stretto::detail

#endif
