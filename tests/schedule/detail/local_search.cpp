#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/detail/baseline_witness.hpp"
#include "stretto/schedule/detail/contended_order.hpp"
#include "stretto/schedule/detail/lane_clock.hpp"
#include "stretto/schedule/detail/list_pass.hpp"
#include "stretto/schedule/detail/local_search.hpp"
#include "stretto/schedule/detail/timed_order.hpp"
#include "support/node_orders.hpp"
#include "support/prop.hpp"

using namespace stretto;
using detail::compact_tasks;
using detail::contended_clock;
using detail::local_search;
using detail::plain_clock;
using detail::workspace;
using support::node_order;
using support::toy_program;
using support::toy_value;

namespace {

/// A program of layers whose weights are gathered one after the other, each just before its kernel, so that nothing is
/// hidden.
struct gathered_layers {
    toy_program p;

    explicit gathered_layers(std::size_t layers) {
        std::vector<toy_value> last;
        for (std::size_t k = 0; k < layers; ++k) {
            const toy_value gathered = gather();
            std::vector<toy_value> reads = last;
            reads.push_back(gathered);
            p.ops.push_back({.duration = {10}, .operands = reads, .results = {{{4}, {}}}});
            last = {{id(), 0}};
        }
        p.ops.push_back({.kind = op_kind::output, .operands = last});
    }
    toy_value gather() {
        p.ops.push_back({.kind = op_kind::start, .duration = {8}, .results = {{{20}, {}}}});
        const std::uint32_t start = id();
        p.ops.push_back({.kind = op_kind::wait, .operands = {{start, 0}}, .results = {{{0}, {{start, 0}}}}});
        return {id(), 0};
    }
    [[nodiscard]] std::uint32_t id() const { return static_cast<std::uint32_t>(p.ops.size() - 1); }
};

struct improved {
    std::int64_t makespan;
    node_order nodes, starved;
};
template <class Clock>
improved improve_by(const Clock& clock, const compact_tasks& c, const node_order& order, std::int64_t limit,
                    std::int64_t enough, int tries, workspace& w) {
    const workspace::scope scratch(w);
    local_search search(c, clock, order, limit, w);
    search.run(enough, tries);
    return {search.makespan(), search.nodes(), search.starved()};
}
improved improve(const compact_tasks& c, const node_order& order, std::int64_t limit, std::int64_t enough, int tries,
                 workspace& w) {
    return improve_by(plain_clock(c), c, order, limit, enough, tries, w);
}

}  // namespace

TEST_CASE("gathers move under the kernels of earlier layers, as far as memory allows") {
    const gathered_layers layers(12);
    workspace w;
    const compact_tasks c = detail::make_compact_tasks(support::graph_of(layers.p), w);
    const node_order given = support::program_order(c.size());
    REQUIRE(detail::makespan_of(c, given, w) == 12 * 18);
    const std::int64_t peak = detail::peak_of(c, given, w);
    REQUIRE(peak == 20 + 4 + 4);

    // No room: each gather needs the place of the one before it.
    const improved none = improve(c, given, peak, 0, 4000, w);
    CHECK(none.makespan == 12 * 18);
    CHECK(none.nodes == given);
    // Room for one more: all but the first are hidden.
    const improved one = improve(c, given, peak + 20, 0, 4000, w);
    CHECK(one.makespan == 8 + 12 * 10);
    CHECK(support::legal(c, one.nodes));
    CHECK(detail::peak_of(c, one.nodes, w) <= peak + 20);

    // It ends where an order is good enough, and after no more than the tries it is given.
    CHECK(improve(c, given, peak + 20, 12 * 18, 4000, w).nodes == given);
    CHECK(improve(c, given, peak + 20, 0, 0, w).nodes == given);
    const improved some = improve(c, given, peak + 20, 170, 4000, w);
    CHECK(some.makespan <= 170);
    CHECK(some.makespan > 8 + 12 * 10);
}

TEST_CASE("a wait is starved if memory has no room for a kernel that is ready") {
    toy_program p;
    p.ops.push_back({.kind = op_kind::start, .duration = {8}, .results = {{{20}, {}}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{0, 0}}, .results = {{{0}, {{0, 0}}}}});
    p.ops.push_back({.duration = {1}, .operands = {{1, 0}}, .results = {{{1}, {}}}});
    p.ops.push_back({.duration = {8}, .results = {{{10}, {}}}});
    p.ops.push_back({.duration = {1}, .operands = {{2, 0}, {3, 0}}, .results = {{{1}, {}}}});
    workspace w;
    const compact_tasks c = detail::make_compact_tasks(support::graph_of(p), w);
    const node_order given = support::program_order(c.size());
    const auto starved = [&](std::int64_t limit, int tries) { return improve(c, given, limit, 0, tries, w).starved; };
    CHECK(starved(30, 0) == node_order{1});
    CHECK(starved(31, 0).empty());  // there is room: only the order is to blame
    CHECK(starved(30, 1000) == node_order{1});
    CHECK(improve(c, given, 31, 0, 1000, w).makespan == 10);

    // If all that follows depends on collectives, memory has nothing to do with it.
    const gathered_layers layers(3);
    const compact_tasks chain = detail::make_compact_tasks(support::graph_of(layers.p), w);
    CHECK(improve(chain, support::program_order(chain.size()), 28, 0, 100, w).starved.empty());
}

