#include "stretto/interop/boost_graph.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <boost/concept/assert.hpp>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/dag_shortest_paths.hpp>
#include <boost/graph/depth_first_search.hpp>
#include <boost/graph/dominator_tree.hpp>
#include <boost/graph/graph_concepts.hpp>
#include <boost/graph/strong_components.hpp>
#include <boost/graph/topological_sort.hpp>
#include <boost/graph/transitive_closure.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <boost/property_map/property_map.hpp>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "capture/tiny_step.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/interop/boost_view.hpp"
#include "stretto/testing/archetypes.hpp"
#include "stretto/testing/check_graph.hpp"
#include "support/edge_graph.hpp"
#include "support/prop.hpp"
#include "support/random_program.hpp"
#include "support/read_step.hpp"
#include "support/toy_irs.hpp"

using namespace stretto;

namespace {

/// What Boost demands of a graph that its algorithms take.
template <class Graph>
struct is_a_boost_graph {
    using vertex = typename boost::graph_traits<Graph>::vertex_descriptor;
    using edge = typename boost::graph_traits<Graph>::edge_descriptor;
    BOOST_CONCEPT_ASSERT((boost::VertexListGraphConcept<Graph>));
    BOOST_CONCEPT_ASSERT((boost::BidirectionalGraphConcept<Graph>));
    BOOST_CONCEPT_ASSERT((boost::IncidenceGraphConcept<Graph>));
    BOOST_CONCEPT_ASSERT((boost::AdjacencyGraphConcept<Graph>));
    BOOST_CONCEPT_ASSERT((boost::EdgeListGraphConcept<Graph>));
    BOOST_CONCEPT_ASSERT((boost::ReadablePropertyGraphConcept<Graph, vertex, boost::vertex_index_t>));
    BOOST_CONCEPT_ASSERT((boost::ReadablePropertyGraphConcept<Graph, edge, boost::edge_index_t>));
    static constexpr bool value = true;
};

template <class IR>
using view_of = decltype(std::declval<const IR&>().view());

/// reach[u][v]: a path of at least one edge leads from position u to position v. Warshall.
using relation = std::vector<std::vector<bool>>;
relation closure_of(std::size_t n, const support::index_pairs& edges) {
    relation reach(n, std::vector<bool>(n, false));
    for (auto [u, v] : edges) reach[u][v] = true;
    for (std::size_t k = 0; k < n; ++k)
        for (std::size_t u = 0; u < n; ++u)
            for (std::size_t v = 0; reach[u][k] && v < n; ++v)
                if (reach[k][v]) reach[u][v] = true;
    return reach;
}

/// The edges of a Boost graph as pairs of vertex indices, sorted.
template <class Graph>
support::index_pairs boost_edges(const Graph& g) {
    support::index_pairs all;
    for (auto [e, end] = edges(g); e != end; ++e)
        all.emplace_back(get(boost::vertex_index, g, source(*e, g)), get(boost::vertex_index, g, target(*e, g)));
    std::sort(all.begin(), all.end());
    return all;
}

/// A Boost graph that must have `n` vertices and `edges` (by position, sorted), put to all the algorithms.
template <class Graph>
void run_boost_algorithms(const Graph& g, std::size_t n, const support::index_pairs& edges, bool acyclic) {
    using vertex = typename boost::graph_traits<Graph>::vertex_descriptor;
    using edge = typename boost::graph_traits<Graph>::edge_descriptor;
    const auto number = get(boost::vertex_index, g);
    const relation reach = closure_of(n, edges);
    const auto [first, last] = vertices(g);
    const std::vector<vertex> all(first, last);
    RC_ASSERT(all.size() == n && num_vertices(g) == n);
    if (n == 0) return;

    std::vector<boost::default_color_type> colours(n);
    const auto colour = boost::make_iterator_property_map(colours.begin(), number);

    // breadth_first_search from every vertex meets what it reaches.
    for (std::size_t u = 0; u < n; ++u) {
        boost::breadth_first_search(g, all[u], boost::color_map(colour));
        for (std::size_t v = 0; v < n; ++v) RC_ASSERT((colours[v] == boost::black_color) == (u == v || reach[u][v]));
    }

    // depth_first_search meets every edge once and a back edge if and only if there is a cycle.
    struct counter : boost::default_dfs_visitor {
        std::size_t* met;
        std::size_t* back;
        void examine_edge(const edge&, const Graph&) { ++*met; }
        void back_edge(const edge&, const Graph&) { ++*back; }
    };
    std::size_t met = 0, back = 0;
    counter count;
    count.met = &met;
    count.back = &back;
    boost::depth_first_search(g, boost::visitor(count));
    RC_ASSERT(met == edges.size());
    bool cycle = false;
    for (std::size_t v = 0; v < n; ++v) cycle = cycle || reach[v][v];
    RC_ASSERT((back > 0) == cycle);

    // Two vertices are in one strong component if each reaches the other.
    std::vector<std::size_t> component(n);
    boost::strong_components(g, boost::make_iterator_property_map(component.begin(), number));
    for (std::size_t u = 0; u < n; ++u)
        for (std::size_t v = 0; v < n; ++v)
            RC_ASSERT((component[u] == component[v]) == (u == v || (reach[u][v] && reach[v][u])));

    // The dominator tree is that of a graph of Boost's own. (Where an unreachable vertex precedes a reachable one, both
    // are wrong: Boost 1.74 counts it as a path from the root.)
    std::vector<vertex> parent(n, Graph::null_vertex());
    boost::lengauer_tarjan_dominator_tree(g, all[0], boost::make_iterator_property_map(parent.begin(), number));
    using plain = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS>;
    plain same(n);
    for (auto [u, v] : edges) add_edge(u, v, same);
    std::vector<std::size_t> expected(n, plain::null_vertex());
    boost::lengauer_tarjan_dominator_tree(
        same, 0, boost::make_iterator_property_map(expected.begin(), get(boost::vertex_index, same)));
    for (std::size_t v = 0; v < n; ++v)
        RC_ASSERT(parent[v] == (expected[v] == plain::null_vertex() ? Graph::null_vertex() : all[expected[v]]));

    // transitive_closure into a graph of Boost's.
    using closure_graph = boost::adjacency_list<boost::setS, boost::vecS, boost::directedS>;
    closure_graph closed;
    std::vector<std::size_t> in_closed(n);
    boost::transitive_closure(g, closed,
                              boost::orig_to_copy(boost::make_iterator_property_map(in_closed.begin(), number)));
    for (std::size_t u = 0; u < n; ++u)
        for (std::size_t v = 0; v < n; ++v)
            RC_ASSERT(boost::edge(in_closed[u], in_closed[v], closed).second == reach[u][v]);

    if (!acyclic) return;

    std::vector<vertex> order;
    boost::topological_sort(g, std::back_inserter(order));
    RC_ASSERT(order.size() == n);
    std::vector<std::size_t> at(n);
    for (std::size_t i = 0; i < n; ++i) at[get(number, order[i])] = n - 1 - i;  // Boost's order is backwards
    for (auto [u, v] : edges) RC_ASSERT(at[u] < at[v]);

    // dag_shortest_paths, weights by edge: parallel edges differ.
    const auto weight_of = [](std::size_t id) { return static_cast<int>(id * 7919 % 13); };
    std::vector<int> shortest(n, std::numeric_limits<int>::max());
    shortest[0] = 0;
    for (std::size_t k = n; k-- > 0;)
        for (auto [e, end] = out_edges(order[k], g); e != end; ++e) {
            const std::size_t u = get(number, source(*e, g)), v = get(number, target(*e, g));
            if (shortest[u] != std::numeric_limits<int>::max())
                shortest[v] = std::min(shortest[v], shortest[u] + weight_of(get(boost::edge_index, g, *e)));
        }
    std::vector<int> distance(n);
    boost::dag_shortest_paths(g, all[0],
                              boost::distance_map(boost::make_iterator_property_map(distance.begin(), number))
                                  .weight_map(boost::make_function_property_map<edge>(
                                      [&](const edge& e) { return weight_of(get(boost::edge_index, g, e)); })));
    RC_ASSERT(distance == shortest);
}

}  // namespace

