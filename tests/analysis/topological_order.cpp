#include "stretto/analysis/topological_order.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <set>
#include <utility>
#include <vector>

#include "stretto/testing/archetypes.hpp"
#include "support/edge_graph.hpp"
#include "support/prop.hpp"
#include "support/random_program.hpp"
#include "support/shuffle.hpp"
#include "support/toy_irs.hpp"

using namespace stretto;

namespace {

using order_of_ids = std::vector<std::uint32_t>;

order_of_ids list(const topological_order<std::uint32_t>& order) { return {order.begin(), order.end()}; }

/// By definition: each vertex in program order, and before it, in the same way, those it depends on.
class definition {
public:
    explicit definition(const support::edge_graph& g) : g_(g) {
        for (std::uint32_t v : g.order) draw(v);
    }
    order_of_ids order;
    bool acyclic = true;

private:
    void draw(std::uint32_t v) {
        if (!begun_.insert(v).second) {
            acyclic = acyclic && std::find(order.begin(), order.end(), v) != order.end();
            return;
        }
        for (std::uint32_t u : g_.order)
            if (std::count(g_.edges.begin(), g_.edges.end(), std::pair(u, v)) > 0) draw(u);
        order.push_back(v);
    }

    const support::edge_graph& g_;
    std::set<std::uint32_t> begun_;
};

}  // namespace

TEST_CASE("what is listed too late moves alone, to just before the first that needs it") {
    const support::edge_graph g{5, {{4, 1}, {0, 1}, {2, 3}, {4, 3}}, {0, 1, 2, 3, 4}};
    const auto order = topological_sort(support::edge_graph_view{&g});
    REQUIRE(order);
    CHECK(list(*order) == order_of_ids{0, 4, 1, 2, 3});
    CHECK(order->size() == 5);
    CHECK((*order)[1] == 4);
}

TEST_CASE("what one vertex needs comes in program order, each behind what it needs itself") {
    const support::edge_graph g{6, {{4, 1}, {3, 1}, {5, 3}}, {0, 1, 2, 3, 4, 5}};
    CHECK(list(*topological_sort(support::edge_graph_view{&g})) == order_of_ids{0, 5, 3, 4, 1, 2});
}

TEST_CASE("failure is a cycle, in the direction of its edges, from its first vertex") {
    const support::edge_graph g{6, {{0, 1}, {1, 4}, {4, 3}, {3, 2}, {2, 4}, {4, 5}}, {0, 1, 2, 3, 4, 5}};
    const auto order = topological_sort(support::edge_graph_view{&g});
    REQUIRE(!order);
    CHECK(order.error() == cycle<std::uint32_t>{{2, 4, 3}});

    const support::edge_graph loop{2, {{0, 1}, {1, 1}}, {0, 1}};
    CHECK(topological_sort(support::edge_graph_view{&loop}).error() == cycle<std::uint32_t>{{1}});
}

TEST_CASE("only topological_sort makes a topological_order") {
    using order = topological_order<std::uint32_t>;
    static_assert(!std::default_initializable<order> && !std::constructible_from<order, order_of_ids>);
    static_assert(std::copyable<order>);
    const support::edge_graph nothing{0, {}, {}};
    REQUIRE(topological_sort(support::edge_graph_view{&nothing}));
    CHECK(topological_sort(support::edge_graph_view{&nothing})->size() == 0);
}

TEST_CASE("the order by definition, or a real cycle") {
    stretto_check("acyclic graphs", 400, [] {
        const support::edge_graph g = *support::random_edge_graphs(true);
        const auto order = topological_sort(support::edge_graph_view{&g});
        RC_ASSERT(order.has_value());
        RC_ASSERT(list(*order) == definition(g).order);
        const auto position = [&](std::uint32_t v) { return std::find(order->begin(), order->end(), v); };
        for (auto [u, v] : g.edges) RC_ASSERT(position(u) < position(v));
    });
    stretto_check("any graph", 400, [] {
        const support::edge_graph g = *support::random_edge_graphs(false);
        const definition expected(g);
        const auto order = topological_sort(support::edge_graph_view{&g});
        RC_ASSERT(order.has_value() == expected.acyclic);
        if (order) {
            RC_ASSERT(list(*order) == expected.order);
            return;
        }
        const order_of_ids& c = order.error().vertices;
        RC_ASSERT(!c.empty());
        RC_ASSERT(std::set<std::uint32_t>(c.begin(), c.end()).size() == c.size());
        for (std::size_t i = 0; i < c.size(); ++i)
            RC_ASSERT(std::count(g.edges.begin(), g.edges.end(), std::pair(c[i], c[(i + 1) % c.size()])) > 0);
        const auto position = [&](std::uint32_t v) { return std::find(g.order.begin(), g.order.end(), v); };
        for (std::uint32_t v : c) RC_ASSERT(position(c.front()) <= position(v));
    });
}

