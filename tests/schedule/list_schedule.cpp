#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <climits>
#include <limits>
#include <vector>

#include "stretto/schedule/bounds.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "stretto/schedule/verify.hpp"
#include "support/prop.hpp"

using namespace stretto;
using support::toy_op;
using support::toy_program;

namespace {

/// Everything a schedule promises, checked against the oracles.
void check_promises(const support::scheduling_case& problem) {
    const toy_program p = problem.program();
    const task_graph g = support::graph_of(p);
    const support::storage_facts facts = support::facts_of(p);
    const support::naive_figures input = support::figures_of(p, facts, support::program_order(p.ops.size()));
    const bytes limit = problem.limit({input.peak});

    const auto made = list_schedule(g, {.memory_limit = limit});
    RC_ASSERT(made.has_value());
    const schedule& s = *made;

    const std::string reason = support::illegality(p, facts, s.order());
    if (!reason.empty()) RC_FAIL(reason);
    const auto verified = verify_order(g, s.order(), limit);
    RC_ASSERT(verified.has_value());

    const support::naive_figures found = support::figures_of(p, facts, s.order());
    RC_ASSERT(found.makespan == s.makespan().count);
    RC_ASSERT(found.exposed == s.times().exposed.count);
    RC_ASSERT(found.compute == s.times().compute.count);
    RC_ASSERT(found.peak == s.memory().peak.count);
    RC_ASSERT(found.peak <= limit.count);
    RC_ASSERT(found.makespan <= input.makespan);
    RC_ASSERT(s.bound().value <= s.makespan());
    RC_ASSERT(s.gap() >= 0);

    nanoseconds exposed;
    for (const collective_exposure& e : s.exposures()) exposed += e.exposed;
    RC_ASSERT(exposed == s.times().exposed);
}

/// Dispatch, expert and combine of one chunk; `combine_group` 0 shares the network with the dispatch.
toy_program chunked_experts(int n, std::int64_t d, std::int64_t e, std::int64_t c, group_id combine_group) {
    toy_program p;
    p.groups = combine_group + 1;
    std::vector<support::toy_value> results;
    for (int k = 0; k < n; ++k) {
        const auto at = static_cast<std::uint32_t>(p.ops.size());
        p.ops.push_back({.kind = op_kind::start, .duration = {d}, .results = {{{1}, {}}}});
        p.ops.push_back({.kind = op_kind::wait, .operands = {{at, 0}}, .results = {{{0}, {{at, 0}}}}});
        p.ops.push_back({.duration = {e}, .operands = {{at + 1, 0}}, .results = {{{1}, {}}}});
        p.ops.push_back({.kind = op_kind::start,
                         .group = combine_group,
                         .duration = {c},
                         .operands = {{at + 2, 0}},
                         .results = {{{1}, {}}}});
        p.ops.push_back({.kind = op_kind::wait, .operands = {{at + 3, 0}}, .results = {{{0}, {{at + 3, 0}}}}});
        results.push_back({at + 4, 0});
    }
    p.ops.push_back({.kind = op_kind::output, .operands = results});
    return p;
}

}  // namespace

TEST_CASE("a collective moves in front of the kernel that can hide it") {
    // 0 kernel, 1 start, 2 wait, 3 kernel that reads 2, 4 output
    toy_program p;
    p.ops.push_back({.duration = {70}, .results = {{{8}, {}}}});
    p.ops.push_back({.kind = op_kind::start, .duration = {50}, .results = {{{8}, {}}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{1, 0}}, .results = {{{0}, {{1, 0}}}}});
    p.ops.push_back({.duration = {10}, .operands = {{2, 0}, {0, 0}}, .results = {{{8}, {}}}});
    p.ops.push_back({.kind = op_kind::output, .operands = {{3, 0}}});
    const auto s = list_schedule(support::graph_of(p));
    REQUIRE(s.has_value());
    CHECK(s->order() == std::vector<task_id>{1, 0, 2, 3, 4});
    CHECK(s->makespan().count == 80);
    CHECK(s->bound().value.count == 80);
    CHECK(s->gap() == 0);
    REQUIRE(s->exposures().size() == 1);
    CHECK(s->exposures()[0].reason == exposure_reason::hidden);
}

