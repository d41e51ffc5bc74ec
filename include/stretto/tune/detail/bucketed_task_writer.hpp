// Writes the tasks of a step in buckets, one after another, for bucket_contraction. Most tasks are copied with new
// numbers. If the rows of a task may change by more than that, they are derived by the rules of make_task_graph. The
// tasks of a bucket are new.
//
// Longer than 300 lines: copied, derived and new tasks must leave the same lists and histories behind.
#ifndef STRETTO_TUNE_DETAIL_BUCKETED_TASK_WRITER_HPP
#define STRETTO_TUNE_DETAIL_BUCKETED_TASK_WRITER_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "stretto/core/index_lists.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/unique_rows.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/tune/bucketed_tasks.hpp"
#include "stretto/tune/detail/contractible_step.hpp"
#include "stretto/tune/step_table.hpp"

namespace stretto::detail {

/// The tasks written so far, and the tasks and values of the step to which they correspond. One writer serves any
/// number of plans of a step: `begin`, then tasks in the order of the plan, then `end`. A new task is written by
/// `open`, its operands, its results, and `close`.
template <class = void>
class bucketed_task_writer {
    using id = std::uint32_t;

public:
    std::vector<task_id> task_of;      ///< by task of the step: its new number, or that of the task that replaces it
    std::vector<value_id> value_of;    ///< by value of the step: the value that its readers read now
    std::vector<value_id> storage_of;  ///< by storage of the step: the storage that its users use now

    /// `tasks` and `values` are the numbers of tasks and values of the step.
    bucketed_task_writer(std::size_t tasks, std::size_t values)
        : task_of(tasks), value_of(values), storage_of(values) {}

    /// Begins to write into `made`, whose memory is used again. There may be `more` tasks, and values, than the step
    /// has. `time` and `memory` are the sums for the tasks that stay: together with those of new tasks, they must not
    /// exceed 2^62. Precondition: the step and `made` outlive the writing.
    void begin(const contractible_step<>& step, std::size_t more, std::int64_t time, std::int64_t memory,
               bucketed_tasks& made) {
        step_ = &step;
        made_ = &made;
        resize(whole().size() + more, step.facts.size() + more);
        there_.resize(step.facts.size() + more);
        task_graph& g = made.graph;
        g.first_result[0] = 0;
        g.groups = whole().groups;
        for (index_lists* rows : {&g.operands, &g.writes, &g.storages, &g.touched, &g.declared, &g.predecessors})
            rows->clear();
        tasks_ = values_ = 0;
        written_.clear();
        if (step.looks_in_flight) first_wait_.assign(whole().size() + more, no_task);
        time_left_ = ceiling - time;
        memory_left_ = ceiling - memory;
        fault_.reset();
    }
    /// Ends the writing. Returns the first fault in the costs of a new task, or nothing.
    [[nodiscard]] std::optional<task_graph_error> end() {
        resize(tasks_, values_);
        made_->graph.predecessors.invert_into(made_->graph.successors, tasks_);
        return fault_;
    }

    /// Returns the number of the task that is written next, or of the one that is open.
    [[nodiscard]] task_id next() const noexcept { return tasks_; }
    /// Returns the storage of x. Precondition: x has only one.
    [[nodiscard]] value_id memory_of(value_id x) const { return made_->graph.storages[x][0]; }

    /// Copies the tasks [first, last) of the step with new numbers. O(tasks and their rows), at the speed of memory.
    void copy(id first, id last) {
        const task_graph& w = whole();
        task_graph& g = made_->graph;
        const value_id from = w.first_result[first], to = w.first_result[last];
        const value_id shift = values_ - from;
        for (id v = first; v < last; ++v, ++tasks_) {
            task_of[v] = tasks_;
            copy_costs(v);
            g.first_result[tasks_ + 1] = w.first_result[v + 1] + shift;
            for (value_id x = w.first_result[v]; x < w.first_result[v + 1]; ++x) g.storage_owner[x + shift] = tasks_;
        }
        // Writes through a pointer to bytes may alias anything. Local pointers keep the compiler from reloading the
        // members.
        value_id* const values = value_of.data();
        value_id* const storages = storage_of.data();
        bytes* const allocation = g.allocation.data();
        std::uint8_t* const there = there_.data();
        const bytes* const allocated = w.allocation.data();
        const std::uint8_t* const facts = step_->facts.data();
        for (value_id x = from; x < to; ++x) {
            values[x] = storages[x] = x + shift;
            allocation[x + shift] = allocated[x];
            there[x + shift] = facts[x];
        }
        values_ += to - from;
        g.operands.push_rows(step_->operands, first, last, value_of.data());
        g.writes.push_rows(whole().writes, first, last, value_of.data());
        g.storages.push_rows(whole().storages, from, to, storage_of.data());
        g.touched.push_rows(whole().touched, first, last, storage_of.data());
        g.declared.push_rows(whole().declared, first, last, task_of.data());
        g.predecessors.push_rows(whole().predecessors, first, last, task_of.data());
    }
    /// Writes one task of the step whose rows may change by more than the numbers in them.
    void derive_again(id v) {
        task_graph& g = made_->graph;
        task_of[v] = tasks_;
        copy_costs(v);
        for (value_id x : step_->operands[v]) rows_.add(g.operands, value_of[x]);
        rows_.close(g.operands);
        for (value_id x : whole().writes[v]) g.writes.push(value_of[x]);
        for (value_id x = whole().first_result[v]; x < whole().first_result[v + 1]; ++x) {
            std::uint8_t facts = step_->facts[x];
            if (is_in_flight(facts) && whole().kind[v] != op_kind::start) {
                facts &= static_cast<std::uint8_t>(~value_facts::in_flight);
                for (id y : step_->table->aliases[x])
                    if (y < x && is_in_flight(there_[value_of[y]])) facts |= value_facts::in_flight;
            }
            value_of[x] = storage_of[x] = values_;
            for (value_id s : whole().storages[x]) rows_.add(g.storages, storage_of[s]);
            rows_.close(g.storages);
            add_value(whole().allocation[x], facts);
        }
        for (task_id p : whole().declared[v]) rows_.add(g.declared, task_of[p]);
        close();
    }

