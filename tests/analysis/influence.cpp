#include "stretto/analysis/influence.hpp"

#include <doctest/doctest.h>

#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "analysis/closure_cases.hpp"
#include "stretto/analysis/cone.hpp"
#include "stretto/testing/archetypes.hpp"
#include "stretto/views/reversed.hpp"
#include "support/count_allocations.hpp"
#include "support/prop.hpp"
#include "support/random_program.hpp"
#include "support/small_dag.hpp"
#include "support/toy_irs.hpp"

using namespace stretto;
using support::closure_case;

// Sets of 512 symbols are allocated through these.
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
    ++support::allocations;
    const std::size_t unit = static_cast<std::size_t>(alignment);
    void* const memory = std::aligned_alloc(unit, (size + unit - 1) / unit * unit);
    if (!memory) std::abort();
    return memory;
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace {

/// A view whose numbers leave so many holes that its vertices share sets, as those of a large graph do.
struct sparse_view {
    using vertex_type = std::uint32_t;
    const support::small_dag* g;

    const std::vector<std::uint32_t>& vertices() const { return g->listed; }
    const std::vector<std::uint32_t>& successors(std::uint32_t v) const { return g->successors[v]; }
    const std::vector<std::uint32_t>& predecessors(std::uint32_t v) const { return g->predecessors[v]; }
    std::size_t index(std::uint32_t v) const { return 66'000 - v; }
    std::size_t index_bound() const { return 66'001; }
};

using edges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// What a case traces: sixteen symbols, spread over the words of a set.
template <std::size_t Symbols>
struct tracing {
    using set = symbol_set<Symbols>;
    const closure_case* c;
    std::vector<set> begins, keeps;  // by vertex
    edges carried;                   // against the order as a rule, but any edge will do

    explicit tracing(const closure_case& of) : c(&of) {
        std::uint32_t state = of.spare + 1u;
        const auto next = [&] { return (state = state * 1103515245u + 12345u) >> 16; };
        for (std::uint32_t v = 0; v < of.dag.size; ++v) {
            begins.emplace_back();
            keeps.push_back(set::all());
            if (of.is_chosen(v)) begins.back().insert(next() % 16 * (Symbols / 16));
            if (of.is_chosen(v) && next() % 2) begins.back().insert(next() % 16 * (Symbols / 16));
            if (next() % 4 == 0)
                for (int k = 0; k < 9; ++k) keeps.back().erase(next() % 16 * (Symbols / 16));
        }
        if (of.dag.size > 0)
            for (std::uint32_t k = of.spare % 6u; k-- > 0;)
                carried.emplace_back(next() % of.dag.size, next() % of.dag.size);
    }
    const set* seeds(std::uint32_t v) const { return begins[v].empty() ? nullptr : &begins[v]; }
    const set* through(std::uint32_t v) const { return keeps[v] == set::all() ? nullptr : &keeps[v]; }
    /// Also a mask that depends on both ends.
    const set* along(std::uint32_t u, std::uint32_t v) const {
        return (u + v) % 3 == 0 ? through(u) : (u + v) % 3 == 1 ? through(v) : nullptr;
    }
};

enum class transfer_kind {
    none,
    vertex,
    edge
};

/// By definition, a symbol at a time: what begins, and what passes, until nothing changes.
template <std::size_t Symbols>
std::vector<symbol_set<Symbols>> by_definition(const tracing<Symbols>& t, transfer_kind kind, bool carried) {
    edges all;
    for (std::uint32_t u = 0; u < t.c->dag.size; ++u)
        for (std::uint32_t v : t.c->dag.successors[u]) all.emplace_back(u, v);
    if (carried) all.insert(all.end(), t.carried.begin(), t.carried.end());
    std::vector<symbol_set<Symbols>> has = t.begins;
    for (std::size_t k = 0; k < 16; ++k) {
        const std::size_t s = k * (Symbols / 16);
        for (bool grows = true; grows;) {
            grows = false;
            for (auto [u, v] : all) {
                const symbol_set<Symbols>* mask = kind == transfer_kind::none     ? nullptr
                                                  : kind == transfer_kind::vertex ? t.through(v)
                                                                                  : t.along(u, v);
                if (!has[u].contains(s) || has[v].contains(s) || (mask && !mask->contains(s))) continue;
                has[v].insert(s);
                grows = true;
            }
        }
    }
    return has;
}

template <std::size_t Symbols, class View>
void check_case(const closure_case& c, View view) {
    const tracing<Symbols> t(c);
    const auto seeds = [&](std::uint32_t v) { return t.seeds(v); };
    const auto through = [&](std::uint32_t v) { return t.through(v); };
    const auto along = [&](std::uint32_t u, std::uint32_t v) { return t.along(u, v); };
    dependence_table<View> carried(view);
    for (auto [u, v] : t.carried) carried.add(u, v);
    influence_sweep<Symbols, View> sweep(view, c.order);
    const auto agrees = [&](const influence_map<Symbols, View>& map, transfer_kind kind, bool with_carried) {
        const auto expected = by_definition(t, kind, with_carried);
        for (std::uint32_t v = 0; v < c.dag.size; ++v)
            if (!(map[v] == expected[v])) return false;
        return true;
    };
    // One sweep for all of them: nothing of one run may leak into the next.
    RC_ASSERT(agrees(sweep.run(seeds, through, carried), transfer_kind::vertex, true));
    RC_ASSERT(agrees(sweep.run(seeds), transfer_kind::none, false));
    RC_ASSERT(agrees(sweep.run(seeds, along), transfer_kind::edge, false));
    RC_ASSERT(agrees(sweep.run(seeds, passes_everything{}, carried), transfer_kind::none, true));
    RC_ASSERT(agrees(sweep.run(seeds, through), transfer_kind::vertex, false));
    RC_ASSERT(agrees(sweep.run(seeds, along, carried), transfer_kind::edge, true));
    RC_ASSERT(agrees(influence<Symbols>(view, c.order, seeds, along, carried), transfer_kind::edge, true));
}

}  // namespace

TEST_CASE("which symbols reach a vertex") {
    // 0 -> 1 -> 3, 2 -> 3 -> 4.
    support::large_graph g(5);
    for (auto [u, v] : {std::pair{0u, 1u}, {1u, 3u}, {2u, 3u}, {3u, 4u}}) g.add_edge(u, v);
    g.finish();
    const auto order = *topological_sort(g.view());
    // [influence]
    vertex_symbols<64, snapshot_view> seeds(g.view());
    seeds[0].insert(7);
    seeds[2].insert(9);

    const auto all = influence<64>(g.view(), order, seeds);
    CHECK(all[1] == symbol_set<64>{7});
    CHECK(all[4] == symbol_set<64>{7, 9});
    CHECK(all[2] == symbol_set<64>{9});

    vertex_symbols<64, snapshot_view> passes(g.view());
    passes[1];                // nothing
    passes[4] = {9, 10, 11};  // not 7
    const auto stopped = influence<64>(g.view(), order, seeds, passes);
    CHECK(stopped[1].empty());
    CHECK(stopped[3] == symbol_set<64>{9});
    CHECK(stopped[4] == symbol_set<64>{9});

    const symbol_set<64> only_seven{7};
    const auto along = [&](std::uint32_t, std::uint32_t v) { return v == 3 ? &only_seven : nullptr; };
    CHECK(influence<64>(g.view(), order, seeds, along)[4] == only_seven);
    // [/influence]
}

TEST_CASE("what begins at a vertex is not stopped by its own transfer") {
    const support::large_graph g = support::path_graph(2);
    const auto order = *topological_sort(g.view());
    vertex_symbols<64, snapshot_view> seeds(g.view()), passes(g.view());
    seeds[0].insert(1);
    seeds[1].insert(2);
    passes[0], passes[1];
    CHECK(influence<64>(g.view(), order, seeds, passes)[0] == symbol_set<64>{1});
    CHECK(influence<64>(g.view(), order, seeds, passes)[1] == symbol_set<64>{2});
}

TEST_CASE("state that is carried is followed to the fixpoint") {
    // Three buffers in a row, each written behind where the next one is read: a symbol needs three rounds.
    const support::large_graph g = [] {
        support::large_graph pairs(6);
        for (std::uint32_t k = 0; k < 3; ++k) pairs.add_edge(2 * k, 2 * k + 1);
        pairs.finish();
        return pairs;
    }();
    const auto order = *topological_sort(g.view());
    vertex_symbols<64, snapshot_view> seeds(g.view());
    seeds[4].insert(3);
    dependence_table<snapshot_view> carried(g.view());
    carried.add(5, 2);
    carried.add(3, 0);
    carried.add(1, 4);
    const auto map = influence<64>(g.view(), order, seeds, passes_everything{}, carried);
    for (std::uint32_t v = 0; v < 6; ++v) CHECK(map[v] == symbol_set<64>{3});
    vertex_symbols<64, snapshot_view> passes(g.view());
    passes[2];
    const auto stopped = influence<64>(g.view(), order, seeds, passes, carried);
    CHECK(stopped[5] == symbol_set<64>{3});
    CHECK(stopped[2].empty());
    CHECK(stopped[1].empty());
}

TEST_CASE("influence by definition") {
    stretto_check("64 symbols", 40000, [](const std::vector<std::uint8_t>& bytes) {
        const closure_case c(bytes);
        check_case<64>(c, c.view());
    });
    stretto_check("512 symbols", 15000, [](const std::vector<std::uint8_t>& bytes) {
        const closure_case c(bytes);
        check_case<512>(c, c.view());
    });
    stretto_check("128 and 256 symbols", 5000, [](const std::vector<std::uint8_t>& bytes) {
        const closure_case c(bytes);
        check_case<128>(c, c.view());
        check_case<256>(c, c.view());
    });
    stretto_check("512 symbols, vertices share sets", 4000, [](const std::vector<std::uint8_t>& bytes) {
        const closure_case c(bytes);
        check_case<512>(c, sparse_view{&c.dag});
    });
    stretto_check("backwards: what influences is what is influenced, turned around", 5000,
                  [](const std::vector<std::uint8_t>& bytes) {
                      const closure_case c(bytes);
                      const auto backwards = views::reversed(c.view());
                      const auto order = *topological_sort(backwards);
                      vertex_symbols<64, decltype(backwards)> seeds(backwards);
                      for (std::uint32_t v : c.chosen) seeds[v].insert(v);
                      const auto map = influence<64>(backwards, order, seeds);
                      for (std::uint32_t u = 0; u < c.dag.size; ++u)
                          for (std::uint32_t v : c.chosen) RC_ASSERT(map[u].contains(v) == c.path(u, v));
                  });
}

TEST_CASE_TEMPLATE("neither the IR nor its addresses matter", IR, STRETTO_TOY_IRS) {
    stretto_check("a symbol per vertex is its up-set", 30, [] {
        const support::toy_program p = *support::random_programs({.max_ops = 40});
        const IR ir(p, *rc::gen::inRange<std::uint64_t>(0, 100));
        using view = decltype(ir.view());
        const auto order = *topological_sort(ir.view());
        vertex_symbols<128, view> seeds(ir.view());
        for (std::size_t i = 0; i < order.size() && i < 128; ++i) seeds[order[i]].insert(i);
        const auto map = influence<128>(ir.view(), order, seeds);
        cone_finder cones(ir.view(), order);
        for (std::size_t i = 0; i < order.size() && i < 128; ++i) {
            std::vector<bool> above(order.size(), false);
            for (auto v : cones.up_set({order[i]})) above[cones.position(v)] = true;
            for (std::size_t j = 0; j < order.size(); ++j) RC_ASSERT(map[order[j]].contains(i) == above[j]);
        }
    });
}

TEST_CASE("large shapes: shared sets, no recursion, no allocation once warm") {
    const auto check = [](const support::large_graph& g, std::uint32_t source, std::uint32_t sink) {
        const auto order = *topological_sort(g.view());
        vertex_symbols<512, snapshot_view> seeds(g.view());
        seeds[source].insert(400);
        influence_sweep<512, snapshot_view> sweep(g.view(), order);
        dependence_table<snapshot_view> carried(g.view());
        carried.add(sink, source + 1);
        CHECK(sweep.run(seeds)[sink].contains(400));
        CHECK(sweep.run(seeds, passes_everything{}, carried)[sink] == symbol_set<512>{400});
        CHECK(support::allocations_of([&] {
                  if (sweep.run(seeds, passes_everything{}, carried)[sink].empty()) FAIL_CHECK("lost");
              }) == 0);
        return sweep.run(seeds).stored_sets();
    };
    // A path gets its symbol from one place: the empty set and one more.
    CHECK(check(support::path_graph(1'000'000), 0, 999'999) == 2);
    CHECK(check(support::star_graph(100'002), 0, 100'001) == 2);
    CHECK(check(support::butterfly_graph(6, 40), 0, 39 * 64) == 40 * 64);

    // Masks take no sets where there is nothing to stop, whether vertices have them or edges.
    const support::large_graph path = support::path_graph(70'000);
    const auto path_order = *topological_sort(path.view());
    vertex_symbols<512, snapshot_view> halfway(path.view());
    halfway[35'000].insert(400);
    const symbol_set<512> kept_symbols{399, 400};
    const auto ahead = [&](std::uint32_t v) { return v < 35'000 ? &kept_symbols : nullptr; };
    const auto ahead_along = [&](std::uint32_t, std::uint32_t v) { return ahead(v); };
    const auto behind = [&](std::uint32_t v) { return v < 35'000 ? nullptr : &kept_symbols; };
    CHECK(influence<512>(path.view(), path_order, halfway, ahead).stored_sets() == 2);
    CHECK(influence<512>(path.view(), path_order, halfway, ahead_along).stored_sets() == 2);
    CHECK(influence<512>(path.view(), path_order, halfway, ahead)[69'999] == symbol_set<512>{400});
    CHECK(influence<512>(path.view(), path_order, halfway, behind)[69'999] == symbol_set<512>{400});

    // Random seeds and masks on a graph that shares sets, against a set per vertex.
    support::large_graph g(70'000);
    std::uint32_t state = 1;
    const auto next = [&] { return (state = state * 1664525u + 1013904223u) >> 8; };
    for (std::uint32_t v = 1; v < g.size(); ++v)
        for (std::uint32_t k = 1 + next() % 2; k-- > 0;) g.add_edge(v - 1 - next() % (v < 50 ? v : 50), v);
    g.finish();
    vertex_symbols<512, snapshot_view> seeds(g.view()), passes(g.view());
    for (std::size_t s = 0; s < 512; ++s) seeds[next() % g.size()].insert(s);
    for (std::uint32_t k = 0; k < 3000; ++k) {
        symbol_set<512>& kept = passes[next() % g.size()];
        kept = symbol_set<512>::all();
        kept.erase(next() % 512);
    }
    const auto order = *topological_sort(g.view());
    const auto map = influence<512>(g.view(), order, seeds, passes);
    std::vector<symbol_set<512>> expected(g.size());
    std::size_t differ = 0, symbols = 0;
    for (std::uint32_t v = 0; v < g.size(); ++v) {
        for (std::uint32_t u : g.view().predecessors(v)) expected[v] |= expected[u];
        if (passes(v)) expected[v] &= *passes(v);
        if (seeds(v)) expected[v] |= *seeds(v);
        differ += !(map[v] == expected[v]);
        symbols += map[v].size();
    }
    CHECK(differ == 0);
    CHECK(symbols > 100'000);  // else nothing was traced
    CHECK(map.stored_sets() < g.size());
}

TEST_CASE("nothing, and holes in the numbers") {
    const support::large_graph none = support::path_graph(0);
    const auto no_order = *topological_sort(none.view());
    const auto nowhere = [](std::uint32_t) -> const symbol_set<64>* { return nullptr; };
    CHECK(influence<64>(none.view(), no_order, nowhere).stored_sets() == 0);
}

TEST_CASE("archetypes suffice") {
    const archetypes::dependence g(0);
    const auto order = *topological_sort(g);
    const symbol_set<256> one{200};
    const auto seeds = [&](archetypes::vertex v) { return v == order[0] ? &one : nullptr; };
    const auto along = [&](archetypes::vertex, archetypes::vertex) { return &one; };
    dependence_table<archetypes::dependence> carried(g);
    carried.add(order[6], order[0]);
    CHECK(influence<256>(g, order, seeds, along, carried)[order[7]] == one);
    vertex_symbols<256, archetypes::dependence> sparse(g);
    sparse[order[3]].insert(5);
    CHECK(influence<256>(g, order, sparse)[order[5]] == symbol_set<256>{5});
    static_assert(!std::constructible_from<influence_sweep<64, archetypes::dependence>, archetypes::dependence,
                                           topological_order<archetypes::vertex>&&>);
}
