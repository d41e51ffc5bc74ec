#include "stretto/analysis/boundary.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <map>
#include <type_traits>
#include <utility>
#include <vector>

#include "analysis/closure_cases.hpp"
#include "stretto/analysis/convexity.hpp"
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

/// A graph of values over a small one: vertex u has 1 + u % 3 results, and edge number k into v reads result
/// k % results of its tail. Values are numbered by producer and result; nobody but the view knows how.
struct flow_view {
    using vertex_type = std::uint32_t;
    struct value_type {
        std::uint32_t producer = 0, result = 0;
        friend bool operator==(value_type, value_type) = default;
    };
    const support::small_dag* g;

    const ids& vertices() const { return g->listed; }
    const ids& successors(std::uint32_t v) const { return g->successors[v]; }
    const ids& predecessors(std::uint32_t v) const { return g->predecessors[v]; }
    std::size_t index(std::uint32_t v) const { return g->size - 1 - v; }
    std::size_t index_bound() const { return g->size; }

    std::vector<value_type> operands(std::uint32_t v) const {
        std::vector<value_type> all;
        for (std::uint32_t u : g->predecessors[v])
            all.push_back({u, static_cast<std::uint32_t>(all.size()) % (1 + u % 3)});
        return all;
    }
    std::vector<value_type> results(std::uint32_t v) const {
        std::vector<value_type> all;
        for (std::uint32_t k = 0; k < 1 + v % 3; ++k) all.push_back({v, k});
        return all;
    }
    std::uint32_t producer(value_type x) const { return x.producer; }
    /// Once per use, the last first.
    ids consumers(value_type x) const {
        ids all;
        for (std::uint32_t v = g->size; v-- > 0;)
            for (value_type y : operands(v))
                if (x == y) all.push_back(v);
        return all;
    }
};
static_assert(dependence_graph<flow_view> && dataflow_graph<flow_view>);

/// Both directions, as plain lists.
template <class Item>
struct plain_boundary {
    std::vector<std::pair<Item, ids>> ins, outs;
    friend bool operator==(const plain_boundary&, const plain_boundary&) = default;
};

template <class Item, class V>
std::vector<std::pair<Item, std::vector<V>>> plain(const crossing_list<Item, V>& list) {
    std::vector<std::pair<Item, std::vector<V>>> all;
    for (std::size_t i = 0; i < list.size(); ++i)
        all.emplace_back(list[i].item, std::vector<V>(list[i].consumers.begin(), list[i].consumers.end()));
    return all;
}

/// By definition: every value there is, whoever reads it on the other side.
template <class Item, class Results, class Reads>
plain_boundary<Item> by_definition(const closure_case& c, Results results, Reads reads) {
    plain_boundary<Item> b;
    for (std::uint32_t u : c.order)
        for (const Item& x : results(u)) {
            const bool produced_inside = c.is_chosen(u);
            ids across;
            for (std::uint32_t v : c.order)
                if (c.is_chosen(v) != produced_inside && reads(v, x)) across.push_back(v);
            if (across.empty()) continue;
            (produced_inside ? b.outs : b.ins).emplace_back(x, across);
        }
    return b;
}

}  // namespace

TEST_CASE("what enters and what leaves, each once, with its readers") {
    // 0 -> 1 -> 2 -> 3, and 0 -> 2 as well.
    support::large_graph g(4);
    for (auto [u, v] : {std::pair{0u, 1u}, {1u, 2u}, {0u, 2u}, {2u, 3u}}) g.add_edge(u, v);
    g.finish();
    const auto order = *topological_sort(g.view());
    // [boundary]
    const convex_subgraph<std::uint32_t> region = *check_convex(g.view(), order, {1u, 2u});
    const boundary<snapshot_view> b = boundary_of(g.view(), order, region);
    CHECK(plain(b.live_ins) == std::vector{std::pair{0u, ids{1, 2}}});
    CHECK(plain(b.live_outs) == std::vector{std::pair{2u, ids{3}}});
    // [/boundary]
    CHECK(b.live_ins.items().front() == 0);
    CHECK(boundary_of(g.view(), order, {0u, 1u, 2u, 3u}).live_ins.empty());
    CHECK(boundary_of(g.view(), order, ids{}) == boundary<snapshot_view>());
}

