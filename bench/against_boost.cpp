// Measures what ours costs where Boost.Graph has the same algorithm: a topological order, the set of vertices that
// depend on one, longest paths in edges and in time, and compact copies. Both get the same graph, the same flags and
// the same run, and their results must agree. (Transitive closure and dominator trees are compared in
// bench.reachability and bench.dominators.) Times are processor time of this thread, the least of several runs, in
// nanoseconds per vertex.
//
// Boost works on its fastest type, compressed_sparse_row_graph, with colours and distances in vectors; adjacency_list
// is shown beside it. Ours works on a snapshot_view, and on Boost's own graph through boost_view. Our orders are
// stable, which is more than the comparison asks for. There are two program orders: one that is topological, as that of
// an IR usually is, and a random one. The floor is one sweep over the same rows that looks up a number of every
// neighbour.

#include <malloc.h>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/dag_shortest_paths.hpp>
#include <boost/graph/topological_sort.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <boost/property_map/property_map.hpp>

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "stretto/analysis/cone.hpp"
#include "stretto/analysis/levels.hpp"
#include "stretto/analysis/topological_order.hpp"
#include "stretto/interop/boost_view.hpp"
#include "support/arguments.hpp"
#include "support/graph_families.hpp"
#include "support/measure.hpp"
#include "support/synthetic_step.hpp"

namespace {

using csr = boost::compressed_sparse_row_graph<boost::bidirectionalS>;
using list = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS>;
using edge_list = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

void require(bool condition, const char* what) {
    if (condition) return;
    std::fprintf(stderr, "against_boost: %s\n", what);
    std::exit(1);
}

struct settings {
    int runs = 7;
    double seconds = 0.05;
};

/// What ours and the floor cost, in nanoseconds per vertex.
struct figure {
    std::string graph, algorithm;
    double vertices, ours, floor;
};

/// How ours and the floor grow: the exponent e of vertices^e that leads from the smallest graph of a kind to the
/// largest.
void print_growth(const std::vector<figure>& figures) {
    std::printf("\nGrowth of whole runs, exponents: ours, floor\n");
    for (const figure& small : figures) {
        const auto of_the_kind = [&](const figure& f) {
            return f.graph == small.graph && f.algorithm == small.algorithm;
        };
        const figure& first = *std::find_if(figures.begin(), figures.end(), of_the_kind);
        const figure& large = *std::find_if(figures.rbegin(), figures.rend(), of_the_kind);
        if (&first != &small || &large == &small) continue;
        const auto exponent = [&](double figure::* cost) {
            return 1 + std::log(large.*cost / small.*cost) / std::log(large.vertices / small.vertices);
        };
        std::printf("%-26s %-17s %5.2f %5.2f\n", small.graph.c_str(), small.algorithm.c_str(), exponent(&figure::ours),
                    exponent(&figure::floor));
    }
}

class comparison {
public:
    comparison(std::string name, const bench::plain_graph& g, settings effort, std::vector<figure>& figures)
        : name_(std::move(name)), g_(g), effort_(effort), figures_(figures) {
        const edge_list edges = bench::edges_of(g);
        rows_ = csr(boost::edges_are_unsorted_multi_pass, edges.begin(), edges.end(), g.size());
        list_ = list(edges.begin(), edges.end(), g.size());
        const std::vector<std::uint32_t> numbers(g.size(), 1);
        floor_ = nanoseconds([&] {
            std::uint64_t sum = 0;
            for (std::uint32_t v = 0; v < g.size(); ++v)
                for (std::uint32_t w : g.successors[v]) sum += numbers[w];
            bench::keep(sum);
        });
    }

    void topological_sort() {
        print("topological_sort", nanoseconds([&] { sort_ours(g_.view()); }),
              nanoseconds([&] { sort_ours(stretto::boost_view(rows_)); }), nanoseconds([&] { sort_boost(rows_); }),
              nanoseconds([&] { sort_boost(list_); }));
    }

