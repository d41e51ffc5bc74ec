// Measures what it costs to know who reaches whom: building the index and asking it, on captured and synthetic steps
// and on the families that break indices made for long thin graphs. The rival is Boost.Graph, on the same graphs in the
// same run. It searches anew for every question (breadth_first_search, left as soon as the answer is known) or forms
// the closure (transitive_closure). Its graph is the compact compressed_sparse_row_graph wherever the algorithm takes
// one. Every answer of the rival is compared with ours. Questions are uniformly random pairs in topological order.
//
// The floors are one sweep of a longest path over the same rows, and a dependent load that misses the caches.

#include <malloc.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/topological_sort.hpp>
#include <boost/graph/transitive_closure.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "stretto/analysis/reachability.hpp"
#include "stretto/analysis/terminal_reachability.hpp"
#include "stretto/analysis/topological_order.hpp"
#include "support/captured_steps.hpp"
#include "support/graph_families.hpp"
#include "support/measure.hpp"
#include "support/synthetic_step.hpp"

namespace {

using stretto::reachability_kind;
using pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

struct settings {
    int runs = 7;
    double seconds = 0.05;
    std::uint32_t questions = 200'000;
    bool closure = true;
};

pairs questions(const bench::plain_graph& g, std::uint32_t count) {
    bench::random_numbers random(7);
    pairs all;
    for (std::uint32_t k = 0; k < count; ++k) {
        const std::uint32_t a = random.below(g.size()), b = random.below(g.size());
        all.emplace_back(std::min(a, b), std::max(a, b));
    }
    return all;
}

/// Nanoseconds for a load from `bytes` of memory whose address comes from the load before it.
double dependent_load(std::size_t bytes) {
    std::vector<std::uint32_t> next(bytes / 64 * 16);
    const auto lines = static_cast<std::uint32_t>(next.size() / 16);
    std::vector<std::uint32_t> order(lines);
    std::iota(order.begin(), order.end(), 0u);
    bench::random_numbers random(3);
    for (std::uint32_t k = lines; k > 1; --k) std::swap(order[k - 1], order[random.below(k)]);
    for (std::uint32_t k = 0; k < lines; ++k) next[order[k] * 16] = order[(k + 1) % lines] * 16;
    constexpr int loads = 200'000;
    const double seconds = bench::least_seconds([&] {
        std::uint32_t at = 0;
        for (int k = 0; k < loads; ++k) at = next[at];
        bench::keep(at);
    });
    return seconds * 1e9 / loads;
}

const char* name_of(reachability_kind kind) {
    switch (kind) {
        case reachability_kind::spine_labels:
            return "spine";
        case reachability_kind::support_labels:
            return "support";
        case reachability_kind::closure_rows:
            return "closure";
        case reachability_kind::hub_labels:
            return "hub";
    }
    return "?";
}

/// Nanoseconds per question. It gives up after a second, so that searches over whole graphs come to an end.
template <class Index>
double time_questions(Index& index, const pairs& all, const settings& effort) {
    std::size_t count = 0, yes = 0;
    for (const double begin = bench::thread_seconds(); count < all.size(); ++count) {
        if (count % 64 == 0 && bench::thread_seconds() - begin > 1) break;
        yes += index.reaches(all[count].first, all[count].second);
    }
    const double seconds = bench::least_seconds(
        [&] {
            for (std::size_t k = 0; k < count; ++k) yes += index.reaches(all[k].first, all[k].second);
        },
        effort.runs, effort.seconds);
    bench::keep(yes);
    return seconds * 1e9 / static_cast<double>(count);
}

void report_index(const std::string& name, const bench::plain_graph& g, const settings& effort) {
    const auto least = [&](auto work) { return bench::least_seconds(work, effort.runs, effort.seconds); };
    const auto order = *stretto::topological_sort(g.view());
    const double per_part = 1e9 / static_cast<double>(g.size() + g.edges());
    std::vector<std::uint32_t> level(g.size());
    const double floor = least([&] { bench::keep(bench::sweep(g.view(), level)); });
    const double build =
        bench::least_seconds([&] { bench::keep(stretto::reachability(g.view(), order)); },
                             g.size() > 50'000 ? 2 : effort.runs, g.size() > 50'000 ? 0 : effort.seconds);
    stretto::reachability index(g.view(), order);
    const auto& choice = index.choice();
    const double ask = time_questions(index, questions(g, effort.questions), effort);
    std::printf("%-26s %8u %8zu | %6.2f %8.2f %6.1f | %-7s %6.0f %8.2f %8.2f | %9.1f\n", name.c_str(), g.size(),
                g.edges(), floor * per_part, build * per_part, build / floor, name_of(choice.kind),
                static_cast<double>(choice.bytes()) / g.size(), choice.trial(choice.kind).mean_steps(),
                choice.trials[0].mean_steps(), ask);
    std::fflush(stdout);
}

void report_kinds(const std::string& name, const bench::plain_graph& g, const settings& effort) {
    const auto order = *stretto::topological_sort(g.view());
    const pairs all = questions(g, effort.questions / 4);
    std::printf("%-26s", name.c_str());
    for (reachability_kind kind : {reachability_kind::spine_labels, reachability_kind::support_labels,
                                   reachability_kind::closure_rows, reachability_kind::hub_labels}) {
        if (kind == reachability_kind::closure_rows && g.size() > 50'000) {  // some hundred megabytes
            std::printf(" | %8s %5s %8s", "-", "-", "-");
            continue;
        }
        const double before = bench::thread_seconds();
        stretto::reachability index(g.view(), order, kind);
        const double build = bench::thread_seconds() - before;
        std::printf(" | %8.2f %5.0f %8.1f", build * 1e9 / static_cast<double>(g.size() + g.edges()),
                    static_cast<double>(index.choice().bytes()) / g.size(), time_questions(index, all, effort));
    }
    std::printf("\n");
    std::fflush(stdout);
}

void report_terminals(const std::string& name, const bench::plain_graph& g, std::uint32_t count,
                      const settings& effort) {
    const auto order = *stretto::topological_sort(g.view());
    std::vector<std::uint32_t> terminals;
    for (std::uint32_t k = 0; k < std::min(count, g.size()); ++k)
        terminals.push_back(static_cast<std::uint32_t>(std::uint64_t{k} * g.size() / std::min(count, g.size())));
    const double build = bench::least_seconds(
        [&] { bench::keep(stretto::terminal_reachability(g.view(), order, terminals)); }, effort.runs, effort.seconds);
    const stretto::terminal_reachability table(g.view(), order, terminals);
    const double sweeps = static_cast<double>((terminals.size() + 511) / 512);
    std::printf("%-26s %8u terminals %6zu | %8.3f ms, %5.2f ns/node and sweep, %.2f MB\n", name.c_str(), g.size(),
                terminals.size(), build * 1e3, build * 1e9 / (sweeps * g.size()),
                static_cast<double>(table.bytes()) * 1e-6);
}

using boost_rows = boost::compressed_sparse_row_graph<boost::directedS>;
using boost_lists = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;

struct arrived {};
struct until_arrival : boost::default_bfs_visitor {
    std::size_t goal;
    explicit until_arrival(std::size_t v) : goal(v) {}
    void discover_vertex(std::size_t v, const boost_rows&) const {
        if (v == goal) throw arrived();
    }
};

bool search(const boost_rows& b, std::size_t u, std::size_t v, std::vector<boost::default_color_type>& colour) {
    try {
        breadth_first_search(b, u,
                             boost::visitor(until_arrival(v))
                                 .color_map(make_iterator_property_map(colour.begin(), get(boost::vertex_index, b))));
    } catch (const arrived&) {
        return true;
    }
    return false;
}

[[noreturn]] void disagree(const char* what) {
    std::fprintf(stderr, "reachability: %s and ours give different answers\n", what);
    std::exit(1);
}

/// The seconds of our topological_sort and of Boost's.
std::pair<double, double> time_sorts(const bench::plain_graph& g, const boost_rows& b,
                                     std::vector<boost::default_color_type>& colour, const settings& effort) {
    const auto least = [&](auto work) { return bench::least_seconds(work, effort.runs, effort.seconds); };
    const double sort = least([&] { bench::keep(stretto::topological_sort(g.view())); });
    std::vector<std::size_t> sorted;
    const double boost_sort = least([&] {
        sorted.clear();
        sorted.reserve(g.size());
        topological_sort(b, std::back_inserter(sorted),
                         boost::color_map(make_iterator_property_map(colour.begin(), get(boost::vertex_index, b))));
    });
    return {sort, boost_sort};
}

void report_rivals(const std::string& name, const bench::plain_graph& g, const settings& effort) {
    const auto order = *stretto::topological_sort(g.view());
    stretto::reachability index(g.view(), order);
    const pairs all = questions(g, effort.questions);
    const double ask = time_questions(index, all, effort);

    const pairs edges = bench::edges_of(g);
    const boost_rows b(boost::edges_are_sorted, edges.begin(), edges.end(), g.size());
    std::vector<boost::default_color_type> colour(g.size());
    std::size_t searched = 0;
    const double begin = bench::thread_seconds();
    do {
        const auto [u, v] = all[searched++];
        if (search(b, u, v, colour) != index.reaches(u, v)) disagree("breadth_first_search");
    } while (searched < all.size() && bench::thread_seconds() - begin < 10 * effort.seconds);
    const double per_search = (bench::thread_seconds() - begin) * 1e9 / static_cast<double>(searched) - ask;

    const auto [sort, boost_sort] = time_sorts(g, b, colour, effort);
    const bench::plain_graph shuffled = bench::shuffled_ids(g, 11);
    const pairs shuffled_edges = bench::edges_of(shuffled);
    const boost_rows shuffled_rows(boost::edges_are_sorted, shuffled_edges.begin(), shuffled_edges.end(), g.size());
    const auto [slow, boost_slow] = time_sorts(shuffled, shuffled_rows, colour, effort);
    const double per_part = 1e9 / static_cast<double>(g.size() + g.edges());
    std::printf("%-26s %8u | %8.1f %12.0f %9.0fx | %6.2f %6.2f %6.1fx | %6.2f %6.2f %6.1fx\n", name.c_str(), g.size(),
                ask, per_search, per_search / ask, sort * per_part, boost_sort * per_part, boost_sort / sort,
                slow * per_part, boost_slow * per_part, boost_slow / slow);
    std::fflush(stdout);
}

void report_closure(const std::string& name, const bench::plain_graph& g, const settings& effort) {
    const auto order = *stretto::topological_sort(g.view());
    const double build =
        bench::least_seconds([&] { bench::keep(stretto::reachability(g.view(), order)); }, effort.runs, effort.seconds);
    stretto::reachability index(g.view(), order);
    const pairs edges = bench::edges_of(g), all = questions(g, 1000);
    const boost_lists b(edges.begin(), edges.end(), g.size());
    boost_lists closure;
    const double before = bench::thread_seconds();
    transitive_closure(b, closure);
    const double boost_build = bench::thread_seconds() - before;
    for (const auto& [u, v] : all)
        if (u != v && edge(u, v, closure).second != index.reaches(u, v)) disagree("transitive_closure");
    std::printf("%-26s %8u | %.3f ms, transitive_closure %.3f s: %.0fx; %zu edges of the closure\n", name.c_str(),
                g.size(), build * 1e3, boost_build, boost_build / build, num_edges(closure));
}

struct growth {
    double nodes = 0, parts = 0, build = 0, ask = 0, resident = 0, sort = 0;
    double sweep = 0,
           touch = 0;  // floors of building: a sweep, and writing 8 bytes per node where nothing was written
};

/// The seconds that it takes to write memory that the process has not had before.
double first_touch(std::size_t bytes) {
    const double before = bench::thread_seconds();
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    std::memset(memory, 1, bytes);
    bench::keep(memory);
    const double seconds = bench::thread_seconds() - before;
    munmap(memory, bytes);
    return seconds;
}

/// Measures growth in a process of its own, with cold caches and fresh memory.
growth measure_apart(std::uint32_t nodes, const settings& effort) {
    int channel[2];
    if (pipe(channel) != 0) std::abort();
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        growth f;
        const bench::plain_graph g = [&] {
            const bench::synthetic_step step = bench::make_synthetic_step(nodes);
            return bench::plain_graph_of(bench::synthetic_view{&step});
        }();
        f.nodes = g.size();
        f.parts = static_cast<double>(g.size() + g.edges());
        double before = bench::thread_seconds();
        const auto order = *stretto::topological_sort(g.view());
        f.sort = bench::thread_seconds() - before;
        std::vector<std::uint32_t> level(g.size());
        before = bench::thread_seconds();
        bench::keep(bench::sweep(g.view(), level));
        f.sweep = bench::thread_seconds() - before;
        malloc_trim(0);
        f.touch = first_touch(std::size_t{8} * g.size());
        malloc_trim(0);  // otherwise the index would live in what the generator has freed
        const double resident = bench::measure_resident_memory().now;
        bench::reset_peak_memory();
        before = bench::thread_seconds();
        stretto::reachability index(g.view(), order);
        f.build = bench::thread_seconds() - before;
        f.resident = bench::measure_resident_memory().peak - resident;
        f.ask = time_questions(index, questions(g, effort.questions), effort);
        _exit(write(channel[1], &f, sizeof f) == sizeof f ? 0 : 1);
    }
    close(channel[1]);
    growth f;
    if (child < 0 || read(channel[0], &f, sizeof f) != sizeof f) std::abort();
    close(channel[0]);
    waitpid(child, nullptr, 0);
    return f;
}

