#include "stretto/analysis/reachability.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "stretto/analysis/cone.hpp"
#include "stretto/testing/archetypes.hpp"
#include "stretto/views/filtered.hpp"
#include "stretto/views/with_dependences.hpp"
#include "support/count_allocations.hpp"
#include "support/dag_shapes.hpp"
#include "support/prop.hpp"
#include "support/random_program.hpp"
#include "support/small_dag.hpp"
#include "support/toy_irs.hpp"

using namespace stretto;
using support::closure_bits;
using support::dag_shape;
using support::small_dag;
using support::small_dag_view;

namespace {

constexpr reachability_kind every_kind[] = {reachability_kind::spine_labels, reachability_kind::support_labels,
                                            reachability_kind::closure_rows, reachability_kind::hub_labels};

/// The pairs about which an index is wrong.
template <class Index>
std::vector<std::pair<std::uint32_t, std::uint32_t>> wrong_answers(Index&& index, std::uint32_t size,
                                                                   const closure_bits& truth) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> wrong;
    for (std::uint32_t u = 0; u < size; ++u)
        for (std::uint32_t v = 0; v < size; ++v)
            if (index.reaches(u, v) != truth.reaches(u, v)) wrong.emplace_back(u, v);
    return wrong;
}

/// Asks everything of every kind of index.
void check_all_pairs(const dag_shape& g) {
    const auto order = topological_sort(g.view());
    REQUIRE(order);
    const closure_bits truth(g.view(), *order);
    for (reachability_kind kind : every_kind) {
        CAPTURE(static_cast<int>(kind));
        CHECK(wrong_answers(reachability(g.view(), *order, kind), g.size(), truth).empty());
    }
    CHECK(wrong_answers(reachability(g.view(), *order), g.size(), truth).empty());
}

reachability_choice choice_for(const dag_shape& g) {
    return reachability(g.view(), *topological_sort(g.view())).choice();
}

}  // namespace

TEST_CASE("does one vertex reach the other?") {
    // 0 -> 1 -> 3, 0 -> 2 -> 3, and 4 alone.
    const dag_shape diamond({{}, {0}, {0}, {1, 2}, {}});
    const auto order = topological_sort(diamond.view());
    REQUIRE(order);
    reachability index(diamond.view(), *order);
    CHECK(index.reaches(0, 3));
    CHECK(index.reaches(1, 3));
    CHECK(!index.reaches(3, 0));
    CHECK(!index.reaches(1, 2));
    CHECK(!index.reaches(0, 4));
    CHECK(!index.reaches(4, 3));
    for (std::uint32_t v = 0; v < 5; ++v) CHECK(index.reaches(v, v));
}

TEST_CASE("Inductor J5: ancestors on a diamond with a tail, their numbers, further edges, and a chain of a hundred") {
    const dag_shape g({{}, {0}, {0}, {1, 2}, {3}});
    const auto order = topological_sort(g.view());
    REQUIRE(order);
    cone_finder cones(g.view(), *order);
    const auto ancestors = [](auto& finder, std::uint32_t v) {
        std::set<std::uint32_t> all;
        for (std::uint32_t u : finder.down_set({v})) all.insert(u);
        all.erase(v);
        return all;
    };
    using set = std::set<std::uint32_t>;
    CHECK(ancestors(cones, 0) == set{});
    CHECK(ancestors(cones, 1) == set{0});
    CHECK(ancestors(cones, 3) == set{0, 1, 2});
    CHECK(ancestors(cones, 4) == set{0, 1, 2, 3});
    const set of_3 = ancestors(cones, 3), of_4 = ancestors(cones, 4);
    CHECK(std::ranges::count_if(of_3, [&](std::uint32_t v) { return of_4.contains(v); }) == 3);

    reachability index(g.view(), *order);
    const auto related = [](auto& of, std::uint32_t u, std::uint32_t v) {
        return of.reaches(u, v) || of.reaches(v, u);
    };
    for (std::uint32_t u = 0; u < 5; ++u)
        for (std::uint32_t v = 0; v < 5; ++v) CHECK(related(index, u, v) == related(index, v, u));
    CHECK(!related(index, 1, 2));
    dependence_table extra(g.view());
    extra.add(1, 2);
    const auto more = views::with_dependences(g.view(), extra);
    const auto new_order = topological_sort(more);
    REQUIRE(new_order);
    reachability after(more, *new_order);
    CHECK(after.reaches(1, 2));
    CHECK(!after.reaches(2, 1));

    const dag_shape chain = support::path_shape(100);
    const auto along = topological_sort(chain.view());
    REQUIRE(along);
    cone_finder of_chain(chain.view(), *along);
    CHECK(ancestors(of_chain, 99).size() == 99);
    CHECK(ancestors(of_chain, 0).empty());
}

