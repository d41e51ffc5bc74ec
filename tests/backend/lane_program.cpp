#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include "stretto/backend/lane_program.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "stretto/backend/check_log.hpp"
#include "stretto/backend/recorder.hpp"
#include "support/prop.hpp"
#include "support/reading_model.hpp"

using namespace stretto;
using support::toy_program;

namespace {

lane_program planned(const task_graph& g, support::task_order order) {
    const auto checked = check_order(g, std::move(order));
    if (!checked) throw std::logic_error("the order is illegal");
    return *plan_lanes(g, *checked);
}

}  // namespace

TEST_CASE("a collective waits for its operand, and the lane for the collective, and for nothing else") {
    toy_program p;
    p.ops.push_back({.kind = op_kind::input, .results = {{{64}, {}}}});
    p.ops.push_back({.operands = {{0, 0}}, .results = {{{64}, {}}}});
    p.ops.push_back({.kind = op_kind::start, .operands = {{1, 0}}, .results = {{{64}, {}}}});
    p.ops.push_back({.operands = {{1, 0}}, .results = {{{64}, {}}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{2, 0}}, .results = {{{0}, {{2, 0}}}}});
    p.ops.push_back({.operands = {{3, 0}, {4, 0}}, .results = {{{64}, {}}}});
    p.ops.push_back({.kind = op_kind::output, .operands = {{5, 0}}});
    const task_graph g = support::graph_of(p);
    const lane_program made = planned(g, support::program_order(7));
    CHECK(made.groups == std::vector<group_id>{0});
    using form = log_entry::form;
    CHECK(log_of(made) == run_log{{form::launch, 0, 1},
                                  {form::record, 0, 0},
                                  {form::wait, 1, 0},
                                  {form::launch, 1, 2},
                                  {form::record, 1, 1},
                                  {form::launch, 0, 3},
                                  {form::wait, 0, 1},
                                  {form::launch, 0, 4},
                                  {form::launch, 0, 5}});
}

TEST_CASE("where the host reads a number it waits for what makes it, and then no lane need wait for that") {
    toy_program p;
    p.groups = 2;
    p.ops.push_back({.results = {{{64}, {}}}});
    p.ops.push_back({.kind = op_kind::start, .operands = {{0, 0}}, .results = {{{64}, {}}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{1, 0}}, .results = {{{0}, {{1, 0}}}}});
    p.ops.push_back({.kind = op_kind::view, .operands = {{2, 0}}});
    p.ops.push_back({.kind = op_kind::start, .group = 1, .operands = {{0, 0}, {2, 0}}, .results = {{{64}, {}}}});
    using form = log_entry::form;
    CHECK(log_of(planned(support::graph_of(p, {0, 0, 0, 1, 0}), support::program_order(5))) ==
          run_log{{form::launch, 0, 0},
                  {form::record, 0, 0},
                  {form::wait, 1, 0},
                  {form::launch, 1, 1},
                  {form::record, 1, 1},
                  {form::wait, 0, 1},
                  {form::launch, 0, 2},
                  {form::launch, 0, 3},
                  {form::settle, 0, 0},
                  {form::launch, 2, 4}});
}

TEST_CASE("reuse of bytes makes a collective wait for those that used them") {
    // The result of the collective takes the bytes of %1, which only %2 has read; the graph does not order them.
    toy_program p;
    p.ops.push_back({.kind = op_kind::input, .results = {{{64}, {}}}});
    p.ops.push_back({.operands = {{0, 0}}, .results = {{{64}, {}}}});
    p.ops.push_back({.operands = {{1, 0}}, .results = {{{64}, {}}}});
    p.ops.push_back({.kind = op_kind::start, .operands = {{0, 0}}, .results = {{{64}, {}}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{3, 0}}, .results = {{{0}, {{3, 0}}}}});
    p.ops.push_back({.kind = op_kind::output, .operands = {{4, 0}, {2, 0}}});
    const task_graph g = support::graph_of(p);
    const lane_program made = planned(g, support::program_order(6));
    CHECK(made.arena.offset[3] == made.arena.offset[1]);
    const lane_instruction& start = made.instructions[2];
    REQUIRE(start.task == 3);
    REQUIRE(made.waits_of(start).size() == 1);
    CHECK(made.waits_of(start)[0] == made.instructions[1].event);
}

TEST_CASE("an order of another graph is refused") {
    toy_program p;
    p.ops.push_back({.results = {{{64}, {}}}});
    const auto checked = check_order(support::graph_of(p), {0});
    p.ops[0].results[0].size = {65};
    const auto made = plan_lanes(support::graph_of(p), *checked);
    REQUIRE_FALSE(made);
    CHECK(made.error().why == bind_error::reason::order_of_another_graph);
}

TEST_CASE("programs are ordered, no wait can be left out, and one more is noticed") {
    std::size_t waits = 0, channels = 0, held = 0;
    stretto_check("every wait counts", 1500, [&](const std::vector<std::uint8_t>& picks, std::uint16_t choice) {
        const toy_program p = support::scheduling_case(*support::scheduling_cases(24)).program();
        const bool reads = choice % 2 == 0;
        const task_graph g = support::graph_of(p, support::marks_of(p, reads ? picks : std::vector<std::uint8_t>{}));
        const lane_program made = planned(g, support::random_order(g, picks));
        run_log log = log_of(made);
        RC_ASSERT(check_log(g, made.arena, log).empty());
        waits += made.waits.size();
        // The host goes on as soon as it may.
        for (std::size_t k = 0; k + 1 < log.size(); ++k) {
            if (log[k].what != log_entry::form::settle) continue;
            ++held;
            run_log without = log;
            without.erase(without.begin() + static_cast<std::ptrdiff_t>(k));
            const auto found = check_log(g, made.arena, without);
            RC_ASSERT(std::any_of(found.begin(), found.end(),
                                  [](const log_finding& f) { return f.why == log_finding::reason::not_held; }));
        }
        channels = std::max(channels, made.groups.size());
        for (std::size_t k = 0; k < log.size(); ++k) {
            if (log[k].what != log_entry::form::wait) continue;
            run_log without = log;
            without.erase(without.begin() + static_cast<std::ptrdiff_t>(k));
            const auto found = check_log(g, made.arena, without);
            RC_ASSERT(!found.empty() && is_fault(found[0]));
        }
        // One more wait, anywhere behind a record.
        std::vector<std::size_t> records;
        for (std::size_t k = 0; k < log.size(); ++k)
            if (log[k].what == log_entry::form::record) records.push_back(k);
        if (records.empty()) return;
        const std::size_t record = records[choice % records.size()];
        const std::size_t at = record + 1 + choice / 7 % (log.size() - record);
        const auto lane = choice % static_cast<std::uint32_t>(g.groups + 1);
        log.insert(log.begin() + static_cast<std::ptrdiff_t>(at), {log_entry::form::wait, lane, log[record].which});
        const auto found = check_log(g, made.arena, log);
        RC_ASSERT(std::any_of(found.begin(), found.end(), [&](const log_finding& f) {
            return f.why == log_finding::reason::redundant_wait && f.entry == at;
        }));
    });
    if (support::runs_all_cases()) {
        CHECK(waits > 1000);
        CHECK(channels > 1);
        CHECK(held > 500);
    }
}

TEST_CASE("the same order gives the same program") {
    stretto_check("deterministic", 200, [](const std::vector<std::uint8_t>& picks) {
        const task_graph g = support::graph_of(support::scheduling_case(*support::scheduling_cases(30)).program());
        const support::task_order order = support::random_order(g, picks);
        RC_ASSERT(planned(g, order) == planned(g, order));
    });
}
