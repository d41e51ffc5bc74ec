#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "stretto/schedule/limit_trial.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "stretto/schedule/verify.hpp"
#include "support/prop.hpp"

using namespace stretto;

TEST_CASE("a trial under a contention that makes times longer than 2^62 is a mistake of the caller") {
    support::toy_program p;
    for (int k = 0; k < 2; ++k) p.ops.push_back({.duration = {std::int64_t{1} << 60}});
    const task_graph g = support::graph_of(p);
    CHECK(limit_trial(g, {2, 1}).bound().value.count == std::int64_t{1} << 61);
    CHECK_THROWS((void)limit_trial(g, {5, 2}));
}

namespace {

/// Ascending shares of a peak: all below it, or none.
std::vector<bytes> some_limits(bytes peak, bool below) {
    const std::vector<int> percent =
        below ? std::vector{40, 65, 80, 90, 97} : std::vector{100, 103, 110, 140, 200, 900};
    std::vector<bytes> limits;
    for (int p : percent)
        if (*rc::gen::arbitrary<bool>() || p == percent.back()) {
            const bytes limit{peak.count * p / 100};
            if (limits.empty() || limits.back() < limit) limits.push_back(limit);
        }
    if (!below && *rc::gen::arbitrary<bool>()) limits.push_back(unlimited_bytes);
    return limits;
}

/// What a trial has told.
struct told {
    std::vector<std::optional<nanoseconds>> makespans;
    std::vector<std::vector<task_id>> orders;
    std::vector<nanoseconds> ignoring_memory;  // as far as it is known then
    std::vector<trial_progress> asked;
};

/// Tries a graph and says no when it is asked for the given time.
told tried(const task_graph& g, const std::vector<bytes>& limits, schedule_options options, bytes unit,
           std::size_t patience = SIZE_MAX) {
    told t;
    options.memory_limit = memory_budget::of_variant(limits.back(), unit);
    limit_trial trial(g, options.under);
    trial.run(
        limits, options,
        [&](const trial_progress& now) {
            t.asked.push_back(now);
            return t.asked.size() <= patience;
        },
        [&](std::size_t level, std::optional<nanoseconds> makespan, const auto& order) {
            RC_ASSERT(level == t.makespans.size());
            t.makespans.push_back(makespan);
            t.orders.push_back(order().tasks);
            nanoseconds fastest{INT64_MAX};
            for (const trial_progress& now : t.asked)
                if (now.stage != search_stage::two_orders) fastest = std::min(fastest, now.ignoring_memory);
            t.ignoring_memory.push_back(fastest);
        });
    return t;
}

}  // namespace

TEST_CASE("within every limit a trial finds what list_schedule finds") {
    stretto_check("levels", 3000, [](bool below, std::uint8_t effort, std::uint8_t stretched) {
        const support::scheduling_case problem = *support::scheduling_cases(40);
        const task_graph g = support::graph_of(problem.program());
        const bytes peak = peak_of_input(g);
        const bytes unit{peak.count * *rc::gen::element(100, 80, 130) / 100};
        const std::vector<bytes> limits = some_limits(unit, below);
        schedule_options options{.effort = 1 + effort % 3u};
        if (stretched % 8 == 0) options.under = {3, 2};
        const told t = tried(g, limits, options, unit);
        RC_ASSERT(t.makespans.size() == limits.size());
        for (std::size_t k = 0; k < limits.size(); ++k) {
            schedule_options alone = options;
            alone.memory_limit = memory_budget::of_variant(limits[k], unit);
            const auto made = list_schedule(g, alone);
            RC_ASSERT(made.has_value() == t.makespans[k].has_value());
            if (!made) {
                RC_ASSERT(t.orders[k].empty());
                continue;
            }
            RC_ASSERT(made->makespan() == *t.makespans[k]);
            RC_ASSERT(verify_order(g, t.orders[k], limits[k]).has_value());
            RC_ASSERT(simulate(g, t.orders[k], options.under).makespan == *t.makespans[k]);
            if (k > 0 && t.makespans[k - 1]) RC_ASSERT(*t.makespans[k] <= *t.makespans[k - 1]);
        }
        options.memory_limit = memory_budget::of_variant(limits.back(), unit);
        const schedule_by_limits all = list_schedule_by_limits(g, options, limits);
        RC_ASSERT(all.figures.size() == limits.size());
        for (std::size_t k = 0; k < limits.size(); ++k) {
            RC_ASSERT(all.figures[k].makespan == t.makespans[k].value_or(nanoseconds{INT64_MAX}));
            if (t.makespans[k]) RC_ASSERT(all.figures[k].ignoring_memory == t.ignoring_memory[k]);
        }
        RC_ASSERT(all.scheduled.has_value() == t.makespans.back().has_value());
        if (all.scheduled) RC_ASSERT(all.scheduled->order() == list_schedule(g, options)->order());
    });
}

