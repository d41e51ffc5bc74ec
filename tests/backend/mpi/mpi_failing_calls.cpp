// Calls of MPI that fail on one process while collectives begin. Every process must come back with the same failure,
// before the deadline and not because of it, and leave nothing behind: the next world, which gets the same numbers from
// MPI, must not receive what was meant for the one before.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backend/mpi/mpi_session.hpp"
#include "stretto/backend/mpi/mpi_world.hpp"

using namespace stretto;
using mpi_test::everywhere, mpi_test::here, mpi_test::one_group, mpi_test::told_alike;

namespace {

enum class failing : int {
    nothing,
    receive,
    send,      // once
    sends,     // from then on
    test,      // for notes
    status,    // of a note that has come
    progress,  // the first time that a collective is asked for
};
std::atomic<failing> what = failing::nothing;
std::atomic<int> left = 0;       // calls before the one that fails
std::atomic<int> under_way = 0;  // collectives of MPI that this process has begun and not completed
thread_local bool moves = false, fails_next = false;

/// Whether this call is the one that fails.
bool fails(failing call) { return what.load() == call && left.fetch_sub(1) == 0; }

/// A collective of MPI begins in this thread, which is the one that asks for it.
int begun(int code) {
    moves = true;
    fails_next = fails(failing::progress);
    under_way += code == MPI_SUCCESS;
    return code;
}

}  // namespace

// Whoever defines a function of MPI gets its calls, and has the one of the library under another name.
extern "C" int MPI_Irecv(void* to, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* r) {
    return fails(failing::receive) ? MPI_ERR_OTHER : PMPI_Irecv(to, count, type, from, tag, comm, r);
}
extern "C" int MPI_Isend(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                         MPI_Request* r) {
    const bool never = what.load() == failing::sends && left.fetch_sub(1) <= 0;
    return never || fails(failing::send) ? MPI_ERR_OTHER : PMPI_Isend(from, count, type, to, tag, comm, r);
}
extern "C" int MPI_Testsome(int count, MPI_Request* requests, int* done, int* which, MPI_Status* statuses) {
    if (fails(failing::test)) return MPI_ERR_OTHER;
    const int code = PMPI_Testsome(count, requests, done, which, statuses);
    if (code != MPI_SUCCESS || *done == MPI_UNDEFINED || *done == 0 || what.load() != failing::status) return code;
    for (int k = 0; k < *done; ++k) {
        // Receives come before sends among the requests.
        const bool is_note = which[k] < count / 2;
        statuses[k].MPI_ERROR = is_note && left.fetch_sub(1) == 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
    }
    return std::any_of(statuses, statuses + *done, [](const MPI_Status& s) { return s.MPI_ERROR != MPI_SUCCESS; })
               ? MPI_ERR_IN_STATUS
               : code;
}
extern "C" int MPI_Iallgather(const void* from, int sent, MPI_Datatype sent_type, void* to, int received,
                              MPI_Datatype type, MPI_Comm comm, MPI_Request* r) {
    return begun(PMPI_Iallgather(from, sent, sent_type, to, received, type, comm, r));
}
extern "C" int MPI_Ialltoallv(const void* from, const int* sent, const int* sent_at, MPI_Datatype sent_type, void* to,
                              const int* received, const int* received_at, MPI_Datatype type, MPI_Comm comm,
                              MPI_Request* r) {
    return begun(PMPI_Ialltoallv(from, sent, sent_at, sent_type, to, received, received_at, type, comm, r));
}
extern "C" int MPI_Test(MPI_Request* r, int* done, MPI_Status* status) {
    if (std::exchange(fails_next, false)) return MPI_ERR_OTHER;
    const int code = PMPI_Test(r, done, status);
    if (moves && code == MPI_SUCCESS && *done != 0) --under_way;
    return code;
}

