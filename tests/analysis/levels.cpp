#include "stretto/analysis/levels.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "stretto/analysis/topological_order.hpp"
#include "stretto/testing/archetypes.hpp"
#include "support/count_allocations.hpp"
#include "support/prop.hpp"
#include "support/random_program.hpp"
#include "support/small_dag.hpp"
#include "support/toy_irs.hpp"

using namespace stretto;
using support::small_dag;
using support::small_dag_view;

namespace {

small_dag diamond() {
    // 0 -> 1 -> 3, 0 -> 2 -> 3, and 4 alone.
    small_dag g{5, {{}, {0}, {0}, {1, 2}, {}}, {{1, 2}, {3}, {3}, {}, {}}, {0, 1, 2, 3, 4}};
    return g;
}

constexpr std::int64_t diamond_ns[] = {5, 10, 30, 7, 20};
nanoseconds of_diamond(std::uint32_t v) { return {diamond_ns[v]}; }

/// The longest path into every vertex, by relaxing all edges until nothing changes. `cost` counts the vertex left.
template <class Cost>
std::vector<std::int64_t> longest_into(const small_dag& g, Cost cost) {
    std::vector<std::int64_t> longest(g.size, 0);
    for (bool changed = true; changed;) {
        changed = false;
        for (std::uint32_t u = g.size; u-- > 0;)  // against the edges: nothing here relies on an order
            for (std::uint32_t v : g.successors[u])
                if (longest[v] < longest[u] + cost(u)) {
                    longest[v] = longest[u] + cost(u);
                    changed = true;
                }
    }
    return longest;
}

/// The longest path behind every vertex, itself not counted.
template <class Cost>
std::vector<std::int64_t> longest_behind(const small_dag& g, Cost cost) {
    small_dag turned{g.size, g.successors, g.predecessors, g.listed};
    return longest_into(turned, cost);
}

}  // namespace

TEST_CASE("levels of a diamond") {
    const small_dag g = diamond();
    const auto order = topological_sort(small_dag_view{&g});
    REQUIRE(order);
    const levels level = levels_of(small_dag_view{&g}, *order);
    CHECK(level[0] == 0);
    CHECK(level[1] == 1);
    CHECK(level[2] == 1);
    CHECK(level[3] == 2);
    CHECK(level[4] == 0);
    CHECK(level.count() == 3);
}

TEST_CASE("times of a diamond") {
    const small_dag g = diamond();
    const auto order = topological_sort(small_dag_view{&g});
    REQUIRE(order);
    const timing times = timing_of(small_dag_view{&g}, *order, of_diamond);
    CHECK(times.length() == nanoseconds{42});
    CHECK(times.critical_path() == std::vector<std::uint32_t>{0, 2, 3});
    CHECK(times.asap(3) == nanoseconds{35});
    CHECK(times.alap(1) == nanoseconds{25});
    CHECK(times.slack(1) == nanoseconds{20});
    CHECK(times.slack(4) == nanoseconds{22});
    CHECK(times.slack(0) == nanoseconds{});
}

TEST_CASE("the empty graph has no levels and takes no time; a graph without durations has a critical path") {
    const small_dag nothing;
    const auto order = topological_sort(small_dag_view{&nothing});
    REQUIRE(order);
    CHECK(levels_of(small_dag_view{&nothing}, *order).count() == 0);
    const timing times = timing_of(small_dag_view{&nothing}, *order, of_diamond);
    CHECK(times.length() == nanoseconds{});
    CHECK(times.critical_path().empty());

    const small_dag g = diamond();
    const auto listed = topological_sort(small_dag_view{&g});
    const timing still = timing_of(small_dag_view{&g}, *listed, [](std::uint32_t) { return nanoseconds{}; });
    CHECK(still.critical_path() == std::vector<std::uint32_t>{0, 1, 3});
}

TEST_CASE("longest paths, by definition") {
    stretto_check("levels", 60'000, [](const std::vector<std::uint8_t>& bytes) {
        const small_dag g = small_dag::decode(bytes);
        const auto order = topological_sort(small_dag_view{&g});
        RC_ASSERT(order.has_value());
        const levels level = levels_of(small_dag_view{&g}, *order);
        const std::vector<std::int64_t> expected = longest_into(g, [](std::uint32_t) { return 1; });
        std::int64_t count = 0;
        for (std::uint32_t v = 0; v < g.size; ++v) {
            RC_ASSERT(level[v] == expected[v]);
            count = std::max(count, expected[v] + 1);
        }
        RC_ASSERT(level.count() == static_cast<std::size_t>(count));
    });
    stretto_check("times", 60'000, [](const std::vector<std::uint8_t>& bytes) {
        const small_dag g = small_dag::decode(bytes);
        // Short and few different times, zero among them, so that there are ties.
        const auto cost = [&](std::uint32_t v) { return (bytes.size() * 7 + v * v + v / 3) % 4; };
        const auto signed_cost = [&](std::uint32_t v) { return static_cast<std::int64_t>(cost(v)); };
        const auto order = topological_sort(small_dag_view{&g});
        RC_ASSERT(order.has_value());
        const timing times =
            timing_of(small_dag_view{&g}, *order, [&](std::uint32_t v) { return nanoseconds{signed_cost(v)}; });
        const std::vector<std::int64_t> head = longest_into(g, signed_cost), tail = longest_behind(g, signed_cost);
        std::int64_t length = 0;
        for (std::uint32_t v = 0; v < g.size; ++v) length = std::max(length, head[v] + signed_cost(v) + tail[v]);
        RC_ASSERT(times.length().count == length);
        for (std::uint32_t v = 0; v < g.size; ++v) {
            RC_ASSERT(times.asap(v).count == head[v]);
            RC_ASSERT(times.alap(v).count == length - tail[v] - signed_cost(v));
            RC_ASSERT(times.slack(v) == times.alap(v) - times.asap(v));
            RC_ASSERT(times.slack(v) >= nanoseconds{});
        }
        const std::vector<std::uint32_t>& path = times.critical_path();
        RC_ASSERT(path.empty() == (g.size == 0));
        if (path.empty()) return;
        std::int64_t sum = 0;
        for (std::uint32_t v : path) sum += signed_cost(v);
        RC_ASSERT(sum == length);
        RC_ASSERT(g.predecessors[path.front()].empty());
        RC_ASSERT(g.successors[path.back()].empty());
        // First in the order wherever there is a choice.
        std::vector<std::uint32_t> place(g.size);
        for (std::uint32_t i = 0; i < g.size; ++i) place[(*order)[i]] = i;
        for (std::uint32_t v = 0; v < g.size; ++v)
            if (g.predecessors[v].empty() && times.slack(v) == nanoseconds{}) RC_ASSERT(place[path[0]] <= place[v]);
        for (std::size_t i = 0; i + 1 < path.size(); ++i) {
            bool edge = false;
            for (std::uint32_t w : g.successors[path[i]]) {
                edge = edge || w == path[i + 1];
                if (times.slack(w) == nanoseconds{} && head[w] == head[path[i]] + signed_cost(path[i]))
                    RC_ASSERT(place[path[i + 1]] <= place[w]);
            }
            RC_ASSERT(edge);
        }
    });
}

