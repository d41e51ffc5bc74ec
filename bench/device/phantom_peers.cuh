// NCCL for one rank whose peers are phantoms, to measure the time of a rank on a machine with one device: an all-to-all
// moves as many bytes as it would, inside the memory of the device, at the rate of an emulated link. Each peer is taken
// to send what it is sent, so the rank receives its own rows. What it cannot show: ranks that are late, congestion, and
// what a real link takes from memory.
#ifndef STRETTO_BENCH_DEVICE_PHANTOM_PEERS_CUH
#define STRETTO_BENCH_DEVICE_PHANTOM_PEERS_CUH

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/backend/cuda_nccl/cuda_nccl_library.hpp"

namespace bench {

/// How an emulated link moves bytes.
struct device_link {
    int ctas = 0;             ///< thread blocks that move them, each of which keeps a multiprocessor; 0: copy engines
    double bytes_per_ns = 0;  ///< the rate of all blocks together; 0: as fast as they can
    double latency_ns = 0;    ///< before the first byte
};

struct moved_part {
    std::byte* to;
    const std::byte* from;
    std::size_t size;  // a multiple of 16
};
struct moved_parts {
    static constexpr int most = 16;
    moved_part all[most];
    int count;
};

__device__ inline std::uint64_t device_now() {
    std::uint64_t t;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
    return t;
}

/// Moves parts, piece by piece. A block that is ahead of its share of the link waits.
__global__ void __launch_bounds__(640) move_over_link(moved_parts parts, double ns_per_byte, double latency_ns) {
    constexpr std::size_t piece = 128 * 1024;
    const std::uint64_t begin = device_now();
    double allowed = latency_ns;
    std::size_t next = blockIdx.x, passed = 0;  // numbers of pieces, over all parts
    for (int p = 0; p < parts.count; ++p) {
        const moved_part part = parts.all[p];
        const std::size_t pieces = (part.size + piece - 1) / piece;
        for (; next < passed + pieces; next += gridDim.x) {
            const std::size_t at = (next - passed) * piece;
            const std::size_t n = part.size - at < piece ? part.size - at : piece;
            const auto* const from = reinterpret_cast<const uint4*>(part.from + at);
            auto* const to = reinterpret_cast<uint4*>(part.to + at);
            std::size_t k = threadIdx.x;
            for (; k + 3 * blockDim.x < n / 16; k += 4 * blockDim.x) {  // four loads in flight
                const uint4 a = from[k], b = from[k + blockDim.x], c = from[k + 2 * blockDim.x],
                            d = from[k + 3 * blockDim.x];
                to[k] = a;
                to[k + blockDim.x] = b;
                to[k + 2 * blockDim.x] = c;
                to[k + 3 * blockDim.x] = d;
            }
            for (; k < n / 16; k += blockDim.x) to[k] = from[k];
            allowed += static_cast<double>(n) * ns_per_byte * gridDim.x;
            __syncthreads();
            if (threadIdx.x == 0)
                while (static_cast<double>(device_now() - begin) < allowed) __nanosleep(200);
            __syncthreads();
        }
        passed += pieces;
    }
}

/// The memory of a block: so much that no other block that needs some shares its multiprocessor, as with NCCL's.
inline constexpr int memory_of_mover = 100 * 1024;

/// Puts a transfer into a stream.
inline stretto::call_result move(const std::vector<moved_part>& parts, device_link link, cudaStream_t s) {
    using library = stretto::cuda_library;
    const auto odd = [](const moved_part& p) {
        return (p.size | reinterpret_cast<std::uintptr_t>(p.to) | reinterpret_cast<std::uintptr_t>(p.from)) % 16 != 0;
    };
    if (link.ctas == 0 || parts.size() > moved_parts::most || std::any_of(parts.begin(), parts.end(), odd)) {
        for (const moved_part& p : parts)
            if (p.size != 0 && p.to != p.from)
                if (const auto r = library::copy(p.to, p.from, p.size, s); !r.done()) return r;
        return {};
    }
    moved_parts all = {};
    for (const moved_part& p : parts) all.all[all.count++] = p;
    static const cudaError_t permitted =
        cudaFuncSetAttribute(move_over_link, cudaFuncAttributeMaxDynamicSharedMemorySize, memory_of_mover);
    if (permitted != cudaSuccess) return library::told("cudaFuncSetAttribute", permitted);
    move_over_link<<<link.ctas, 640, memory_of_mover, s>>>(all, link.bytes_per_ns > 0 ? 1 / link.bytes_per_ns : 0,
                                                           link.latency_ns);
    return library::told("a transfer", cudaGetLastError());
}

/// The calls of CUDA, and of an NCCL for one rank and its phantom peers. It moves shares and does not reduce.
struct phantom_peers : stretto::cuda_library {
    using result = stretto::call_result;
    struct post {
        std::size_t peer;
        std::byte* memory;
        std::size_t size;
    };
    struct communicator {
        std::size_t ranks = 0;
    };
    using comm_type = communicator*;
    using id_type = int;
    using handle_type = int;

