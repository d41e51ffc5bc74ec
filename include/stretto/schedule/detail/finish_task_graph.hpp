// Second half of make_task_graph: storages, lifetimes, and the dependences that memory implies.
#ifndef STRETTO_SCHEDULE_DETAIL_FINISH_TASK_GRAPH_HPP
#define STRETTO_SCHEDULE_DETAIL_FINISH_TASK_GRAPH_HPP

#include "stretto/schedule/task_graph.hpp"

namespace stretto::detail {

/// Room for a usual step: one result and one or two operands a task.
inline void reserve_tasks(raw_task_graph& raw, std::size_t tasks) {
    task_graph& g = raw.g;
    g.kind.reserve(tasks);
    g.duration.reserve(tasks);
    g.collective.reserve(tasks);
    g.group.reserve(tasks);
    g.payload.reserve(tasks);
    g.launch.reserve(tasks);
    g.first_result.reserve(tasks + 1);
    g.allocation.reserve(tasks);
    g.storage_owner.reserve(tasks);
    g.operands.reserve(tasks, tasks + tasks / 2);
    g.declared.reserve(tasks, tasks + tasks / 2);
    g.writes.reserve(tasks, 0);
    raw.aliases.reserve(tasks, tasks / 2);
}

/// Appends each item once per row, in order of first appearance.
class unique_rows {
public:
    explicit unique_rows(std::size_t universe) : seen_(universe, 0) {}
    void add(index_lists& to, std::uint32_t item) {
        if (seen_[item] == row_) return;
        seen_[item] = row_;
        to.push(item);
    }
    void close(index_lists& to) {
        to.close_row();
        ++row_;
    }

private:
    std::vector<std::uint32_t> seen_;
    std::uint32_t row_ = 1;
};

/// storages[x] = x's own, if it allocates, and those of everything it aliases.
inline index_lists derive_storages(const task_graph& g, const index_lists& aliases) {
    index_lists storages;
    storages.reserve(g.allocation.size(), g.allocation.size());
    unique_rows rows(g.allocation.size());
    for (value_id x = 0; x < g.allocation.size(); ++x) {
        if (g.allocation[x].count > 0) rows.add(storages, x);
        for (value_id y : aliases[x])
            for (std::size_t k = 0; k < storages[y].size(); ++k) rows.add(storages, storages[y][k]);
        rows.close(storages);
    }
    return storages;
}

/// Storages that are never freed: of inputs, and of whatever the output reads.
inline std::vector<bool> kept_storages(const task_graph& g) {
    std::vector<bool> kept(g.allocation.size(), false);
    for (task_id t = 0; t < g.size(); ++t) {
        if (g.kind[t] == op_kind::input)
            for (value_id x = g.first_result[t]; x < g.first_result[t + 1]; ++x)
                for (value_id s : g.storages[x]) kept[s] = true;
        if (g.kind[t] == op_kind::output)
            for (value_id x : g.operands[t])
                for (value_id s : g.storages[x]) kept[s] = true;
    }
    return kept;
}

/// A storage lives until the last task that reads, writes or aliases it; what a start reads, until its wait.
inline index_lists derive_touched(const task_graph& g) {
    const std::vector<bool> kept = kept_storages(g);
    index_lists touched;
    touched.reserve(g.size(), g.operands.items() + g.allocation.size());
    unique_rows rows(g.allocation.size());
    auto touch = [&](value_id x) {
        for (value_id s : g.storages[x])
            if (!kept[s]) rows.add(touched, s);
    };
    for (task_id t = 0; t < g.size(); ++t) {
        for (value_id x = g.first_result[t]; x < g.first_result[t + 1]; ++x) touch(x);
        for (value_id x : g.operands[t]) touch(x);
        for (value_id x : g.writes[t]) touch(x);
        if (g.launch[t] != no_task)
            for (value_id x : g.operands[g.launch[t]]) touch(x);
        rows.close(touched);
    }
    return touched;
}

/// Which values name memory that a collective may still be writing: results of starts, and views of them that did
/// not go through its wait; a wait on nothing passes them on. (A view that only reads the shape of a start has no
/// storage and is harmless.)
inline std::vector<bool> values_in_flight(const task_graph& g, const index_lists& aliases) {
    std::vector<bool> in_flight(g.allocation.size(), false);
    for (task_id t = 0; t < g.size(); ++t)
        for (value_id x = g.first_result[t]; x < g.first_result[t + 1]; ++x) {
            bool flies = g.kind[t] == op_kind::start;
            if (g.launch[t] == no_task)
                for (value_id y : aliases[x]) flies = flies || in_flight[y];
            in_flight[x] = flies;
        }
    return in_flight;
}

/// All predecessors of every task: the edges of the view, and
///   - for every storage that anyone writes in place: read after write, write after read, write after write;
///   - a wait reads what its start reads and writes what its start writes: nobody overwrites the input of a
///     collective before its wait, nor reads a buffer that it fills in place;
///   - whoever reads a start's own result without naming the wait still comes after the first wait.
class dependence_builder {
public:
    dependence_builder(const task_graph& g, const index_lists& aliases)
        : g_(g), in_flight_(values_in_flight(g, aliases)), rows_(g.size()), first_wait_(g.size(), no_task) {
        find_written_storages();
    }

