// The communicator of a rank for which a thread performs collectives, in the order in which they are launched. The host
// and MPI backends use it; they differ in how their groups perform a collective.
#ifndef STRETTO_BACKEND_DETAIL_THREADS_VERB_CHANNEL_HPP
#define STRETTO_BACKEND_DETAIL_THREADS_VERB_CHANNEL_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "stretto/backend/collective_operation.hpp"
#include "stretto/backend/detail/threads/host_fold.hpp"
#include "stretto/backend/detail/threads/host_run.hpp"
#include "stretto/backend/detail/threads/host_word.hpp"
#include "stretto/backend/detail/threads/short_slice.hpp"
#include "stretto/schedule/measured_span.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace stretto::detail {

/// One thread puts verbs into a list, and the channel's thread executes them. The list is filled from its beginning in
/// every replay. A replay ends when all verbs are done, and puts no more verbs than were reserved, so the list cannot
/// overflow. `Group::perform(operation, place, station)` performs an operation together with the other members and
/// returns whether it is complete.
template <class Group>
class verb_channel {
public:
    using event_type = host_event;

    verb_channel(host_run& run, Group& group, std::size_t place) : run_(run), group_(group), place_(place) {
        run.enter(put_);
        run.enter(done_);
        reserve(8);
        thread_ = std::thread([this] { work(); });
    }
    verb_channel(const verb_channel&) = delete;
    verb_channel& operator=(const verb_channel&) = delete;
    ~verb_channel() {
        put_.close();
        thread_.join();
    }

    // These are the verbs of a queue. They return at once, without waiting for the channel; false means that the run
    // was given up. Only one thread may put verbs.
    bool wait(event_type& e) { return put({verb::form::wait, e.recorded, &e, nullptr, no_task}); }
    bool record(event_type& e) {
        e.task.store(last_, std::memory_order_relaxed);
        ++e.recorded;
        return put({verb::form::record, 0, &e, nullptr, no_task});
    }
    /// Puts a collective. Precondition: the operation keeps its address until the replay is finished.
    bool launch(const collective_operation& o) {
        last_ = o.task;
        return put({verb::form::launch, 0, nullptr, &o, o.task});
    }
    /// Makes room for this many verbs in one replay. Precondition: everything that was put is done, or the run has
    /// failed. After a failure it does nothing: the channel's thread may still be executing a verb of the list, and no
    /// further verb is put.
    void reserve(std::size_t verbs) {
        if (run_.failed()) return;
        if (verbs > ring_.size()) ring_.resize(verbs);
        if (run_.is_timed()) times_.reserve(verbs);
    }
    /// Returns whether members can perform the operation: its reduction must be one that can_fold() accepts.
    [[nodiscard]] bool can(const collective_operation& o) const {
        return !reduces(o.kind) || can_fold(o.element, o.reduction);
    }
    [[nodiscard]] std::size_t size() const noexcept { return group_.size(); }
    [[nodiscard]] std::size_t place() const noexcept { return place_; }

    /// Returns true when everything that was put is done, or false if the run is given up. Meanwhile `waiter`, the
    /// station of the calling lane, names the last collective.
    bool finish(host_station& waiter) {
        waiter.task.store(last_, std::memory_order_relaxed);
        if (!done_.await(puts_, waiter)) return false;
        from_ = puts_;  // the channel's thread reads it only after the next put
        return true;
    }
    /// Returns the station of the channel's thread.
    [[nodiscard]] const host_station& station() const noexcept { return station_; }
    [[nodiscard]] const Group& group() const noexcept { return group_; }
    /// Returns the time spans in which this member took part in collectives since the last call of forget_times(), if
    /// the run is timed. Precondition, also of forget_times(): everything that was put is done.
    [[nodiscard]] const std::vector<measured_span>& times() const noexcept { return times_; }
    void forget_times() { times_.clear(); }

private:
    /// A command to the channel's thread. A wait has a target, the count that its event must reach, because the event
    /// may be recorded again before the channel reaches the wait.
    struct verb {
        enum class form : std::uint8_t {
            wait,
            record,
            launch
        } what = form::wait;
        std::uint32_t target = 0;
        host_event* event = nullptr;
        const collective_operation* operation = nullptr;
        task_id task = no_task;
    };

    /// Puts a verb. The channel's thread sees it, because it is written before the count that the thread awaits.
    bool put(verb v) {
        // After a failure no verbs are executed, so the list would overflow.
        if (run_.failed()) return false;
        ring_[puts_ - from_] = v;
        ++puts_;
        put_.advance();
        return !run_.failed();
    }

    /// The loop of the channel's thread. It runs until its word is closed, by the destructor or by a failure.
    void work() {
        ask_for_short_slice();  // because a network does not wait for a core
        std::uint32_t taken = 0;
        host_station idle;  // waiting for work is no reason to give up
        while (put_.await(taken + 1, idle)) {
            // `from_` counts the verbs of earlier replays.
            if (!perform(ring_[taken - from_])) return;
            ++taken;
            done_.advance();
        }
    }
    /// Executes a verb, and returns whether the run continues. The station states what it waits for.
    bool perform(const verb& v) {
        switch (v.what) {
            case verb::form::wait:
                station_.event.store(v.event, std::memory_order_release);
                return v.event->done.await(v.target, station_);
            case verb::form::record:
                v.event->done.advance();
                return true;
            case verb::form::launch:
                break;
        }
        station_.event.store(nullptr, std::memory_order_relaxed);
        station_.task.store(v.task, std::memory_order_relaxed);
        const std::int64_t since = run_.is_timed() ? host_now() : 0;
        const bool goes_on = group_.perform(*v.operation, place_, station_);
        if (run_.is_timed()) times_.push_back({v.task, {since}, {host_now()}});
        return goes_on;
    }

    host_run& run_;
    Group& group_;
    std::size_t place_;
    std::vector<measured_span> times_;
    std::vector<verb> ring_;  // the verbs of the current replay
    task_id last_ = no_task;
    std::uint32_t puts_ = 0, from_ = 0;  // verbs put so far, and in earlier replays; written by the thread that puts
    host_word put_, done_;               // how many verbs have been put, and how many are done
    host_station station_;
    std::thread thread_;
};

}  // namespace stretto::detail

#endif
