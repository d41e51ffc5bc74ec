// One member's side of a communicator among processes. The members exchange notes about a collective, compare them, and
// move bytes by MPI (mpi_mover.hpp).
#ifndef STRETTO_BACKEND_MPI_DETAIL_MPI_GROUP_HPP
#define STRETTO_BACKEND_MPI_DETAIL_MPI_GROUP_HPP

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "stretto/backend/collective_operation.hpp"
#include "stretto/backend/detail/collective_rules.hpp"
#include "stretto/backend/detail/lane_site.hpp"
#include "stretto/backend/detail/patience.hpp"
#include "stretto/backend/detail/threads/host_word.hpp"
#include "stretto/backend/mpi/detail/mpi_calls.hpp"
#include "stretto/backend/mpi/detail/mpi_mover.hpp"
#include "stretto/backend/mpi/detail/mpi_run.hpp"
#include "stretto/core/process_group.hpp"

namespace stretto::detail {

/// One member of a group, in its process. Each collective begins with a note from every member to every other one,
/// which describes its operation, including all amounts. So each member knows which others are missing, and all members
/// reach the same conclusion on whether they agree before any of them moves a byte. A collective of MPI is begun only
/// when all members are known to begin it, because MPI cannot cancel one.
///
/// The thread of the channel makes all calls of MPI on this communicator, and drives progress until the collective is
/// complete.
class mpi_group {
public:
    /// Makes member `place` of the group. `communicator` is used only here, and its ranks are those of the group in
    /// their order. No count of bytes that is passed to MPI exceeds `largest_count`.
    mpi_group(mpi_run& run, const process_group& g, std::size_t place, MPI_Comm communicator, std::size_t largest_count)
        : run_(run),
          id_(g.id),
          ranks_(g.ranks.begin(), g.ranks.end()),
          place_(place),
          communicator_(communicator),
          arrived_(new std::atomic<std::uint32_t>[ranks_.size()]),
          notes_(size() * longest_note()),
          notices_(2 * size(), MPI_REQUEST_NULL),
          finished_(notices_.size()),
          outcomes_(notices_.size()),
          mover_(run, communicator, size(), place, largest_count,
                 [this](int code) { static_cast<void>(works(code, *moving_)); }) {
        for (std::size_t k = 0; k < size(); ++k) arrived_[k] = 0;
        send_sizes_.reserve(size());
        receive_sizes_.reserve(size());
    }
    mpi_group(const mpi_group&) = delete;
    mpi_group& operator=(const mpi_group&) = delete;

    [[nodiscard]] std::size_t size() const noexcept { return ranks_.size(); }
    [[nodiscard]] group_id id() const noexcept { return id_; }
    [[nodiscard]] MPI_Comm communicator() const noexcept { return communicator_; }

    /// Returns how many operations a member is known to have begun; the number is exact for this member.
    [[nodiscard]] std::uint32_t begun(std::size_t place) const {
        return arrived_[place].load(std::memory_order_relaxed);
    }
    /// Calls f(rank) for the members that are not known to have begun the operation that this member has begun last.
    template <class F>
    void for_each_missing(std::size_t place, F f) const {
        const std::uint32_t mine = begun(place);
        for (std::size_t k = 0; k < size(); ++k)
            if (static_cast<std::int32_t>(begun(k) - mine) < 0) f(ranks_[k]);
    }

    /// Performs an operation. Returns whether it is complete, which it is not if the run is given up. The station
    /// states that the member waits, until the operation ends.
    bool perform(const collective_operation& o, std::size_t, host_station& station) {
        const host_run::reading reading(run_);  // keeps the memory of this process until the operation has ended
        if (!run_.begins()) return false;       // otherwise the memory might already be gone
        if (auto overflow = find_sizes(o, ranks_, send_sizes_, receive_sizes_))
            return give_up(run_failure::reason::overflow, o, begun(place_), *std::move(overflow));
        if (!run_.begin(id_)) return false;
        arrived_[place_].fetch_add(1, std::memory_order_relaxed);
        station.meeting.store(true, std::memory_order_relaxed);
        station.since.store(host_now(), std::memory_order_relaxed);
        const bool met = tell(o) && await_notes(o);
        station.meeting.store(false, std::memory_order_relaxed);
        const bool done = met && compare(o) && move(o);
        station.since.store(0, std::memory_order_relaxed);
        return done;
    }

