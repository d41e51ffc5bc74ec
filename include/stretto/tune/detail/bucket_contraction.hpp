// Puts a task graph into buckets, as often as is asked for: what no bucket touches is copied at the speed of memory,
// and only the rest is derived again. docs/algorithms/buckets.md says which tasks that is.
//
// Longer than 300 lines: what is copied and what is derived are two halves of one argument.
#ifndef STRETTO_TUNE_DETAIL_BUCKET_CONTRACTION_HPP
#define STRETTO_TUNE_DETAIL_BUCKET_CONTRACTION_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/expected.hpp"
#include "stretto/core/index_lists.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/unique_rows.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/transform/bucket_plan.hpp"
#include "stretto/tune/bucketed_tasks.hpp"
#include "stretto/tune/step_table.hpp"

namespace stretto::detail {

/// A step whose tasks can be put into buckets again and again. The result is that of writing the program in buckets and
/// building its task graph anew, number by number.
///
/// A task that is left as it is keeps its rows, in new numbers, but for these, whose rows are derived by the rules of
/// make_task_graph: tasks that meet memory which somebody writes in place, since their dependences follow from the
/// order of all uses; tasks with rows in which two collectives occur, since these may have become one; tasks that look
/// at what is in flight; and users of memory that is kept, written or sized only because of what it travels with.
template <class = void>
class bucket_contraction {
    using id = std::uint32_t;
    using plan_type = bucket_plan<id, id>;
    static constexpr id none = UINT32_MAX;

public:
    /// The table must outlive it. The error says why it is no task graph. O(V + E).
    [[nodiscard]] static expected<bucket_contraction, task_graph_error> of(const step_table& step) {
        raw_task_graph raw;
        const auto tasks = read_tasks(step_table_view{&step}, step_table_model{&step}, raw);
        if (!tasks) return unexpected(tasks.error());
        std::vector<std::uint8_t> facts = raw.facts;
        auto whole = finish_task_graph(std::move(raw), *tasks);
        if (!whole) return unexpected(whole.error());
        return bucket_contraction(step, *std::move(whole), std::move(facts));
    }

    /// The tasks without buckets.
    [[nodiscard]] const task_graph& whole() const noexcept { return whole_; }

    /// Writes the tasks of the step in these buckets, in the order of the plan, into `made`, whose room is used again.
    /// `moving(b)` is the time of a kernel that moves so many bytes. Returns why the costs of a bucket are none, or
    /// nothing; then `made` has no meaning. O(V + E) with a small constant, and O(log) for every use of memory that is
    /// written in place. Precondition: the plan is one of this step.
    template <class Moving>
    [[nodiscard]] std::optional<task_graph_error> contract(const plan_type& plan, Moving moving, bucketed_tasks& made) {
        begin(plan, made);
        if (plan.empty()) copy(0, static_cast<id>(whole_.size()));
        for (std::size_t k = 0; k < plan.order.size();) {
            const id v = plan.order[k];
            if (becomes_[v] == fate::stays) {
                id end = v;
                do ++k, ++end;
                while (k < plan.order.size() && plan.order[k] == end && becomes_[end] == fate::stays);
                copy(v, end);
                continue;
            }
            ++k;
            if (becomes_[v] == fate::derived) {
                derive_again(v);
                continue;
            }
            const bucket<id, id>& b = plan.buckets[bucket_of_[v]];
            if (becomes_[v] == fate::member && v == b.members[0]) launch(b, moving);
            if (becomes_[v] != fate::waited) continue;
            if (v == b.waits[0]) arrive(b, moving);
            view(v);
        }
        finish(plan);
        return fault_;
    }

private:
    enum class fate : std::uint8_t {
        stays,
        derived,  // it stays, but its rows are derived again
        member,
        waited,
        absorbed
    };
    /// Who has used a memory that somebody writes in place, in the order of the plan.
    struct uses {
        task_id writer = no_task;
        std::vector<task_id> readers;  // since
    };
    static constexpr std::uint8_t of_users = value_facts::kept | value_facts::written;  // facts that others make true
    static constexpr std::uint8_t of_storage = of_users | value_facts::sized;

