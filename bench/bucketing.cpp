// Measures what buckets cost on captured steps: reading a program once, one division of its collectives into buckets,
// the tasks of that, their schedule, and the whole search. Reading the file is not part of it (see parse.cpp). Times
// are processor time of this thread, the least of several runs on a warm cache.
//
// A division is the mean of five, which are asked for by turns, as a search asks: runs of 2 to 32 collectives of a
// class. `--divisions` measures these alone, without schedules and searches. The floor of one division is one
// longest-path sweep over the dependences of the step and one copy of its task graph. Beside it stands what building
// one task graph of the step takes, which whoever does not contract pays for every division; and, of the whole search,
// the share that divisions take, as many as were tried and as long as this one.

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/capture/bucket_capture.hpp"
#include "stretto/capture/capture_reader.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "stretto/tune/detail/bucket_trials.hpp"
#include "support/floor.hpp"
#include "support/measure.hpp"
#include "support/step_files.hpp"

namespace {

using stretto::capture_view;

double milliseconds(stretto::nanoseconds t) { return static_cast<double>(t.count) * 1e-6; }

struct settings {
    int runs = 5;
    double seconds = 0.1;  // spend at least that long on every figure
    bool searches = true;
};

bool report(const std::string& path, const settings& effort) {
    const auto step = stretto::read_capture(path);
    const auto tensors = step ? stretto::capture_tensors::read(*step) : stretto::unexpected(step.error());
    if (!tensors) {
        std::fprintf(stderr, "%s\n", tensors.error().message().c_str());
        return false;
    }
    const auto least = [&](auto work) { return 1e3 * bench::least_seconds(work, effort.runs, effort.seconds); };
    const auto tags = stretto::traffic_of(*step);
    const stretto::buckets_by_traffic<capture_view> by_traffic{&tags};
    const stretto::capture_bucket_choice choose(*step, by_traffic);
    const auto calls = stretto::read_calls(*step, *tensors);
    const stretto::capture_call_model ops{{&*step}, &calls};
    const stretto::capture_bucket_costs costs{&*step, &*tensors};
    const auto numbered = stretto::numbered_step<capture_view>::read(capture_view{&*step}, ops);
    if (!numbered) return false;
    const auto& table = numbered->table();
    const auto whole = stretto::make_task_graph(stretto::step_table_view{&table}, stretto::step_table_model{&table});
    if (!whole) return false;

    using trials =
        stretto::detail::bucket_trials<capture_view, stretto::capture_call_model, stretto::capture_bucket_costs>;
    const double classify = least([&] { bench::keep(stretto::traffic_of(*step)); });
    const double once = least([&] { bench::keep(trials(*numbered, ops, choose, costs, {}).items()); });
    trials tried(*numbered, ops, choose, costs, {});
    const auto items = tried.items();
    if (items.empty()) return true;
    // Divisions like those that a search asks for one after the other: runs of so many of a class, in program order.
    std::vector<std::vector<std::uint32_t>> divisions;
    std::size_t classes = 0;
    for (const std::uint32_t size : {8u, 2u, 4u, 16u, 32u}) {
        std::vector<std::uint32_t> runs, seen;
        for (const auto& i : items) {
            if (i.in_class >= seen.size()) seen.resize(i.in_class + 1);
            runs.push_back(static_cast<std::uint32_t>(items.size()) * i.in_class + seen[i.in_class]++ / size);
        }
        divisions.push_back(std::move(runs));
        classes = seen.size();
    }
    std::vector<std::uint32_t> given(table.size());
    for (std::uint32_t v = 0; v < given.size(); ++v) given[v] = v;
    std::vector<stretto::bucket_plan<std::uint32_t, std::uint32_t>> plans;
    for (const auto& runs : divisions) plans.push_back(tried.plan(items, runs, given));
    const double each = 1.0 / static_cast<double>(divisions.size());
    const double planning = each * least([&] {
                                for (const auto& runs : divisions) bench::keep(tried.plan(items, runs, given));
                            });
    const double making = each * least([&] {
                              for (const auto& plan : plans) bench::keep(tried.tasks(plan));
                          });
    const auto& plan = plans.front();
    const auto* const tasks = tried.tasks(plan);
    if (tasks == nullptr) return true;
    const double bound = least([&] { bench::keep(stretto::bound_below(tasks->graph)); });
    const double floor = least([&] { bench::keep(bench::longest_path(*whole)); }) +
                         least([&] { bench::keep(stretto::task_graph(*whole)); });
    const double anew = least([&] {
        bench::keep(stretto::make_task_graph(stretto::step_table_view{&table}, stretto::step_table_model{&table}));
    });
    std::printf("\n%.*s: %zu nodes, %zu collectives in %zu classes; %zu buckets\n",
                static_cast<int>(step->name().size()), step->name().data(), table.size(), items.size(), classes,
                plan.buckets.size());
    std::printf(
        "  classify %.2f, read %.2f; a division: plan %.2f + tasks %.2f = %.2f, floor %.2f (%.1fx); a task graph anew "
        "%.2f; bound %.2f\n",
        classify, once, planning, making, planning + making, floor, (planning + making) / floor, anew, bound);
    if (!effort.searches) return true;
    for (const stretto::contention under : {stretto::contention{1, 1}, stretto::contention{3, 2}}) {
        stretto::bucket_search_options options;
        options.memory_limit = stretto::peak_of_input(*whole);
        options.step_peak = options.memory_limit;
        options.under = under;
        stretto::schedule_options how{.memory_limit = options.memory_limit, .under = under};
        const double order = least([&] { bench::keep(stretto::list_schedule(*whole, how)); });
        stretto::nanoseconds alone, together;
        std::size_t count = 0;
        if (const auto found = stretto::list_schedule(*whole, how)) alone = found->makespan();
        const double search = least([&] {
            const auto found = stretto::search_buckets(capture_view{&*step}, ops, choose, costs, options);
            if (!found || found->front.empty()) return;
            together = found->front.front().makespan;
            count = found->trials;
        });
        std::printf(
            "  contention %.1f: order %8.1f ms, search %8.1f ms (%5.1fx), %3zu divisions (%.0f %%); %10.3f "
            "-> %10.3f ms\n",
            static_cast<double>(under.numerator) / static_cast<double>(under.denominator), order, search,
            search / order, count, 1e2 * static_cast<double>(count) * (planning + making) / search, milliseconds(alone),
            milliseconds(together));
        std::fflush(stdout);
    }
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<char*> others(argv, argv + argc);
    const bool searches =
        std::erase_if(others, [](const char* a) { return std::string_view(a) == "--divisions"; }) == 0;
    const auto [smoke, paths] =
        bench::read_step_arguments(static_cast<int>(others.size()), others.data(), STRETTO_SOURCE_DIR);
    settings effort;
    if (smoke) effort = {1, 0};
    effort.searches = searches;
    std::puts("Buckets, in ms of processor time; steps in ms. Search and order within the peak of the input order.");
    bool fine = !paths.empty();
    for (const std::string& path : paths) fine = report(path, effort) && fine;
    return fine ? 0 : 1;
}