    /// Begins a new task with these facts. Its lists stay open until `close`. A cost that is negative, or too large
    /// together with the others, is the fault that `end` returns.
    void open(const step_table::operation& o, id original, bucketed_role role) {
        task_graph& g = made_->graph;
        g.kind[tasks_] = o.kind;
        g.duration[tasks_] = o.duration;
        g.collective[tasks_] = o.collective;
        g.group[tasks_] = o.group;
        g.payload[tasks_] = o.payload;
        g.launch[tasks_] = o.launch;
        if (step_->looks_in_flight) note_wait(tasks_);
        made_->original[tasks_] = original;
        made_->role[tasks_] = role;
        if (o.duration.count < 0) return fail(task_graph_error::reason::negative_duration);
        if (o.payload.count < 0) return fail(task_graph_error::reason::negative_bytes);
        if (o.duration.count > time_left_) return fail(task_graph_error::reason::overflow);
        time_left_ -= o.duration.count;
    }
    /// Adds an operand to the open task.
    void read(value_id x) { rows_.add(made_->graph.operands, x); }
    /// Ends the list of operands, and makes the task depend on their producers.
    void close_operands() {
        task_graph& g = made_->graph;
        rows_.close(g.operands);
        for (value_id x : g.operands[tasks_]) rows_.add(g.declared, g.storage_owner[x]);
    }
    /// Makes the open task depend on what the vertex v of the step depends on without reading it. A vertex without a
    /// new number is part of the same bucket: an edge between two members vanishes.
    void after(id v) {
        for (id p : step_->table->controls[v])
            if (task_of[p] != no_task) rows_.add(made_->graph.declared, task_of[p]);
    }
    /// Adds a result with a storage of its own, and returns it. `facts` are its value_facts besides `sized`.
    [[nodiscard]] value_id result(bytes allocated, int facts) {
        if (allocated.count < 0) fail(task_graph_error::reason::negative_bytes);
        else if (allocated.count > memory_left_) fail(task_graph_error::reason::overflow);
        else memory_left_ -= allocated.count;
        made_->graph.storages.push(values_);
        made_->graph.storages.close_row();
        return add_value(allocated, facts | (allocated.count > 0 ? value_facts::sized : 0));
    }
    /// Adds a result that shares the storage of x, and returns it. Precondition: x has only one storage.
    [[nodiscard]] value_id result_in(value_id x) {
        made_->graph.storages.push(memory_of(x));
        made_->graph.storages.close_row();
        return add_value({}, 0);
    }

    /// Ends a new or derived task: derives which storages it touches and which tasks must come before it.
    void close() {
        task_graph& g = made_->graph;
        const task_id t = tasks_++;
        g.first_result[tasks_] = values_;
        g.writes.close_row();
        rows_.close(g.declared);
        bool meets = false;
        for_each_use(g, t, [&](value_id s) {
            const std::uint8_t facts = there_[s];
            meets = meets || (facts & value_facts::written) != 0;
            if ((facts & (value_facts::kept | value_facts::sized)) == value_facts::sized) rows_.add(g.touched, s);
        });
        rows_.close(g.touched);
        for (task_id p : g.declared[t]) before(p);
        if (g.launch[t] != no_task) before(g.launch[t]);
        if (meets || (g.launch[t] != no_task && !written_.empty())) order_uses(t);
        if (step_->looks_in_flight) order_after_waits(t);
        rows_.close(g.predecessors);
    }

private:
    /// The uses so far of a storage that a task writes in place: the last writer, and the readers after it.
    struct uses {
        task_id writer = no_task;
        std::vector<task_id> readers;
    };
    static constexpr std::int64_t ceiling = std::int64_t{1} << 62;  // the most that make_task_graph accepts

