// Every analysis, on Boost graphs where they are: the answers are those on a snapshot of the same graph. What the
// answers should be is a matter of each analysis's own test. (Buffer liveness is not here: a Boost graph has no
// values.)
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stretto/analysis/antichain.hpp"
#include "stretto/analysis/boundary.hpp"
#include "stretto/analysis/cone.hpp"
#include "stretto/analysis/convexity.hpp"
#include "stretto/analysis/dominators.hpp"
#include "stretto/analysis/incremental_reachability.hpp"
#include "stretto/analysis/influence.hpp"
#include "stretto/analysis/levels.hpp"
#include "stretto/analysis/maintained_order.hpp"
#include "stretto/analysis/reachability.hpp"
#include "stretto/analysis/terminal_reachability.hpp"
#include "stretto/analysis/topological_order.hpp"
#include "stretto/views/snapshot.hpp"
#include "support/boost_graphs.hpp"
#include "support/edge_graph.hpp"
#include "support/prop.hpp"

using namespace stretto;

namespace {

using numbers = std::vector<std::size_t>;

/// All answers about one graph, in terms of the numbers of its vertices.
struct answer {
    std::string question;
    numbers given;
    friend bool operator==(const answer&, const answer&) = default;
};

/// Asks everything. Pairs of vertices are sampled if there are many; `members` are the numbers of a set of vertices.
template <dependence_graph G>
class inquiry {
public:
    using V = vertex_t<G>;

    explicit inquiry(G g) : g_(g), at_(g.index_bound()) {
        for (V v : g.vertices()) at_[g.index(v)] = v;
    }

    std::vector<answer> ask(const numbers& members) {
        const auto sorted = topological_sort(g_);
        if (!sorted) {
            add("cycle", sorted.error().vertices);
            return std::move(answers_);
        }
        add("topological_sort", *sorted);
        const topological_order<V>& order = *sorted;
        std::vector<V> set;
        for (std::size_t i : members) set.push_back(at_[i]);
        ask_about_depth(order);
        ask_about_dominance(order);
        if (order.size() == 0) return std::move(answers_);
        ask_about_regions(order, set);
        ask_about_reachability(order, set);
        ask_about_changes(order, set);
        return std::move(answers_);
    }

private:
    template <class Range>
    void add(std::string question, const Range& vertices) {
        numbers all;
        for (const V& v : vertices) all.push_back(g_.index(v));
        answers_.push_back({std::move(question), std::move(all)});
    }
    template <class F>
    void add_for_each_vertex(std::string question, F f) {
        numbers all;
        for (const V& v : at_) all.push_back(static_cast<std::size_t>(f(v)));
        answers_.push_back({std::move(question), std::move(all)});
    }
    /// All pairs of small graphs; of large ones, 1,000.
    template <class F>
    void add_for_pairs(std::string question, F f) {
        numbers all;
        const std::size_t n = at_.size(), pairs = n < 32 ? n * n : 1000;
        for (std::size_t k = 0; k < pairs; ++k) {
            const std::size_t step = n < 32 ? k : k * 2654435761u % (n * n);
            all.push_back(static_cast<std::size_t>(f(at_[step / n], at_[step % n])));
        }
        answers_.push_back({std::move(question), std::move(all)});
    }

