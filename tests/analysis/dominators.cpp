#include "stretto/analysis/dominators.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <vector>

#include "stretto/analysis/topological_order.hpp"
#include "stretto/testing/archetypes.hpp"
#include "support/count_allocations.hpp"
#include "support/dag_shapes.hpp"
#include "support/prop.hpp"
#include "support/random_program.hpp"
#include "support/small_dag.hpp"
#include "support/toy_irs.hpp"

using namespace stretto;
using support::small_dag;
using support::small_dag_view;

namespace {

using bits = std::uint64_t;
constexpr bits bit(std::uint32_t v) { return bits{1} << v; }

small_dag turned(const small_dag& g) { return {g.size, g.successors, g.predecessors, g.listed}; }

/// The classical data-flow iteration: all of them, then intersect until nothing changes.
std::vector<bits> dominator_sets(const small_dag& g) {
    std::vector<bits> sets(g.size);
    for (std::uint32_t v = 0; v < g.size; ++v) sets[v] = g.predecessors[v].empty() ? bit(v) : ~bits{0};
    for (bool changed = true; changed;) {
        changed = false;
        for (std::uint32_t v = 0; v < g.size; ++v) {
            bits common = ~bits{0};
            for (std::uint32_t u : g.predecessors[v]) common &= sets[u];
            if (g.predecessors[v].empty()) common = 0;
            changed = changed || sets[v] != (common | bit(v));
            sets[v] = common | bit(v);
        }
    }
    return sets;
}

/// By definition: `d` dominates what no source reaches once `d` is gone.
std::vector<bits> dominators_by_removal(const small_dag& g) {
    std::vector<bits> sets(g.size, 0);
    for (std::uint32_t d = 0; d < g.size; ++d) {
        std::vector<char> reached(g.size, false);
        for (std::uint32_t v = 0; v < g.size; ++v) {
            reached[v] = v != d && g.predecessors[v].empty();
            for (std::uint32_t u : g.predecessors[v]) reached[v] = reached[v] || (v != d && reached[u]);
            if (!reached[v]) sets[v] |= bit(d);
        }
    }
    return sets;
}

template <class Tree>
void check_against(const Tree& tree, const std::vector<bits>& sets) {
    constexpr std::uint32_t nobody = UINT32_MAX;
    const auto nearest = [&](bits common) {
        for (std::uint32_t d = 0; d < sets.size(); ++d)
            if ((common & bit(d)) != 0 && sets[d] == common) return d;
        return nobody;
    };
    const auto named = [&](const std::uint32_t* d) { return d ? *d : nobody; };
    for (std::uint32_t v = 0; v < sets.size(); ++v) {
        RC_ASSERT(tree.depth(v) == static_cast<std::size_t>(std::popcount(sets[v])));
        RC_ASSERT(named(tree.immediate(v)) == nearest(sets[v] & ~bit(v)));
        for (std::uint32_t d = 0; d < sets.size(); ++d) {
            RC_ASSERT(tree.dominates(d, v) == ((sets[v] & bit(d)) != 0));
            RC_ASSERT(named(tree.common(d, v)) == nearest(sets[v] & sets[d]));
        }
    }
}

}  // namespace

TEST_CASE("what every path goes through") {
    // 0 -> 1 -> 3 -> 4, 0 -> 2 -> 3
    const small_dag g = small_dag::of_edges(5, {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 4}});
    const auto order = topological_sort(small_dag_view{&g});
    REQUIRE(order);
    const dominator_tree tree = dominators(small_dag_view{&g}, *order);
    CHECK(*tree.immediate(3) == 0);
    CHECK(*tree.immediate(4) == 3);
    CHECK(tree.immediate(0) == nullptr);
    CHECK(tree.dominates(0, 4));
    CHECK(tree.dominates(4, 4));
    CHECK(!tree.dominates(1, 3));
    CHECK(!tree.dominates(4, 3));
    CHECK(*tree.common(1, 2) == 0);
    CHECK(*tree.common(3, 4) == 3);
    CHECK(tree.depth(4) == 3);
    const dominator_tree behind = post_dominators(small_dag_view{&g}, *order);
    CHECK(*behind.immediate(0) == 3);
    CHECK(*behind.immediate(1) == 3);
    CHECK(behind.immediate(4) == nullptr);
    CHECK(behind.dominates(3, 1));
    CHECK(!behind.dominates(1, 0));
}

TEST_CASE("what two sources reach, neither dominates") {
    const small_dag g = small_dag::of_edges(4, {{0, 2}, {1, 2}, {2, 3}});
    const auto order = topological_sort(small_dag_view{&g});
    REQUIRE(order);
    const dominator_tree tree = dominators(small_dag_view{&g}, *order);
    CHECK(tree.immediate(2) == nullptr);
    CHECK(tree.common(0, 1) == nullptr);
    CHECK(tree.common(0, 3) == nullptr);
    CHECK(*tree.immediate(3) == 2);
    CHECK(tree.depth(2) == 1);
}

