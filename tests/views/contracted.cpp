#include "stretto/views/contracted.hpp"

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

TEST_CASE("contracted: a group is its first member; edges inside vanish, parallel ones stay") {
    support::edge_graph g{5, {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {1, 2}, {3, 4}}, {0, 1, 2, 3, 4}};
    const support::edge_graph_view base{&g};
    const std::vector<std::vector<std::uint32_t>> groups = {{2, 1}, {}};
    const contraction merged(base, groups);
    const auto q = views::contracted(base, merged);
    CHECK(q.vertices() == std::vector<std::uint32_t>{0, 1, 3, 4});
    CHECK(q.successors(0) == std::vector<std::uint32_t>{1, 1});
    CHECK(q.successors(1) == std::vector<std::uint32_t>{3, 3});
    CHECK(q.predecessors(3) == std::vector<std::uint32_t>{1, 1});
    const auto members = q.members(1);
    CHECK(std::vector<std::uint32_t>(members.begin(), members.end()) == std::vector<std::uint32_t>{1, 2});
    CHECK(q.members(0).empty());
    CHECK(check_graph(q));
}

TEST_CASE("contracted: a group that is not convex makes a cycle, and that is what the view says") {
    support::edge_graph g{3, {{0, 1}, {1, 2}}, {0, 1, 2}};
    const support::edge_graph_view base{&g};
    const contraction merged(base, std::vector<std::vector<std::uint32_t>>{{0, 2}});
    const auto checked = check_graph(views::contracted(base, merged));
    REQUIRE(!checked);
    CHECK(checked.error().rule == std::string("acyclic"));
}

TEST_CASE_TEMPLATE("contracted: every edge of the base leads between the leaders", IR, STRETTO_TOY_IRS) {
    stretto_check("contracted", 40, [] {
        const support::toy_program p = *support::random_programs();
        const auto mask = *rc::gen::arbitrary<std::uint64_t>();
        const IR ir(p, 9);
        const auto base = ir.view();
        using V = vertex_t<decltype(base)>;
        const std::vector<V> vertices = support::vertices_of(base);
        // Position i belongs to group (two bits of the mask); group 0 stands for "alone".
        std::vector<std::vector<V>> groups(3);
        std::vector<std::size_t> leader(base.index_bound());
        for (std::size_t i = 0; i < vertices.size(); ++i) {
            const std::size_t k = (mask >> (2 * (i % 32))) % 4;
            if (k > 0) groups[k - 1].push_back(vertices[i]);
            leader[base.index(vertices[i])] = base.index(k > 0 ? groups[k - 1].front() : vertices[i]);
        }
        for (auto& group : groups) std::reverse(group.begin(), group.end());  // the order of naming is immaterial
        const contraction merged(base, groups);
        const auto q = views::contracted(base, merged);
        support::index_pairs edges = support::edges_of(base);
        for (auto& [u, v] : edges) {
            u = leader[u];
            v = leader[v];
        }
        std::erase_if(edges, [](auto e) { return e.first == e.second; });
        std::sort(edges.begin(), edges.end());
        RC_ASSERT(support::edges_of(q) == edges);
        std::vector<std::size_t> listed = support::indices_of(base);
        std::erase_if(listed, [&](std::size_t i) { return leader[i] != i; });
        RC_ASSERT(support::indices_of(q) == listed);
        const auto checked = check_graph(q, {.program_order_is_topological = false});
        if (!checked) RC_ASSERT(checked.error().rule == std::string("acyclic"));
    });
}

TEST_CASE("contracted: archetypes suffice") {
    const archetypes::dependence base(0);
    const std::vector<archetypes::vertex> all = support::vertices_of(base);
    const contraction merged(base, std::vector<std::vector<archetypes::vertex>>{{all[5], all[6]}});
    const auto q = views::contracted(base, merged);
    CHECK(check_graph(q));
    CHECK(q.vertices().size() == 7);
    CHECK(support::edges_of(q).size() == 8);
}