TEST_CASE("boost_graph: Boost sorts operations of an IR it has never heard of") {
    const support::linked_ir ir(support::seeded_program(3, 30));
    // [boost-graph]
    const stretto::boost_graph g(ir.view());
    std::vector<support::linked::op*> order;
    boost::topological_sort(g, std::back_inserter(order));
    // [/boost-graph]
    REQUIRE(order.size() == support::vertices_of(ir.view()).size());
    std::set<support::linked::op*> later;
    for (auto* o : order) {  // Boost's order is backwards: users come first
        for (auto* user : ir.view().successors(o)) CHECK(later.contains(user));
        later.insert(o);
    }
}

TEST_CASE("boost_graph: Boost's concepts, for every IR") {
    static_assert(is_a_boost_graph<boost_graph<view_of<support::linked_ir>>>::value);
    static_assert(is_a_boost_graph<boost_graph<view_of<support::soa_ir>>>::value);
    static_assert(is_a_boost_graph<boost_graph<view_of<support::shared_ir>>>::value);
    static_assert(is_a_boost_graph<boost_graph<view_of<support::matrix_ir>>>::value);
    static_assert(is_a_boost_graph<boost_graph<snapshot_view>>::value);
    static_assert(is_a_boost_graph<boost_graph<archetypes::dependence>>::value);
}