    /// Up-sets of 64 vertices spread over the graph, one after the other; the cost is per vertex found.
    void up_sets() {
        const auto order = stretto::topological_sort(g_.view());
        const auto order_of_rows = stretto::topological_sort(stretto::boost_view(rows_));
        require(order.has_value() && order_of_rows.has_value(), "the graph has a cycle");
        stretto::cone_finder ours(g_.view(), *order);
        stretto::cone_finder through{stretto::boost_view(rows_), *order_of_rows};
        std::size_t found = 0, found_through = 0, found_rows = 0, found_list = 0;
        const auto all = [&](std::size_t& sum, auto up_set) {
            sum = 0;
            for (std::uint32_t k = 0; k < 64; ++k) sum += up_set(std::uint64_t{k} * g_.size() / 64);
        };
        breadth_first in_rows(rows_);
        breadth_first in_list(list_);
        const auto find = [&](auto& finder) {
            return [&finder](std::uint64_t v) { return finder.up_set({static_cast<std::uint32_t>(v)}).size(); };
        };
        const double a = total([&] { all(found, find(ours)); });
        const double b = total([&] {
            all(found_through, [&](std::uint64_t v) { return through.up_set({static_cast<std::size_t>(v)}).size(); });
        });
        const double c = total([&] { all(found_rows, [&](std::uint64_t v) { return in_rows(v); }); });
        const double d = total([&] { all(found_list, [&](std::uint64_t v) { return in_list(v); }); });
        require(found == found_through && found == found_rows && found == found_list, "up-sets differ");
        const auto each = static_cast<double>(found);
        print("up_set", a / each, b / each, c / each, d / each);
    }

    /// The number of edges on the longest path to every vertex: levels_of, and the order that it needs. Boost finds
    /// shortest paths from one more vertex that comes before all sources, with weights of -1.
    void levels() {
        std::size_t ours = 0, through = 0, in_rows = 0, in_list = 0;
        const auto find = [](auto g, std::size_t& count) {
            const auto order = stretto::topological_sort(g);
            require(order.has_value(), "the graph has a cycle");
            count = stretto::levels_of(g, *order).count();
        };
        const auto find_boost = [&](const auto& g, std::size_t& count) {
            count = static_cast<std::size_t>(-shortest(g, [](const auto&) { return -1; }));
        };
        const entered<csr> rows(g_.predecessors, bench::edges_of(g_));
        const entered<list> lists(g_.predecessors, bench::edges_of(g_));
        const double a = nanoseconds([&] { find(g_.view(), ours); });
        const double b = nanoseconds([&] { find(stretto::boost_view(rows_), through); });
        const double c = nanoseconds([&] { find_boost(rows.graph, in_rows); });
        const double d = nanoseconds([&] { find_boost(lists.graph, in_list); });
        require(ours == through && ours == in_rows && ours == in_list, "numbers of levels differ");
        print("levels", a, b, c, d);
    }

