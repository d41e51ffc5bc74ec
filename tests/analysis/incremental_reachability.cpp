#include "stretto/analysis/incremental_reachability.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "stretto/testing/archetypes.hpp"
#include "support/count_allocations.hpp"
#include "support/dag_shapes.hpp"
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
using reachability = incremental_reachability<support::edge_graph_view>;
using witness = blocking_path<id>;

reachability follow(const support::edge_graph& g) {
    const support::edge_graph_view view{&g};
    return reachability(view, *topological_sort(view));
}

/// Everything that can be asked without changing anything, compared with a search from scratch.
void compare_all(reachability& r, const support::rewritten_graph& oracle) {
    const id n = static_cast<id>(oracle.group.size());
    for (id a = 0; a < n; ++a) {
        const std::vector<bool> reached = oracle.reached_from(a);
        for (id b = 0; b < n; ++b) RC_ASSERT(r.reaches(a, b) == reached[oracle.group[b]]);
    }
    RC_ASSERT(oracle.is_order(r.order().leaders()));
}

/// A random collective: two vertices the first of which reaches the second, in two merged vertices.
bool is_collective(const support::rewritten_graph& oracle, const collective_ends<id>& c) {
    return oracle.group[c.start] != oracle.group[c.wait] && oracle.reaches(c.start, c.wait);
}

/// Merges up to four random collectives at once, if there are that many.
void merge_many(reachability& r, support::rewritten_graph& oracle, support::byte_reader& bytes) {
    const id n = static_cast<id>(oracle.group.size());
    std::vector<collective_ends<id>> all;
    ids starts, waits;
    for (id k = bytes.next() % 4 + 1; k > 0; --k) {
        const id v = bytes.next() % n, w = bytes.next() % n;
        for (const collective_ends<id> c : {collective_ends<id>{v, w}, collective_ends<id>{w, v}}) {
            if (!is_collective(oracle, c)) continue;
            all.push_back(c);
            starts.push_back(c.start);
            waits.push_back(c.wait);
        }
    }
    if (all.empty()) return;
    support::rewritten_graph merged = oracle;
    bool allowed = true;
    for (const collective_ends<id>& c : all) {
        merged.merge(starts[0], c.start);
        merged.merge(waits[0], c.wait);
        for (id s : starts) allowed = allowed && !oracle.reaches(c.wait, s);
    }
    allowed = allowed && merged.acyclic();
    const auto both = r.try_merge_collectives(all);
    RC_ASSERT(both.has_value() == allowed);
    if (both) {
        oracle = merged;
        for (id s : starts) RC_ASSERT(both->start == r.leader(s));
        for (id w : waits) RC_ASSERT(both->wait == r.leader(w));
        return;
    }
    const witness w = both.error();
    const ids path = r.path(w);
    if (w.via == w.from) {
        RC_ASSERT((std::ranges::count(waits, w.from) > 0 && std::ranges::count(starts, w.to) > 0));
        RC_ASSERT(oracle.is_path(path, w.from, w.to));
    } else {
        RC_ASSERT((oracle.blocks_merge(w, path, starts) || oracle.blocks_merge(w, path, waits)));
    }
}