TEST_CASE("boost_graph: order, parallel edges, self-loops") {
    const support::edge_graph e{4, {{2, 0}, {2, 3}, {2, 0}, {1, 1}}, {3, 2, 1, 0}};
    const boost_graph g(support::edge_graph_view{&e});
    using edges_of_vertex = std::vector<std::pair<std::uint32_t, std::size_t>>;
    const auto out = [&](std::uint32_t v) {
        edges_of_vertex all;
        for (auto [i, end] = out_edges(v, g); i != end; ++i) {
            CHECK(source(*i, g) == v);
            all.emplace_back(target(*i, g), get(boost::edge_index, g, *i));
        }
        return all;
    };
    const auto in = [&](std::uint32_t v) {
        edges_of_vertex all;
        for (auto [i, end] = in_edges(v, g); i != end; ++i) {
            CHECK(target(*i, g) == v);
            all.emplace_back(source(*i, g), get(boost::edge_index, g, *i));
        }
        return all;
    };
    CHECK(out(2) == edges_of_vertex{{3, 0}, {0, 1}, {0, 2}});  // in program order of the targets
    CHECK(out(1) == edges_of_vertex{{1, 3}});
    CHECK(out(0).empty());
    CHECK(in(0) == edges_of_vertex{{2, 1}, {2, 2}});
    CHECK(in(1) == edges_of_vertex{{1, 3}});
    CHECK(get(boost::vertex_index, g, 3u) == 0);
    CHECK(out_degree(1u, g) == 1);
    CHECK(in_degree(0u, g) == 2);
    CHECK(degree(1u, g) == 2);
    CHECK(num_edges(g) == 4);
}

TEST_CASE("boost_graph: of nothing") {
    const support::edge_graph nothing{0, {}, {}};
    const boost_graph g(support::edge_graph_view{&nothing});
    CHECK(num_vertices(g) == 0);
    CHECK(num_edges(g) == 0);
    CHECK(edges(g).first == edges(g).second);
    std::vector<std::uint32_t> order;
    boost::topological_sort(g, std::back_inserter(order));
    CHECK(order.empty());
}

TEST_CASE("boost_graph: is a value") {
    const support::edge_graph e{3, {{0, 1}, {1, 2}}, {0, 1, 2}};
    auto original = std::make_unique<boost_graph<support::edge_graph_view>>(support::edge_graph_view{&e});
    const boost_graph copy = *original;
    original.reset();
    CHECK(boost_edges(copy) == support::index_pairs{{0, 1}, {1, 2}});
    CHECK(get(get(boost::vertex_index, copy), 2u) == 2);
}

TEST_CASE("boost_graph: an edge is the same from both ends, and its number is its own") {
    stretto_check("multigraphs with cycles", 300, [] {
        const support::edge_graph e = *support::random_edge_graphs(false);
        const support::edge_graph_view view{&e};
        const boost_graph g(view);
        std::vector<std::uint32_t> seen_out(e.edges.size(), 0), seen_in(e.edges.size(), 0);
        for (std::uint32_t v = 0; v < e.size; ++v) {
            for (auto [i, end] = out_edges(v, g); i != end; ++i) {
                RC_ASSERT(source(*i, g) == v);
                ++seen_out[get(boost::edge_index, g, *i)];
            }
            for (auto [i, end] = in_edges(v, g); i != end; ++i) {
                RC_ASSERT(target(*i, g) == v);
                ++seen_in[get(boost::edge_index, g, *i)];
            }
            std::vector<std::uint32_t> by_edge, by_adjacency;
            for (auto [i, end] = out_edges(v, g); i != end; ++i) by_edge.push_back(target(*i, g));
            for (auto [i, end] = adjacent_vertices(v, g); i != end; ++i) by_adjacency.push_back(*i);
            RC_ASSERT(by_edge == by_adjacency);
        }
        RC_ASSERT(seen_out == std::vector<std::uint32_t>(e.edges.size(), 1));
        RC_ASSERT(seen_in == seen_out);
        support::index_pairs expected;
        for (auto [u, v] : e.edges)
            expected.emplace_back(get(boost::vertex_index, g, u), get(boost::vertex_index, g, v));
        std::sort(expected.begin(), expected.end());
        RC_ASSERT(boost_edges(g) == expected);
    });
}

