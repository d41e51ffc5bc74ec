#include "stretto/testing/archetypes.hpp"

#include <doctest/doctest.h>

#include <concepts>
#include <type_traits>

#include "stretto/core/vertex_map.hpp"

using namespace stretto;

namespace {

template <class I>
concept post_incrementable = requires(I i) { i++; };

}  // namespace

TEST_CASE("archetypes offer nothing beyond their concept") {
    static_assert(!std::default_initializable<archetypes::dependence>);
    static_assert(!std::is_copy_assignable_v<archetypes::program>);
    static_assert(!std::totally_ordered<archetypes::vertex> && !std::is_integral_v<archetypes::vertex>);
    static_assert(!std::is_copy_assignable_v<archetypes::range<archetypes::vertex>>);
    static_assert(!std::same_as<decltype(archetypes::range<int>().begin()), decltype(archetypes::range<int>().end())>);
    static_assert(!std::is_same_v<decltype(*archetypes::range<int>().begin()), int>);
    static_assert(!post_incrementable<archetypes::range<int>::iterator>);
}

TEST_CASE("the graph behind them is the documented one") {
    constexpr archetypes::program g(0);
    int reads_of_3 = 0;
    for (archetypes::vertex v : g.vertices())
        for (archetypes::value x : g.operands(v)) reads_of_3 += archetypes::detail::position(g.producer(x)) == 3;
    CHECK(reads_of_3 == 2);
    vertex_map<archetypes::program, int> depth(g, 0);
    int longest = 0;
    for (archetypes::vertex v : g.vertices())
        for (archetypes::vertex u : g.predecessors(v)) {
            depth[v] = depth[v] > depth[u] ? depth[v] : depth[u] + 1;
            longest = longest > depth[v] ? longest : depth[v];
        }
    CHECK(longest == 6);
    CHECK(depth.size() == 17);  // numbers have holes
}
