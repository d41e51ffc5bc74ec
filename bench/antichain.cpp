// Measures what the width of a step costs: maximum_antichain, with the chain cover that proves it, on captured and
// synthetic steps and on shapes that are hard for it. The rival is Boost.Graph's push_relabel_max_flow on the same
// network (every vertex split in two, no closure), in the same run; it yields only the number. Times are processor time
// of this thread, the least of several runs.
//
// The floor is one forward sweep over the same predecessors.

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "stretto/analysis/antichain.hpp"
#include "stretto/analysis/topological_order.hpp"
#include "support/arguments.hpp"
#include "support/graph_collection.hpp"
#include "support/graph_families.hpp"
#include "support/measure.hpp"

namespace {

using traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using network = boost::adjacency_list<
    boost::vecS, boost::vecS, boost::directedS, boost::no_property,
    boost::property<boost::edge_capacity_t, long,
                    boost::property<boost::edge_residual_capacity_t, long,
                                    boost::property<boost::edge_reverse_t, traits::edge_descriptor>>>>;

/// The network: vertex v is split into 2v (in) and 2v + 1 (out); every out may send one unit, and every in take one.
network split_network(const bench::plain_graph& g) {
    const std::size_t n = g.size(), source = 2 * n, sink = 2 * n + 1;
    network net(2 * n + 2);
    const auto capacity = get(boost::edge_capacity, net);
    const auto reverse = get(boost::edge_reverse, net);
    const auto connect = [&](std::size_t from, std::size_t to, long amount) {
        const auto forth = add_edge(from, to, net).first, back = add_edge(to, from, net).first;
        capacity[forth] = amount;
        capacity[back] = 0;
        reverse[forth] = back;
        reverse[back] = forth;
    };
    const long any = static_cast<long>(n);
    for (std::uint32_t v = 0; v < n; ++v) {
        connect(source, 2 * v + 1, 1);
        connect(2 * v, sink, 1);
        connect(2 * v, 2 * v + 1, any);
        for (std::uint32_t u : g.predecessors[v]) connect(2 * u + 1, 2 * v, any);
    }
    return net;
}

struct settings {
    int runs = 5;
    double seconds = 0.2;
    std::uint32_t rival_up_to = 20'000;
};

void report(const std::string& name, const bench::plain_graph& g, const settings& effort) {
    const auto order = stretto::topological_sort(g.view());
    if (!order) std::abort();  // the generators write topological orders
    const auto certificate = stretto::maximum_antichain(g.view(), *order);
    if (certificate.chains.size() != certificate.width()) std::abort();
    const double ours = bench::least_seconds([&] { bench::keep(stretto::maximum_antichain(g.view(), *order)); },
                                             effort.runs, effort.seconds);
    std::vector<std::uint32_t> level(g.size());
    const double floor =
        bench::least_seconds([&] { bench::keep(bench::sweep(g.view(), level)); }, effort.runs, effort.seconds / 10);
    const double per_node = 1e9 / g.size();
    std::printf("%-24s %8u %8zu %7zu %9.2f %8.0f %8.0f", name.c_str(), g.size(), g.edges(), certificate.width(),
                ours * 1e3, ours * per_node, ours / floor);
    if (g.size() <= effort.rival_up_to) {
        network net = split_network(g);
        long flow = 0;
        const auto run = [&] { flow = push_relabel_max_flow(net, 2 * g.size(), 2 * g.size() + 1); };
        const double theirs = bench::least_seconds(run, 1, effort.seconds / 4);
        if (g.size() - static_cast<std::size_t>(flow) != certificate.width()) std::abort();
        std::printf(" %10.1f %7.1fx", theirs * 1e3, theirs / ours);
    }
    std::printf("\n");
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    settings effort;
    const bool smoke = bench::read_arguments(argc, argv).smoke;
    if (smoke) effort = {1, 0, 3000};
    std::printf("%-24s %8s %8s %7s %9s %8s %8s %10s %8s\n", "graph", "nodes", "edges", "width", "ms", "ns/node",
                "x floor", "Boost ms", "ratio");
    bench::for_each_graph(STRETTO_SOURCE_DIR, {smoke ? 1000u : 10'000u, smoke ? 3000u : 100'000u},
                          [&](const std::string& name, const bench::plain_graph& g) { report(name, g, effort); });
}
