// Measures the influence of 512 symbols on synthetic training steps of ten thousand to a million nodes, and on random
// graphs, where almost every vertex has a set of its own: one thread, a CSR view, processor time, the least of several
// runs. Beside it, in the same run, are the machine's floor; a dense sweep that writes one 64-byte set per vertex; and
// what is done without the library, which is one Boost.Graph breadth-first search per symbol, or sets of symbols per
// node as graph passes written in Python keep them. The answers are compared.
//
// Then come the questions about one region: cones, against Boost.Graph; convex closures of eight vertices in a window
// of 400; and the boundaries of those closures.
//
// bench.influence [--smoke]

#include <algorithm>
#include <array>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "stretto/analysis/boundary.hpp"
#include "stretto/analysis/cone.hpp"
#include "stretto/analysis/convexity.hpp"
#include "stretto/analysis/influence.hpp"
#include "stretto/views/snapshot.hpp"
#include "support/measure.hpp"
#include "support/synthetic_step.hpp"

namespace {

constexpr std::size_t symbols = 512;
using mask = stretto::symbol_set<symbols>;
using csr = stretto::snapshot_view;
using order_of_ids = stretto::topological_order<std::uint32_t>;

/// A pseudo-random number below `bound`.
struct generator {
    std::uint64_t state = 1;
    std::uint32_t below(std::uint32_t bound) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return static_cast<std::uint32_t>(((state >> 32) * bound) >> 32);
    }
};

struct adjacency {
    stretto::index_lists successors, predecessors;
    [[nodiscard]] csr view() const { return {successors, predecessors}; }
};

adjacency training_step(std::uint32_t nodes) {
    const bench::synthetic_step step = bench::make_synthetic_step(nodes);
    const stretto::index_lists successors = step.reads.inverse(step.size());
    return {successors, successors.inverse(step.size())};
}

/// Every vertex depends on one to three of the 1,000 before it.
adjacency random_graph(std::uint32_t nodes) {
    generator random;
    stretto::index_lists predecessors;
    for (std::uint32_t v = 0; v < nodes; ++v) {
        if (v > 0)
            for (std::uint32_t k = random.below(3) + 1; k-- > 0;)
                predecessors.push(v - 1 - random.below(v < 1000 ? v : 1000));
        predecessors.close_row();
    }
    const stretto::index_lists successors = predecessors.inverse(nodes);
    return {successors, successors.inverse(nodes)};
}

/// What is traced: symbols begin at vertices spread over the graph, and every eighth operation, chosen at random, stops
/// a sixteenth of the symbols.
struct problem {
    std::vector<std::uint32_t> begins;   // by symbol
    std::vector<mask> keeps;             // by class
    std::vector<std::uint8_t> class_of;  // 16: stops nothing

    explicit problem(std::uint32_t nodes) {
        for (std::uint32_t s = 0; s < symbols; ++s)
            begins.push_back(static_cast<std::uint32_t>(std::uint64_t{s} * nodes / symbols));
        generator random;
        for (std::size_t c = 0; c < 16; ++c) {
            keeps.push_back(mask::all());
            for (std::size_t s = c; s < symbols; s += 16) keeps.back().erase(s);
        }
        for (std::uint32_t v = 0; v < nodes; ++v)
            class_of.push_back(static_cast<std::uint8_t>(random.below(8) == 0 ? random.below(16) : 16));
    }
};

/// The sweep as one would write it first, with a set for every vertex.
void dense_sweep(csr g, const problem& p, std::vector<mask>& sets) {
    for (mask& m : sets) m = {};
    for (std::uint32_t s = 0; s < symbols; ++s) sets[p.begins[s]].insert(s);
    for (std::uint32_t v : g.vertices()) {
        mask in;
        for (std::uint32_t u : g.predecessors(v)) in |= sets[u];
        if (p.class_of[v] < 16) in &= p.keeps[p.class_of[v]];
        sets[v] |= in;
    }
}

/// Breadth-first search as Boost.Graph has it, on its own CSR, with buffers that are kept.
class boost_searches {
public:
    using graph = boost::compressed_sparse_row_graph<boost::directedS>;

    explicit boost_searches(csr g) {
        std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
        for (std::uint32_t u : g.vertices())
            for (std::uint32_t v : g.successors(u)) edges.emplace_back(u, v);
        graph_ = graph(boost::edges_are_sorted, edges.begin(), edges.end(), g.index_bound());
        colours_.resize(g.index_bound());
    }

