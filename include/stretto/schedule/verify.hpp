// Whether an order is legal is checked here independently: from the facts, without code of the scheduler and without
// derived dependences.
#ifndef STRETTO_SCHEDULE_VERIFY_HPP
#define STRETTO_SCHEDULE_VERIFY_HPP

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/expected.hpp"
#include "stretto/schedule/memory.hpp"
#include "stretto/schedule/simulate.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace stretto {

/// The first violation found in an order. `task` is at `position`; `other` is the second task concerned.
struct order_violation {
    enum class rule {
        not_a_permutation,      ///< `task` is missing (position = size), occurs twice, or is not a task of the graph
        reads_before_producer,  ///< `task` comes before `other`, which it names or whose result it reads
        wait_before_start,      ///< the wait `task` comes before its start `other`
        /// `task` comes before `other`, although it comes after it in the input order and one of them writes what both
        /// use.
        overtakes_a_write,
        touches_data_in_flight,  ///< `task` uses what collective `other` still writes, or writes what it still reads
        exceeds_memory_limit,    ///< live bytes at `task` exceed the limit
    };
    rule broken;
    std::size_t position;
    task_id task;
    task_id other;  ///< no_task if the rule concerns one task
};

/// The times and the memory of a legal order.
struct order_figures {
    simulation times;
    memory_profile memory;
};

namespace detail {

/// Calls f for every storage that a task reads, by its operands.
template <class F>
void for_each_read_storage(const task_graph& g, task_id t, F f) {
    for (value_id x : g.operands[t])
        for (value_id s : g.storages[x]) f(s);
}
/// Calls f for every storage that a task writes although another task allocated it, and for what it declares to write:
/// by its declared effects and, if it is a collective, through results that live in the storages of other tasks.
template <class F>
void for_each_written_storage(const task_graph& g, task_id t, F f) {
    for (value_id x : g.writes[t])
        for (value_id s : g.storages[x]) f(s);
    if (g.kind[t] != op_kind::start) return;
    for (value_id x = g.first_result[t]; x < g.first_result[t + 1]; ++x)
        for (value_id s : g.storages[x])
            if (g.storage_owner[s] != t) f(s);
}
/// Calls f, perhaps twice, for every storage that a collective fills until its first wait: those that it writes and
/// those of its results.
template <class F>
void for_each_filled_storage(const task_graph& g, task_id start, F f) {
    for_each_written_storage(g, start, f);
    for (value_id x = g.first_result[start]; x < g.first_result[start + 1]; ++x)
        for (value_id s : g.storages[x]) f(s);
}

/// A use of a storage that some task writes. Uses are listed in program order.
struct storage_use {
    task_id task;
    bool writes;
};

/// Returns, by storage, the uses of the storages that some task writes; other storages have none. O(V + uses).
template <class = void>
[[nodiscard]] inline std::vector<std::vector<storage_use>> uses_of_written_storages(const task_graph& g) {
    std::vector<char> written(g.allocation.size(), false);
    for (task_id t = 0; t < g.size(); ++t) for_each_written_storage(g, t, [&](value_id s) { written[s] = true; });
    std::vector<std::vector<storage_use>> uses(g.allocation.size());
    for (task_id t = 0; t < g.size(); ++t) {
        auto use = [&](value_id s, bool writes) {
            if (!written[s]) return;
            if (!uses[s].empty() && uses[s].back().task == t) uses[s].back().writes |= writes;
            else uses[s].push_back({t, writes});
        };
        for_each_read_storage(g, t, [&](value_id s) { use(s, false); });
        for_each_written_storage(g, t, [&](value_id s) { use(s, true); });
    }
    return uses;
}

}  // namespace detail