TEST_CASE("nothing, and a single vertex") {
    for (const std::uint32_t size : {0u, 1u}) {
        const dag_shape g{std::vector<std::vector<std::uint32_t>>(size)};
        check_all_pairs(g);
        CHECK(choice_for(g).kind == reachability_kind::spine_labels);
    }
}

TEST_CASE("every kind answers as the closure does") {
    stretto_check("small graphs", 3000, [](const std::vector<std::uint8_t>& bytes) {
        const small_dag g = small_dag::decode(bytes, 40);
        const auto order = topological_sort(small_dag_view{&g});
        RC_ASSERT(order.has_value());
        const std::vector<std::uint64_t> truth = g.closure();
        const auto check = [&](auto index) {
            for (std::uint32_t u = 0; u < g.size; ++u)
                for (std::uint32_t v = 0; v < g.size; ++v)
                    if (index.reaches(u, v) != static_cast<bool>(truth[u] >> v & 1u))
                        RC_FAIL("wrong about a pair of vertices");
        };
        for (reachability_kind kind : every_kind) check(reachability(small_dag_view{&g}, *order, kind));
        check(reachability(small_dag_view{&g}, *order));
    });
}

namespace {

/// That neither labels nor ranks of a graph contradict its closure. Ranks that are `strict` grow along every edge.
template <class Labels>
void check_spine_labels(const small_dag& g, bool strict) {
    const small_dag_view view{&g};
    const auto order = topological_sort(view);
    RC_ASSERT(order.has_value());
    const std::vector<std::uint64_t> truth = g.closure();
    const Labels labels(view, *order);
    for (std::uint32_t p = 0; p < g.size; ++p) {
        const std::size_t of_u = view.index((*order)[p]);
        RC_ASSERT(labels.contains(of_u));
        RC_ASSERT(labels.position(of_u) == p);
        for (std::uint32_t q = 0; q < g.size; ++q) {
            if (p == q) continue;
            const std::size_t of_v = view.index((*order)[q]);
            const bool path = truth[(*order)[p]] >> (*order)[q] & 1u;
            if (path) RC_ASSERT(labels.rank(of_u) + (strict ? 1 : 0) <= labels.rank(of_v));
            RC_ASSERT(labels.compare(of_u, of_v) != (path ? detail::reach_verdict::no : detail::reach_verdict::yes));
        }
    }
}

}  // namespace

TEST_CASE("spine labels alone are never wrong, however few numbers there are") {
    stretto_check("small graphs", 1000, [](const std::vector<std::uint8_t>& bytes) {
        const small_dag g = small_dag::decode(bytes, 60);
        check_spine_labels<detail::spine_labels<>>(g, true);
        check_spine_labels<detail::spine_labels<2, 23>>(g, true);   // a spine of more than two has few posts
        check_spine_labels<detail::spine_labels<3, 4>>(g, false);   // ranks are not strict
        check_spine_labels<detail::spine_labels<19, 1>>(g, false);  // nor distinct
        check_spine_labels<detail::spine_labels<4, 9>>(g, true);    // there is no room between wishes
    });
}

TEST_CASE("support labels alone are never wrong, and both of their orders are orders") {
    stretto_check("small graphs", 1000, [](const std::vector<std::uint8_t>& bytes) {
        const small_dag g = small_dag::decode(bytes, 40);
        const small_dag_view view{&g};
        const auto order = topological_sort(view);
        RC_ASSERT(order.has_value());
        const std::vector<std::uint64_t> truth = g.closure();
        const detail::position_graph positions(view, *order);
        const detail::support_labelling supports(positions.view());

        std::vector<bool> taken(g.size);
        for (std::uint32_t p = 0; p < g.size; ++p) {
            const detail::label_fields& l = supports.labels()[p].at;
            RC_ASSERT(l.position == p);
            RC_ASSERT(l.rank < g.size);
            RC_ASSERT(!taken[l.rank]);
            taken[l.rank] = true;
        }
        for (std::uint32_t p = 0; p < g.size; ++p)
            for (std::uint32_t q = 0; q < g.size; ++q) {
                if (p == q) continue;
                const bool path = truth[(*order)[p]] >> (*order)[q] & 1u;
                if (path) RC_ASSERT(supports.labels()[p].at.rank < supports.labels()[q].at.rank);
                const auto opposite = path ? detail::reach_verdict::no : detail::reach_verdict::yes;
                RC_ASSERT(detail::compare(supports.labels()[p], supports.labels()[q]) != opposite);
            }
    });
}

