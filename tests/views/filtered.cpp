#include "stretto/views/filtered.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "stretto/testing/check_graph.hpp"
#include "stretto/testing/model_archetypes.hpp"
#include "stretto/views/adaptor.hpp"
#include "support/edge_graph.hpp"
#include "support/prop.hpp"
#include "support/random_program.hpp"
#include "support/toy_irs.hpp"

using namespace stretto;

TEST_CASE("filtered: hidden vertices take their edges with them") {
    support::edge_graph g{4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {0, 3}}, {0, 1, 2, 3}};
    const auto f = views::filtered(support::edge_graph_view{&g}, [](std::uint32_t v) { return v != 1; });
    CHECK(support::vertices_of(f) == std::vector<std::uint32_t>{0, 2, 3});
    CHECK(support::edges_of(f) == support::index_pairs{{1, 0}, {3, 0}, {3, 1}});  // index = 3 - vertex
    CHECK(f.index_bound() == 4);
}

TEST_CASE("filtered: edges are hidden from both ends") {
    support::edge_graph g{3, {{0, 1}, {0, 2}, {1, 2}}, {0, 1, 2}};
    const auto everything = [](std::uint32_t) { return true; };
    const auto f = views::filtered(support::edge_graph_view{&g}, everything,
                                   [](std::uint32_t u, std::uint32_t v) { return !(u == 0 && v == 2); });
    CHECK(support::edges_of(f) == support::index_pairs{{1, 0}, {2, 1}});
    CHECK(check_graph(f));
}

TEST_CASE("filtered: a predicate may capture, although the view can then not be assigned") {
    support::edge_graph g{3, {{0, 1}, {1, 2}}, {0, 1, 2}};
    std::uint32_t limit = 2;
    const auto f = views::filtered(support::edge_graph_view{&g}, [&limit](std::uint32_t v) { return v < limit; });
    using view = std::remove_const_t<decltype(f)>;
    static_assert(dependence_graph<view> && !std::is_copy_assignable_v<view> && std::is_trivially_copyable_v<view>);
    CHECK(support::vertices_of(f).size() == 2);
    limit = 1;  // nothing was computed in advance
    CHECK(support::vertices_of(f).size() == 1);
    const auto twice = views::filtered(f, [](std::uint32_t v) { return v != 0; });
    CHECK(support::vertices_of(twice).empty());
}

TEST_CASE("filtered: values do not survive") {
    auto keep = [](auto) { return true; };
    static_assert(!dataflow_graph<filtered_view<support::soa::step_view, decltype(keep)>>);
    static_assert(dependence_graph<filtered_view<support::soa::step_view, decltype(keep)>>);
}

TEST_CASE_TEMPLATE("filtered: exactly the kept vertices and edges", IR, STRETTO_TOY_IRS) {
    stretto_check("filtered", 40, [] {
        const support::toy_program p = *support::random_programs();
        const auto mask = *rc::gen::arbitrary<std::uint64_t>();
        const IR ir(p, 5);
        const auto base = ir.view();
        const auto kept = [mask](std::size_t i) { return (mask >> (i % 64)) % 2 == 0; };
        const auto f = views::filtered(
            base, [base, kept](auto v) { return kept(base.index(v)); },
            [base](auto u, auto v) { return (base.index(u) + base.index(v)) % 3 != 0; });
        const auto checked = check_graph(f);
        if (!checked) RC_FAIL(checked.error().message());
        std::vector<std::size_t> vertices = support::indices_of(base);
        std::erase_if(vertices, [&](std::size_t i) { return !kept(i); });
        RC_ASSERT(support::indices_of(f) == vertices);
        support::index_pairs edges = support::edges_of(base);
        std::erase_if(edges,
                      [&](auto e) { return !kept(e.first) || !kept(e.second) || (e.first + e.second) % 3 == 0; });
        RC_ASSERT(support::edges_of(f) == edges);
    });
}

TEST_CASE("filtered: archetypes suffice") {
    const archetypes::dependence base(0);
    auto no_waits = [](archetypes::vertex v) { return archetypes::kinds(0).kind(v) != op_kind::wait; };
    const auto f = views::filtered(base, no_waits);
    CHECK(check_graph(f));
    CHECK(support::vertices_of(f).size() == 6);
    static_assert(!vertex_list_graph<filtered_view<archetypes::adjacency, decltype(no_waits)>>);
    static_assert(bidirectional_adjacency_graph<filtered_view<archetypes::adjacency, decltype(no_waits)>>);
    static_assert(vertex_list_graph<filtered_view<archetypes::vertex_list, decltype(no_waits)>>);
}
