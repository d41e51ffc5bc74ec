// Measures collectives among processes beside the same among threads of one of them, beside the collective of MPI
// itself through the memory that processes share, and beside their floor, which is a copy of the bytes that a rank
// receives, made by every process at the same time. Times are of the wall, since processes wait for each other: the
// least of several runs, of the process that takes longest.
//
//     mpiexec -n 2 bench.mpi

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "stretto/backend/host/host_world.hpp"
#include "stretto/backend/mpi/mpi_world.hpp"
#include "support/arguments.hpp"
#include "support/collective_runs.hpp"
#include "support/ranks.hpp"

namespace {

using namespace stretto;

/// Ends all processes if a run fails.
void expect(const std::optional<run_failure>& failure) {
    if (!bench::went_well(failure)) MPI_Abort(MPI_COMM_WORLD, 1);
}

using detail::host_now;

/// The least time of a call, each begun when all processes have come.
template <class F>
std::int64_t least_of(int runs, F f) {
    std::int64_t least = INT64_MAX;
    for (int run = 0; run < runs; ++run) {
        MPI_Barrier(MPI_COMM_WORLD);
        const std::int64_t begin = host_now();
        f();
        std::int64_t took = host_now() - begin;
        MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
        least = std::min(least, took);
    }
    return least;
}

/// The least time among threads of process 0; the others sleep meanwhile.
std::int64_t among_threads(transfer_kind kind, std::size_t ranks, std::size_t received, int runs, bool measures) {
    std::int64_t least = INT64_MAX;
    if (measures) {
        host_world world(ranks, bench::group_of(ranks));
        expect(world.run([&](host_rank& rank) {
            bench::collective_buffers b(kind, ranks, received);
            collective_operation barrier;
            for (int run = 0; run < runs; ++run) {
                if (rank.perform(0, barrier)) return;
                const std::int64_t begin = host_now();
                if (rank.perform(0, b.operation)) return;
                if (rank.rank() == 0) least = std::min(least, host_now() - begin);
            }
        }));
    }
    MPI_Request all = MPI_REQUEST_NULL;
    MPI_Ibarrier(MPI_COMM_WORLD, &all);
    for (int done = 0; done == 0; MPI_Test(&all, &done, MPI_STATUS_IGNORE))
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return least;
}

void measure(mpi_world& world, transfer_kind kind, std::size_t received, int runs) {
    const std::size_t ranks = world.size();
    const std::int64_t threads = among_threads(kind, ranks, received, runs, world.rank() == 0);
    bench::collective_buffers b(kind, ranks, received);
    const std::int64_t floor = least_of(runs, [&] {
        std::memcpy(b.to.data(), b.from.data(), received);
        asm volatile("" : : "r"(b.to.data()) : "memory");
    });
    const int share = static_cast<int>(received / ranks);
    const std::int64_t own = least_of(runs, [&] {
        const auto call = kind == transfer_kind::all_gather ? MPI_Allgather : MPI_Alltoall;
        call(b.from.data(), share, MPI_BYTE, b.to.data(), share, MPI_BYTE, MPI_COMM_WORLD);
    });
    std::int64_t processes = 0;
    expect(
        world.run([&](mpi_rank& rank) { processes = least_of(runs, [&] { expect(rank.perform(0, b.operation)); }); }));
    if (world.rank() != 0) return;
    const auto us = [](std::int64_t t) { return static_cast<double>(t) / 1e3; };
    const auto ratio = [](std::int64_t x, std::int64_t y) { return static_cast<double>(x) / static_cast<double>(y); };
    std::printf("| %s | %zu | %zu | %.1f | %.1f | %.1f | %.1f | %.2f | %.2f | %.2f | %.2f |\n", bench::name_of(kind),
                ranks, received, us(floor), us(own), us(threads), us(processes), ratio(threads, floor),
                ratio(threads, own), ratio(processes, own), ratio(processes, threads));
}

int run(bool smoke) {
    int ranks = 1, me = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    const auto world = mpi_world::make(MPI_COMM_WORLD, bench::group_of(static_cast<std::size_t>(ranks)));
    if (!world) return std::fprintf(stderr, "bench.mpi: %s\n", explain(world.error()).c_str()), 1;
    if (me == 0)
        std::printf(
            "| collective | ranks | bytes received | us, copied | us, of MPI itself | us, threads | us, processes | "
            "threads to copy | threads to MPI | processes to MPI | processes to threads "
            "|\n|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (const transfer_kind kind : bench::measured_collectives)
        for (const std::size_t received : bench::measured_sizes)
            measure(**world, kind, smoke ? 4'096 : received, smoke ? 3 : 100);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const bool smoke = bench::read_arguments(argc, argv).smoke;
    int threads = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &threads);
    const int status = run(smoke);
    MPI_Finalize();
    return status;
}