    void ask_about_depth(const topological_order<V>& order) {
        const auto depth = levels_of(g_, order);
        add_for_each_vertex("levels_of", [&](V v) { return depth[v]; });
        const auto timing =
            timing_of(g_, order, [&](V v) { return nanoseconds{static_cast<std::int64_t>(g_.index(v) % 7)}; });
        add_for_each_vertex("asap", [&](V v) { return timing.asap(v).count; });
        add_for_each_vertex("slack", [&](V v) { return timing.slack(v).count; });
        add("critical_path", timing.critical_path());
        const auto width = maximum_antichain(g_, order);
        add("antichain", width.widest);
        // Which chains cover the graph is a choice, and may depend on the order in which a view names neighbours.
        numbers chain_of(at_.size(), width.chains.size());
        reachability<G> index(g_, order);
        bool linked = true;
        for (std::size_t k = 0; k < width.chains.size(); ++k) {
            const std::span<const V> chain = width.chains[k];
            for (std::size_t i = 0; i < chain.size(); ++i) {
                chain_of[g_.index(chain[i])] = k;
                linked = linked && (i == 0 || index.reaches(chain[i - 1], chain[i]));
            }
        }
        bool covered = true;
        for (std::size_t chain : chain_of) covered = covered && chain < width.chains.size();
        answers_.push_back({"chains", {width.chains.size(), linked, covered}});
    }
    void ask_about_dominance(const topological_order<V>& order) {
        const auto number = [&](const V* v) { return v ? g_.index(*v) : at_.size(); };
        const auto before = dominators(g_, order);
        const auto after = post_dominators(g_, order);
        add_for_each_vertex("dominators", [&](V v) { return number(before.immediate(v)); });
        add_for_each_vertex("post_dominators", [&](V v) { return number(after.immediate(v)); });
    }
    void ask_about_regions(const topological_order<V>& order, const std::vector<V>& set) {
        cone_finder finder(g_, order);
        add("down_set", finder.down_set(set));
        add("up_set", finder.up_set(set));
        const auto below = down_set(g_, order, set), above = up_set(g_, order, set);
        add_for_each_vertex("in both cones", [&](V v) { return below.contains(v) && above.contains(v); });
        add("convex_closure", convex_closure(g_, order, set));
        const auto convex = check_convex(g_, order, set);
        if (convex) add("convex", *convex);
        else add("reentrant_path", convex.error().vertices);
        const auto border = boundary_of(g_, order, set);
        add("live_ins", border.live_ins.items());
        add("live_outs", border.live_outs.items());
        for (std::size_t k = 0; k < border.live_outs.size(); ++k) add("consumers", border.live_outs[k].consumers);

        vertex_symbols<64, G> seeds(g_);
        for (std::size_t k = 0; k < set.size(); ++k) seeds[set[k]].insert(k % 64);
        const auto influenced = influence<64>(g_, order, seeds);
        add_for_each_vertex("influence", [&](V v) {
            std::size_t bits = 0;
            for (std::size_t s = 0; s < 64; ++s) bits |= std::size_t{influenced[v].contains(s)} << s;
            return bits;
        });
    }
    void ask_about_reachability(const topological_order<V>& order, const std::vector<V>& set) {
        for (const auto kind : {reachability_kind::spine_labels, reachability_kind::support_labels,
                                reachability_kind::closure_rows, reachability_kind::hub_labels}) {
            reachability<G> index(g_, order, kind);
            add_for_pairs("reachability", [&](V u, V v) { return index.reaches(u, v); });
        }
        reachability<G> chosen(g_, order);
        add_for_pairs("reachability, chosen", [&](V u, V v) { return chosen.reaches(u, v); });
        const terminal_reachability<G> table(g_, order, set);
        numbers reached;
        for (const V& u : set)
            for (const V& v : set) reached.push_back(table.reaches(u, v));
        answers_.push_back({"terminal_reachability", reached});
    }
    void ask_about_changes(const topological_order<V>& order, const std::vector<V>& set) {
        maintained_order<G> maintained(g_, order);
        incremental_reachability<G> incremental(g_, order);
        for (std::size_t k = 0; k + 1 < set.size(); ++k) {
            const V &a = set[k], &b = set[k + 1];
            add_change("add_edge", maintained, maintained.try_add_edge(b, a));
            add_change("add_edge", incremental, incremental.try_add_edge(b, a));
            add_change("merge", maintained, maintained.try_merge(a, b));
            add_change("merge", incremental, incremental.try_merge(a, b));
        }
        add("leaders", maintained.leaders());
        add_for_pairs("incremental_reachability", [&](V u, V v) { return incremental.reaches(u, v); });
    }
    template <class Structure, class Result>
    void add_change(const char* what, Structure& changed, const Result& result) {
        if (result) answers_.push_back({what, {}});
        else add(what, changed.path(result.error()));
    }

