// The times of tasks whose lanes are streams: events that measure time are recorded around the work of each task, and
// read when the replay is complete.
#ifndef STRETTO_BACKEND_DETAIL_STREAMS_STREAM_TIMES_HPP
#define STRETTO_BACKEND_DETAIL_STREAMS_STREAM_TIMES_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/backend/detail/streams/stream_queue.hpp"
#include "stretto/schedule/measured_span.hpp"

namespace stretto::detail {

/// The interval of one task on a lane, between two events.
template <class A>
struct stream_span {
    task_id task = no_task;
    stream_event<A> began = {}, ended = {};

    /// Makes the events, which measure time if the run is timed. Returns whether the run continues.
    bool make(stream_run<A>& run, const lane_site& at) {
        const auto make_event = [&](auto& e) { return run.is_timed() ? A::make_timed_event(e) : A::make_event(e); };
        return run.make(began, make_event, at) && run.make(ended, make_event, at);
    }
};

/// Relates events to the clock of the host, `std::chrono::steady_clock`, which is that of other backends and that of
/// all processes of a machine. It is set anew for each replay, because the precision of the time between two events
/// decreases with their distance.
template <class A>
class event_clock {
public:
    /// Sets the clock. The queue must have no work, so that its next event is reached at once. Times are then early by
    /// less than the host needs to put an event and to see that it was reached, some 10 us; they are never late, so no
    /// step seems to begin before the previous one has ended. Returns whether the run continues.
    bool set(stream_queue<A>& idle) {
        auto& run = idle.run();
        if (!zero_.is_there() && !run.make(zero_, A::make_timed_event, idle.site())) return false;
        zero_at_ =
            std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
                .count();
        return idle.record(zero_) && run.await([&] { return A::query(zero_.get()); }, idle.site());
    }
    /// Reads when an event was reached, in ns. It must have been made to measure time, and been reached since the clock
    /// was set. Returns whether the run continues.
    bool read(nanoseconds& to, const stream_event<A>& e, stream_run<A>& run, const lane_site& at) const {
        std::int64_t since = 0;
        if (!run.did(A::elapsed(since, zero_.get(), e.get()), at)) return false;
        to = {zero_at_ + since};
        return true;
    }

private:
    stream_event<A> zero_;
    std::int64_t zero_at_ = 0;  // by the clock of the host
};

}  // namespace stretto::detail

#endif