TEST_CASE("values of one producer are told apart, and a value that is read twice crosses once") {
    support::small_dag g;
    g.size = 4;
    g.successors.resize(4);
    g.predecessors.resize(4);
    g.listed = {0, 1, 2, 3};
    // Vertex 2 has three results. 3 reads 2.0, then 1.1, then 2.2, and 2.0 again; nobody reads 2.1.
    for (std::uint32_t u : {2u, 1u, 2u, 2u}) g.add_edge(u, 3);
    g.add_edge(0, 2);
    const flow_view view{&g};
    REQUIRE(view.operands(3) == std::vector<flow_view::value_type>{{2, 0}, {1, 1}, {2, 2}, {2, 0}});
    const auto order = *topological_sort(view);
    const auto b = boundary_of(view, order, {3u});
    using value = flow_view::value_type;
    CHECK(plain(b.live_ins) ==
          std::vector<std::pair<value, ids>>{{value{1, 1}, {3}}, {value{2, 0}, {3}}, {value{2, 2}, {3}}});
    CHECK(b.live_outs.empty());
    CHECK(plain(boundary_of(view, order, {2u, 1u}).live_outs) == plain(b.live_ins));
}

TEST_CASE("boundaries by definition") {
    stretto_check("values", 40000, [](const std::vector<std::uint8_t>& bytes) {
        const closure_case c(bytes);
        const flow_view view{&c.dag};
        using value = flow_view::value_type;
        const auto expected = by_definition<value>(
            c, [&](std::uint32_t u) { return view.results(u); },
            [&](std::uint32_t v, value x) {
                const auto all = view.operands(v);
                return std::find(all.begin(), all.end(), x) != all.end();
            });
        boundary_finder finder(view, c.order);
        for (int round = 0; round < 2; ++round) {
            const boundary<flow_view>& b = finder.find(c.chosen);
            RC_ASSERT((plain_boundary<value>{plain(b.live_ins), plain(b.live_outs)}) == expected);
        }
    });
    stretto_check("vertices", 40000, [](const std::vector<std::uint8_t>& bytes) {
        const closure_case c(bytes);
        const auto expected = by_definition<std::uint32_t>(
            c, [](std::uint32_t u) { return ids{u}; },
            [&](std::uint32_t v, std::uint32_t u) {
                const ids& all = c.dag.predecessors[v];
                return std::find(all.begin(), all.end(), u) != all.end();
            });
        vertex_set<support::small_dag_view> set(c.view());
        for (std::uint32_t v : c.chosen) set.insert(v);
        const auto b = boundary_of(c.view(), c.order, set);
        RC_ASSERT((plain_boundary<std::uint32_t>{plain(b.live_ins), plain(b.live_outs)}) == expected);
    });
}

