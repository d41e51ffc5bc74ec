// The CUDA and NCCL calls that their backend makes, as a type with static functions. The libraries
// (backend/cuda_nccl/cuda_nccl_library.hpp) are one such type; a test may use another on a machine without a device.
#ifndef STRETTO_BACKEND_CUDA_NCCL_CUDA_NCCL_CALLS_HPP
#define STRETTO_BACKEND_CUDA_NCCL_CUDA_NCCL_CALLS_HPP

#include <concepts>
#include <cstddef>

#include "stretto/backend/stream_calls.hpp"
#include "stretto/core/collective_call.hpp"
#include "stretto/core/element_type.hpp"

namespace stretto {

/// The calls, named for what they do. Amounts are in bytes. A created object is written to the first argument and
/// belongs to the caller, who must end it. `join` creates a communicator, whose `state` must be polled, and `split`
/// creates others from its ranks, with a negative color for ranks that are in none. None of them shares resources with
/// another communicator. Between begin_group and end_group, `send`, `receive`, `end` and `abort` only record what is to
/// be done.
template <class A>
concept cuda_nccl_calls =
    stream_calls<A> && polled_communicator_calls<A> &&
    requires(typename A::stream_type& stream, typename A::comm_type& comm, typename A::id_type& id, void*& memory,
             const void* from, std::size_t n, int k, const char* name, element_type element, reduction_kind reduction) {
        { A::join(comm, n, id, n, k) } -> std::same_as<call_result>;
        { A::split(comm, comm, k, n, name, k) } -> std::same_as<call_result>;
        { A::send(from, n, n, comm, stream) } -> std::same_as<call_result>;
        { A::receive(memory, n, n, comm, stream) } -> std::same_as<call_result>;
        { A::all_gather(from, memory, n, comm, stream) } -> std::same_as<call_result>;
        { A::broadcast(from, memory, n, n, comm, stream) } -> std::same_as<call_result>;
        { A::all_reduce(from, memory, n, element, reduction, comm, stream) } -> std::same_as<call_result>;
        { A::reduce_scatter(from, memory, n, element, reduction, comm, stream) } -> std::same_as<call_result>;
        { A::can_reduce(element, reduction) } -> std::same_as<bool>;
        { A::finish(comm) } -> std::same_as<call_result>;
        { A::end(comm) } -> std::same_as<call_result>;
    };

}  // namespace stretto

#endif
