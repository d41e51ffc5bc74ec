#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "stretto/schedule/bounds.hpp"
#include "stretto/schedule/detail/memory_jobs.hpp"
#include "stretto/schedule/memory.hpp"
#include "support/prop.hpp"

using namespace stretto;
using detail::compact_tasks;
using detail::memory_job;
using detail::workspace;
using support::toy_program;

namespace {

/// A part of a loss: a kernel makes a value, a second one a gradient of it, which is reduced.
struct part {
    std::int64_t first, second, reduction;  // nanoseconds
    std::int64_t value, gradient;           // bytes
};

toy_program loss(const std::vector<part>& parts) {
    toy_program p;
    std::vector<support::toy_value> reduced;
    for (const part& x : parts) {
        const auto at = static_cast<std::uint32_t>(p.ops.size());
        p.ops.push_back({.duration = {x.first}, .results = {{{x.value}, {}}}});
        p.ops.push_back({.duration = {x.second}, .operands = {{at, 0}}, .results = {{{x.gradient}, {}}}});
        p.ops.push_back(
            {.kind = op_kind::start, .duration = {x.reduction}, .operands = {{at + 1, 0}}, .results = {{{0}, {}}}});
        p.ops.push_back({.kind = op_kind::wait, .operands = {{at + 2, 0}}, .results = {{{0}, {{at + 2, 0}}}}});
        reduced.push_back({at + 3, 0});
    }
    p.ops.push_back({.kind = op_kind::output, .operands = reduced});
    return p;
}

bytes peak_of_input(const task_graph& g) { return profile_memory(g, support::program_order(g.size())).peak; }

}  // namespace

TEST_CASE("gradients that find no room beside the next part follow each other") {
    const task_graph g = support::graph_of(loss({{3, 2, 10, 4, 4}, {3, 2, 10, 4, 4}, {3, 2, 10, 4, 4}}));
    workspace w;
    const compact_tasks c = detail::make_compact_tasks(g, w);
    detail::forced_memory forced(c, w);
    CHECK(forced.least_peak() == 8);
    CHECK(forced.least_peak_at() == 1);
    const std::vector<memory_job> jobs = forced.jobs_within(8);
    REQUIRE(jobs.size() == 3);
    for (const memory_job& j : jobs) CHECK(j.work == 2 + 10);
    // The first kernel, and then one part after the other.
    const lower_bound bound = bound_below(g, bytes{8});
    CHECK(bound.value.count == 3 + 3 * 12);
    CHECK(bound.kind == bound_kind::memory);
    CHECK(support::optimal_makespan(g, 8) == 39);
    // With room for one gradient beside a part the reductions follow each other on their channel all the same.
    CHECK(bound_below(g, bytes{12}).value == bound_below(g).value);
    CHECK(bound_below(g, unlimited_bytes).value == bound_below(g).value);
    CHECK(least_peak(g).value.count == 8);
    CHECK(least_peak(g).at == 1);
}

TEST_CASE("what may be computed again is alive, or what was made of it") {
    // While 2 runs, what it reads and makes is there, and besides either 0, which 3 reads, or the smaller result of 3.
    toy_program p;
    p.ops.push_back({.duration = {1}, .results = {{{3}, {}}}});
    p.ops.push_back({.duration = {1}, .operands = {{0, 0}}, .results = {{{5}, {}}}});
    p.ops.push_back({.duration = {1}, .operands = {{1, 0}}, .results = {{{4}, {}}}});
    p.ops.push_back({.duration = {1}, .operands = {{0, 0}}, .results = {{{2}, {}}}});
    p.ops.push_back({.duration = {1}, .operands = {{2, 0}, {3, 0}}});
    const task_graph g = support::graph_of(p);
    CHECK(peak_of_input(g).count == 12);
    CHECK(least_peak(g).value.count == 11);
    CHECK(least_peak(g).at == 2);
    CHECK(support::optimal_makespan(g, 11) == 5);
    CHECK(support::optimal_makespan(g, 10) == INT64_MAX);
}

