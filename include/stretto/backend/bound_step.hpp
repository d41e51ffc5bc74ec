// Binds a step to one rank in terms of the caller's own IR. An executor numbers tasks and values, but a trainer has
// operations and tensors. So here each kernel receives its operation, inputs have memory of the backend, and everything
// that the step reads or produces is found by its handle.
#ifndef STRETTO_BACKEND_BOUND_STEP_HPP
#define STRETTO_BACKEND_BOUND_STEP_HPP

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "stretto/backend/executor.hpp"
#include "stretto/core/config.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/units.hpp"
#include "stretto/core/value_map.hpp"
#include "stretto/schedule/checked_order.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace stretto {

namespace detail {

STRETTO_MEMBER_NAME(address);

// An optional member is either missing, or as documented.
template <class W, class X>
concept work_address_returns_pointer_to_byte = !has_address<W, X> || requires(const W& work, X x) {
    { work.address(x) } -> std::convertible_to<std::byte*>;
};
template <class W, class X>
concept work_destination_returns_pointer_to_byte = !has_destination<W, X> || requires(const W& work, X x) {
    { work.destination(x) } -> std::convertible_to<std::byte*>;
};
template <class W, class X>
concept work_offset_returns_bytes = !has_offset<W, X> || requires(const W& work, X x) {
    { work.offset(x) } -> std::convertible_to<bytes>;
};
template <class W, class X>
concept work_capacity_returns_bytes = !has_capacity<W, X> || requires(const W& work, X x) {
    { work.capacity(x) } -> std::convertible_to<bytes>;
};
template <class W, class V>
concept work_row_bytes_returns_bytes = !has_row_bytes<W, V> || requires(const W& work, V v) {
    { work.row_bytes(v) } -> std::convertible_to<bytes>;
};
template <class W, class X>
concept work_count_returns_pointer_to_const_int64 = !has_count<W, X> || requires(const W& work, X x) {
    { work.count(x) } -> std::convertible_to<const std::int64_t*>;
};

}  // namespace detail

/// What the operations of a program do when they run:
///   compute(v, memory)            does the work of an operation that computes; if the lane of the backend passes
///                                 arguments to kernels, such as a stream, these follow
///   call(v) -> collective_call    returns the call of a start; an op model with calls has this member already
/// The members address(x), destination(x), offset(x), row_bytes(v), count(x) and capacity(x) are optional. They mean
/// the same as in kernel_source, but take handles of the IR instead of numbers. An input without an address, or whose
/// address is null, gets memory of the backend. A member with one of these names that returns something else, or is
/// not const, does not compile. The concept does not check `compute`, whose further arguments depend on the backend.
template <class W, class G>
concept step_work =
    dataflow_graph<G> && std::copy_constructible<W> &&
    requires(const W& work, vertex_t<G> v) {
        { work.call(v) } -> std::convertible_to<collective_call>;
    } && detail::work_address_returns_pointer_to_byte<W, value_t<G>> &&
    detail::work_destination_returns_pointer_to_byte<W, value_t<G>> &&
    detail::work_offset_returns_bytes<W, value_t<G>> && detail::work_capacity_returns_bytes<W, value_t<G>> &&
    detail::work_row_bytes_returns_bytes<W, vertex_t<G>> &&
    detail::work_count_returns_pointer_to_const_int64<W, value_t<G>>;

