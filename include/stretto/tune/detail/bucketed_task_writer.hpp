// Writes the tasks of a step in buckets, one after the other: those that stay are copied in new numbers, and rows that
// may be others now are derived by the rules of make_task_graph.
//
// Longer than 300 lines: whatever writes a task, copied, derived or new, leaves the same lists and histories behind.
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

/// The tasks that are being written, and what has become of the step's own. The step must outlive it.
template <class = void>
class bucketed_task_writer {
    using id = std::uint32_t;

public:
    std::vector<task_id> task_of;      ///< by task of the step: what it is now, or what stands for it
    std::vector<value_id> value_of;    ///< by value of the step
    std::vector<value_id> storage_of;  ///< by storage of the step

    bucketed_task_writer(std::size_t tasks, std::size_t values)
        : task_of(tasks), value_of(values), storage_of(values) {}

    /// Begins anew, in `made`, with room for so many more tasks and values than the step has. What is copied takes so
    /// much time and memory together: what is new must not overflow with it.
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
    /// Ends it. Returns why the costs of some task are none, or nothing.
    [[nodiscard]] std::optional<task_graph_error> end() {
        resize(tasks_, values_);
        made_->graph.predecessors.invert_into(made_->graph.successors, tasks_);
        return fault_;
    }

    /// The task that comes next.
    [[nodiscard]] task_id next() const noexcept { return tasks_; }
    /// The memory of x, which has only one.
    [[nodiscard]] value_id memory_of(value_id x) const { return made_->graph.storages[x][0]; }

    /// Copies the tasks [first, last), in new numbers.
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
        // Facts are bytes, and a byte that is written may be part of anything: what is read must not be read anew.
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
    /// The same for one task whose rows may be others now.
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

    /// Begins a task of which `operation` is said. Its lists are open until `close`.
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
    void read(value_id x) { rows_.add(made_->graph.operands, x); }
    /// All that it reads has been said. It depends on those who make it first.
    void close_operands() {
        task_graph& g = made_->graph;
        rows_.close(g.operands);
        for (value_id x : g.operands[tasks_]) rows_.add(g.declared, g.storage_owner[x]);
    }
    /// What stands in the same bucket is part of it by now, or not there yet: an edge between two members vanishes.
    void after(id v) {
        for (id p : step_->table->controls[v])
            if (task_of[p] != no_task) rows_.add(made_->graph.declared, task_of[p]);
    }
    /// Adds a result in memory of its own.
    [[nodiscard]] value_id result(bytes allocated, int facts) {
        if (allocated.count < 0) fail(task_graph_error::reason::negative_bytes);
        else if (allocated.count > memory_left_) fail(task_graph_error::reason::overflow);
        else memory_left_ -= allocated.count;
        made_->graph.storages.push(values_);
        made_->graph.storages.close_row();
        return add_value(allocated, facts | (allocated.count > 0 ? value_facts::sized : 0));
    }
    /// Adds a result that lives in the memory of x, which has only one.
    [[nodiscard]] value_id result_in(value_id x) {
        made_->graph.storages.push(memory_of(x));
        made_->graph.storages.close_row();
        return add_value({}, 0);
    }

    /// Ends a task and derives which memory it touches and what comes before it.
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
    /// Who has used a memory that somebody writes in place, in the order of the plan.
    struct uses {
        task_id writer = no_task;
        std::vector<task_id> readers;  // since
    };
    static constexpr std::int64_t ceiling = std::int64_t{1} << 62;

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
    /// What a task is and costs, as the next one.
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
    /// Orders t after those uses of memory with which it must not be exchanged.
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
    void note_wait(task_id t) {
        const task_id start = made_->graph.launch[t];
        if (start != no_task && first_wait_[start] == no_task) first_wait_[start] = t;
    }
    /// Orders t after the waits of the collectives whose results it reads.
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
    task_id tasks_ = 0;                // made so far
    value_id values_ = 0;              // made so far
    std::vector<std::uint8_t> there_;  // by new value: value_facts
    std::vector<value_id> written_;    // new storages that somebody writes in place, ascending
    std::vector<uses> history_;        // of these
    std::vector<task_id> first_wait_;  // by new start, if anybody looks in flight
    std::int64_t time_left_ = 0, memory_left_ = 0;
    std::optional<task_graph_error> fault_;
    unique_rows<> rows_;
};

}  // namespace stretto::detail

#endif