/// One operation on both; whatever is accepted must leave the graph acyclic, whatever is refused must not.
void operate(reachability& r, support::rewritten_graph& oracle, support::byte_reader& bytes) {
    const id n = static_cast<id>(oracle.group.size());
    const id operation = bytes.next();
    const auto vertex = [&] { return bytes.next() % n; };
    if (operation % 8 < 2) {
        const id before = vertex(), after = vertex();
        const bool allowed = !oracle.reaches(after, before);
        const auto added = r.try_add_edge(before, after);
        RC_ASSERT(added.has_value() == allowed);
        if (added) {
            RC_ASSERT((*added == dependence<id>{before, after}));
            oracle.edges.emplace_back(before, after);
        } else {
            RC_ASSERT((added.error() == witness{after, after, before}));
            RC_ASSERT(oracle.is_path(r.path(added.error()), after, before));
        }
    } else if (operation % 8 < 5) {
        ids set{vertex(), vertex()};
        const bool pair = operation % 8 < 4;
        if (!pair)
            for (id k = operation / 8 % 4; k > 0; --k) set.push_back(vertex());
        support::rewritten_graph merged = oracle;
        for (id v : set) merged.merge(set[0], v);
        const auto leader = pair ? r.try_merge(set[0], set[1]) : r.try_merge(set);
        RC_ASSERT(leader.has_value() == merged.acyclic());
        if (leader) {
            oracle = merged;
            RC_ASSERT(oracle.group[*leader] == oracle.group[set[0]]);
            RC_ASSERT(r.leader(set[1]) == *leader);
        } else {
            RC_ASSERT(oracle.blocks_merge(leader.error(), r.path(leader.error()), set));
        }
    } else if (operation % 8 == 7) {
        merge_many(r, oracle, bytes);
    } else {
        const collective_ends<id> a{vertex(), vertex()}, b{vertex(), vertex()};
        if (!is_collective(oracle, a) || !is_collective(oracle, b)) return;
        support::rewritten_graph merged = oracle;
        merged.merge(a.start, b.start);
        merged.merge(a.wait, b.wait);
        const auto both = r.try_merge_collectives(a, b);
        // The last two matter where one is the wait of the other: all four made one would be acyclic, and nonsense.
        const bool allowed = merged.acyclic() && !oracle.reaches(a.wait, b.start) && !oracle.reaches(b.wait, a.start);
        RC_ASSERT(both.has_value() == allowed);
        if (both) {
            oracle = merged;
            RC_ASSERT(both->start == r.leader(a.start));
            RC_ASSERT(both->wait == r.leader(b.wait));
            return;
        }
        const witness w = both.error();
        const ids path = r.path(w);
        if (w.via == w.from) {
            RC_ASSERT((w == witness{a.wait, a.wait, b.start} || w == witness{b.wait, b.wait, a.start}));
            RC_ASSERT(oracle.is_path(path, w.from, w.to));
        } else {
            RC_ASSERT(
                (oracle.blocks_merge(w, path, {a.start, b.start}) || oracle.blocks_merge(w, path, {a.wait, b.wait})));
        }
    }
}

/// Rows of neighbours, for graphs that are too large for lists of edges.
struct large_graph {
    index_lists successors, predecessors;
    large_graph(id size, const std::vector<std::pair<id, id>>& edges) {
        std::vector<ids> rows(size);
        for (auto [u, v] : edges) rows[u].push_back(v);
        for (const ids& row : rows) successors.push_row(row);
        predecessors = successors.inverse(size);
    }
    snapshot_view view() const { return {successors, predecessors}; }
};

}  // namespace

TEST_CASE("two gathers become one; a third that needs their result may not") {
    // 0 start, 1 wait; 2 start, 3 wait; 4 uses both; 5 start, 6 wait behind it.
    const support::edge_graph g = graph(7, {{0, 1}, {2, 3}, {1, 4}, {3, 4}, {4, 5}, {5, 6}});
    reachability r = follow(g);
    CHECK(!r.reaches(0, 3));
    const auto bucket = r.try_merge_collectives({0, 1}, {2, 3});
    REQUIRE(bucket);
    CHECK(*bucket == collective_ends<id>{0, 1});
    CHECK(r.reaches(0, 3));
    CHECK(r.leader(3) == 1);
    CHECK(r.order().leaders() == ids{0, 1, 4, 5, 6});

    reachability at_once = follow(g);
    const collective_ends<id> first{0, 1}, second{2, 3}, third{5, 6};
    CHECK(at_once.try_merge_collectives(std::vector{first, second, third}).error() == witness{1, 1, 5});
    CHECK(at_once.leader(2) == 2);
    const auto both = at_once.try_merge_collectives(std::vector{second, first});
    REQUIRE(both);
    CHECK(*both == collective_ends<id>{0, 1});

    const auto refused = r.try_merge_collectives({5, 6}, *bucket);
    REQUIRE(!refused);
    CHECK(refused.error() == witness{1, 1, 5});
    CHECK(r.path(refused.error()) == ids{1, 4, 5});
    ids members;
    for (id v : r.members(3)) members.push_back(v);
    CHECK(members == ids{1, 3});
    CHECK(r.members(3).size() == 2);
}

