// The concepts of a backend, which runs a program of lanes. A backend has queues that execute work in order, events
// that order one queue after another, communicators that are queues of collectives, and memory; the caller supplies the
// kernels. The executor (backend/executor.hpp) is written once over these concepts.
#ifndef STRETTO_BACKEND_CONCEPTS_HPP
#define STRETTO_BACKEND_CONCEPTS_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "stretto/backend/bind_error.hpp"
#include "stretto/backend/collective_operation.hpp"
#include "stretto/backend/run_failure.hpp"
#include "stretto/core/collective_call.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace stretto {

/// A lane, which executes work in the order in which it is put. `record(e)` marks the current position; `wait(e)` makes
/// later work begin only after the position that was marked last by the time of the call. Both return at once, unless
/// the calling thread itself executes the queue. Every verb of a queue returns whether the run continues; after one has
/// returned false, an executor puts nothing more into any queue and calls `finish()` of the backend.
template <class Q>
concept queue = requires(Q& q, typename Q::event_type& e) {
    { q.wait(e) } -> std::same_as<bool>;
    { q.record(e) } -> std::same_as<bool>;
};

/// A queue of the collectives of one group, in which this rank is member number `place()` of `size()`. `launch` puts a
/// collective into it. `reserve(n)` is called while nothing is in the queue and reserves capacity for the n verbs of a
/// replay, so that these need not allocate. `can(operation)` returns whether the communicator supports the reduction of
/// the operation. An operation, and the memory to which it refers, must live until it is complete.
template <class C>
concept communicator =
    queue<C> && requires(C& c, const C& constant, const collective_operation& operation, std::size_t n) {
        { c.launch(operation) } -> std::same_as<bool>;
        c.reserve(n);
        { constant.can(operation) } -> std::convertible_to<bool>;
        { constant.size() } -> std::convertible_to<std::size_t>;
        { constant.place() } -> std::convertible_to<std::size_t>;
    };

/// Memory of `size()` bytes, which lives as long as the object and does not move with it.
template <class A>
concept arena = std::movable<A> && requires(const A& a) {
    { a.data() } -> std::same_as<std::byte*>;
    { a.size() } -> std::convertible_to<std::size_t>;
};

/// The queues, events and memory of one rank. `compute()` returns the queue of kernels. On it, `launch(task, kernel)`
/// puts a call of the kernel; `pass(task)` says that the preceding waits are those of a task without a kernel; and
/// `settle()` returns when everything that was put into the queue is complete, because the host then reads a number
/// that was made there. `channel(group)` returns the communicator of a group, or null if this rank is not a member.
/// `make_events(n)` returns n events that live as long as the backend; `make_arena(size, alignment)` returns nothing if
/// the memory cannot be allocated. `begin()` starts a replay. `finish()` ends it: it returns when everything that was
/// put into queues since `begin()` is complete or has been abandoned, and returns the failure of the run, if any.
template <class B>
concept backend =
    queue<typename B::queue_type> && communicator<typename B::communicator_type> && arena<typename B::arena_type> &&
    std::same_as<typename B::queue_type::event_type, typename B::communicator_type::event_type> &&
    requires(B& b, group_id group, std::size_t n, bytes size, task_id t, void (&kernel)()) {
        { b.compute() } -> std::same_as<typename B::queue_type&>;
        { b.compute().launch(t, kernel) } -> std::same_as<bool>;
        { b.compute().pass(t) } -> std::same_as<bool>;
        { b.compute().settle() } -> std::same_as<bool>;
        { b.channel(group) } -> std::same_as<typename B::communicator_type*>;
        { b.make_events(n) } -> std::same_as<typename B::queue_type::event_type*>;
        { b.make_arena(size, n) } -> std::same_as<std::optional<typename B::arena_type>>;
        b.begin();
        { b.finish() } -> std::same_as<std::optional<run_failure>>;
    };

/// The addresses of a task's operands and results, in the order of the graph. The address of a value without storage is
/// null. `operand(k)` and `result(k)` return the k-th address as a pointer to the element type that the kernel knows.
struct task_memory {
    std::span<std::byte* const> operands, results;

    template <class T>
    [[nodiscard]] T* operand(std::size_t k) const {
        return reinterpret_cast<T*>(operands[k]);
    }
    template <class T>
    [[nodiscard]] T* result(std::size_t k) const {
        return reinterpret_cast<T*>(results[k]);
    }
};

