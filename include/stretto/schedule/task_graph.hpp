// The task graph is the one concrete, index-based structure of the library. Views of foreign IRs remain templates;
// everything expensive (simulation, bounds, scheduling) runs on the task graph, in ordinary functions over flat arrays.
// It is built in one pass over a view and an op model, and never by hand.
//
// A task is a vertex; tasks are numbered in program order. A value is a result; values are numbered in the order of
// their tasks. A storage is the memory that a value allocates; values that alias share storages. Side effects become
// dependences: besides the edges of the view, tasks are ordered by what they write in place and by which data their
// collectives have in flight.
#ifndef STRETTO_SCHEDULE_TASK_GRAPH_HPP
#define STRETTO_SCHEDULE_TASK_GRAPH_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/collective_call.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/index_lists.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/unique_rows.hpp"
#include "stretto/core/units.hpp"
#include "stretto/core/value_map.hpp"

namespace stretto {

/// The number of a task, which is its position in program order.
using task_id = std::uint32_t;
/// The number of a value. A storage has the number of the value that allocates it.
using value_id = std::uint32_t;
/// Stands for "no task". It is larger than the number of any task.
inline constexpr task_id no_task = UINT32_MAX;

/// The properties that identify which collective of the program a start launches, as far as ranks must agree about it;
/// see collective_call.
struct call_identity {
    element_type element = element_type::other;
    std::uint32_t chunk = 0;
    std::uint64_t logical_id = 0;
    friend constexpr bool operator==(const call_identity&, const call_identity&) = default;
};

/// The tasks of a step as a structure of arrays, each indexed by task or by value. Users only read it;
/// `make_task_graph` builds it. Program order is topological: every task has a larger number than its predecessors. The
/// sums of all durations, of all allocations and of all payloads are at most 2^62.
struct task_graph {
    // These are the kinds and the costs of tasks.
    std::vector<op_kind> kind;
    std::vector<nanoseconds> duration;        ///< of kernels and of collectives; for other tasks, clocks ignore it
    std::vector<collective_kind> collective;  ///< of starts
    std::vector<group_id> group;              ///< for starts: the channel
    std::vector<bytes> payload;               ///< of starts: the bytes of this rank's input
    std::vector<task_id> launch;              ///< for waits: the start, or no_task
    std::vector<call_identity> identity;      ///< for starts; empty if the op model has no calls
    std::vector<std::uint8_t> synchronises;   ///< not 0 if the host waits there for a number; empty if it never waits
    std::size_t groups = 0;                   ///< one more than the largest group in use

    // These are the values and their memory.
    std::vector<value_id> first_result;  ///< results of t: [first_result[t], first_result[t + 1])
    std::vector<bytes> allocation;       ///< by value; the storage has the id of the value
    index_lists operands;                ///< task -> values it reads
    index_lists writes;                  ///< task -> values it writes in place
    index_lists storages;                ///< value -> storages in which it is stored
    index_lists touched;                 ///< task -> storages that can be freed and must stay live until it has run
    std::vector<task_id> storage_owner;  ///< value -> task that produces it

    // These are the dependences.
    index_lists declared;      ///< task -> its predecessors in the view, as listed there
    index_lists predecessors;  ///< task -> tasks that must come before it for any reason, each once
    index_lists successors;    ///< the inverse of `predecessors`