TEST_CASE("both ends or neither: if the waits cannot be one, the starts are not either") {
    // The wait of the first reaches the wait of the second, but not its start.
    const support::edge_graph g = graph(5, {{0, 1}, {2, 3}, {1, 4}, {4, 3}});
    reachability r = follow(g);
    const auto refused = r.try_merge_collectives({2, 3}, {0, 1});
    REQUIRE(!refused);
    CHECK(refused.error() == witness{1, 4, 3});
    CHECK(r.path(refused.error()) == ids{1, 4, 3});
    CHECK(r.leader(2) == 2);
    CHECK(!r.reaches(2, 1));
}

TEST_CASE("an edge between two does not keep them from being one, a third in between does") {
    const support::edge_graph g = graph(4, {{0, 1}, {1, 2}, {0, 3}});
    reachability r = follow(g);
    const auto refused = r.try_merge(2, 0);
    REQUIRE(!refused);
    CHECK(refused.error() == witness{0, 1, 2});
    const ids all{2, 0, 1};
    CHECK(r.try_merge(all));
    CHECK(r.try_merge(3, 2));
    CHECK(r.order().leaders() == ids{0});
}

TEST_CASE("an edge that closes a cycle is refused with the rest of the cycle") {
    const support::edge_graph g = graph(5, {{0, 1}, {1, 2}, {3, 4}});
    reachability r = follow(g);
    REQUIRE(r.try_add_edge(2, 3));
    REQUIRE(r.try_add_edge(2, 3));
    const auto refused = r.try_add_edge(4, 0);
    REQUIRE(!refused);
    CHECK(r.path(refused.error()) == ids{0, 1, 2, 3, 4});
    CHECK(r.path(r.try_add_edge(1, 1).error()) == ids{1});
    REQUIRE(r.try_merge(0, 1));
    CHECK(r.path(r.try_add_edge(0, 1).error()) == ids{1, 0});
    CHECK(r.path(4, 0).empty());
}

TEST_CASE("marks are a stack of moments") {
    const support::edge_graph g = graph(4, {});
    reachability r = follow(g);
    const auto start = r.mark();
    REQUIRE(r.try_merge(0, 1));
    const auto middle = r.mark();
    REQUIRE(r.try_add_edge(1, 2));
    REQUIRE(r.try_merge(2, 3));
    CHECK(r.reaches(0, 3));
    r.undo_to(middle);
    CHECK(!r.reaches(0, 2));
    CHECK(r.reaches(0, 1));
    CHECK(r.leader(3) == 3);
    REQUIRE(r.try_add_edge(3, 0));
    r.undo_to(middle);
    r.undo_to(middle);
    CHECK(r.reaches(1, 0));
    r.undo_to(start);
    CHECK(!r.reaches(1, 0));
    r.forget_marks();
    REQUIRE(r.try_merge(2, 3));
    CHECK(r.reaches(2, 3));
}

