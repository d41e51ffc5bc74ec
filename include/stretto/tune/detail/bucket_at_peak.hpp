// Finds the bucket to blame if a step in buckets needs too much memory: the one that keeps more memory alive than its
// members would, at the place where the step needs most.
#ifndef STRETTO_TUNE_DETAIL_BUCKET_AT_PEAK_HPP
#define STRETTO_TUNE_DETAIL_BUCKET_AT_PEAK_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stretto/core/op_model.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/memory.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/transform/bucket_plan.hpp"
#include "stretto/tune/bucketed_tasks.hpp"

namespace stretto::detail {

/// Calls see(storage) for each storage that is alive, in an order, while `at` runs. `position` has the position of each
/// task. Inputs are left out. O(V + E).
template <class See>
void for_each_alive(const task_graph& g, std::span<const std::uint32_t> position, task_id at, See see) {
    constexpr std::uint32_t never = UINT32_MAX;
    std::vector<std::uint32_t> last(g.allocation.size(), never);  // the last position that touches it; never: not freed
    for (task_id t = 0; t < g.size(); ++t)
        for (value_id s : g.touched[t]) last[s] = last[s] == never ? position[t] : std::max(last[s], position[t]);
    for (task_id t = 0; t < g.size(); ++t) {
        if (g.kind[t] == op_kind::input || position[t] > position[at]) continue;
        for (value_id s = g.first_result[t]; s < g.first_result[t + 1]; ++s)
            if (last[s] >= position[at]) see(s);
    }
}

/// Returns the bucket that keeps the most bytes alive beyond what its members keep alive without buckets, at the first
/// peak of an order of the step in buckets; nothing if no bucket keeps more alive. The step without buckets runs in
/// program order. A bucket keeps alive what it packs, sends, receives and unpacks; a member, what it sends and receives
/// and the results of its cast. Memory of several buckets counts for one of them. `whole` are the tasks of the step
/// without buckets, numbered like the vertices of the plan. O(V + E).
template <class = void>
[[nodiscard]] std::optional<std::size_t> bucket_at_peak(const bucket_plan<std::uint32_t, std::uint32_t>& plan,
                                                        const task_graph& whole, const bucketed_tasks& in_buckets,
                                                        std::span<const task_id> order) {
    constexpr std::uint32_t none = UINT32_MAX;
    std::vector<std::uint32_t> of_vertex(whole.size(), none), of_storage(whole.allocation.size(), none);
    for (std::uint32_t b = 0; b < plan.buckets.size(); ++b) {
        for (const auto* vertices : {&plan.buckets[b].members, &plan.buckets[b].waits, &plan.buckets[b].casts})
            for (std::uint32_t v : *vertices) of_vertex[v] = b;
        for (value_id x : plan.buckets[b].parts)
            for (value_id s : whole.storages[x]) of_storage[s] = b;
    }
    const auto bucket_of = [&](value_id s) {
        const std::uint32_t b = of_vertex[whole.storage_owner[s]];
        return b != none ? b : of_storage[s];
    };
    std::vector<bytes> beyond(plan.buckets.size());

    const task_graph& g = in_buckets.graph;
    const task_id at = profile_memory(g, order).peak_at;
    if (at == no_task) return std::nullopt;
    std::vector<std::uint32_t> position(g.size());
    for (std::uint32_t p = 0; p < order.size(); ++p) position[order[p]] = p;
    for_each_alive(g, position, at, [&](value_id s) {
        const task_id t = g.storage_owner[s];
        const std::uint32_t v = in_buckets.original[t];
        const std::uint32_t b = in_buckets.role[t] == bucketed_role::original
                                    ? bucket_of(whole.first_result[v] + (s - g.first_result[t]))
                                    : of_vertex[v];
        if (b != none) beyond[b] += g.allocation[s];
    });
    position.resize(whole.size());
    for (task_id t = 0; t < whole.size(); ++t) position[t] = t;
    for_each_alive(whole, position, in_buckets.original[at], [&](value_id s) {
        if (const std::uint32_t b = bucket_of(s); b != none) beyond[b] = beyond[b] - whole.allocation[s];
    });
    const auto most = std::max_element(beyond.begin(), beyond.end());
    if (most == beyond.end() || *most <= bytes{}) return std::nullopt;
    return static_cast<std::size_t>(most - beyond.begin());
}

}  // namespace stretto::detail

#endif
