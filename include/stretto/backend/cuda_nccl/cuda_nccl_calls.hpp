// The calls of CUDA and NCCL that the backend makes, as a type with static functions. cuda_nccl_library
// (backend/cuda_nccl/cuda_nccl_library.hpp) makes the real ones; a test may use another type on a machine without a
// device.
#ifndef STRETTO_BACKEND_CUDA_NCCL_CUDA_NCCL_CALLS_HPP
#define STRETTO_BACKEND_CUDA_NCCL_CUDA_NCCL_CALLS_HPP

#include <concepts>
#include <cstddef>

#include "stretto/backend/stream_calls.hpp"
#include "stretto/core/collective_call.hpp"
#include "stretto/core/element_type.hpp"

namespace stretto {

/// The calls of CUDA and NCCL. Amounts are in bytes. A call that creates an object writes it to its first argument; the
/// object belongs to the caller, who must end it. `join` creates the communicator of all ranks, and `split` creates
/// others from its ranks, with a negative color for ranks that are in none; it writes them by the time the state of the
/// communicator that is split is done. No communicator shares resources with another one. `finish` begins the orderly
/// end of a communicator, and `end` destroys it. After a call that is in progress, the caller polls the `state` of the
/// communicator. `can_reduce` returns whether a reduction is supported. Between begin_group and end_group, `send`,
/// `receive`, `end` and `abort` only note what is to be done.
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
