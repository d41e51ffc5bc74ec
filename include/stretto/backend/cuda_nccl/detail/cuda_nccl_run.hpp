// What the lanes of a rank on a device share: its failure, what it does at the moment, and how it waits. One thread
// puts everything and polls everything, so that nobody is inside a call when communicators must be aborted.
#ifndef STRETTO_BACKEND_CUDA_NCCL_DETAIL_CUDA_NCCL_RUN_HPP
#define STRETTO_BACKEND_CUDA_NCCL_DETAIL_CUDA_NCCL_RUN_HPP

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "stretto/backend/cuda_nccl/cuda_nccl_calls.hpp"
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

/// Where a rank is: at a collective, at a kernel, or neither.
struct cuda_nccl_site {
    group_id group = no_group;
    std::uint32_t sequence = 0;
    task_id task = no_task;
    std::string_view operation = {};
    const std::vector<rank_id>* members = nullptr;

    [[nodiscard]] std::string words() const {
        if (members == nullptr) return {};
        std::string text = ", in " + std::string(operation) + " among ranks";
        for (const rank_id r : *members) text += " " + std::to_string(r);
        return text;
    }
};

/// A communicator of NCCL, and at what it is.
template <class A>
struct cuda_nccl_comm {
    typename A::comm_type handle = {};
    cuda_nccl_site at = {};
};

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
    cuda_nccl_run(const cuda_nccl_run&) = delete;
    cuda_nccl_run& operator=(const cuda_nccl_run&) = delete;

    form now = form::replay;
    std::vector<comm*> comms = {};            ///< those that live
    std::optional<run_failure> refused = {};  ///< why this capture cannot be; it ends no run

    [[nodiscard]] rank_id rank() const noexcept { return rank_; }
    [[nodiscard]] const cuda_nccl_options& options() const noexcept { return options_; }
    [[nodiscard]] bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }
    [[nodiscard]] bool goes_on() const noexcept { return !failed() && !refused; }
    [[nodiscard]] const std::optional<run_failure>& failure() const noexcept { return failure_; }

    /// Gives the run up. Only the first failure counts. All communicators are aborted, in one group, because one after
    /// the other they may wait for each other.
    void fail(run_failure why) {
        if (failure_) return;
        failure_ = std::move(why);
        failed_.store(true, std::memory_order_release);
        static_cast<void>(A::begin_group());
        for (comm* c : comms)
            if (!A::is_null(c->handle)) static_cast<void>(A::abort(c->handle));
        static_cast<void>(A::end_group());
        for (comm* c : comms) c->handle = {};
        comms.clear();
    }
    void fail(run_failure::reason why, const cuda_nccl_site& at, std::string detail) {
        fail(run_failure{why, rank_, at.group, at.sequence, at.task, std::move(detail), {}});
    }
    /// Whether a call has not failed; if it has, the run is given up. It may be in progress.
    bool did(const char* call, call_result r, const cuda_nccl_site& at = {}) {
        if (!r.failed()) return !failed();
        fail(run_failure::reason::call_failed, at, std::string(call) + ": " + r.text + at.words());
        return false;
    }
    /// The same for a call on a communicator; if it is in progress, waits until it is not.
    bool did(const char* call, call_result r, const comm& c) {
        if (!did(call, r, c.at)) return false;
        return r.done() || await(call, [&] { return A::is_null(c.handle) ? call_result{} : A::state(c.handle); }, c.at);
    }

    /// Waits until `query()` is done, or has failed as a part of `call`, while all communicators are polled. What takes
    /// longer than the deadline ends the run, as `late()` says.
    template <class Query, class Late>
    bool await(const char* call, Query query, const cuda_nccl_site& at, Late late) {
        using clock = std::chrono::steady_clock;
        const clock::time_point begin = clock::now();
        for (std::uint32_t turns = 0;; ++turns) {
            const call_result r = query();
            if (!did(call, r, at)) return false;
            if (r.done()) return true;
            if (!poll()) return false;
            if (clock::now() - begin > options_.deadline) return late(), false;
            if (turns < 64) std::this_thread::yield();
            else std::this_thread::sleep_for(std::chrono::microseconds(20));
        }
    }
    template <class Query>
    bool await(const char* call, Query query, const cuda_nccl_site& at) {
        return await(call, query, at, [&] {
            fail(run_failure::reason::timeout, at, std::string(call) + " does not return" + at.words());
        });
    }

    /// Whether no kernel has thrown, and no communicator has failed.
    bool poll() {
        if (threw_.load(std::memory_order_acquire)) {
            const std::lock_guard lock(mutex_);
            fail(run_failure{run_failure::reason::kernel_threw, rank_, no_group, 0, thrower_, thrown_, {}});
        }
        for (std::size_t k = 0; k < comms.size(); ++k)
            if (!did("ncclCommGetAsyncError", A::state(comms[k]->handle), comms[k]->at)) return false;
        return !failed();
    }
    /// A kernel has thrown. Any thread may say so.
    void threw(task_id t, std::string what) {
        const std::lock_guard lock(mutex_);
        if (threw_.load(std::memory_order_relaxed)) return;
        thrower_ = t;
        thrown_ = std::move(what);
        threw_.store(true, std::memory_order_release);
    }

