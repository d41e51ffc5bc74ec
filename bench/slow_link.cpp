// Measures what processes do over a link that is slow for real, beside what the link's rate predicts: exchanges of
// several sizes, and a step in which a kernel runs beside the exchange. Each of two processes sends half of what it
// receives in an all-to-all to the other one, so that is what crosses the link, in both directions at a time. The time
// of the smallest exchange stands for the latency. Times are of the wall, the least of several runs, of the process
// that takes longest. bench/slow_link makes the link, and starts this:
//
//     bench.slow_link BYTES_PER_SECOND

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "stretto/backend/mpi/mpi_world.hpp"
#include "support/collective_runs.hpp"
#include "support/ranks.hpp"

namespace {

using namespace stretto;

/// Ends both processes if a run fails.
void expect(const std::optional<run_failure>& failure) {
    if (!bench::went_well(failure)) MPI_Abort(MPI_COMM_WORLD, 1);
}

/// The least seconds of f(), which both processes begin at the same time.
template <class F>
double least_of(int runs, F f) {
    double least = 1e300;
    for (int run = 0; run < runs; ++run) {
        MPI_Barrier(MPI_COMM_WORLD);
        const auto begin = std::chrono::steady_clock::now();
        f();
        double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        least = std::min(least, took);
    }
    return least;
}

/// Multiplies and adds, `rounds` times through a row of numbers.
void compute(std::int64_t rounds) {
    std::vector<float> row(1'024, 1.0F);
    for (std::int64_t k = 0; k < rounds; ++k) {
        for (float& x : row) x = x * 0.999F + 0.001F;
        asm volatile("" : : "r"(row.data()) : "memory");
    }
}

int run(double rate) {
    int ranks = 1, me = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (ranks != 2) return std::fputs("bench.slow_link: needs two processes\n", stderr), 2;
    const auto world = mpi_world::make(MPI_COMM_WORLD, bench::group_of(2));
    if (!world) return std::fprintf(stderr, "bench.slow_link: %s\n", explain(world.error()).c_str()), 1;

    const std::int64_t sample = 2'000;
    const double round = least_of(5, [&] { compute(sample); }) / static_cast<double>(sample);
    double latency = 0;
    if (me == 0)
        std::printf(
            "| bytes that cross | ms, measured | ms, predicted | ratio | ms, kernel | ms, both | ms, predicted | "
            "ratio | share hidden of what can be |\n|---|---|---|---|---|---|---|---|---|\n");
    expect((*world)->run([&](mpi_rank& rank) {
        for (const std::size_t crossing : {std::size_t{2'048}, std::size_t{1} << 20, std::size_t{1} << 22}) {
            bench::collective_buffers b(transfer_kind::all_to_all, 2, 2 * crossing);
            const double transfer = least_of(5, [&] { expect(rank.perform(0, b.operation)); });
            if (latency == 0) {
                latency = transfer;
                continue;
            }
            const double due = latency + static_cast<double>(crossing) / rate;
            // A kernel as long as the transfer: then there is most to hide.
            const auto rounds = static_cast<std::int64_t>(transfer / round);
            const double kernel = least_of(5, [&] { compute(rounds); });
            const double both = least_of(5, [&] {
                rank.channel(0)->launch(b.operation);
                compute(rounds);
                expect(rank.finish());
            });
            if (me != 0) continue;
            std::printf("| %zu | %.1f | %.1f | %.2f | %.1f | %.1f | %.1f | %.2f | %.2f |\n", crossing, transfer * 1e3,
                        due * 1e3, transfer / due, kernel * 1e3, both * 1e3, std::max(kernel, due) * 1e3,
                        both / std::max(kernel, due), (kernel + transfer - both) / std::min(kernel, transfer));
        }
    }));
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const double rate = argc == 2 ? std::atof(argv[1]) : 0;
    if (rate <= 0) return std::fputs("usage: bench.slow_link BYTES_PER_SECOND\n", stderr), 2;
    int threads = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &threads);
    const int status = run(rate);
    MPI_Finalize();
    return status;
}