    bucket_contraction(const step_table& step, task_graph whole, std::vector<std::uint8_t> facts)
        : step_(&step), whole_(std::move(whole)), facts_(std::move(facts)), bucket_of_(whole_.size(), none) {
        unique_rows rows;
        index_lists used;
        for (task_id t = 0; t < whole_.size(); ++t) {
            for (value_id x : whole_.operands[t]) rows.add(operands_, x);
            rows.close(operands_);
            for_each_use(whole_, t, [&](value_id s) { used.push(s); });
            used.close_row();
            always_.push_back(is_always_derived(t) ? fate::derived : fate::stays);
            const bool passes_on = whole_.kind[t] == op_kind::view || whole_.kind[t] == op_kind::wait;
            for (value_id x : operands_[t]) looks_in_flight_ = looks_in_flight_ || (flies(facts_[x]) && !passes_on);
            time_ += whole_.duration[t].count;
        }
        for (bytes b : whole_.allocation) memory_ += b.count;
        users_ = used.inverse(facts_.size());
        becomes_ = always_;
        task_.resize(whole_.size());
        value_.resize(facts_.size());
        storage_.resize(facts_.size());
    }

    [[nodiscard]] static bool flies(std::uint8_t facts) { return (facts & value_facts::in_flight) != 0; }

    /// Calls f(storage) for everything that must exist until t has run, perhaps several times.
    template <class F>
    static void for_each_use(const task_graph& g, task_id t, F f) {
        const auto use = [&](value_id x) {
            for (value_id s : g.storages[x]) f(s);
        };
        for (value_id x = g.first_result[t]; x < g.first_result[t + 1]; ++x) use(x);
        for (value_id x : g.operands[t]) use(x);
        for (value_id x : g.writes[t]) use(x);
        if (g.launch[t] != no_task)
            for (value_id x : g.operands[g.launch[t]]) use(x);
    }

    /// Whether the rows of a task may change by more than numbers, whatever the buckets are.
    [[nodiscard]] bool is_always_derived(task_id t) const {
        bool derived = false;
        id seen = none;
        const auto see = [&](id one) {
            derived = derived || (seen != none && seen != one);
            seen = one;
        };
        for_each_use(whole_, t, [&](value_id s) {
            derived = derived || (facts_[s] & value_facts::written) != 0;
            const op_kind kind = whole_.kind[whole_.storage_owner[s]];
            if (kind == op_kind::start || kind == op_kind::wait) see(s);
        });
        for_each_storage_written(whole_, t, [&](value_id) { derived = true; });
        seen = none;
        for (task_id p : whole_.predecessors[t])
            if (whole_.kind[p] == op_kind::start) see(p);
        const bool waits = whole_.launch[t] != no_task;
        bool waits_for_what_it_reads = false;
        for (value_id x : operands_[t]) {
            if (waits && whole_.storage_owner[x] == whole_.launch[t]) waits_for_what_it_reads = true;
            else derived = derived || flies(facts_[x]);
        }
        for (value_id x = whole_.first_result[t]; x < whole_.first_result[t + 1]; ++x)
            derived = derived || (flies(facts_[x]) && whole_.kind[t] != op_kind::start);
        return derived || waits != waits_for_what_it_reads;
    }

    // --- What becomes of which vertex