TEST_CASE("broken preconditions are caught") {
    const support::edge_graph g = graph(4, {{0, 1}, {2, 3}});
    const auto says = [](const std::string& words, const char* sentence) {
        return words.find(sentence) != std::string::npos;
    };
    CHECK(says(support::last_words([&] {
                   reachability r = follow(g);
                   const auto early = r.mark();
                   (void)r.try_merge(0, 2);
                   const auto late = r.mark();
                   r.undo_to(early);
                   (void)r.try_merge(0, 2);
                   (void)r.mark();
                   r.undo_to(late);
               }),
               "this mark has been undone or forgotten"));
    CHECK(says(support::last_words([&] {
                   reachability r = follow(g);
                   const auto m = r.mark();
                   r.forget_marks();
                   r.undo_to(m);
               }),
               "this mark has been undone or forgotten"));
    CHECK(says(support::last_words([&] { (void)follow(g).try_merge_collectives({0, 1}, {3, 2}); }),
               "a wait must depend on its start"));
    CHECK(says(support::last_words([&] { (void)follow(g).try_merge(std::span<const id>()); }),
               "there is no vertex to merge"));
}

TEST_CASE("merge, add, ask, mark and undo in any order: every answer as from scratch") {
    stretto_check("incremental reachability", 3000, [](const std::vector<std::uint8_t>& input) {
        support::byte_reader bytes(input);
        const support::edge_graph g = support::small_acyclic_graph(bytes);
        reachability r = follow(g);
        struct remembered {
            reachability_mark mark;
            support::rewritten_graph oracle;
            ids leaders;
        };
        std::vector<remembered> marks;
        support::rewritten_graph oracle(g);
        compare_all(r, oracle);
        while (!bytes.done()) {
            const std::uint32_t what = bytes.next();
            if (what % 8 == 0) {
                marks.push_back({r.mark(), oracle, r.order().leaders()});
            } else if (what % 8 == 1 && !marks.empty()) {
                marks.resize(marks.size() - what / 8 % marks.size(), marks.front());
                r.undo_to(marks.back().mark);
                oracle = marks.back().oracle;
                RC_ASSERT(r.order().leaders() == marks.back().leaders);
                compare_all(r, oracle);
            } else if (what == 2) {
                r.forget_marks();
                marks.clear();
            } else {
                operate(r, oracle, bytes);
                compare_all(r, oracle);
            }
            const id n = g.size, v = what % n;
            ids members;
            for (id u : r.members(v)) members.push_back(u);
            for (id u : g.order)
                if (oracle.group[u] == oracle.group[v]) {
                    RC_ASSERT(r.leader(v) == u);
                    RC_ASSERT(members.front() == u);
                    break;
                }
            std::sort(members.begin(), members.end());
            RC_ASSERT(members == oracle.members(v));
        }
    });
}

TEST_CASE("what is undone leaves no trace: done again, it gives the same answers, order and witnesses") {
    stretto_check("undo and redo", 500, [](const std::vector<std::uint8_t>& input) {
        support::byte_reader bytes(input);
        const support::edge_graph g = support::small_acyclic_graph(bytes);
        const support::byte_reader here = bytes;
        reachability r = follow(g), fresh = follow(g);
        const auto m = r.mark();
        for (support::rewritten_graph oracle(g); !bytes.done();) operate(r, oracle, bytes);
        r.undo_to(m);
        support::byte_reader again = here, once = here;
        support::rewritten_graph oracle(g), same(g);
        while (!again.done()) {
            operate(r, oracle, again);
            operate(fresh, same, once);
            RC_ASSERT(r.order().leaders() == fresh.order().leaders());
        }
        for (id a = 0; a < g.size; ++a)
            for (id b = 0; b < g.size; ++b) RC_ASSERT(r.path(a, b) == fresh.path(a, b));
    });
}

