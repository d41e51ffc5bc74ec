// The backend of every machine: ranks are threads of one process. Each has a compute lane, its own thread, and a thread
// for each communicator; collectives are copies between the threads' memories, reduced in the order of ranks, and may
// take the time of a link that is made up. Nothing hangs: what waits for longer than the deadline ends the run, and the
// failure tells who waits for whom. A kernel that does not return is beyond that: nobody can end it from outside.
#ifndef STRETTO_BACKEND_HOST_HPP
#define STRETTO_BACKEND_HOST_HPP

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "stretto/backend/concepts.hpp"
#include "stretto/backend/detail/host_channel.hpp"
#include "stretto/backend/detail/host_group.hpp"
#include "stretto/backend/detail/host_lane.hpp"
#include "stretto/backend/detail/host_run.hpp"
#include "stretto/backend/host_link.hpp"
#include "stretto/core/config.hpp"
#include "stretto/core/process_groups.hpp"
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

/// One rank of a host_world: the backend to which its program binds orders. Only the thread of the rank uses it.
class host_rank {
public:
    using queue_type = detail::host_lane;
    using communicator_type = detail::host_channel;
    using arena_type = host_arena;
    using event_type = detail::host_event;

    host_rank(detail::host_run& run, rank_id rank, bool timed) : run_(run), rank_(rank), compute_(run, rank, timed) {}
    host_rank(const host_rank&) = delete;
    host_rank& operator=(const host_rank&) = delete;

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
        run_.await_readers();
        return run_.failure();
    }
    /// When the tasks of all replays so far have begun and ended here, by the clock that all ranks share, if the world
    /// is timed (host_options): kernels, collectives from when this rank takes part, and waits from when the lane
    /// reaches them. Replays are numbered from 0 as steps.
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

private:
    friend class host_world;

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

    detail::host_run& run_;
    rank_id rank_;
    std::vector<measured_span> times_;
    std::uint32_t steps_timed_ = 0;
    std::deque<std::unique_ptr<event_type[]>> events_;
    queue_type compute_;
    std::vector<std::unique_ptr<communicator_type>> channels_;  // by group
    std::atomic<bool> left_ = false;                            // its program has returned
};
static_assert(backend<host_rank>);

struct host_options {
    std::chrono::milliseconds deadline{60'000};  ///< how long a lane may wait without a break
    host_link link = {};                         ///< of every rank, for each channel by itself
    bool timed = false;                          ///< whether ranks note when tasks begin and end (host_rank::times)
};

/// All ranks of a run, with their groups. After a failure it runs nothing any more: make another one.
class host_world {
public:
    /// Precondition: groups know their ranks, which are below `ranks`; `first_fault` finds nothing in them.
    host_world(std::size_t ranks, const process_groups& groups, host_options options = {}) : options_(options) {
        for (std::size_t r = 0; r < ranks; ++r)
            ranks_.push_back(std::make_unique<host_rank>(run_, static_cast<rank_id>(r), options.timed));
        for (group_id id = 0; id < groups.group_count(); ++id) {
            const process_group g = groups.group_at(id);
            groups_.push_back(std::make_unique<detail::host_group>(run_, g, options.link));
            for (std::size_t r = 0; r < ranks; ++r) {
                const std::size_t place = g.place_of(static_cast<rank_id>(r));
                ranks_[r]->channels_.push_back(place < g.ranks.size() ? std::make_unique<detail::host_channel>(
                                                                            run_, *groups_.back(), place, options.timed)
                                                                      : nullptr);
            }
        }
        watchdog_ = std::thread([this] { watch(); });
    }
    host_world(const host_world&) = delete;
    host_world& operator=(const host_world&) = delete;
    ~host_world() {
        {
            const std::lock_guard lock(mutex_);
            ends_ = true;
        }
        wake_.notify_all();
        watchdog_.join();
        run_.fail({});  // whoever still waits for a collective that nobody finished goes home
    }

    [[nodiscard]] std::size_t size() const noexcept { return ranks_.size(); }

