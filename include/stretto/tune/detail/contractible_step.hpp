// Computes what bucket_contraction needs to know about a step before it sees any plan: the task graph without buckets,
// and the tasks whose rows must be derived anew for every plan. This is done once, because a search for buckets makes
// the tasks of hundreds of plans of the same step.
#ifndef STRETTO_TUNE_DETAIL_CONTRACTIBLE_STEP_HPP
#define STRETTO_TUNE_DETAIL_CONTRACTIBLE_STEP_HPP

#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/core/expected.hpp"
#include "stretto/core/index_lists.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/unique_rows.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/tune/step_table.hpp"

namespace stretto::detail {

/// Returns whether a value with these value_facts is in flight.
[[nodiscard]] constexpr bool is_in_flight(std::uint8_t facts) noexcept { return (facts & value_facts::in_flight) != 0; }

/// Calls f(storage) for every storage that must exist until t has run; a storage may be passed several times. A wait
/// also needs the storages that its start reads.
template <class F>
void for_each_use(const task_graph& g, task_id t, F f) {
    const auto use = [&](value_id x) {
        for (value_id s : g.storages[x]) f(s);
    };
    for (value_id x = g.first_result[t]; x < g.first_result[t + 1]; ++x) use(x);
    for (value_id x : g.operands[t]) use(x);
    for (value_id x : g.writes[t]) use(x);
    if (g.launch[t] != no_task)
        for (value_id x : g.operands[g.launch[t]]) use(x);
}

/// The tasks of a step without buckets, and the facts about them that do not depend on a plan.
template <class = void>
struct contractible_step {
    /// Reads a table, which must outlive the result. The error says why the step is not a task graph. O(V + E).
    [[nodiscard]] static expected<contractible_step, task_graph_error> of(const step_table& table) {
        raw_task_graph raw;
        const auto tasks = read_tasks(step_table_view{&table}, step_table_model{&table}, raw);
        if (!tasks) return unexpected(tasks.error());
        std::vector<std::uint8_t> facts = raw.facts;
        auto whole = finish_task_graph(std::move(raw), *tasks);
        if (!whole) return unexpected(whole.error());
        return contractible_step(table, *std::move(whole), std::move(facts));
    }

    const step_table* table;
    task_graph whole;                   ///< the tasks without buckets
    index_lists operands;               ///< by task: the values that it reads, each once
    std::vector<std::uint8_t> facts;    ///< by value: its value_facts
    index_lists users;                  ///< by storage: the tasks that use it (for_each_use), once per use
    std::vector<char> always_derived;   ///< by task: whether its rows must be derived anew for every plan
    bool looks_in_flight = false;       ///< whether a task other than a view or a wait reads data in flight
    std::int64_t time = 0, memory = 0;  ///< the sums of all durations, in nanoseconds, and allocations, in bytes

private:
    contractible_step(const step_table& of, task_graph tasks, std::vector<std::uint8_t> facts_of_values)
        : table(&of), whole(std::move(tasks)), facts(std::move(facts_of_values)) {
        unique_rows rows;
        index_lists used;
        for (task_id t = 0; t < whole.size(); ++t) {
            for (value_id x : whole.operands[t]) rows.add(operands, x);
            rows.close(operands);
            for_each_use(whole, t, [&](value_id s) { used.push(s); });
            used.close_row();
            always_derived.push_back(is_always_derived(t));
            const bool passes_on = whole.kind[t] == op_kind::view || whole.kind[t] == op_kind::wait;
            for (value_id x : operands[t]) looks_in_flight = looks_in_flight || (is_in_flight(facts[x]) && !passes_on);
            time += whole.duration[t].count;
        }
        for (bytes b : whole.allocation) memory += b.count;
        users = used.inverse(facts.size());
    }

    /// Returns whether the rows of t may change by more than the numbers in them if a plan merges some collectives: if
    /// t uses memory that is written in place, because the plan changes the order of the accesses; if a row of t
    /// contains two collectives, because these may become one; or if t reads or passes on data in flight.
    [[nodiscard]] bool is_always_derived(task_id t) const {
        bool derived = false;
        std::uint32_t seen = no_task;
        const auto see = [&](std::uint32_t one) {
            derived = derived || (seen != no_task && seen != one);
            seen = one;
        };
        for_each_use(whole, t, [&](value_id s) {
            derived = derived || (facts[s] & value_facts::written) != 0;
            const op_kind kind = whole.kind[whole.storage_owner[s]];
            if (kind == op_kind::start || kind == op_kind::wait) see(s);
        });
        for_each_storage_written(whole, t, [&](value_id) { derived = true; });
        seen = no_task;
        for (task_id p : whole.predecessors[t])
            if (whole.kind[p] == op_kind::start) see(p);
        const bool waits = whole.launch[t] != no_task;
        bool waits_for_what_it_reads = false;
        for (value_id x : operands[t]) {
            if (waits && whole.storage_owner[x] == whole.launch[t]) waits_for_what_it_reads = true;
            else derived = derived || is_in_flight(facts[x]);
        }
        for (value_id x = whole.first_result[t]; x < whole.first_result[t + 1]; ++x)
            derived = derived || (is_in_flight(facts[x]) && whole.kind[t] != op_kind::start);
        return derived || waits != waits_for_what_it_reads;
    }
};

}  // namespace stretto::detail

#endif