TEST_CASE("fields in one word are compared as one by one") {
    using fields = detail::packed_fields<3, 2>;
    constexpr std::uint32_t posts = fields::none + 1, ranks = fields::highest_rank + 1;
    std::size_t wrong = 0;
    for (std::uint32_t a = 0; a < posts * posts * ranks; ++a)
        for (std::uint32_t b = 0; b < posts * posts * ranks; ++b) {
            const std::uint64_t u = fields::pack(a % posts, a / posts % ranks, a / posts / ranks);
            const std::uint64_t v = fields::pack(b % posts, b / posts % ranks, b / posts / ranks);
            wrong += fields::next(u) != a % posts || fields::rank(u) != a / posts % ranks;
            wrong += fields::last(u) != a / posts / ranks;
            const bool beyond = fields::next(u) > fields::next(v) || fields::last(u) > fields::last(v);
            for (const bool strict : {false, true}) {
                const bool late = strict ? fields::rank(u) >= fields::rank(v) : fields::rank(u) > fields::rank(v);
                wrong += fields::contradict(u, v, fields::allowance(strict)) != (beyond || late);
            }
        }
    CHECK(wrong == 0);
}

TEST_CASE("four fields at once are compared as one by one") {
    static constexpr std::uint32_t values[] = {
        0, 1, 2, 1u << 30, detail::label_fields::none - 1, detail::label_fields::none};
    const auto pick = [](std::uint32_t& code) {
        const std::uint32_t value = values[code % 6];
        code /= 6;
        return value;
    };
    const std::uint32_t codes = 6 * 6 * 6 * 6;
    std::size_t wrong = 0;
    for (std::uint32_t a = 0; a < codes; ++a)
        for (std::uint32_t b = 0; b < codes; ++b) {
            std::uint32_t of_u = a, of_v = b;
            const detail::label_fields u{pick(of_u), pick(of_u), pick(of_u), pick(of_u)};
            const detail::label_fields v{pick(of_v), pick(of_v), pick(of_v), pick(of_v)};
            wrong += detail::contradictions(u, v) != detail::contradictions_one_by_one(u, v);
        }
    CHECK(wrong == 0);
}

TEST_CASE("ranks of vertices beside the spine stay apart, however long the paths there are") {
    // Bands for any length of the spine: what feeds it comes before its middle, and that before what drains it.
    for (const std::uint32_t length : {1u, 2u, 1000u, 1u << 20, (1u << 28) - 1}) {
        const detail::spine_ranks ranks(length, 30);
        CHECK(ranks.strict() == (length < 1u << 27));
        const std::uint32_t highest_feeding = ranks.feeding(1), lowest_feeding = ranks.feeding(UINT32_MAX);
        const std::uint32_t room = ranks.strict() ? length : length >> 1;  // there, two ranks are one
        CHECK(lowest_feeding >= room);                                     // room for any path below
        CHECK(ranks.feeding(length) > lowest_feeding);
        CHECK(highest_feeding >= ranks.feeding(length));
        CHECK(ranks.middle(length) > highest_feeding);
        CHECK(ranks.middle(1) >= ranks.middle(length));
        const std::uint32_t lowest_draining = length == 1 ? ranks.draining(1) : ranks.draining(length - 1);
        CHECK(lowest_draining - room > ranks.middle(1));
        CHECK(ranks.draining(1) >= lowest_draining);
        CHECK(ranks.draining(length) >= ranks.draining(1));
        CHECK(ranks.draining(length) < 1u << 30);
    }
    // No rank needs more bits than there are, and no more ranks become one than must.
    for (const std::uint32_t length : {1u, 2u, 3u, 100u, 1'677'720u, 1'677'722u, (1u << 28) - 1})
        for (const unsigned bits : {1u, 2u, 5u, 9u, 23u, 30u}) {
            const detail::spine_ranks ranks(length, bits);
            CHECK(ranks.draining(length) < 1u << bits);
            CHECK(ranks.strict() == (5 * std::uint64_t{length} + 4 < 1u << bits));
        }
}

