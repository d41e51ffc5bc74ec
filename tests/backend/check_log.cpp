#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include "stretto/backend/check_log.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "stretto/backend/lane_program.hpp"
#include "stretto/core/process_group.hpp"
#include "stretto/schedule/deadlock.hpp"
#include "support/prop.hpp"
#include "support/reading_model.hpp"

using namespace stretto;
using support::toy_program;
using form = log_entry::form;
using why = log_finding::reason;

namespace {

/// A kernel, a collective over its result on group 0, another on group 1, their waits, and a kernel that reads both.
toy_program two_collectives() {
    toy_program p;
    p.ops.push_back({.results = {{{64}, {}}}});
    p.ops.push_back({.kind = op_kind::start, .group = 0, .operands = {{0, 0}}, .results = {{{64}, {}}}});
    p.ops.push_back({.kind = op_kind::start, .group = 1, .operands = {{0, 0}}, .results = {{{64}, {}}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{1, 0}}, .results = {{{0}, {{1, 0}}}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{2, 0}}, .results = {{{0}, {{2, 0}}}}});
    p.ops.push_back({.operands = {{3, 0}, {4, 0}}, .results = {{{64}, {}}}});
    p.groups = 2;
    return p;
}

lane_program planned(const task_graph& g, support::task_order order) {
    return *plan_lanes(g, *check_order(g, std::move(order)));
}

}  // namespace

TEST_CASE("each fault is found and named") {
    const task_graph g = support::graph_of(two_collectives());
    const lane_program made = planned(g, support::program_order(6));
    const run_log good = log_of(made);
    REQUIRE(check_log(g, made.arena, good).empty());
    const auto first = [&](run_log log) {
        const auto found = check_log(g, made.arena, log);
        REQUIRE(!found.empty());
        return found[0];
    };
    const auto without = [&](form what, std::uint32_t lane, std::uint32_t which) {
        run_log log = good;
        const auto at = std::find(log.begin(), log.end(), log_entry{what, lane, which});
        REQUIRE(at != log.end());
        log.erase(at);
        return log;
    };
    CHECK(first(without(form::launch, 1, 1)).why == why::missing_task);
    CHECK(first(without(form::record, 0, 0)).why == why::unrecorded_event);
    const log_finding race = first(without(form::wait, 1, 0));
    CHECK(race.why == why::race);
    CHECK(race.task == 1);
    CHECK(race.other == 0);
    CHECK(explain(race, [](task_id t) { return "%" + std::to_string(t); }) ==
          "%1 uses bytes that %0 may still use; make it wait");
    run_log twice = good;
    twice.push_back(twice[0]);
    CHECK(first(twice).why == why::launched_twice);
    run_log elsewhere = good;
    for (log_entry& e : elsewhere)
        if (e.what == form::launch && e.which == 2) e.lane = 1;
    CHECK(first(elsewhere).why == why::wrong_lane);
    // A lane that is not told of the wait's collective goes on too early.
    CHECK(first(without(form::wait, 0, made.instructions[1].event)).why == why::unordered);
}

TEST_CASE("a launch before the host has read the number of another task is a fault") {
    const toy_program p = two_collectives();
    const task_graph g = support::graph_of(p, {1, 0, 0, 0, 0, 0});
    const lane_program made = planned(g, support::program_order(6));
    run_log log = log_of(made);
    REQUIRE(check_log(g, made.arena, log).empty());
    const rank_program held = program_of(g, log);
    REQUIRE(held.size() == 7);
    CHECK(held[1].what == rank_action::form::host_wait);
    CHECK(held[1].after == std::vector<std::uint32_t>{0});
    const auto at = std::find(log.begin(), log.end(), log_entry{form::settle, 0, 0});
    REQUIRE(at != log.end());
    log.erase(at);
    const auto found = check_log(g, made.arena, log);
    const auto early = std::find_if(found.begin(), found.end(), [](const auto& f) { return f.why == why::not_held; });
    REQUIRE(early != found.end());
    CHECK(early->task == 1);
    CHECK(early->other == 0);
    CHECK(explain(*early, [](task_id t) { return "%" + std::to_string(t); }) ==
          "%1 is launched before the host has read the number of %0");
}