    /// Runs `program(rank)` on a thread for every rank. Returns when all have returned: nothing if all went well, else
    /// the first failure.
    template <class Program>
    [[nodiscard]] std::optional<run_failure> run(Program program) {
        std::vector<std::thread> threads;
        for (const auto& r : ranks_) r->left_ = false;
        for (const auto& r : ranks_)
            threads.emplace_back([this, &program, &rank = *r] {
                std::optional<std::string> thrown = detail::failure_of([&] { program(rank); });
                if (thrown)
                    run_.fail(
                        {run_failure::reason::rank_threw, rank.rank(), no_group, 0, no_task, *std::move(thrown), {}});
                rank.left_ = true;
            });
        for (std::thread& t : threads) t.join();
        return run_.failure();
    }

private:
    /// Looks, several times within a deadline, for lanes that wait for too long, or for a rank that is gone.
    void watch() {
        using std::chrono::milliseconds;
        const milliseconds pause = std::max(milliseconds(1), std::min(milliseconds(10), options_.deadline / 4));
        std::unique_lock lock(mutex_);
        while (!wake_.wait_for(lock, pause, [this] { return ends_; })) {
            if (run_.failed()) return;
            const std::int64_t now = detail::host_now();
            const std::int64_t longest = std::chrono::nanoseconds(options_.deadline).count();
            for (const auto& rank : ranks_) {
                const auto look = [&](const detail::host_station& s) {
                    const std::int64_t since = s.since.load(std::memory_order_relaxed);
                    if (since != 0 && now - since > longest) give_up(run_failure::reason::timeout, rank->rank());
                };
                // Whoever waits for a rank that is gone is not said to have waited for too long.
                for (const auto& channel : rank->channels_) {
                    if (!channel || !waits_for_members(*channel)) continue;
                    channel->group().for_each_missing(channel->place(), [&](rank_id missing) {
                        if (ranks_[missing]->left_) give_up(run_failure::reason::rank_left, missing);
                    });
                }
                look(rank->compute_.station());
                for (const auto& channel : rank->channels_)
                    if (channel) look(channel->station());
            }
        }
    }
    [[nodiscard]] static bool waits_for_members(const detail::host_channel& channel) {
        return channel.station().meeting.load(std::memory_order_relaxed) &&
               channel.station().since.load(std::memory_order_relaxed) != 0;
    }

    /// Writes down who waits for whom, and ends the run.
    void give_up(run_failure::reason why, rank_id rank) {
        run_failure failure;
        failure.why = why;
        failure.rank = rank;
        for (const auto& r : ranks_) {
            const auto add = [&](const detail::host_station& s, std::uint32_t lane) -> waiting_lane* {
                if (s.since.load(std::memory_order_relaxed) == 0) return nullptr;
                waiting_lane& w = failure.waiting.emplace_back();
                w.rank = r->rank();
                w.lane = lane;
                w.task = s.task.load(std::memory_order_relaxed);
                if (const detail::host_event* e = s.event.load(std::memory_order_relaxed); e != nullptr)
                    w.for_tasks.push_back(e->task.load(std::memory_order_relaxed));
                return &w;
            };
            add(r->compute_.station(), 0);
            for (const auto& channel : r->channels_) {
                if (!channel) continue;
                const group_id group = channel->group().id();
                waiting_lane* const w = add(channel->station(), 1 + group);
                if (w == nullptr) continue;
                w->group = group;
                w->sequence = channel->group().begun(channel->place()) - 1;
                if (waits_for_members(*channel))
                    channel->group().for_each_missing(channel->place(),
                                                      [&](rank_id other) { w->for_ranks.push_back(other); });
                // The collective that somebody is missing from is the one to name.
                if (failure.group == no_group && !w->for_ranks.empty()) {
                    failure.group = group;
                    failure.sequence = w->sequence;
                    failure.task = w->task;
                }
            }
        }
        run_.fail(std::move(failure));
    }

    host_options options_;
    detail::host_run run_;
    std::vector<std::unique_ptr<detail::host_group>> groups_;
    std::vector<std::unique_ptr<host_rank>> ranks_;
    std::mutex mutex_;
    std::condition_variable wake_;
    bool ends_ = false;
    std::thread watchdog_;
};

}  // namespace stretto

#endif
