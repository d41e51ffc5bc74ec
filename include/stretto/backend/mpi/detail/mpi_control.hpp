// The control thread of each process. It looks for lanes that wait for too long, tells the other processes how far this
// one has come, and agrees with them on the first failure. It makes all calls of MPI on a communicator of its own,
// whose messages are in mpi_message.hpp.
//
// Longer than 300 lines: the agreement is one protocol, and each of its steps relies on the others.
#ifndef STRETTO_BACKEND_MPI_DETAIL_MPI_CONTROL_HPP
#define STRETTO_BACKEND_MPI_DETAIL_MPI_CONTROL_HPP

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "stretto/backend/detail/threads/host_word.hpp"
#include "stretto/backend/detail/threads/waiting_lanes.hpp"
#include "stretto/backend/mpi/detail/mpi_calls.hpp"
#include "stretto/backend/mpi/detail/mpi_message.hpp"
#include "stretto/backend/mpi/detail/mpi_run.hpp"
#include "stretto/backend/run_failure.hpp"
#include "stretto/core/process_group.hpp"

namespace stretto::detail {

/// The control thread and its messages. Rank 0 decides which failure was the first: the one whose report reaches it
/// first. If that failure is a lane that waits in vain, rank 0 asks all others which of their lanes wait before it
/// sends them the failure. A process that is gone cannot answer, so none waits for an answer for longer than `grace`.
class mpi_control {
public:
    /// What the thread watches, and how long it waits; see mpi_options.
    struct watch {
        std::chrono::nanoseconds deadline, grace;
        /// Returns a failure that this process can detect by itself: a lane that is overdue, or waits for a rank that
        /// has left.
        std::function<std::optional<run_failure>()> look;
        /// Returns the lanes of this process that wait.
        std::function<std::vector<waiting_lane>()> waiting;
    };

    /// Starts the thread. No other thread may call MPI on `communicator` from now on.
    mpi_control(mpi_run& run, MPI_Comm communicator, int rank, int ranks, watch w)
        : run_(run), communicator_(communicator), rank_(rank), ranks_(ranks), watch_(std::move(w)) {
        answered_.resize(static_cast<std::size_t>(ranks));
        thread_ = std::thread([this] { work(); });
    }
    mpi_control(const mpi_control&) = delete;
    mpi_control& operator=(const mpi_control&) = delete;
    /// Ends the thread. It returns when all processes have come here and no message between them is in flight, or,
    /// after a failure, when the others have not come within `grace`.
    ~mpi_control() {
        {
            const std::lock_guard lock(mutex_);
            ends_ = true;
        }
        wake_.notify_all();
        thread_.join();
    }

    /// Tells all others that the program of this process has returned from run number `runs`, and whether it has
    /// failed.
    void leave(std::uint32_t runs, bool failed) {
        {
            const std::lock_guard lock(mutex_);
            leaves_ = progress{runs, failed};
        }
        wake_.notify_all();
    }

private:
    using clock = std::chrono::steady_clock;
    /// How many runs a process has left, and whether it has failed.
    struct progress {
        std::uint32_t runs = 0;
        bool failed = false;
    };
    /// A message that is kept until it has been received.
    struct letter {
        std::string text;
        MPI_Request request = MPI_REQUEST_NULL;
    };

