// Calls of MPI that fail on one process while collectives begin. Every process must come back with the same failure,
// before the deadline and not because of it, and leave nothing behind: the next world, which gets the same numbers from
// MPI, must not receive what was meant for the one before.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/mpi/mpi_session.hpp"
#include "stretto/backend/mpi/mpi_world.hpp"

using namespace stretto;
using mpi_test::everywhere, mpi_test::here, mpi_test::one_group, mpi_test::told_alike;

namespace {

enum class failing : int {
    nothing,
    receive,
    send,
    test
};
std::atomic<failing> what = failing::nothing;
std::atomic<int> left = 0;  // calls before the one that fails

/// Whether this call is the one that fails.
bool fails(failing call) { return what.load() == call && left.fetch_sub(1) == 0; }

}  // namespace

// Whoever defines a function of MPI gets its calls, and has the one of the library under another name.
extern "C" int MPI_Irecv(void* to, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* r) {
    return fails(failing::receive) ? MPI_ERR_OTHER : PMPI_Irecv(to, count, type, from, tag, comm, r);
}
extern "C" int MPI_Isend(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                         MPI_Request* r) {
    return fails(failing::send) ? MPI_ERR_OTHER : PMPI_Isend(from, count, type, to, tag, comm, r);
}
extern "C" int MPI_Testsome(int count, MPI_Request* requests, int* done, int* which, MPI_Status* statuses) {
    return fails(failing::test) ? MPI_ERR_OTHER : PMPI_Testsome(count, requests, done, which, statuses);
}

namespace {

/// Performs gathers of numbers that only this world and this process have. Returns what is wrong with what arrives.
std::string gathers(mpi_rank& rank, int world, int times, std::optional<run_failure>& failure) {
    std::string wrong;
    for (int k = 0; k < times; ++k) {
        std::vector<std::int32_t> received(here.size(), -1);
        const auto number = [&](std::size_t r) {
            return static_cast<std::int32_t>(1'000 * world + 10 * k) + static_cast<std::int32_t>(r);
        };
        const std::int32_t mine = number(here.rank());
        collective_operation o;
        o.kind = transfer_kind::all_gather;
        o.send = reinterpret_cast<const std::byte*>(&mine);
        o.receive = reinterpret_cast<std::byte*>(received.data());
        o.send_bytes = 4;
        o.receive_bytes = 4 * here.size();
        o.logical_id = static_cast<std::uint64_t>(1 + k);
        o.task = static_cast<task_id>(10 + k);
        failure = rank.perform(0, o);
        if (failure) return wrong;
        for (std::size_t r = 0; r < here.size(); ++r)
            if (received[r] != number(r)) wrong = "gather " + std::to_string(k) + " brings what was not sent";
    }
    return wrong;
}

/// A world in which a call fails on process `who`, at its collective `where`, after so many others, and then one in
/// which none does. If others have been told of the collective by then, they may wait for it until their time is over.
void check(failing call, std::size_t who, int where, int before, bool is_told = false) {
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
            wrong = gathers(rank, ++worlds, where, seen);
            if (seen) return;
            left = before;
            if (here.rank() == who) what = call;
            wrong += gathers(rank, worlds, 3, seen);
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
        if (!is_told) CHECK_FALSE((*world)->is_abandoned());
    }
    CHECK(std::chrono::steady_clock::now() - begin < (is_told ? deadline / 2 : grace));
    const auto world = mpi_world::make(MPI_COMM_WORLD, one_group(here.size()), {.deadline = deadline, .grace = grace});
    REQUIRE(everywhere(world.has_value()));
    std::optional<run_failure> seen;
    std::string wrong;
    const auto found = (*world)->run([&](mpi_rank& rank) { wrong = gathers(rank, ++worlds, 5, seen); });
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

TEST_CASE("a process that cannot tell all others ends the run, and nobody waits for it until the deadline") {
    if (here.size() <= 2) return;
    for (std::size_t who = 0; who < here.size(); ++who) check(failing::send, who, 1, 1, true);
}