TEST_CASE("what a trial tells and asks does not depend on larger limits, and it ends when it is told to") {
    int ended = 0;
    stretto_check("prefixes", 3000, [&](bool below) {
        const support::scheduling_case problem = *support::scheduling_cases(60);
        const task_graph g = support::graph_of(problem.program());
        const bytes peak = peak_of_input(g);
        const std::vector<bytes> limits = some_limits(peak, below);
        const auto patience = *rc::gen::element<std::size_t>(0, 1, 2, 3, 5, 100);
        const told all = tried(g, limits, {}, peak, patience);
        if (all.asked.size() > patience) ++ended;
        else RC_ASSERT(all.makespans.size() == limits.size());
        const std::size_t some = *rc::gen::inRange<std::size_t>(1, limits.size() + 1);
        const told fewer =
            tried(g, {limits.begin(), limits.begin() + static_cast<std::ptrdiff_t>(some)}, {}, peak, patience);
        for (std::size_t k = 0; k < some && k < all.makespans.size(); ++k) {
            RC_ASSERT(k < fewer.makespans.size());
            RC_ASSERT(fewer.makespans[k] == all.makespans[k]);
            RC_ASSERT(fewer.orders[k] == all.orders[k]);
        }
        RC_ASSERT(fewer.asked.size() <= all.asked.size());
        for (std::size_t k = 0; k < fewer.asked.size(); ++k) {
            RC_ASSERT(fewer.asked[k].level == all.asked[k].level);
            RC_ASSERT(fewer.asked[k].stage == all.asked[k].stage);
            RC_ASSERT(fewer.asked[k].so_far == all.asked[k].so_far);
            RC_ASSERT(fewer.asked[k].ignoring_memory == all.asked[k].ignoring_memory);
        }
        for (const trial_progress& now : all.asked) {
            RC_ASSERT(now.so_far >= limit_trial(g).bound().value);
            RC_ASSERT(now.ignoring_memory >= limit_trial(g).bound().value);
        }
    });
    if (support::runs_all_cases()) CHECK(ended > 100);
}

TEST_CASE("under contention each of three searches asks, and any of them may end the trial") {
    int asked_later = 0, compared = 0, ended = 0;
    stretto_check("three searches", 1500, [&] {
        const support::scheduling_case problem = *support::scheduling_cases(40);
        const task_graph g = support::graph_of(problem.program());
        const bytes peak = peak_of_input(g);
        const std::vector<bytes> limits{peak};
        const schedule_options options{.under = {3, 2}};
        const told all = tried(g, limits, options, peak);
        std::uint8_t last = 0;
        std::optional<nanoseconds> known;  // the least time so far within the limit
        for (const trial_progress& now : all.asked) {
            RC_ASSERT(now.search >= last);
            RC_ASSERT(now.search < 3);
            asked_later += now.search > 0;
            last = now.search;
            RC_ASSERT(now.so_far >= limit_trial(g, options.under).bound().value);
            if (now.stage == search_stage::two_orders) continue;
            if (known) RC_ASSERT(now.so_far <= *known);  // what an earlier search has found counts
            compared += known && now.search > 0 && now.stage == search_stage::begins;
            known = now.so_far;
        }
        if (all.asked.empty()) return;
        const auto patience = *rc::gen::inRange<std::size_t>(0, all.asked.size());
        const told some = tried(g, limits, options, peak, patience);
        RC_ASSERT(some.asked.size() == patience + 1);
        RC_ASSERT(some.makespans.empty());
        ++ended;
    });
    if (!support::runs_all_cases()) return;
    CHECK(asked_later > 300);
    CHECK(compared > 50);
    CHECK(ended > 300);
}

TEST_CASE("a trial knows the bound and the peak before it runs") {
    stretto_check("before", 500, [] {
        const support::scheduling_case problem = *support::scheduling_cases(30);
        const task_graph g = support::graph_of(problem.program());
        const limit_trial trial(g);
        RC_ASSERT(trial.bound().value == bound_below(g).value);
        RC_ASSERT(trial.bound().kind == bound_below(g).kind);
        const memory_profile memory = profile_memory(g, support::program_order(g.size()));
        RC_ASSERT(trial.input_peak() == memory.peak);
        RC_ASSERT(trial.input_peak_at() == memory.peak_at);
    });
}

TEST_CASE("the leanest order is one of the step, and needs no more than the input order, or than is enough") {
    std::size_t leaner = 0, enough = 0;
    stretto_check("random graphs", 1000, [&] {
        const support::scheduling_case problem = *support::scheduling_cases(60);
        const task_graph g = support::graph_of(problem.program());
        limit_trial trial(g);
        const bytes peak = trial.input_peak();
        const auto known = trial.leanest(bytes{});
        const auto figures = verify_order(g, known, peak);
        RC_ASSERT(figures.has_value());
        const bytes least = profile_memory(g, known).peak;
        RC_ASSERT(least >= least_peak(g).value);
        leaner += least < peak;
        // An order that need not be that lean takes fewer cuts, and is the same as far as these go.
        const bytes between{(least.count + peak.count) / 2};
        const bytes reached = profile_memory(g, trial.leanest(between)).peak;
        RC_ASSERT(reached <= between);
        enough += reached > least;
        RC_ASSERT(trial.leanest(bytes{}) == known);
    });
    if (!support::runs_all_cases()) return;
    CHECK(leaner > 100);
    CHECK(enough > 20);
}
