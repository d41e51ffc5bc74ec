#include "stretto/analysis/cone.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "analysis/closure_cases.hpp"
#include "stretto/testing/archetypes.hpp"
#include "support/count_allocations.hpp"
#include "support/prop.hpp"
#include "support/random_program.hpp"
#include "support/small_dag.hpp"
#include "support/toy_irs.hpp"

using namespace stretto;
using support::closure_case;

namespace {

using ids = std::vector<std::uint32_t>;

ids list(std::span<const std::uint32_t> cone) { return {cone.begin(), cone.end()}; }

/// 0 -> 1 -> 3 -> 4, 0 -> 2 -> 3, and 5 alone; listed as numbered.
support::small_dag diamond() {
    support::small_dag g;
    g.size = 6;
    g.successors.resize(6);
    g.predecessors.resize(6);
    g.listed = {0, 1, 2, 3, 4, 5};
    for (auto [u, v] : {std::pair{0u, 1u}, {1u, 3u}, {0u, 2u}, {2u, 3u}, {3u, 4u}}) g.add_edge(u, v);
    return g;
}

/// By definition, whatever the order of the search: vertices inside the window, along edges that are kept.
template <class KeepEdge>
ids by_definition(const closure_case& c, order_window window, bool forward, KeepEdge keep) {
    const auto inside = [&](std::uint32_t v) { return c.position[v] >= window.first && c.position[v] < window.last; };
    std::vector<bool> in(c.dag.size, false);
    for (std::uint32_t v : c.chosen) in[v] = inside(v);
    for (bool grows = true; grows;) {
        grows = false;
        for (std::uint32_t u = 0; u < c.dag.size; ++u)
            for (std::uint32_t v : c.dag.successors[u]) {
                if (!inside(u) || !inside(v) || !keep(u, v)) continue;
                const std::uint32_t from = forward ? u : v, to = forward ? v : u;
                if (in[from] && !in[to]) in[to] = grows = true;
            }
    }
    return c.in_order([&](std::uint32_t v) { return in[v]; });
}

/// The same graph under the positions of its vertices as their numbers.
support::small_dag numbered_in_order(const closure_case& c) {
    support::small_dag g;
    g.size = c.dag.size;
    g.successors.resize(g.size);
    g.predecessors.resize(g.size);
    for (std::uint32_t p = 0; p < g.size; ++p) g.listed.push_back(p);
    for (std::uint32_t u = 0; u < g.size; ++u)
        for (std::uint32_t v : c.dag.successors[u]) g.add_edge(c.position[u], c.position[v]);
    return g;
}

}  // namespace

TEST_CASE("what a vertex depends on, and what depends on it") {
    const support::small_dag g = diamond();
    const support::small_dag_view view{&g};
    const auto order = *topological_sort(view);
    cone_finder cones(view, order);
    CHECK(list(cones.down_set({3u})) == ids{0, 1, 2, 3});
    CHECK(list(cones.up_set({1u})) == ids{1, 3, 4});
    CHECK(list(cones.up_set({1u, 2u, 1u})) == ids{1, 2, 3, 4});
    CHECK(list(cones.up_set(ids{})).empty());
    CHECK(list(cones.down_set({5u})) == ids{5});

    const vertex_set<support::small_dag_view> above = up_set(view, order, {1u});
    CHECK(above.size() == 3);
    CHECK(above.contains(4));
    CHECK(down_set(view, order, {1u}).size() == 2);
}

TEST_CASE("a window ends paths, a filter hides edges") {
    const support::small_dag g = diamond();
    const support::small_dag_view view{&g};
    const auto order = *topological_sort(view);
    cone_finder cones(view, order);
    const order_window without_ends{cones.position(1), cones.position(3) + 1};
    CHECK(list(cones.up_set({0u, 2u}, without_ends)) == ids{2, 3});
    CHECK(list(cones.down_set({3u}, without_ends)) == ids{1, 2, 3});
    const auto not_into_three = [](std::uint32_t, std::uint32_t v) { return v != 3; };
    CHECK(list(cones.up_set({0u}, {}, not_into_three)) == ids{0, 1, 2});
    CHECK(list(cones.down_set({4u}, {}, not_into_three)) == ids{3, 4});
}

