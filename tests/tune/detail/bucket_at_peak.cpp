#include "stretto/tune/detail/bucket_at_peak.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "stretto/schedule/list_schedule.hpp"
#include "support/mergeable_traffic.hpp"
#include "support/prop.hpp"
#include "support/traffic_program.hpp"

using namespace stretto;

namespace {

using table_plan = bucket_plan<std::uint32_t, std::uint32_t>;

/// The storages that are alive while a task of an order runs, found by executing the order.
std::set<value_id> alive_at(const task_graph& g, const std::vector<task_id>& order, task_id at) {
    std::vector<std::size_t> users(g.allocation.size(), 0);  // by storage: how many tasks still touch it
    for (task_id t : order)
        for (value_id s : g.touched[t]) ++users[s];
    std::set<value_id> alive;
    for (task_id t : order) {
        if (g.kind[t] != op_kind::input)
            for (value_id s = g.first_result[t]; s < g.first_result[t + 1]; ++s) alive.insert(s);
        if (t == at) break;
        for (value_id s : g.touched[t])
            if (--users[s] == 0) alive.erase(s);
    }
    return alive;
}

/// What each bucket keeps alive beyond its members, by the definition.
std::vector<std::int64_t> beyond_members(const table_plan& plan, const task_graph& whole, const bucketed_tasks& made,
                                         const std::vector<task_id>& order) {
    const task_graph& g = made.graph;
    const task_id at = profile_memory(g, order).peak_at;
    std::vector<task_id> given(whole.size());
    std::iota(given.begin(), given.end(), 0u);
    const std::set<value_id> here = alive_at(g, order, at), there = alive_at(whole, given, made.original[at]);
    std::vector<std::int64_t> beyond;
    std::set<std::uint32_t> bucketed;
    std::map<value_id, const void*> last_part;  // the last bucket that packs it
    for (const auto& b : plan.buckets) {
        for (const auto* vertices : {&b.members, &b.waits, &b.casts})
            bucketed.insert(vertices->begin(), vertices->end());
        for (value_id x : b.parts)
            for (value_id s : whole.storages[x]) last_part[s] = &b;
    }
    for (const auto& b : plan.buckets) {
        std::set<std::uint32_t> vertices(b.members.begin(), b.members.end());
        vertices.insert(b.waits.begin(), b.waits.end());
        vertices.insert(b.casts.begin(), b.casts.end());
        std::set<value_id> own;  // storages of the step; those that bucketed operations make belong to these
        for (value_id x : b.parts)
            for (value_id s : whole.storages[x])
                if (!bucketed.contains(whole.storage_owner[s]) && last_part.at(s) == &b) own.insert(s);
        for (value_id s = 0; s < whole.allocation.size(); ++s)
            if (vertices.contains(whole.storage_owner[s])) own.insert(s);
        std::int64_t sum = 0;
        for (value_id s : there)
            if (own.contains(s)) sum -= whole.allocation[s].count;
        for (value_id s : here) {
            const task_id t = g.storage_owner[s];
            const std::uint32_t v = made.original[t];
            const bool is_of_step = made.role[t] == bucketed_role::original;
            if (is_of_step ? own.contains(whole.first_result[v] + (s - g.first_result[t])) : vertices.contains(v))
                sum += g.allocation[s].count;
        }
        beyond.push_back(sum);
    }
    return beyond;
}

}  // namespace

TEST_CASE("the bucket to blame keeps the most alive beyond its members where the step needs most") {
    std::size_t found = 0, nobody = 0, not_first = 0, ordered = 0;
    stretto_check("random buckets of random steps", 6000, [&](const std::vector<std::uint8_t>& data) {
        bucket_options limits;
        if (data.size() % 5 == 0) limits.mode = bucket_mode::coalesced;
        support::mergeable_traffic t(support::random_traffic(data, 60), limits);
        if (t.items.size() < 2) return;
        std::uint32_t random = static_cast<std::uint32_t>(data.size());
        const table_plan plan = t.trials->plan(t.items, t.random_runs(random), t.given);
        const bucketed_tasks* const made = plan.empty() ? nullptr : t.trials->tasks(plan);
        if (made == nullptr) return;
        std::vector<task_id> order(made->graph.size());
        std::iota(order.begin(), order.end(), 0u);
        if (data.size() % 2 == 0) {
            const auto scheduled = list_schedule(made->graph, {.memory_limit = unlimited_bytes});
            RC_ASSERT(scheduled.has_value());
            order = scheduled->order();
        }
        const task_graph& whole = t.whole();
        const std::vector<std::int64_t> beyond = beyond_members(plan, whole, *made, order);
        std::optional<std::size_t> most;
        for (std::size_t b = 0; b < beyond.size(); ++b)
            if (beyond[b] > (most ? beyond[*most] : 0)) most = b;
        RC_ASSERT(detail::bucket_at_peak(plan, whole, *made, order) == most);
        found += most.has_value();
        nobody += !most;
        not_first += most && *most > 0;
        ordered += most && data.size() % 2 == 0;
    });
    if (!support::runs_all_cases()) return;
    CHECK(found > 500);
    CHECK(nobody > 50);
    CHECK(not_first > 40);
    CHECK(ordered > 200);
}