/// Checks `order` against what the tasks read, write and alias, and against `limit`. A task writes its declared
/// effects. A collective also writes its results, even those that live in the memory of other tasks; until its first
/// wait, it writes all of that and reads its operands. Returns the exact times and memory of `order`, or, as the error,
/// the first violation. The input order of a graph need not be legal itself: if a task already touches data in flight
/// there, this is not counted as a violation of `order`. The result is deterministic. It takes O((V + E) log E) time,
/// plus the uses of every storage that is written in place.
template <class = void>
[[nodiscard]] expected<order_figures, order_violation> verify_order(const task_graph& g, std::span<const task_id> order,
                                                                    bytes limit = unlimited_bytes) {
    using rule = order_violation::rule;
    constexpr std::size_t nowhere = SIZE_MAX;
    std::vector<std::size_t> place(g.size(), nowhere);
    for (std::size_t p = 0; p < order.size(); ++p) {
        if (order[p] >= g.size() || place[order[p]] != nowhere)
            return unexpected(order_violation{rule::not_a_permutation, p, order[p], no_task});
        place[order[p]] = p;
    }
    for (task_id t = 0; t < g.size(); ++t)
        if (place[t] == nowhere) return unexpected(order_violation{rule::not_a_permutation, order.size(), t, no_task});

    for (task_id t : order) {
        for (value_id x : g.operands[t])
            if (g.storage_owner[x] != t && place[g.storage_owner[x]] > place[t])
                return unexpected(order_violation{rule::reads_before_producer, place[t], t, g.storage_owner[x]});
        for (task_id p : g.declared[t])
            if (place[p] > place[t]) return unexpected(order_violation{rule::reads_before_producer, place[t], t, p});
        if (g.launch[t] != no_task && place[g.launch[t]] > place[t])
            return unexpected(order_violation{rule::wait_before_start, place[t], t, g.launch[t]});
    }

    // The readers of a storage must be between the same writers as in the input, and its writers must keep their order.
    for (const std::vector<detail::storage_use>& uses : detail::uses_of_written_storages(g)) {
        task_id latest = no_task, latest_writer = no_task;  // the last ones in the order among those seen
        for (const detail::storage_use& use : uses) {
            const task_id other = use.writes ? latest : latest_writer;
            if (other != no_task && place[other] > place[use.task])
                return unexpected(order_violation{rule::overtakes_a_write, place[use.task], use.task, other});
            if (latest == no_task || place[use.task] > place[latest]) latest = use.task;
            if (use.writes) latest_writer = use.task;
        }
    }

    // Replays the order to find which storages collectives in flight write and read.
    auto first_conflict = [&](std::span<const task_id> sequence, auto report) {
        std::vector<std::vector<task_id>> writing(g.allocation.size()), reading(g.allocation.size());
        auto drop = [](std::vector<task_id>& v, task_id x) { std::erase(v, x); };
        for (task_id t : sequence) {
            if (g.launch[t] != no_task) {
                const task_id start = g.launch[t];
                detail::for_each_filled_storage(g, start, [&](value_id s) { drop(writing[s], start); });
                detail::for_each_read_storage(g, start, [&](value_id s) { drop(reading[s], start); });
            }
            if (g.kind[t] != op_kind::compute && g.kind[t] != op_kind::start) continue;
            detail::for_each_read_storage(g, t, [&](value_id s) {
                for (task_id c : writing[s]) report(t, c);
            });
            detail::for_each_written_storage(g, t, [&](value_id s) {
                for (task_id c : writing[s]) report(t, c);
                for (task_id c : reading[s]) report(t, c);
            });
            if (g.kind[t] != op_kind::start) continue;
            detail::for_each_filled_storage(g, t, [&](value_id s) { writing[s].push_back(t); });
            detail::for_each_read_storage(g, t, [&](value_id s) { reading[s].push_back(t); });
        }
    };
    std::vector<std::pair<task_id, task_id>> in_input;
    std::vector<task_id> program_order(g.size());
    for (task_id t = 0; t < g.size(); ++t) program_order[t] = t;
    first_conflict(program_order, [&](task_id t, task_id c) { in_input.emplace_back(t, c); });
    std::sort(in_input.begin(), in_input.end());
    order_violation conflict{rule::touches_data_in_flight, nowhere, no_task, no_task};
    first_conflict(order, [&](task_id t, task_id c) {
        if (conflict.task == no_task && !std::binary_search(in_input.begin(), in_input.end(), std::pair{t, c}))
            conflict = {rule::touches_data_in_flight, place[t], t, c};
    });
    if (conflict.task != no_task) return unexpected(conflict);

    order_figures figures{simulate(g, order), profile_memory(g, order)};
    if (figures.memory.peak > limit)
        return unexpected(order_violation{rule::exceeds_memory_limit, place[figures.memory.peak_at],
                                          figures.memory.peak_at, no_task});
    return figures;
}

}  // namespace stretto

#endif
