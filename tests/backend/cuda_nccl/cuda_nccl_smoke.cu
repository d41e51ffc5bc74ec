// The backend on a real device: NCCL with one rank, and virtual ranks with copies between them (loopback_nccl.hpp),
// which run a layer of experts, whole and in chunks; its experts are a kernel of the device. As `cuda_nccl_smoke RANK
// RANKS FILE` it is one of several processes that run NCCL among them, and fail together. Prints what is wrong. Exits
// with 77 where there is no device, so that it is compiled and linked where there is a compiler for one.
#include <cuda_runtime.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backend/cuda_nccl/loopback_nccl.hpp"
#include "backend/cuda_nccl/loopback_runs.hpp"
#include "stretto/backend/cuda_nccl/cuda_nccl_library.hpp"
#include "stretto/backend/cuda_nccl/cuda_nccl_rank.hpp"

using namespace stretto;
using namespace support::experts;

namespace {

/// The calls of CUDA, of which virtual ranks have these and no NCCL.
struct device_calls : cuda_library {
    static call_result allocate(void*& memory, std::size_t n, device_memory kind) {
        return allocate_from_cuda(memory, n, kind);
    }
    static call_result release(void* memory, device_memory kind) { return release_to_cuda(memory, kind); }
};
using virtual_calls = support::loopback_nccl<device_calls>;
static_assert(cuda_nccl_calls<virtual_calls>);

/// As code::expert of the host does it, row by row and in its order; without fused multiplications, also with its bits.
__global__ void expert_rows(const float* x, const float* scores, const float* first, const float* second, float* to,
                            int rows, int w, int h) {
    const int r = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (r >= rows) return;
    const int e = scores[r * 2 + 1] > scores[r * 2] ? 1 : 0;
    float* const row = to + r * w;
    for (int c = 0; c < w; ++c) row[c] = 0;
    for (int j = 0; j < h; ++j) {
        float a = 0;
        for (int k = 0; k < w; ++k) a = __fadd_rn(a, __fmul_rn(x[r * w + k], first[(e * w + k) * h + j]));
        a = a < 0 ? 0 : a;
        for (int c = 0; c < w; ++c) row[c] = __fadd_rn(row[c], __fmul_rn(a, second[(e * h + j) * w + c]));
    }
    for (int c = 0; c < w; ++c) row[c] = __fmul_rn(row[c], scores[r * 2 + e]);
}

/// A kernel that takes a stream: experts compute on the device, what is around them are functions of the host.
struct either_kernel {
    kernel k;
    void operator()(cudaStream_t s) {
        if (k.o->what != code::expert)
            return static_cast<void>(cudaLaunchHostFunc(s, [](void* x) { (*static_cast<kernel*>(x))(); }, &k));
        const int rows = static_cast<int>(k.o->makes[0]->shape[0]), w = static_cast<int>(k.o->makes[0]->shape[1]);
        const int h = static_cast<int>(k.o->reads[2]->shape[2]);
        if (rows == 0) return;
        expert_rows<<<(rows + 63) / 64, 64, 0, s>>>(k.read(0), k.read(1), k.read(2), k.read(3),
                                                    reinterpret_cast<float*>(k.out[0]), rows, w, h);
    }
};

/// Arguments are where the device finds them, too.
struct device_source : source {
    std::vector<std::pair<value*, std::byte*>> managed;

    device_source(layer& l, const rank_data& d) : source(l.p, support::experts::arguments(l, d)) {
        for (const auto& [x, from] : source::arguments) {
            void* memory = nullptr;
            if (cudaMallocManaged(&memory, from->size() * 4) != cudaSuccess) continue;
            std::memcpy(memory, from->data(), from->size() * 4);
            managed.emplace_back(x, static_cast<std::byte*>(memory));
        }
    }
    device_source(const device_source&) = delete;
    ~device_source() {
        for (const auto& [x, memory] : managed) static_cast<void>(cudaFree(memory));
    }
    either_kernel kernel(task_id t, task_memory m) const { return {source::kernel(t, m)}; }
    std::byte* address(value_id v) const {
        for (const auto& [x, memory] : managed)
            if (x == values[v]) return memory;
        return nullptr;
    }
};

int failures = 0;
void check(const char* what, const std::string& complaint) {
    std::printf("%s %s%s%s\n", complaint.empty() ? "ok" : "FAILED", what, complaint.empty() ? "" : ": ",
                complaint.c_str());
    failures += !complaint.empty();
}

using real_calls = cuda_nccl_library;
using real_rank = cuda_nccl_rank<real_calls>;

device_source make_source(layer& l, const rank_data& d) { return {l, d}; }

/// This process as one of several ranks, which are processes. For each use rank 0 makes an id, and the others find it
/// in a file.
struct rank_of_processes {
    std::size_t rank, ranks;
    std::string file;
    mutable int uses = 0;

