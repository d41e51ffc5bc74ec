// The common part of compute lanes and communicators that are streams: the stream, its verbs, and waiting for its work.
#ifndef STRETTO_BACKEND_DETAIL_STREAMS_STREAM_QUEUE_HPP
#define STRETTO_BACKEND_DETAIL_STREAMS_STREAM_QUEUE_HPP

#include "stretto/backend/detail/lane_site.hpp"
#include "stretto/backend/detail/owned.hpp"
#include "stretto/backend/detail/streams/stream_run.hpp"

namespace stretto::detail {

/// An event of the stream runtime, which is ended with the object.
template <class A>
using stream_event = owned<typename A::event_type, &A::end_event>;

/// The base of a lane. Its verbs put nothing into the stream during a comparison, which runs nothing, or after a
/// failure, because the communicator no longer exists.
template <class A>
class stream_queue {
public:
    using event_type = stream_event<A>;
    using stream_type = typename A::stream_type;
    using run_type = stream_run<A>;
    using form = typename run_type::form;

    bool wait(event_type& e) {
        if (run_.now == form::compare || run_.failed()) return !run_.failed();
        return run_.did(A::wait(stream(), e.get()), comm_.at);
    }
    bool record(event_type& e) { return run_.now == form::compare ? !run_.failed() : mark(e); }
    /// Records an event even during a comparison, whose own messages are put into streams and awaited.
    bool mark(event_type& e) { return !run_.failed() && run_.did(A::record(e.get(), stream()), comm_.at); }
    [[nodiscard]] stream_type stream() const noexcept { return stream_.get(); }
    /// Returns the event that is recorded after everything else, to find out when the stream is empty.
    [[nodiscard]] event_type& end() noexcept { return end_; }
    [[nodiscard]] run_type& run() noexcept { return run_; }
    /// Returns the site of the operation that was put into the queue last.
    [[nodiscard]] const lane_site& site() const noexcept { return comm_.at; }

protected:
    explicit stream_queue(run_type& run) : run_(run) {}
    stream_queue(const stream_queue&) = delete;
    stream_queue& operator=(const stream_queue&) = delete;
    ~stream_queue() = default;

    /// Makes the stream, with the highest priority if `first`. Returns whether the run continues.
    bool make(bool first) {
        const auto make_stream = [&](auto& s) { return A::make_stream(s, first); };
        return run_.make(stream_, make_stream, comm_.at) && run_.make(end_, A::make_event, comm_.at);
    }

    /// Waits for all work in the stream. Returns whether the run continues. A collective that was aborted ends too,
    /// without having moved its data, so communicators are polled afterwards.
    bool await_stream() {
        return mark(end_) && run_.await([&] { return A::query(end_.get()); }, comm_.at) && run_.poll();
    }

    run_type& run_;
    stream_comm<A> comm_;  // without a handle in the compute lane

private:
    owned<stream_type, &A::end_stream> stream_;
    event_type end_;
};

}  // namespace stretto::detail

#endif