TEST_CASE("shapes of larger graphs: spines, replicas that share parameters, butterflies, random") {
    const auto shapes = [](id seed) {
        const support::dag_shape g = seed % 4 == 0   ? support::spine_with_branches(40, 5)
                                     : seed % 4 == 1 ? support::replicated(support::spine_with_branches(14, 5), 4)
                                     : seed % 4 == 2 ? support::butterflies(3, 8)
                                                     : support::random_shape(70, 2, 70, seed);
        std::vector<std::pair<id, id>> edges;
        for (id v = 0; v < g.size(); ++v)
            for (id u : g.predecessors[v]) edges.emplace_back(u, v);
        return support::edge_graph{g.size(), edges, support::shuffled(g.size(), seed / 4 % 2 ? seed : 0)};
    };
    stretto_check("larger graphs", 150, [&](std::uint32_t seed) {
        const support::edge_graph g = shapes(seed % 4096);
        reachability r = follow(g);
        support::rewritten_graph oracle(g);
        std::vector<std::uint8_t> genes;
        for (std::uint32_t v : support::shuffled(160, seed)) genes.push_back(static_cast<std::uint8_t>(v * 37 + seed));
        support::byte_reader bytes(genes);
        const auto m = r.mark();
        const ids leaders = r.order().leaders();
        while (!bytes.done()) {
            operate(r, oracle, bytes);
            const id a = bytes.next() % g.size;
            const std::vector<bool> reached = oracle.reached_from(a);
            for (id b = 0; b < g.size; ++b) RC_ASSERT(r.reaches(a, b) == reached[oracle.group[b]]);
        }
        compare_all(r, oracle);
        r.undo_to(m);
        RC_ASSERT(r.order().leaders() == leaders);
        compare_all(r, support::rewritten_graph(g));
    });
}

TEST_CASE_TEMPLATE("any IR, wherever it is allocated: the same answers", IR, STRETTO_TOY_IRS) {
    stretto_check("toy IRs", 15, [] {
        const support::toy_program p = *support::random_programs({.max_ops = 25});
        const std::uint64_t seed = *rc::gen::inRange<std::uint64_t>(0, 100);
        const IR ir(p, seed);
        const support::matrix_ir reference(p, 0);
        const auto view = ir.view();
        const auto reference_view = reference.view();
        incremental_reachability r(view, *topological_sort(view));
        incremental_reachability s(reference_view, *topological_sort(reference_view));
        const auto all = support::vertices_of(view);
        const auto reference_all = support::vertices_of(reference_view);
        const std::vector<std::uint32_t> position = support::positions_of(view);
        const std::vector<std::uint32_t> reference_position = support::positions_of(reference_view);
        for (std::uint32_t k : support::shuffled(all.size() * all.size(), seed + 1)) {
            const std::size_t a = k / all.size(), b = k % all.size();
            RC_ASSERT(r.reaches(all[a], all[b]) == s.reaches(reference_all[a], reference_all[b]));
            if (k % 5 != 0) continue;
            const auto one = r.try_merge(all[a], all[b]);
            const auto other = s.try_merge(reference_all[a], reference_all[b]);
            RC_ASSERT(one.has_value() == other.has_value());
            if (one) {
                RC_ASSERT(position[view.index(*one)] == reference_position[reference_view.index(*other)]);
            } else {
                const auto path = r.path(one.error());
                const auto reference_path = s.path(other.error());
                RC_ASSERT(path.size() == reference_path.size());
                for (std::size_t i = 0; i < path.size(); ++i)
                    RC_ASSERT(position[view.index(path[i])] ==
                              reference_position[reference_view.index(reference_path[i])]);
            }
        }
    });
}

TEST_CASE("archetypes suffice") {
    const archetypes::dependence g(0);
    const auto order = topological_sort(g);
    REQUIRE(order);
    incremental_reachability r(g, *order);
    const auto& v = *order;
    CHECK(r.reaches(v[1], v[7]));
    CHECK(!r.reaches(v[2], v[3]));
    const auto m = r.mark();
    CHECK(!r.try_merge_collectives({v[1], v[2]}, {v[5], v[6]}));
    CHECK(r.try_merge(v[2], v[3]));
    CHECK(!r.try_add_edge(v[3], v[1]));
    r.undo_to(m);
    CHECK(r.try_add_edge(v[3], v[1]));
    CHECK(r.leader(v[3]) == v[3]);
    for (archetypes::vertex u : r.members(v[4])) CHECK(u == v[4]);
}

