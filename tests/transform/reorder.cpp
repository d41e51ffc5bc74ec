#include "stretto/transform/reorder.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "support/linked_ir.hpp"
#include "support/prop.hpp"
#include "support/toy_irs.hpp"
#include "support/toy_program.hpp"

namespace {

using namespace stretto;

support::toy_program independent_ops(std::size_t count) {
    support::toy_program p;
    p.ops.resize(count);
    return p;
}

/// Fewest vertices that must move: all but a longest common subsequence that holds the last of the order. Quadratic.
std::size_t fewest_moves(const std::vector<std::size_t>& order) {
    std::vector<std::size_t> longest(order.size(), 1);
    for (std::size_t i = 0; i < order.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            if (order[j] < order[i]) longest[i] = std::max(longest[i], longest[j] + 1);
    return order.empty() ? 0 : order.size() - longest.back();
}

std::vector<std::size_t> random_permutation(std::size_t n) {
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = n; i > 1; --i) std::swap(order[i - 1], order[*rc::gen::inRange<std::size_t>(0, i)]);
    return order;
}

template <class IR>
auto in_order(IR& ir, const std::vector<std::size_t>& positions) {
    const auto all = support::vertices_of(ir.view());
    std::vector<vertex_t<decltype(ir.view())>> order;
    for (std::size_t p : positions) order.push_back(all[p]);
    return order;
}

template <class IR>
void reorders_with_fewest_moves(const std::vector<std::size_t>& positions) {
    IR ir(independent_ops(positions.size()));
    const auto order = in_order(ir, positions);
    const auto plan = plan_reorder(ir.view(), order);
    RC_ASSERT(plan.has_value());
    RC_ASSERT(plan->moves.size() == fewest_moves(positions));
    apply(*plan, ir.rewriter());
    RC_ASSERT(support::vertices_of(ir.view()) == order);
}

}  // namespace

TEST_CASE("one vertex out of place is one move") {
    support::linked_ir ir(independent_ops(4));
    const auto order = in_order(ir, {2, 0, 1, 3});
    const auto plan = plan_reorder(ir.view(), order);
    REQUIRE(plan);
    CHECK(plan->moves == std::vector{move<support::linked::op*>{order[0], order[1]}});
}

TEST_CASE("program order needs no move, nor does an empty graph") {
    for (std::size_t n : {0u, 1u, 5u}) {
        support::linked_ir ir(independent_ops(n));
        const auto order = support::vertices_of(ir.view());
        const auto plan = plan_reorder(ir.view(), order);
        REQUIRE(plan);
        CHECK(plan->moves.empty());
    }
}

TEST_CASE("an order that is no permutation is rejected at its first fault") {
    support::linked_ir ir(independent_ops(3));
    auto order = in_order(ir, {2, 0, 2});
    CHECK(plan_reorder(ir.view(), order).error().position == 2);
    order.pop_back();
    CHECK(plan_reorder(ir.view(), order).error().position == 2);
}

TEST_CASE("random orders are realised with the fewest moves, on every toy IR that can move") {
    stretto_check("linked list", 300, [] {
        reorders_with_fewest_moves<support::linked_ir>(random_permutation(*rc::gen::inRange<std::size_t>(0, 24)));
    });
    stretto_check("shared nodes", 300, [] {
        reorders_with_fewest_moves<support::shared_ir>(random_permutation(*rc::gen::inRange<std::size_t>(0, 24)));
    });
    stretto_check("struct of arrays", 300, [] {
        reorders_with_fewest_moves<support::soa_ir>(random_permutation(*rc::gen::inRange<std::size_t>(0, 24)));
    });
}
