#include "stretto/analysis/topological_order.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <set>
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

/// By definition: again and again, the first vertex in program order all of whose predecessors are done.
order_of_ids by_definition(const support::edge_graph& g) {
    order_of_ids done;
    const auto is_done = [&](std::uint32_t v) { return std::find(done.begin(), done.end(), v) != done.end(); };
    for (bool progress = true; progress;) {
        progress = false;
        for (std::uint32_t v : g.order) {
            if (is_done(v)) continue;
            if (!std::all_of(g.edges.begin(), g.edges.end(), [&](auto e) { return e.second != v || is_done(e.first); }))
                continue;
            done.push_back(v);
            progress = true;
            break;
        }
    }
    return done;
}

}  // namespace

TEST_CASE("a vertex that was listed too early moves alone") {
    const support::edge_graph g{5, {{4, 1}, {0, 1}, {2, 3}}, {0, 1, 2, 3, 4}};
    const auto order = topological_sort(support::edge_graph_view{&g});
    REQUIRE(order);
    CHECK(list(*order) == order_of_ids{0, 2, 3, 4, 1});
    CHECK(order->size() == 5);
    CHECK((*order)[3] == 4);
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

TEST_CASE("the smallest order, or a real cycle") {
    stretto_check("acyclic graphs", 400, [] {
        const support::edge_graph g = *support::random_edge_graphs(true);
        const auto order = topological_sort(support::edge_graph_view{&g});
        RC_ASSERT(order.has_value());
        RC_ASSERT(list(*order) == by_definition(g));
    });
    stretto_check("any graph", 400, [] {
        const support::edge_graph g = *support::random_edge_graphs(false);
        const order_of_ids expected = by_definition(g);
        const auto order = topological_sort(support::edge_graph_view{&g});
        RC_ASSERT(order.has_value() == (expected.size() == g.size));
        if (order) {
            RC_ASSERT(list(*order) == expected);
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

TEST_CASE("depth is no recursion, size is no heap") {
    // A chain listed backwards: the worst case for both.
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

TEST_CASE("the rows of a snapshot view may stand in any order") {
    // Given by hand: row v lists successors, descending.
    index_lists successors;
    for (const order_of_ids& row : {order_of_ids{3, 2}, order_of_ids{0}, order_of_ids{}, order_of_ids{}})
        successors.push_row(row);
    const index_lists predecessors = successors.inverse(4);
    const auto order = topological_sort(snapshot_view(successors, predecessors));
    REQUIRE(order);
    CHECK(list(*order) == order_of_ids{1, 0, 2, 3});

    // Two cycles behind one vertex: the one through its smaller neighbour is found, whichever stands first.
    for (const bool first : {false, true}) {
        index_lists reads;
        reads.push_row(first ? order_of_ids{1, 2} : order_of_ids{2, 1});
        reads.push_row(order_of_ids{0});
        reads.push_row(order_of_ids{0});
        const index_lists readers = reads.inverse(3);
        const auto failed = topological_sort(snapshot_view(readers, reads));
        REQUIRE(!failed);
        CHECK(failed.error() == cycle<std::uint32_t>{{0, 1}});
    }
}

TEST_CASE("the queue of ids pops the smallest, across all its levels") {
    stretto_check("id_queue against std::set", 200, [] {
        const std::uint32_t bound = *rc::gen::element<std::uint32_t>(1, 63, 64, 65, 4096, 4097, 300'000);
        const auto pushes = *rc::gen::container<std::vector<std::uint32_t>>(
            rc::gen::map(rc::gen::arbitrary<std::uint32_t>(), [bound](std::uint32_t x) { return x % bound; }));
        detail::id_queue queue(bound);
        std::set<std::uint32_t> model;
        std::size_t k = 0;
        for (std::uint32_t id : pushes) {
            queue.push(id);
            model.insert(id);
            if (k++ % 3 == 2) {
                RC_ASSERT(queue.pop() == *model.begin());
                model.erase(model.begin());
            }
        }
        for (; !model.empty(); model.erase(model.begin())) {
            RC_ASSERT(!queue.empty());
            RC_ASSERT(queue.pop() == *model.begin());
        }
        RC_ASSERT(queue.empty());
    });
}

TEST_CASE("archetypes suffice") {
    const auto order = topological_sort(archetypes::dependence(0));
    REQUIRE(order);
    std::size_t i = 0;
    for (archetypes::vertex v : archetypes::dependence(0).vertices()) CHECK((*order)[i++] == v);
}
