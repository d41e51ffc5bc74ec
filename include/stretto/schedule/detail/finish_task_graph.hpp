// This is the second half of make_task_graph. It derives the storages, the lifetimes, and the dependences that memory
// implies. The rules about storages are those of analysis/storage_rules.hpp.
#ifndef STRETTO_SCHEDULE_DETAIL_FINISH_TASK_GRAPH_HPP
#define STRETTO_SCHEDULE_DETAIL_FINISH_TASK_GRAPH_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/analysis/storage_rules.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/index_lists.hpp"
#include "stretto/core/unique_rows.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace stretto::detail {

/// Makes room for at most `tasks` tasks. The lists reserve what a typical step needs: one result and one or two
/// operands for each task.
template <class>
void make_room(raw_task_graph& raw, std::size_t tasks) {
    task_graph& g = raw.g;
    g.kind.resize(tasks);
    g.duration.resize(tasks);
    g.collective.resize(tasks, collective_kind::other);
    g.group.resize(tasks, 0);
    g.payload.resize(tasks);
    g.launch.resize(tasks, no_task);
    g.first_result.resize(tasks + 1);
    g.allocation.reserve(tasks);
    g.operands.reserve(tasks, tasks + tasks / 2);
    g.declared.reserve(tasks, tasks + tasks / 2);
    g.writes.reserve(tasks, 0);
    g.storages.reserve(tasks, tasks);
    raw.facts.reserve(tasks);
}

/// Facts about a value and about the storage that it allocates, as bits. A storage has the id of its value.
struct value_facts {
    static constexpr std::uint8_t in_flight = 1;  ///< of a value: a collective may still be writing its memory
    static constexpr std::uint8_t kept = 2;       ///< of a storage: it is never freed
    static constexpr std::uint8_t written = 4;    ///< of a storage: some task writes it in place
    static constexpr std::uint8_t sized = 8;      ///< of a storage: it has more than 0 bytes
};

/// Calls f(storage) for every storage that t writes: those of its declared effects, and those that a start fills in
/// place, which its waits write too. The latter are the storages of the start's results that the start has not
/// allocated itself.
template <class F>
void for_each_storage_written(const task_graph& g, task_id t, F f) {
    for (value_id x : g.writes[t])
        for (value_id s : g.storages[x]) f(s);
    const task_id start = g.kind[t] == op_kind::start ? t : g.launch[t];
    if (start == no_task) return;
    for (value_id x = g.first_result[start]; x < g.first_result[start + 1]; ++x)
        for (value_id s : g.storages[x])
            if (s < g.first_result[start] || s >= g.first_result[start + 1]) f(s);
    if (start != t)
        for (value_id x : g.writes[start])
            for (value_id s : g.storages[x]) f(s);
}

/// Appends the storages and the facts of the next value, a result of t. The results of starts are in flight, and so are
/// views of them that did not go through the wait. A wait that waits for nothing passes this property on. (A view that
/// only reads the shape of a start has no storage and is harmless.)
template <class>
void add_storages(raw_task_graph& raw, task_id t) {
    task_graph& g = raw.g;
    const value_id x = static_cast<value_id>(g.storages.rows());
    const bool sized = g.allocation[x].count > 0;
    bool flies = g.kind[t] == op_kind::start;
    if (g.launch[t] == no_task)
        for (value_id y : raw.aliased) flies = flies || (raw.facts[y] & value_facts::in_flight) != 0;
    // A storage has the id of its value. A value that allocates nothing gets a storage nevertheless, unless it aliases
    // something, because even a model that knows no sizes has memory that can be written in place.
    add_storages(g.storages, raw.rows, sized || raw.aliased.empty() ? x : nothing, raw.aliased);
    raw.facts.push_back((flies ? value_facts::in_flight : 0) | (sized ? value_facts::sized : 0));
    raw.aliased.clear();
}

/// Marks the storages that are kept (those of inputs and of the values that the output reads) and the storages that t
/// writes in place.
template <class>
void mark_storages(raw_task_graph& raw, task_id t) {
    const task_graph& g = raw.g;
    for_each_value_kept(g, t, [&](value_id x) {
        for (value_id s : g.storages[x]) raw.facts[s] |= value_facts::kept;
    });
    for_each_storage_written(g, t, [&](value_id s) { raw.facts[s] |= value_facts::written; });
}

/// Finds all predecessors of every task. Besides the edges of the view, there are these dependences:
///   - for every storage that any task writes in place: read after write, write after read, write after write;
///   - a wait counts as reading what its start reads and as writing what its start writes. So nothing overwrites the
///     input of a collective before its wait, or reads a buffer that the collective fills in place;
///   - a task that reads a start's own result without naming the wait still comes after the first wait.
template <class = void>
class dependence_builder {
public:
    dependence_builder(const task_graph& g, std::span<const std::uint8_t> facts) : g_(g), facts_(facts) {
        for (value_id s = 0; s < facts_.size(); ++s)
            if (has(s, value_facts::written)) written_.push_back(s);
        history_.resize(written_.size());
    }

