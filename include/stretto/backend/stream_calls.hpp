// The calls of a runtime of streams, and of the communicators whose work is put into these, as a type with static
// functions: what ranks need whose lanes are streams, whatever the names of the libraries are. A test may have a type
// of its own on a machine without a device.
#ifndef STRETTO_BACKEND_STREAM_CALLS_HPP
#define STRETTO_BACKEND_STREAM_CALLS_HPP

#include "stretto/core/language.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace stretto {

/// How a call has ended. Calls on communicators may be in progress, until the state of the communicator says otherwise.
struct call_result {
    enum class state : std::uint8_t {
        done,
        in_progress,
        failed
    };
    state is = state::done;
    const char* text = "";  ///< of a failure: what the library says; like `call`, it lives as long as the program
    const char* call = "";  ///< unless it is done: what the library calls the call, for failures that name it

    [[nodiscard]] constexpr bool done() const noexcept { return is == state::done; }
    [[nodiscard]] constexpr bool failed() const noexcept { return is == state::failed; }
    /// The same, as what has become of another call.
    [[nodiscard]] constexpr call_result of(const char* other) const noexcept { return {is, text, other}; }
};

/// Where memory comes from.
enum class device_memory : std::uint8_t {
    device,      ///< of the device alone
    registered,  ///< of the device, and registered with every communicator: it may move fewer copies of it
    managed,     ///< of the device and the host: kernels may be functions of the host
    pinned       ///< of the host, where the device can reach it
};

/// The calls, named for what they do. Amounts are bytes. What is made is written to the first argument and belongs to
/// the caller, who ends it. `may_put` says whether what has been put into a stream since the last call could be;
/// `call` puts a function of the host into a stream; between begin_capture and end_capture, a stream notes what is put
/// into it, and streams that wait for its events do.
template <class A>
concept stream_calls =
    requires(typename A::stream_type& stream, typename A::event_type& event, typename A::graph_type& graph,
             void*& memory, const void* from, std::size_t n, int k, bool first, void (*f)(void*), device_memory kind) {
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
    };

/// Those on communicators that block nobody: who has called one asks for its `state`. `enter` registers memory with a
/// communicator, and `leave` takes it back. Between begin_group and end_group, `abort` only notes what is to be done.
template <class A>
concept polled_communicator_calls =
    requires(typename A::comm_type& comm, typename A::handle_type& handle, void* memory, std::size_t n) {
        { A::is_null(comm) } -> std::same_as<bool>;
        { A::state(comm) } -> std::same_as<call_result>;
        { A::begin_group() } -> std::same_as<call_result>;
        { A::end_group() } -> std::same_as<call_result>;
        { A::abort(comm) } -> std::same_as<call_result>;
        { A::enter(handle, comm, memory, n) } -> std::same_as<call_result>;
        { A::leave(comm, handle) } -> std::same_as<call_result>;
    };

}  // namespace stretto

#endif
