// The state that the lanes of a rank share if they are streams: its failure, its current mode, and how it waits. One
// thread makes all calls and polls all communicators, so no other thread is inside a call when they must be aborted.
#ifndef STRETTO_BACKEND_DETAIL_STREAMS_STREAM_RUN_HPP
#define STRETTO_BACKEND_DETAIL_STREAMS_STREAM_RUN_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stretto/backend/detail/first_failure.hpp"
#include "stretto/backend/detail/lane_site.hpp"
#include "stretto/backend/detail/owned.hpp"
#include "stretto/backend/detail/patience.hpp"
#include "stretto/backend/run_failure.hpp"
#include "stretto/backend/stream_calls.hpp"

namespace stretto::detail {

/// A communicator and the site of its last operation. The lane of kernels has no communicator, so its handle is null.
template <class A>
struct stream_comm {
    typename A::comm_type handle = {};
    lane_site at = {};
};

/// The state of one rank. Only the thread of the rank uses it, except that functions that streams call may use
/// `threw`, `has_thrown` and `failed`. `A` models stream_calls and polled_communicator_calls.
template <class A>
class stream_run {
public:
    enum class form : std::uint8_t {
        replay,   ///< work is put into streams
        compare,  ///< ranks compare their operations, and nothing else is put into streams
        capture   ///< work is put into streams, which record it and do not run it
    };
    using comm = stream_comm<A>;

    /// Makes the state of a rank on which no wait for a single operation is longer than the deadline. In a timed run,
    /// lanes record when tasks begin and end.
    stream_run(rank_id rank, std::chrono::milliseconds deadline, bool timed)
        : rank_(rank), deadline_(deadline), timed_(timed) {}

    form now = form::replay;
    std::vector<comm*> comms = {};            ///< the communicators that exist; they are polled, and aborted on failure
    std::optional<run_failure> refused = {};  ///< why the current capture is impossible; it does not end the run

    [[nodiscard]] rank_id rank() const noexcept { return rank_; }
    [[nodiscard]] std::chrono::milliseconds deadline() const noexcept { return deadline_; }
    [[nodiscard]] bool is_timed() const noexcept { return timed_; }
    [[nodiscard]] bool failed() const { return first_.is_there(); }
    /// Returns whether the current replay or capture continues.
    [[nodiscard]] bool goes_on() const { return !failed() && !refused; }
    [[nodiscard]] std::optional<run_failure> failure() const { return first_.get(); }

    /// Ends the run with a failure. Only the first failure counts. All communicators are aborted in one group, because
    /// separate aborts might wait for each other.
    void fail(run_failure why) {
        if (!first_.keep(std::move(why))) return;
        // Errors of the abort itself are ignored, because the run has already failed.
        static_cast<void>(A::begin_group());
        for (comm* c : comms)
            if (!A::is_null(c->handle)) static_cast<void>(A::abort(c->handle));
        static_cast<void>(A::end_group());
        for (comm* c : comms) c->handle = {};
        comms.clear();
    }
    void fail(run_failure::reason why, const lane_site& at, std::string detail) {
        fail(at.failure(why, rank_, std::move(detail)));
    }
    /// Gives the run up if a call has failed. Returns whether the run continues; the call may be in progress.
    bool did(call_result r, const lane_site& at = {}) {
        if (r.failed()) fail(run_failure::reason::call_failed, at, std::string(r.call) + ": " + r.text + at.words());
        return !failed();
    }
    /// Does the same for a call on a communicator, and if the call is in progress, waits until it is done.
    bool did(call_result r, const comm& c) {
        if (!did(r, c.at)) return false;
        const auto state = [&] { return A::is_null(c.handle) ? call_result{} : A::state(c.handle).of(r.call); };
        return r.done() || await(state, c.at);
    }
    /// Makes a call `writer(handle)` that creates an object, which `to` then owns. Returns whether the run continues.
    template <class T, auto End, class Writer>
    bool make(owned<T, End>& to, Writer writer, const lane_site& at = {}) {
        const call_result r = writer(to.slot());
        to.keep(r.done());
        return did(r, at);
    }

    /// Calls `query()` until the result is done, and polls all communicators meanwhile. Returns true then, or false
    /// once the run has failed. If it takes longer than the deadline, it calls `late(name of the call)`, which ends the
    /// run.
    template <class Query, class Late>
    bool await(Query query, const lane_site& at, Late late) {
        const auto end = std::chrono::steady_clock::now() + deadline_;
        for (patience between(64);; between.pause()) {
            const call_result r = query();
            if (!did(r, at)) return false;
            if (r.done()) return true;
            // An error of any communicator ends this wait too, because what is waited for may depend on it.
            if (!poll()) return false;
            if (std::chrono::steady_clock::now() > end) return late(r.call), false;
        }
    }
    template <class Query>
    bool await(Query query, const lane_site& at) {
        return await(query, at, [&](const char* call) {
            fail(run_failure::reason::timeout, at, std::string(call) + " does not return" + at.words());
        });
    }

    /// Gives the run up if a kernel has thrown or a communicator has failed. Returns whether the run continues. A
    /// kernel that throws in a stream cannot end the run itself, because only this thread may abort communicators.
    bool poll() {
        if (thrown_.is_there()) fail(*thrown_.get());
        for (std::size_t k = 0; k < comms.size(); ++k)
            if (!did(A::state(comms[k]->handle), comms[k]->at)) return false;
        return !failed();
    }
    /// Notes that a kernel has thrown, for the next `poll`. Any thread may call it.
    void threw(task_id t, std::string what) {
        thrown_.keep(lane_site{.task = t}.failure(run_failure::reason::kernel_threw, rank_, std::move(what)));
    }
    /// Returns whether a kernel has thrown, even if no `poll` has ended the run yet.
    [[nodiscard]] bool has_thrown() const { return thrown_.is_there(); }

private:
    rank_id rank_;
    std::chrono::milliseconds deadline_;
    bool timed_;
    first_failure first_, thrown_;  // the failure of the run, and the first kernel that has thrown
};

}  // namespace stretto::detail

#endif