    template <class Program>
    std::string operator()(Program program, cuda_nccl_options options = {}) const {
        const std::string at = file + "." + std::to_string(uses++);
        real_calls::id_type id = {};
        if (rank == 0) {
            if (!real_calls::make_id(id).done()) return "no id";
            std::FILE* const to = std::fopen((at + ".part").c_str(), "wb");
            const bool written = to != nullptr && std::fwrite(&id, sizeof id, 1, to) == 1 && std::fclose(to) == 0;
            if (!written || std::rename((at + ".part").c_str(), at.c_str()) != 0) return "the id cannot be written";
        }
        std::FILE* from = nullptr;
        for (int k = 0; k < 3'000 && from == nullptr; ++k) {
            from = std::fopen(at.c_str(), "rb");
            if (from == nullptr) std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        if (from == nullptr) return "rank 0 has written no id";
        const bool read = std::fread(&id, sizeof id, 1, from) == 1;
        static_cast<void>(std::fclose(from));
        return read ? support::on_rank<real_calls>(rank, ranks, id, program, options) : "the id cannot be read";
    }
};

/// What happened to a run that must fail: nothing if it failed as it should.
std::string failed_as(const std::optional<run_failure>& f, run_failure::reason why) {
    if (!f) return "no failure";
    return f->why == why ? std::string() : support::words(*f);
}

void check_processes(const rank_of_processes& me) {
    const std::string name = ", rank " + std::to_string(me.rank) + " of " + std::to_string(me.ranks) + " processes";
    check(("NCCL keeps the promises of a backend" + name).c_str(), support::keeps_promises<real_calls>(me));
    for (const std::int64_t chunks : {1, 2, 3})
        check(("experts in " + std::to_string(chunks) + " chunks" + name).c_str(),
              support::runs_experts<real_calls>(me, chunks, make_source, support::sums_of::ranks_in_any_order));
    // One rank means to gather other amounts: all learn of it before anything moves.
    const auto gathers_other_amounts = [&](real_rank& rank) -> std::string {
        auto memory = rank.make_arena({256}, 64);
        if (!memory) return "no memory";
        collective_operation o;
        o.kind = transfer_kind::all_gather;
        o.send = memory->data();
        o.receive = memory->data() + 64;
        o.send_bytes = me.rank == 1 ? 16 : 8;
        o.receive_bytes = o.send_bytes * me.ranks;
        return failed_as(rank.perform(0, o), run_failure::reason::mismatch);
    };
    check(("amounts that differ are found" + name).c_str(), me(gathers_other_amounts, {.always_compares = true}));
    // Rank 1 does not come to a barrier: the others end at their deadline and say for whom they wait.
    const auto stays_away = [&](real_rank& rank) -> std::string {
        collective_operation barrier;
        return me.rank == 1 ? std::string() : failed_as(rank.perform(0, barrier), run_failure::reason::timeout);
    };
    check(("a rank that does not come ends the run" + name).c_str(),
          me(stays_away, {.deadline = std::chrono::seconds(5)}));
}

}  // namespace

int main(int argc, char** argv) {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::printf("no device: nothing is checked\n");
        return 77;
    }
    if (argc == 4) {
        check_processes({std::stoul(argv[1]), std::stoul(argv[2]), argv[3]});
        return failures == 0 ? 0 : 1;
    }
    const support::ranks_as_threads<real_calls> alone{1};
    check("NCCL with one rank keeps the promises of a backend", support::keeps_promises<real_calls>(alone));
    for (const std::int64_t chunks : {1, 2, 3})
        check("experts with NCCL and one rank", support::runs_experts<real_calls>(alone, chunks, make_source));
    for (const std::size_t ranks : {1u, 2u, 4u}) {
        const support::ranks_as_threads<virtual_calls> threads{ranks};
        check("virtual ranks keep the promises of a backend", support::keeps_promises<virtual_calls>(threads));
        for (const std::int64_t chunks : {1, 2, 3})
            check("experts on virtual ranks", support::runs_experts<virtual_calls>(threads, chunks, make_source));
    }
    return failures == 0 ? 0 : 1;
}
