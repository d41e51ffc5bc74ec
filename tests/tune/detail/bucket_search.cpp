#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "stretto/schedule/list_schedule.hpp"
#include "stretto/tune/detail/bucket_search.hpp"
#include "support/prop.hpp"

using namespace stretto;

namespace {

/// Each division leads to one of a few random graphs, so that one division says nothing about another.
struct unrelated_divisions {
    std::vector<task_graph> graphs;
    bucketed_tasks made = {};

    using numbers = std::vector<std::uint32_t>;

    bucket_plan<std::uint32_t, std::uint32_t> plan(const std::vector<detail::bucketable>& items, const numbers& runs,
                                                   const numbers&) const {
        std::map<std::uint32_t, numbers> members;
        for (std::size_t k = 0; k < items.size(); ++k) members[runs[k]].push_back(items[k].vertex);
        bucket_plan<std::uint32_t, std::uint32_t> made_plan;
        for (const auto& [run, vertices] : members) {
            if (vertices.size() < 2) continue;
            made_plan.buckets.emplace_back();
            made_plan.buckets.back().members = vertices;
        }
        return made_plan;
    }
    const bucketed_tasks* tasks(const bucket_plan<std::uint32_t, std::uint32_t>& of) {
        std::uint64_t hash = 14695981039346656037u;
        for (const auto& b : of.buckets) {
            hash = (hash ^ 99) * 1099511628211u;
            for (const std::uint32_t v : b.members) hash = (hash ^ v) * 1099511628211u;
        }
        made.graph = graphs[(hash >> 20) % graphs.size()];
        // All tasks are packs of the last bucket, which is to blame if they do not fit.
        made.original.assign(made.graph.size(), of.buckets.back().members.front());
        made.role.assign(made.graph.size(), bucketed_role::pack);
        return &made;
    }
    nanoseconds merged(std::uint32_t, bytes payload) const { return {100 + payload.count}; }
};

}  // namespace

TEST_CASE("if divisions say nothing about each other, a larger limit still never gives a longer makespan") {
    std::size_t in_buckets = 0, shorter = 0, between = 0, contended = 0;
    stretto_check("unrelated divisions, fifteen limits", 3000, [&] {
        const auto cases =
            *rc::gen::container<std::vector<support::scheduling_case>>(12, support::scheduling_cases(40));
        unrelated_divisions divisions;
        for (const support::scheduling_case& c : cases) divisions.graphs.push_back(support::graph_of(c.program()));
        const task_graph whole = divisions.graphs.front();
        if (whole.size() < 8) return;
        divisions.graphs.erase(divisions.graphs.begin());
        std::vector<detail::bucketable> items(8);
        for (std::uint32_t k = 0; k < items.size(); ++k) {
            items[k].vertex = k;
            items[k].in_class = *rc::gen::inRange(0u, 2u) * k % 2;
            items[k].gathers = *rc::gen::arbitrary<bool>();
            items[k].weight = items[k].payload = {*rc::gen::inRange<std::int64_t>(1, 60)};
            items[k].reached = k * 40;
        }
        items[1].in_class = 1;  // classes are numbered without gaps
        schedule_options options;
        options.under = *rc::gen::element(contention{}, contention{}, contention{3, 2});
        options.effort = *rc::gen::element(1u, 1u, 2u);
        std::vector<std::uint32_t> given(whole.size());
        std::iota(given.begin(), given.end(), 0u);
        const bytes peak = peak_of_input(whole);
        std::optional<nanoseconds> before;
        for (const int percent : {60, 80, 90, 97, 99, 100, 101, 102, 104, 107, 110, 125, 160, 220, 0}) {
            const bytes limit = percent == 0 ? unlimited_bytes : bytes{peak.count * percent / 100};
            if (percent == 100) before.reset();
            options.memory_limit = memory_budget::of_variant(limit, peak);
            detail::bucket_search search(items, options, detail::limit_levels::of_buckets(limit, peak), 100'000,
                                         divisions);
            search.run(given, whole, {});
            const auto front = std::move(search).front();
            RC_ASSERT((!front.empty() || !before));
            if (front.empty()) continue;
            const auto alone = list_schedule(whole, options);
            RC_ASSERT(alone.has_value());
            RC_ASSERT(front.front().makespan <= alone->makespan());
            if (!front.front().plan.empty()) {
                ++in_buckets;
                const auto again = list_schedule(divisions.tasks(front.front().plan)->graph, options);
                RC_ASSERT(again.has_value());
                RC_ASSERT(again->makespan() == front.front().makespan);
            }
            if (before) RC_ASSERT(front.front().makespan <= *before);
            shorter += before && front.front().makespan < *before;
            between += before && front.front().makespan < *before && (percent == 104 || percent == 107);
            contended += before && front.front().makespan < *before && !options.under.none();
            before = front.front().makespan;
        }
    });
    if (!support::runs_all_cases()) return;
    CHECK(in_buckets > 1000);
    CHECK(shorter > 300);
    CHECK(between > 10);
    CHECK(contended > 50);
}
