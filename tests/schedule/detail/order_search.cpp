#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "stretto/schedule/detail/order_search.hpp"
#include "support/prop.hpp"

using namespace stretto;
using detail::compact_tasks;
using detail::found_order;
using detail::workspace;
using support::toy_program;

namespace {

/// One problem, searched within several limits.
struct searched {
    workspace w;
    compact_tasks c;
    std::int64_t makespan, peak;

    explicit searched(const support::scheduling_case& problem)
        : c(detail::make_compact_tasks(support::graph_of(problem.program()), w)) {
        const std::vector<std::uint32_t> given = support::program_order(c.size());
        makespan = detail::makespan_of(c, given, w);
        peak = detail::peak_of(c, given, w);
    }
    std::vector<found_order> within(std::int64_t limit, std::int64_t enough, unsigned effort,
                                    std::uint32_t many_nodes) {
        return detail::order_search(c, {makespan}, {peak}, w).run({limit}, enough, effort, many_nodes);
    }
};

}  // namespace

TEST_CASE("the front: within the limit, each order with its exact figures, none beaten by another") {
    stretto_check("front", 3000, [](bool many, std::uint8_t effort) {
        const support::scheduling_case problem = *support::scheduling_cases(60);
        searched s(problem);
        const std::int64_t limit = problem.limit({s.peak}).count;
        const auto front = s.within(limit, 0, effort % 4, many ? 0 : 200'000);
        RC_ASSERT(!front.empty());
        RC_ASSERT(front.back().pass.makespan <= s.makespan);
        for (std::size_t k = 0; k < front.size(); ++k) {
            RC_ASSERT(front[k].peak <= limit);
            if (k > 0) RC_ASSERT(front[k].peak > front[k - 1].peak);
            if (k > 0) RC_ASSERT(front[k].pass.makespan < front[k - 1].pass.makespan);
            const std::vector<std::uint32_t>& nodes = front[k].pass.nodes;
            if (nodes.empty()) continue;
            RC_ASSERT(nodes.size() == s.c.size());
            RC_ASSERT(detail::peak_of(s.c, nodes, s.w) == front[k].peak);
            RC_ASSERT(detail::makespan_of(s.c, nodes, s.w) == front[k].pass.makespan);
        }
    });
}

TEST_CASE("10^5 random steps: a larger limit never gives a longer makespan, whatever is good enough") {
    stretto_check("two limits", 100000, [](bool many, std::uint8_t effort, std::uint8_t share, std::uint8_t more) {
        const support::scheduling_case problem = *support::scheduling_cases(40);
        searched s(problem);
        const std::int64_t small = problem.limit({s.peak}).count;
        const std::int64_t large = small > INT64_MAX / 512 ? small : small + small * more / 256 + more % 3;
        const std::int64_t enough = s.makespan * share / 256;  // the search stops early in some cases, late in others
        const std::uint32_t many_nodes = many && effort % 8 == 0 ? 0 : 200'000;
        const auto a = s.within(small, enough, effort % 3, many_nodes);
        const auto b = s.within(large, enough, effort % 3, many_nodes);
        RC_ASSERT(b.back().pass.makespan <= a.back().pass.makespan);
        // What the larger limit has found within the smaller one is no worse either: one search serves both.
        std::int64_t within = INT64_MAX;
        for (const found_order& o : b)
            if (o.peak <= small) within = o.pass.makespan;
        RC_ASSERT(within <= a.back().pass.makespan);
    });
}
