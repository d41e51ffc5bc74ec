// What the lanes of a rank on a device share: its failure, what it does at the moment, and how it waits. One thread
// puts everything and polls everything, so that nobody is inside a call when communicators must be aborted.
#ifndef STRETTO_BACKEND_CUDA_NCCL_DETAIL_CUDA_NCCL_RUN_HPP
#define STRETTO_BACKEND_CUDA_NCCL_DETAIL_CUDA_NCCL_RUN_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stretto/backend/cuda_nccl/cuda_nccl_calls.hpp"
#include "stretto/backend/detail/first_failure.hpp"
#include "stretto/backend/detail/lane_site.hpp"
#include "stretto/backend/detail/memory_block.hpp"
#include "stretto/backend/detail/owned.hpp"
#include "stretto/backend/detail/patience.hpp"
#include "stretto/backend/run_failure.hpp"

namespace stretto {

struct cuda_nccl_options {
    std::chrono::milliseconds deadline{60'000};  ///< how long to wait for anything that is one operation
    int device = 0;
    device_memory memory = device_memory::device;  ///< of arenas
    int ctas = 0;  ///< at most so many of each communicator; a power of two, or 0: as NCCL likes
    bool always_compares =
        false;  ///< before every collective, as `compare` does once: to find mistakes, since it waits
};

}  // namespace stretto

namespace stretto::detail {

template <class A>
using cuda_nccl_event = owned<typename A::event_type, &A::end_event>;

/// A communicator of NCCL, and at what it is. The lane of kernels has none, so its handle is null.
template <class A>
struct cuda_nccl_comm {
    typename A::comm_type handle = {};
    lane_site at = {};
};

/// The state of one rank. Only the thread of the rank calls it, but for `threw` and `failed`, which functions in
/// streams may.
template <class A>
class cuda_nccl_run {
public:
    enum class form : std::uint8_t {
        replay,   ///< everything is put into streams
        compare,  ///< only what ranks have come for is compared
        capture   ///< everything is put into streams, which note it
    };
    using comm = cuda_nccl_comm<A>;

    cuda_nccl_run(rank_id rank, cuda_nccl_options options) : rank_(rank), options_(options) {}

    form now = form::replay;
    std::vector<comm*> comms = {};            ///< those that live
    std::optional<run_failure> refused = {};  ///< why this capture cannot be; it ends no run

    [[nodiscard]] rank_id rank() const noexcept { return rank_; }
    [[nodiscard]] const cuda_nccl_options& options() const noexcept { return options_; }
    [[nodiscard]] bool failed() const { return first_.is_there(); }
    [[nodiscard]] bool goes_on() const { return !failed() && !refused; }
    [[nodiscard]] std::optional<run_failure> failure() const { return first_.get(); }

    /// Gives the run up. Only the first failure counts. All communicators are aborted, in one group, because one after
    /// the other they may wait for each other.
    void fail(run_failure why) {
        if (!first_.keep(std::move(why))) return;
        // What aborting says has nobody to hear it: the run has failed before.
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
    /// Whether a call has not failed; if it has, the run is given up. It may be in progress.
    bool did(const char* call, call_result r, const lane_site& at = {}) {
        if (r.failed()) fail(run_failure::reason::call_failed, at, std::string(call) + ": " + r.text + at.words());
        return !failed();
    }
    /// The same for a call on a communicator; if it is in progress, waits until it is not.
    bool did(const char* call, call_result r, const comm& c) {
        if (!did(call, r, c.at)) return false;
        return r.done() || await(call, [&] { return A::is_null(c.handle) ? call_result{} : A::state(c.handle); }, c.at);
    }
    /// The same for a call, `writer(handle)`, that makes something, which is kept.
    template <class T, auto End, class Writer>
    bool make(owned<T, End>& to, const char* call, Writer writer, const lane_site& at = {}) {
        const call_result r = writer(to.slot());
        to.keep(r.done());
        return did(call, r, at);
    }

    /// Waits until `query()` is done, or has failed as a part of `call`, while all communicators are polled. What takes
    /// longer than the deadline ends the run, as `late()` says.
    template <class Query, class Late>
    bool await(const char* call, Query query, const lane_site& at, Late late) {
        const auto end = std::chrono::steady_clock::now() + options_.deadline;
        for (patience between(64);; between.pause()) {
            const call_result r = query();
            if (!did(call, r, at)) return false;
            if (r.done()) return true;
            // An error of any communicator ends this wait too, because what is waited for may depend on it.
            if (!poll()) return false;
            if (std::chrono::steady_clock::now() > end) return late(), false;
        }
    }
    template <class Query>
    bool await(const char* call, Query query, const lane_site& at) {
        return await(call, query, at, [&] {
            fail(run_failure::reason::timeout, at, std::string(call) + " does not return" + at.words());
        });
    }

    /// Whether no kernel has thrown, and no communicator has failed. What has thrown cannot end the run where it is,
    /// because only this thread may abort.
    bool poll() {
        if (thrown_.is_there()) fail(*thrown_.get());
        for (std::size_t k = 0; k < comms.size(); ++k)
            if (!did("ncclCommGetAsyncError", A::state(comms[k]->handle), comms[k]->at)) return false;
        return !failed();
    }
    /// A kernel has thrown. Any thread may say so.
    void threw(task_id t, std::string what) {
        thrown_.keep(lane_site{.task = t}.failure(run_failure::reason::kernel_threw, rank_, std::move(what)));
    }

private:
    rank_id rank_;
    cuda_nccl_options options_;
    first_failure first_, thrown_;
};

/// A stream with the verbs that kernels and collectives have in common. In a comparison nothing is put into it.
template <class A>
class cuda_nccl_queue {
public:
    using event_type = cuda_nccl_event<A>;
    using stream_type = typename A::stream_type;
    using run_type = cuda_nccl_run<A>;
    using form = typename run_type::form;

