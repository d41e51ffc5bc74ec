#include "stretto/schedule/compiled.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "stretto/schedule/plan_overlap.hpp"
#include "support/soa_ir.hpp"

using namespace stretto;

TEST_CASE("a plan is made by the library that was compiled once") {
    // 0 kernel, 1 start, 2 wait, 3 kernel that reads 2
    support::toy_program p;
    p.ops.push_back({.duration = {70}, .results = {{{8}, {}}}});
    p.ops.push_back({.kind = op_kind::start, .duration = {50}, .results = {{{8}, {}}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{1, 0}}, .results = {{{0}, {{1, 0}}}}});
    p.ops.push_back({.duration = {10}, .operands = {{2, 0}}, .results = {{{8}, {}}}});
    support::soa_ir ir(p);
    const auto plan = plan_overlap(ir.view(), ir.model());
    REQUIRE(plan.has_value());
    CHECK(plan->certificate.order() == std::vector<task_id>{1, 0, 2, 3});
    const auto certified = certify(plan->tasks, plan->certificate.order(), plan->certificate.memory_limit());
    REQUIRE(certified.has_value());
    CHECK(certified->bound().value == bound_below(plan->tasks).value);
    CHECK(simulate(plan->tasks, certified->order()).begin == certified->times().begin);
    CHECK(profile_memory(plan->tasks, certified->order()).peak == certified->memory().peak);
    const auto checked = check_order(plan->tasks, certified->order());
    REQUIRE(checked.has_value());
    CHECK(checked->graph() == identity_of(plan->tasks));
    CHECK(checked->fingerprint() == fingerprint_of(plan->tasks, certified->order()));
    CHECK(simulate(plan->tasks, certified->order(), contention{3, 2}).makespan >= plan->certificate.makespan());
    const bytes limits[] = {unlimited_bytes};
    const schedule_by_limits by_limits = list_schedule_by_limits(plan->tasks, {}, limits);
    REQUIRE(by_limits.scheduled.has_value());
    CHECK(by_limits.figures[0].makespan == plan->certificate.makespan());
    CHECK(limit_trial(plan->tasks).bound().value == bound_below(plan->tasks).value);
    CHECK(check_deadlock({}, {}).has_value());
}
