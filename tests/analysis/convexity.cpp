#include "stretto/analysis/convexity.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "analysis/closure_cases.hpp"
#include "stretto/analysis/cone.hpp"
#include "stretto/core/vertex_set.hpp"
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

ids list(std::span<const std::uint32_t> vertices) { return {vertices.begin(), vertices.end()}; }

/// Members, and everything between two of them.
ids closure_by_definition(const closure_case& c) {
    return c.in_order([&](std::uint32_t v) {
        const auto some = [&](auto test) { return std::any_of(c.chosen.begin(), c.chosen.end(), test); };
        return some([&](std::uint32_t w) { return c.path(w, v); }) &&
               some([&](std::uint32_t w) { return c.path(v, w); });
    });
}

/// Every path out of `from` whose inner vertices are outside the set: does one come back?
bool comes_back(const closure_case& c, std::uint32_t from, bool outside_already) {
    return std::any_of(c.dag.successors[from].begin(), c.dag.successors[from].end(),
                       [&](std::uint32_t v) { return c.is_chosen(v) ? outside_already : comes_back(c, v, true); });
}

/// Why `path` is no witness of a violation; empty if it is one.
const char* flaw(const closure_case& c, const ids& path) {
    if (path.size() < 3) return "too short";
    if (!c.is_chosen(path.front()) || !c.is_chosen(path.back())) return "an end is outside";
    for (std::size_t i = 0; i + 1 < path.size(); ++i) {
        const ids& next = c.dag.successors[path[i]];
        if (std::find(next.begin(), next.end(), path[i + 1]) == next.end()) return "no edge";
        if (i > 0 && c.is_chosen(path[i])) return "enters in between";
    }
    return "";
}

}  // namespace

TEST_CASE("a set that a path leaves and enters again is not convex") {
    // 0 -> 1 -> 2 -> 3.
    const support::large_graph g = support::path_graph(4);
    const auto order = *topological_sort(g.view());
    // [convexity]
    const auto broken = check_convex(g.view(), order, {0u, 3u});
    REQUIRE(!broken);
    CHECK(broken.error() == reentrant_path<std::uint32_t>{{0, 1, 2, 3}});

    const auto whole = check_convex(g.view(), order, {2u, 1u, 2u});
    REQUIRE(whole);
    CHECK(whole->size() == 2);
    CHECK((*whole)[0] == 1);
    CHECK((*whole)[1] == 2);

    const convex_subgraph<std::uint32_t> closed = convex_closure(g.view(), order, {3u, 1u});
    CHECK(ids(closed.begin(), closed.end()) == ids{1, 2, 3});
    // [/convexity]
    CHECK(closed == *check_convex(g.view(), order, closed));
}

TEST_CASE("of several paths, the one whose last vertex outside comes first, straight from the set, by the latest") {
    // Set {0, 1, 6}. Outside: 2 (reads 0), 3 (reads 2 and 1), 4 (reads 2). 6 reads 4 and 3; 5 reads 4 alone.
    support::large_graph g(7);
    for (auto [u, v] : {std::pair{0u, 2u}, {2u, 3u}, {1u, 3u}, {0u, 3u}, {2u, 4u}, {4u, 6u}, {3u, 6u}, {4u, 5u}})
        g.add_edge(u, v);
    g.finish();
    const auto order = *topological_sort(g.view());
    convexity questions(g.view(), order);
    CHECK(list(questions.violation({0u, 1u, 6u})) == ids{1, 3, 6});
    CHECK(list(questions.violation({0u, 6u})) == ids{0, 3, 6});
    CHECK(list(questions.violation({2u, 6u})) == ids{2, 3, 6});
    CHECK(list(questions.violation({0u, 5u})) == ids{0, 2, 4, 5});
    CHECK(questions.violation({0u, 1u, 2u}).empty());
}

TEST_CASE("only the functions that check make a convex subgraph") {
    using subgraph = convex_subgraph<std::uint32_t>;
    static_assert(!std::default_initializable<subgraph> && !std::constructible_from<subgraph, ids>);
    static_assert(std::copyable<subgraph>);
    const support::large_graph g = support::path_graph(3);
    const auto order = *topological_sort(g.view());
    REQUIRE(check_convex(g.view(), order, ids{}));
    CHECK(check_convex(g.view(), order, ids{})->empty());
    CHECK(convex_closure(g.view(), order, ids{}).size() == 0);
}