    /// After a failure nothing is put into a stream any more: its communicator may be gone.
    bool wait(event_type& e) {
        if (run_.now == form::compare || run_.failed()) return !run_.failed();
        return run_.did("cudaStreamWaitEvent", A::wait(stream(), e.get()), comm_.at);
    }
    bool record(event_type& e) { return run_.now == form::compare ? !run_.failed() : mark(e); }
    /// The same in a comparison too, which puts work of its own into streams and waits for it.
    bool mark(event_type& e) {
        return !run_.failed() && run_.did("cudaEventRecord", A::record(e.get(), stream()), comm_.at);
    }
    [[nodiscard]] stream_type stream() const noexcept { return stream_.get(); }
    /// Recorded behind everything, when somebody wants to know that the stream is empty.
    [[nodiscard]] event_type& end() noexcept { return end_; }
    /// At what the queue is: what was put into it last.
    [[nodiscard]] const lane_site& site() const noexcept { return comm_.at; }

protected:
    explicit cuda_nccl_queue(run_type& run) : run_(run) {}
    cuda_nccl_queue(const cuda_nccl_queue&) = delete;
    cuda_nccl_queue& operator=(const cuda_nccl_queue&) = delete;
    ~cuda_nccl_queue() = default;

    /// Makes the stream, before others if `first`.
    bool make(bool first) {
        return run_.make(
                   stream_, "cudaStreamCreate", [&](auto& s) { return A::make_stream(s, first); }, comm_.at) &&
               run_.make(end_, "cudaEventCreate", A::make_event, comm_.at);
    }

    /// Waits for all that is in the stream. What is aborted elsewhere ends, too, without having moved anything; so the
    /// communicator is asked afterwards.
    bool await_stream() {
        return mark(end_) &&
               run_.await("cudaEventQuery", [&] { return A::query(end_.get()); }, comm_.at) && run_.poll();
    }

    run_type& run_;
    cuda_nccl_comm<A> comm_;

private:
    owned<stream_type, &A::end_stream> stream_;
    event_type end_;
};

/// How memory ends: it leaves the communicators that it was registered with, in the order in which it has entered them.
/// After a failure they are aborted, and know of it no more.
template <class A>
struct cuda_nccl_release {
    device_memory kind = device_memory::device;
    const cuda_nccl_run<A>* run = nullptr;
    std::vector<std::pair<cuda_nccl_comm<A>*, typename A::handle_type>> handles = {};

    void operator()(std::byte* memory) const noexcept {
        for (std::size_t k = 0; k < handles.size() && !run->failed(); ++k)
            static_cast<void>(A::leave(handles[k].first->handle, handles[k].second));
        static_cast<void>(A::release(memory, kind));
    }
};

template <class A>
using cuda_nccl_memory = memory_block<cuda_nccl_release<A>>;

/// Allocates `size` bytes, and so many more that there is an address.
template <class A>
[[nodiscard]] call_result allocate(cuda_nccl_memory<A>& to, std::size_t size, device_memory kind) {
    void* made = nullptr;
    const call_result r = A::allocate(made, size == 0 ? 1 : size, kind);
    if (r.done()) to = {static_cast<std::byte*>(made), size, {kind}};
    return r;
}

}  // namespace stretto::detail

#endif