TEST_CASE_TEMPLATE("a program order that is topological comes back unchanged", IR, STRETTO_TOY_IRS) {
    stretto_check("stable", 40, [] {
        const support::toy_program p = *support::random_programs();
        const IR ir(p, *rc::gen::inRange<std::uint64_t>(0, 100));
        const auto order = topological_sort(ir.view());
        RC_ASSERT(order.has_value());
        std::size_t n = 0;
        for (auto v : ir.view().vertices()) RC_ASSERT((*order)[n++] == v);
        RC_ASSERT(n == order->size());
    });
}

TEST_CASE("neither the IR nor its addresses matter") {
    stretto_check("program order shuffled, four IRs, three allocations", 40, [] {
        const support::toy_program p = *support::random_programs({.max_ops = 30});
        // Lists a toy IR in another order, which needs repair.
        const std::vector<std::uint32_t> listed =
            support::shuffled(p.ops.size(), *rc::gen::inRange<std::uint64_t>(0, 99));
        std::vector<std::uint32_t> first;
        bool seen = false;
        for (const std::uint64_t seed : {0u, 1u, 2u})
            support::for_each_toy_ir(
                p,
                [&](auto& ir) {
                    const snapshot s(ir.view());
                    support::edge_graph g{static_cast<std::uint32_t>(s.size()), {}, listed};
                    for (std::uint32_t u : s.view().vertices())
                        for (std::uint32_t v : s.view().successors(u)) g.edges.emplace_back(u, v);
                    const auto order = topological_sort(support::edge_graph_view{&g});
                    RC_ASSERT(order.has_value());
                    if (!seen) first = list(*order);
                    seen = true;
                    RC_ASSERT(list(*order) == first);
                },
                seed);
    });
}

TEST_CASE("depth is no recursion") {
    // A chain listed backwards: everything is drawn forward at once.
    constexpr std::uint32_t n = 200'000;
    index_lists successors;
    for (std::uint32_t v = 0; v < n; ++v) {
        if (v > 0) successors.push(v - 1);
        successors.close_row();
    }
    const index_lists predecessors = successors.inverse(n);
    const auto order = topological_sort(snapshot_view(successors, predecessors));
    REQUIRE(order);
    CHECK(order->size() == n);
    CHECK((*order)[0] == n - 1);
    CHECK((*order)[n - 1] == 0);
    for (std::uint32_t i = 0; i < n; ++i)
        if ((*order)[i] != n - 1 - i) FAIL_CHECK("position " << i);
}

TEST_CASE("the order in which a view names neighbours does not matter") {
    stretto_check("edges named backwards", 200, [] {
        const support::edge_graph g = *support::random_edge_graphs(false);
        support::edge_graph backwards = g;
        std::reverse(backwards.edges.begin(), backwards.edges.end());
        const auto order = topological_sort(support::edge_graph_view{&g});
        const auto again = topological_sort(support::edge_graph_view{&backwards});
        RC_ASSERT(order.has_value() == again.has_value());
        RC_ASSERT((order ? *order == *again : order.error() == again.error()));
    });
}

TEST_CASE("the rows of a snapshot view are followed as they stand") {
    const auto rows = [](std::initializer_list<order_of_ids> lists) {
        index_lists all;
        for (const order_of_ids& row : lists) all.push_row(row);
        return all;
    };
    const index_lists reads = rows({{2, 1}, {}, {}}), readers = reads.inverse(3);
    CHECK(list(*topological_sort(snapshot_view(readers, reads))) == order_of_ids{2, 1, 0});
    // Two cycles behind one vertex: the one through the neighbour that stands first.
    for (const std::uint32_t first : {1u, 2u}) {
        const index_lists loops = rows({{first, 3 - first}, {0}, {0}}), back = loops.inverse(3);
        const auto failed = topological_sort(snapshot_view(back, loops));
        REQUIRE(!failed);
        CHECK(failed.error() == cycle<std::uint32_t>{{0, first}});
    }
}

TEST_CASE("archetypes suffice") {
    const auto order = topological_sort(archetypes::dependence(0));
    REQUIRE(order);
    std::size_t i = 0;
    for (archetypes::vertex v : archetypes::dependence(0).vertices()) CHECK((*order)[i++] == v);
}