    /// Earliest and latest beginnings of all vertices: timing_of, which also finds the critical path, and the order
    /// that it needs. Boost finds shortest paths forwards and backwards, with negative weights.
    void timing() {
        const auto duration = [](std::uint64_t v) { return static_cast<std::int64_t>(v * 2654435761u % 1000 + 1); };
        std::int64_t ours = 0, through = 0, in_rows = 0, in_list = 0;
        const auto find = [&](auto g, std::int64_t& length) {
            const auto order = stretto::topological_sort(g);
            require(order.has_value(), "the graph has a cycle");
            const auto timing =
                stretto::timing_of(g, *order, [&](auto v) { return stretto::nanoseconds{duration(v)}; });
            length = timing.length().count;
        };
        const auto find_boost = [&](const auto& forward, const auto& backward, std::int64_t& length) {
            length = -shortest(forward, [&](std::uint64_t v) { return -duration(v); });
            require(length == -shortest(backward, [&](std::uint64_t v) { return -duration(v); }), "no critical path");
        };
        edge_list turned = bench::edges_of(g_);
        for (auto& [u, v] : turned) std::swap(u, v);
        const entered<csr> rows(g_.predecessors, bench::edges_of(g_)), rows_back(g_.successors, turned);
        const entered<list> lists(g_.predecessors, bench::edges_of(g_)), lists_back(g_.successors, turned);
        const double a = nanoseconds([&] { find(g_.view(), ours); });
        const double b = nanoseconds([&] { find(stretto::boost_view(rows_), through); });
        const double c = nanoseconds([&] { find_boost(rows.graph, rows_back.graph, in_rows); });
        const double d = nanoseconds([&] { find_boost(lists.graph, lists_back.graph, in_list); });
        require(ours == through && ours == in_rows && ours == in_list, "longest paths differ");
        print("timing", a, b, c, d);
    }

    /// A compact copy of an adjacency_list, with rows in both directions. (Boost's is made from its edges.)
    void compact_copy() {
        const double a = nanoseconds([&] { bench::keep(stretto::snapshot(g_.view())); });
        const double b = nanoseconds([&] { bench::keep(stretto::snapshot(stretto::boost_view(list_))); });
        const double c = nanoseconds([&] {
            edge_list edges;
            edges.reserve(num_edges(list_));
            for (auto [e, end] = boost::edges(list_); e != end; ++e)
                edges.emplace_back(source(*e, list_), target(*e, list_));
            bench::keep(csr(boost::edges_are_unsorted_multi_pass, edges.begin(), edges.end(), g_.size()));
        });
        const double d = nanoseconds([&] { bench::keep(list(list_)); });
        print("copy", a, b, c, d);
    }

private:
    /// A Boost graph with one more vertex, the last, that comes before all vertices without `predecessors`.
    template <class Graph>
    struct entered {
        Graph graph;

        entered(const stretto::index_lists& predecessors, edge_list edges) {
            const auto size = static_cast<std::uint32_t>(predecessors.rows());
            for (std::uint32_t v = 0; v < size; ++v)
                if (predecessors[v].empty()) edges.emplace_back(size, v);
            if constexpr (std::is_same_v<Graph, csr>)
                graph = csr(boost::edges_are_unsorted_multi_pass, edges.begin(), edges.end(), size + 1);
            else graph = Graph(edges.begin(), edges.end(), size + 1);
        }
    };

    /// The shortest paths from the last vertex; `weight` says what an edge weighs, by its target.
    template <class Graph, class Weight>
    static std::int64_t shortest(const Graph& g, Weight weight) {
        using edge = typename boost::graph_traits<Graph>::edge_descriptor;
        std::vector<std::int64_t> distance(num_vertices(g));
        const auto index = get(boost::vertex_index, g);
        boost::dag_shortest_paths(g, num_vertices(g) - 1,
                                  boost::distance_map(boost::make_iterator_property_map(distance.begin(), index))
                                      .weight_map(boost::make_function_property_map<edge>([&](const edge& e) {
                                          return static_cast<std::int64_t>(weight(target(e, g)));
                                      })));
        return *std::min_element(distance.begin(), distance.end());
    }

    /// Boost's search with everything prepared: its colours are reset only where they were touched.
    template <class Graph>
    class breadth_first {
        using vertex = typename boost::graph_traits<Graph>::vertex_descriptor;
        struct collector : boost::default_bfs_visitor {
            std::vector<vertex>* found;
            void discover_vertex(vertex v, const Graph&) { found->push_back(v); }
        };