    /// The number of vertices that a path from `v` leads to.
    std::size_t operator()(std::uint32_t v) {
        std::size_t found = 0;
        std::fill(colours_.begin(), colours_.end(), boost::white_color);
        const auto colour = boost::make_iterator_property_map(colours_.begin(), get(boost::vertex_index, graph_));
        const auto counter = boost::make_bfs_visitor(count_vertices(&found));
        boost::breadth_first_visit(graph_, v, queue_, counter, colour);
        return found;
    }

private:
    struct count_vertices : boost::base_visitor<count_vertices> {
        using event_filter = boost::on_discover_vertex;
        std::size_t* found;
        explicit count_vertices(std::size_t* f) : found(f) {}
        template <class V, class G>
        void operator()(V, const G&) const {
            ++*found;
        }
    };
    graph graph_;
    std::vector<boost::default_color_type> colours_;
    boost::queue<std::size_t> queue_;
};

/// The same with a tree of symbols for every node.
std::size_t tree_sets(csr g, const problem& p) {
    std::vector<std::set<std::uint32_t>> sets(g.index_bound());
    for (std::uint32_t s = 0; s < symbols; ++s) sets[p.begins[s]].insert(s);
    std::size_t found = 0;
    for (std::uint32_t v : g.vertices()) {
        for (std::uint32_t u : g.predecessors(v)) sets[v].insert(sets[u].begin(), sets[u].end());
        found += sets[v].size();
    }
    return found;
}

std::uint32_t longest_path(csr g, std::vector<std::uint32_t>& depth) {
    std::uint32_t longest = 0;
    for (std::uint32_t v : g.vertices()) {
        std::uint32_t d = 0;
        for (std::uint32_t u : g.predecessors(v)) d = depth[u] > d ? depth[u] : d;
        depth[v] = d + 1;
        longest = d + 1 > longest ? d + 1 : longest;
    }
    return longest;
}

void check(bool same, const char* what) {
    if (same) return;
    std::fprintf(stderr, "bench.influence: %s disagrees\n", what);
    std::exit(1);
}

/// What each way costs, in nanoseconds per node.
struct cost {
    double nodes = 0, floor = 0, masks = 0, plain = 0;
};

cost measure_influence(const char* name, const adjacency& a, bool rivals) {
    const csr g = a.view();
    const double n = static_cast<double>(g.index_bound());
    const problem p(static_cast<std::uint32_t>(g.index_bound()));
    const order_of_ids order = *stretto::topological_sort(g);
    stretto::vertex_symbols<symbols, csr> seeds(g);
    for (std::uint32_t s = 0; s < symbols; ++s) seeds[p.begins[s]].insert(s);
    const auto keeps = [&](std::uint32_t v) { return p.class_of[v] < 16 ? &p.keeps[p.class_of[v]] : nullptr; };
    const auto ns = [&](double seconds) { return seconds * 1e9 / n; };

    std::vector<std::uint32_t> depth(g.index_bound());
    const double floor = bench::least_seconds([&] { bench::keep(longest_path(g, depth)); });
    std::vector<mask> dense(g.index_bound());
    const double naive = bench::least_seconds([&] { dense_sweep(g, p, dense); });

    stretto::influence_sweep<symbols, csr> sweep(g, order);
    const double masked = bench::least_seconds([&] { sweep.run(seeds, keeps); });
    const double masked_sets = static_cast<double>(sweep.run(seeds, keeps).stored_sets());
    const auto& with_masks = sweep.run(seeds, keeps);
    for (std::uint32_t v : g.vertices()) check(with_masks[v] == dense[v], "the dense sweep");
    const double plain = bench::least_seconds([&] { sweep.run(seeds); });
    const double once = bench::least_seconds([&] { bench::keep(stretto::influence<symbols>(g, order, seeds)); }, 3, 0);
    std::printf("%-14s %9.0f  %5.2f %8.2f %8.2f %8.2f %8.2f  %5.1f", name, n, ns(floor), ns(naive), ns(masked),
                ns(plain), ns(once), 100 * masked_sets / n);
    if (rivals) {
        std::size_t found = 0;
        const auto& all = sweep.run(seeds);
        for (std::uint32_t v : g.vertices()) found += all[v].size();
        boost_searches boost(g);
        std::size_t by_boost = 0, by_sets = 0;
        const double searches = bench::least_seconds(
            [&] {
                by_boost = 0;
                for (std::uint32_t v : p.begins) by_boost += boost(v);
            },
            1, 0);
        const double trees = bench::least_seconds([&] { by_sets = tree_sets(g, p); }, 1, 0);
        check(by_boost == found, "Boost.Graph");
        check(by_sets == found, "the tree of sets");
        std::printf(" %9.0f %9.0f", searches / plain, trees / plain);
    }
    std::printf("\n");
    return {n, ns(floor), ns(masked), ns(plain)};
}

