// Measures what planning a captured step costs, and what it achieves: make_task_graph and list_schedule, certificate
// included, in the peak of the input order, in 1.1 times that, and with unlimited memory. Reading the file is not part
// of it (see parse.cpp). Times are processor time of this thread, the least of several runs on a warm cache.
//
// The floor is what the machine needs to touch such a graph at all: one longest-path sweep over its dependences, and
// one copy of the task graph. Both are printed beside the figures, because they vary with the machine and its load as
// the figures do.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/capture/capture_reader.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/schedule/explain.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "support/floor.hpp"
#include "support/measure.hpp"
#include "support/step_files.hpp"

namespace {

/// A result that is quoted and not measured here: PyTorch 2.15, `schedule_overlap_bucketing` with these costs, as
/// published with the captured steps. It has the seconds of the pass (on another machine of this class) and the
/// makespan that it reaches.
struct quoted_result {
    std::string_view name;
    double pass_seconds;
    double step_ms;
};
constexpr quoted_result pytorch[] = {
    {"llama3_8b_fw_64_1d", 3.0, 721.597640}, {"llama3_8b_bw_64_1d", 6.7, 1977.058253},
    {"llama3_8b_bw_64_2d", 3.9, 175.609509}, {"dsv3_fw_64", 9.1, 200.979206},
    {"dsv3_bw_64", 8.8, 264.202898},
};

const quoted_result* quoted(std::string_view name) {
    for (const quoted_result& r : pytorch)
        if (r.name == name) return &r;
    return nullptr;
}

double milliseconds(stretto::nanoseconds t) { return static_cast<double>(t.count) * 1e-6; }
double ratio(stretto::bytes a, stretto::bytes b) {
    return b.count == 0 ? 0 : static_cast<double>(a.count) / static_cast<double>(b.count);
}

struct settings {
    int runs = 7;
    double seconds = 0.1;  // spend at least that long on every figure
    unsigned effort = 1;   // of every schedule
};

bool report(const std::string& path, const settings& how) {
    const auto step = stretto::read_capture(path);
    if (!step) {
        std::fprintf(stderr, "%s\n", step.error().message().c_str());
        return false;
    }
    const auto least = [&](auto work) { return bench::least_seconds(work, how.runs, how.seconds); };
    const auto make = [&] {
        return stretto::make_task_graph(stretto::capture_view{&*step}, stretto::capture_op_model{&*step});
    };
    const auto g = make();
    if (!g) {
        std::fprintf(stderr, "%s: task %u makes no task graph\n", path.c_str(), g.error().task);
        return false;
    }
    std::vector<stretto::task_id> input(g->size());
    std::iota(input.begin(), input.end(), 0u);
    const stretto::nanoseconds input_makespan = stretto::simulate(*g, input).makespan;
    const stretto::bytes input_peak = stretto::profile_memory(*g, input).peak;

    const double build = least([&] { bench::keep(make()); });
    const double sweep = least([&] { bench::keep(bench::longest_path(*g)); });
    const double copy = least([&] { bench::keep(stretto::task_graph(*g)); });
    const double per_node = 1e9 / static_cast<double>(g->size());
    std::printf("\n%.*s: %zu nodes, input order %.2f ms; floor: sweep %.1f + copy %.1f ns/node\n",
                static_cast<int>(step->name().size()), step->name().data(), g->size(), milliseconds(input_makespan),
                sweep * per_node, copy * per_node);

    const quoted_result* reference = quoted(step->name());
    struct {
        const char* title;
        stretto::memory_budget budget;
    } const limits[] = {{"1.00x", stretto::memory_budget::times_input_peak(1.0)},
                        {"1.10x", stretto::memory_budget::times_input_peak(1.1)},
                        {"unlimited", stretto::unlimited_bytes}};
    for (const auto& limit : limits) {
        const stretto::schedule_options options{.memory_limit = limit.budget, .effort = how.effort};
        const double schedule = least([&] { bench::keep(stretto::list_schedule(*g, options)); });
        const auto plan = stretto::list_schedule(*g, options);
        if (!plan) std::abort();  // no limit here is below the peak of the input order
        const double total = build + schedule;
        std::printf("  %-9s %6.0f %8.0f %8.0f %7.0f %9.2f %-13s %6.2f%% %6.3f", limit.title, build * per_node,
                    schedule * per_node, total * per_node, total / (sweep + copy), milliseconds(plan->makespan()),
                    std::string(name_of(plan->bound().kind)).c_str(), 100 * plan->gap(),
                    ratio(plan->memory().peak, input_peak));
        if (reference)
            std::printf("   %8.2f %6.1f %7.0fx", reference->step_ms, reference->pass_seconds,
                        reference->pass_seconds / total);
        std::printf("\n");
        std::fflush(stdout);
    }
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    unsigned effort = 1;
    std::vector<char*> others(argv, argv + argc);
    for (std::size_t k = 1; k + 1 < others.size(); ++k)
        if (std::string_view(others[k]) == "--effort") {
            effort = static_cast<unsigned>(std::max(1, std::atoi(others[k + 1])));
            others.erase(others.begin() + static_cast<std::ptrdiff_t>(k),
                         others.begin() + static_cast<std::ptrdiff_t>(k + 2));
            break;
        }
    const auto [smoke, paths] =
        bench::read_step_arguments(static_cast<int>(others.size()), others.data(), STRETTO_SOURCE_DIR);
    settings how;
    if (smoke) how = {1, 0};
    how.effort = effort;
    std::printf(
        "ns per node (least processor time), with effort %u; step, what bounds it, how far it is above the bound at "
        "most; peak over that of the input order.\nPyTorch's step and seconds are quoted, not measured.\n\n",
        effort);
    std::printf("  %-9s %6s %8s %8s %7s %9s %-13s %7s %6s   %8s %6s %8s\n", "limit", "graph", "schedule", "total",
                "x floor", "step ms", "bound", "gap", "peak", "PyTorch", "pass s", "ratio");
    bool fine = true;
    for (const std::string& path : paths) fine = report(path, how) && fine;
    return fine ? 0 : 1;
}
