// Memory of a device, streams whose time is measured, and what is filled and compared there.
#ifndef STRETTO_BENCH_DEVICE_MEMORY_CUH
#define STRETTO_BENCH_DEVICE_MEMORY_CUH

#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "stretto/backend/cuda_nccl/cuda_nccl_library.hpp"

namespace bench {

using bf16 = __nv_bfloat16;

inline void must(cudaError_t e, const char* what) {
    if (e == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
    std::exit(1);
}
inline void must(cublasStatus_t e, const char* what) {
    if (e == CUBLAS_STATUS_SUCCESS) return;
    std::fprintf(stderr, "%s: %s\n", what, cublasGetStatusString(e));
    std::exit(1);
}

/// Memory of the device.
template <class T>
struct buffer {
    T* data = nullptr;
    std::size_t size = 0;

    explicit buffer(std::size_t n) : size(n) { must(cudaMalloc(&data, n * sizeof(T)), "cudaMalloc"); }
    buffer(const buffer&) = delete;
    ~buffer() { static_cast<void>(cudaFree(data)); }
    [[nodiscard]] std::byte* bytes() const { return reinterpret_cast<std::byte*>(data); }
};

__global__ void fill(bf16* to, std::size_t n, std::uint32_t seed, float scale) {
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t k = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; k < n; k += stride) {
        std::uint32_t h = static_cast<std::uint32_t>(k) * 2654435761u + seed * 0x9e3779b9u;
        h = (h ^ (h >> 16)) * 0x85ebca6bu;
        h = (h ^ (h >> 13)) * 0xc2b2ae35u;
        h ^= h >> 16;
        to[k] = __float2bfloat16((static_cast<float>(h >> 8) / 8388608.0f - 1.0f) * scale);
    }
}
inline void fill(buffer<bf16>& b, std::uint32_t seed, float scale) {
    fill<<<1024, 256>>>(b.data, b.size, seed, scale);
    must(cudaGetLastError(), "fill");
}

__global__ void count_differences(const std::uint32_t* a, const std::uint32_t* b, std::size_t n,
                                  unsigned long long* count) {
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
    unsigned long long mine = 0;
    for (std::size_t k = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; k < n; k += stride) mine += a[k] != b[k];
    if (mine != 0) atomicAdd(count, mine);
}
inline std::size_t differences(const void* a, const void* b, std::size_t bytes) {
    buffer<unsigned long long> count(1);
    unsigned long long seen = 0;
    must(cudaMemset(count.data, 0, sizeof seen), "cudaMemset");
    count_differences<<<1024, 256>>>(static_cast<const std::uint32_t*>(a), static_cast<const std::uint32_t*>(b),
                                     bytes / 4, count.data);
    must(cudaMemcpy(&seen, count.data, sizeof seen, cudaMemcpyDefault), "count_differences");
    return seen;
}

struct stream {
    cudaStream_t s = nullptr;
    cudaEvent_t begin = nullptr, end = nullptr;

    explicit stream(bool first) {
        if (!stretto::cuda_library::make_stream(s, first).done()) std::exit(1);
        must(cudaEventCreate(&begin), "cudaEventCreate");
        must(cudaEventCreate(&end), "cudaEventCreate");
    }
    stream(const stream&) = delete;
    ~stream() {
        static_cast<void>(cudaEventDestroy(begin));
        static_cast<void>(cudaEventDestroy(end));
        static_cast<void>(cudaStreamDestroy(s));
    }
    [[nodiscard]] double taken() const {
        float ms = 0;
        must(cudaEventElapsedTime(&ms, begin, end), "cudaEventElapsedTime");
        return static_cast<double>(ms) * 1e3;
    }
};

}  // namespace bench

#endif
