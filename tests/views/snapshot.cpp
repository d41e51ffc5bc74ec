#include "stretto/views/snapshot.hpp"

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

namespace {

std::vector<std::uint32_t> list(std::span<const std::uint32_t> row) { return {row.begin(), row.end()}; }

/// Rows of successors and of predecessors, for comparison across IRs.
std::vector<std::vector<std::uint32_t>> rows(snapshot_view g) {
    std::vector<std::vector<std::uint32_t>> all;
    for (std::uint32_t v : g.vertices()) {
        all.push_back(list(g.successors(v)));
        all.push_back(list(g.predecessors(v)));
    }
    return all;
}

}  // namespace

TEST_CASE("snapshot: ids are positions, rows ascend, parallel edges and self-loops are kept") {
    const support::edge_graph g{4, {{2, 0}, {2, 3}, {2, 0}, {1, 1}}, {3, 2, 1, 0}};
    const snapshot s(support::edge_graph_view{&g});
    CHECK(s.size() == 4);
    CHECK(s.vertex(0) == 3);
    CHECK(s.id(0) == 3);
    CHECK(list(s.view().successors(1)) == std::vector<std::uint32_t>{0, 3, 3});
    CHECK(list(s.view().predecessors(3)) == std::vector<std::uint32_t>{1, 1});
    CHECK(list(s.view().successors(2)) == std::vector<std::uint32_t>{2});
    CHECK(s.view().edge_count() == 4);
    static_assert(dependence_graph<snapshot_view> && !dataflow_graph<snapshot_view>);
}

TEST_CASE("snapshot: of nothing") {
    const support::edge_graph g{0, {}, {}};
    const snapshot s(support::edge_graph_view{&g});
    CHECK(s.size() == 0);
    CHECK(check_graph(s.view()));
}

TEST_CASE("snapshot: the edges of the graph, by id") {
    stretto_check("snapshot of a multigraph", 300, [] {
        const support::edge_graph g = *support::random_edge_graphs(false);
        const support::edge_graph_view base{&g};
        const snapshot s(base);
        support::index_pairs expected;
        for (auto [u, v] : g.edges) expected.emplace_back(s.id(u), s.id(v));
        std::sort(expected.begin(), expected.end());
        RC_ASSERT(support::edges_of(s.view()) == expected);
        for (std::uint32_t i = 0; i < g.size; ++i) RC_ASSERT(s.vertex(i) == g.order[i] && s.id(g.order[i]) == i);
        const auto checked = check_graph(s.view(), {.program_order_is_topological = false});
        if (!checked) RC_ASSERT(checked.error().rule == std::string("acyclic"));
    });
}

TEST_CASE("snapshot: one program, one snapshot, whatever the IR and wherever it is allocated") {
    stretto_check("snapshots agree", 60, [] {
        const support::toy_program p = *support::random_programs();
        std::vector<std::vector<std::uint32_t>> first;
        bool seen = false;
        for (const std::uint64_t seed : {0u, 1u, 2u})
            support::for_each_toy_ir(
                p,
                [&](auto& ir) {
                    const snapshot s(ir.view());
                    if (!seen) first = rows(s.view());
                    seen = true;
                    RC_ASSERT(rows(s.view()) == first);
                },
                seed);
    });
}

TEST_CASE("snapshot: archetypes suffice") {
    const snapshot s(archetypes::dependence(0));
    CHECK(list(s.view().predecessors(4)) == std::vector<std::uint32_t>{2, 3, 3});
    CHECK(s.id(s.vertex(6)) == 6);
}
