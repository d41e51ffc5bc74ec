// One rank whose lanes are threads of this process: what a backend of such ranks hands to the executor.
#ifndef STRETTO_BACKEND_DETAIL_THREADS_THREAD_RANK_HPP
#define STRETTO_BACKEND_DETAIL_THREADS_THREAD_RANK_HPP

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "stretto/backend/concepts.hpp"
#include "stretto/backend/detail/threads/host_lane.hpp"
#include "stretto/backend/detail/threads/host_word.hpp"
#include "stretto/backend/detail/threads/verb_channel.hpp"
#include "stretto/core/config.hpp"
#include "stretto/core/process_group.hpp"
#include "stretto/schedule/measured_span.hpp"

namespace stretto {

/// Memory of one rank, aligned as asked.
class host_arena {
public:
    host_arena(std::byte* memory, std::size_t size, std::align_val_t alignment)
        : memory_(memory, {alignment}), size_(size) {}
    [[nodiscard]] std::byte* data() const noexcept { return memory_.get(); }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

private:
    struct release {
        std::align_val_t alignment;
        void operator()(std::byte* memory) const noexcept { ::operator delete(memory, alignment); }
    };
    std::unique_ptr<std::byte, release> memory_;
    std::size_t size_;
};

}  // namespace stretto

namespace stretto::detail {

/// The backend to which the program of a rank binds orders. Only the thread of the rank uses it. `Run` is a host_run
/// that says how a run ends: `settle()` returns the failure when nothing uses the memory of this rank any more.
template <class Group, class Run>
class thread_rank {
public:
    using queue_type = host_lane;
    using communicator_type = verb_channel<Group>;
    using arena_type = host_arena;
    using event_type = host_event;

    thread_rank(Run& run, rank_id rank) : run_(run), rank_(rank), compute_(run, rank) {}
    thread_rank(const thread_rank&) = delete;
    thread_rank& operator=(const thread_rank&) = delete;

    [[nodiscard]] rank_id rank() const noexcept { return rank_; }
    [[nodiscard]] queue_type& compute() noexcept { return compute_; }
    [[nodiscard]] communicator_type* channel(group_id group) {
        return group < channels_.size() ? channels_[group].get() : nullptr;
    }
    [[nodiscard]] event_type* make_events(std::size_t n) {
        std::unique_ptr<event_type[]>& made = events_.emplace_back(new event_type[n]);
        for (std::size_t k = 0; k < n; ++k) run_.enter(made[k].done);
        return made.get();
    }
    [[nodiscard]] std::optional<arena_type> make_arena(bytes size, std::size_t alignment) {
        const auto count = static_cast<std::size_t>(size.count);
        void* const memory = ::operator new(count == 0 ? 1 : count, std::align_val_t(alignment), std::nothrow);
        if (memory == nullptr) return {};
        return host_arena(static_cast<std::byte*>(memory), count, std::align_val_t(alignment));
    }
    void begin() {}
    [[nodiscard]] std::optional<run_failure> finish() {
        compute_.station().event.store(nullptr, std::memory_order_relaxed);
        for (const auto& channel : channels_)
            if (channel && !channel->finish(compute_.station())) break;
        collect_times();
        if (!run_.failed()) return {};
        return run_.settle();
    }
    /// When the tasks of all replays so far have begun and ended here, by the clock of this machine, if the run is
    /// timed: kernels, collectives from when this rank takes part, and waits from when the lane reaches them. Replays
    /// are numbered from 0 as steps.
    [[nodiscard]] const std::vector<measured_span>& times() const noexcept { return times_; }
    /// Performs one collective outside of any order, with all other members of its group. Returns when it is complete.
    /// Precondition: this rank is a member of the group.
    [[nodiscard]] std::optional<run_failure> perform(group_id group, const collective_operation& operation) {
        communicator_type* const members = channel(group);
        STRETTO_ASSERT(members != nullptr, "a rank performs collectives with groups of which it is a member");
        begin();
        members->launch(operation);
        return finish();
    }

protected:
    using channel_list = std::vector<std::unique_ptr<communicator_type>>;
    [[nodiscard]] channel_list& channels() noexcept { return channels_; }

private:
    /// Takes what the lanes have noted since the last time. What belongs to no task, such as a collective by itself, is
    /// not part of a step.
    void collect_times() {
        const std::size_t before = times_.size();
        const auto take = [&](auto& lane) {
            for (measured_span s : lane.times()) {
                if (s.task == no_task) continue;
                s.rank = rank_;
                s.step = steps_timed_;
                times_.push_back(s);
            }
            lane.forget_times();
        };
        take(compute_);
        if (run_.failed()) return;  // channels may still be at work
        for (const auto& channel : channels_)
            if (channel) take(*channel);
        if (times_.size() != before) ++steps_timed_;
    }

    Run& run_;
    rank_id rank_;
    std::vector<measured_span> times_;
    std::uint32_t steps_timed_ = 0;
    std::deque<std::unique_ptr<event_type[]>> events_;
    queue_type compute_;
    channel_list channels_;  // by group
};

}  // namespace stretto::detail

#endif