    index_lists run() {
        index_lists preds;
        preds.reserve(g_.size(), g_.declared.items() + g_.declared.items() / 8);
        for (task_id t = 0; t < g_.size(); ++t) {
            for (task_id p : g_.declared[t]) rows_.add(preds, p);
            if (g_.launch[t] != no_task) rows_.add(preds, g_.launch[t]);
            order_storage_uses(t, preds);
            order_after_waits(t, preds);
            if (g_.launch[t] != no_task && first_wait_[g_.launch[t]] == no_task) first_wait_[g_.launch[t]] = t;
            rows_.close(preds);
        }
        return preds;
    }

private:
    struct storage_history {
        task_id last_writer = no_task;
        std::vector<task_id> readers;  // since the last writer
    };

    /// Calls f(storage) for everything t writes: declared effects, and what a start (and so its wait) fills in
    /// place, that is, storages of its results that it did not allocate.
    template <class F>
    void for_each_written(task_id t, F f) const {
        for (value_id x : g_.writes[t])
            for (value_id s : g_.storages[x]) f(s);
        const task_id start = g_.kind[t] == op_kind::start ? t : g_.launch[t];
        if (start == no_task) return;
        for (value_id x = g_.first_result[start]; x < g_.first_result[start + 1]; ++x)
            for (value_id s : g_.storages[x])
                if (g_.storage_owner[s] != start) f(s);
        if (start != t)
            for (value_id x : g_.writes[start])
                for (value_id s : g_.storages[x]) f(s);
    }

    void find_written_storages() {
        slot_.assign(g_.allocation.size(), no_task);
        for (task_id t = 0; t < g_.size(); ++t)
            for_each_written(t, [&](value_id s) {
                if (slot_[s] != no_task) return;
                slot_[s] = static_cast<std::uint32_t>(history_.size());
                history_.emplace_back();
            });
    }

    void order_storage_uses(task_id t, index_lists& preds) {
        if (history_.empty()) return;
        auto read = [&](value_id x) {
            for (value_id s : g_.storages[x]) {
                if (slot_[s] == no_task) continue;
                storage_history& h = history_[slot_[s]];
                if (h.last_writer != no_task && h.last_writer != t) rows_.add(preds, h.last_writer);
                if (h.readers.empty() || h.readers.back() != t) h.readers.push_back(t);
            }
        };
        for (value_id x : g_.operands[t]) read(x);
        if (g_.launch[t] != no_task)
            for (value_id x : g_.operands[g_.launch[t]]) read(x);
        for_each_written(t, [&](value_id s) {
            storage_history& h = history_[slot_[s]];
            if (h.last_writer != no_task && h.last_writer != t) rows_.add(preds, h.last_writer);
            for (task_id r : h.readers)
                if (r != t) rows_.add(preds, r);
            h.readers.clear();
            h.last_writer = t;
        });
    }

    void order_after_waits(task_id t, index_lists& preds) {
        if (g_.kind[t] == op_kind::view || g_.kind[t] == op_kind::wait) return;  // they only pass the data on
        for (value_id x : g_.operands[t]) {
            if (!in_flight_[x]) continue;
            for (value_id s : g_.storages[x]) {
                const task_id start = g_.storage_owner[s];
                if (g_.kind[start] == op_kind::start && first_wait_[start] != no_task)
                    rows_.add(preds, first_wait_[start]);
            }
        }
    }

    const task_graph& g_;
    std::vector<bool> in_flight_;
    unique_rows rows_;
    std::vector<task_id> first_wait_;  // of a start, among the tasks seen so far
    std::vector<std::uint32_t> slot_;  // storage -> history, only for storages that are written
    std::vector<storage_history> history_;
};

inline expected<task_graph, task_graph_error> finish_task_graph(raw_task_graph raw) {
    task_graph& g = raw.g;
    g.storages = derive_storages(g, raw.aliases);
    g.touched = derive_touched(g);
    g.predecessors = dependence_builder(g, raw.aliases).run();
    g.successors = g.predecessors.inverse(g.size());
    return std::move(g);
}

}  // namespace stretto::detail

#endif