    [[nodiscard]] std::size_t size() const noexcept { return kind.size(); }
    /// Returns whether the host waits for a number at `t` and launches nothing after `t` until it has read that number.
    [[nodiscard]] bool holds_host(task_id t) const { return !synchronises.empty() && synchronises[t] != 0; }
};

/// The reason why no task graph can be made of a view and its model. `task` and `other` are positions in program order.
/// `other` is no_task if the reason does not name one, or if it names a vertex that is not listed.
struct task_graph_error {
    enum class reason {
        reads_later_task,      ///< `task` depends on `other`, which comes later: program order is not topological
        launch_is_no_start,    ///< the wait `task` names `other`, which is not a start
        negative_duration,     ///< the duration of `task` is negative
        negative_bytes,        ///< an allocation or the payload of `task` is negative
        overflow,              ///< times or bytes summed up to `task` exceed 2^62, or there are 2^32 - 1 tasks
        operand_not_in_graph,  ///< `task` reads, aliases or writes a value whose producer is not listed
        aliases_later_result,  ///< a result of `task` aliases a later one among the results of `task`
        group_out_of_range,    ///< the group of the start `task` is not below group_limit: is it a handle or a hash?
        stale_numbers,         ///< the index of `task` is not below index_bound(), or another task has it: were
                               ///< operations added without renewing the numbers?
    };
    reason why;
    task_id task;
    task_id other;
};

namespace detail {

/// The data that are collected while the view is read. `finish_task_graph` derives lifetimes and dependences from them.
struct raw_task_graph {
    task_graph g;
    std::vector<std::uint8_t> facts;  // by value, see value_facts
    std::vector<value_id> aliased;    // the values that the current value aliases
    unique_rows<> rows;
};

template <class = void>
void make_room(raw_task_graph& raw, std::size_t tasks);
/// Adds the storages and facts of the next value, a result of `t`. Precondition: its allocation and its aliases are
/// known.
template <class = void>
void add_storages(raw_task_graph& raw, task_id t);
/// Records which storages `t` keeps and writes. Precondition: everything else about `t` is known.
template <class = void>
void mark_storages(raw_task_graph& raw, task_id t);
template <class = void>
expected<task_graph, task_graph_error> finish_task_graph(raw_task_graph raw, std::size_t tasks);

}  // namespace detail

namespace detail {

/// Reads a view and its model into `raw`, vertex by vertex in program order. Returns the number of tasks.
template <class G, class M>
[[nodiscard]] expected<std::size_t, task_graph_error> read_tasks(const G& view, const M& model, raw_task_graph& raw) {
    using why = task_graph_error::reason;
    task_graph& g = raw.g;
    value_numbering<G> values(view);  // a value has its id as soon as its task has been read
    static_assert(values.none == no_task);
    std::vector<task_id> tasks(view.index_bound(), no_task);  // by index
    const auto task_of = [&](vertex_t<G> v) {
        const std::size_t i = view.index(v);
        return i < tasks.size() ? tasks[i] : no_task;
    };
    make_room(raw, tasks.size());
    // Returns the position in program order of a vertex that has not been reached, or no_task if it is not listed.
    auto position_of = [&](vertex_t<G> wanted) -> task_id {
        task_id at = 0;
        for (vertex_t<G> v : view.vertices()) {
            if (v == wanted) return at;
            ++at;
        }
        return no_task;
    };
    std::int64_t total_time = 0, total_bytes = 0, total_payload = 0;
    constexpr std::int64_t ceiling = std::int64_t{1} << 62;
    std::size_t position = 0;
    for (vertex_t<G> v : view.vertices()) {
        const task_id t = static_cast<task_id>(position);
        if (position >= no_task - 1) return unexpected(task_graph_error{why::overflow, t, no_task});
        ++position;
        const std::size_t index = view.index(v);
        if (index >= tasks.size() || tasks[index] != no_task)
            return unexpected(task_graph_error{why::stale_numbers, t, task_of(v)});
        tasks[index] = t;
        const op_kind kind = model.kind(v);
        g.kind[t] = kind;
        const nanoseconds duration = duration_of<G>(model, v);
        if (duration.count < 0) return unexpected(task_graph_error{why::negative_duration, t, no_task});
        if (duration.count > ceiling - total_time) return unexpected(task_graph_error{why::overflow, t, no_task});
        total_time += duration.count;
        g.duration[t] = duration;
        if (kind == op_kind::start) {
            if constexpr (calling_op_model<M, G>) {
                const collective_call call = model.call(v);
                g.identity.resize(t + std::size_t{1});
                g.identity[t] = {call.element, call.chunk, call.logical_id};
                g.collective[t] = call.kind;
            } else {
                g.collective[t] = collective_of<G>(model, v);
            }
            g.group[t] = group_of<G>(model, v);
            g.payload[t] = payload_of<G>(model, v);
            if (g.payload[t].count < 0) return unexpected(task_graph_error{why::negative_bytes, t, no_task});
            if (g.payload[t].count > ceiling - total_payload)
                return unexpected(task_graph_error{why::overflow, t, no_task});
            total_payload += g.payload[t].count;
            if (g.group[t] >= group_limit) return unexpected(task_graph_error{why::group_out_of_range, t, no_task});
            if (g.group[t] >= g.groups) g.groups = std::size_t{g.group[t]} + 1;
        }
        if ((kind == op_kind::compute || kind == op_kind::view) && does_synchronise<G>(model, v)) {
            g.synchronises.resize(t + std::size_t{1}, 0);
            g.synchronises[t] = 1;
        }
        if (kind == op_kind::wait) {
            const vertex_t<G> s = launch_of<G>(view, model, v);
            if (!(s == v)) {
                const task_id start = task_of(s);
                if (start == no_task && position_of(s) != no_task)
                    return unexpected(task_graph_error{why::reads_later_task, t, position_of(s)});
                if (start == no_task || g.kind[start] != op_kind::start)
                    return unexpected(task_graph_error{why::launch_is_no_start, t, position_of(s)});
                g.launch[t] = start;
            }
        }
        for (vertex_t<G> p : view.predecessors(v)) {
            const task_id before = task_of(p);
            if (before == no_task || before == t)
                return unexpected(task_graph_error{why::reads_later_task, t, position_of(p)});
            g.declared.push(before);
        }
        g.declared.close_row();
        bool known = true, backwards = true;
        for (value_t<G> x : view.operands(v)) {
            const value_id id = values.number(x);
            known = known && id != no_task;
            g.operands.push(id);
        }
        g.operands.close_row();
        // Results are added before effects and aliases are read, since an operation may write what it has just
        // produced.
        const value_id first = values.add(v);
        for (value_id id = first; id < values.size(); ++id) {
            const bytes size = allocation_of<G>(model, values.value(id));
            if (size.count < 0) return unexpected(task_graph_error{why::negative_bytes, t, no_task});
            if (size.count > ceiling - total_bytes) return unexpected(task_graph_error{why::overflow, t, no_task});
            total_bytes += size.count;
            g.allocation.push_back(size);
        }
        for (value_id id = first; id < values.size(); ++id) {
            for_each_alias<G>(model, values.value(id), [&](value_t<G> y) {
                const value_id other = values.number(y);
                known = known && other != no_task;
                backwards = backwards && (other <= id || other == no_task);
                if (other < id) raw.aliased.push_back(other);
            });
            add_storages(raw, t);
        }
        g.first_result[t + 1] = values.size();
        for_each_effect<G>(model, v, [&](value_t<G> x) {
            const value_id id = values.number(x);
            known = known && id != no_task;
            g.writes.push(id);
        });
        g.writes.close_row();
        if (!known) return unexpected(task_graph_error{why::operand_not_in_graph, t, no_task});
        if (!backwards) return unexpected(task_graph_error{why::aliases_later_result, t, no_task});
        mark_storages(raw, t);
    }
    return position;
}

}  // namespace detail

/// Builds the task graph of a view. Its tasks are the vertices in the order of `view.vertices()`, which must be
/// topological; times and memory come from `model`. Returns the graph, or, as the error, the first contradiction that
/// it meets. The result is deterministic. O(V + E) time and space, plus the dependences that in-place writes add.
///
/// Precondition: `aliases` and `effects` name only values that the operation reads or returns, or values that share
/// storage with one of those, because dependences follow reads. first_unread_storage (analysis/unread_storage.hpp)
/// finds other values.
template <dependence_graph G, op_model<G> M>
    requires dataflow_graph<G>
[[nodiscard]] expected<task_graph, task_graph_error> make_task_graph(G view, M model) {
    detail::raw_task_graph raw;
    const expected<std::size_t, task_graph_error> tasks = detail::read_tasks(view, model, raw);
    if (!tasks) return unexpected(tasks.error());
    return detail::finish_task_graph(std::move(raw), *tasks);
}

}  // namespace stretto

#include "stretto/schedule/detail/finish_task_graph.hpp"

#endif
