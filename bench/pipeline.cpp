// Measures a whole pipeline on captured steps, and on a synthetic one of 80 layers: collectives are classified, put
// into buckets, the step is scheduled in these, and the schedule has its certificate. Reading the file is not part of
// it (see parse.cpp). Times are processor time of this thread, the least of several runs on a warm cache.
//
// Buckets are those of one sweep along the program, up to 200 MiB each. The plan is verified against the program. The
// schedule keeps within the peak of the program in its buckets, and is made again with unlimited memory.
//
// The floor is what the machine needs to touch the step at all: one longest-path sweep over its dependences, and one
// copy of its task graph.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "stretto/analysis/classify_collectives.hpp"
#include "stretto/analysis/infer_input_roles.hpp"
#include "stretto/capture/bucket_capture.hpp"
#include "stretto/capture/capture_reader.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "stretto/transform/bucket_policies.hpp"
#include "stretto/transform/plan_buckets.hpp"
#include "stretto/transform/verify_buckets.hpp"
#include "stretto/tune/step_table.hpp"
#include "stretto/tune/try_buckets.hpp"
#include "support/floor.hpp"
#include "support/llama_step.hpp"
#include "support/measure.hpp"
#include "support/step_files.hpp"

namespace {

struct settings {
    int runs = 7;
    double seconds = 0.2;  // spend at least that long on every figure
};

double milliseconds(stretto::nanoseconds t) { return static_cast<double>(t.count) * 1e-6; }

constexpr stretto::bucket_options limits{.most_bytes = stretto::bytes{std::int64_t{200} << 20}};

/// `in_buckets(tags)` is the plan. Vertices of the view are positions in program order.
template <class G, class M, class C, class InBuckets>
bool report(std::string_view name, G view, const M& ops, const C& costs, InBuckets in_buckets, const settings& effort) {
    const auto least = [&](auto work) { return 1e3 * bench::least_seconds(work, effort.runs, effort.seconds); };
    const auto classified = [&] {
        return stretto::classify_collectives(view, ops, stretto::infer_input_roles(view, ops));
    };
    const auto tags = classified();
    const auto plan = in_buckets(tags);
    if (!plan) return false;
    const auto step = [&] { return stretto::numbered_step<G>::read(view, ops); };
    const auto numbered = step();
    if (!numbered) return false;
    const auto tasks = [&] { return stretto::try_buckets(*plan, numbered->table(), costs); };
    const auto made = tasks();
    if (!made) return false;

    const double classify = least([&] { bench::keep(classified()); });
    const double sweep = least([&] { bench::keep(in_buckets(tags)); });
    const double verify = least([&] { bench::keep(stretto::verify_buckets(*plan, view, ops)); });
    const double write = least([&] { bench::keep(step()); }) + least([&] { bench::keep(tasks()); });
    const double floor = least([&] { bench::keep(bench::longest_path(made->graph)); }) +
                         least([&] { bench::keep(stretto::task_graph(made->graph)); });
    std::printf("\n%.*s: %zu nodes, %zu collectives fewer in %zu buckets; floor %.2f ms\n",
                static_cast<int>(name.size()), name.data(), numbered->table().size(), plan->saved(),
                plan->buckets.size(), floor);
    for (const auto& [title, limit] : {std::pair("1.00x", stretto::memory_budget::times_input_peak(1.0)),
                                       std::pair("unlimited", stretto::memory_budget(stretto::unlimited_bytes))}) {
        const stretto::schedule_options how{.memory_limit = limit};
        const double schedule = least([&] { bench::keep(stretto::list_schedule(made->graph, how)); });
        const auto found = stretto::list_schedule(made->graph, how);
        if (!found) std::abort();  // no limit here is below the peak of the input order
        const double all = classify + sweep + verify + write + schedule;
        std::printf("  %-9s %8.2f %7.2f %7.2f %7.2f %9.2f %8.2f %7.0f %10.2f %7.2f%%\n", title, classify, sweep, verify,
                    write, schedule, all, all / floor, milliseconds(found->makespan()), 100 * found->gap());
        std::fflush(stdout);
    }
    return true;
}

bool report_capture(const std::string& path, const settings& effort) {
    const auto step = stretto::read_capture(path);
    const auto tensors = step ? stretto::capture_tensors::read(*step) : stretto::unexpected(step.error());
    if (!tensors) {
        std::fprintf(stderr, "%s\n", tensors.error().message().c_str());
        return false;
    }
    using view = stretto::capture_view;
    const auto calls = stretto::read_calls(*step, *tensors);
    const stretto::capture_call_model ops{{&*step}, &calls};
    const stretto::capture_bucket_costs costs{&*step, &*tensors};
    const auto in_buckets = [&](const stretto::traffic_tags<view>& tags) {
        const stretto::buckets_by_traffic<view> by_traffic{&tags};
        return stretto::plan_buckets(view{&*step}, ops, stretto::capture_bucket_choice(*step, by_traffic), limits,
                                     costs);
    };
    return report(step->name(), view{&*step}, ops, costs, in_buckets, effort);
}

/// What bench::synthetic_step costs in buckets: transfers at a rate, and copies at one.
struct synthetic_bucket_costs {
    [[nodiscard]] stretto::nanoseconds of_merged(std::uint32_t, stretto::bytes payload) const {
        return {20'000 + payload.count / 102};
    }
    [[nodiscard]] stretto::nanoseconds of_moving(stretto::bytes moved) const { return {3'000 + moved.count / 2'000}; }
};

bool report_llama(std::uint32_t layers, const settings& effort) {
    const bench::synthetic_step step = bench::make_llama_step(layers);
    const bench::synthetic_view view{&step};
    const bench::synthetic_model ops{&step};
    const synthetic_bucket_costs costs;
    const auto in_buckets = [&](const stretto::traffic_tags<bench::synthetic_view>& tags) {
        return stretto::plan_buckets(view, ops, stretto::buckets_by_traffic<bench::synthetic_view>{&tags}, limits,
                                     costs);
    };
    return report(std::to_string(layers) + " layers of Llama 3 70B", view, ops, costs, in_buckets, effort);
}

}  // namespace

int main(int argc, char** argv) {
    const auto [smoke, paths] = bench::read_step_arguments(argc, argv, STRETTO_SOURCE_DIR);
    const settings effort = smoke ? settings{1, 0} : settings();
    std::puts("Pipelines, in ms of processor time; steps in ms, and how far they are above their lower bound at most.");
    std::printf("  %-9s %8s %7s %7s %7s %9s %8s %7s %10s %8s\n", "limit", "classify", "buckets", "verify", "tasks",
                "schedule", "all", "x floor", "step", "gap");
    bool fine = !paths.empty();
    for (const std::string& path : paths) fine = report_capture(path, effort) && fine;
    return report_llama(smoke ? 4 : 80, effort) && fine ? 0 : 1;
}
