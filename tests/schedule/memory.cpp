#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "stretto/schedule/memory.hpp"
#include "support/prop.hpp"

using namespace stretto;
using support::toy_program;

namespace {

std::vector<std::int64_t> live_bytes(const toy_program& p) {
    const task_graph g = support::graph_of(p);
    std::vector<std::int64_t> live;
    for (bytes b : profile_memory(g, support::program_order(g.size())).live) live.push_back(b.count);
    return live;
}

}  // namespace

TEST_CASE("a storage lives from its allocation to its last reader; inputs do not count") {
    toy_program p;
    p.ops.push_back({.kind = op_kind::input, .results = {{{1000}, {}}}});
    p.ops.push_back({.operands = {{0, 0}}, .results = {{{10}, {}}, {{1}, {}}}});
    p.ops.push_back({.operands = {{1, 0}}, .results = {{{20}, {}}}});
    p.ops.push_back({.operands = {{2, 0}}, .results = {{{5}, {}}}});
    p.ops.push_back({.operands = {{3, 0}}, .results = {}});
    // The second result of operation 1 is dead at once.
    CHECK(live_bytes(p) == std::vector<std::int64_t>{0, 11, 30, 25, 5});
    const task_graph g = support::graph_of(p);
    const memory_profile m = profile_memory(g, support::program_order(g.size()));
    CHECK(m.peak.count == 30);
    CHECK(m.peak_at == 2);
}

TEST_CASE("aliases keep a storage alive, a write in place is a use, and what the output reads stays") {
    toy_program p;
    p.ops.push_back({.results = {{{10}, {}}}});
    p.ops.push_back({.kind = op_kind::view, .operands = {{0, 0}}, .results = {{{0}, {{0, 0}}}}});
    p.ops.push_back({.results = {{{4}, {}}}});
    p.ops.push_back({.operands = {{1, 0}}, .results = {}});
    p.ops.push_back({.operands = {{2, 0}}, .results = {{{0}, {{2, 0}}}}, .effects = {{2, 0}}});
    p.ops.push_back({.results = {{{1}, {}}}});
    p.ops.push_back({.kind = op_kind::output, .operands = {{4, 0}}});
    CHECK(live_bytes(p) == std::vector<std::int64_t>{10, 10, 14, 14, 4, 5, 4});
}

TEST_CASE("Inductor P7: what a collective reads stays until its wait") {
    toy_program p;
    p.ops.push_back({.results = {{{10}, {}}}});
    p.ops.push_back({.kind = op_kind::start, .operands = {{0, 0}}, .results = {{{80}, {}}}});
    p.ops.push_back({.results = {{{1}, {}}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{1, 0}}, .results = {{{0}, {{1, 0}}}}});
    p.ops.push_back({.operands = {{3, 0}}});
    CHECK(live_bytes(p) == std::vector<std::int64_t>{10, 90, 91, 90, 80});
    // A wait on nothing keeps nothing but what it names.
    p.ops[3].operands = {{2, 0}};
    p.ops[3].results = {};
    p.ops[4].operands = {};
    CHECK(live_bytes(p) == std::vector<std::int64_t>{10, 90, 1, 1, 0});
}

TEST_CASE("the first of several peaks is named; an empty order has none") {
    toy_program p;
    for (int k = 0; k < 3; ++k) p.ops.push_back({.results = {{{7}, {}}}});
    const task_graph g = support::graph_of(p);
    CHECK(profile_memory(g, std::vector<task_id>{2, 0, 1}).peak_at == 2);
    const task_graph none = support::graph_of({});
    CHECK(profile_memory(none, {}).peak_at == no_task);
    CHECK(profile_memory(none, {}).peak.count == 0);
}

TEST_CASE("a budget is an amount, or a multiple of what the input needs") {
    CHECK(memory_budget(bytes{70}).limit({100}).count == 70);
    CHECK(memory_budget(unlimited_bytes).limit({100}) == unlimited_bytes);
    constexpr std::int64_t odd = (std::int64_t{1} << 60) + 1;  // no double holds it
    CHECK(memory_budget::times_input_peak(1).limit({odd}).count == odd);
    CHECK(memory_budget::times_input_peak(1.5).limit({101}).count == 151);
    CHECK(memory_budget::times_input_peak(0).limit({101}).count == 0);
    CHECK(memory_budget::times_input_peak(100).limit({odd}) == unlimited_bytes);
    for (const double factor : {-1.0, std::numeric_limits<double>::quiet_NaN()})
        CHECK_THROWS((void)memory_budget::times_input_peak(factor));
}

TEST_CASE("the profile is that of the definition, in any order") {
    stretto_check("against the oracle", 4000, [](const std::vector<std::uint8_t>& picks) {
        const toy_program p = (*support::scheduling_cases(50)).program();
        const task_graph g = support::graph_of(p);
        const support::task_order order = support::random_order(g, picks);
        std::vector<std::size_t> place(order.size());
        for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
        const memory_profile m = profile_memory(g, order);
        const support::naive_figures expected = support::figures_of(p, support::facts_of(p), order);
        RC_ASSERT(m.peak.count == expected.peak);
        RC_ASSERT(m.live.size() == expected.live.size());
        for (std::size_t i = 0; i < m.live.size(); ++i) RC_ASSERT(m.live[i].count == expected.live[i]);
        if (!order.empty()) {
            RC_ASSERT(m.live[place[m.peak_at]] == m.peak);
            for (std::size_t i = 0; i < place[m.peak_at]; ++i) RC_ASSERT(m.live[i] < m.peak);
        }
    });
}
