#include "stretto/analysis/maintained_order.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stretto/testing/archetypes.hpp"
#include "support/dies.hpp"
#include "support/edge_graph.hpp"
#include "support/prop.hpp"
#include "support/random_program.hpp"
#include "support/rewritten_graph.hpp"
#include "support/shuffle.hpp"
#include "support/toy_irs.hpp"

using namespace stretto;

namespace {

using id = std::uint32_t;
using ids = std::vector<id>;
using support::graph;
using order_of = maintained_order<support::edge_graph_view>;
using witness = blocking_path<id>;

order_of follow(const support::edge_graph& g) {
    const support::edge_graph_view view{&g};
    return order_of(view, *topological_sort(view));
}

}  // namespace

TEST_CASE("an edge against the order moves what it must, and a cycle is refused with its path") {
    const support::edge_graph g = graph(5, {{0, 1}, {3, 4}});
    order_of order = follow(g);
    CHECK(order.leaders() == ids{0, 1, 2, 3, 4});
    REQUIRE(order.try_add_edge(4, 0));
    CHECK(order.leaders() == ids{2, 3, 4, 0, 1});
    CHECK(order.precedes(4, 1));
    CHECK(!order.precedes(0, 3));

    const auto refused = order.try_add_edge(1, 3);
    REQUIRE(!refused);
    CHECK(refused.error() == witness{3, 3, 1});
    CHECK(order.path(refused.error()) == ids{3, 4, 0, 1});
    CHECK(order.leaders() == ids{2, 3, 4, 0, 1});
}

TEST_CASE("merged vertices share a place, behind all that they depend on") {
    const support::edge_graph g = graph(6, {{0, 1}, {1, 2}, {3, 4}, {4, 5}});
    order_of order = follow(g);
    const auto one = order.try_merge(4, 1);
    REQUIRE(one);
    CHECK(*one == 1);
    CHECK(order.leader(4) == 1);
    CHECK(order.members(1).size() == 2);
    CHECK(order.leaders() == ids{0, 3, 1, 2, 5});
    CHECK(!order.precedes(1, 4));

    const auto refused = order.try_merge(3, 2);
    REQUIRE(!refused);
    CHECK(refused.error() == witness{3, 4, 2});
    CHECK(order.path(refused.error()) == ids{3, 4, 1, 2});  // 4 and 1 are one
}

TEST_CASE("a set is merged as a whole or not at all") {
    const support::edge_graph g = graph(6, {{0, 1}, {1, 2}, {2, 3}, {1, 4}, {4, 3}});
    order_of order = follow(g);
    const ids gap{3, 1, 2};
    const auto refused = order.try_merge(gap);
    REQUIRE(!refused);
    CHECK(order.path(refused.error()) == ids{1, 4, 3});
    CHECK(order.leader(2) == 2);
    const ids convex{3, 1, 4, 2, 3};
    CHECK(order.try_merge(convex));
    CHECK(order.leaders() == ids{0, 1, 5});
}

TEST_CASE("broken preconditions are caught") {
    const support::edge_graph g = graph(3, {}), other = graph(2, {});
    const auto says = [](const std::string& words, const char* sentence) {
        return words.find(sentence) != std::string::npos;
    };
    CHECK(says(support::last_words([&] { (void)follow(g).try_merge(std::span<const id>()); }),
               "there is no vertex to merge"));
    CHECK(says(support::last_words([&] {
                   const auto order = topological_sort(support::edge_graph_view{&other});
                   order_of wrong(support::edge_graph_view{&g}, *order);
               }),
               "this order is not one of this graph"));
}

TEST_CASE("merge and add in any order: still a topological order, or a cycle") {
    stretto_check("maintained order", 20000, [](const std::vector<std::uint8_t>& input) {
        support::byte_reader bytes(input);
        const support::edge_graph g = support::small_acyclic_graph(bytes);
        order_of order = follow(g);
        support::rewritten_graph oracle(g);
        while (!bytes.done()) {
            const id what = bytes.next();
            const auto vertex = [&] { return bytes.next() % g.size; };
            const ids before = order.leaders();
            bool accepted = true;
            if (what % 2 == 0) {
                const id tail = vertex(), head = vertex();
                const bool allowed = !oracle.reaches(head, tail);
                const auto added = order.try_add_edge(tail, head);
                accepted = added.has_value();
                RC_ASSERT(accepted == allowed);
                if (accepted) oracle.edges.emplace_back(tail, head);
                else RC_ASSERT(oracle.is_path(order.path(added.error()), head, tail));
            } else {
                ids set{vertex(), vertex()};
                for (id k = what / 4 % 4; k > 0; --k) set.push_back(vertex());
                support::rewritten_graph merged = oracle;
                for (id v : set) merged.merge(set[0], v);
                const auto leader = set.size() == 2 ? order.try_merge(set[0], set[1]) : order.try_merge(set);
                accepted = leader.has_value();
                RC_ASSERT(accepted == merged.acyclic());
                if (accepted) oracle = merged;
                else RC_ASSERT(oracle.blocks_merge(leader.error(), order.path(leader.error()), set));
            }
            const ids now = order.leaders();
            RC_ASSERT(oracle.is_order(now));
            if (!accepted) RC_ASSERT(now == before);
            for (std::size_t k = 1; k < now.size(); ++k) RC_ASSERT(order.precedes(now[k - 1], now[k]));
        }
    });
}