    /// Returns the predecessors of every task. `meet_written` lists, ascending, the tasks that read or write in place
    /// what any task writes in place, and perhaps others. Waits also do what their starts do, and are processed in any
    /// case.
    index_lists run(std::span<const task_id> meet_written) {
        std::size_t next = 0;
        predecessors_.reserve(g_.size(), g_.declared.items() + g_.declared.items() / 8);
        for (task_id t = 0; t < g_.size(); ++t) {
            for (task_id p : g_.declared[t]) add(p);
            if (g_.launch[t] != no_task) add(g_.launch[t]);
            const bool meets = next < meet_written.size() && meet_written[next] == t;
            next += meets;
            if (meets || (g_.launch[t] != no_task && !written_.empty())) order_storage_uses(t);
            order_after_waits(t);
            rows_.close(predecessors_);
        }
        return std::move(predecessors_);
    }

private:
    /// The tasks that have used a storage so far, in program order.
    struct storage_history {
        task_id last_writer = no_task;
        std::vector<task_id> readers;  // since the last write
    };

    void add(task_id p) { rows_.add(predecessors_, p); }

    [[nodiscard]] bool has(value_id x, std::uint8_t fact) const { return (facts_[x] & fact) != 0; }

    [[nodiscard]] storage_history& history_of(value_id s) {
        const auto at = std::lower_bound(written_.begin(), written_.end(), s);
        return history_[static_cast<std::size_t>(at - written_.begin())];
    }

    /// Orders `t` after the earlier uses of storages that conflict with its own uses.
    void order_storage_uses(task_id t) {
        auto read = [&](value_id x) {
            for (value_id s : g_.storages[x]) {
                if (!has(s, value_facts::written)) continue;
                storage_history& h = history_of(s);
                if (h.last_writer != no_task && h.last_writer != t) add(h.last_writer);
                if (h.readers.empty() || h.readers.back() != t) h.readers.push_back(t);
            }
        };
        for (value_id x : g_.operands[t]) read(x);
        if (g_.launch[t] != no_task)
            for (value_id x : g_.operands[g_.launch[t]]) read(x);
        for_each_storage_written(g_, t, [&](value_id s) {
            storage_history& h = history_of(s);
            if (h.last_writer != no_task && h.last_writer != t) add(h.last_writer);
            for (task_id r : h.readers)
                if (r != t) add(r);
            h.readers.clear();
            h.last_writer = t;
        });
    }

    /// Orders `t` after the waits of the collectives whose results it reads.
    void order_after_waits(task_id t) {
        if (g_.kind[t] == op_kind::view || g_.kind[t] == op_kind::wait) return;  // these only pass the data on
        for (value_id x : g_.operands[t]) {
            if (!has(x, value_facts::in_flight)) continue;
            for (value_id s : g_.storages[x]) {
                const task_id start = g_.storage_owner[s];
                if (g_.kind[start] != op_kind::start) continue;
                if (const task_id wait = first_wait_of(start); wait < t) add(wait);
            }
        }
    }

    /// Returns the first wait of a start, or `no_task`, which is larger than any task, if the start has no wait. The
    /// first query computes it for all starts, because few programs need it.
    [[nodiscard]] task_id first_wait_of(task_id start) {
        if (first_wait_.empty()) {
            first_wait_.resize(g_.size(), no_task);
            for (task_id t = static_cast<task_id>(g_.size()); t-- > 0;)
                if (g_.launch[t] != no_task) first_wait_[g_.launch[t]] = t;
        }
        return first_wait_[start];
    }

    const task_graph& g_;
    std::span<const std::uint8_t> facts_;
    unique_rows<> rows_;
    index_lists predecessors_;
    std::vector<task_id> first_wait_;  // by start; empty until the first query
    std::vector<value_id> written_;    // the storages with a history in `history_`, ascending
    std::vector<storage_history> history_;
};

/// Completes the task graph that make_task_graph has begun to read. O(V + E + uses).
template <class>
expected<task_graph, task_graph_error> finish_task_graph(raw_task_graph raw, std::size_t tasks) {
    task_graph& g = raw.g;
    g.kind.resize(tasks);  // a view may list fewer vertices than it has indices for
    g.duration.resize(tasks);
    g.collective.resize(tasks);
    g.group.resize(tasks);
    g.payload.resize(tasks);
    if (!g.identity.empty()) g.identity.resize(tasks);
    if (!g.synchronises.empty()) g.synchronises.resize(tasks, 0);
    g.launch.resize(tasks);
    g.first_result.resize(tasks + 1);
    g.storage_owner.resize(g.allocation.size());
    for (task_id t = 0; t < tasks; ++t)
        for (value_id x = g.first_result[t]; x < g.first_result[t + 1]; ++x) g.storage_owner[x] = t;

    std::vector<task_id> meet_written;  // tasks that touch storages that some task writes in place
    g.touched = derive_touched(g, g.storages, [&](task_id t, value_id s) {
        const std::uint8_t facts = raw.facts[s];
        if ((facts & value_facts::written) != 0 && (meet_written.empty() || meet_written.back() != t))
            meet_written.push_back(t);
        return (facts & (value_facts::kept | value_facts::sized)) == value_facts::sized;
    });
    g.predecessors = dependence_builder(g, raw.facts).run(meet_written);
    g.successors = g.predecessors.inverse(g.size());
    return std::move(g);
}

}  // namespace stretto::detail

#endif