    void begin(const plan_type& plan, bucketed_tasks& made) {
        made_ = &made;
        task_graph& g = made.graph;
        const std::size_t most_tasks = whole_.size() + 4 * plan.buckets.size();
        const std::size_t most_values = facts_.size() + 4 * plan.buckets.size();
        g.kind.resize(most_tasks);
        g.duration.resize(most_tasks);
        g.collective.resize(most_tasks);
        g.group.resize(most_tasks);
        g.payload.resize(most_tasks);
        g.launch.resize(most_tasks);
        g.first_result.resize(most_tasks + 1);
        g.first_result[0] = 0;
        made.original.resize(most_tasks);
        made.role.resize(most_tasks);
        g.allocation.resize(most_values);
        g.storage_owner.resize(most_values);
        there_.resize(most_values);
        g.groups = whole_.groups;
        for (index_lists* rows : {&g.operands, &g.writes, &g.storages, &g.touched, &g.declared, &g.predecessors})
            rows->clear();
        tasks_ = values_ = 0;
        written_.clear();
        if (looks_in_flight_) first_wait_.assign(most_tasks, no_task);
        time_left_ = ceiling - time_;
        memory_left_ = ceiling - memory_;
        fault_.reset();

        arrives_.clear();
        for (id k = 0; k < plan.buckets.size(); ++k) {
            const auto mark = [&](const std::vector<id>& all, fate f) {
                for (id v : all) {
                    becomes_[v] = f, bucket_of_[v] = k, task_[v] = no_task;
                    time_left_ += whole_.duration[v].count;
                    for (value_id x = whole_.first_result[v]; x < whole_.first_result[v + 1]; ++x)
                        memory_left_ += whole_.allocation[x].count;
                }
            };
            mark(plan.buckets[k].members, fate::member);
            mark(plan.buckets[k].waits, fate::waited);
            mark(plan.buckets[k].casts, fate::absorbed);
        }
        derived_.clear();
        for (const bucket<id, id>& b : plan.buckets) unite(b);
    }
    /// Says what is true of the memory in which a bucket arrives, and marks those to whom that makes a difference.
    void unite(const bucket<id, id>& b) {
        const auto for_each_memory = [&](auto f) {
            for (const std::vector<id>* all : {&b.members, &b.waits})
                for (id v : *all) {
                    const value_id x = whole_.first_result[v];
                    for (value_id s : whole_.storages[x])
                        if (s == x) f(s);
                }
        };
        std::uint8_t facts = b.received.count > 0 ? value_facts::sized : 0;
        for_each_memory([&](value_id s) { facts |= static_cast<std::uint8_t>(facts_[s] & of_users); });
        for_each_memory([&](value_id s) {
            if (((facts_[s] ^ facts) & of_storage) == 0) return;
            for (task_id t : users_[s])
                if (becomes_[t] == fate::stays) becomes_[t] = fate::derived, derived_.push_back(t);
        });
        arrives_.push_back(facts);
    }
    void finish(const plan_type& plan) {
        task_graph& g = made_->graph;
        g.kind.resize(tasks_);
        g.duration.resize(tasks_);
        g.collective.resize(tasks_);
        g.group.resize(tasks_);
        g.payload.resize(tasks_);
        g.launch.resize(tasks_);
        g.first_result.resize(std::size_t{tasks_} + 1);
        made_->original.resize(tasks_);
        made_->role.resize(tasks_);
        g.allocation.resize(values_);
        g.storage_owner.resize(values_);
        g.predecessors.invert_into(g.successors, tasks_);
        for (const bucket<id, id>& b : plan.buckets)
            for (const std::vector<id>* all : {&b.members, &b.waits, &b.casts})
                for (id v : *all) becomes_[v] = always_[v];
        for (id v : derived_) becomes_[v] = always_[v];
    }

    // --- What stays