TEST_CASE("the order that is given is kept as far as nothing moves") {
    stretto_check("kept", 500, [](const std::vector<std::uint8_t>& input) {
        support::byte_reader bytes(input);
        const support::edge_graph g = support::small_acyclic_graph(bytes);
        const support::edge_graph_view view{&g};
        const auto given = topological_sort(view);
        order_of order(view, *given);
        RC_ASSERT(order.leaders() == ids(given->begin(), given->end()));
        while (!bytes.done()) {  // edges along the order
            const id a = bytes.next() % g.size, b = bytes.next() % g.size;
            if (order.precedes(a, b)) RC_ASSERT(order.try_add_edge(a, b));
        }
        RC_ASSERT(order.leaders() == ids(given->begin(), given->end()));
    });
}

TEST_CASE_TEMPLATE("any IR, wherever it is allocated: the same order", IR, STRETTO_TOY_IRS) {
    stretto_check("toy IRs", 15, [] {
        const support::toy_program p = *support::random_programs({.max_ops = 25});
        const std::uint64_t seed = *rc::gen::inRange<std::uint64_t>(0, 100);
        const IR ir(p, seed);
        const support::soa_ir reference(p, 0);
        const auto view = ir.view();
        const auto reference_view = reference.view();
        maintained_order order(view, *topological_sort(view));
        maintained_order expected(reference_view, *topological_sort(reference_view));
        const auto all = support::vertices_of(view);
        const auto reference_all = support::vertices_of(reference_view);
        const std::vector<std::uint32_t> position = support::positions_of(view);
        const std::vector<std::uint32_t> reference_position = support::positions_of(reference_view);
        for (std::uint32_t k : support::shuffled(all.size() * all.size(), seed + 1)) {
            const std::size_t a = k / all.size(), b = k % all.size();
            if (k % 3 == 0)
                RC_ASSERT(order.try_merge(all[a], all[b]).has_value() ==
                          expected.try_merge(reference_all[a], reference_all[b]).has_value());
            else if (k % 3 == 1)
                RC_ASSERT(order.try_add_edge(all[a], all[b]).has_value() ==
                          expected.try_add_edge(reference_all[a], reference_all[b]).has_value());
        }
        const auto now = order.leaders();
        const auto reference_now = expected.leaders();
        RC_ASSERT(now.size() == reference_now.size());
        for (std::size_t k = 0; k < now.size(); ++k)
            RC_ASSERT(position[view.index(now[k])] == reference_position[reference_view.index(reference_now[k])]);
    });
}

TEST_CASE("archetypes suffice") {
    const archetypes::dependence g(0);
    const auto given = topological_sort(g);
    REQUIRE(given);
    maintained_order order(g, *given);
    const auto& v = *given;
    CHECK(order.try_merge(v[2], v[3]));
    CHECK(order.precedes(v[1], v[2]));
    CHECK(order.leader(v[3]) == v[2]);
    const auto refused = order.try_add_edge(v[7], v[0]);
    REQUIRE(!refused);
    CHECK(order.path(refused.error()).front() == v[0]);
    const archetypes::vertex set[] = {v[5], v[6], v[7]};
    CHECK(order.try_merge(set));
    CHECK(order.leaders().size() == 5);
}

TEST_CASE("no vertices, one vertex") {
    const support::edge_graph nothing = graph(0, {}), one = graph(1, {});
    CHECK(follow(nothing).leaders().empty());
    order_of order = follow(one);
    CHECK(order.try_merge(0, 0));
    CHECK(!order.try_add_edge(0, 0));
    CHECK(order.leaders() == ids{0});
}

TEST_CASE("a path of a million that is built from its end, and edges that turn it around") {
    constexpr id n = 1'000'000;
    const index_lists none = [] {
        index_lists rows;
        for (id v = 0; v < n; ++v) rows.close_row();
        return rows;
    }();
    const snapshot_view g(none, none);
    maintained_order order(g, *topological_sort(g));
    for (id v = n; --v > 0;) REQUIRE(order.try_add_edge(v, v - 1));
    CHECK(order.leaders().front() == n - 1);
    CHECK(order.precedes(n - 1, 0));
    const auto refused = order.try_add_edge(0, n - 1);
    REQUIRE(!refused);
    CHECK(order.path(refused.error()).size() == n);
}
