// The compute lane of a rank whose lanes are streams. It puts kernels of the device into its stream, and functions of
// the host, which the stream calls in their turn.
#ifndef STRETTO_BACKEND_DETAIL_STREAMS_STREAM_LANE_HPP
#define STRETTO_BACKEND_DETAIL_STREAMS_STREAM_LANE_HPP

#include <concepts>
#include <cstddef>
#include <deque>
#include <utility>

#include "stretto/backend/detail/failure_of.hpp"
#include "stretto/backend/detail/streams/stream_queue.hpp"

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

    /// Makes a task the current one, to which failures are attributed. Returns whether the replay continues.
    bool pass(task_id t) {
        comm_.at.task = t;
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
        if (!pass(t) || run_.now == base::form::compare) return run_.goes_on();
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

    /// Begins a replay, which reuses the entries of the previous one.
    void begin() {
        used_ = 0;
        pass(no_task);
    }
    /// Returns the entries of a capture, to which its graph refers, and keeps none.
    [[nodiscard]] host_calls take_calls() { return std::exchange(calls_, {}); }

private:
    host_calls calls_;      // reused by each replay; a deque, because streams hold the addresses of its elements
    std::size_t used_ = 0;  // how many of them the current replay uses
};

}  // namespace stretto::detail

#endif