namespace detail {

/// The kernel of one operation, with the addresses of its operands and results and a copy of the caller's `Work`.
template <class V, class Work>
class step_kernel {
public:
    step_kernel(const Work& work, V v, task_memory m)
        : work_(work), vertex_(v), addresses_(m.operands.begin(), m.operands.end()), operands_(m.operands.size()) {
        addresses_.insert(addresses_.end(), m.results.begin(), m.results.end());
    }
    template <class... Lane>
        requires requires(const Work& w, V v, task_memory m, Lane... lane) { w.compute(v, m, lane...); }
    void operator()(Lane... lane) const {
        const std::span<std::byte* const> all(addresses_);
        work_.compute(vertex_, task_memory{all.first(operands_), all.subspan(operands_)}, lane...);
    }

private:
    Work work_;
    V vertex_;
    std::vector<std::byte*> addresses_;  // those of the operands, then those of the results
    std::size_t operands_;
};

/// The kernel source that translates numbers of the task graph into handles. It has the optional members of a kernel
/// source only if `Work` has them. It is final, because in a class that can be a base every declared name counts as a
/// member, even if its constraints are not satisfied (core/has_member.hpp).
template <class G, class Work>
class step_source final {
public:
    step_source(const std::vector<vertex_t<G>>& vertices, const value_numbering<G>& values, const Work& work,
                const std::vector<std::byte*>& inputs)
        : vertices_(vertices), values_(values), work_(work), inputs_(inputs) {}

    [[nodiscard]] step_kernel<vertex_t<G>, Work> kernel(task_id t, task_memory m) const {
        return {work_, vertices_[t], m};
    }
    [[nodiscard]] collective_call call(task_id t) const { return work_.call(vertices_[t]); }
    [[nodiscard]] std::byte* address(value_id x) const { return inputs_[x]; }
    [[nodiscard]] bytes offset(value_id x) const {
        if constexpr (has_value_offset_of) return work_.offset(values_.value(x));
        else return {};
    }
    [[nodiscard]] std::byte* destination(value_id x) const
        requires requires(const Work& w, value_t<G> y) { w.destination(y); }
    {
        return work_.destination(values_.value(x));
    }
    [[nodiscard]] bytes row_bytes(task_id t) const
        requires requires(const Work& w, vertex_t<G> v) { w.row_bytes(v); }
    {
        return work_.row_bytes(vertices_[t]);
    }
    [[nodiscard]] const std::int64_t* count(value_id x) const
        requires requires(const Work& w, value_t<G> y) { w.count(y); }
    {
        return work_.count(values_.value(x));
    }
    [[nodiscard]] bytes capacity(value_id x) const
        requires requires(const Work& w, value_t<G> y) { w.capacity(y); }
    {
        return work_.capacity(values_.value(x));
    }

private:
    static constexpr bool has_value_offset_of = requires(const Work& w, value_t<G> x) { w.offset(x); };

    const std::vector<vertex_t<G>>& vertices_;  // by task
    const value_numbering<G>& values_;
    const Work& work_;
    const std::vector<std::byte*>& inputs_;  // by value; null for a value that is not an input
};

}  // namespace detail

/// A step that is bound to one rank of a backend, which must outlive it. `bind_step` makes one. It owns the memory of
/// the inputs and of everything that the step computes, but for what its `Work` has addresses and destinations. Only
/// the thread of the rank uses it.
template <backend B, dataflow_graph G, step_work<G> Work>
class bound_step {
    using kernel_type = detail::step_kernel<vertex_t<G>, Work>;

public:
    /// Runs the step once, on the current contents of its inputs. Returns the failure, if any; see executor::replay.
    [[nodiscard]] std::optional<run_failure> replay() {
        const auto begin = std::chrono::steady_clock::now();
        std::optional<run_failure> failure = executor_.replay();
        last_ = {
            std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count()};
        return failure;
    }
    /// Returns the time in ns that the last replay took on this rank, until everything was complete; 0 before the
    /// first.
    [[nodiscard]] nanoseconds last_replay() const noexcept { return last_; }

    /// Returns the elements of a value, from its beginning to the end of its storage; none for a value without storage.
    /// The caller may write those of an input between replays; in memory of the backend they are uninitialized at
    /// first. The results of the step are valid after a replay until the next one begins. The host can access the
    /// elements if it can access arenas of the backend. O(results of the operation that produces `x`). Precondition:
    /// the step has `x`.
    template <class T>
    [[nodiscard]] std::span<T> memory(value_t<G> x) const {
        const value_id id = values_.number(x);
        STRETTO_ASSERT(id != values_.none, "the step that is bound does not have this value");
        std::byte* const at = executor_.address(id);
        if (at == nullptr) return {};
        return {reinterpret_cast<T*>(at), static_cast<std::size_t>(rest_[id].count) / sizeof(T)};
    }
    /// Returns the executor that replays the step.
    [[nodiscard]] const executor<B, kernel_type>& order() const noexcept { return executor_; }

private:
    template <backend C, vertex_list_graph H, step_work<H> W>
    friend expected<bound_step<C, H, W>, bind_error> bind_step(H, const task_graph&, const checked_order&, W, C&);