TEST_CASE("beside the part that runs last, the sum of all others is alive") {
    // Each part makes a value and a gradient of it; gradients are added up, and their sum is reduced.
    toy_program p;
    std::vector<support::toy_value> sum;
    for (std::uint32_t part = 0; part < 3; ++part) {
        const auto at = static_cast<std::uint32_t>(p.ops.size());
        p.ops.push_back({.duration = {1}, .results = {{{9}, {}}}});
        p.ops.push_back({.duration = {1}, .operands = {{at, 0}}, .results = {{{4}, {}}}});
        if (!sum.empty()) {
            p.ops.push_back({.duration = {1}, .operands = {sum[0], {at + 1, 0}}, .results = {{{4}, {}}}});
            sum = {{at + 2, 0}};
        } else {
            sum = {{at + 1, 0}};
        }
    }
    p.ops.push_back({.kind = op_kind::output, .operands = sum});
    const task_graph g = support::graph_of(p);
    workspace w;
    const compact_tasks c = detail::make_compact_tasks(g, w);
    CHECK(detail::memory_bounds(c, w).least_peak_at_one().value.count == 9 + 4);
    CHECK(least_peak(g).value.count == 9 + 4 + 4);
    CHECK(peak_of_input(g).count == 9 + 4 + 4);
    CHECK(support::optimal_makespan(g, 9 + 4 + 4 - 1) == INT64_MAX);
}

TEST_CASE("on small graphs: no order is within less than the least peak, or faster than the bound within a limit") {
    std::size_t sharper = 0, infeasible = 0, of_sets = 0;
    stretto_check("random steps", 8000, [&] {
        const support::scheduling_case problem = *support::scheduling_cases(8);
        toy_program p = problem.program();
        if (p.ops.size() > 8) p.ops.resize(8);
        const task_graph g = support::graph_of(p);
        const std::int64_t least = least_peak(g).value.count;
        RC_ASSERT(least <= peak_of_input(g).count);
        if (least > 0) RC_ASSERT(support::optimal_makespan(g, least - 1) == INT64_MAX);
        infeasible += least > 0;
        workspace w;
        const compact_tasks c = detail::make_compact_tasks(g, w);
        of_sets += least > detail::memory_bounds(c, w).least_peak_at_one().value.count;
        for (const std::int64_t limit : {least, peak_of_input(g).count, problem.limit(peak_of_input(g)).count}) {
            const lower_bound bound = bound_below(g, bytes{limit});
            RC_ASSERT(bound.value.count <= support::optimal_makespan(g, limit));
            RC_ASSERT(bound.value >= bound_below(g).value);
        }
    });
    stretto_check("parts of a loss", 4000, [&](const std::vector<std::uint8_t>& numbers) {
        const auto pick = [&](std::size_t k, int most) {
            return numbers.empty() ? 1 : numbers[k % numbers.size()] * (static_cast<int>(k) + 3) % most;
        };
        std::vector<part> parts;
        for (std::size_t k = 0; k < 2; ++k)
            parts.push_back(
                {pick(5 * k, 4), pick(5 * k + 1, 4), pick(5 * k + 2, 9), pick(5 * k + 3, 5), 1 + pick(5 * k + 4, 5)});
        const task_graph g = support::graph_of(loss(parts));
        const std::int64_t peak = peak_of_input(g).count;
        for (std::int64_t limit = peak; limit < peak + 4; ++limit) {
            const lower_bound bound = bound_below(g, bytes{limit});
            RC_ASSERT(bound.value.count <= support::optimal_makespan(g, limit));
            sharper += bound.kind == bound_kind::memory;
        }
    });
    if (support::runs_all_cases()) CHECK((sharper > 0 && infeasible > 0 && of_sets > 0));
}