TEST_CASE("boost_graph: there and back again") {
    stretto_check("a view of the graph of a view", 200, [] {
        const support::edge_graph e = *support::random_edge_graphs(true);
        const boost_graph g(support::edge_graph_view{&e});
        const boost_view back(g);
        static_assert(dependence_graph<decltype(back)>);
        const auto checked = check_graph(back, {.program_order_is_topological = false});
        RC_ASSERT(checked.has_value());
        RC_ASSERT(support::edges_of(back) == boost_edges(g));
        RC_ASSERT(support::vertices_of(back) == e.order);
    });
}

TEST_CASE("boost_graph: Boost's algorithms on random graphs") {
    stretto_check("with cycles", 150, [] {
        const support::edge_graph e = *support::random_edge_graphs(false);
        const boost_graph g(support::edge_graph_view{&e});
        run_boost_algorithms(g, e.size, boost_edges(g), false);
    });
    stretto_check("without", 150, [] {
        const support::edge_graph e = *support::random_edge_graphs(true);
        const boost_graph g(support::edge_graph_view{&e});
        run_boost_algorithms(g, e.size, boost_edges(g), true);
    });
}

TEST_CASE("boost_graph: Boost's dominator tree") {
    stretto_check("u dominates v if v cannot be reached once u is gone", 200, [] {
        support::edge_graph e = *support::random_edge_graphs(false);
        if (e.size == 0) return;
        const std::uint32_t root = e.order.front();
        const auto reached_from_root = [&](std::uint32_t without) {
            std::vector<bool> reached(e.size, false);
            if (root != without) reached[root] = true;
            for (std::uint32_t round = 0; round < e.size; ++round)
                for (auto [u, v] : e.edges)
                    if (reached[u] && v != without) reached[v] = true;
            return reached;
        };
        const std::vector<bool> reached = reached_from_root(e.size);
        std::erase_if(e.edges, [&](auto edge) { return !reached[edge.first]; });

        const boost_graph g(support::edge_graph_view{&e});
        std::vector<std::uint32_t> parent(e.size, g.null_vertex());
        boost::lengauer_tarjan_dominator_tree(
            g, root, boost::make_iterator_property_map(parent.begin(), get(boost::vertex_index, g)));
        for (std::uint32_t u = 0; u < e.size; ++u) {
            const std::vector<bool> rest = reached_from_root(u);
            for (std::uint32_t v = 0; v < e.size; ++v) {
                if (v == u || !reached[v]) continue;
                bool above = false;  // is u above v in the tree?
                for (std::uint32_t w = v; w != g.null_vertex(); w = parent[get(boost::vertex_index, g, w)])
                    above = above || w == u;
                RC_ASSERT(above == !rest[v]);
            }
        }
    });
}

TEST_CASE_TEMPLATE("boost_graph: Boost's algorithms on training steps", IR, STRETTO_TOY_IRS) {
    stretto_check("toy IRs", 30, [] {
        const support::toy_program p = *support::random_programs({.max_ops = 30});
        const IR ir(p, *rc::gen::inRange<std::uint64_t>(0, 100));
        const snapshot s(ir.view());
        run_boost_algorithms(boost_graph(ir.view()), p.ops.size(), support::edges_of(s.view()), true);
    });
}

TEST_CASE("boost_graph: a captured step") {
    const capture step = *support::parse_capture(support::tiny_step, "tiny.json");
    const boost_graph g(capture_view{&step});
    static_assert(is_a_boost_graph<boost_graph<capture_view>>::value);
    std::vector<std::uint32_t> order;
    boost::topological_sort(g, std::back_inserter(order));
    CHECK(std::set<std::uint32_t>(order.begin(), order.end()) == std::set<std::uint32_t>{0, 1, 2, 3, 4, 5, 6});
    CHECK(order.back() == 0);  // the input

    // The longest path in nanoseconds: the shortest with negative weights.
    const auto weight = boost::make_function_property_map<boost_graph<capture_view>::edge_descriptor>(
        [&](const auto& e) { return -step.duration(source(e, g)).count; });
    std::vector<std::int64_t> distance(num_vertices(g));
    const auto longest = boost::make_iterator_property_map(distance.begin(), get(boost::vertex_index, g));
    boost::dag_shortest_paths(g, 0u, boost::weight_map(weight).distance_map(longest));
    CHECK(-distance[6] == 30000 + 2500 + 2600);
}

TEST_CASE("boost_graph: archetypes suffice") {
    const archetypes::dependence view(0);
    const boost_graph g(view);
    CHECK(num_vertices(g) == 8);
    std::vector<archetypes::vertex> order;
    boost::topological_sort(g, std::back_inserter(order));
    CHECK(order.size() == 8);
    std::size_t n = 0;
    for (archetypes::vertex v : view.vertices()) CHECK(get(boost::vertex_index, g, v) == n++);
}