    [[nodiscard]] const task_graph& whole() const noexcept { return step_->whole; }
    void resize(std::size_t tasks, std::size_t values) {
        task_graph& g = made_->graph;
        g.kind.resize(tasks);
        g.duration.resize(tasks);
        g.collective.resize(tasks);
        g.group.resize(tasks);
        g.payload.resize(tasks);
        g.launch.resize(tasks);
        g.first_result.resize(tasks + 1);
        made_->original.resize(tasks);
        made_->role.resize(tasks);
        g.allocation.resize(values);
        g.storage_owner.resize(values);
    }
    /// Gives the next task the kind and the costs of task v of the step.
    void copy_costs(id v) {
        const task_graph& w = whole();
        task_graph& g = made_->graph;
        g.kind[tasks_] = w.kind[v];
        g.duration[tasks_] = w.duration[v];
        g.collective[tasks_] = w.collective[v];
        g.group[tasks_] = w.group[v];
        g.payload[tasks_] = w.payload[v];
        g.launch[tasks_] = w.launch[v] == no_task ? no_task : task_of[w.launch[v]];
        if (step_->looks_in_flight) note_wait(tasks_);
        made_->original[tasks_] = v;
        made_->role[tasks_] = bucketed_role::original;
    }
    /// Adds a value whose row of storages is complete. If it is written in place, its history begins.
    value_id add_value(bytes allocated, int facts) {
        task_graph& g = made_->graph;
        g.allocation[values_] = allocated;
        g.storage_owner[values_] = tasks_;
        there_[values_] = static_cast<std::uint8_t>(facts);
        if ((facts & value_facts::written) != 0) {
            if (written_.size() == history_.size()) history_.emplace_back();
            history_[written_.size()].writer = no_task;
            history_[written_.size()].readers.clear();
            written_.push_back(values_);
        }
        return values_++;
    }
    void fail(task_graph_error::reason why) {
        if (!fault_) fault_ = task_graph_error{why, tasks_, no_task};
    }

    void before(task_id p) { rows_.add(made_->graph.predecessors, p); }
    [[nodiscard]] uses& uses_of(value_id s) {
        const auto at = std::lower_bound(written_.begin(), written_.end(), s);
        return history_[static_cast<std::size_t>(at - written_.begin())];
    }
    /// Makes t depend on those earlier uses of storages with which it must not change places: reads on the last write,
    /// and writes on that and on the reads after it.
    void order_uses(task_id t) {
        const task_graph& g = made_->graph;
        const auto after_writer = [&](const uses& u) {
            if (u.writer != no_task && u.writer != t) before(u.writer);
        };
        const auto read_memory = [&](value_id x) {
            for (value_id s : g.storages[x]) {
                if ((there_[s] & value_facts::written) == 0) continue;
                uses& u = uses_of(s);
                after_writer(u);
                if (u.readers.empty() || u.readers.back() != t) u.readers.push_back(t);
            }
        };
        for (value_id x : g.operands[t]) read_memory(x);
        if (g.launch[t] != no_task)
            for (value_id x : g.operands[g.launch[t]]) read_memory(x);
        for_each_storage_written(g, t, [&](value_id s) {
            uses& u = uses_of(s);
            after_writer(u);
            for (task_id r : u.readers)
                if (r != t) before(r);
            u.readers.clear();
            u.writer = t;
        });
    }
    /// Records t if it is the first wait of a start.
    void note_wait(task_id t) {
        const task_id start = made_->graph.launch[t];
        if (start != no_task && first_wait_[start] == no_task) first_wait_[start] = t;
    }
    /// Makes t depend on the waits of the collectives whose results it reads in flight, if these waits come before it.
    void order_after_waits(task_id t) {
        const task_graph& g = made_->graph;
        if (g.kind[t] == op_kind::view || g.kind[t] == op_kind::wait) return;  // these only pass the data on
        for (value_id x : g.operands[t]) {
            if (!is_in_flight(there_[x])) continue;
            for (value_id s : g.storages[x]) {
                const task_id start = g.storage_owner[s];
                if (g.kind[start] == op_kind::start && first_wait_[start] != no_task) before(first_wait_[start]);
            }
        }
    }

    const contractible_step<>* step_ = nullptr;
    bucketed_tasks* made_ = nullptr;
    task_id tasks_ = 0;                             // the number of tasks written so far
    value_id values_ = 0;                           // the number of values written so far
    std::vector<std::uint8_t> there_;               // by new value: its value_facts
    std::vector<value_id> written_;                 // the new storages that a task writes in place, ascending
    std::vector<uses> history_;                     // by position in written_; longer, so that its memory is used again
    std::vector<task_id> first_wait_;               // by new start, if the step looks in flight
    std::int64_t time_left_ = 0, memory_left_ = 0;  // what new tasks may still add
    std::optional<task_graph_error> fault_;
    unique_rows<> rows_;
};

}  // namespace stretto::detail

#endif
