#undef NDEBUG
#include "stretto/core/vertex_set.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <vector>

#include "stretto/testing/archetypes.hpp"
#include "support/dies.hpp"
#include "support/edge_graph.hpp"
#include "support/prop.hpp"

using namespace stretto;

TEST_CASE("insert says whether the vertex is new") {
    const support::edge_graph g{70, {}, {}};
    vertex_set s(support::edge_graph_view{&g});
    CHECK(s.empty());
    CHECK(s.insert(69));
    CHECK(!s.insert(69));
    CHECK(s.insert(0));
    CHECK(s.size() == 2);
    CHECK(s.contains(69));
    CHECK(!s.contains(68));
    s.erase(69);
    s.erase(69);
    CHECK(s.size() == 1);
    s.clear();
    CHECK(s.empty());
}

TEST_CASE("as good as std::set") {
    stretto_check("vertex_set", 200, [] {
        support::edge_graph g;
        g.size = *rc::gen::element<std::uint32_t>(1, 63, 64, 65, 128, 200);
        const auto members = rc::gen::container<std::set<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(0, g.size));
        const std::set<std::uint32_t> a = *members, b = *members;
        const auto set = [&](const std::set<std::uint32_t>& from) {
            vertex_set s(support::edge_graph_view{&g});
            for (std::uint32_t v : from) s.insert(v);
            return s;
        };
        std::set<std::uint32_t> both, either, only_a;
        std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::inserter(either, either.end()));
        std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(both, both.end()));
        std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::inserter(only_a, only_a.end()));
        auto s = set(a);
        RC_ASSERT((s |= set(b)) == set(either));
        RC_ASSERT(s.size() == either.size());
        s = set(a);
        RC_ASSERT((s &= set(b)) == set(both));
        s = set(a);
        RC_ASSERT((s -= set(b)) == set(only_a));
        RC_ASSERT(s.empty() == only_a.empty());
        RC_ASSERT((set(a) == set(b)) == (a == b));
    });
}

TEST_CASE("archetypes suffice; sets of different graphs do not combine") {
    vertex_set s(archetypes::indexed(0));
    CHECK(s.insert(archetypes::detail::at(5)));
    CHECK(s.contains(archetypes::detail::at(5)));
    const support::edge_graph small{2, {}, {}}, large{200, {}, {}};
    vertex_set a(support::edge_graph_view{&small}), b(support::edge_graph_view{&large});
    CHECK(support::last_words([&] { a |= b; }).find("differently numbered") != std::string::npos);
    CHECK(support::last_words([&] { a.insert(static_cast<std::uint32_t>(-90)); }).find("index_bound()") !=
          std::string::npos);
}
