#include "stretto/analysis/terminal_reachability.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "stretto/core/op_model.hpp"
#include "stretto/testing/archetypes.hpp"
#include "support/dag_shapes.hpp"
#include "support/prop.hpp"
#include "support/random_program.hpp"
#include "support/shuffle.hpp"
#include "support/small_dag.hpp"
#include "support/toy_irs.hpp"

using namespace stretto;
using support::closure_bits;
using support::dag_shape;
using support::small_dag;
using support::small_dag_view;

namespace {

/// Every `stride`-th vertex is a terminal, given in an order of its own.
void check_terminals(const dag_shape& g, std::uint32_t stride) {
    const auto order = topological_sort(g.view());
    REQUIRE(order);
    const closure_bits truth(g.view(), *order);
    std::vector<std::uint32_t> terminals;
    for (std::uint32_t v : support::shuffled(g.size(), 11))
        if (v % stride == 0) terminals.push_back(v);
    const terminal_reachability table(g.view(), *order, terminals);
    CHECK(table.size() == terminals.size());
    std::size_t wrong = 0;
    for (std::uint32_t u : terminals)
        for (std::uint32_t v : terminals) wrong += table.reaches(u, v) != truth.reaches(u, v);
    CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("terminals that reach one another") {
    // 0 -> 1 -> 2 -> 3, 1 -> 4; asked about 3, 4 and 1.
    const dag_shape g({{}, {0}, {1}, {2}, {1}});
    const auto order = topological_sort(g.view());
    REQUIRE(order);
    const terminal_reachability table(g.view(), *order, std::vector<std::uint32_t>{3, 4, 1});
    CHECK(table.size() == 3);
    CHECK(table.reaches(1, 3));
    CHECK(table.reaches(1, 4));
    CHECK(!table.reaches(3, 1));
    CHECK(!table.reaches(3, 4));
    CHECK(!table.reaches(4, 3));
    for (std::uint32_t v : {1u, 3u, 4u}) CHECK(table.reaches(v, v));
    // Numbers follow the topological order.
    CHECK(table.number_of(1) == 0);
    CHECK(table.number_of(3) == 1);
    CHECK(table.number_of(4) == 2);
    CHECK(table.reaches_number(0, 2));
    CHECK(!table.reaches_number(1, 2));
}

TEST_CASE("no terminals") {
    const dag_shape g({{}, {0}});
    const terminal_reachability table(g.view(), *topological_sort(g.view()), std::vector<std::uint32_t>());
    CHECK(table.size() == 0);
}

TEST_CASE("terminals answer as the closure does") {
    stretto_check("small graphs", 3000, [](const std::vector<std::uint8_t>& bytes) {
        const small_dag g = small_dag::decode(bytes, 64);
        const auto order = topological_sort(small_dag_view{&g});
        RC_ASSERT(order.has_value());
        const std::vector<std::uint64_t> truth = g.closure();
        std::vector<std::uint32_t> terminals;
        for (std::uint32_t v : g.listed)
            if (bytes[v % bytes.size()] % 4 != 0) terminals.push_back(v);
        const terminal_reachability table(small_dag_view{&g}, *order, terminals);
        for (std::uint32_t u : terminals)
            for (std::uint32_t v : terminals) RC_ASSERT(table.reaches(u, v) == static_cast<bool>(truth[u] >> v & 1u));
    });
}

TEST_CASE("one sweep, several sweeps, and counts around their limits") {
    SUBCASE("63, 64 and 65 terminals") {
        for (const std::uint32_t size : {63u, 64u, 65u}) check_terminals(support::random_shape(size, 2, size, size), 1);
    }
    SUBCASE("511, 512 and 513 terminals") {
        for (const std::uint32_t size : {511u, 512u, 513u})
            check_terminals(support::random_shape(size, 2, 30, size), 1);
    }
    SUBCASE("three sweeps over a long spine") { check_terminals(support::spine_with_branches(900).renamed(5), 1); }
    SUBCASE("replicas") { check_terminals(support::replicated(support::spine_with_branches(200), 6), 3); }
    SUBCASE("butterflies") { check_terminals(support::butterflies(5, 60), 2); }
    SUBCASE("a star") { check_terminals(support::star_shape(1500), 1); }
    SUBCASE("a star of 100,000 consumers, few of them terminals") {
        const dag_shape g = support::star_shape(100'000);
        const auto order = topological_sort(g.view());
        const terminal_reachability table(g.view(), *order, std::vector<std::uint32_t>{100'001, 50'000, 0, 70'000});
        CHECK(table.reaches(0, 100'001));
        CHECK(table.reaches(50'000, 100'001));
        CHECK(!table.reaches(50'000, 70'000));
    }
}

TEST_CASE("half a table") {
    const dag_shape g = support::random_shape(2048, 1, 100, 1);
    const terminal_reachability table(g.view(), *topological_sort(g.view()), g.view().vertices());
    CHECK(table.bytes() == (2048 * 2048 / 2 + 2048 * 64 / 2) / 8 + 2048 * 4);
}

TEST_CASE_TEMPLATE("collectives of any IR", IR, STRETTO_TOY_IRS) {
    stretto_check("random programs", 40, [] {
        const support::toy_program p = *support::random_programs({.max_ops = 40});
        const IR ir(p, *rc::gen::inRange<std::uint64_t>(0, 100));
        const auto g = ir.view();
        const auto order = topological_sort(g);
        RC_ASSERT(order.has_value());
        const snapshot copy(g);
        const closure_bits truth(copy.view(), copy.view().vertices());
        std::vector<vertex_t<decltype(g)>> starts;
        for (auto v : g.vertices())
            if (ir.model().kind(v) == op_kind::start || ir.model().kind(v) == op_kind::wait) starts.push_back(v);
        const terminal_reachability table(g, *order, starts);
        for (auto u : starts)
            for (auto v : starts) RC_ASSERT(table.reaches(u, v) == truth.reaches(copy.id(u), copy.id(v)));
    });
}

TEST_CASE("archetypes suffice") {
    const archetypes::dependence g(0);
    const auto order = topological_sort(g);
    REQUIRE(order);
    const terminal_reachability table(g, *order, g.vertices());
    for (archetypes::vertex v : g.vertices())
        for (archetypes::vertex w : g.successors(v)) CHECK(table.reaches(v, w));
}
