// The state that the threads of one process share in a run of several processes: its failure, on which all processes
// agree before it is reported, and the progress of each process as far as it is known here.
#ifndef STRETTO_BACKEND_MPI_DETAIL_MPI_RUN_HPP
#define STRETTO_BACKEND_MPI_DETAIL_MPI_RUN_HPP

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "stretto/backend/detail/threads/host_run.hpp"
#include "stretto/backend/run_failure.hpp"
#include "stretto/core/process_group.hpp"

namespace stretto::detail {

/// The first failure of this process is only a proposal: `fail` stops its threads, and the control thread
/// (mpi_control.hpp) finds out which failure all processes report. `settle` waits for that one, or until the others
/// have not answered in time (`give_up_waiting`).
///
/// A collective that all members have begun is completed even after a failure, because some of them may already be
/// moving its bytes. A collective that a member will never begin is not completed. So when a process stops beginning
/// collectives, it tells the others how many it has begun.
class mpi_run : public host_run {
public:
    mpi_run(std::size_t ranks, std::size_t groups, bool timed) : host_run(timed), peers_(ranks), begun_(groups, 0) {
        for (peer& p : peers_) p.begun.assign(groups, 0);
    }

    /// Counts a collective of this process, whose notes are sent next; `told` must follow. Returns false, and counts
    /// nothing, once this process has stopped beginning collectives.
    [[nodiscard]] bool begin(group_id group) {
        const std::lock_guard lock(mutex_);
        if (stopped_) return false;
        ++begun_[group];
        ++telling_;
        return true;
    }
    /// Records that the notes of a collective are in flight, except those to `untold`, which will never be sent.
    void told(group_id group, std::span<const rank_id> untold) {
        {
            const std::lock_guard lock(mutex_);
            --telling_;
            for (const rank_id r : untold) untold_.emplace_back(r, group);
        }
        changed_.notify_all();
    }
    /// Returns whether this process may still begin collectives. If not, the replay that launched them may have ended.
    [[nodiscard]] bool begins() {
        const std::lock_guard lock(mutex_);
        return !stopped_;
    }
    /// From now on this process begins no collective. Returns when the notes of all begun collectives have been sent;
    /// sending them never waits for other processes.
    void stop() {
        std::unique_lock lock(mutex_);
        stopped_ = true;
        changed_.wait(lock, [&] { return telling_ == 0; });
    }
    /// Returns by group how many collectives this process has begun as rank `other` sees it, which is the number of
    /// notes that were sent to that rank.
    [[nodiscard]] std::vector<std::uint32_t> begun_for(rank_id other) {
        const std::lock_guard lock(mutex_);
        std::vector<std::uint32_t> all = begun_;
        for (const auto& [rank, group] : untold_)
            if (rank == other) --all[group];
        return all;
    }

    /// Records that another process has left `runs` runs so far, whether it has `failed`, and how many collectives it
    /// has begun by group.
    void note_peer(rank_id rank, std::uint32_t runs, bool failed, std::span<const std::uint32_t> begun) {
        {
            const std::lock_guard lock(mutex_);
            peer& p = peers_[rank];
            p.left_runs = runs;
            p.failed = p.failed || failed;
            p.begun.assign(begun.begin(), begun.end());
        }
        changed_.notify_all();
    }
    /// Returns whether a process has left the current run, or failed, without having begun collective `sequence` of a
    /// group.
    [[nodiscard]] bool never_begins(rank_id rank, group_id group, std::uint32_t sequence) {
        const std::lock_guard lock(mutex_);
        const peer& p = peers_[rank];
        return (p.failed || p.left_runs >= run_) && p.begun[group] <= sequence;
    }
    /// Returns how many collectives of a group a process has begun, according to its last message.
    [[nodiscard]] std::uint32_t begun_by(rank_id rank, group_id group) {
        const std::lock_guard lock(mutex_);
        return peers_[rank].begun[group];
    }
    /// Returns whether a process has told that it has failed.
    [[nodiscard]] bool has_failed(rank_id rank) {
        const std::lock_guard lock(mutex_);
        return peers_[rank].failed;
    }

    /// Begins a run and returns its number, counted from 1.
    std::uint32_t begin_run() {
        const std::lock_guard lock(mutex_);
        return ++run_;
    }
    /// Returns when all other processes have left this run, or when it has failed, with the failure.
    [[nodiscard]] std::optional<run_failure> await_others(rank_id me) {
        {
            const waiter here(*this);
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] {
                if (failed()) return true;
                for (rank_id r = 0; r < peers_.size(); ++r)
                    if (r != me && (peers_[r].left_runs < run_ || peers_[r].failed)) return false;
                return true;
            });
        }
        return failed() ? settle() : std::nullopt;
    }

    /// Stores the failure that all processes agree to have been the first.
    void agree(run_failure verdict) {
        fail(verdict);
        {
            const std::lock_guard lock(mutex_);
            if (!verdict_) verdict_ = std::move(verdict);
        }
        changed_.notify_all();
    }
    /// Returns whether `agree` has been called.
    [[nodiscard]] bool agreed() {
        const std::lock_guard lock(mutex_);
        return verdict_.has_value();
    }
    /// Ends all waits for the other processes, because they do not answer.
    void give_up_waiting() {
        abandoned_.store(true, std::memory_order_seq_cst);
        wake();
    }
    /// Returns whether the other processes are no longer awaited.
    [[nodiscard]] bool abandoned() const { return abandoned_.load(std::memory_order_seq_cst); }
    /// Makes all waiting threads check their conditions again.
    void wake() {
        {
            const std::lock_guard lock(mutex_);
        }
        changed_.notify_all();
    }

    /// Returns whether a thread waits in `await_others` or `settle` for other processes.
    [[nodiscard]] bool is_awaited() const { return waiters_.load(std::memory_order_relaxed) != 0; }

    /// Returns the failure on which all processes agree, or that of this process if the others do not answer. It
    /// returns once nothing uses the memory of this process any more. Call it after a failure.
    [[nodiscard]] std::optional<run_failure> settle() {
        stop();
        {
            const waiter here(*this);
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return verdict_ || abandoned(); });
        }
        await_readers();
        const std::lock_guard lock(mutex_);
        return verdict_ ? verdict_ : failure();
    }

private:
    /// Counts a thread that waits, as long as the object lives.
    struct waiter {
        explicit waiter(mpi_run& r) : run(r) { run.waiters_.fetch_add(1, std::memory_order_relaxed); }
        waiter(const waiter&) = delete;
        waiter& operator=(const waiter&) = delete;
        ~waiter() { run.waiters_.fetch_sub(1, std::memory_order_relaxed); }
        mpi_run& run;
    };
    /// What is known about another process, from its last message.
    struct peer {
        std::uint32_t left_runs = 0;
        bool failed = false;
        std::vector<std::uint32_t> begun;  // by group
    };
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<peer> peers_;                           // by rank
    std::vector<std::uint32_t> begun_;                  // by group: collectives that this process has begun
    std::vector<std::pair<rank_id, group_id>> untold_;  // for each note that will never be sent
    std::uint32_t telling_ = 0;                         // collectives whose notes are being sent
    std::uint32_t run_ = 0;                             // the number of the current run
    bool stopped_ = false;                              // whether this process begins no more collectives
    std::optional<run_failure> verdict_;                // the failure on which all processes agree
    std::atomic<bool> abandoned_ = false;
    std::atomic<std::uint32_t> waiters_ = 0;
};

}  // namespace stretto::detail

#endif