    /// The loop of the thread, which ends when all processes have finished. It sleeps between two rounds: for at most 5
    /// ms, so that kernels are hardly affected, but only for 100 us while a thread waits here for other processes,
    /// after a failure, and at the end.
    void work() {
        using std::chrono::milliseconds;
        const auto pause =
            std::clamp(std::chrono::duration_cast<milliseconds>(watch_.deadline / 4), milliseconds(1), milliseconds(5));
        while (true) {
            std::optional<progress> leaves;
            bool ends = false;
            {
                std::unique_lock lock(mutex_);
                const bool hurries = run_.is_awaited() || ends_ || run_.failed();
                wake_.wait_for(lock, hurries ? std::chrono::microseconds(100) : std::chrono::microseconds(pause),
                               [this, hurries] { return leaves_ || (ends_ && !hurries); });
                leaves = std::exchange(leaves_, std::nullopt);
                ends = ends_;
            }
            receive();
            if (!run_.failed())
                if (auto found = look()) run_.fail(*std::move(found));
            if (leaves) tell_progress(*leaves);
            if (run_.failed()) after_failure();
            letters_.remove_if([](letter& l) {
                int done = 0;
                return MPI_Test(&l.request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done != 0;
            });
            if (ends && is_over()) return;
        }
    }

    /// Returns a failure that this process detects, if there is one.
    [[nodiscard]] std::optional<run_failure> look() const {
        // Another process has failed, and rank 0 has not told the failure in time.
        if (failed_peer_ && clock::now() - failed_peer_->second > watch_.grace)
            return run_failure{run_failure::reason::rank_left, failed_peer_->first};
        return watch_.look();
    }

    /// Takes the next step after a failure: reports it to rank 0, decides it there, or gives up waiting for the others.
    void after_failure() {
        const auto now = clock::now();
        if (!failed_at_) {
            failed_at_ = now;
            // Others need the progress of this process to know which collectives will never complete.
            tell_progress({last_runs_, true});
            if (!run_.agreed()) {
                if (rank_ == 0) take_report(0, *run_.failure());
                else send(0, message_kind::report, message_of(*run_.failure()));
            }
        }
        if (rank_ == 0 && chosen_ && !run_.agreed()) {
            const bool complete = std::find(answered_.begin(), answered_.end(), char{0}) == answered_.end();
            if (!is_wait(*chosen_) || complete || now >= answers_due_) decide();
        }
        // If this process has the common failure, and none of its collectives is in progress, nothing needs to be given
        // up, however long the world exists.
        if (now - *failed_at_ > watch_.grace && !run_.abandoned() && (!run_.agreed() || run_.is_read())) {
            if (rank_ != 0 && !run_.agreed()) {
                run_failure alone = *run_.failure();
                if (is_wait(alone)) alone.detail = "rank 0 does not answer";
                run_.agree(std::move(alone));
            }
            run_.give_up_waiting();
        }
    }
    /// Returns whether the other processes must be asked which of their lanes wait before a failure is sent to them.
    [[nodiscard]] static bool is_wait(const run_failure& f) {
        return f.why == run_failure::reason::timeout || f.why == run_failure::reason::rank_left;
    }
    /// Takes the report of a process that has failed. The first report is chosen; later ones only say which lanes wait
    /// there. Only rank 0 calls it, as the next three functions.
    void take_report(int from, run_failure report) {
        add_answer(from, report.waiting);
        if (chosen_) return;
        add_answer(0, watch_.waiting());  // before the failure below releases them
        report.waiting.clear();
        chosen_ = std::move(report);
        run_.fail(*chosen_);
        answers_due_ = clock::now() + watch_.grace / 2;
        if (!is_wait(*chosen_)) return;
        for (int r = 1; r < ranks_; ++r)
            if (answered_[static_cast<std::size_t>(r)] == 0) send(r, message_kind::question, {});
    }
    /// Adds the waiting lanes of a process, once for each process.
    void add_answer(int from, const std::vector<waiting_lane>& lanes) {
        if (std::exchange(answered_[static_cast<std::size_t>(from)], char{1})) return;
        answers_.insert(answers_.end(), lanes.begin(), lanes.end());
    }
    /// Sends all others the failure that every process reports. Lanes are sorted, so that the message does not depend
    /// on the order of answers.
    void decide() {
        std::sort(answers_.begin(), answers_.end(), [](const waiting_lane& a, const waiting_lane& b) {
            return a.rank != b.rank ? a.rank < b.rank : a.lane < b.lane;
        });
        if (is_wait(*chosen_)) {
            chosen_->waiting = answers_;
            chosen_->detail = silent_ranks();
        }
        name_missing(*chosen_);
        for (int r = 1; r < ranks_; ++r) send(r, message_kind::verdict, message_of(*chosen_));
        run_.agree(*chosen_);
    }

    /// Returns a text that names the ranks that have not answered. In a transfer that all members have begun no member
    /// is missing, so this is the only hint at a process that has died.
    [[nodiscard]] std::string silent_ranks() const {
        std::string text;
        for (std::size_t r = 0; r < answered_.size(); ++r)
            if (answered_[r] == 0)
                text += std::string(text.empty() ? "" : ", ") + "rank " + std::to_string(r) + " does not answer";
        return text;
    }

    /// Receives all messages that have arrived, without waiting.
    void receive() {
        while (true) {
            int there = 0;
            MPI_Status status;
            if (MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, communicator_, &there, &status) != MPI_SUCCESS || there == 0)
                return;
            int length = 0;
            MPI_Get_count(&status, MPI_BYTE, &length);
            std::string text(static_cast<std::size_t>(length), '\0');
            if (MPI_Recv(text.data(), length, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, communicator_,
                         MPI_STATUS_IGNORE) != MPI_SUCCESS)
                return;
            take(status.MPI_SOURCE, static_cast<message_kind>(status.MPI_TAG), text);
        }
    }
    /// Acts on a message.
    void take(int from, message_kind kind, const std::string& text) {
        message_reader in(text);
        switch (kind) {
            case message_kind::progress: {
                const std::uint32_t runs = in.number();
                const bool failed = in.number() != 0;
                const std::vector<std::uint32_t> begun = in.numbers();
                if (!in.is_broken()) run_.note_peer(static_cast<rank_id>(from), runs, failed, begun);
                if (failed && !failed_peer_) failed_peer_ = {static_cast<rank_id>(from), clock::now()};
                break;
            }
            case message_kind::report:
                take_report(from, in.failure());
                break;
            case message_kind::question: {
                run_failure answer;
                answer.waiting = watch_.waiting();
                send(from, message_kind::answer, message_of(answer));
                break;
            }
            case message_kind::answer:
                add_answer(from, in.failure().waiting);
                break;
            case message_kind::verdict:
                run_.agree(in.failure());
                break;
        }
    }
    /// Sends the progress of this process to all others, so that they know for which collectives they would wait in
    /// vain.
    void tell_progress(progress p) {
        last_runs_ = p.runs;
        if (p.failed) run_.stop();  // from now on the numbers sent below are final
        for (int r = 0; r < ranks_; ++r) {
            message_writer out;
            out.progress(p.runs, p.failed, run_.begun_for(static_cast<rank_id>(r)));
            if (r != rank_) send(r, message_kind::progress, out.text());
        }
    }
    /// Begins to send a message, which is kept until it has been received.
    void send(int to, message_kind kind, const std::string& text) {
        letter& l = letters_.emplace_back();
        l.text = text;
        // A synchronous send is complete only when it is being received, so no message is lost when all have finished.
        const int code = MPI_Issend(l.text.data(), static_cast<int>(l.text.size()), MPI_BYTE, to,
                                    static_cast<int>(kind), communicator_, &l.request);
        if (code != MPI_SUCCESS) letters_.pop_back();
    }