    /// Copies the tasks [first, last), in new numbers.
    void copy(id first, id last) {
        task_graph& g = made_->graph;
        const value_id from = whole_.first_result[first], to = whole_.first_result[last];
        for (id v = first; v < last; ++v, ++tasks_) {
            task_[v] = tasks_;
            copy_costs(v);
            g.first_result[tasks_ + 1] = whole_.first_result[v + 1] - from + values_;
            for (value_id x = whole_.first_result[v]; x < whole_.first_result[v + 1]; ++x)
                g.storage_owner[x - from + values_] = tasks_;
        }
        for (value_id x = from; x < to; ++x, ++values_) {
            value_[x] = storage_[x] = values_;
            g.allocation[values_] = whole_.allocation[x];
            there_[values_] = facts_[x];
        }
        g.operands.push_rows(operands_, first, last, value_.data());
        g.writes.push_rows(whole_.writes, first, last, value_.data());
        g.storages.push_rows(whole_.storages, from, to, storage_.data());
        g.touched.push_rows(whole_.touched, first, last, storage_.data());
        g.declared.push_rows(whole_.declared, first, last, task_.data());
        g.predecessors.push_rows(whole_.predecessors, first, last, task_.data());
    }
    /// What a task is and costs, as the next one.
    void copy_costs(id v) {
        task_graph& g = made_->graph;
        g.kind[tasks_] = whole_.kind[v];
        g.duration[tasks_] = whole_.duration[v];
        g.collective[tasks_] = whole_.collective[v];
        g.group[tasks_] = whole_.group[v];
        g.payload[tasks_] = whole_.payload[v];
        g.launch[tasks_] = whole_.launch[v] == no_task ? no_task : task_[whole_.launch[v]];
        if (looks_in_flight_) note_wait(tasks_);
        made_->original[tasks_] = v;
        made_->role[tasks_] = bucketed_role::original;
    }
    /// The same for one task whose rows may be others now.
    void derive_again(id v) {
        task_graph& g = made_->graph;
        task_[v] = tasks_;
        copy_costs(v);
        for (value_id x : operands_[v]) rows_.add(g.operands, value_[x]);
        rows_.close(g.operands);
        for (value_id x : whole_.writes[v]) g.writes.push(value_[x]);
        for (value_id x = whole_.first_result[v]; x < whole_.first_result[v + 1]; ++x) {
            std::uint8_t facts = facts_[x];
            if (flies(facts) && whole_.kind[v] != op_kind::start) {
                facts &= static_cast<std::uint8_t>(~value_facts::in_flight);
                for (id y : step_->aliases[x])
                    if (y < x && flies(there_[value_[y]])) facts |= value_facts::in_flight;
            }
            value_[x] = storage_[x] = values_;
            for (value_id s : whole_.storages[x]) rows_.add(g.storages, storage_[s]);
            rows_.close(g.storages);
            add_value(whole_.allocation[x], facts);
        }
        for (task_id p : whole_.declared[v]) rows_.add(g.declared, task_[p]);
        close();
    }

    // --- What is new

