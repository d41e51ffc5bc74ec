#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include "stretto/schedule/detail/contended_search.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "stretto/schedule/contention.hpp"
#include "support/prop.hpp"

using namespace stretto;
using detail::found_order;
using support::toy_program;

namespace {

found_order order_of(std::int64_t peak, std::int64_t makespan, std::uint32_t mark) {
    return {{{mark}, makespan, {}}, peak};
}

}  // namespace

TEST_CASE("merged fronts: what no other order beats in both, and of equals the first") {
    const auto front = detail::merged_fronts({order_of(1, 50, 0), order_of(3, 40, 0), order_of(9, 10, 0)},
                                             {order_of(2, 40, 1), order_of(3, 40, 1), order_of(5, 20, 1)}, {9});
    REQUIRE(front.size() == 4);
    CHECK(front[0].pass.makespan == 50);
    CHECK(front[1].peak == 2);
    CHECK(front[2].peak == 5);
    CHECK(front[3].peak == 9);
    CHECK(detail::merged_fronts({order_of(1, 5, 0)}, {order_of(1, 5, 1)}, {1})[0].pass.nodes[0] == 0);
}

TEST_CASE("merged fronts: what one search found above the limit goes, unless that is all there is") {
    const auto front = detail::merged_fronts({order_of(7, 10, 0)}, {order_of(2, 40, 1), order_of(3, 30, 1)}, {4});
    REQUIRE(front.size() == 2);
    CHECK(front[1].peak == 3);
    const auto above = detail::merged_fronts({order_of(7, 10, 0)}, {order_of(6, 20, 1)}, {4});
    REQUIRE(above.size() == 1);
    CHECK(above[0].peak == 6);
}

TEST_CASE("property: the clock of compact tasks is the one of tasks; the search leaves durations as they were") {
    stretto_check("compact contention", 3000, [] {
        const auto scheduled = *support::scheduling_cases(60);
        const task_graph g = support::graph_of(scheduled.program());
        detail::workspace w;
        detail::compact_tasks c = detail::make_compact_tasks(g, w);
        const std::vector<std::int64_t> durations = c.duration;
        const contention under{*rc::gen::inRange<std::int64_t>(4, 12), 4};
        const detail::order_judge judge{durations, under};
        std::vector<std::uint32_t> nodes(c.size());
        for (std::uint32_t n = 0; n < c.size(); ++n) nodes[n] = n;
        RC_ASSERT(detail::makespan_of(c, nodes, judge, w) ==
                  simulate(g, detail::expand(c, nodes), under).makespan.count);

        const std::int64_t peak = detail::peak_of(c, nodes, w);
        const auto front = detail::search_under_contention(c, {peak}, {peak}, {2 * peak}, std::int64_t{0}, under, 1, w);
        RC_ASSERT(c.duration == durations);
        for (const found_order& o : front)
            if (!o.pass.nodes.empty())
                RC_ASSERT(o.pass.makespan == simulate(g, detail::expand(c, o.pass.nodes), under).makespan.count);
    });
}