    /// Returns whether the thread may end: all processes have finished and all their messages have been received, or
    /// the others are no longer awaited. Each process enters a barrier when its own messages have been received.
    bool is_over() {
        if (run_.abandoned()) return true;
        if (!over_at_) over_at_ = clock::now();
        if (run_.failed() && clock::now() - *over_at_ > watch_.grace) {
            run_.give_up_waiting();
            return true;
        }
        if (!letters_.empty()) return false;
        if (!barrier_begun_) {
            barrier_begun_ = true;
            if (MPI_Ibarrier(communicator_, &barrier_) != MPI_SUCCESS) return true;
        }
        int done = 0;
        return MPI_Test(&barrier_, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done != 0;
    }

    mpi_run& run_;
    MPI_Comm communicator_;
    int rank_, ranks_;
    watch watch_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::optional<progress> leaves_;
    bool ends_ = false;
    // The following members are used only by the thread.
    std::list<letter> letters_;
    std::uint32_t last_runs_ = 0;
    std::optional<clock::time_point> failed_at_, over_at_;
    std::optional<std::pair<rank_id, clock::time_point>> failed_peer_;
    std::optional<run_failure> chosen_;  // on rank 0: the first failure
    std::vector<waiting_lane> answers_;
    std::vector<char> answered_;  // by rank
    clock::time_point answers_due_;
    bool barrier_begun_ = false;
    MPI_Request barrier_ = MPI_REQUEST_NULL;
    std::thread thread_;
};

}  // namespace stretto::detail

#endif
