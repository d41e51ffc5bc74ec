// A stream with the verbs that kernels and collectives have in common.
#ifndef STRETTO_BACKEND_DETAIL_STREAMS_STREAM_QUEUE_HPP
#define STRETTO_BACKEND_DETAIL_STREAMS_STREAM_QUEUE_HPP

#include "stretto/backend/detail/lane_site.hpp"
#include "stretto/backend/detail/owned.hpp"
#include "stretto/backend/detail/streams/stream_run.hpp"

namespace stretto::detail {

template <class A>
using stream_event = owned<typename A::event_type, &A::end_event>;

/// During a comparison nothing is put into the stream, nor after a failure, because its communicator may no longer
/// exist.
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
    /// Records an event even during a comparison, which puts its own work into streams and waits for it.
    bool mark(event_type& e) { return !run_.failed() && run_.did(A::record(e.get(), stream()), comm_.at); }
    [[nodiscard]] stream_type stream() const noexcept { return stream_.get(); }
    /// The event that is recorded after everything else, to learn when the stream is empty.
    [[nodiscard]] event_type& end() noexcept { return end_; }
    /// The site of the operation that was put into the queue last.
    [[nodiscard]] const lane_site& site() const noexcept { return comm_.at; }

protected:
    explicit stream_queue(run_type& run) : run_(run) {}
    stream_queue(const stream_queue&) = delete;
    stream_queue& operator=(const stream_queue&) = delete;
    ~stream_queue() = default;

    /// Makes the stream, with a higher priority than others if `first`.
    bool make(bool first) {
        const auto make_stream = [&](auto& s) { return A::make_stream(s, first); };
        return run_.make(stream_, make_stream, comm_.at) && run_.make(end_, A::make_event, comm_.at);
    }

    /// Waits for all work in the stream. An aborted collective also ends, without having moved data, so the
    /// communicator is polled afterwards.
    bool await_stream() {
        return mark(end_) && run_.await([&] { return A::query(end_.get()); }, comm_.at) && run_.poll();
    }

    run_type& run_;
    stream_comm<A> comm_;

private:
    owned<stream_type, &A::end_stream> stream_;
    event_type end_;
};

}  // namespace stretto::detail

#endif