    /// Begins a task of which `operation` is said. Its lists are open until `close`.
    void open(const step_table::operation& o, id original, bucketed_role role) {
        task_graph& g = made_->graph;
        g.kind[tasks_] = o.kind;
        g.duration[tasks_] = o.duration;
        g.collective[tasks_] = o.collective;
        g.group[tasks_] = o.group;
        g.payload[tasks_] = o.payload;
        g.launch[tasks_] = o.launch;
        if (looks_in_flight_) note_wait(tasks_);
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
        for (id p : step_->controls[v])
            if (task_[p] != no_task) rows_.add(made_->graph.declared, task_[p]);
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
        const value_id memory = made_->graph.storages[x][0];
        made_->graph.storages.push(memory);
        made_->graph.storages.close_row();
        return add_value({}, 0);
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

    template <class Moving>
    void launch(const bucket<id, id>& b, Moving moving) {
        const bool packs = b.mode == bucket_mode::pack;
        const auto depend = [&] {
            for (id x : b.parts) read(value_[x]);
            close_operands();
            for (const std::vector<id>* all : {&b.members, &b.casts})
                for (id m : *all) after(m);
        };
        value_id payload = none;
        if (packs) {
            nanoseconds packing = b.copies - moving(b.received + b.received);
            for (id c : b.casts) packing += step_->operations[c].duration;
            open({op_kind::compute, collective_kind::other, 0, none, packing, {}}, b.members[0], bucketed_role::pack);
            depend();
            payload = result(b.payload, 0);
            close();
        }
        step_table::operation o = step_->operations[b.members[0]];
        o.duration = b.merged;
        o.payload = b.payload;
        open(o, b.members[0], bucketed_role::launch);
        if (packs) {
            read(payload);
            close_operands();
        } else {
            depend();
        }
        const std::uint8_t arrives = arrives_[bucket_of_[b.members[0]]];
        const int facts = packs ? 0 : arrives & of_users;
        const value_id sent = result(b.received, facts | value_facts::in_flight);
        for (id m : b.members) {
            task_[m] = tasks_;
            value_[whole_.first_result[m]] = storage_[whole_.first_result[m]] = sent;
        }
        close();
    }

    template <class Moving>
    void arrive(const bucket<id, id>& b, Moving moving) {
        const value_id sent = value_[whole_.first_result[b.members[0]]];
        step_table::operation o;
        o.kind = op_kind::wait;
        o.launch = task_[b.members[0]];
        open(o, b.waits[0], bucketed_role::wait);
        read(sent);
        close_operands();
        for (id w : b.waits) after(w);
        arrived_ = result_in(sent);
        close();
        if (b.mode == bucket_mode::pack) {
            open({op_kind::compute, collective_kind::other, 0, none, moving(b.received + b.received), {}}, b.waits[0],
                 bucketed_role::unpack);
            read(arrived_);
            close_operands();
            const std::uint8_t arrives = arrives_[bucket_of_[b.members[0]]];
            arrived_ = result(b.received, arrives & of_users);
            close();
        }
        const value_id memory = made_->graph.storages[arrived_][0];
        for (id m : b.members) {
            value_[whole_.first_result[m]] = arrived_;
            storage_[whole_.first_result[m]] = memory;
        }
    }

    void view(id w) {
        open({op_kind::view, collective_kind::other, 0, none, {}, {}}, w, bucketed_role::view);
        read(arrived_);
        close_operands();
        task_[w] = tasks_;
        value_[whole_.first_result[w]] = result_in(arrived_);
        storage_[whole_.first_result[w]] = made_->graph.storages[arrived_][0];
        close();
    }

    // --- What follows, by the rules of make_task_graph

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
        if (looks_in_flight_) order_after_waits(t);
        rows_.close(g.predecessors);
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
            if (!flies(there_[x])) continue;
            for (value_id s : g.storages[x]) {
                const task_id start = g.storage_owner[s];
                if (g.kind[start] == op_kind::start && first_wait_[start] != no_task) before(first_wait_[start]);
            }
        }
    }

    static constexpr std::int64_t ceiling = std::int64_t{1} << 62;

    const step_table* step_;
    task_graph whole_;
    index_lists operands_;             // of the whole, by task: each value once
    std::vector<std::uint8_t> facts_;  // of the whole, by value: see value_facts
    index_lists users_;                // by storage: tasks, as often as they use it
    std::vector<fate> always_;         // by task: stays or derived
    bool looks_in_flight_ = false;     // some kernel reads what a collective may still be writing
    std::int64_t time_ = 0, memory_ = 0;

    // Of the plan at hand.
    std::vector<fate> becomes_;          // by task; `always_` between two plans
    std::vector<id> bucket_of_;          // by task
    std::vector<task_id> derived_;       // what is only derived because of this plan
    std::vector<std::uint8_t> arrives_;  // by bucket: facts about the memory in which it arrives
    bucketed_tasks* made_ = nullptr;
    task_id tasks_ = 0;                // made so far
    value_id values_ = 0;              // made so far
    std::vector<task_id> task_;        // by task of the whole: what it is now, or what stands for it
    std::vector<value_id> value_;      // by value of the whole
    std::vector<value_id> storage_;    // by storage of the whole
    std::vector<std::uint8_t> there_;  // by new value: value_facts
    std::vector<value_id> written_;    // new storages that somebody writes in place, ascending
    std::vector<uses> history_;        // of these
    std::vector<task_id> first_wait_;  // by new start, if anybody looks in flight
    value_id arrived_ = 0;             // what arrives in the bucket whose waits stand side by side here
    std::int64_t time_left_ = 0, memory_left_ = 0;
    std::optional<task_graph_error> fault_;
    unique_rows<> rows_;
};

}  // namespace stretto::detail

#endif