    /// Begins to receive the notes of collectives that were not performed. Without this, a later communicator would
    /// receive them, because MPI reuses the ids of communicators. `end_draining` waits until they are received; it is
    /// called after all groups have begun. Precondition: the run has failed, no thread performs collectives any more,
    /// and all processes have sent their final progress.
    void begin_draining() {
        for (std::size_t k = 0; k < size(); ++k)
            if (k != place_ && begun(k) < run_.begun_by(ranks_[k], id_))
                MPI_Irecv(note(k), static_cast<int>(longest_note()), MPI_UINT64_T, static_cast<int>(k), 0,
                          communicator_, &notices_[k]);
    }
    void end_draining() { MPI_Waitall(static_cast<int>(notices_.size()), notices_.data(), MPI_STATUSES_IGNORE); }

private:
    static constexpr int retries = 8;  // of a note that must be sent, because other members already have theirs

    // A note has the contents that write_note() writes; for an all-to-all, the amounts sent to each member and expected
    // from each member follow. The notes of all members are stored consecutively, in the order of members.
    [[nodiscard]] std::size_t longest_note() const { return note_length + 2 * size(); }
    [[nodiscard]] std::uint64_t* note(std::size_t place) { return notes_.data() + place * longest_note(); }
    [[nodiscard]] const std::uint64_t* note(std::size_t place) const { return notes_.data() + place * longest_note(); }

    // For an all-to-all, these are the bytes that member `from` sends to member `to`, and the bytes that the latter
    // expects.
    [[nodiscard]] std::size_t sent(std::size_t from, std::size_t to) const { return note(from)[note_length + to]; }
    [[nodiscard]] std::size_t expected(std::size_t from, std::size_t to) const {
        return note(to)[note_length + size() + from];
    }

    /// Begins to exchange notes with all other members. Returns whether the collective may continue. If a call fails
    /// before any note was sent, no notes are sent or received. But a member that has this one's note may already be
    /// moving bytes, and cannot be stopped. So once a note was sent, a send that fails ends the run and is retried a
    /// few times, and the collective is completed if a retry works. If none works, the members that have the note wait
    /// for this one in vain.
    bool tell(const collective_operation& o) {
        std::uint64_t* const mine = note(place_);
        write_note(o, o.send_bytes, mine);
        std::size_t length = note_length;
        if (o.kind == transfer_kind::all_to_all) {
            for (const std::size_t n : send_sizes_) mine[length++] = n;
            for (const std::size_t n : receive_sizes_) mine[length++] = n;
        }
        const auto posted = [&](int code, std::size_t request, std::size_t k) {
            if (code != MPI_SUCCESS) notices_[request] = MPI_REQUEST_NULL;  // a failed call may leave any value
            return works(code, o, k);
        };
        // Receives are posted first, because as long as no note was sent, no member begins to move bytes.
        bool fine = true;
        for (std::size_t k = 0; k < size() && fine; ++k)
            if (k != place_)
                fine = posted(MPI_Irecv(note(k), static_cast<int>(longest_note()), MPI_UINT64_T, static_cast<int>(k), 0,
                                        communicator_, &notices_[k]),
                              k, k);
        std::vector<rank_id> untold;
        bool is_told = false;  // whether the previous iteration has sent a note
        for (std::size_t k = 0; k < size(); ++k) {
            if (k == place_) continue;
            const int tries = is_told ? 1 + retries : 1;
            for (int n = 0; fine && n < tries; ++n) {
                is_told = posted(MPI_Isend(mine, static_cast<int>(length), MPI_UINT64_T, static_cast<int>(k), 0,
                                           communicator_, &notices_[size() + k]),
                                 size() + k, k);
                if (is_told) break;
            }
            fine = fine && is_told;
            if (!fine) untold.push_back(ranks_[k]);
        }
        run_.told(id_, untold);
        if (!fine) withdraw();
        return fine;
    }
    /// Waits for the notes of all members. Returns false if one of them cannot be received or will never come.
    bool await_notes(const collective_operation& o) {
        const std::uint32_t sequence = begun(place_) - 1;
        patience between(200);
        while (true) {
            int count = 0;
            const int code = MPI_Testsome(static_cast<int>(notices_.size()), notices_.data(), &count, finished_.data(),
                                          outcomes_.data());
            const bool by_request = code == MPI_ERR_IN_STATUS;  // whether each request has an outcome of its own
            // All others may already be moving bytes, so a call that fails is repeated until the run is abandoned.
            if (!by_request && !works(code, o)) count = 0;
            if (count == MPI_UNDEFINED) return true;  // no request is pending
            // Completed sends are among these, too, but tell nothing about other members. A receive that has failed
            // counts, because its note must not be awaited a second time.
            bool fine = true;
            for (int k = 0; k < count; ++k) {
                const auto which = static_cast<std::size_t>(finished_[static_cast<std::size_t>(k)]);
                if (which < size()) arrived_[which].fetch_add(1, std::memory_order_relaxed);
                if (by_request && !works(outcomes_[static_cast<std::size_t>(k)].MPI_ERROR, o, which % size()))
                    fine = false;
            }
            if (fine && count > 0) continue;
            if (!fine || (run_.failed() && is_hopeless(sequence))) {
                withdraw();
                return false;
            }
            between.pause();
        }
    }
    /// Returns whether some note that has not come will never come, or others are no longer awaited.
    [[nodiscard]] bool is_hopeless(std::uint32_t sequence) {
        if (run_.abandoned()) return true;
        for (std::size_t k = 0; k < size(); ++k)
            if (notices_[k] != MPI_REQUEST_NULL && run_.never_begins(ranks_[k], id_, sequence)) return true;
        return false;
    }
    /// Cancels all receives of notes, because some note will never come. Others may be in flight: `begin_draining`
    /// receives them.
    void withdraw() {
        for (std::size_t k = 0; k < size(); ++k) {
            if (notices_[k] == MPI_REQUEST_NULL) continue;
            MPI_Cancel(&notices_[k]);
            if (run_.abandoned()) {
                MPI_Request_free(&notices_[k]);
                continue;
            }
            // A note may have arrived before it could be cancelled; then it counts like any other.
            MPI_Status status;
            int cancelled = 0;
            if (MPI_Wait(&notices_[k], &status) != MPI_SUCCESS) continue;
            MPI_Test_cancelled(&status, &cancelled);
            if (cancelled == 0) arrived_[k].fetch_add(1, std::memory_order_relaxed);
        }
    }