/// How the time of a whole sweep grows: the exponent e of nodes^e that leads from the small graph to the large one.
void print_growth(const char* name, const cost& small, const cost& large) {
    const auto exponent = [&](double at_small, double at_large) {
        return 1 + std::log(at_large / at_small) / std::log(large.nodes / small.nodes);
    };
    std::printf("%-14s from %.0f to %.0f nodes: floor %.2f, masks %.2f, plain %.2f\n", name, small.nodes, large.nodes,
                exponent(small.floor, large.floor), exponent(small.masks, large.masks),
                exponent(small.plain, large.plain));
}

void measure_regions(const adjacency& a) {
    const csr g = a.view();
    const std::uint32_t n = static_cast<std::uint32_t>(g.index_bound());
    const order_of_ids order = *stretto::topological_sort(g);

    generator random;
    std::vector<std::uint32_t> sources;
    for (int k = 0; k < 20; ++k) sources.push_back(random.below(n));
    stretto::cone_finder cones(g, order);
    boost_searches boost(g);
    std::size_t found = 0, by_boost = 0;
    const double ours = bench::least_seconds([&] {
        found = 0;
        for (std::uint32_t v : sources) found += cones.up_set({v}).size();
    });
    const double theirs = bench::least_seconds(
        [&] {
            by_boost = 0;
            for (std::uint32_t v : sources) by_boost += boost(v);
        },
        2, 0);
    check(found == by_boost, "Boost.Graph");

    constexpr std::uint32_t window = 400, members = 8, regions = 200;
    std::vector<std::vector<std::uint32_t>> sets(regions), closures;
    for (std::vector<std::uint32_t>& set : sets) {
        const std::uint32_t begin = random.below(n - window);
        for (std::uint32_t k = 0; k < members; ++k) set.push_back(begin + random.below(window));
    }
    stretto::convexity questions(g, order);
    for (const auto& set : sets) {
        const auto closure = questions.closure(set);
        closures.emplace_back(closure.begin(), closure.end());
    }
    const auto ns_each = [&](auto work) {
        return bench::least_seconds([&] {
                   for (std::uint32_t k = 0; k < regions; ++k) work(k);
               }) *
               1e9 / regions;
    };
    std::size_t kept = 0, inside = 0;
    for (const auto& closure : closures) inside += closure.size();
    const double close = ns_each([&](std::uint32_t k) { kept += questions.closure(sets[k]).size(); });
    const double refute = ns_each([&](std::uint32_t k) { kept += questions.violation(sets[k]).size(); });
    stretto::boundary_finder boundaries(g, order);
    const double border = ns_each([&](std::uint32_t k) { kept += boundaries.find(closures[k]).live_ins.size(); });
    bench::keep(kept);
    std::printf("%9u  %8.1f %8.1f  %8.0f %8.2f %8.0f  %8.1f %8.1f\n", n, ours * 1e9 / static_cast<double>(found),
                theirs / ours, close, close / window, refute, static_cast<double>(inside) / regions,
                border * regions / static_cast<double>(inside));
}

}  // namespace

int main(int argc, char** argv) {
    const bool smoke = argc > 1 && std::strcmp(argv[1], "--smoke") == 0;
    std::printf("512 symbols, ns per node; sets stored as %% of nodes; rivals as multiples of our time\n");
    std::printf("%-14s %9s  %5s %8s %8s %8s %8s  %5s %9s %9s\n", "graph", "nodes", "floor", "dense", "masks", "plain",
                "one shot", "sets%", "Boost x", "std::set x");
    std::array<cost, 2> steps, random;  // of 10,000 nodes and of a million
    for (const std::uint32_t nodes : {1'000u, 10'000u, 100'000u, 1'000'000u}) {
        if (smoke && nodes > 1000) break;
        const cost of_step = measure_influence("training step", training_step(nodes), nodes <= 10'000);
        const cost of_random = measure_influence("random", random_graph(nodes), nodes <= 10'000);
        if (nodes == 10'000 || nodes == 1'000'000) {
            steps[nodes == 1'000'000] = of_step;
            random[nodes == 1'000'000] = of_random;
        }
    }
    if (!smoke) {
        std::printf("\nGrowth of the time of a sweep, exponents\n");
        print_growth("training step", steps[0], steps[1]);
        print_growth("random", random[0], random[1]);
    }
    std::printf("\nTraining steps: up-sets of 20 vertices, ns per vertex found; 200 sets of 8 vertices within 400\n");
    std::printf("%9s  %8s %8s  %8s %8s %8s  %8s %8s\n", "nodes", "up-set", "Boost x", "closure", "/window", "violation",
                "vertices", "boundary");
    std::printf("%9s  %8s %8s  %8s %8s %8s  %8s %8s\n", "", "ns", "", "ns", "ns", "ns", "closed", "ns/vertex");
    for (const std::uint32_t nodes : {1'000u, 10'000u, 100'000u, 1'000'000u}) {
        if (smoke && nodes > 1000) break;
        measure_regions(training_step(nodes));
    }
}
