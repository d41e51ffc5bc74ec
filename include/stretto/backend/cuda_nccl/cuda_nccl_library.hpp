// The calls of the CUDA and NCCL backend, made to the libraries. It includes only their host headers, so any C++20
// compiler compiles it. The CMake target is stretto::cuda_nccl. It needs CUDA 12 or later and NCCL 2.19 or later.
#ifndef STRETTO_BACKEND_CUDA_NCCL_CUDA_NCCL_LIBRARY_HPP
#define STRETTO_BACKEND_CUDA_NCCL_CUDA_NCCL_LIBRARY_HPP

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "stretto/backend/cuda_nccl/cuda_nccl_calls.hpp"

namespace stretto {

#if NCCL_VERSION_CODE < NCCL_VERSION(2, 19, 0)
#error "stretto::cuda_nccl needs NCCL 2.19 or later: communicators that are split, and memory that is registered"
#endif

/// The calls of CUDA. Each function makes the calls that its code names, on the current device, and returns the first
/// result that is not success. `cuda_nccl_library` adds the calls of NCCL.
struct cuda_library {
    using stream_type = cudaStream_t;
    using event_type = cudaEvent_t;
    using graph_type = cudaGraphExec_t;

    /// Converts the result of a call, whose name is `call`. An event that is not complete is not a failure.
    static call_result told(const char* call, cudaError_t e) {
        if (e == cudaSuccess) return {};
        if (e == cudaErrorNotReady) return {call_result::state::in_progress, "", call};
        return {call_result::state::failed, cudaGetErrorString(e), call};
    }
    static call_result use_device(int device) { return told("cudaSetDevice", cudaSetDevice(device)); }
    /// Makes a stream that does not wait for the default stream, with the highest available priority if `first`, else
    /// with the lowest.
    static call_result make_stream(cudaStream_t& s, bool first) {
        int least = 0, greatest = 0;
        if (const auto r =
                told("cudaDeviceGetStreamPriorityRange", cudaDeviceGetStreamPriorityRange(&least, &greatest));
            !r.done())
            return r;
        return told("cudaStreamCreateWithPriority",
                    cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, first ? greatest : least));
    }
    static call_result end_stream(cudaStream_t s) { return told("cudaStreamDestroy", cudaStreamDestroy(s)); }
    /// Makes an event that measures no time, because such events are cheaper.
    static call_result make_event(cudaEvent_t& e) {
        return told("cudaEventCreateWithFlags", cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    }
    static call_result make_timed_event(cudaEvent_t& e) { return told("cudaEventCreate", cudaEventCreate(&e)); }
    static call_result end_event(cudaEvent_t e) { return told("cudaEventDestroy", cudaEventDestroy(e)); }
    static call_result record(cudaEvent_t e, cudaStream_t s) { return told("cudaEventRecord", cudaEventRecord(e, s)); }
    static call_result wait(cudaStream_t s, cudaEvent_t e) {
        return told("cudaStreamWaitEvent", cudaStreamWaitEvent(s, e, 0));
    }
    static call_result query(cudaEvent_t e) {
        const call_result r = told("cudaEventQuery", cudaEventQuery(e));
        if (r.is == call_result::state::in_progress) static_cast<void>(cudaGetLastError());  // it is not an error
        return r;
    }
    /// CUDA measures in milliseconds, with seven digits, and events to about half a microsecond.
    static call_result elapsed(std::int64_t& ns, cudaEvent_t from, cudaEvent_t to) {
        float ms = 0;
        const call_result r = told("cudaEventElapsedTime", cudaEventElapsedTime(&ms, from, to));
        ns = std::llround(static_cast<double>(ms) * 1e6);
        return r;
    }
    /// Returns the error of kernel launches since the last call, because a launch itself returns nothing.
    static call_result may_put() { return told("cudaGetLastError", cudaGetLastError()); }
    static call_result call(cudaStream_t s, void (*f)(void*), void* with) {
        return told("cudaLaunchHostFunc", cudaLaunchHostFunc(s, f, with));
    }
    /// Copies n bytes between host and device. CUDA derives the direction from the addresses.
    static call_result copy(void* to, const void* from, std::size_t n, cudaStream_t s) {
        return told("cudaMemcpyAsync", cudaMemcpyAsync(to, from, n, cudaMemcpyDefault, s));
    }
    /// Begins a capture that does not restrict other threads of the process.
    static call_result begin_capture(cudaStream_t s) {
        return told("cudaStreamBeginCapture", cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    }
    /// Ends a capture and makes an executable graph of it.
    static call_result end_capture(cudaGraphExec_t& made, cudaStream_t s) {
        cudaGraph_t graph = nullptr;
        call_result r = told("cudaStreamEndCapture", cudaStreamEndCapture(s, &graph));
        // Nodes keep the priorities of their streams; otherwise all would have that of the launching stream.
        if (r.done())
            r = told("cudaGraphInstantiate",
                     cudaGraphInstantiate(&made, graph, cudaGraphInstantiateFlagUseNodePriority));
        if (graph != nullptr) static_cast<void>(cudaGraphDestroy(graph));
        return r;
    }
    static call_result launch(cudaGraphExec_t graph, cudaStream_t s) {
        return told("cudaGraphLaunch", cudaGraphLaunch(graph, s));
    }
    static call_result end_graph(cudaGraphExec_t graph) {
        return told("cudaGraphExecDestroy", cudaGraphExecDestroy(graph));
    }

protected:
    // These handle all kinds of memory except registered memory, which comes from NCCL.
    static call_result allocate_from_cuda(void*& memory, std::size_t n, device_memory kind) {
        if (kind == device_memory::managed) return told("cudaMallocManaged", cudaMallocManaged(&memory, n));
        if (kind == device_memory::pinned) return told("cudaMallocHost", cudaMallocHost(&memory, n));
        return told("cudaMalloc", cudaMalloc(&memory, n));
    }
    static call_result release_to_cuda(void* memory, device_memory kind) {
        if (kind == device_memory::pinned) return told("cudaFreeHost", cudaFreeHost(memory));
        return told("cudaFree", cudaFree(memory));
    }
};

/// The calls of CUDA and NCCL; it models cuda_nccl_calls. Amounts are in bytes. For reductions they are converted into
/// numbers of elements, because NCCL must know these; other data moves as bytes.
struct cuda_nccl_library : cuda_library {
    using comm_type = ncclComm_t;
    using id_type = ncclUniqueId;
    using handle_type = void*;

    /// Converts the result of a call, whose name is `call`. A call in progress is not a failure.
    static call_result told(const char* call, ncclResult_t e) {
        if (e == ncclSuccess) return {};
        if (e == ncclInProgress) return {call_result::state::in_progress, "", call};
        return {call_result::state::failed, ncclGetErrorString(e), call};
    }
    /// Makes the id with which all ranks join. One rank makes it, and the program passes it to the others.
    static call_result make_id(ncclUniqueId& id) { return told("ncclGetUniqueId", ncclGetUniqueId(&id)); }
    static call_result allocate(void*& memory, std::size_t n, device_memory kind) {
        if (kind == device_memory::registered) return told("ncclMemAlloc", ncclMemAlloc(&memory, n));
        return allocate_from_cuda(memory, n, kind);
    }
    static call_result release(void* memory, device_memory kind) {
        if (kind == device_memory::registered) return told("ncclMemFree", ncclMemFree(memory));
        return release_to_cuda(memory, kind);
    }
    /// Creates the communicator of all ranks, which uses at most `ctas` thread blocks if that is not 0.
    static call_result join(ncclComm_t& comm, std::size_t ranks, const ncclUniqueId& id, std::size_t rank, int ctas) {
        ncclConfig_t config = config_of("stretto", ctas);
        return told("ncclCommInitRankConfig",
                    ncclCommInitRankConfig(&comm, static_cast<int>(ranks), id, static_cast<int>(rank), &config));
    }
    /// Creates a communicator of the ranks with the same color, in the order of `key`; none for a negative color. The
    /// caller polls `of`, and must keep `made` where it is until `of` is done.
    static call_result split(ncclComm_t& made, ncclComm_t of, int color, std::size_t key, const char* name, int ctas) {
        ncclConfig_t config = config_of(name, ctas);
        const ncclResult_t e =
            ncclCommSplit(of, color < 0 ? NCCL_SPLIT_NOCOLOR : color, static_cast<int>(key), &made, &config);
        // NCCL 2.28 reports success while the split is still in progress; it writes `made` when the split is complete.
        return told("ncclCommSplit", e == ncclSuccess ? ncclInProgress : e);
    }
    static bool is_null(ncclComm_t comm) { return comm == nullptr; }
    /// Returns the state of a communicator: in progress while a call on it is, or failed, also if it fails between
    /// calls.
    static call_result state(ncclComm_t comm) {
        ncclResult_t now = ncclSuccess;
        const call_result asked = told("ncclCommGetAsyncError", ncclCommGetAsyncError(comm, &now));
        return asked.done() ? told("ncclCommGetAsyncError", now) : asked;
    }
    static call_result begin_group() { return told("ncclGroupStart", ncclGroupStart()); }
    static call_result end_group() { return told("ncclGroupEnd", ncclGroupEnd()); }
    static call_result send(const void* from, std::size_t n, std::size_t to, ncclComm_t comm, cudaStream_t s) {
        return told("ncclSend", ncclSend(from, n, ncclUint8, static_cast<int>(to), comm, s));
    }
    static call_result receive(void* to, std::size_t n, std::size_t from, ncclComm_t comm, cudaStream_t s) {
        return told("ncclRecv", ncclRecv(to, n, ncclUint8, static_cast<int>(from), comm, s));
    }
    static call_result all_gather(const void* from, void* to, std::size_t n, ncclComm_t comm, cudaStream_t s) {
        return told("ncclAllGather", ncclAllGather(from, to, n, ncclUint8, comm, s));
    }
    static call_result broadcast(const void* from, void* to, std::size_t n, std::size_t root, ncclComm_t comm,
                                 cudaStream_t s) {
        return told("ncclBroadcast", ncclBroadcast(from, to, n, ncclUint8, static_cast<int>(root), comm, s));
    }
    static call_result all_reduce(const void* from, void* to, std::size_t n, element_type e, reduction_kind r,
                                  ncclComm_t comm, cudaStream_t s) {
        return told("ncclAllReduce", ncclAllReduce(from, to, n / bytes_of(e), type_of(e), reduction_of(r), comm, s));
    }
    static call_result reduce_scatter(const void* from, void* to, std::size_t n, element_type e, reduction_kind r,
                                      ncclComm_t comm, cudaStream_t s) {
        return told("ncclReduceScatter",
                    ncclReduceScatter(from, to, n / bytes_of(e), type_of(e), reduction_of(r), comm, s));
    }
    /// Returns whether NCCL has a type for these elements, and an operation for this reduction.
    static bool can_reduce(element_type e, reduction_kind r) {
        return type_of(e) != ncclNumTypes && reduction_of(r) != ncclNumOps;
    }
    static call_result enter(void*& handle, ncclComm_t comm, void* memory, std::size_t n) {
        return told("ncclCommRegister", ncclCommRegister(comm, memory, n, &handle));
    }
    static call_result leave(ncclComm_t comm, void* handle) {
        return told("ncclCommDeregister", ncclCommDeregister(comm, handle));
    }
    static call_result finish(ncclComm_t comm) { return told("ncclCommFinalize", ncclCommFinalize(comm)); }
    static call_result end(ncclComm_t comm) { return told("ncclCommDestroy", ncclCommDestroy(comm)); }
    static call_result abort(ncclComm_t comm) { return told("ncclCommAbort", ncclCommAbort(comm)); }

private:
    /// Returns the configuration of a communicator. Its calls do not block, because a thread in a call that blocks
    /// could not abort it. It shares no resources with another one, because the work of communicators that share them
    /// is serialized.
    static ncclConfig_t config_of(const char* name, int ctas) {
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = 0;
        config.splitShare = 0;
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 0)
        config.commName = name;
#else
        static_cast<void>(name);
#endif
        if (ctas > 0) config.maxCTAs = ctas;
        return config;
    }
    static std::size_t bytes_of(element_type e) { return static_cast<std::size_t>(size_of(e)); }
    /// Returns NCCL's type, or ncclNumTypes for elements that NCCL cannot reduce.
    static ncclDataType_t type_of(element_type e) {
        switch (e) {
            case element_type::f16:
                return ncclFloat16;
            case element_type::bf16:
                return ncclBfloat16;
            case element_type::f32:
                return ncclFloat32;
            case element_type::f64:
                return ncclFloat64;
            case element_type::i8:
                return ncclInt8;
            case element_type::u8:
                return ncclUint8;
            case element_type::i32:
                return ncclInt32;
            case element_type::i64:
                return ncclInt64;
            default:
                return ncclNumTypes;
        }
    }
    /// Returns NCCL's operation, or ncclNumOps for a reduction that NCCL does not have.
    static ncclRedOp_t reduction_of(reduction_kind r) {
        switch (r) {
            case reduction_kind::sum:
                return ncclSum;
            case reduction_kind::average:
                return ncclAvg;
            case reduction_kind::max:
                return ncclMax;
            case reduction_kind::min:
                return ncclMin;
            case reduction_kind::product:
                return ncclProd;
            default:
                return ncclNumOps;
        }
    }
};
static_assert(cuda_nccl_calls<cuda_nccl_library>);

}  // namespace stretto

#endif