TEST_CASE("whatever the step: legal, within the limit, never slower, and the same each time") {
    std::size_t steps = 0, better = 0;
    stretto_check("random steps", 20'000, [&](std::uint8_t more, std::uint16_t tries) {
        const support::scheduling_case problem = *support::scheduling_cases(40);
        workspace w;
        const compact_tasks c = detail::make_compact_tasks(support::graph_of(problem.program()), w);
        const node_order given = support::program_order(c.size());
        const std::int64_t before = detail::makespan_of(c, given, w), peak = detail::peak_of(c, given, w);
        const std::int64_t limit = peak + peak * more / 256;
        const improved found = improve(c, given, limit, 0, tries % 512, w);
        RC_ASSERT(support::legal(c, found.nodes));
        RC_ASSERT(detail::peak_of(c, found.nodes, w) <= limit);
        RC_ASSERT(detail::makespan_of(c, found.nodes, w) == found.makespan);
        RC_ASSERT(found.makespan <= before);
        for (const std::uint32_t n : found.starved) RC_ASSERT(c.kind[n] == compact_tasks::role::wait);
        const improved again = improve(c, given, limit, 0, tries % 512, w);
        RC_ASSERT(again.nodes == found.nodes);
        RC_ASSERT(again.starved == found.starved);
        ++steps;
        better += found.makespan < before;
    });
    MESSAGE(better << " of " << steps << " steps are faster");
    if (support::runs_all_cases()) CHECK(better > steps / 10);
}

TEST_CASE("under contention, transfers move beside each other") {
    // Two collectives on two channels, each beside kernels that it slows down, and nothing waits before the end.
    toy_program p;
    p.groups = 2;
    const auto launch = [&](std::uint32_t group) {
        p.ops.push_back({.kind = op_kind::start, .group = group, .duration = {40}, .results = {{{8}, {}}}});
        return toy_value{static_cast<std::uint32_t>(p.ops.size() - 1), 0};
    };
    const auto work = [&] {
        for (int k = 0; k < 8; ++k) p.ops.push_back({.duration = {10}, .results = {{{1}, {}}}});
    };
    const toy_value first = launch(0);
    work();
    const toy_value second = launch(1);
    work();
    for (const toy_value& started : {first, second})
        p.ops.push_back({.kind = op_kind::wait, .operands = {started}, .results = {{{0}, {started}}}});
    workspace w;
    const compact_tasks c = detail::make_compact_tasks(support::graph_of(p), w);
    const node_order given = support::program_order(c.size());
    const detail::order_judge judge{c.duration, {2, 1}};
    REQUIRE(detail::makespan_of(c, given, judge, w) == 160 + 20 + 20);
    const contended_clock clock(judge.duration, judge.under);
    const improved found = improve_by(clock, c, given, 1000, 0, 1000, w);
    CHECK(found.makespan == 160 + 20);
    CHECK(detail::makespan_of(c, found.nodes, judge, w) == 160 + 20);
    // By the plain clock there is nothing to gain.
    CHECK(improve(c, given, 1000, 0, 1000, w).nodes == given);
}

TEST_CASE("whatever the step and the contention: legal, within the limit, never slower, and the same each time") {
    std::size_t steps = 0, better = 0;
    stretto_check("random steps under contention", 10'000, [&](std::uint8_t more, std::uint16_t tries) {
        const support::scheduling_case problem = *support::scheduling_cases(40);
        const contention under{*rc::gen::inRange<std::int64_t>(4, 12), 4};
        workspace w;
        const compact_tasks c = detail::make_compact_tasks(support::graph_of(problem.program()), w);
        const contended_clock clock(c.duration, under);
        const node_order given = support::program_order(c.size());
        const std::int64_t before = detail::timed_order(c, clock, given, w).makespan();
        const std::int64_t peak = detail::peak_of(c, given, w), limit = peak + peak * more / 256;
        const improved found = improve_by(clock, c, given, limit, 0, tries % 512, w);
        RC_ASSERT(support::legal(c, found.nodes));
        RC_ASSERT(detail::peak_of(c, found.nodes, w) <= limit);
        RC_ASSERT(detail::timed_order(c, clock, found.nodes, w).makespan() == found.makespan);
        RC_ASSERT(found.makespan <= before);
        RC_ASSERT(improve_by(clock, c, given, limit, 0, tries % 512, w).nodes == found.nodes);
        ++steps;
        better += found.makespan < before;
    });
    MESSAGE(better << " of " << steps << " steps are faster");
    if (support::runs_all_cases()) CHECK(better > steps / 10);
}
