#include "stretto/views/induced.hpp"

#include <doctest/doctest.h>

#include <cstdint>

#include "stretto/testing/check_graph.hpp"
#include "stretto/testing/model_archetypes.hpp"
#include "support/edge_graph.hpp"
#include "support/prop.hpp"
#include "support/random_program.hpp"
#include "support/toy_irs.hpp"

using namespace stretto;

namespace {

template <class G>
concept takes_a_temporary_set = requires(G g) { views::induced(g, vertex_set<G>(g)); };
template <class G>
concept takes_a_set = requires(G g, vertex_set<G>& s) { views::induced(g, s); };

}  // namespace

TEST_CASE("induced: members and the edges between them") {
    support::edge_graph g{4, {{0, 1}, {1, 2}, {2, 3}, {0, 3}}, {0, 1, 2, 3}};
    const support::edge_graph_view base{&g};
    vertex_set members(base);
    members.insert(0);
    members.insert(3);
    const auto sub = views::induced(base, members);
    CHECK(support::vertices_of(sub) == std::vector<std::uint32_t>{0, 3});
    CHECK(support::edges_of(sub) == support::index_pairs{{3, 0}});
    members.insert(2);  // the view refers to the set
    CHECK(support::edges_of(sub).size() == 2);
    static_assert(takes_a_set<support::edge_graph_view> && !takes_a_temporary_set<support::edge_graph_view>);
}

TEST_CASE_TEMPLATE("induced: every pair of members, and nothing else", IR, STRETTO_TOY_IRS) {
    stretto_check("induced", 40, [] {
        const support::toy_program p = *support::random_programs();
        const auto mask = *rc::gen::arbitrary<std::uint64_t>();
        const IR ir(p, 2);
        const auto base = ir.view();
        vertex_set members(base);
        for (auto v : support::vertices_of(base))
            if ((mask >> (base.index(v) % 64)) % 2) members.insert(v);
        const auto sub = views::induced(base, members);
        const auto checked = check_graph(sub);
        if (!checked) RC_FAIL(checked.error().message());
        RC_ASSERT(checked->vertices == members.size());
        support::index_pairs edges = support::edges_of(base);
        std::erase_if(edges, [&](auto e) { return !((mask >> (e.first % 64)) & (mask >> (e.second % 64)) & 1); });
        RC_ASSERT(support::edges_of(sub) == edges);
    });
}

TEST_CASE("induced: archetypes suffice") {
    const archetypes::dependence base(0);
    vertex_set members(base);
    for (archetypes::vertex v : base.vertices())
        if (archetypes::kinds(0).kind(v) != op_kind::input) members.insert(v);
    CHECK(check_graph(views::induced(base, members)));
    CHECK(support::edges_of(views::induced(base, members)).size() == 7);
}