    public:
        explicit breadth_first(const Graph& g) : g_(g), colours_(num_vertices(g), boost::white_color) {}
        std::size_t operator()(std::uint64_t from) {
            found_.clear();
            collector collect;
            collect.found = &found_;
            boost::breadth_first_visit(
                g_, static_cast<vertex>(from), queue_, collect,
                boost::make_iterator_property_map(colours_.begin(), get(boost::vertex_index, g_)));
            for (vertex v : found_) colours_[v] = boost::white_color;
            return found_.size();
        }

    private:
        const Graph& g_;
        std::vector<boost::default_color_type> colours_;
        std::vector<vertex> found_;
        boost::queue<vertex> queue_;
    };

    template <class G>
    static void sort_ours(G g) {
        const auto order = stretto::topological_sort(g);
        require(order.has_value(), "the graph has a cycle");
        bench::keep(*order);
    }
    template <class Graph>
    static void sort_boost(const Graph& g) {
        std::vector<typename boost::graph_traits<Graph>::vertex_descriptor> order;
        order.reserve(num_vertices(g));
        std::vector<boost::default_color_type> colours(num_vertices(g));
        boost::topological_sort(
            g, std::back_inserter(order),
            boost::color_map(boost::make_iterator_property_map(colours.begin(), get(boost::vertex_index, g))));
        require(order.size() == num_vertices(g), "Boost's order is short");
        bench::keep(order);
    }

    template <class Work>
    double total(Work work) const {
        return 1e9 * bench::least_seconds(work, effort_.runs, effort_.seconds);
    }
    template <class Work>
    double nanoseconds(Work work) const {
        return total(work) / g_.size();
    }
    void print(const char* what, double ours, double through, double rows, double lists) const {
        figures_.push_back({name_, what, static_cast<double>(g_.size()), ours, floor_});
        std::printf("%-26s %9u %-17s %6.1f %8.1f %8.1f %8.1f %8.1f %7.2fx %7.2fx\n", name_.c_str(), g_.size(), what,
                    floor_, ours, through, rows, lists, std::min(rows, lists) / ours, rows / through);
    }

    std::string name_;
    const bench::plain_graph& g_;
    settings effort_;
    std::vector<figure>& figures_;
    csr rows_;
    list list_;
    double floor_ = 0;
};

void compare(const std::string& name, const bench::plain_graph& g, settings effort, std::vector<figure>& figures) {
    comparison in_order(name, g, effort, figures);
    in_order.topological_sort();
    in_order.up_sets();
    in_order.levels();
    in_order.timing();
    in_order.compact_copy();
    const bench::plain_graph mixed = bench::shuffled_ids(g, g.size());
    comparison out_of_order(name + ", shuffled", mixed, effort, figures);
    out_of_order.topological_sort();
    out_of_order.up_sets();
    out_of_order.levels();
    out_of_order.timing();
}

}  // namespace

int main(int argc, char** argv) {
    auto [smoke, sizes] = bench::read_arguments(argc, argv, 100'000'000);
    const settings effort = smoke ? settings{1, 0} : settings{};
    if (sizes.empty()) sizes = smoke ? std::vector<std::uint32_t>{2'000} : std::vector{10'000u, 100'000u, 1'000'000u};
    std::printf("ns per vertex (up_set: per vertex found)\n%-26s %9s %-17s %6s %8s %8s %8s %8s %8s %8s\n", "graph",
                "vertices", "", "floor", "ours", "on csr", "Bst csr", "Bst list", "ratio", "on csr");
    // Freed memory stays with the process. Otherwise the results of large graphs, and only theirs, would be new pages
    // in every run, and their growth would be that of the kernel.
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    std::vector<figure> figures;
    for (const std::uint32_t size : sizes) {
        const bench::synthetic_step step = bench::make_synthetic_step(size);
        compare("training step", bench::plain_graph_of(bench::synthetic_view{&step}), effort, figures);
        compare("random, 3 reads", bench::random_dag(size, 3, size), effort, figures);
        compare("butterfly", bench::butterfly(size, 64), effort, figures);
    }
    if (sizes.size() > 1) print_growth(figures);
}
