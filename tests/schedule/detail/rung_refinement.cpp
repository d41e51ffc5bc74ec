#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "stretto/schedule/detail/lane_clock.hpp"
#include "stretto/schedule/detail/rung_refinement.hpp"
#include "support/node_orders.hpp"

using namespace stretto;
using detail::compact_tasks;
using detail::found_by;
using detail::order_passes;
using detail::workspace;
using support::toy_program;
using support::toy_value;

namespace {

/// Layers whose weights are gathered just before their kernels, so that every gather stalls the given order.
toy_program gathered_layers(std::size_t layers) {
    toy_program p;
    std::vector<toy_value> last;
    const auto id = [&] { return static_cast<std::uint32_t>(p.ops.size() - 1); };
    for (std::size_t k = 0; k < layers; ++k) {
        p.ops.push_back({.kind = op_kind::start, .duration = {8}, .results = {{{20}, {}}}});
        const std::uint32_t start = id();
        p.ops.push_back({.kind = op_kind::wait, .operands = {{start, 0}}, .results = {{{0}, {{start, 0}}}}});
        last.push_back({id(), 0});
        p.ops.push_back({.duration = {10}, .operands = last, .results = {{{4}, {}}}});
        last = {{id(), 0}};
    }
    p.ops.push_back({.kind = op_kind::output, .operands = last});
    return p;
}

}  // namespace

TEST_CASE("what moves find counts for the result, but not for rounds and filling, and only within the limit") {
    workspace w;
    const compact_tasks c = detail::make_compact_tasks(support::graph_of(gathered_layers(12)), w);
    constexpr std::int64_t given = 12 * 18, peak = 28, best = 8 + 12 * 10;
    order_passes<> passes(c, given, peak, w, nullptr);
    REQUIRE(detail::peak_of(c, passes.given_order(), w) == peak);

    detail::search_locally(passes, peak, found_by::moves, 0, 4000);  // there is no room for a second gather
    CHECK(passes.candidates().fastest(peak, found_by::moves).makespan == given);
    detail::search_locally(passes, peak + 20, found_by::moves, given, 4000);  // the given order is good enough
    CHECK(passes.candidates().fastest(peak + 20, found_by::moves).makespan == given);

    detail::search_locally(passes, peak + 20, found_by::moves, 0, 4000);
    const auto& found = passes.candidates().fastest(peak + 20, found_by::moves);
    CHECK(found.makespan == best);
    CHECK(support::legal(c, found.nodes));
    CHECK(detail::makespan_of(c, found.nodes, w) == best);
    CHECK(detail::peak_of(c, found.nodes, w) <= peak + 20);
    CHECK(passes.candidates().fastest(peak, found_by::moves).makespan == given);
    CHECK(passes.candidates().fastest(peak + 20, found_by::filling).makespan == given);
    CHECK(passes.fastest_within(peak + 20) == given);  // rounds begin with their own best order
    CHECK(passes.best_within(peak + 20) == passes.given_order());
}

TEST_CASE("moves go on in rounds for as long as they gain") {
    workspace w;
    const compact_tasks c = detail::make_compact_tasks(support::graph_of(gathered_layers(40)), w);
    constexpr std::int64_t given = 40 * 18, peak = 28, best = 8 + 40 * 10;
    constexpr int tries = 20;
    order_passes<> passes(c, given, peak, w, nullptr);
    detail::local_search one_round(c, detail::plain_clock(c), passes.given_order(), peak + 20, w);
    one_round.run(0, tries);
    REQUIRE(one_round.makespan() < given);
    REQUIRE(one_round.makespan() > best);
    detail::search_locally(passes, peak + 20, found_by::moves, 0, tries);
    CHECK(passes.candidates().fastest(peak + 20, found_by::moves).makespan < one_round.makespan());
}

TEST_CASE("filling counts for filling and moves, and leaves rounds as they are") {
    toy_program p;  // a collective stalls the lane, although kernels that come later could run meanwhile
    p.ops.push_back({.duration = {10}, .results = {{{4}, {}}}});
    p.ops.push_back({.kind = op_kind::start, .duration = {20}, .operands = {{0, 0}}, .results = {{{8}, {}}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{1, 0}}, .results = {{{0}, {{1, 0}}}}});
    p.ops.push_back({.duration = {10}, .operands = {{2, 0}}, .results = {{{4}, {}}}});
    std::vector<toy_value> results{{3, 0}};
    for (std::uint32_t n = 4; n < 8; ++n) {
        p.ops.push_back({.duration = {5}, .results = {{{1}, {}}}});
        results.push_back({n, 0});
    }
    p.ops.push_back({.kind = op_kind::output, .operands = results});
    workspace w;
    const compact_tasks c = detail::make_compact_tasks(support::graph_of(p), w);
    constexpr std::int64_t given = 60, limit = 40;
    order_passes<> passes(c, given, 16, w, nullptr);
    detail::fill_and_move(passes, limit, 0, passes.given_order());
    const auto& filled = passes.candidates().fastest(limit, found_by::filling);
    CHECK(filled.makespan == 40);
    CHECK(support::legal(c, filled.nodes));
    CHECK(passes.candidates().fastest(limit, found_by::moves).makespan == 40);
    CHECK(passes.fastest_within(limit) == given);
}