void report_growth(const std::vector<std::uint32_t>& sizes, const settings& effort) {
    std::vector<growth> all;
    for (std::uint32_t nodes : sizes) {
        growth least;
        for (int run = 0; run < std::min(5, effort.runs); ++run) {
            const growth f = measure_apart(nodes, effort);
            if (run == 0) least = f;
            least.build = std::min(least.build, f.build);
            least.sort = std::min(least.sort, f.sort);
            least.ask = std::min(least.ask, f.ask);
            least.sweep = std::min(least.sweep, f.sweep);
            least.touch = std::min(least.touch, f.touch);
        }
        const auto each = [&](double seconds) { return seconds * 1e9 / least.parts; };
        std::printf(
            "%9.0f nodes; ns per node and edge: sort %6.2f, sweep %5.2f, touch %5.2f, build %6.2f; %5.1f B/node "
            "resident at the peak of building; question %6.1f ns\n",
            least.nodes, each(least.sort), each(least.sweep), each(least.touch), each(least.build),
            least.resident / least.nodes, least.ask);
        std::fflush(stdout);
        all.push_back(least);
    }
    const auto exponent = [&](double growth::* time) {
        return std::log(all.back().*time / all.front().*time) / std::log(all.back().nodes / all.front().nodes);
    };
    if (all.size() > 1)
        std::printf("exponents of growth: building %.3f; sweep %.3f, touch %.3f\n", exponent(&growth::build),
                    exponent(&growth::sweep), exponent(&growth::touch));
}

