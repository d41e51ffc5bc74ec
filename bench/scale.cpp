// Measures how planning grows: synthetic training steps of ten thousand to a million nodes, planned in the peak of
// their own input order and with unlimited memory. Planning is make_task_graph and list_schedule, certificate included.
// Every figure comes from a process of its own, so that memory is honest and caches are cold. Times are processor time
// of the planning thread, the least of the runs.
//
// The floor is what the machine needs to touch such a graph at all: one longest-path sweep over its dependences, and
// one copy of the task graph.

#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "stretto/schedule/list_schedule.hpp"
#include "support/floor.hpp"
#include "support/measure.hpp"
#include "support/synthetic_step.hpp"

namespace {

/// What a child process reports, in seconds and bytes.
struct figures {
    double nodes = 0;
    double build = 0, schedule = 0;                // make_task_graph, list_schedule
    double compact = 0, bounds = 0;                // parts of list_schedule, run again by themselves
    double sweep = 0, copy = 0;                    // the floor
    double input = 0, planning = 0, resident = 0;  // memory: before planning, what planning added, all at its peak
    double gap = 0, gain = 0;                      // of the plan: above its bound; input step / step
};

figures measure(std::uint32_t nodes, stretto::memory_budget limit) {
    const bench::synthetic_step step = bench::make_synthetic_step(nodes);
    figures f;
    f.nodes = step.size();
    bench::reset_peak_memory();
    f.input = bench::measure_resident_memory().now;

    const double begin = bench::thread_seconds();
    const auto g = stretto::make_task_graph(bench::synthetic_view{&step}, bench::synthetic_model{&step});
    f.build = bench::thread_seconds() - begin;
    if (!g) std::abort();  // the generator has written an impossible step

    std::vector<stretto::task_id> input(g->size());
    std::iota(input.begin(), input.end(), 0u);
    const stretto::nanoseconds input_makespan = stretto::simulate(*g, input).makespan;
    input = {};

    const double before = bench::thread_seconds();
    const auto plan = stretto::list_schedule(*g, {.memory_limit = limit});
    f.schedule = bench::thread_seconds() - before;
    if (!plan) std::abort();  // no limit here is below the peak of the input order
    f.resident = bench::measure_resident_memory().peak;
    f.planning = f.resident - f.input;
    f.gap = plan->gap();
    f.gain = static_cast<double>(input_makespan.count) / static_cast<double>(plan->makespan().count);

    stretto::detail::workspace w;
    f.compact = bench::least_seconds([&] { bench::keep(stretto::detail::make_compact_tasks(*g, w)); }, 1, 0);
    const stretto::detail::compact_tasks c = stretto::detail::make_compact_tasks(*g, w);
    f.bounds = bench::least_seconds([&] { bench::keep(stretto::detail::bound_below(c, w)); }, 1, 0);
    f.sweep = bench::least_seconds([&] { bench::keep(bench::longest_path(*g)); }, 3, 0);
    f.copy = bench::least_seconds([&] { bench::keep(stretto::task_graph(*g)); }, 3, 0);
    return f;
}

/// Runs `measure` in a child process. Of every time it takes the least over `runs`; the rest is the same in each run.
figures measure_apart(std::uint32_t nodes, stretto::memory_budget limit, int runs) {
    figures least;
    for (int run = 0; run < runs; ++run) {
        int channel[2];
        if (pipe(channel) != 0) std::abort();
        std::fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            const figures f = measure(nodes, limit);
            _exit(write(channel[1], &f, sizeof f) == sizeof f ? 0 : 1);
        }
        close(channel[1]);
        figures f;
        const bool complete = child > 0 && read(channel[0], &f, sizeof f) == sizeof f;
        close(channel[0]);
        int status = 0;
        if (child > 0) waitpid(child, &status, 0);
        if (!complete) {
            std::fprintf(stderr, "scale: no figures for %u nodes (out of memory?)\n", nodes);
            std::exit(1);
        }
        if (run == 0) least = f;
        for (double figures::* time : {&figures::build, &figures::schedule, &figures::compact, &figures::bounds,
                                       &figures::sweep, &figures::copy})
            least.*time = std::min(least.*time, f.*time);
    }
    return least;
}

/// The slope of the least-squares line through (log nodes, log seconds).
double growth_exponent(const std::vector<figures>& all) {
    double x = 0, y = 0, xx = 0, xy = 0;
    for (const figures& f : all) {
        const double u = std::log(f.nodes), v = std::log(f.build + f.schedule);
        x += u, y += v, xx += u * u, xy += u * v;
    }
    const double n = static_cast<double>(all.size());
    return (n * xy - x * y) / (n * xx - x * x);
}

void report(const char* title, stretto::memory_budget limit, const std::vector<std::uint32_t>& sizes, int runs) {
    std::printf("\n%s\n", title);
    std::printf("%9s %9s %8s | %7s %7s %7s %7s | %6s %6s %7s | %7s %7s %6s | %6s %6s\n", "nodes", "seconds", "ns/node",
                "build", "compact", "bounds", "rest", "sweep", "copy", "x floor", "total", "plan", "B/node", "gap",
                "gain");
    std::vector<figures> all;
    for (std::uint32_t nodes : sizes) {
        const figures f = measure_apart(nodes, limit, runs);
        const double total = f.build + f.schedule, per_node = 1e9 / f.nodes;
        std::printf(
            "%9.0f %9.4f %8.0f | %7.0f %7.0f %7.0f %7.0f | %6.1f %6.1f %7.0f | %7.1f %7.1f %6.0f | %5.2f%% %6.3f\n",
            f.nodes, total, total * per_node, f.build * per_node, f.compact * per_node, f.bounds * per_node,
            (f.schedule - f.compact - f.bounds) * per_node, f.sweep * per_node, f.copy * per_node,
            total / (f.sweep + f.copy), f.resident / 1e6, f.planning / 1e6, f.planning / f.nodes, 100 * f.gap, f.gain);
        std::fflush(stdout);
        all.push_back(f);
    }
    if (all.size() > 1)
        std::printf("growth from %.0f to %.0f nodes: seconds ~ nodes^%.2f\n", all.front().nodes, all.back().nodes,
                    growth_exponent(all));
}

int usage() {
    std::fputs("usage: scale [--smoke] [--runs N] [NODES...]\n", stderr);
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<std::uint32_t> sizes;
    int runs = 3;
    for (int k = 1; k < argc; ++k) {
        if (std::strcmp(argv[k], "--smoke") == 0) {
            sizes = {1000, 3000};
            runs = 1;
        } else if (std::strcmp(argv[k], "--runs") == 0 && k + 1 < argc) {
            runs = std::max(1, std::atoi(argv[++k]));
        } else {
            char* end = nullptr;
            const unsigned long nodes = std::strtoul(argv[k], &end, 10);
            if (end == argv[k] || *end != '\0' || nodes == 0 || nodes > 100'000'000) return usage();
            sizes.push_back(static_cast<std::uint32_t>(nodes));
        }
    }
    if (sizes.empty()) sizes = {10'000, 30'000, 100'000, 300'000, 1'000'000};
    std::printf(
        "Planning synthetic steps: least processor time of %d processes each. Phases and floor in ns per node; "
        "memory in MB.\n",
        runs);
    report("peak of the input order as the limit", stretto::memory_budget::times_input_peak(1.0), sizes, runs);
    report("unlimited memory", stretto::unlimited_bytes, sizes, runs);
}
