#include "stretto/testing/rewriter_archetypes.hpp"

#include <doctest/doctest.h>

#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "stretto/testing/model_archetypes.hpp"
#include "stretto/transform/apply_reductions.hpp"
#include "stretto/transform/isolate_groups.hpp"
#include "stretto/transform/reorder.hpp"

using namespace stretto;
using archetypes::program;
using archetypes::vertex;
using archetypes::detail::at;

TEST_CASE("rewriters offer nothing beyond their concept") {
    static_assert(!slice_writing_rewriter<archetypes::chunker, archetypes::dataflow>);
    static_assert(!std::is_copy_constructible_v<archetypes::cloner>);
}

TEST_CASE("rewriters of the least are told to reorder, to isolate and to reduce") {
    archetypes::orderer orderer;
    std::vector<vertex> order;
    for (vertex v : program(0).vertices()) order.push_back(v);
    std::swap(order[1], order[3]);
    std::swap(order[2], order[3]);
    const auto moves = plan_reorder(program(0), std::span<const vertex>(order));
    REQUIRE(moves);
    apply(*moves, orderer);
    CHECK(orderer.calls > 0);

    // Both starts use one group; to isolate the second makes a duplicate and moves it there.
    archetypes::isolator isolator;
    const auto plan =
        plan_isolation(program(0), archetypes::calls(0), archetypes::groups(0), [](vertex v) { return v == at(5); });
    REQUIRE(plan);
    apply(*plan, isolator);
    CHECK(isolator.calls == 2);

    // A plan by hand: both collectives at once, in place of their sum.
    archetypes::reducer reducer;
    reduction_plan<vertex, archetypes::value> sums;
    sums.reductions.push_back({});
    auto& r = sums.reductions[0];
    r.members = {at(1), at(5)};
    r.operands = {{at(0), 0}, {at(4), 0}};
    r.waits = {at(2), at(6)};
    r.sums = {at(4)};
    r.result = {at(4), 0};
    apply_reductions(sums, program(0), reducer);
    // insert_before and add, clone, insert_before and clone, replace_uses of one reader, erase of five.
    CHECK(reducer.calls == 2 + 1 + 2 + 1 + 5);
}
