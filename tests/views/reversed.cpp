#include "stretto/views/reversed.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <type_traits>

#include "stretto/testing/archetypes.hpp"
#include "stretto/testing/check_graph.hpp"
#include "support/edge_graph.hpp"
#include "support/prop.hpp"
#include "support/random_program.hpp"
#include "support/toy_irs.hpp"

using namespace stretto;

TEST_CASE("reversed: who came before comes after") {
    support::edge_graph g{3, {{0, 1}, {0, 1}, {1, 2}}, {0, 1, 2}};
    const auto r = views::reversed(support::edge_graph_view{&g});
    CHECK(support::vertices_of(r) == std::vector<std::uint32_t>{2, 1, 0});
    CHECK(r.successors(1) == std::vector<std::uint32_t>{0, 0});
    CHECK(r.predecessors(1) == std::vector<std::uint32_t>{2});
    CHECK(r.index(0) == 2);
}

TEST_CASE("reversed: twice is the base itself; values do not survive; epochs do") {
    using base = support::edge_graph_view;
    static_assert(std::is_same_v<decltype(views::reversed(views::reversed(base{nullptr}))), base>);
    static_assert(dependence_graph<reversed_view<base>> && !epoch_graph<reversed_view<base>>);
    static_assert(dataflow_graph<support::soa::step_view> && !dataflow_graph<reversed_view<support::soa::step_view>>);
    const support::linked_ir ir(support::seeded_program(1, 5));
    CHECK(views::reversed(ir.view()).epoch() == ir.view().epoch());
}

TEST_CASE_TEMPLATE("reversed: the same edges, turned around", IR, STRETTO_TOY_IRS) {
    stretto_check("reversed", 40, [] {
        const support::toy_program p = *support::random_programs();
        const IR ir(p, 3);
        const auto r = views::reversed(ir.view());
        const auto checked = check_graph(r);
        if (!checked) RC_FAIL(checked.error().message());
        support::index_pairs expected = support::edges_of(ir.view());
        for (auto& [u, v] : expected) std::swap(u, v);
        std::sort(expected.begin(), expected.end());
        RC_ASSERT(support::edges_of(r) == expected);
        std::vector<std::size_t> order = support::indices_of(ir.view());
        std::reverse(order.begin(), order.end());
        RC_ASSERT(support::indices_of(r) == order);
    });
}

TEST_CASE("reversed: archetypes suffice") {
    CHECK(check_graph(views::reversed(archetypes::dependence(0))));
    CHECK(support::edges_of(views::reversed(archetypes::dependence(0))).size() == 9);
}
