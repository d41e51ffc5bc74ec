// The backend whose ranks are processes connected by MPI. They run the same programs as on host_world, on any number of
// machines. Within a rank everything works as on the host: the thread that calls `run` is the compute lane, and each
// communicator has a thread that performs collectives in the order of their launches. That thread polls MPI until a
// collective is complete, because MPI guarantees no progress otherwise, so collectives proceed while kernels run.
// Reductions are formed in the order of the group, so a program produces the same bits here and on host_world.
//
// Several threads call MPI at the same time, so it must be initialised with MPI_THREAD_MULTIPLE.
#ifndef STRETTO_BACKEND_MPI_MPI_WORLD_HPP
#define STRETTO_BACKEND_MPI_MPI_WORLD_HPP

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stretto/backend/concepts.hpp"
#include "stretto/backend/detail/threads/host_lane.hpp"
#include "stretto/backend/detail/threads/thread_rank.hpp"
#include "stretto/backend/detail/threads/waiting_lanes.hpp"
#include "stretto/backend/mpi/detail/mpi_calls.hpp"
#include "stretto/backend/mpi/detail/mpi_control.hpp"
#include "stretto/backend/mpi/detail/mpi_group.hpp"
#include "stretto/backend/mpi/detail/mpi_run.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/process_groups.hpp"

