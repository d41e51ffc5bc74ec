// The backend on a real device: NCCL with one rank, and virtual ranks with copies between them (loopback_nccl.hpp),
// which run a layer of experts, whole and in chunks; its experts are a kernel of the device. Prints what is wrong.
// Exits with 77 where there is no device, so that it is compiled and linked where there is a compiler for one.
#include <cuda_runtime.h>

#include <cstdio>
#include <string>
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

}  // namespace

int main() {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::printf("no device: nothing is checked\n");
        return 77;
    }
    const auto make_source = [](layer& l, const rank_data& d) { return device_source(l, d); };
    check("NCCL with one rank keeps the promises of a backend", support::keeps_promises<cuda_nccl_library>(1));
    for (const std::int64_t chunks : {1, 2, 3})
        check("experts with NCCL and one rank", support::runs_experts<cuda_nccl_library>(1, chunks, make_source));
    for (const std::int64_t ranks : {1, 2, 4}) {
        check("virtual ranks keep the promises of a backend",
              support::keeps_promises<virtual_calls>(static_cast<std::size_t>(ranks)));
        for (const std::int64_t chunks : {1, 2, 3})
            check("experts on virtual ranks", support::runs_experts<virtual_calls>(ranks, chunks, make_source));
    }
    return failures == 0 ? 0 : 1;
}