TEST_CASE("graphs of every shape, all pairs") {
    SUBCASE("a long spine") { check_all_pairs(support::spine_with_branches(400)); }
    SUBCASE("a long spine under other ids") { check_all_pairs(support::spine_with_branches(300).renamed(7)); }
    SUBCASE("three replicas") { check_all_pairs(support::replicated(support::spine_with_branches(120), 3)); }
    SUBCASE("twenty replicas: more than there are lanes") {
        check_all_pairs(support::replicated(support::spine_with_branches(24, 6), 20));
    }
    SUBCASE("eight replicas under other ids") {
        check_all_pairs(support::replicated(support::spine_with_branches(40), 8).renamed(3));
    }
    SUBCASE("butterflies") { check_all_pairs(support::butterflies(4, 50)); }
    SUBCASE("a star") { check_all_pairs(support::star_shape(600)); }
    SUBCASE("a sparse random graph") { check_all_pairs(support::random_shape(700, 1, 700, 1)); }
    SUBCASE("a random graph") { check_all_pairs(support::random_shape(700, 2, 700, 2)); }
    SUBCASE("a random graph of short edges") { check_all_pairs(support::random_shape(700, 2, 40, 3).renamed(4)); }
    SUBCASE("no edges") { check_all_pairs(dag_shape(std::vector<std::vector<std::uint32_t>>(500))); }
}

