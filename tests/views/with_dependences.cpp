#include "stretto/views/with_dependences.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "stretto/testing/archetypes.hpp"
#include "stretto/testing/check_graph.hpp"
#include "support/edge_graph.hpp"
#include "support/prop.hpp"
#include "support/random_program.hpp"
#include "support/toy_irs.hpp"

using namespace stretto;

TEST_CASE("with_dependences: extra edges come behind those of the base, in the order of their adding") {
    support::edge_graph g{4, {{0, 1}}, {0, 1, 2, 3}};
    const support::edge_graph_view base{&g};
    dependence_table extra(base);
    const auto view = views::with_dependences(base, extra);
    extra.add(0, 3);
    extra.add(0, 2);
    extra.add(0, 3);
    extra.add(1, 3);
    std::vector<std::uint32_t> out, in;
    for (std::uint32_t v : view.successors(0)) out.push_back(v);
    for (std::uint32_t v : view.predecessors(3)) in.push_back(v);
    CHECK(out == std::vector<std::uint32_t>{1, 3, 2, 3});
    CHECK(in == std::vector<std::uint32_t>{0, 0, 1});
    CHECK(extra.size() == 4);
    CHECK(check_graph(view));
}

TEST_CASE("with_dependences: an edge may close a cycle, and it shows") {
    support::edge_graph g{2, {{0, 1}}, {0, 1}};
    const support::edge_graph_view base{&g};
    dependence_table extra(base);
    extra.add(1, 0);
    CHECK(!check_graph(views::with_dependences(base, extra)));
}

TEST_CASE_TEMPLATE("with_dependences: the union of both edge sets; values stay", IR, STRETTO_TOY_IRS) {
    stretto_check("with_dependences", 40, [] {
        const support::toy_program p = *support::random_programs();
        const auto picks = *rc::gen::container<std::vector<std::pair<std::uint8_t, std::uint8_t>>>(
            rc::gen::pair(rc::gen::arbitrary<std::uint8_t>(), rc::gen::arbitrary<std::uint8_t>()));
        const IR ir(p, 8);
        const auto base = ir.view();
        const auto vertices = support::vertices_of(base);
        dependence_table extra(base);
        support::index_pairs edges = support::edges_of(base);
        for (auto [a, b] : picks) {
            if (vertices.empty()) break;
            const std::size_t i = a % vertices.size(), j = b % vertices.size();
            if (i == j) continue;
            const auto u = vertices[std::min(i, j)], v = vertices[std::max(i, j)];
            extra.add(u, v);
            edges.emplace_back(base.index(u), base.index(v));
        }
        std::sort(edges.begin(), edges.end());
        const auto view = views::with_dependences(base, extra);
        static_assert(dataflow_graph<decltype(view)>);
        const auto checked = check_graph(view);
        if (!checked) RC_FAIL(checked.error().message());
        RC_ASSERT(support::edges_of(view) == edges);
        RC_ASSERT(support::read_back(view, ir.model(), p.groups) == p);
    });
}

TEST_CASE("with_dependences: archetypes suffice") {
    const archetypes::program base(0);
    const auto all = support::vertices_of(base);
    dependence_table extra(base);
    extra.add(all[1], all[3]);
    const auto view = views::with_dependences(base, extra);
    const auto checked = check_graph(view);
    REQUIRE(checked);
    CHECK(*checked == graph_summary{8, 10, 8});
}

TEST_CASE("with_dependences: what is added to the graph later has no extra edges") {
    struct growing_view : support::edge_graph_view {
        std::size_t index(std::uint32_t v) const { return v; }
    };
    support::edge_graph g{2, {}, {0, 1}};
    const growing_view base{{&g}};
    dependence_table extra(base);
    extra.add(0, 1);
    const auto view = views::with_dependences(base, extra);
    g.size = 3;
    g.order.push_back(2);
    g.edges.emplace_back(1, 2);
    const auto checked = check_graph(view);
    REQUIRE(checked);
    CHECK(checked->edges == 2);
    for ([[maybe_unused]] std::uint32_t v : view.successors(2)) FAIL("nothing comes after it");
}