TEST_CASE_TEMPLATE("neither the IR nor its addresses matter", IR, STRETTO_TOY_IRS) {
    stretto_check("regions of programs", 60, [] {
        const support::toy_program p = *support::random_programs({.max_ops = 40});
        const IR ir(p, *rc::gen::inRange<std::uint64_t>(0, 100));
        const std::uint32_t first = *rc::gen::inRange<std::uint32_t>(0, 40),
                            size = *rc::gen::inRange<std::uint32_t>(0, 20);
        const auto view = ir.view();
        const auto order = *topological_sort(view);
        const auto position = support::positions_of(view);  // the program order of a legal program is topological
        std::vector<vertex_t<decltype(view)>> region;
        for (std::uint32_t i = first; i < first + size && i < order.size(); ++i) region.push_back(order[i]);
        const auto b = boundary_of(view, order, region);

        // What the program itself says.
        std::map<support::toy_value, ids> ins, outs;
        const auto inside = [&](std::uint32_t v) { return v >= first && v < first + size; };
        for (std::uint32_t v = 0; v < p.ops.size(); ++v)
            for (support::toy_value x : p.ops[v].operands) {
                if (inside(x.op) == inside(v)) continue;
                ids& readers = (inside(v) ? ins : outs)[x];
                if (readers.empty() || readers.back() != v) readers.push_back(v);
            }
        const auto named = [&](const auto& list) {
            std::map<support::toy_value, ids> all;
            support::toy_value before{0, 0};
            for (std::size_t i = 0; i < list.size(); ++i) {
                support::toy_value name{position[view.index(view.producer(list[i].item))], 0};
                for (auto y : view.results(view.producer(list[i].item))) {
                    if (y == list[i].item) break;
                    ++name.result;
                }
                RC_ASSERT(before <= name);
                before = name;
                for (auto v : list[i].consumers) all[name].push_back(position[view.index(v)]);
            }
            return all;
        };
        RC_ASSERT(named(b.live_ins) == ins);
        RC_ASSERT(named(b.live_outs) == outs);
    });
}

TEST_CASE("large shapes, and no allocation once warm") {
    const support::large_graph star = support::star_graph(100'002);
    const auto order = *topological_sort(star.view());
    boundary_finder finder(star.view(), order);
    CHECK(finder.find({0u}).live_outs[0].consumers.size() == 100'000 + 1);
    CHECK(finder.find({100'001u}).live_ins.size() == 100'000 + 1);
    ids middle;
    for (std::uint32_t v = 1; v <= 100'000; ++v) middle.push_back(v);
    const boundary<snapshot_view>& b = finder.find(middle);
    CHECK(b.live_ins.size() == 1);
    CHECK(b.live_ins[0].consumers.size() == 100'000);
    CHECK(b.live_outs.size() == 100'000);
    CHECK(b.live_outs[99'999].consumers.size() == 1);
    CHECK(support::allocations_of([&] {
              if (finder.find(middle).live_outs.size() != 100'000) FAIL_CHECK("another boundary");
          }) == 0);

    const support::large_graph path = support::path_graph(1'000'000);
    const auto path_order = *topological_sort(path.view());
    boundary_finder of_path(path.view(), path_order);
    ids half;
    for (std::uint32_t v = 250'000; v < 750'000; ++v) half.push_back(v);
    CHECK(of_path.find(half).live_ins.items()[0] == 249'999);
    CHECK(of_path.find(half).live_outs.items()[0] == 749'999);

    const support::large_graph replicas = support::replica_graph(16, 1000, 10);
    const auto replica_order = *topological_sort(replicas.view());
    boundary_finder of_replicas(replicas.view(), replica_order);
    ids replica;
    for (std::uint32_t v = 10; v < 1010; ++v) replica.push_back(v);
    const auto& shared = of_replicas.find(replica);
    CHECK(shared.live_ins.size() == 10);
    CHECK(shared.live_ins[9].consumers.size() == 100);
    CHECK(shared.live_outs.empty());
}

TEST_CASE("archetypes suffice") {
    const archetypes::program g(0);
    const auto order = *topological_sort(g);
    const auto b = boundary_of(g, order, {order[3], order[4]});
    REQUIRE(b.live_ins.size() == 2);
    CHECK(b.live_ins[0].item == archetypes::value(order[0], 0));
    CHECK(b.live_ins[1].item == archetypes::value(order[2], 0));
    REQUIRE(b.live_outs.size() == 1);
    CHECK(b.live_outs[0].consumers.front() == order[5]);
    const archetypes::dependence plain_graph(0);
    CHECK(boundary_of(plain_graph, order, plain_graph.predecessors(order[4])).live_ins.size() == 2);
    static_assert(!std::constructible_from<boundary_finder<archetypes::program>, archetypes::program,
                                           topological_order<archetypes::vertex>&&>);
}