TEST_CASE("the kind is chosen by the length of searches") {
    using kind = reachability_kind;
    using reason = reachability_reason;

    const reachability_choice step = choice_for(support::spine_with_branches(3000));
    CHECK(step.kind == kind::spine_labels);
    CHECK(step.reason == reason::few_steps);
    CHECK(step.trial(kind::spine_labels).mean_steps() <= 8);
    CHECK(step.trial(kind::support_labels).pairs == 0);
    CHECK(step.bytes() == 8 * support::spine_with_branches(3000).size());
    const dag_shape renamed = support::spine_with_branches(3000).renamed(1);
    CHECK(choice_for(renamed).bytes() == 12 * renamed.size());

    const dag_shape copies = support::replicated(support::spine_with_branches(3000), 8);
    const reachability_choice replicas = choice_for(copies);
    CHECK(replicas.kind == kind::support_labels);
    CHECK(replicas.reason == reason::few_steps);
    CHECK(replicas.trial(kind::spine_labels).mean_steps() > 8);
    CHECK(replicas.trial(kind::support_labels).mean_steps() <= 8);
    CHECK(replicas.bytes() == 32 * copies.size());

    const reachability_choice random = choice_for(support::random_shape(20000, 2, 20000, 5).renamed(1));
    CHECK(random.trial(kind::support_labels).mean_steps() > 8);
    CHECK(random.bytes() == random.trial(random.kind).bytes);

    // Half a bit per pair, up to the word that the diagonal is in, and positions.
    const reachability_choice rows = choice_for(support::butterflies(6, 200));
    CHECK(rows.kind == kind::closure_rows);
    CHECK(rows.reason == reason::no_search);
    const std::size_t n = support::butterflies(6, 200).size(), words = (n + 63) / 64;
    CHECK(rows.bytes() == 8 * 64 * words * (words + 1) / 2 + 4 * n);

    const reachability_choice hubs = choice_for(support::replicated(support::random_shape(8250, 2, 8250, 5), 2));
    CHECK(hubs.kind == kind::hub_labels);
    CHECK(hubs.reason == reason::no_search);
    CHECK(hubs.bytes() > 0);
    CHECK(hubs.trial(kind::closure_rows).bytes == 0);

    const reachability_choice hard = choice_for(support::random_shape(16'385, 2, 1000, 5));
    CHECK(hard.reason == reason::fewest_steps);
    CHECK(hard.kind != kind::hub_labels);
    CHECK(hard.trial(kind::hub_labels).bytes == 0);
}

TEST_CASE("a demanded kind is the kind") {
    const dag_shape g = support::spine_with_branches(100);
    for (reachability_kind kind : every_kind) {
        const reachability index(g.view(), *topological_sort(g.view()), kind);
        CHECK(index.choice().kind == kind);
        CHECK(index.choice().reason == reachability_reason::demanded);
        CHECK(index.choice().bytes() > 0);
    }
}

TEST_CASE_TEMPLATE("any IR", IR, STRETTO_TOY_IRS) {
    stretto_check("random programs", 40, [] {
        const support::toy_program p = *support::random_programs({.max_ops = 40});
        const std::uint64_t seed = *rc::gen::inRange<std::uint64_t>(0, 100);
        const IR ir(p, seed), again(p, seed + 1);
        const auto g = ir.view();
        const auto order = topological_sort(g);
        RC_ASSERT(order.has_value());
        const snapshot copy(g);
        const closure_bits truth(copy.view(), copy.view().vertices());
        for (reachability_kind kind : every_kind) {
            reachability index(g, *order, kind);
            for (auto u : g.vertices())
                for (auto v : g.vertices()) RC_ASSERT(index.reaches(u, v) == truth.reaches(copy.id(u), copy.id(v)));
        }
        // Where the IR keeps its operations makes no difference once the rows are sorted.
        const snapshot copy_again(again.view());
        RC_ASSERT(reachability(copy_again.view(), *topological_sort(copy_again.view())).choice() ==
                  reachability(copy.view(), *topological_sort(copy.view())).choice());
    });
}

TEST_CASE("vertices that a view hides are not passed through") {
    const dag_shape chain({{}, {0}, {1}, {2}, {1, 3}});
    const auto shown = views::filtered(chain.view(), [](std::uint32_t v) { return v != 2; });
    const auto order = topological_sort(shown);
    REQUIRE(order);
    for (reachability_kind kind : every_kind) {
        reachability index(shown, *order, kind);
        CHECK(index.reaches(0, 4));
        CHECK(index.reaches(3, 4));
        CHECK(!index.reaches(0, 3));
    }
}

TEST_CASE("once warm, a question allocates nothing") {
    const dag_shape g = support::replicated(support::spine_with_branches(300), 4);
    const auto order = topological_sort(g.view());
    for (reachability_kind kind : every_kind) {
        reachability index(g.view(), *order, kind);
        std::size_t paths = 0;
        const auto ask = [&] {
            for (std::uint32_t u = 0; u < g.size(); u += 3)
                for (std::uint32_t v = 0; v < g.size(); v += 5) paths += index.reaches(u, v);
        };
        ask();
        const std::size_t first = paths;
        CHECK(support::allocations_of(ask) == 0);
        CHECK(paths == 2 * first);
    }
}

TEST_CASE("a constant index serves several threads, each with a workspace of its own") {
    const dag_shape g = support::replicated(support::spine_with_branches(200), 4);
    const auto order = topological_sort(g.view());
    REQUIRE(order);
    const closure_bits truth(g.view(), *order);
    const reachability index(g.view(), *order, reachability_kind::spine_labels);
    std::size_t wrong[2] = {};
    const auto ask = [&](std::size_t which) {
        reachability<snapshot_view>::workspace scratch(index);
        for (std::uint32_t u = 0; u < g.size(); ++u)
            for (std::uint32_t v = static_cast<std::uint32_t>(which); v < g.size(); v += 2)
                wrong[which] += index.reaches(u, v, scratch) != truth.reaches(u, v);
    };
    std::thread other(ask, std::size_t{1});
    ask(0);
    other.join();
    CHECK(wrong[0] == 0);
    CHECK(wrong[1] == 0);
}

TEST_CASE("an index that is copied or moved still knows") {
    const dag_shape g = support::spine_with_branches(60);
    const auto order = topological_sort(g.view());
    REQUIRE(order);
    const closure_bits truth(g.view(), *order);
    for (reachability_kind kind : every_kind) {
        reachability index(g.view(), *order, kind);
        reachability copy = index;
        CHECK(wrong_answers(copy, g.size(), truth).empty());
        reachability moved = std::move(index);
        CHECK(wrong_answers(moved, g.size(), truth).empty());
    }
}

TEST_CASE("depth is no recursion, breadth is no quadratic work") {
    SUBCASE("a path of a million vertices") {
        index_lists successors;
        constexpr std::uint32_t size = 1'000'000;
        successors.reserve(size, size);
        for (std::uint32_t v = 0; v < size; ++v) {
            if (v + 1 < size) successors.push(v + 1);
            successors.close_row();
        }
        const index_lists predecessors = successors.inverse(size);
        const snapshot_view g(successors, predecessors);
        reachability index(g, *topological_sort(g));
        CHECK(index.choice().kind == reachability_kind::spine_labels);
        CHECK(index.choice().trials[0].steps == 0);
        CHECK(index.reaches(0, size - 1));
        CHECK(!index.reaches(size - 1, 0));
    }
    SUBCASE("a path of more vertices than labels have numbers for positions and ranks") {
        constexpr std::uint32_t size = 2'200'000;
        const dag_shape path = support::path_shape(size);
        reachability index(path.view(), *topological_sort(path.view()), reachability_kind::spine_labels);
        std::size_t wrong = 0;
        for (std::uint32_t u = 0; u + 40 < size; u += 10'007)
            for (std::uint32_t v = u; v < u + 40; ++v) wrong += !index.reaches(u, v) || (u != v && index.reaches(v, u));
        CHECK(wrong == 0);
        CHECK(index.reaches(0, size - 1));
        CHECK(!index.reaches(size - 1, 0));
    }
    SUBCASE("a star of 100,000 consumers") {
        const dag_shape star = support::star_shape(100'000);
        const auto order = topological_sort(star.view());
        for (reachability_kind kind : every_kind) {
            reachability index(star.view(), *order, kind);
            CHECK(index.reaches(0, 77'777));
            CHECK(index.reaches(77'777, 100'001));
            CHECK(!index.reaches(77'777, 88'888));
        }
    }
}

TEST_CASE("lists in blocks") {
    stretto_check("against vectors", 200, [](const std::vector<std::uint8_t>& bytes) {
        detail::block_lists<> lists(4);
        std::vector<std::uint32_t> model[4];
        for (std::uint8_t b : bytes) {
            lists.push(b % 4u, b);
            model[b % 4].push_back(b);
        }
        for (std::uint32_t row = 0; row < 4; ++row) {
            RC_ASSERT(lists.size(row) == model[row].size());
            std::vector<std::uint32_t> backwards;
            RC_ASSERT(!lists.any_of(row, [&](std::uint32_t item) {
                backwards.push_back(item);
                return false;
            }));
            RC_ASSERT(backwards == std::vector<std::uint32_t>(model[row].rbegin(), model[row].rend()));
            if (!model[row].empty())
                RC_ASSERT(lists.any_of(row, [&](std::uint32_t item) { return item == model[row].front(); }));
        }
    });
}

TEST_CASE("greedy paths are disjoint paths, the first a longest") {
    stretto_check("small graphs", 200, [](const std::vector<std::uint8_t>& bytes) {
        const small_dag g = small_dag::decode(bytes, 40);
        const small_dag_view view{&g};
        const auto order = topological_sort(view);
        RC_ASSERT(order.has_value());
        const detail::position_graph positions(view, *order);
        const snapshot_view ids = positions.view();
        const index_lists paths = detail::greedy_paths(ids, 100, 1, UINT32_MAX);
        std::set<std::uint32_t> seen;
        for (std::size_t k = 0; k < paths.rows(); ++k) {
            RC_ASSERT(!paths[k].empty());
            if (k > 0) RC_ASSERT(paths[k].size() <= paths[k - 1].size());
            for (std::size_t i = 0; i < paths[k].size(); ++i) {
                RC_ASSERT(seen.insert(paths[k][i]).second);
                if (i == 0) continue;
                bool edge = false;
                for (std::uint32_t u : ids.predecessors(paths[k][i])) edge = edge || u == paths[k][i - 1];
                RC_ASSERT(edge);
            }
        }
        RC_ASSERT(seen.size() == g.size);  // with no limit they cover everything
        std::vector<std::size_t> length(g.size, 1);
        std::size_t longest = g.size > 0 ? 1 : 0;
        for (std::uint32_t v = 0; v < g.size; ++v)
            for (std::uint32_t u : ids.predecessors(v)) {
                if (length[u] + 1 > length[v]) length[v] = length[u] + 1;
                if (length[v] > longest) longest = length[v];
            }
        RC_ASSERT((paths.rows() > 0 ? paths[0].size() : 0) == longest);
        // Half as long as the first at least.
        const index_lists halves = detail::greedy_paths(ids, 100, 1, 2);
        for (std::size_t k = 0; k < halves.rows(); ++k) RC_ASSERT(halves[k].size() >= longest / 2);
    });
}

TEST_CASE("archetypes suffice") {
    const archetypes::dependence g(0);
    const auto order = topological_sort(g);
    REQUIRE(order);
    for (reachability_kind kind : every_kind) {
        reachability index(g, *order, kind);
        for (archetypes::vertex v : g.vertices()) {
            CHECK(index.reaches(v, v));
            for (archetypes::vertex w : g.successors(v)) CHECK(index.reaches(v, w));
        }
    }
}