namespace {

/// Performs gathers, or sums, of numbers that only this world and this process have. Returns what is wrong with what
/// arrives.
std::string collectives(mpi_rank& rank, int world, int times, transfer_kind kind, std::optional<run_failure>& failure) {
    std::string wrong;
    for (int k = 0; k < times; ++k) {
        const bool sums = kind == transfer_kind::all_reduce;
        const auto number = [&](std::size_t r) {
            return static_cast<std::int32_t>(1'000 * world + 10 * k) + static_cast<std::int32_t>(r);
        };
        std::int32_t sum = 0;
        for (std::size_t r = 0; r < here.size(); ++r) sum += number(r);
        std::vector<std::int32_t> received(here.size(), -1);
        const std::vector<std::int32_t> mine(sums ? here.size() : 1, number(here.rank()));
        collective_operation o;
        o.kind = kind;
        o.reduction = sums ? reduction_kind::sum : reduction_kind::none;
        o.element = element_type::i32;
        o.send = reinterpret_cast<const std::byte*>(mine.data());
        o.receive = reinterpret_cast<std::byte*>(received.data());
        o.send_bytes = 4 * mine.size();
        o.receive_bytes = 4 * here.size();
        o.logical_id = static_cast<std::uint64_t>(1 + k);
        o.task = static_cast<task_id>(10 + k);
        failure = rank.perform(0, o);
        if (failure) return wrong;
        for (std::size_t r = 0; r < here.size(); ++r)
            if (received[r] != (sums ? sum : number(r)))
                wrong = "collective " + std::to_string(k) + " brings what was not sent";
    }
    return wrong;
}

/// A world in which a call fails on process `who`, at its collective `where`, after so many others, and then one in
/// which none does. If others have been told of the collective by then, they may wait for it until their time is over.
void check(failing call, std::size_t who, int where, int before, bool is_told = false,
           transfer_kind kind = transfer_kind::all_gather) {
    static int worlds = 0;
    CAPTURE(static_cast<int>(call));
    CAPTURE(who);
    CAPTURE(where);
    CAPTURE(before);
    const std::chrono::milliseconds deadline(60'000), grace(is_told ? 300 : 10'000);
    const auto begin = std::chrono::steady_clock::now();
    {
        const auto world =
            mpi_world::make(MPI_COMM_WORLD, one_group(here.size()), {.deadline = deadline, .grace = grace});
        REQUIRE(everywhere(world.has_value()));
        std::optional<run_failure> seen;
        std::string wrong;
        const auto found = (*world)->run([&](mpi_rank& rank) {
            wrong = collectives(rank, ++worlds, where, kind, seen);
            if (seen) return;
            left = before;
            if (here.rank() == who) what = call;
            wrong += collectives(rank, worlds, 3, kind, seen);
        });
        what = failing::nothing;
        REQUIRE(told_alike(found));
        CHECK(wrong == "");
        CHECK(found->why == run_failure::reason::call_failed);
        CHECK(found->rank == who);
        CHECK(found->group == 0);
        CHECK(found->sequence == static_cast<std::uint32_t>(where));
        CHECK(found->task == 10);
        CHECK(found->detail != "");
        if (is_told) under_way = 0;  // they may be abandoned
        else CHECK_FALSE((*world)->is_abandoned());
        CHECK(under_way == 0);
    }
    CHECK(std::chrono::steady_clock::now() - begin < (is_told ? deadline / 2 : grace));
    const auto world = mpi_world::make(MPI_COMM_WORLD, one_group(here.size()), {.deadline = deadline, .grace = grace});
    REQUIRE(everywhere(world.has_value()));
    std::optional<run_failure> seen;
    std::string wrong;
    const auto found = (*world)->run([&](mpi_rank& rank) { wrong = collectives(rank, ++worlds, 5, kind, seen); });
    CHECK_FALSE(found);
    CHECK(wrong == "");
    REQUIRE(everywhere(!found && wrong.empty()));
}

}  // namespace

TEST_CASE("a process that cannot post a receive, or its first note, ends the run and leaves nothing behind") {
    if (here.size() == 1) return;
    for (std::size_t who = 0; who < here.size(); ++who)
        for (const int where : {0, 1, 3}) {
            for (int before = 0; before + 1 < static_cast<int>(here.size()); ++before)
                check(failing::receive, who, where, before);
            check(failing::send, who, where, 0);
        }
}

TEST_CASE("a process that cannot ask for notes, once, completes what all have begun, and ends the run") {
    if (here.size() == 1) return;
    for (std::size_t who = 0; who < here.size(); ++who)
        for (const int where : {0, 2}) check(failing::test, who, where, 0);
}

TEST_CASE("a process that cannot ask for a collective, once, completes what all are moving, and ends the run") {
    if (here.size() == 1) return;
    for (std::size_t who = 0; who < here.size(); ++who)
        for (const int where : {0, 2}) {
            check(failing::progress, who, where, 0);
            for (const int before : {0, 1})  // a sum is two exchanges, which all others begin
                check(failing::progress, who, where, before, false, transfer_kind::all_reduce);
        }
}

TEST_CASE("a process that cannot tell one of several others, once, completes what these are moving, and ends the run") {
    if (here.size() <= 2) return;
    for (std::size_t who = 0; who < here.size(); ++who)
        for (int before = 1; before + 1 < static_cast<int>(here.size()); ++before) check(failing::send, who, 1, before);
}

TEST_CASE("a process that can never tell all others ends the run, and nobody waits for it until the deadline") {
    if (here.size() <= 2) return;
    for (std::size_t who = 0; who < here.size(); ++who) check(failing::sends, who, 1, 1, true);
}

TEST_CASE("a process to which a note comes with an error ends the run, and does not wait for notes that never come") {
    if (here.size() <= 2) return;
    const std::size_t late = here.size() - 1;
    for (std::size_t who = 0; who < late; ++who) {
        CAPTURE(who);
        const std::chrono::milliseconds deadline(60'000), grace(10'000);
        const auto begin = std::chrono::steady_clock::now();
        {
            const auto world =
                mpi_world::make(MPI_COMM_WORLD, one_group(here.size()), {.deadline = deadline, .grace = grace});
            REQUIRE(everywhere(world.has_value()));
            left = 0;
            if (here.rank() == who) what = failing::status;
            const auto found = (*world)->run([&](mpi_rank& rank) {
                std::optional<run_failure> seen;
                // So late that it has been told of the failure by then, and does not begin.
                if (here.rank() == late) std::this_thread::sleep_for(std::chrono::milliseconds(500));
                static_cast<void>(collectives(rank, 0, 1, transfer_kind::all_gather, seen));
            });
            what = failing::nothing;
            REQUIRE(told_alike(found));
            CHECK(found->why == run_failure::reason::call_failed);
            CHECK(found->rank == who);
            CHECK(found->sequence == 0);
            CHECK_FALSE((*world)->is_abandoned());
        }
        CHECK(std::chrono::steady_clock::now() - begin < grace);
    }
}