TEST_CASE("convexity by definition") {
    stretto_check("closure, violation, check", 60000, [](const std::vector<std::uint8_t>& bytes) {
        const closure_case c(bytes);
        convexity questions(c.view(), c.order);
        for (int round = 0; round < 2; ++round) {
            RC_ASSERT(list(questions.closure(c.chosen)) == closure_by_definition(c));
            const ids path = list(questions.violation(c.chosen));
            const bool convex = closure_by_definition(c).size() == c.chosen.size();
            RC_ASSERT(path.empty() == convex);
            const auto checked = questions.check(c.chosen);
            RC_ASSERT(checked.has_value() == convex);
            if (convex) {
                RC_ASSERT(ids(checked->begin(), checked->end()) == closure_by_definition(c));
            } else {
                RC_ASSERT(flaw(c, path) == std::string());
                RC_ASSERT(checked.error().vertices == path);
            }
        }
    });
    stretto_check("against all paths, and as a set", 30000, [](const std::vector<std::uint8_t>& bytes) {
        const closure_case c(bytes, 12);
        const bool leaves_and_comes_back =
            std::any_of(c.chosen.begin(), c.chosen.end(), [&](std::uint32_t v) { return comes_back(c, v, false); });
        vertex_set<support::small_dag_view> set(c.view());
        for (std::uint32_t v : c.chosen) set.insert(v);
        RC_ASSERT(check_convex(c.view(), c.order, set).has_value() == !leaves_and_comes_back);
        // The least convex superset: closing it again adds nothing, and every addition lies on a path.
        const convex_subgraph<std::uint32_t> closed = convex_closure(c.view(), c.order, set);
        RC_ASSERT(ids(closed.begin(), closed.end()) == closure_by_definition(c));
        RC_ASSERT(check_convex(c.view(), c.order, closed).has_value());
    });
    stretto_check("the order of neighbours does not matter", 10000, [](const std::vector<std::uint8_t>& bytes) {
        closure_case c(bytes);
        const auto path = [](const closure_case& of) {
            convexity questions(of.view(), of.order);
            return list(questions.violation(of.chosen));
        };
        const ids before = path(c);
        for (ids& row : c.dag.successors) std::reverse(row.begin(), row.end());
        for (ids& row : c.dag.predecessors) std::reverse(row.begin(), row.end());
        RC_ASSERT(path(c) == before);
    });
}

TEST_CASE_TEMPLATE("neither the IR nor its addresses matter", IR, STRETTO_TOY_IRS) {
    stretto_check("closure of pairs", 30, [] {
        const support::toy_program p = *support::random_programs({.max_ops = 25});
        const IR ir(p, *rc::gen::inRange<std::uint64_t>(0, 100));
        const support::soa_ir other(p);
        const auto order = *topological_sort(ir.view());
        const auto other_order = *topological_sort(other.view());
        convexity here(ir.view(), order);
        convexity there(other.view(), other_order);
        for (std::size_t i = 0; i < order.size(); ++i)
            for (std::size_t j = i; j < order.size(); ++j) {
                RC_ASSERT(here.closure({order[j], order[i]}).size() ==
                          there.closure({other_order[i], other_order[j]}).size());
                const auto a = here.violation({order[i], order[j]});
                const auto b = there.violation({other_order[i], other_order[j]});
                RC_ASSERT(a.size() == b.size());
                for (std::size_t k = 0; k < a.size(); ++k) {
                    const auto at = std::find(order.begin(), order.end(), a[k]) - order.begin();
                    RC_ASSERT(other_order[static_cast<std::size_t>(at)] == b[k]);
                }
            }
    });
}

TEST_CASE("large shapes, without recursion, and without allocation once warm") {
    const auto ends = [](const support::large_graph& g, std::uint32_t source, std::uint32_t sink, std::size_t between,
                         std::size_t shortest) {
        const auto order = *topological_sort(g.view());
        convexity questions(g.view(), order);
        CHECK(questions.closure({source, sink}).size() == between + 2);
        CHECK(questions.violation({source, sink}).size() == shortest);
        CHECK(support::allocations_of([&] {
                  if (questions.closure({source, sink}).size() != between + 2) FAIL_CHECK("another closure");
                  if (questions.violation({source, sink}).size() != shortest) FAIL_CHECK("another path");
              }) == 0);
    };
    ends(support::path_graph(1'000'000), 0, 999'999, 999'998, 1'000'000);
    ends(support::star_graph(100'002), 0, 100'001, 100'000, 3);
    // From a corner to the same corner, 39 layers on: 2 + 4 + ... + 32 vertices at either end, 28 full layers between.
    ends(support::butterfly_graph(6, 40), 0, 39 * 64, 2 * 62 + 28 * 64, 40);
    ends(support::replica_graph(16, 1000, 10), 10, 1009, 998, 1000);
}

TEST_CASE("a small set in a large graph looks at its window only") {
    const support::large_graph g = support::path_graph(100'000);
    const auto order = *topological_sort(g.view());
    std::size_t visited = 0;
    struct counting_view {
        using vertex_type = std::uint32_t;
        snapshot_view base;
        std::size_t* count;
        id_range vertices() const { return base.vertices(); }
        std::span<const std::uint32_t> successors(std::uint32_t v) const { return ++*count, base.successors(v); }
        std::span<const std::uint32_t> predecessors(std::uint32_t v) const { return ++*count, base.predecessors(v); }
        std::size_t index(std::uint32_t v) const { return v; }
        std::size_t index_bound() const { return base.index_bound(); }
    };
    convexity questions(counting_view{g.view(), &visited}, order);
    CHECK(questions.closure({50'000u, 50'007u}).size() == 8);
    CHECK(visited <= 16);
    visited = 0;
    CHECK(questions.violation({50'000u, 50'007u}).size() == 8);
    CHECK(visited <= 16);
}

TEST_CASE("archetypes suffice") {
    const archetypes::dependence g(0);
    const auto order = *topological_sort(g);
    const auto broken = check_convex(g, order, {order[0], order[4]});
    REQUIRE(!broken);
    CHECK(broken.error().vertices.front() == order[0]);
    CHECK(convex_closure(g, order, {order[0], order[4]}).size() == 5);
    convexity questions(g, order);
    CHECK(questions.closure(g.predecessors(order[4])).size() == 2);
    static_assert(!std::constructible_from<convexity<archetypes::dependence>, archetypes::dependence,
                                           topological_order<archetypes::vertex>&&>);
}