TEST_CASE("ranks that read numbers in other orders hang, although nobody's data waits for the other's") {
    // On each rank, both collectives could be under way at the same time, were it not for the number between them.
    toy_program q = two_collectives();
    q.ops.insert(q.ops.begin() + 5,
                 {{.kind = op_kind::view, .operands = {{3, 0}}}, {.kind = op_kind::view, .operands = {{4, 0}}}});
    q.ops[7].operands = {{3, 0}, {4, 0}};
    const std::vector<rank_id> ranks = {0, 1};
    const process_group groups[] = {{.size = 2, .id = 0, .ranks = ranks}, {.size = 2, .id = 1, .ranks = ranks}};
    const auto reading = [&](const std::vector<char>& reads) {
        const task_graph g = support::graph_of(q, reads);
        const rank_program programs[] = {program_of(g, log_of(planned(g, {0, 1, 3, 5, 2, 4, 6, 7}))),
                                         program_of(g, log_of(planned(g, {0, 2, 4, 6, 1, 3, 5, 7})))};
        return check_deadlock(programs, groups);
    };
    CHECK(reading({0, 0, 0, 0, 0, 0, 0, 0}));
    const auto hang = reading({0, 0, 0, 0, 0, 1, 1, 0});
    REQUIRE_FALSE(hang);
    CHECK(hang.error().why == deadlock::reason::cycle);
    CHECK(std::any_of(hang.error().chain.begin(), hang.error().chain.end(),
                      [](const blocked_action& b) { return b.why == blocked_action::reason::host; }));
}

TEST_CASE("bytes that are read before they are written, or after they were given away") {
    toy_program p;
    p.ops.push_back({.results = {{{64}, {}}}});
    p.ops.push_back({.operands = {{0, 0}}, .results = {{{64}, {}}}});
    p.ops.push_back({.operands = {{1, 0}}, .results = {{{64}, {}}}});
    p.ops.push_back({.operands = {{0, 0}}});
    const task_graph g = support::graph_of(p);
    arena_plan arena;
    arena.offset = {0, 64, 128};
    const auto reasons = [&](const arena_plan& where, run_log log) {
        std::vector<why> all;
        for (const log_finding& f : check_log(g, where, log)) all.push_back(f.why);
        return all;
    };
    const run_log in_order = {{form::launch, 0, 0}, {form::launch, 0, 1}, {form::launch, 0, 2}, {form::launch, 0, 3}};
    CHECK(reasons(arena, in_order).empty());
    CHECK(reasons(arena, {in_order[1], in_order[0], in_order[2], in_order[3]}) ==
          std::vector{why::before_ready, why::unordered});
    arena.offset = {0, 64, 32};  // %2 takes bytes of %0, which %3 still reads, and of its own operand
    CHECK(reasons(arena, in_order) == std::vector{why::after_free});
}

TEST_CASE("ranks that launch the collectives of a group in different orders are found") {
    toy_program p = two_collectives();
    p.ops[1].collective = collective_kind::all_gather;
    p.ops[2].collective = collective_kind::all_to_all;
    const std::vector<rank_id> ranks = {0, 1};
    const process_group groups[] = {{.size = 2, .id = 0, .ranks = ranks}, {.size = 2, .id = 1, .ranks = ranks}};
    const auto verdict = [&](const task_graph& g) {
        const rank_program programs[] = {program_of(g, log_of(planned(g, {0, 1, 2, 3, 4, 5}))),
                                         program_of(g, log_of(planned(g, {0, 2, 1, 4, 3, 5})))};
        CHECK(programs[0].size() == 6);
        return check_deadlock(programs, groups);
    };
    CHECK(verdict(support::graph_of(p)));  // each group has one collective
    p.ops[2].group = 0;
    const auto crossed = verdict(support::graph_of(p));
    REQUIRE_FALSE(crossed);
    CHECK(crossed.error().why == deadlock::reason::different_calls);
    REQUIRE(crossed.error().chain.size() == 2);
    CHECK(crossed.error().chain[0].rank != crossed.error().chain[1].rank);
}