TEST_CASE_TEMPLATE("levels and times of any IR are those of its program", IR, STRETTO_TOY_IRS) {
    stretto_check("toy IRs", 300, [] {
        const support::toy_program p = *support::random_programs();
        const IR ir(p, *rc::gen::inRange<std::uint64_t>(0, 100));
        const auto order = topological_sort(ir.view());
        RC_ASSERT(order.has_value());
        const auto model = ir.model();
        const levels level = levels_of(ir.view(), *order);
        const timing times = timing_of(ir.view(), *order, [&](auto v) { return model.duration(v); });
        std::vector<std::int64_t> depth(p.ops.size(), 0), begin(p.ops.size(), 0);
        std::int64_t length = 0;
        for (std::uint32_t v = 0; v < p.ops.size(); ++v) {
            for (support::toy_value x : p.ops[v].operands) {
                depth[v] = std::max(depth[v], depth[x.op] + 1);
                begin[v] = std::max(begin[v], begin[x.op] + p.ops[x.op].duration.count);
            }
            length = std::max(length, begin[v] + p.ops[v].duration.count);
        }
        RC_ASSERT(times.length().count == length);
        std::uint32_t at = 0;
        for (auto v : ir.view().vertices()) {
            RC_ASSERT(level[v] == depth[at]);
            RC_ASSERT(times.asap(v).count == begin[at]);
            ++at;
        }
    });
}

TEST_CASE("again, with other durations and without allocating") {
    const small_dag g = diamond();
    const auto order = topological_sort(small_dag_view{&g});
    REQUIRE(order);
    levels level = levels_of(small_dag_view{&g}, *order);
    timing times = timing_of(small_dag_view{&g}, *order, of_diamond);
    const std::size_t fresh = support::allocations_of([&] { (void)timing_of(small_dag_view{&g}, *order, of_diamond); });
    CHECK(fresh > 0);
    const std::size_t again = support::allocations_of([&] {
        level.update(*order);
        times.update(*order, [](std::uint32_t v) { return nanoseconds{v == 1 ? 100 : 1}; });
    });
    CHECK(again == 0);
    CHECK(times.length() == nanoseconds{102});
    CHECK(times.critical_path() == std::vector<std::uint32_t>{0, 1, 3});
    CHECK(level.count() == 3);
}

TEST_CASE("depth is no recursion, and a star is no trouble") {
    constexpr std::uint32_t n = 1'000'000, spokes = 100'000;
    index_lists path, star;
    for (std::uint32_t v = 0; v < n; ++v) {
        if (v > 0) path.push(v - 1);
        path.close_row();
    }
    for (std::uint32_t v = 0; v <= spokes; ++v) {
        if (v > 0) star.push(0);
        star.close_row();
    }
    const auto one = [](std::uint32_t) { return nanoseconds{1}; };
    const index_lists down = path.inverse(n), rays = star.inverse(spokes + 1);
    const snapshot_view long_graph(down, path), wide_graph(rays, star);
    const auto long_order = topological_sort(long_graph), wide_order = topological_sort(wide_graph);
    REQUIRE(long_order);
    REQUIRE(wide_order);
    CHECK(levels_of(long_graph, *long_order).count() == n);
    CHECK(timing_of(long_graph, *long_order, one).critical_path().size() == n);
    CHECK(levels_of(wide_graph, *wide_order).count() == 2);
    CHECK(timing_of(wide_graph, *wide_order, one).slack(spokes) == nanoseconds{});
}

TEST_CASE("archetypes suffice") {
    const archetypes::dependence g(0);
    const auto order = topological_sort(g);
    REQUIRE(order);
    CHECK(levels_of(g, *order).count() == 7);
    const timing times = timing_of(g, *order, [](archetypes::vertex) { return nanoseconds{2}; });
    CHECK(times.length() == nanoseconds{14});
    CHECK(times.slack((*order)[3]) == nanoseconds{2});
}
