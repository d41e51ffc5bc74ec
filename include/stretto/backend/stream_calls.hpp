// The calls of a stream runtime, and of communicators that put work into streams, as a type with static functions.
// Ranks whose lanes are streams need these calls, whatever library provides them. A test may use a type of its own on a
// machine without a device.
#ifndef STRETTO_BACKEND_STREAM_CALLS_HPP
#define STRETTO_BACKEND_STREAM_CALLS_HPP

#include "stretto/core/language.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace stretto {

/// The result of a call. Calls on communicators may stay in progress until the state of the communicator changes.
struct call_result {
    enum class state : std::uint8_t {
        done,
        in_progress,
        failed
    };
    state is = state::done;
    const char* text = "";  ///< the library's message if the call has failed; it must live as long as the program
    const char* call = "";  ///< the library's name for the call, unless it is done; it must live as long as well

    [[nodiscard]] constexpr bool done() const noexcept { return is == state::done; }
    [[nodiscard]] constexpr bool failed() const noexcept { return is == state::failed; }
    /// Returns the same result, attributed to another call.
    [[nodiscard]] constexpr call_result of(const char* other) const noexcept { return {is, text, other}; }
};

/// The kind of memory to allocate.
enum class device_memory : std::uint8_t {
    device,      ///< memory of the device alone
    registered,  ///< memory of the device that is registered with every communicator, which may save copies
    managed,     ///< memory that the device and the host can access, so that kernels may be functions of the host
    pinned       ///< memory of the host that the device can access
};

/// The calls of a stream runtime. Amounts are in bytes. A call that creates an object writes it to its first argument;
/// the object belongs to the caller, who must end it. `make_stream` gives the stream the highest priority if `first` is
/// true. `make_timed_event` makes an event that measures time: `elapsed` writes how many ns passed from one such event
/// to another, both of which were reached, perhaps in different streams. `query` returns whether the work before the
/// last record of an event is done or in progress. `may_put` returns whether the kernels that were put into streams
/// since its last call were accepted. `call` puts a function of the host into a stream. Between begin_capture and
/// end_capture, a stream records the work that is put into it, and so do streams that wait for its events; end_capture
/// makes the graph.
template <class A>
concept stream_calls = requires(typename A::stream_type& stream, typename A::event_type& event,
                                typename A::graph_type& graph, void*& memory, const void* from, std::size_t n, int k,
                                bool first, void (*f)(void*), device_memory kind, std::int64_t& ns) {
    { A::use_device(k) } -> std::same_as<call_result>;
    { A::make_stream(stream, first) } -> std::same_as<call_result>;
    { A::end_stream(stream) } -> std::same_as<call_result>;
    { A::make_event(event) } -> std::same_as<call_result>;
    { A::make_timed_event(event) } -> std::same_as<call_result>;
    { A::end_event(event) } -> std::same_as<call_result>;
    { A::record(event, stream) } -> std::same_as<call_result>;
    { A::wait(stream, event) } -> std::same_as<call_result>;
    { A::query(event) } -> std::same_as<call_result>;
    { A::elapsed(ns, event, event) } -> std::same_as<call_result>;
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

/// The calls on communicators. None of them blocks: after a call that is in progress, the caller polls `state` until it
/// is done or has failed. `enter` registers memory with a communicator, and `leave` unregisters it. Between begin_group
/// and end_group, `abort` only notes what is to be done.
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