namespace detail {

STRETTO_MEMBER_NAME(destination);
STRETTO_MEMBER_NAME(offset);
STRETTO_MEMBER_NAME(capacity);
STRETTO_MEMBER_NAME(row_bytes);
STRETTO_MEMBER_NAME(count);

template <class S>
concept has_storage_destination = requires(S& s, value_id x) {
    { s.destination(x) } -> std::convertible_to<std::byte*>;
};

template <class S>
concept has_value_offset = requires(S& s, value_id x) {
    { s.offset(x) } -> std::convertible_to<bytes>;
};

template <class S>
concept has_value_capacity = requires(S& s, value_id x) {
    { s.capacity(x) } -> std::convertible_to<bytes>;
};

template <class S>
concept has_bytes_of_rows = requires(S& s, task_id t) {
    { s.row_bytes(t) } -> std::convertible_to<bytes>;
};

template <class S>
concept has_measured_count = requires(S& s, value_id x) {
    { s.count(x) } -> std::convertible_to<const std::int64_t*>;
};

// An optional member is either missing, or as documented. If an offset with another signature were ignored, a value
// that begins inside its storage would silently be read from the beginning of the storage; and if a destination were,
// the caller would look for a result where nothing has been written.
template <class S>
concept destination_returns_pointer_to_byte = !has_destination<S, value_id> || has_storage_destination<S>;
template <class S>
concept offset_returns_bytes = !has_offset<S, value_id> || has_value_offset<S>;
template <class S>
concept capacity_returns_bytes = !has_capacity<S, value_id> || has_value_capacity<S>;
template <class S>
concept row_bytes_returns_bytes = !has_row_bytes<S, task_id> || has_bytes_of_rows<S>;
template <class S>
concept count_returns_pointer_to_const_int64 = !has_count<S, value_id> || has_measured_count<S>;

template <class S>
using kernel_of = decltype(std::declval<S&>().kernel(task_id{}, task_memory{}));

}  // namespace detail

/// What the caller knows about the tasks and values of a graph. `bind_order` calls it while it binds an order, and does
/// not keep it. `kernel` and `call` are called once for each such task, the others perhaps more than once:
///   kernel(t, memory) -> a callable   the work of a compute task, with its addresses resolved; movable; the memory
///                                     outlives it, the spans in `memory` do not. It is called without arguments, or
///                                     with those that the backend's compute() passes to kernels
///   call(t) -> collective_call        the call of a start, which sends its first operand and makes its first result
///   address(x) -> std::byte*          the address of a result x of an input, in memory of the caller; null is an error
///                                     if a task uses its bytes
///   destination(x) -> std::byte*      the address, in memory of the caller, at which a task makes its result x, if the
///                                     task allocates x; null: in the arena;           optional: default null
///   offset(x) -> bytes                where a value begins in its storage;             optional: default 0
///   row_bytes(t) -> bytes             the length of a row of a start in unequal shares; optional: default 0. A start
///                                     with measured amounts cannot be bound without it. Others need it only on a rank
///                                     that sends no row, if the room of the result is not exactly what is received
/// The following are for exchanges whose amounts are known only when the step runs; all are optional:
///   count(x) -> const std::int64_t*   the address of a value that measures an amount; default: its address in storage.
///                                     It is read when the start begins, after the task that makes x is complete
///   capacity(x) -> bytes              the bytes available to a value that such a start sends or makes, counted from
///                                     the beginning of the value; default: the rest of its storage. A larger amount
///                                     ends the run with an overflow
template <class S>
concept kernel_source =
    requires(S& s, task_id t, value_id x, task_memory memory) {
        requires std::move_constructible<std::remove_cvref_t<decltype(s.kernel(t, memory))>>;
        { s.call(t) } -> std::convertible_to<collective_call>;
        { s.address(x) } -> std::convertible_to<std::byte*>;
    } && detail::destination_returns_pointer_to_byte<S> && detail::offset_returns_bytes<S> &&
    detail::capacity_returns_bytes<S> && detail::row_bytes_returns_bytes<S> &&
    detail::count_returns_pointer_to_const_int64<S>;

}  // namespace stretto

#endif
