// The backend that runs on every machine: ranks are threads of one process. The thread of a rank is its compute lane,
// and each of its communicators has another thread. Collectives are copies between the memories of ranks, reduced in
// the order of the group, and may take the time of an emulated link. Nothing hangs: a wait that exceeds the deadline
// ends the run, and the failure says which ranks wait for which. The exception is a kernel, or other code of a program,
// that does not return, because it cannot be ended from outside.
#ifndef STRETTO_BACKEND_HOST_HOST_WORLD_HPP
#define STRETTO_BACKEND_HOST_HOST_WORLD_HPP

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "stretto/backend/concepts.hpp"
#include "stretto/backend/detail/threads/host_lane.hpp"
#include "stretto/backend/detail/threads/host_run.hpp"
#include "stretto/backend/detail/threads/host_word.hpp"
#include "stretto/backend/detail/threads/thread_rank.hpp"
#include "stretto/backend/detail/threads/waiting_lanes.hpp"
#include "stretto/backend/host/detail/host_group.hpp"
#include "stretto/backend/host/host_link.hpp"
#include "stretto/core/process_groups.hpp"

namespace stretto {

/// One rank of a host_world. It is the backend to which the program of the rank binds orders. Only the thread of the
/// rank uses it. What is bound to it must end before the world.
class host_rank : public detail::thread_rank<detail::host_group, detail::host_run> {
public:
    using thread_rank::thread_rank;

private:
    friend class host_world;
    std::atomic<bool> left_ = false;  // whether its program has returned
};
static_assert(backend<host_rank>);

/// The options of a host_world.
struct host_options {
    std::chrono::milliseconds deadline{60'000};  ///< the longest time for which a lane may wait without a break
    host_link link = {};                         ///< the emulated link that every channel of every rank has for itself
    bool timed = false;                          ///< whether ranks record when tasks begin and end (host_rank::times)
};

/// All ranks of a run, with their groups. After a failure every replay and every collective fails, so create another
/// world. The destructor ends the threads of channels. Precondition: no call of `run` is in progress then.
class host_world {
public:
    /// Makes `ranks` ranks and a communicator for every group, with a thread for each member. The groups may be
    /// destroyed afterwards. Precondition: groups know their ranks, which are below `ranks`; `first_fault` finds
    /// nothing in them.
    host_world(std::size_t ranks, const process_groups& groups, host_options options = {})
        : options_(options), run_(options.timed) {
        for (std::size_t r = 0; r < ranks; ++r)
            ranks_.push_back(std::make_unique<host_rank>(run_, static_cast<rank_id>(r)));
        for (group_id id = 0; id < groups.group_count(); ++id) {
            const process_group g = groups.group_at(id);
            groups_.push_back(std::make_unique<detail::host_group>(run_, g, options.link));
            for (std::size_t r = 0; r < ranks; ++r) {
                const std::size_t place = g.place_of(static_cast<rank_id>(r));
                ranks_[r]->channels().push_back(place < g.ranks.size() ? std::make_unique<host_rank::communicator_type>(
                                                                             run_, *groups_.back(), place)
                                                                       : nullptr);
            }
        }
        watchdog_ = std::thread([this] { watch(); });  // last, because it uses all of the above
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
        run_.fail({});  // releases lanes that still wait for an unfinished collective
    }

    /// Returns the number of ranks.
    [[nodiscard]] std::size_t size() const noexcept { return ranks_.size(); }

    /// Calls `program(rank)` for every rank, each in a thread of its own; all threads share the program. Returns when
    /// all have returned: nothing on success, otherwise the first failure, also if it was the failure of an earlier
    /// run. An exception of the program is a failure (`rank_threw`).
    template <class Program>
    [[nodiscard]] std::optional<run_failure> run(Program program) {
        std::vector<std::thread> threads;
        {
            // The watchdog must not take a rank for one that has left because it left an earlier run.
            const std::lock_guard lock(mutex_);
            for (const auto& r : ranks_) r->left_ = false;
        }
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
    /// The loop of the watchdog. It looks, several times within a deadline, for lanes that wait too long, and for lanes
    /// that wait for a rank whose program has returned.
    void watch() {
        using std::chrono::milliseconds;
        const milliseconds pause = std::max(milliseconds(1), std::min(milliseconds(10), options_.deadline / 4));
        std::vector<bool> left(size());
        std::unique_lock lock(mutex_);
        while (!wake_.wait_for(lock, pause, [this] { return ends_; })) {
            if (run_.failed()) return;
            const std::int64_t now = detail::host_now();
            const std::int64_t longest = std::chrono::nanoseconds(options_.deadline).count();
            // This is read before the counts of begun collectives: those of a rank that has left are final, but a rank
            // that is seen as missing first may begin and complete its last collective, and leave, before this is read.
            for (std::size_t r = 0; r < size(); ++r) left[r] = ranks_[r]->left_;
            for (const auto& rank : ranks_) {
                const auto look = [&](const detail::host_station& s) {
                    if (detail::overdue(s, now, longest)) give_up(run_failure::reason::timeout, rank->rank());
                };
                // A lane that waits for a rank that has left is reported as such, and not as a timeout.
                for (const auto& channel : rank->channels()) {
                    if (!channel || !detail::waits_for_members(*channel)) continue;
                    channel->group().for_each_missing(channel->place(), [&](rank_id missing) {
                        if (left[missing]) give_up(run_failure::reason::rank_left, missing);
                    });
                }
                look(rank->compute().station());
                for (const auto& channel : rank->channels())
                    if (channel) look(channel->station());
            }
        }
    }

    /// Ends the run. Who waits for whom is recorded before that, because the failure releases waiting lanes.
    void give_up(run_failure::reason why, rank_id rank) {
        run_failure failure;
        failure.why = why;
        failure.rank = rank;
        for (const auto& r : ranks_)
            detail::add_waiting_lanes(r->rank(), r->compute().station(), r->channels(), failure.waiting);
        detail::name_missing(failure);
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
