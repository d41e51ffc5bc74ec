// The calls of CUDA and NCCL that the backend over them makes, as a type with static functions: the libraries
// (backend/cuda_nccl/cuda_nccl_library.hpp) are one, and a test may have another on a machine without a device.
#ifndef STRETTO_BACKEND_CUDA_NCCL_CUDA_NCCL_CALLS_HPP
#define STRETTO_BACKEND_CUDA_NCCL_CUDA_NCCL_CALLS_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "stretto/core/collective_call.hpp"
#include "stretto/core/element_type.hpp"

namespace stretto {

/// How a call has ended. Calls of NCCL may be in progress, until the state of the communicator says otherwise.
struct call_result {
    enum class state : std::uint8_t {
        done,
        in_progress,
        failed
    };
    state is = state::done;
    const char* text = "";  ///< of a failure: what the library says; it lives as long as the program

    [[nodiscard]] constexpr bool done() const noexcept { return is == state::done; }
    [[nodiscard]] constexpr bool failed() const noexcept { return is == state::failed; }
};

/// Where memory comes from.
enum class device_memory : std::uint8_t {
    device,      ///< of the device alone
    registered,  ///< of the device, from NCCL, and registered with every communicator: it may move fewer copies of it
    managed,     ///< of the device and the host: kernels may be functions of the host
    pinned       ///< of the host, where the device can reach it
};

/// The calls, named for what they do. Amounts are bytes. What is made is written to the first argument and belongs to
/// the caller, who ends it. `may_put` says whether what has been put into a stream since the last call could be;
/// `call` puts a function of the host into a stream; `join` makes a communicator, of which NCCL polls `state`, and
/// `split` others of its ranks, with a color below 0 for those that are in none. Neither shares anything with another
/// communicator. `enter` registers memory with a communicator. Between begin_group and end_group, `send`, `receive`,
/// `end` and `abort` only note what is to be done.
template <class A>
concept cuda_nccl_calls =
    requires(typename A::stream_type& stream, typename A::event_type& event, typename A::comm_type& comm,
             typename A::id_type& id, typename A::graph_type& graph, typename A::handle_type& handle, void*& memory,
             const void* from, std::size_t n, int k, bool first, const char* name, void (*f)(void*), device_memory kind,
             element_type element, reduction_kind reduction) {
        { A::use_device(k) } -> std::same_as<call_result>;
        { A::make_stream(stream, first) } -> std::same_as<call_result>;
        { A::end_stream(stream) } -> std::same_as<call_result>;
        { A::make_event(event) } -> std::same_as<call_result>;
        { A::end_event(event) } -> std::same_as<call_result>;
        { A::record(event, stream) } -> std::same_as<call_result>;
        { A::wait(stream, event) } -> std::same_as<call_result>;
        { A::query(event) } -> std::same_as<call_result>;
        { A::may_put() } -> std::same_as<call_result>;
        { A::call(stream, f, memory) } -> std::same_as<call_result>;
        { A::copy(memory, from, n, stream) } -> std::same_as<call_result>;
        { A::allocate(memory, n, kind) } -> std::same_as<call_result>;
        { A::release(memory, kind) } -> std::same_as<call_result>;
        { A::begin_capture(stream) } -> std::same_as<call_result>;
        { A::end_capture(graph, stream) } -> std::same_as<call_result>;
        { A::launch(graph, stream) } -> std::same_as<call_result>;
        { A::end_graph(graph) } -> std::same_as<call_result>;
        { A::join(comm, n, id, n, k) } -> std::same_as<call_result>;
        { A::split(comm, comm, k, n, name, k) } -> std::same_as<call_result>;
        { A::is_null(comm) } -> std::same_as<bool>;
        { A::state(comm) } -> std::same_as<call_result>;
        { A::begin_group() } -> std::same_as<call_result>;
        { A::end_group() } -> std::same_as<call_result>;
        { A::send(from, n, n, comm, stream) } -> std::same_as<call_result>;
        { A::receive(memory, n, n, comm, stream) } -> std::same_as<call_result>;
        { A::all_gather(from, memory, n, comm, stream) } -> std::same_as<call_result>;
        { A::broadcast(from, memory, n, n, comm, stream) } -> std::same_as<call_result>;
        { A::all_reduce(from, memory, n, element, reduction, comm, stream) } -> std::same_as<call_result>;
        { A::reduce_scatter(from, memory, n, element, reduction, comm, stream) } -> std::same_as<call_result>;
        { A::can_reduce(element, reduction) } -> std::same_as<bool>;
        { A::enter(handle, comm, memory, n) } -> std::same_as<call_result>;
        { A::leave(comm, handle) } -> std::same_as<call_result>;
        { A::finish(comm) } -> std::same_as<call_result>;
        { A::end(comm) } -> std::same_as<call_result>;
        { A::abort(comm) } -> std::same_as<call_result>;
    };

}  // namespace stretto

#endif
