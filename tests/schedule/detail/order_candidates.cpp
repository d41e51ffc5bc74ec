#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "stretto/schedule/detail/order_candidates.hpp"
#include "support/node_orders.hpp"

using namespace stretto;
using detail::compact_tasks;
using detail::found_by;
using detail::order_candidates;
using detail::workspace;
using support::node_order;
using support::toy_program;

TEST_CASE("each way of searching sees what it and those before it have found") {
    toy_program p;  // three kernels, in any order
    for (int k = 0; k < 3; ++k) p.ops.push_back({.duration = {10}, .results = {{{1}, {}}}});
    workspace w;
    const compact_tasks c = detail::make_compact_tasks(support::graph_of(p), w);
    order_candidates<> candidates(c, 40, 100, w, nullptr);
    const auto fastest = [&](found_by way) { return candidates.fastest(100, way).makespan; };
    CHECK(fastest(found_by::moves) == 40);
    CHECK(candidates.fastest(100, found_by::rounds).nodes.empty());  // the given order

    candidates.add({{0, 2, 1}, 38, {}}, 90, found_by::filling);
    CHECK(fastest(found_by::rounds) == 40);
    CHECK(fastest(found_by::filling) < 40);
    CHECK(fastest(found_by::moves) == fastest(found_by::filling));
    candidates.add({{1, 0, 2}, 39, {}}, 95, found_by::rounds);  // slower than what filling has found, but of rounds
    CHECK(candidates.fastest(100, found_by::rounds).nodes == node_order{1, 0, 2});
    CHECK(candidates.fastest(100, found_by::filling).nodes == node_order{0, 2, 1});
    candidates.add({{2, 1, 0}, 20, {}}, 80, found_by::moves);
    CHECK(candidates.fastest(100, found_by::moves).nodes == node_order{2, 1, 0});
    CHECK(candidates.fastest(100, found_by::filling).nodes == node_order{0, 2, 1});
    CHECK(candidates.all().back().pass.nodes == node_order{2, 1, 0});
    CHECK(std::move(candidates).all_within(100).back().pass.nodes == node_order{2, 1, 0});
}