private:
    rank_id rank_;
    cuda_nccl_options options_;
    std::optional<run_failure> failure_;
    std::atomic<bool> failed_ = false, threw_ = false;
    std::mutex mutex_;
    task_id thrower_ = no_task;
    std::string thrown_;
};

/// An event, which belongs to whoever has it.
template <class A>
class cuda_nccl_event {
public:
    cuda_nccl_event() = default;
    cuda_nccl_event(cuda_nccl_event&& other) noexcept
        : event_(other.event_), made_(std::exchange(other.made_, false)) {}
    cuda_nccl_event& operator=(cuda_nccl_event&&) = delete;
    ~cuda_nccl_event() {
        if (made_) static_cast<void>(A::end_event(event_));
    }
    bool make(cuda_nccl_run<A>& run, const cuda_nccl_site& at = {}) {
        const call_result r = A::make_event(event_);
        made_ = r.done();
        return run.did("cudaEventCreate", r, at);
    }
    bool record(cuda_nccl_run<A>& run, typename A::stream_type s, const cuda_nccl_site& at) {
        return !run.failed() && run.did("cudaEventRecord", A::record(event_, s), at);
    }
    bool wait(cuda_nccl_run<A>& run, typename A::stream_type s, const cuda_nccl_site& at) {
        return !run.failed() && run.did("cudaStreamWaitEvent", A::wait(s, event_), at);
    }
    /// Without regard to failures.
    [[nodiscard]] call_result record(typename A::stream_type s) { return A::record(event_, s); }
    [[nodiscard]] bool made() const noexcept { return made_; }
    [[nodiscard]] call_result query() const { return A::query(event_); }

private:
    typename A::event_type event_ = {};
    bool made_ = false;
};

/// A stream, which ends with its owner.
template <class A>
class cuda_nccl_stream {
public:
    cuda_nccl_stream() = default;
    cuda_nccl_stream(const cuda_nccl_stream&) = delete;
    cuda_nccl_stream& operator=(const cuda_nccl_stream&) = delete;
    ~cuda_nccl_stream() {
        if (made_) static_cast<void>(A::end_stream(stream_));
    }
    bool make(cuda_nccl_run<A>& run, bool first) {
        const call_result r = A::make_stream(stream_, first);
        made_ = r.done();
        return run.did("cudaStreamCreate", r);
    }
    [[nodiscard]] typename A::stream_type get() const noexcept { return stream_; }

private:
    typename A::stream_type stream_ = {};
    bool made_ = false;
};

/// How memory ends: after a failure, no communicator knows of it any more.
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

/// Memory, which ends with its owner.
template <class A>
using cuda_nccl_memory = std::unique_ptr<std::byte, cuda_nccl_release<A>>;

template <class A>
[[nodiscard]] call_result allocate(cuda_nccl_memory<A>& to, std::size_t size, device_memory kind) {
    void* made = nullptr;
    const call_result r = A::allocate(made, size, kind);
    if (r.done()) to = cuda_nccl_memory<A>(static_cast<std::byte*>(made), {kind});
    return r;
}

}  // namespace stretto::detail

#endif
