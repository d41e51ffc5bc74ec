// A rank whose lanes are threads of this process. The ranks of host_world and mpi_world are such backends.
#ifndef STRETTO_BACKEND_DETAIL_THREADS_THREAD_RANK_HPP
#define STRETTO_BACKEND_DETAIL_THREADS_THREAD_RANK_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "stretto/backend/concepts.hpp"
#include "stretto/backend/detail/memory_block.hpp"
#include "stretto/backend/detail/rank_lanes.hpp"
#include "stretto/backend/detail/step_times.hpp"
#include "stretto/backend/detail/threads/host_lane.hpp"
#include "stretto/backend/detail/threads/host_word.hpp"
#include "stretto/backend/detail/threads/verb_channel.hpp"
#include "stretto/core/process_group.hpp"
#include "stretto/schedule/measured_span.hpp"

namespace stretto::detail {

/// Frees memory of the host, which was allocated with the given alignment.
struct host_release {
    std::align_val_t alignment = {};
    void operator()(std::byte* memory) const noexcept { ::operator delete(memory, alignment); }
};

/// The backend to which the program of a rank binds orders. Only the thread of the rank uses it. `Group` performs
/// collectives, see verb_channel. `Run` is a host_run or derives from it: after a failure, its `settle()` returns the
/// failure when nothing uses the memory of this rank any more.
template <class Group, class Run>
class thread_rank : public rank_lanes<thread_rank<Group, Run>, verb_channel<Group>, host_event> {
    using base = rank_lanes<thread_rank<Group, Run>, verb_channel<Group>, host_event>;

public:
    using queue_type = host_lane;
    using arena_type = memory_block<host_release>;
    using typename base::event_type;

    thread_rank(Run& run, rank_id rank) : run_(run), rank_(rank), times_(rank), compute_(run, rank) {}

    [[nodiscard]] rank_id rank() const noexcept { return rank_; }
    [[nodiscard]] queue_type& compute() noexcept { return compute_; }
    /// Makes n events. A failure of the run closes them, so that no lane sleeps on one forever.
    [[nodiscard]] event_type* make_events(std::size_t n) {
        event_type* const made = base::add_events(n);
        for (std::size_t k = 0; k < n; ++k) run_.enter(made[k].done);
        return made;
    }
    /// Allocates an arena. Returns nothing if there is not enough memory, which is not a failure of the run.
    /// Precondition: `alignment` is a power of two.
    [[nodiscard]] std::optional<arena_type> make_arena(bytes size, std::size_t alignment) {
        const auto count = static_cast<std::size_t>(size.count);
        void* const memory = ::operator new(count == 0 ? 1 : count, std::align_val_t(alignment), std::nothrow);
        if (memory == nullptr) return {};
        return arena_type(static_cast<std::byte*>(memory), count, {std::align_val_t(alignment)});
    }
    void begin() {}
    /// Returns when all channels have done what was put into them, or after a failure when nothing uses the memory of
    /// this rank. Kernels have run by then, because a launch returns after its kernel.
    [[nodiscard]] std::optional<run_failure> finish() {
        compute_.station().event.store(nullptr, std::memory_order_relaxed);
        base::for_all_channels([&](auto& channel) { return channel.finish(compute_.station()); });
        collect_times();
        if (!run_.failed()) return {};
        return run_.settle();
    }
    /// Returns when the tasks of all replays so far have begun and ended here, by the clock of this machine, if the run
    /// is timed: kernels, collectives from when this rank takes part, and waits from when the lane reaches them.
    /// Replays in which any task was recorded are numbered from 0 as steps.
    [[nodiscard]] const std::vector<measured_span>& times() const noexcept { return times_.all(); }

private:
    /// Collects the times that the lanes have recorded since the last call.
    void collect_times() {
        const auto take = [&](auto& lane) {
            for (const measured_span& s : lane.times()) times_.add(s.task, s.begin, s.end);
            lane.forget_times();
        };
        // The compute lane is this thread, so its times are complete even after a failure.
        take(compute_);
        if (run_.failed()) return;  // channels may still be at work
        base::for_all_channels([&](auto& channel) { return take(channel), true; });
        times_.end_step();
    }

    Run& run_;
    rank_id rank_;
    step_times times_;
    queue_type compute_;
};

}  // namespace stretto::detail

#endif