bench::plain_graph synthetic(std::uint32_t nodes) {
    const bench::synthetic_step step = bench::make_synthetic_step(nodes);
    return bench::plain_graph_of(bench::synthetic_view{&step});
}

}  // namespace

int main(int argc, char** argv) {
    settings effort;
    std::uint32_t scale = 10'000;
    const bool smoke = argc == 2 && std::strcmp(argv[1], "--smoke") == 0;
    if (smoke) {
        effort = {.runs = 1, .seconds = 0, .questions = 200, .closure = true};
        scale = 400;
    } else if (argc == 2 && std::strcmp(argv[1], "--no-closure") == 0) {
        effort.closure = false;
    } else if (argc != 1) {
        std::fputs("usage: reachability [--smoke | --no-closure]\n", stderr);
        return 2;
    }

    std::vector<bench::named_graph> steps = bench::captured_steps(STRETTO_SOURCE_DIR);
    steps.push_back({"synthetic", synthetic(scale)});
    steps.push_back({"synthetic", synthetic(scale * 10)});
    std::vector<bench::named_graph> families;
    for (const std::uint32_t copies : {4u, 16u})
        for (std::size_t which : {std::size_t{0}, steps.size() - 2}) {
            const std::string name = std::to_string(copies) + " x " + steps[which].name;
            families.push_back({name, bench::replicas(steps[which].graph, copies)});
            families.push_back({name + " summed", bench::replicas(steps[which].graph, copies, true)});
        }
    families.push_back({"spine", bench::long_spine(scale * 10)});
    families.push_back({"butterfly 64", bench::butterfly(scale, 64)});
    families.push_back({"random, 2 reads", bench::random_dag(scale, 2, UINT32_MAX)});
    families.push_back({"random, window 1000", bench::random_dag(scale, 2, 1000)});
    families.push_back({"star", bench::star(scale * 10)});

    std::printf("floor: a dependent load %.1f ns from 1 MB, %.1f ns from 16 MB, %.1f ns from 256 MB\n",
                dependent_load(1 << 20), dependent_load(16 << 20), dependent_load(smoke ? 16 << 20 : 256 << 20));
    std::printf(
        "\nIndex. Floor (one sweep) and building in ns per node and edge; steps of search per question of the "
        "sample, for the kind\nthat was picked and for spine labels (cut off where that is enough).\n");
    std::printf("%-26s %8s %8s | %6s %8s %6s | %-7s %6s %8s %8s | %9s\n", "graph", "nodes", "edges", "floor", "build",
                "x", "kind", "B/node", "steps", "spine", "ns/quest.");
    for (const auto* group : {&steps, &families})
        for (const auto& [name, graph] : *group) report_index(name, graph, effort);

    std::printf("\nEvery kind, demanded: build in ns per node and edge, bytes per node, ns per question.\n");
    std::printf("%-26s | %-23s | %-23s | %-23s | %-23s\n", "graph", "spine", "support", "closure", "hub");
    for (const auto* group : {&steps, &families})
        for (const auto& [name, graph] : *group)
            if (graph.size() <= 20 * scale) report_kinds(name, graph, effort);

    std::printf("\nTables for terminals.\n");
    for (const auto& [name, graph] : steps) {
        report_terminals(name, graph, 840, effort);
        if (graph.size() > 50'000) report_terminals(name, graph, 8'192, effort);
    }

    std::printf(
        "\nAgainst Boost.Graph: ns per question; ns per node and edge of topological_sort, of ids that are in order "
        "and of ids\nthat are shuffled.\n");
    std::printf("%-26s %8s | %8s %12s %10s | %6s %6s %7s | %6s %6s %7s\n", "graph", "nodes", "ours", "BFS", "", "ours",
                "Boost", "", "ours", "Boost", "");
    for (const auto* group : {&steps, &families})
        for (const auto& [name, graph] : *group) report_rivals(name, graph, effort);
    if (effort.closure)
        for (const auto& [name, graph] : steps)
            if (graph.size() <= 10 * scale && name == "synthetic") report_closure(name, graph, effort);

    std::printf("\nGrowth, a process each.\n");
    report_growth(
        smoke ? std::vector<std::uint32_t>{1000, 3000} : std::vector<std::uint32_t>{10'000, 100'000, 1'000'000},
        effort);
}
