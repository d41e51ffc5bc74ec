// Measures on a device what hiding transfers under kernels is worth, and what it costs: a layer of an expert, forward
// and backward, in the order of plan_overlap and run by the executor on streams, whole and in chunks, beside what the
// exact clock predicts from the durations of its parts; kernels and transfers beside each other; how long a transfer
// waits behind kernels; whether rows of matrix products keep their bits; and products of several experts.
//
// One rank is real. Its peers are phantoms (phantom_peers.cuh): the bytes of an all-to-all move inside the
// memory of the device, at the rate of an emulated link, by as many thread blocks as NCCL would use. Durations of parts
// are measured by events around each of them, in the order of the step, on one stream. One step is also timed while it
// runs, and written for stretto-plan.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "device/beside_transfers.cuh"
#include "device/expert_step.cuh"
#include "device/measured_steps.cuh"
#include "device/phantom_peers.cuh"
#include "device/products_of_experts.cuh"
#include "device/timed_steps.cuh"
#include "support/arguments.hpp"
#include "support/ranks.hpp"

namespace {

using namespace bench;

void name_machine() {
    cudaDeviceProp device = {};
    int driver = 0, runtime = 0, nccl = 0, least = 0, greatest = 0;
    must(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
    must(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    must(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    must(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    static_cast<void>(ncclGetVersion(&nccl));
    std::printf("%s, %d multiprocessors, %d copy engines, priorities %d to %d, CUDA %d (driver %d), NCCL %d\n",
                device.name, device.multiProcessorCount, device.asyncEngineCount, least, greatest, runtime, driver,
                nccl);
    std::fflush(stdout);
}

template <class A>
std::unique_ptr<cuda_nccl_rank<A>> join(std::size_t ranks, cuda_nccl_options options = {}) {
    typename A::id_type id = {};
    if (!A::make_id(id).done()) std::exit(1);
    auto rank = cuda_nccl_rank<A>::make(0, ranks, id, bench::group_of(ranks), options);
    if (!rank) {
        static_cast<void>(bench::went_well(rank.error()));
        std::exit(1);
    }
    return *std::move(rank);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        std::fprintf(stderr, "usage: %s DIR [--smoke]: writes step.json and run.json to DIR\n", argv[0]);
        return 2;
    }
    const bool smoke = bench::read_arguments(argc - 1, argv + 1).smoke;
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::printf("no device: nothing is measured\n");
        return 77;
    }
    name_machine();
    const shape s = smoke ? shape{4'096, 512, 1'024} : shape{16'384, 2'048, 8'192};
    const int rounds = smoke ? 3 : 20;
    cudaDeviceProp device = {};
    must(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
    constexpr std::size_t peers = 8;
    products multiply;
    const auto rank = join<bench::phantom_peers>(peers);

    bench::phantom_peers::link = {16, 0, 0};
    for (const std::size_t n : chunk_counts) {
        const double apart = distance(*rank, {2'048, 256, 512}, n, multiply);
        std::printf("%zu chunks: results are %.1e from products in plain loops, relative to their norms\n", n, apart);
        if (!(apart < 1e-2)) {
            std::fprintf(stderr, "the step makes something else than it should\n");
            return 1;
        }
    }

    rank_data data(s);
    std::printf("\nOne exchange of %.0f MB and one product (%zu x %zu x %zu), each alone and beside the other\n\n",
                static_cast<double>(s.row_bytes()) / 1e6, s.rows, s.hidden, s.width);
    std::printf(
        "| transfer | multiprocessors of the product | product us | transfer us | GB/s | product beside / alone | "
        "transfer beside / alone |\n|---|---|---|---|---|---|---|\n");
    buffer<std::byte> there(s.row_bytes());
    const std::vector<bench::moved_part> whole = {{there.data, data.rows.bytes(), there.size}};
    const auto moves = [&](bench::device_link link) {
        return [&whole, link](cudaStream_t on) {
            if (!bench::move(whole, link, on).done()) std::exit(1);
        };
    };
    beside("copy engine", s, data, multiply, 0, moves({}));
    for (const int ctas : {4, 8, 16, 32})
        for (const int sms : {0, device.multiProcessorCount - ctas})
            beside(("blocks: " + std::to_string(ctas)).c_str(), s, data, multiply, sms, moves({ctas, 0, 0}));
    for (const double rate : {50.0, 200.0})
        for (const int sms : {0, device.multiProcessorCount - 16})
            beside(("16 blocks, link of " + std::to_string(static_cast<int>(rate)) + " GB/s").c_str(), s, data,
                   multiply, sms, moves({16, rate, 0}));

    std::printf(
        "\nA transfer of 64 KiB at the highest priority and products at the lowest, us until it is complete\n\n"
        "| blocks | multiprocessors of the products | alone | put 300 us after the products | put before them |\n"
        "|---|---|---|---|---|\n");
    for (const int ctas : {8, 16})
        for (const int sms : {0, device.multiProcessorCount - ctas}) start_delay(s, data, multiply, {ctas, 0, 0}, sms);

    // A link is as fast as transfers must be to take their share of the time of kernels: four exchanges a step.
    double compute = 0;
    {
        bound_program<bench::phantom_peers> b(planned(program(s, 1)), data, multiply, *rank);
        std::vector<cudaEvent_t> events;
        for (int k = 0; k < 3; ++k) {
            compute = 0;
            const auto taken = one_by_one(b, rank->stream(), events, [](auto...) {});
            for (const double t : taken) compute += t;
        }
        for (const cudaEvent_t e : events) static_cast<void>(cudaEventDestroy(e));
    }
    const auto emulated = [&](bench::device_link link, int sms, const char* what) {
        bench::phantom_peers::link = link;
        multiply.use_multiprocessors(sms);
        auto programs = measure(what, *rank, data, multiply, rounds,
                                [&](std::byte* to, std::byte* from, std::size_t n, cudaStream_t on) {
                                    std::vector<bench::moved_part> parts;
                                    for (std::size_t k = 0; k < peers; ++k)
                                        parts.push_back({to + k * (n / peers), from + k * (n / peers), n / peers});
                                    if (!bench::move(parts, link, on).done()) std::exit(1);
                                });
        multiply.use_multiprocessors(0);
        return programs;
    };
    for (const double share : {0.25, 0.5, 1.0, 2.0}) {
        const double rate = 4 * static_cast<double>(s.row_bytes()) / (share * compute);
        char what[96];
        for (const int left : {0, 16}) {
            const int sms = left == 0 ? 0 : device.multiProcessorCount - left;
            std::snprintf(what, sizeof what, "Link of %.0f GB/s, 16 blocks, products on %s", rate,
                          left == 0 ? "all multiprocessors" : "the others");
            const auto programs = emulated({16, rate, 10'000}, sms, what);
            if (share != 1.0) continue;
            const auto timed = join<bench::phantom_peers>(peers, {.timed = true});
            multiply.use_multiprocessors(sms);
            time_step(programs[2], *rank, *timed, peers, data, multiply, rounds, argv[1]);
            multiply.use_multiprocessors(0);
        }
    }
    emulated({}, 0, "Copy engines, as fast as they can");
    {
        // Transfers are measured alone with a communicator like that of the rank.
        using library = cuda_nccl_library;
        const auto alone = join<library>(1);
        library::id_type id = {};
        library::comm_type comm = nullptr;
        const auto done = [&](call_result r) {
            while (!r.failed() && !r.done()) r = library::state(comm);
            if (r.done()) return;
            std::fprintf(stderr, "%s: %s\n", r.call, r.text);
            std::exit(1);
        };
        done(library::make_id(id));
        done(library::join(comm, 1, id, 0, 0));
        done(library::state(comm));
        measure("NCCL with itself, as fast as it can", *alone, data, multiply, rounds,
                [&](std::byte* to, std::byte* from, std::size_t n, cudaStream_t on) {
                    done(library::begin_group());
                    static_cast<void>(library::send(from, n, 0, comm, on));
                    static_cast<void>(library::receive(to, n, 0, comm, on));
                    done(library::end_group());
                });
        done(library::finish(comm));
        done(library::end(comm));
    }

    row_bits(s, data, multiply);
    experts(smoke ? shape{2'048, 256, 512} : shape{32'768, 2'048, 1'408}, multiply);
    return 0;
}