TEST_CASE("no vertices, one vertex") {
    const support::edge_graph nothing = graph(0, {}), one = graph(1, {});
    CHECK(follow(nothing).order().leaders().empty());
    reachability r = follow(one);
    CHECK(r.reaches(0, 0));
    CHECK(r.try_merge(0, 0));
    CHECK(!r.try_add_edge(0, 0));
    CHECK(r.path(0, 0) == ids{0});
}

TEST_CASE("depth is no recursion: a path of a million") {
    constexpr id n = 1'000'000;
    std::vector<std::pair<id, id>> edges;
    for (id v = 0; v + 1 < n; ++v) edges.emplace_back(v, v + 1);
    const large_graph g(n, edges);
    incremental_reachability r(g.view(), *topological_sort(g.view()));
    CHECK(r.reaches(0, n - 1));
    CHECK(!r.reaches(n - 1, 0));
    const auto refused = r.try_merge(0, n - 1);
    REQUIRE(!refused);
    CHECK(refused.error() == witness{0, 1, n - 1});
    CHECK(r.path(refused.error()).size() == n);
    ids all(n);
    for (id v = 0; v < n; ++v) all[v] = v;
    CHECK(r.try_merge(all));
    CHECK(r.members(5).size() == n);
}

TEST_CASE("a star of a hundred thousand consumers, each a collective into one sink") {
    constexpr id k = 100'000, n = 2 * k + 2;
    std::vector<std::pair<id, id>> edges;
    for (id i = 0; i < k; ++i) {
        edges.emplace_back(0, 1 + 2 * i);
        edges.emplace_back(1 + 2 * i, 2 + 2 * i);
        edges.emplace_back(2 + 2 * i, n - 1);
    }
    const large_graph g(n, edges);
    incremental_reachability r(g.view(), *topological_sort(g.view()));
    CHECK(!r.reaches(1, n - 2));
    id refused = 0;
    for (id i = 1; i < k; ++i) refused += !r.try_merge_collectives({1, 2}, {1 + 2 * i, 2 + 2 * i});
    CHECK(refused == 0);
    CHECK(r.members(1).size() == k);
    CHECK(r.order().leaders() == ids{0, 1, 2, n - 1});
}

TEST_CASE("once buffers have grown, nothing is allocated") {
    std::vector<std::pair<id, id>> edges;
    constexpr id layers = 100, n = 4 * layers;
    for (id k = 0; k < layers; ++k) {  // compute, input, start, wait
        if (k > 0) edges.emplace_back(4 * (k - 1), 4 * k);
        edges.emplace_back(4 * k + 1, 4 * k + 2);
        edges.emplace_back(4 * k + 2, 4 * k + 3);
        edges.emplace_back(4 * k + 3, 4 * k);
    }
    const large_graph g(n, edges);
    incremental_reachability r(g.view(), *topological_sort(g.view()));
    id accepted = 0;
    const auto work = [&] {
        accepted = 0;
        const auto m = r.mark();
        for (id k = 0; k < layers; ++k) {
            const id first = k - k % 8;
            accepted += r.try_merge_collectives({4 * first + 2, 4 * first + 3}, {4 * k + 2, 4 * k + 3}).has_value();
            accepted += r.try_add_edge(4 * k + 3, 4 * ((k * 7 + 3) % layers)).has_value();
            const collective_ends<id> two[] = {{4 * k + 2, 4 * k + 3}, {4 * first + 2, 4 * first + 3}};
            accepted += r.try_merge_collectives(two).has_value();
            const id set[] = {4 * k, 4 * first, 4 * ((k + 20) % layers)};
            accepted += r.try_merge(set).has_value();
            accepted += r.reaches(4 * k + 1, 4 * ((k * 13) % layers));
        }
        r.undo_to(m);
    };
    work();
    const id before = accepted;
    const std::size_t so_far = support::allocations;
    work();
    CHECK(support::allocations == so_far);
    CHECK(accepted == before);
    CHECK(accepted > layers);
}
