#undef NDEBUG
#include "stretto/core/vertex_map.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <vector>

#include "stretto/testing/archetypes.hpp"
#include "support/dies.hpp"
#include "support/edge_graph.hpp"
#include "support/prop.hpp"
#include "support/random_program.hpp"
#include "support/toy_irs.hpp"

using namespace stretto;

TEST_CASE("a value for every vertex, by default or as told") {
    const support::edge_graph g{3, {}, {0, 1, 2}};
    vertex_map<support::edge_graph_view, int> zero(support::edge_graph_view{&g});
    vertex_map map(support::edge_graph_view{&g}, 7);
    map[2] = 5;
    CHECK(zero[0] == 0);
    CHECK(map[0] == 7);
    CHECK(map[2] == 5);
    CHECK(map.size() == 3);
    vertex_map flags(support::edge_graph_view{&g}, false);
    flags[1] = true;
    CHECK(flags[1]);
    CHECK(!flags[2]);
    const auto& fixed = flags;
    CHECK(fixed[1]);
}

TEST_CASE_TEMPLATE("as good as std::map", IR, STRETTO_TOY_IRS) {
    stretto_check("vertex_map", 40, [] {
        const support::toy_program p = *support::random_programs();
        const auto writes = *rc::gen::container<std::vector<std::pair<std::uint8_t, int>>>(
            rc::gen::pair(rc::gen::arbitrary<std::uint8_t>(), rc::gen::arbitrary<int>()));
        const IR ir(p, 7);
        const auto all = support::vertices_of(ir.view());
        vertex_map map(ir.view(), 0);
        std::map<std::size_t, int> model;
        for (auto [where, what] : writes) {
            if (all.empty()) break;
            map[all[where % all.size()]] = what;
            model[where % all.size()] = what;
        }
        for (std::size_t i = 0; i < all.size(); ++i) RC_ASSERT(map[all[i]] == model[i]);
    });
}

TEST_CASE("archetypes suffice; a stale index is caught") {
    vertex_map<archetypes::indexed, char> map(archetypes::indexed(0), 'x');
    map[archetypes::detail::at(3)] = 'y';
    CHECK(map[archetypes::detail::at(3)] == 'y');
    CHECK(map[archetypes::detail::at(4)] == 'x');
    const support::edge_graph small{2, {}, {0, 1}};
    support::edge_graph growing = small;
    vertex_map<support::edge_graph_view, int> stale(support::edge_graph_view{&growing});
    growing.size = 5;
    CHECK(support::last_words([&] { stale[0] = 1; }).find("not below the index_bound()") != std::string::npos);
}