    bound_step(std::optional<typename B::arena_type> inputs, value_numbering<G> values, std::vector<bytes> rest,
               executor<B, kernel_type> bound)
        : inputs_(std::move(inputs)), values_(std::move(values)), rest_(std::move(rest)), executor_(std::move(bound)) {}

    std::optional<typename B::arena_type> inputs_;
    value_numbering<G> values_;
    std::vector<bytes> rest_;  // by value: the bytes from its beginning to the end of its storage
    executor<B, kernel_type> executor_;
    nanoseconds last_;
};

/// Binds an order of the tasks of `view` to a rank. Preconditions: `tasks` is the task graph of the view in its current
/// state, and nothing is in the rank's queues. Inputs without an address of the caller get memory of the backend, each
/// aligned to 64 bytes. Memory of the caller must be such that the backend can access it. Returns the
/// step, or the first error; `error.task` is the position of the operation in the view. An order that was not checked
/// for `tasks` is such an error. The rank and the program of the view must outlive the step, and the program must not
/// change; the graph and the order may be destroyed. Every kernel holds a copy of `work`, which should therefore be as
/// small as a view. O(V + values), plus the cost of bind_order.
template <backend B, vertex_list_graph G, step_work<G> Work>
[[nodiscard]] expected<bound_step<B, G, Work>, bind_error> bind_step(G view, const task_graph& tasks,
                                                                     const checked_order& order, Work work, B& rank) {
    constexpr std::int64_t alignment = 64;
    std::vector<vertex_t<G>> vertices;
    value_numbering<G> values(view);
    for (const vertex_t<G> v : view.vertices()) {
        vertices.push_back(v);
        values.add(v);
    }
    STRETTO_ASSERT(vertices.size() == tasks.size() && values.size() == tasks.allocation.size(),
                   "the task graph is of another program, or of this one before it was changed");
    std::vector<std::byte*> inputs(values.size(), nullptr);
    if constexpr (requires(value_t<G> x) { work.address(x); })
        for (value_id x = 0; x < values.size(); ++x)
            if (tasks.kind[tasks.storage_owner[x]] == op_kind::input) inputs[x] = work.address(values.value(x));
    const auto needs_memory = [&](value_id x) {
        return tasks.kind[tasks.storage_owner[x]] == op_kind::input && inputs[x] == nullptr;
    };
    const auto room = [&](value_id x) { return (tasks.allocation[x].count + alignment - 1) / alignment * alignment; };
    std::int64_t size = 0;
    for (value_id x = 0; x < values.size(); ++x) size += needs_memory(x) ? room(x) : 0;
    std::optional<typename B::arena_type> memory = rank.make_arena({size}, std::size_t{alignment});
    if (!memory) return unexpected(bind_error{bind_error::reason::no_memory});
    std::byte* next = memory->data();
    for (value_id x = 0; x < values.size(); ++x)
        if (needs_memory(x)) inputs[x] = std::exchange(next, next + room(x));

    detail::step_source<G, Work> source(vertices, values, work, inputs);
    auto bound = bind_order(tasks, order, source, rank);
    if (!bound) return unexpected(bound.error());
    std::vector<bytes> rest(values.size());
    for (value_id x = 0; x < values.size(); ++x)
        if (!tasks.storages[x].empty()) rest[x] = tasks.allocation[tasks.storages[x][0]] - source.offset(x);
    return bound_step<B, G, Work>(std::move(memory), std::move(values), std::move(rest), *std::move(bound));
}

}  // namespace stretto

#endif
