// The compute lane of a rank on a device: a stream of kernels.
#ifndef STRETTO_BACKEND_CUDA_NCCL_DETAIL_CUDA_NCCL_LANE_HPP
#define STRETTO_BACKEND_CUDA_NCCL_DETAIL_CUDA_NCCL_LANE_HPP

#include <concepts>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "stretto/backend/cuda_nccl/detail/cuda_nccl_run.hpp"
#include "stretto/backend/detail/failure_of.hpp"

namespace stretto::detail {

/// A kernel of the host as an entry of a stream.
template <class A>
struct cuda_nccl_host_call {
    cuda_nccl_run<A>* run;
    void (*perform)(void*);
    void* kernel;
    task_id task;

    /// After a failure, what is in streams is still run through, but no kernel is.
    static void call(void* data) {
        const auto& c = *static_cast<const cuda_nccl_host_call*>(data);
        if (c.run->failed()) return;
        if (auto thrown = failure_of([&] { c.perform(c.kernel); })) c.run->threw(c.task, *std::move(thrown));
    }
};

template <class A>
class cuda_nccl_lane {
public:
    using event_type = cuda_nccl_event<A>;
    using stream_type = typename A::stream_type;
    using host_calls = std::deque<cuda_nccl_host_call<A>>;

    explicit cuda_nccl_lane(cuda_nccl_run<A>& run) : run_(run) {}
    bool make() { return stream_.make(run_, false) && end_.make(run_); }

    bool wait(event_type& e) {
        return run_.now == cuda_nccl_run<A>::form::compare || e.wait(run_, stream_.get(), {.task = task_});
    }
    bool record(event_type& e) {
        return run_.now == cuda_nccl_run<A>::form::compare || e.record(run_, stream_.get(), {.task = task_});
    }
    bool pass(task_id t) {
        task_ = t;
        return run_.goes_on();
    }
    /// A kernel that takes a stream puts its work into it here. Any other is a function of the host, which the stream
    /// calls.
    template <class Kernel>
    bool launch(task_id t, Kernel& kernel) {
        task_ = t;
        if (!run_.goes_on() || run_.now == cuda_nccl_run<A>::form::compare) return run_.goes_on();
        const cuda_nccl_site at{.task = t};
        if constexpr (std::invocable<Kernel&, stream_type>) {
            auto thrown = failure_of([&] { kernel(stream_.get()); });
            if (!thrown) return run_.did("a kernel", A::may_put(), at);
            run_.threw(t, *std::move(thrown));
            return run_.poll();
        } else {
            if (used_ == calls_.size()) calls_.emplace_back();
            cuda_nccl_host_call<A>& c = calls_[used_++];
            c = {&run_, [](void* k) { (*static_cast<Kernel*>(k))(); }, &kernel, t};
            return run_.did("cudaLaunchHostFunc", A::call(stream_.get(), &cuda_nccl_host_call<A>::call, &c), at);
        }
    }

    void begin() {
        used_ = 0;
        task_ = no_task;
    }
    /// The calls of a capture, which the graph refers to.
    [[nodiscard]] host_calls take_calls() { return std::exchange(calls_, {}); }
    [[nodiscard]] stream_type stream() const noexcept { return stream_.get(); }
    [[nodiscard]] event_type& end() noexcept { return end_; }
    [[nodiscard]] task_id task() const noexcept { return task_; }

private:
    cuda_nccl_run<A>& run_;
    cuda_nccl_stream<A> stream_;
    event_type end_;
    host_calls calls_;  // as many as a replay has had; used again by the next
    std::size_t used_ = 0;
    task_id task_ = no_task;
};

}  // namespace stretto::detail

#endif