TEST_CASE("cones by definition") {
    int numbered_otherwise = 0;
    stretto_check("windows and filters", 40000, [&](const std::vector<std::uint8_t>& bytes) {
        const closure_case c(bytes);
        cone_finder cones(c.view(), c.order);
        const support::small_dag renamed = numbered_in_order(c);
        const auto renamed_order = *topological_sort(support::small_dag_view{&renamed});
        cone_finder renamed_cones(support::small_dag_view{&renamed}, renamed_order);
        ids renamed_seeds;
        for (std::uint32_t v : c.chosen) renamed_seeds.push_back(c.position[v]);
        numbered_otherwise += !std::is_sorted(c.order.begin(), c.order.end());
        const order_window window{c.spare % 4u, c.spare % 3u == 0 ? SIZE_MAX : c.spare / 8u};
        const std::uint32_t modulus = c.spare % 5u + 2;
        const auto keep = [modulus](std::uint32_t u, std::uint32_t v) { return (u + 2 * v) % modulus != 0; };
        // The finder is used again and again: nothing of one query may leak into the next.
        const auto keep_renamed = [&](std::uint32_t u, std::uint32_t v) { return keep(c.order[u], c.order[v]); };
        const auto named_as_before = [&](std::span<const std::uint32_t> positions) {
            ids vertices;
            for (std::uint32_t p : positions) vertices.push_back(c.order[p]);
            return vertices;
        };
        for (int round = 0; round < 2; ++round) {
            const ids below = by_definition(c, window, false, keep), above = by_definition(c, window, true, keep);
            RC_ASSERT(list(cones.down_set(c.chosen, window, keep)) == below);
            RC_ASSERT(list(cones.up_set(c.chosen, window, keep)) == above);
            RC_ASSERT(named_as_before(renamed_cones.down_set(renamed_seeds, window, keep_renamed)) == below);
            RC_ASSERT(named_as_before(renamed_cones.up_set(renamed_seeds, window, keep_renamed)) == above);
        }
    });
    if (support::runs_all_cases()) CHECK(numbered_otherwise > 10000);
    stretto_check("closures", 40000, [](const std::vector<std::uint8_t>& bytes) {
        const closure_case c(bytes, 60);
        cone_finder cones(c.view(), c.order);
        const auto reaches_some = [&](std::uint32_t v) {
            return std::any_of(c.chosen.begin(), c.chosen.end(), [&](std::uint32_t w) { return c.path(v, w); });
        };
        const auto some_reaches = [&](std::uint32_t v) {
            return std::any_of(c.chosen.begin(), c.chosen.end(), [&](std::uint32_t w) { return c.path(w, v); });
        };
        RC_ASSERT(list(cones.down_set(c.chosen)) == c.in_order(reaches_some));
        RC_ASSERT(list(cones.up_set(c.chosen)) == c.in_order(some_reaches));
        // As sets, and from a set.
        const auto below = down_set(c.view(), c.order, c.chosen);
        const auto above = up_set(c.view(), c.order, below);
        for (std::uint32_t v = 0; v < c.dag.size; ++v) {
            RC_ASSERT(below.contains(v) == reaches_some(v));
            const bool expected = std::any_of(c.order.begin(), c.order.end(),
                                              [&](std::uint32_t w) { return below.contains(w) && c.path(w, v); });
            RC_ASSERT(above.contains(v) == expected);
        }
    });
}

TEST_CASE_TEMPLATE("neither the IR nor its addresses matter", IR, STRETTO_TOY_IRS) {
    stretto_check("positions of the cone of every vertex", 30, [] {
        const support::toy_program p = *support::random_programs({.max_ops = 30});
        const IR ir(p, *rc::gen::inRange<std::uint64_t>(0, 100));
        const support::soa_ir other(p);
        const auto order = *topological_sort(ir.view());
        const auto other_order = *topological_sort(other.view());
        cone_finder cones(ir.view(), order);
        cone_finder other_cones(other.view(), other_order);
        for (std::size_t i = 0; i < order.size(); ++i) {
            ids here, there;
            for (auto v : cones.down_set({order[i]})) here.push_back(static_cast<std::uint32_t>(cones.position(v)));
            for (auto v : other_cones.down_set({other_order[i]}))
                there.push_back(static_cast<std::uint32_t>(other_cones.position(v)));
            RC_ASSERT(here == there);
            RC_ASSERT(cones.up_set({order[i]}).size() == other_cones.up_set({other_order[i]}).size());
        }
    });
}

TEST_CASE("large shapes, without recursion, and without allocation once warm") {
    const auto whole = [](const support::large_graph& g, std::uint32_t source, std::uint32_t sink) {
        const auto order = *topological_sort(g.view());
        cone_finder cones(g.view(), order);
        CHECK(cones.up_set({source}).size() == g.size());
        CHECK(cones.down_set({sink}).size() == g.size());
        CHECK(support::allocations_of([&] {
                  if (cones.up_set({source}).size() != g.size()) FAIL_CHECK("not the whole graph");
                  if (cones.down_set({sink}).size() != g.size()) FAIL_CHECK("not the whole graph");
              }) == 0);
    };
    whole(support::path_graph(1'000'000), 0, 999'999);
    support::large_graph turned(1'000'000);  // numbered against its order
    for (std::uint32_t v = 1; v < turned.size(); ++v) turned.add_edge(v, v - 1);
    turned.finish();
    whole(turned, 999'999, 0);
    whole(support::star_graph(100'002), 0, 100'001);
    const support::large_graph butterfly = support::butterfly_graph(6, 40);
    const auto order = *topological_sort(butterfly.view());
    cone_finder cones(butterfly.view(), order);
    CHECK(cones.up_set({0u}).size() == 1 + 2 + 4 + 8 + 16 + 32 + 34 * 64);
    const support::large_graph replicas = support::replica_graph(16, 1000, 10);
    const auto replica_order = *topological_sort(replicas.view());
    cone_finder of_replicas(replicas.view(), replica_order);
    CHECK(of_replicas.down_set({10u + 3 * 1000 + 999}).size() == 1010);
    CHECK(of_replicas.up_set({10u + 3 * 1000}).size() == 1000);
}

TEST_CASE("nothing, and one vertex") {
    const support::large_graph none = support::path_graph(0);
    const auto no_order = *topological_sort(none.view());
    cone_finder cones(none.view(), no_order);
    CHECK(cones.up_set(ids{}).empty());
    CHECK(cones.down_set(ids{}, {5, 7}).empty());
    const support::large_graph one = support::path_graph(1);
    const auto order = *topological_sort(one.view());
    CHECK(up_set(one.view(), order, {0u}).size() == 1);
}

TEST_CASE("archetypes suffice") {
    const archetypes::dependence g(0);
    const auto order = *topological_sort(g);
    cone_finder cones(g, order);
    CHECK(cones.up_set({order[3]}).size() == 5);
    CHECK(cones.down_set(g.predecessors(order[4])).size() == 4);
    static_assert(!std::constructible_from<cone_finder<archetypes::dependence>, archetypes::dependence,
                                           topological_order<archetypes::vertex>&&>);
}
