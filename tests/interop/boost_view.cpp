#include "stretto/interop/boost_view.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/reverse_graph.hpp>
#include <concepts>
#include <cstddef>
#include <string>
#include <vector>

#include "stretto/analysis/topological_order.hpp"
#include "stretto/testing/check_graph.hpp"
#include "stretto/views/reversed.hpp"
#include "stretto/views/snapshot.hpp"
#include "support/boost_graphs.hpp"
#include "support/edge_graph.hpp"
#include "support/prop.hpp"

using namespace stretto;

namespace {

using vectors = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS>;
using nodes = boost::adjacency_list<boost::vecS, boost::listS, boost::bidirectionalS>;
using successors_only = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;
using undirected = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS>;
using rows = boost::compressed_sparse_row_graph<boost::bidirectionalS>;

}  // namespace

TEST_CASE("boost_view: a Boost graph is sorted where it is") {
    // [boost-view]
    boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS> ir(4);
    add_edge(2, 1, ir);
    add_edge(1, 0, ir);
    add_edge(2, 3, ir);

    const auto order = stretto::topological_sort(stretto::boost_view(ir));
    // [/boost-view]
    REQUIRE(order);
    CHECK(std::vector<std::size_t>(order->begin(), order->end()) == std::vector<std::size_t>{2, 1, 0, 3});

    add_edge(0, 2, ir);  // the view is as fresh as the graph
    const auto broken = stretto::topological_sort(stretto::boost_view(ir));
    REQUIRE(!broken);
    CHECK(broken.error().vertices == std::vector<std::size_t>{0, 2, 1});
}

TEST_CASE("boost_view: what a graph lacks, its view lacks") {
    static_assert(dependence_graph<boost_view<vectors>> && dependence_graph<boost_view<rows>>);
    static_assert(!dataflow_graph<boost_view<vectors>>);
    // Vertices that are pointers have no numbers; everything else is there.
    static_assert(vertex_list_graph<boost_view<nodes>> && bidirectional_adjacency_graph<boost_view<nodes>>);
    static_assert(!indexed_graph<boost_view<nodes>>);
    static_assert(adjacency_graph<boost_view<successors_only>> && indexed_graph<boost_view<successors_only>>);
    static_assert(!bidirectional_adjacency_graph<boost_view<successors_only>>);
    static_assert(directed_boost_graph<vectors> && !directed_boost_graph<undirected>);
    // A view of a temporary would dangle.
    static_assert(std::constructible_from<boost_view<vectors>, const vectors&>);
    static_assert(!std::constructible_from<boost_view<vectors>, vectors>);
}

TEST_CASE("boost_view: without in-edges there is still a snapshot") {
    successors_only g(3);
    add_edge(2, 0, g);
    add_edge(2, 0, g);
    add_edge(1, 0, g);
    const snapshot copy{boost_view(g)};
    CHECK(support::edges_of(copy.view()) == support::index_pairs{{1, 0}, {2, 0}, {2, 0}});
    CHECK(copy.view().predecessors(0).size() == 3);
}

TEST_CASE("boost_view: Boost's adaptors are graphs as well") {
    vectors g(3);
    add_edge(0, 1, g);
    add_edge(0, 2, g);
    add_edge(0, 2, g);
    const auto backwards = boost::make_reverse_graph(g);
    CHECK(support::edges_of(boost_view(backwards)) == support::edges_of(views::reversed(boost_view(g))));
    CHECK(support::edges_of(boost_view(backwards)) == support::index_pairs{{1, 0}, {2, 0}, {2, 0}});
}

TEST_CASE_TEMPLATE("boost_view: of nothing", IR, STRETTO_BOOST_GRAPHS) {
    const IR ir(0, {});
    const auto checked = check_graph(ir.view());
    REQUIRE(checked);
    CHECK(*checked == graph_summary{});
}

TEST_CASE_TEMPLATE("boost_view: vertices, edges and numbers are those of the graph", IR, STRETTO_BOOST_GRAPHS) {
    static_assert(dependence_graph<decltype(std::declval<const IR&>().view())>);
    stretto_check("multigraphs with cycles", 150, [] {
        const support::edge_graph g = *support::random_edge_graphs(false);
        support::index_pairs expected = support::edges_by_position(g);
        const IR ir(g.size, expected);
        std::sort(expected.begin(), expected.end());
        RC_ASSERT(support::edges_of(ir.view()) == expected);
        std::size_t n = 0;
        for (auto v : ir.view().vertices()) {
            RC_ASSERT((v == ir.vertex(n)));  // a void*, which cannot be shown
            RC_ASSERT(ir.view().index(v) == n++);
        }
        RC_ASSERT(n == g.size);
        RC_ASSERT(ir.view().index_bound() == n);
        const auto checked = check_graph(ir.view(), {.program_order_is_topological = false});
        if (!checked) RC_ASSERT(checked.error().rule == std::string("acyclic"));
    });
    stretto_check("acyclic multigraphs keep every promise of a view", 100, [] {
        const support::edge_graph g = *support::random_edge_graphs(true);
        const IR ir(g.size, support::edges_by_position(g));
        const auto checked = check_graph(ir.view(), {.program_order_is_topological = false});
        RC_ASSERT(checked.has_value());
        RC_ASSERT(checked->edges == g.edges.size());
    });
}