    /// Returns whether all members perform the same operation. If this member is part of a mismatch, it gives the run
    /// up; otherwise another member does.
    bool compare(const collective_operation& o) {
        auto wrong = first_difference(
            o, ranks_, [&](std::size_t k) { return read_note(note(k)); },
            [&](std::size_t k) { return expected(k, place_); }, [&](std::size_t k) { return sent(k, place_); });
        if (wrong) return give_up(run_failure::reason::mismatch, o, begun(place_) - 1, *std::move(wrong));
        const bool shares = o.kind == transfer_kind::all_to_all;
        // Two other members may disagree about their amounts: one of them reports it, and no member moves bytes.
        bool same = true;
        for (std::size_t from = 0; shares && from < size(); ++from)
            for (std::size_t to = 0; to < size(); ++to) same = same && sent(from, to) == expected(from, to);
        return same;
    }

    /// Returns the largest number of bytes that any member sends or receives in an all-to-all. O(members^2).
    [[nodiscard]] std::size_t longest_exchange() const {
        std::size_t longest = 0;
        for (std::size_t k = 0; k < size(); ++k) {
            std::size_t sends = 0, receives = 0;
            for (std::size_t j = 0; j < size(); ++j) {
                sends += sent(k, j);
                receives += sent(j, k);
            }
            longest = std::max({longest, sends, receives});
        }
        return longest;
    }

    /// Moves the bytes of an operation that all members have begun. Returns whether it is complete and no call has
    /// failed.
    bool move(const collective_operation& o) {
        const std::size_t longest = o.kind == transfer_kind::all_to_all ? longest_exchange() : 0;
        moving_ = &o;
        return mover_.move(o, send_sizes_, receive_sizes_, longest);
    }
    /// Returns whether a call of MPI has succeeded. If not, the run is given up. `other` is the member with which the
    /// call exchanges a note, if there is one.
    bool works(int code, const collective_operation& o, std::size_t other = SIZE_MAX) {
        if (code == MPI_SUCCESS) return true;
        std::string detail = words_of_mpi_error(code);
        if (other < size()) detail = "rank " + std::to_string(ranks_[other]) + " cannot be reached: " + detail;
        return give_up(run_failure::reason::call_failed, o, begun(place_) - 1, std::move(detail));
    }
    /// Ends the run at collective `sequence`. Returns false, because the operation does not continue.
    bool give_up(run_failure::reason why, const collective_operation& o, std::uint32_t sequence, std::string detail) {
        run_.fail(lane_site{id_, sequence, o.task}.failure(why, ranks_[place_], std::move(detail)));
        return false;
    }

    mpi_run& run_;
    group_id id_;
    std::vector<rank_id> ranks_;
    std::size_t place_;
    MPI_Comm communicator_;
    std::unique_ptr<std::atomic<std::uint32_t>[]> arrived_;  // by member: how many of its notes are there
    std::vector<std::uint64_t> notes_;                       // by member: its last note
    std::vector<MPI_Request> notices_;                       // by member: receives of notes, then sends
    std::vector<int> finished_;                              // requests, as MPI lists them
    std::vector<MPI_Status> outcomes_;                       // of those requests
    std::vector<std::size_t> send_sizes_, receive_sizes_;    // of an all-to-all
    const collective_operation* moving_ = nullptr;           // the operation whose bytes were moved last
    mpi_mover mover_;
};

}  // namespace stretto::detail

#endif
