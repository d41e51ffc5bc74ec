// The calls of CUDA and NCCL that the backend over them makes, as a type with static functions: the libraries
// (backend/cuda_nccl/cuda_nccl_library.hpp) are one, and a test may have another on a machine without a device.
#ifndef STRETTO_BACKEND_CUDA_NCCL_CUDA_NCCL_CALLS_HPP
#define STRETTO_BACKEND_CUDA_NCCL_CUDA_NCCL_CALLS_HPP

#include <concepts>
#include <cstddef>

#include "stretto/backend/stream_calls.hpp"
#include "stretto/core/collective_call.hpp"
#include "stretto/core/element_type.hpp"

namespace stretto {

/// The calls, named for what they do. Amounts are bytes. What is made is written to the first argument and belongs to
/// the caller, who ends it. `join` makes a communicator, of which NCCL polls `state`, and `split` others of its ranks,
/// with a color below 0 for those that are in none. Neither shares anything with another communicator. Between
/// begin_group and end_group, `send`, `receive`, `end` and `abort` only note what is to be done.
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
