#include "stretto/views/in_order.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/testing/archetypes.hpp"
#include "stretto/testing/check_graph.hpp"
#include "support/edge_graph.hpp"
#include "support/prop.hpp"
#include "support/random_program.hpp"
#include "support/toy_irs.hpp"

using namespace stretto;

namespace {

template <class Order>
concept accepted =
    requires(support::edge_graph_view g, Order&& order) { views::in_order(g, std::forward<Order>(order)); };

}  // namespace

TEST_CASE("in order: the vertices come as asked for, and nothing else changes") {
    support::edge_graph g{3, {{0, 2}, {1, 2}}, {0, 1, 2}};
    const std::vector<std::uint32_t> order = {1, 0, 2};
    const auto r = views::in_order(support::edge_graph_view{&g}, order);
    CHECK(support::vertices_of(r) == order);
    CHECK(r.successors(1) == std::vector<std::uint32_t>{2});
    CHECK(r.predecessors(2) == std::vector<std::uint32_t>{0, 1});
    CHECK(r.index(2) == support::edge_graph_view{&g}.index(2));
    static_assert(accepted<const std::vector<std::uint32_t>&> && accepted<std::vector<std::uint32_t>&>);
    static_assert(!accepted<std::vector<std::uint32_t>>);  // it would be gone before the view is used
}

TEST_CASE_TEMPLATE("in order: the same edges and values, whatever the order", IR, STRETTO_TOY_IRS) {
    stretto_check("in order", 40, [] {
        const support::toy_program p = *support::random_programs();
        const IR ir(p, 3);
        std::vector<vertex_t<decltype(ir.view())>> order;
        for (const auto& v : ir.view().vertices()) order.push_back(v);
        const auto same = views::in_order(ir.view(), order);
        const auto checked = check_graph(same);
        if (!checked) RC_FAIL(checked.error().message());
        RC_ASSERT(support::edges_of(same) == support::edges_of(ir.view()));
        RC_ASSERT(support::indices_of(same) == support::indices_of(ir.view()));
    });
}