    static inline device_link link = {};  ///< the link of collectives that are put from now on

    static result make_id(int&) { return {}; }
    static result allocate(void*& memory, std::size_t n, stretto::device_memory kind) {
        return allocate_from_cuda(memory, n, kind);
    }
    static result release(void* memory, stretto::device_memory kind) { return release_to_cuda(memory, kind); }
    static result join(comm_type& made, std::size_t ranks, int, std::size_t, int) {
        made = new communicator{ranks};
        return {};
    }
    static result split(comm_type& made, comm_type of, int color, std::size_t, const char*, int) {
        if (color >= 0) made = new communicator{*of};
        return {};
    }
    static bool is_null(comm_type c) { return c == nullptr; }
    static result state(comm_type) { return {}; }
    static result begin_group() {
        sent().clear();
        received().clear();
        return {};
    }
    static result end_group() {
        std::vector<moved_part> parts;
        for (const post& to : received())
            for (post& from : sent())
                if (from.peer == to.peer && from.memory != nullptr) {
                    if (from.size != to.size) return {result::state::failed, "phantom peers need equal shares", "move"};
                    parts.push_back({to.memory, from.memory, to.size});
                    from.memory = nullptr;
                    break;
                }
        return parts.empty() ? result{} : move(parts, link, stream());
    }
    static result send(const void* from, std::size_t n, std::size_t to, comm_type, cudaStream_t s) {
        stream() = s;
        sent().push_back({to, const_cast<std::byte*>(static_cast<const std::byte*>(from)), n});
        return {};
    }
    static result receive(void* to, std::size_t n, std::size_t from, comm_type, cudaStream_t s) {
        stream() = s;
        received().push_back({from, static_cast<std::byte*>(to), n});
        return {};
    }
    static result all_gather(const void* from, void* to, std::size_t n, comm_type c, cudaStream_t s) {
        std::vector<moved_part> parts;
        for (std::size_t k = 0; k < c->ranks; ++k)
            parts.push_back({static_cast<std::byte*>(to) + k * n, static_cast<const std::byte*>(from), n});
        return move(parts, link, s);
    }
    static result broadcast(const void*, void*, std::size_t, std::size_t, comm_type, cudaStream_t) { return none(); }
    static result all_reduce(const void*, void*, std::size_t, stretto::element_type, stretto::reduction_kind, comm_type,
                             cudaStream_t) {
        return none();
    }
    static result reduce_scatter(const void*, void*, std::size_t, stretto::element_type, stretto::reduction_kind,
                                 comm_type, cudaStream_t) {
        return none();
    }
    static bool can_reduce(stretto::element_type, stretto::reduction_kind) { return false; }
    static result enter(int&, comm_type, void*, std::size_t) { return {}; }
    static result leave(comm_type, int) { return {}; }
    static result finish(comm_type) { return {}; }
    static result end(comm_type c) {
        delete c;
        return {};
    }
    static result abort(comm_type c) { return end(c); }

private:
    static result none() { return {result::state::failed, "phantom peers only exchange shares", "move"}; }
    static std::vector<post>& sent() {
        static thread_local std::vector<post> all;
        return all;
    }
    static std::vector<post>& received() {
        static thread_local std::vector<post> all;
        return all;
    }
    static cudaStream_t& stream() {
        static thread_local cudaStream_t s = nullptr;
        return s;
    }
};
static_assert(stretto::cuda_nccl_calls<phantom_peers>);

}  // namespace bench

#endif