TEST_CASE("any gap may be good enough") {
    toy_program p;
    p.ops.push_back({.kind = op_kind::compute, .duration = {1'000'000'000}});
    for (const double share : {0.0, 1e9, 1e30, std::numeric_limits<double>::infinity()})
        CHECK(list_schedule(support::graph_of(p), {.good_enough = share})->makespan().count == 1'000'000'000);
    CHECK_THROWS((void)list_schedule(support::graph_of(p), {.good_enough = std::numeric_limits<double>::quiet_NaN()}));
}

TEST_CASE("a contention that makes times longer than 2^62 is a mistake of the caller") {
    toy_program p;
    for (int k = 0; k < 2; ++k) p.ops.push_back({.duration = {std::int64_t{1} << 60}});
    const task_graph g = support::graph_of(p);
    CHECK(list_schedule(g, {.under = {2, 1}}).has_value());
    CHECK_THROWS((void)list_schedule(g, {.under = {5, 2}}));
    CHECK_THROWS((void)schedule_front(g, {.under = {5, 2}}));
}

TEST_CASE("an empty step, and steps without collectives or without kernels") {
    const auto nothing = list_schedule(task_graph(support::graph_of(toy_program{})));
    REQUIRE(nothing.has_value());
    CHECK(nothing->order().empty());
    CHECK(nothing->makespan().count == 0);
    CHECK(nothing->gap() == 0);
    toy_program inputs;
    inputs.ops.push_back({.kind = op_kind::input, .results = {{{8}, {}}}});
    inputs.ops.push_back({.kind = op_kind::output, .operands = {{0, 0}}});
    const auto idle = list_schedule(support::graph_of(inputs), {.memory_limit = bytes{0}});
    REQUIRE(idle.has_value());
    CHECK(idle->order() == std::vector<task_id>{0, 1});
}

TEST_CASE("a limit below the peak of the input order is refused, with the place of the peak") {
    toy_program p;
    p.ops.push_back({.duration = {5}, .results = {{{100}, {}}}});
    p.ops.push_back({.duration = {5}, .operands = {{0, 0}}, .results = {{{50}, {}}}});
    p.ops.push_back({.duration = {5}, .operands = {{1, 0}}, .results = {{{10}, {}}}});
    const task_graph g = support::graph_of(p);
    const auto refused = list_schedule(g, {.memory_limit = bytes{149}});
    REQUIRE(!refused.has_value());
    CHECK(refused.error().limit.count == 149);
    CHECK(refused.error().input_peak.count == 150);
    CHECK(refused.error().at == 1);
    const auto exact = list_schedule(g, {.memory_limit = bytes{150}});
    REQUIRE(exact.has_value());
    CHECK(exact->memory().peak.count == 150);
    CHECK(exact->memory_limit().count == 150);
}

TEST_CASE("a limit below what every order needs is infeasible, and the refusal says what that is") {
    toy_program p;
    p.ops.push_back({.duration = {5}, .results = {{{100}, {}}}});
    p.ops.push_back({.duration = {5}, .operands = {{0, 0}}, .results = {{{50}, {}}}});
    p.ops.push_back({.duration = {5}, .operands = {{1, 0}}});
    p.ops.push_back({.duration = {5}, .results = {{{160}, {}}}});
    p.ops.push_back({.kind = op_kind::output, .operands = {{3, 0}}});
    const task_graph g = support::graph_of(p);
    const auto refused = list_schedule(g, {.memory_limit = bytes{149}});
    REQUIRE(!refused.has_value());
    CHECK(refused.error().infeasible());
    CHECK(refused.error().needed.value.count == 160);
    CHECK(refused.error().needed.at == 3);
    CHECK(!limit_too_low{{160}, {170}, 3, {{160}, 3}}.infeasible());
}

TEST_CASE("memory that only the input order leaves is not exceeded: early launches wait for room") {
    // Four gathers of 100 bytes, each used by one kernel. At 1.00x no two may be alive together.
    toy_program p;
    for (std::uint32_t k = 0; k < 4; ++k) {
        const std::uint32_t at = 3 * k;
        p.ops.push_back({.kind = op_kind::start, .duration = {40}, .results = {{{100}, {}}}});
        p.ops.push_back({.kind = op_kind::wait, .operands = {{at, 0}}, .results = {{{0}, {{at, 0}}}}});
        p.ops.push_back({.duration = {40}, .operands = {{at + 1, 0}}});
    }
    const task_graph g = support::graph_of(p);
    const auto tight = list_schedule(g, {.memory_limit = bytes{100}});
    REQUIRE(tight.has_value());
    CHECK(tight->makespan().count == 4 * 80);
    CHECK(tight->memory().peak.count == 100);
    // What the input order needs is also the limit if none is given.
    const auto standard = list_schedule(g);
    REQUIRE(standard.has_value());
    CHECK(standard->order() == tight->order());
    CHECK(standard->memory_limit().count == 100);
    const auto two = list_schedule(g, {.memory_limit = memory_budget::times_input_peak(2)});
    REQUIRE(two.has_value());
    CHECK(two->makespan().count == 5 * 40);
    CHECK(two->memory().peak.count == 200);
    CHECK(two->gap() == 0);
}

TEST_CASE("a wait and a view that allocate respect the limit, too") {
    // The wait's 100 bytes fit only once the big kernel result is gone; the input order says so.
    toy_program p;
    p.ops.push_back({.duration = {10}, .results = {{{100}, {}}}});
    p.ops.push_back({.duration = {10}, .operands = {{0, 0}}});
    p.ops.push_back({.kind = op_kind::start, .duration = {1}});
    p.ops[2].results = {{{1}, {}}};
    p.ops.push_back({.kind = op_kind::wait, .operands = {{2, 0}}, .results = {{{100}, {{2, 0}}}}});
    p.ops.push_back({.kind = op_kind::view, .operands = {{3, 0}}, .results = {{{5}, {{3, 0}}}}});
    p.ops.push_back({.duration = {10}, .operands = {{4, 0}}});
    const task_graph g = support::graph_of(p);
    const bytes peak = profile_memory(g, support::program_order(g.size())).peak;
    const auto s = list_schedule(g, {.memory_limit = peak});
    REQUIRE(s.has_value());
    CHECK(verify_order(g, s->order(), peak).has_value());
    CHECK(s->makespan().count == 30);
}

TEST_CASE("10^5 random steps at limits from 1.00x up: legal, within the limit, exact, no worse, above the bound") {
    stretto_check("small steps", 100000, [] { check_promises(*support::scheduling_cases(40)); });
    stretto_check("larger steps", 1500, [] { check_promises(*support::scheduling_cases(150)); });
}

// STRETTO_CASES=50 makes these 10^6 schedules.
TEST_CASE("at exactly the peak of the input order no schedule needs a byte more") {
    std::size_t binding = 0;
    stretto_check("1.00x", 20000, [&] {
        const toy_program p = (*support::scheduling_cases(60)).program();
        const task_graph g = support::graph_of(p);
        const support::storage_facts facts = support::facts_of(p);
        const support::naive_figures input = support::figures_of(p, facts, support::program_order(p.ops.size()));
        const auto made = list_schedule(g);
        RC_ASSERT(made.has_value());
        RC_ASSERT(support::figures_of(p, facts, made->order()).peak <= input.peak);
        RC_ASSERT(verify_order(g, made->order(), bytes{input.peak}).has_value());
        const auto free = list_schedule(g, {.memory_limit = unlimited_bytes});
        binding += free->makespan() < made->makespan();
        // Where there is no limit, it is no reason for anything.
        for (const collective_exposure& e : free->exposures()) RC_ASSERT(e.reason != exposure_reason::memory);
    });
    MESSAGE("memory made " << binding << " of the steps slower");
    if (support::runs_all_cases()) CHECK(binding > 0);
}

TEST_CASE("the brief search of large steps: legal, within the limit, no worse than the input") {
    stretto_check("as if these were large", 4000, [] {
        const support::scheduling_case problem = *support::scheduling_cases(60);
        const toy_program p = problem.program();
        const support::storage_facts facts = support::facts_of(p);
        const support::naive_figures input = support::figures_of(p, facts, support::program_order(p.ops.size()));
        detail::workspace w;
        const detail::compact_tasks c = detail::make_compact_tasks(support::graph_of(p), w);
        for (const bytes limit : {bytes{input.peak}, problem.limit({input.peak}), unlimited_bytes}) {
            const auto front =
                detail::order_search(c, {input.makespan}, {input.peak}, {input.peak}, w).run(limit, 0, 1, 0);
            const detail::pass_result& found = front.back().pass;
            RC_ASSERT(found.makespan <= input.makespan);
            if (found.nodes.empty()) continue;
            const support::task_order order = detail::expand(c, found.nodes);
            const std::string reason = support::illegality(p, facts, order);
            if (!reason.empty()) RC_FAIL(reason);
            const support::naive_figures figures = support::figures_of(p, facts, order);
            RC_ASSERT(figures.makespan == found.makespan);
            RC_ASSERT(figures.peak <= limit.count);
        }
    });
}

TEST_CASE("what ids groups have does not matter, only their order") {
    stretto_check("renumbered groups", 1000, [](bool contended) {
        const support::scheduling_case problem = *support::scheduling_cases(40);
        const toy_program p = problem.program();
        const task_graph g = support::graph_of(p);
        toy_program apart = p;
        apart.groups = group_limit;
        const group_id last = std::max(1u, p.groups) - 1;
        for (toy_op& op : apart.ops) op.group = group_limit - 1 - 999 * (last - op.group);
        schedule_options options{.memory_limit =
                                     problem.limit(profile_memory(g, support::program_order(g.size())).peak)};
        if (contended) options.under = {3, 2};
        const auto one = list_schedule(g, options), other = list_schedule(support::graph_of(apart), options);
        RC_ASSERT(one.has_value() && other.has_value());
        RC_ASSERT(one->order() == other->order());
        RC_ASSERT(one->makespan() == other->makespan());
        const lower_bound a = one->bound(), b = other->bound();
        RC_ASSERT(a.value == b.value);
        RC_ASSERT(a.kind == b.kind);
        RC_ASSERT(b.machine == (a.machine == 0 ? 0 : group_limit - 999 * (last + 1 - a.machine)));
    });
}

TEST_CASE("the front of schedules: each what list_schedule finds within its peak, or better") {
    stretto_check("front", 1500, [](std::uint8_t effort) {
        const support::scheduling_case problem = *support::scheduling_cases(40);
        const toy_program p = problem.program();
        const task_graph g = support::graph_of(p);
        const bytes peak = profile_memory(g, support::program_order(g.size())).peak;
        const schedule_options options{.memory_limit = problem.limit(peak), .effort = 1 + effort % 3u};
        const auto front = schedule_front(g, options);
        RC_ASSERT(front.has_value());
        RC_ASSERT(!front->empty());
        const auto best = list_schedule(g, options);
        RC_ASSERT(best->order() == front->back().order());
        for (std::size_t k = 0; k < front->size(); ++k) {
            const schedule& s = (*front)[k];
            RC_ASSERT(verify_order(g, s.order(), s.memory_limit()).has_value());
            RC_ASSERT(s.memory().peak == s.memory_limit());
            if (k > 0) RC_ASSERT((*front)[k - 1].memory().peak < s.memory().peak);
            if (k > 0) RC_ASSERT((*front)[k - 1].makespan() > s.makespan());
            schedule_options within = options;
            within.memory_limit = s.memory_limit();
            const auto alone = list_schedule(g, within);
            if (s.memory_limit() >= peak) RC_ASSERT(s.makespan() <= alone->makespan());
        }
    });
}

TEST_CASE("more effort never gives a longer makespan") {
    int shorter = 0;
    stretto_check("efforts", 3000, [&](bool contended) {
        const support::scheduling_case problem = *support::scheduling_cases(60);
        const task_graph g = support::graph_of(problem.program());
        const bytes peak = profile_memory(g, support::program_order(g.size())).peak;
        schedule_options options{.memory_limit = problem.limit(peak)};
        if (contended) options.under = {3, 2};
        nanoseconds least{INT64_MAX};
        for (options.effort = 1; options.effort <= 6; ++options.effort) {
            const nanoseconds makespan = list_schedule(g, options)->makespan();
            RC_ASSERT(makespan <= least);
            shorter += options.effort > 1 && makespan < least;
            least = makespan;
        }
        options.effort = UINT_MAX;
        RC_ASSERT(list_schedule(g, options)->makespan() == least);
    });
    if (support::runs_all_cases()) CHECK(shorter > 0);
}

TEST_CASE(
    "under contention: legal, exact by that clock, never above the input order, and faster than the plain order") {
    int faster = 0;
    stretto_check("schedules under contention", 20000, [&] {
        const support::scheduling_case problem = *support::scheduling_cases(40);
        const toy_program p = problem.program();
        const task_graph g = support::graph_of(p);
        const support::storage_facts facts = support::facts_of(p);
        const auto given = support::program_order(p.ops.size());
        const bytes limit = problem.limit({support::figures_of(p, facts, given).peak});
        const contention factors[] = {{5, 4}, {3, 2}, {3, 1}};
        const contention c = factors[*rc::gen::inRange<std::size_t>(0, 3)];
        const auto made = list_schedule(g, {.memory_limit = limit, .under = c});
        RC_ASSERT(made.has_value());
        RC_ASSERT(verify_order(g, made->order(), limit).has_value());
        RC_ASSERT(made->under() == c);
        RC_ASSERT(made->times().makespan == simulate(g, made->order(), c).makespan);
        RC_ASSERT(made->makespan() <= simulate(g, given, c).makespan);
        RC_ASSERT(made->bound().value <= made->makespan());
        nanoseconds exposed;
        for (const collective_exposure& e : made->exposures()) exposed += e.exposed;
        RC_ASSERT(exposed == made->times().exposed);

        const auto plain = list_schedule(g, {.memory_limit = limit});
        if (made->makespan() < simulate(g, plain->order(), c).makespan) ++faster;
        if (limit != unlimited_bytes) {
            const auto more = list_schedule(g, {.memory_limit = bytes{limit.count + limit.count / 8}, .under = c});
            RC_ASSERT(more->makespan() <= made->makespan());
        }
        const auto again = certify(g, made->order(), limit, c);
        RC_ASSERT(again.has_value());
        RC_ASSERT(again->makespan() == made->makespan());
        RC_ASSERT(again->bound().value <= made->makespan());
    });
    if (support::runs_all_cases()) CHECK(faster > 200);
}

TEST_CASE("on graphs of up to 8 tasks: bound <= optimum <= schedule, within the limit and without one") {
    stretto_check("against brute force", 20000, [] {
        const support::scheduling_case problem = *support::scheduling_cases(8);
        toy_program p = problem.program();
        if (p.ops.size() > 8) p.ops.resize(8);
        const task_graph g = support::graph_of(p);
        const bytes peak = profile_memory(g, support::program_order(g.size())).peak;
        const bytes limit = problem.limit(peak);
        const auto s = list_schedule(g, {.memory_limit = limit, .good_enough = 0});
        RC_ASSERT(s.has_value());
        const std::int64_t best = support::optimal_makespan(g);
        const std::int64_t best_within = support::optimal_makespan(g, limit.count);
        RC_ASSERT(bound_below(g).value.count <= best);
        RC_ASSERT(best <= best_within);
        RC_ASSERT(s->bound().value.count <= best_within);
        RC_ASSERT(best_within <= s->makespan().count);
    });
}

TEST_CASE("n identical chunks of dispatch, expert, combine: never below the closed form of the optimum") {
    const schedule_options no_limit{.memory_limit = unlimited_bytes};
    std::uint32_t k = 0;
    // Not asserted, as a change of policy may lose it: all 2 x 2,592 schedules reach the optimum and prove it.
    for (int n = 1; n <= 6; ++n)
        for (std::int64_t d = 1; d <= 6; ++d)
            for (std::int64_t e = 1; e <= 12; ++e)
                for (std::int64_t c = 1; c <= 6; ++c) {
                    if (!support::runs_case(k++)) continue;
                    CAPTURE(n);
                    CAPTURE(d);
                    CAPTURE(e);
                    CAPTURE(c);
                    const auto shared = list_schedule(support::graph_of(chunked_experts(n, d, e, c, 0)), no_limit);
                    REQUIRE(shared.has_value());
                    const std::int64_t half_duplex =
                        std::max({n * (d + c), d + n * e + c, n * d + e + c, d + e + n * c});
                    REQUIRE(shared->bound().value.count <= half_duplex);
                    REQUIRE(half_duplex <= shared->makespan().count);

                    const auto separate = list_schedule(support::graph_of(chunked_experts(n, d, e, c, 1)), no_limit);
                    REQUIRE(separate.has_value());
                    const std::int64_t full_duplex = d + e + c + (n - 1) * std::max({d, e, c});
                    REQUIRE(separate->bound().value.count <= full_duplex);
                    REQUIRE(full_duplex <= separate->makespan().count);
                }
}

TEST_CASE("the same graph gives the same schedule") {
    stretto_check("twice", 300, [] {
        const support::scheduling_case problem = *support::scheduling_cases(60);
        const task_graph g = support::graph_of(problem.program());
        const task_graph copy = g;
        const bytes limit = problem.limit(profile_memory(g, support::program_order(g.size())).peak);
        const auto a = list_schedule(g, {.memory_limit = limit}), b = list_schedule(copy, {.memory_limit = limit});
        RC_ASSERT(a->order() == b->order());
        RC_ASSERT(a->bound().value == b->bound().value);
        RC_ASSERT(a->bound().kind == b->bound().kind);
    });
}
