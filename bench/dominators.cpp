// Measures what the dominators of a step cost, against Boost.Graph's lengauer_tarjan_dominator_tree on the same graph
// in the same run. Boost wants one entry, so its graph has one more vertex with an edge to every source; both trees
// must agree. Ours is given a topological order, as every analysis is; the sort is timed beside it. Times are processor
// time of this thread, the least of several runs.
//
// The floor is one forward sweep over the same predecessors.

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dominator_tree.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "stretto/analysis/dominators.hpp"
#include "stretto/analysis/topological_order.hpp"
#include "support/arguments.hpp"
#include "support/graph_collection.hpp"
#include "support/graph_families.hpp"
#include "support/measure.hpp"

namespace {

using boost_graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS>;
const auto nobody = boost::graph_traits<boost_graph>::null_vertex();

/// The graph for Boost, in which vertex `size` is the entry.
boost_graph with_entry(const bench::plain_graph& g) {
    boost_graph b(g.size() + 1);
    for (std::uint32_t v = 0; v < g.size(); ++v) {
        for (std::uint32_t u : g.predecessors[v]) add_edge(u, v, b);
        if (g.predecessors[v].empty()) add_edge(g.size(), v, b);
    }
    return b;
}

struct settings {
    int runs = 7;
    double seconds = 0.1;
    std::uint32_t rival_up_to = 200'000;
};

void report(const std::string& name, const bench::plain_graph& g, const settings& effort) {
    const auto least = [&](auto work) { return bench::least_seconds(work, effort.runs, effort.seconds); };
    const auto order = stretto::topological_sort(g.view());
    if (!order) std::abort();  // the generators write topological orders
    const double sort = least([&] { bench::keep(stretto::topological_sort(g.view())); });
    stretto::dominator_tree tree = stretto::dominators(g.view(), *order);
    stretto::dominator_tree behind = stretto::post_dominators(g.view(), *order);
    const double cold = least([&] { bench::keep(stretto::dominators(g.view(), *order)); });
    const double forward = least([&] { tree.update(*order); });
    const double backward = least([&] { behind.update(*order); });
    std::vector<std::uint32_t> level(g.size());
    const double floor = least([&] { bench::keep(bench::sweep(g.view(), level)); });
    const double per_part = 1e9 / static_cast<double>(g.size() + g.edges());
    std::printf("%-24s %8u %8zu %8.3f %7.2f %7.2f %7.2f %7.2f %7.1f", name.c_str(), g.size(), g.edges(), cold * 1e3,
                cold * per_part, forward * per_part, backward * per_part, sort * per_part, cold / floor);
    if (g.size() <= effort.rival_up_to) {
        const boost_graph b = with_entry(g);
        std::vector<std::size_t> immediate;
        const auto run = [&] {
            immediate.assign(g.size() + 1, nobody);
            lengauer_tarjan_dominator_tree(
                b, std::size_t{g.size()},
                boost::make_iterator_property_map(immediate.begin(), get(boost::vertex_index, b)));
        };
        const double theirs = bench::least_seconds(run, std::min(effort.runs, 3), effort.seconds);
        for (std::uint32_t v = 0; v < g.size(); ++v) {
            const std::uint32_t* ours = tree.immediate(v);
            if (immediate[v] != (ours ? *ours : g.size())) std::abort();
        }
        std::printf(" %9.2f %6.1fx %6.1fx", theirs * 1e3, theirs / cold, theirs / (cold + sort));
    }
    std::printf("\n");
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    settings effort;
    const bool smoke = bench::read_arguments(argc, argv).smoke;
    if (smoke) effort = {1, 0, 200'000};
    std::printf(
        "ns: per vertex and edge. first: dominators(), which allocates; again: update(); post: backward; sort: "
        "topological_sort. x: Boost over first, and over first + sort.\n");
    std::printf("%-24s %8s %8s %8s %7s %7s %7s %7s %7s %9s %7s %7s\n", "graph", "nodes", "edges", "ms", "first",
                "again", "post", "sort", "x floor", "Boost ms", "x", "x");
    bench::for_each_graph(STRETTO_SOURCE_DIR, {smoke ? 1000u : 10'000u, smoke ? 3000u : 100'000u},
                          [&](const std::string& name, const bench::plain_graph& g) { report(name, g, effort); });
}