    G g_;
    std::vector<V> at_;  // by number
    std::vector<answer> answers_;
};

/// Rows of a graph of `n` vertices with these edges, whose ids are its positions.
struct rows {
    index_lists successors, predecessors;

    rows(std::size_t n, const support::index_pairs& edges) {
        std::vector<std::vector<std::uint32_t>> out(n);
        for (auto [u, v] : edges) out[u].push_back(static_cast<std::uint32_t>(v));
        index_lists unsorted;
        for (const std::vector<std::uint32_t>& row : out) unsorted.push_row(row);
        predecessors = unsorted.inverse(n);
        successors = predecessors.inverse(n);
    }
    snapshot_view view() const { return {successors, predecessors}; }
};

/// The first question to which the two give different answers; empty if there is none.
std::string first_difference(const std::vector<answer>& a, const std::vector<answer>& b) {
    for (std::size_t k = 0; k < a.size() && k < b.size(); ++k)
        if (!(a[k] == b[k])) return a[k].question + " or " + b[k].question;
    return a.size() == b.size() ? "" : "the number of answers";
}

template <class IR>
std::string difference_from_snapshot(std::size_t n, const support::index_pairs& edges, const numbers& members) {
    const IR ir(n, edges);
    const rows plain(n, edges);
    return first_difference(inquiry(ir.view()).ask(members), inquiry(plain.view()).ask(members));
}

#define STRETTO_NUMBERED_BOOST_GRAPHS                                                                  \
    support::boost_vectors<boost::vecS>, support::boost_property_nodes, support::boost_numbered_nodes, \
        support::boost_rows

}  // namespace

TEST_CASE_TEMPLATE("on Boost graphs: of nothing, of one vertex", IR, STRETTO_NUMBERED_BOOST_GRAPHS) {
    CHECK(difference_from_snapshot<IR>(0, {}, {}) == "");
    CHECK(difference_from_snapshot<IR>(1, {}, {0}) == "");
    CHECK(difference_from_snapshot<IR>(1, {{0, 0}}, {}) == "");  // a cycle
}

TEST_CASE_TEMPLATE("on Boost graphs: answers are those on a snapshot", IR, STRETTO_NUMBERED_BOOST_GRAPHS) {
    const auto members_of = [](const support::edge_graph& g) {
        numbers members;
        const auto mask = *rc::gen::arbitrary<std::uint32_t>();
        for (std::size_t i = 0; i < g.size; ++i)
            if ((mask >> i) & 1u) members.push_back(i);
        return members;
    };
    stretto_check("acyclic multigraphs in any program order", 1000, [&] {
        const support::edge_graph g = *support::random_edge_graphs(true);
        RC_ASSERT(difference_from_snapshot<IR>(g.size, support::edges_by_position(g), members_of(g)) == "");
    });
    stretto_check("multigraphs with cycles", 300, [&] {
        const support::edge_graph g = *support::random_edge_graphs(false);
        RC_ASSERT(difference_from_snapshot<IR>(g.size, support::edges_by_position(g), members_of(g)) == "");
    });
}

TEST_CASE_TEMPLATE("on Boost graphs: shapes that break naive code", IR, support::boost_vectors<boost::vecS>,
                   support::boost_rows) {
    constexpr std::size_t n = 20'000;
    const numbers members{3, n / 4, n / 2, n - 5};
    support::index_pairs chain, star, ladder;
    for (std::size_t v = 0; v + 1 < n; ++v) chain.emplace_back(v, v + 1);
    for (std::size_t v = 1; v + 1 < n; ++v) {
        star.emplace_back(0, v);
        star.emplace_back(v, n - 1);
    }
    for (std::size_t v = 0; v + 2 < n; ++v) {
        ladder.emplace_back(v, v + 2);
        if (v % 3 == 0) ladder.emplace_back(v, v + 1);
    }
    CHECK(difference_from_snapshot<IR>(n, chain, members) == "");
    CHECK(difference_from_snapshot<IR>(n, star, members) == "");
    CHECK(difference_from_snapshot<IR>(n, ladder, members) == "");
}