TEST_CASE("the sets that the data-flow equations have") {
    stretto_check("both directions", 40'000, [](const std::vector<std::uint8_t>& bytes) {
        const small_dag g = small_dag::decode(bytes);
        const auto order = topological_sort(small_dag_view{&g});
        RC_ASSERT(order.has_value());
        check_against(dominators(small_dag_view{&g}, *order), dominator_sets(g));
        // Turned around, low vertices come last: the iteration needs several rounds, the answer is the same.
        check_against(post_dominators(small_dag_view{&g}, *order), dominator_sets(turned(g)));
    });
    stretto_check("by definition", 20'000, [](const std::vector<std::uint8_t>& bytes) {
        const small_dag g = small_dag::decode(bytes);
        const auto order = topological_sort(small_dag_view{&g});
        RC_ASSERT(order.has_value());
        check_against(dominators(small_dag_view{&g}, *order), dominators_by_removal(g));
    });
}

TEST_CASE("ancestors in a tree of any shape") {
    // Long trees with long jumps, which dominators of small graphs do not have.
    stretto_check("jump_tree", 2'000, [](const std::vector<std::uint8_t>& bytes) {
        const std::uint32_t size = static_cast<std::uint32_t>(bytes.size()) * 8;
        detail::jump_tree tree(size);
        std::vector<std::uint32_t> parents(size), depths(size);
        for (std::uint32_t v = 0; v < size; ++v) {
            const std::uint32_t byte = bytes[v / 8], back = byte % (byte % 3 == 0 ? 40 : 2);
            parents[v] = v < back + 1 ? size : v - 1 - back;
            depths[v] = parents[v] == size ? 1 : depths[parents[v]] + 1;
            tree.add_leaf(v, parents[v]);
            RC_ASSERT(tree.depth(v) == depths[v]);
            RC_ASSERT(tree.parent(v) == parents[v]);
        }
        for (std::uint32_t v = 0; v < size; v += 7) {
            std::uint32_t a = v;
            for (std::uint32_t depth = depths[v]; depth > 0; --depth, a = parents[a])
                RC_ASSERT(tree.ancestor_at(v, depth) == a);
            const std::uint32_t w = (v * 31 + 11) % size;
            std::uint32_t x = v, y = w;
            while (x != y) {
                const bool left = y == size || (x != size && depths[x] >= depths[y]);
                (left ? x : y) = parents[left ? x : y];
            }
            RC_ASSERT(tree.common_ancestor(v, w) == x);
        }
    });
}

TEST_CASE_TEMPLATE("dominators of any IR are those of its program", IR, STRETTO_TOY_IRS) {
    stretto_check("toy IRs", 200, [] {
        const support::toy_program p = *support::random_programs();
        const small_dag g = small_dag::of_program(p);
        RC_PRE(g.size <= 64u);
        const IR ir(p, *rc::gen::inRange<std::uint64_t>(0, 100));
        const auto order = topological_sort(ir.view());
        RC_ASSERT(order.has_value());
        const std::vector<bits> sets = dominator_sets(g);
        const auto tree = dominators(ir.view(), *order);
        for (std::uint32_t v = 0; v < g.size; ++v)
            for (std::uint32_t d = 0; d < g.size; ++d)
                RC_ASSERT(tree.dominates((*order)[d], (*order)[v]) == ((sets[v] & bit(d)) != 0));
    });
}

TEST_CASE("again, without allocating") {
    small_dag g = small_dag::of_edges(4, {{0, 1}, {1, 2}, {2, 3}});
    const auto order = topological_sort(small_dag_view{&g});
    REQUIRE(order);
    dominator_tree tree = dominators(small_dag_view{&g}, *order);
    CHECK(support::allocations_of([&] { (void)dominators(small_dag_view{&g}, *order); }) > 0);
    g.add_edge(0, 3);
    CHECK(support::allocations_of([&] { tree.update(*order); }) == 0);
    CHECK(*tree.immediate(3) == 0);
    CHECK(*tree.immediate(2) == 1);
}

TEST_CASE("depth is no recursion, and a star is no trouble") {
    constexpr std::uint32_t n = 1'000'000, spokes = 100'000;
    const support::dag_shape path = support::path_shape(n), star = support::star_shape(spokes);
    const snapshot_view long_graph = path.view(), wide_graph = star.view();
    const auto long_order = topological_sort(long_graph), wide_order = topological_sort(wide_graph);
    REQUIRE(long_order);
    REQUIRE(wide_order);
    const dominator_tree long_tree = dominators(long_graph, *long_order);
    CHECK(long_tree.depth(n - 1) == n);
    CHECK(long_tree.dominates(0, n - 1));
    CHECK(*long_tree.common(n / 2, n - 1) == n / 2);
    CHECK(post_dominators(long_graph, *long_order).depth(0) == n);
    CHECK(*dominators(wide_graph, *wide_order).immediate(spokes + 1) == 0);
    CHECK(*post_dominators(wide_graph, *wide_order).immediate(0) == spokes + 1);
}

TEST_CASE("archetypes suffice") {
    const archetypes::dependence g(0);
    const auto order = topological_sort(g);
    REQUIRE(order);
    const dominator_tree tree = dominators(g, *order);
    CHECK(*tree.immediate((*order)[4]) == (*order)[0]);
    CHECK(tree.dominates((*order)[4], (*order)[7]));
    CHECK(*post_dominators(g, *order).immediate((*order)[0]) == (*order)[4]);
}