namespace stretto {

/// The rank of this process. It is the backend to which its program binds orders. Only the thread that runs the program
/// uses it. What is bound to it must end before the world.
class mpi_rank : public detail::thread_rank<detail::mpi_group, detail::mpi_run> {
public:
    using thread_rank::thread_rank;

private:
    friend class mpi_world;
};
static_assert(backend<mpi_rank>);

/// The options of an mpi_world.
struct mpi_options {
    /// The longest time for which a lane may wait without a break. The time that a collective takes is a wait of its
    /// lane.
    std::chrono::milliseconds deadline{60'000};
    /// How long processes wait after a failure for others, which may be gone, to agree on it and to complete transfers
    /// in progress.
    std::chrono::milliseconds grace{5'000};
    /// The largest number of bytes passed to MPI as a count, from 1 to INT_MAX. Larger amounts are moved in blocks of
    /// this size. It must be the same on all processes.
    std::size_t largest_count = INT_MAX;
    bool timed = false;  ///< whether this rank records when tasks begin and end (mpi_rank::times)
};

/// The reason why an mpi_world cannot be made.
struct mpi_fault {
    enum class reason : std::uint8_t {
        not_initialised,  ///< MPI is not initialised, or has been finalised
        few_threads,      ///< MPI was initialised without MPI_THREAD_MULTIPLE
        groups_differ,    ///< processes have passed different groups or options
        bad_options,      ///< `largest_count` is 0, or larger than INT_MAX
        bad_groups,       ///< group `group` does not know its ranks, lists one twice, or is not a valid duplicate
        too_few_ranks,    ///< group `group` contains a rank outside of the `ranks` processes
        mpi_error,        ///< an MPI call has returned `code`
    };
    reason why;
    group_id group = no_group;
    std::size_t ranks = 0;
    int code = MPI_SUCCESS;

    friend bool operator==(const mpi_fault&, const mpi_fault&) = default;
};

/// Returns the fault as a sentence with a hint.
[[nodiscard]] inline std::string explain(const mpi_fault& f) {
    using why = mpi_fault::reason;
    const std::string group = "group " + std::to_string(f.group);
    switch (f.why) {
        case why::not_initialised:
            return "MPI is not initialised: call MPI_Init_thread before, and MPI_Finalize after the world is gone";
        case why::few_threads:
            return "MPI was initialised without MPI_THREAD_MULTIPLE: call MPI_Init_thread with it, and see that it is "
                   "provided";
        case why::groups_differ:
            return "processes have given different groups or options: each must list all groups, also those of which "
                   "it is no member, in the same order";
        case why::bad_options:
            return "largest_count is 0 or too large for an int: MPI cannot move bytes in blocks of that size";
        case why::bad_groups:
            return group + " does not know its ranks, lists one twice, or is a duplicate of another one that it is not";
        case why::too_few_ranks:
            return group + " has a rank that is not among the " + std::to_string(f.ranks) +
                   " processes: start more of them, by the mpiexec that belongs to the MPI with which the program is "
                   "linked";
        case why::mpi_error:
            break;
    }
    return "MPI cannot make the communicators: " + detail::words_of_mpi_error(f.code);
}

/// All ranks of a run, as one of their processes sees them. Processes create it together, run programs together, and
/// destroy it together, before MPI_Finalize: the destructor waits for the others, after a failure no longer than
/// `grace`. After a failure every replay and every collective fails.
class mpi_world {
public:
    /// Creates a world of the processes of `all`, whose ranks in `all` are those in the groups. Each group gets a
    /// communicator of its own, so its messages never match others. All processes of `all` must call it, with the same
    /// groups. Returns the world, or the first fault. `all` and `groups` are not kept.
    [[nodiscard]] static expected<std::unique_ptr<mpi_world>, mpi_fault> make(MPI_Comm all,
                                                                              const process_groups& groups,
                                                                              mpi_options options = {}) {
        using why = mpi_fault::reason;
        int initialised = 0, finalised = 0, threads = MPI_THREAD_SINGLE;
        if (MPI_Initialized(&initialised) != MPI_SUCCESS || initialised == 0 ||
            MPI_Finalized(&finalised) != MPI_SUCCESS || finalised != 0)
            return unexpected(mpi_fault{why::not_initialised});
        if (MPI_Query_thread(&threads) != MPI_SUCCESS || threads < MPI_THREAD_MULTIPLE)
            return unexpected(mpi_fault{why::few_threads});
        std::unique_ptr<mpi_world> made(new mpi_world);
        if (const auto fault = made->set_up(all, groups, options)) return unexpected(*fault);
        return made;
    }
    mpi_world(const mpi_world&) = delete;
    mpi_world& operator=(const mpi_world&) = delete;
    ~mpi_world() {
        control_.reset();
        const bool left_behind = run_ && run_->abandoned(), failed = run_ && run_->failed();
        if (run_) {
            // Releases lanes that still wait for an unfinished collective.
            run_->fail({});
            run_->give_up_waiting();
        }
        rank_.reset();
        if (left_behind) return;
        for (const auto& g : groups_)
            if (failed) g->begin_draining();
        for (const auto& g : groups_)
            if (failed) g->end_draining();
        for (MPI_Comm& c : communicators_)
            if (c != MPI_COMM_NULL) MPI_Comm_free(&c);
    }

    /// Returns the number of ranks.
    [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(size_); }
    /// Returns the rank of this process.
    [[nodiscard]] rank_id rank() const noexcept { return static_cast<rank_id>(me_); }

    /// Calls `program(rank)` for the rank of this process, in this thread. Returns when all processes have returned
    /// from theirs: nothing on success, otherwise the first failure. It is the same in all processes that answer within
    /// `grace`. An exception of the program is a failure (`rank_threw`).
    template <class Program>
    [[nodiscard]] std::optional<run_failure> run(Program program) {
        const std::uint32_t number = run_->begin_run();
        std::optional<std::string> thrown = detail::failure_of([&] { program(*rank_); });
        if (thrown) run_->fail({run_failure::reason::rank_threw, rank(), no_group, 0, no_task, *std::move(thrown), {}});
        control_->leave(number, run_->failed());
        return run_->await_others(rank());
    }
    /// Returns whether a failure has left communication in progress with other processes that do not answer.
    /// MPI_Finalize may then wait for them forever, and their late messages may arrive in freed memory; call MPI_Abort
    /// instead.
    [[nodiscard]] bool is_abandoned() const { return run_->abandoned(); }

private:
    mpi_world() = default;

    /// Makes everything, in the same order on all processes, because communicators are created together.
    [[nodiscard]] std::optional<mpi_fault> set_up(MPI_Comm all, const process_groups& groups, mpi_options options) {
        using why = mpi_fault::reason;
        const auto failed = [](int code) { return mpi_fault{why::mpi_error, no_group, 0, code}; };
        MPI_Comm control = MPI_COMM_NULL;
        if (const int code = MPI_Comm_dup(all, &control); code != MPI_SUCCESS) return failed(code);
        communicators_.push_back(control);
        // From here on MPI returns errors instead of ending the process.
        for (const int code : {MPI_Comm_set_errhandler(control, MPI_ERRORS_RETURN), MPI_Comm_size(control, &size_),
                               MPI_Comm_rank(control, &me_)})
            if (code != MPI_SUCCESS) return failed(code);
        const std::uint64_t print = fingerprint(groups, options);
        std::array<std::uint64_t, 2> extremes = {print, ~print};
        if (const int code = MPI_Allreduce(MPI_IN_PLACE, extremes.data(), 2, MPI_UINT64_T, MPI_MAX, control);
            code != MPI_SUCCESS)
            return failed(code);
        if (extremes[0] != ~extremes[1]) return mpi_fault{why::groups_differ};
        if (options.largest_count == 0 || options.largest_count > std::size_t{INT_MAX})
            return mpi_fault{why::bad_options};
        if (const auto fault = first_fault(groups)) return mpi_fault{why::bad_groups, fault->group};
        for (group_id id = 0; id < groups.group_count(); ++id) {
            const process_group g = groups.group_at(id);
            if (!g.knows_ranks()) return mpi_fault{why::bad_groups, id};
            if (std::any_of(g.ranks.begin(), g.ranks.end(), [&](rank_id r) { return r >= size(); }))
                return mpi_fault{why::too_few_ranks, id, size()};
        }

        run_.emplace(size(), groups.group_count(), options.timed);
        rank_.emplace(*run_, rank());
        MPI_Group everybody = MPI_GROUP_NULL;
        if (const int code = MPI_Comm_group(control, &everybody); code != MPI_SUCCESS) return failed(code);
        for (group_id id = 0; id < groups.group_count(); ++id) {
            const process_group g = groups.group_at(id);
            const std::size_t place = g.place_of(rank());
            auto& channel = rank_->channels().emplace_back();
            if (place == g.ranks.size()) continue;
            const std::vector<int> members(g.ranks.begin(), g.ranks.end());
            MPI_Group some = MPI_GROUP_NULL;
            MPI_Comm own = MPI_COMM_NULL;
            int code = MPI_Group_incl(everybody, static_cast<int>(members.size()), members.data(), &some);
            // The tag distinguishes creations at the same time, of which a process has only one.
            if (code == MPI_SUCCESS) code = MPI_Comm_create_group(control, some, static_cast<int>(id % 32'768), &own);
            // MPICH does not inherit the error handler from the parent communicator.
            if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
            if (code != MPI_SUCCESS) return failed(code);
            MPI_Group_free(&some);
            communicators_.push_back(own);
            groups_.push_back(std::make_unique<detail::mpi_group>(*run_, g, place, own, options.largest_count));
            channel = std::make_unique<mpi_rank::communicator_type>(*run_, *groups_.back(), place);
        }
        MPI_Group_free(&everybody);
        deadline_ = options.deadline;
        control_.emplace(*run_, control, me_, size_,
                         detail::mpi_control::watch{options.deadline, options.grace, [this] { return look(); },
                                                    [this] { return waiting(); }});
        return {};
    }
    /// Returns a hash of all groups, and of the options that must be the same on all processes. It covers everything
    /// for which `set_up` may refuse, because all processes must come to the same decision.
    [[nodiscard]] static std::uint64_t fingerprint(const process_groups& groups, const mpi_options& options) {
        std::uint64_t hash = 14695981039346656037ULL;
        const auto add = [&](std::uint64_t x) { hash = (hash ^ x) * 1099511628211ULL; };
        add(options.largest_count);
        add(groups.group_count());
        for (group_id id = 0; id < groups.group_count(); ++id) {
            const process_group g = groups.group_at(id);
            add(static_cast<std::uint64_t>(g.size));
            add(static_cast<std::uint64_t>(g.ranks_per_node));
            add(g.duplicate_of);
            add(g.ranks.size());
            for (const rank_id r : g.ranks) add(r);
        }
        return hash;
    }

    /// Returns the lanes of this process that wait.
    [[nodiscard]] std::vector<waiting_lane> waiting() {
        std::vector<waiting_lane> all;
        detail::add_waiting_lanes(rank(), rank_->compute().station(), rank_->channels(), all);
        return all;
    }
    /// Returns a failure that this process can detect by itself: a lane that waits too long, or for a rank that has
    /// left.
    [[nodiscard]] std::optional<run_failure> look() {
        std::vector<waiting_lane> lanes = waiting();
        if (lanes.empty()) return {};
        std::optional<run_failure> found;
        const auto give_up = [&](run_failure::reason why, rank_id who) {
            if (found) return;
            found = run_failure{why, who};
            found->waiting = lanes;
            detail::name_missing(*found);
        };
        // A lane that waits for a rank that has left is reported as such, and not as a timeout.
        for (const waiting_lane& w : lanes)
            for (const rank_id r : w.for_ranks)
                if (!run_->has_failed(r) && run_->never_begins(r, w.group, w.sequence))
                    give_up(run_failure::reason::rank_left, r);
        const std::int64_t now = detail::host_now();
        const std::int64_t longest = std::chrono::nanoseconds(deadline_).count();
        bool late = detail::overdue(rank_->compute().station(), now, longest);
        for (const auto& channel : rank_->channels())
            late = late || (channel && detail::overdue(channel->station(), now, longest));
        if (late) give_up(run_failure::reason::timeout, rank());
        return found;
    }

    int size_ = 0, me_ = 0;
    std::chrono::milliseconds deadline_{};
    std::vector<MPI_Comm> communicators_;  // first that of all ranks, then those of this rank's groups
    std::optional<detail::mpi_run> run_;
    std::vector<std::unique_ptr<detail::mpi_group>> groups_;
    std::optional<mpi_rank> rank_;
    std::optional<detail::mpi_control> control_;
};

}  // namespace stretto

#endif
