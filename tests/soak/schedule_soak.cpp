// Schedules random steps, one after the other: soak.schedule [--count N | --seconds S] [--seed K]. The same seed is the
// same step everywhere, and the next step has the next seed. Each is scheduled at 1.00x, where no schedule may need a
// byte more than the input order, and one in ten at twelve limits, where more memory may never make it slower; with an
// effort of 1 to 3, and three steps of four under contention. What is promised is checked by oracles that share no line
// with the library, apart from the clock under contention, which has such an oracle in tests/schedule/contention.cpp. A
// step that breaks a promise is made as small as it goes and printed. STRETTO_CASES=20 in the environment takes twenty
// times as many.
#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#define DOCTEST_CONFIG_IMPLEMENT  // the oracles use its assertions, and here it runs no tests
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/list_schedule.hpp"

using namespace stretto;
using support::scheduling_case;

namespace {

struct soak_options {
    std::uint64_t count = 10'000, seed = 1;
    double seconds = 0;  // if it is not 0, the count does not matter
};

struct tally {
    std::uint64_t steps = 0, at_twelve_limits = 0, slower_for_memory = 0, broken = 0;
};

constexpr std::size_t most_genes = 60;
constexpr std::uint64_t one_in = 10;
constexpr contention factors[] = {{1, 1}, {5, 4}, {3, 2}, {3, 1}};
constexpr double limits[] = {1.0, 1.01, 1.02, 1.05, 1.1, 1.2, 1.25, 1.5, 2.0, 3.0, 8.0};  // and unlimited

/// A step as the oracles see it.
struct judged_step {
    support::toy_program program;
    support::storage_facts facts;
    task_graph graph;
    support::naive_figures input;

    explicit judged_step(const scheduling_case& c)
        : program(c.program()),
          facts(support::facts_of(program)),
          graph(support::graph_of(program)),
          input(support::figures_of(program, facts, support::program_order(program.ops.size()))) {}

    /// The makespan of an order, whose figures without contention are given.
    [[nodiscard]] std::int64_t makespan(const support::task_order& order, const support::naive_figures& figures,
                                        contention under) const {
        return under.none() ? figures.makespan : simulate(graph, order, under).makespan.count;
    }

    /// What is wrong with a schedule within a limit; empty if nothing is.
    [[nodiscard]] std::string complaint(const expected<schedule, limit_too_low>& made, bytes limit,
                                        contention under) const {
        if (!made) return "there is no schedule within the peak of the input order";
        const std::string illegal = support::illegality(program, facts, made->order());
        if (!illegal.empty()) return illegal;
        const support::naive_figures found = support::figures_of(program, facts, made->order());
        if (found.peak > limit.count)
            return "it needs " + std::to_string(found.peak) + " bytes within " + std::to_string(limit.count);
        const std::int64_t takes = makespan(made->order(), found, under);
        if (takes != made->makespan().count) return "its makespan is not what it says";
        if (takes > makespan(support::program_order(program.ops.size()), input, under))
            return "it is slower than the input order";
        if (takes < made->bound().value.count) return "it is faster than its lower bound";
        return {};
    }
};

/// The first promise that the step breaks; empty if it breaks none. `slower_for_memory`, of steps that are scheduled at
/// all limits: whether the least of them costs time.
std::string first_complaint(const scheduling_case& c, bool at_twelve_limits, bool& slower_for_memory) try {
    const judged_step step(c);
    const bytes peak{step.input.peak};
    const contention under = factors[c.slack / 3 % 4u];
    const schedule_options how{.effort = 1 + c.slack % 3u, .under = under};
    const auto within = [&](bytes limit) {
        schedule_options options = how;
        options.memory_limit = limit;
        return list_schedule(step.graph, options);
    };
    const auto least = within(peak);
    if (std::string wrong = step.complaint(least, peak, under); !wrong.empty()) return "at 1.00x " + wrong;
    if (!at_twelve_limits) return {};

    std::vector<bytes> ascending;
    for (const double times : limits) ascending.push_back(memory_budget::times_input_peak(times).limit(peak));
    ascending.push_back(unlimited_bytes);
    std::int64_t shortest = INT64_MAX;
    for (const bytes limit : ascending) {
        const auto made = within(limit);
        const std::string at = "within " + std::to_string(limit.count) + " bytes ";
        if (std::string wrong = step.complaint(made, limit, under); !wrong.empty()) return at + wrong;
        if (made->makespan().count > shortest) return at + "it is slower than with less memory";
        shortest = made->makespan().count;
    }
    slower_for_memory = shortest < least->makespan().count;
    return {};
} catch (const std::exception& broken) {
    return broken.what();
}

/// The same step with as little of it as still breaks a promise.
scheduling_case smallest_broken(rc::Shrinkable<scheduling_case> broken, bool at_twelve_limits) {
    bool ignored = false;
    for (bool smaller = true; smaller;) {
        smaller = false;
        auto candidates = broken.shrinks();
        while (const auto next = candidates.next()) {
            if (first_complaint(next->value(), at_twelve_limits, ignored).empty()) continue;
            broken = *next;
            smaller = true;
            break;
        }
    }
    return broken.value();
}

void run_case(std::uint64_t seed, tally& all) {
    const bool at_twelve_limits = seed % one_in == 0;
    const rc::Shrinkable<scheduling_case> drawn = support::scheduling_cases(most_genes)(rc::Random(seed), 100);
    bool slower_for_memory = false;
    const std::string wrong = first_complaint(drawn.value(), at_twelve_limits, slower_for_memory);
    ++all.steps;
    all.at_twelve_limits += at_twelve_limits;
    all.slower_for_memory += slower_for_memory;
    if (wrong.empty()) return;
    ++all.broken;
    const scheduling_case least = smallest_broken(drawn, at_twelve_limits);
    std::cout << "seed " << seed << ": " << wrong
              << "\n  the least of it: " << first_complaint(least, at_twelve_limits, slower_for_memory) << "\n  "
              << least << std::endl;
}

int usage() {
    std::fputs("usage: soak.schedule [--count N | --seconds S] [--seed K]\n", stderr);
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    doctest::Context context;
    context.setAsDefaultForAssertsOutOfTestCases();
    soak_options o;
    for (int k = 1; k < argc; k += 2) {
        if (k + 1 == argc) return usage();
        char* end = nullptr;
        if (std::strcmp(argv[k], "--seconds") == 0) o.seconds = std::strtod(argv[k + 1], &end);
        else if (std::strcmp(argv[k], "--count") == 0) o.count = std::strtoull(argv[k + 1], &end, 10);
        else if (std::strcmp(argv[k], "--seed") == 0) o.seed = std::strtoull(argv[k + 1], &end, 10);
        if (end == nullptr || end == argv[k + 1] || *end != '\0') return usage();
    }
    if (const char* scale = std::getenv("STRETTO_CASES"))
        o.count = static_cast<std::uint64_t>(std::max(1.0, static_cast<double>(o.count) * std::atof(scale)));

    const auto begun = std::chrono::steady_clock::now();
    const auto seconds = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    };
    tally all;
    while (o.seconds > 0 ? seconds() < o.seconds : all.steps < o.count) run_case(o.seed + all.steps, all);
    std::printf(
        "%llu steps at 1.00x, %llu of them at twelve limits, seeds from %llu on: %llu break a promise; memory made "
        "%llu "
        "of those at twelve limits slower\n",
        static_cast<unsigned long long>(all.steps), static_cast<unsigned long long>(all.at_twelve_limits),
        static_cast<unsigned long long>(o.seed), static_cast<unsigned long long>(all.broken),
        static_cast<unsigned long long>(all.slower_for_memory));
    if (all.broken > 0) return 1;
    // Where memory is never scarce, nothing has been tested.
    if (all.at_twelve_limits >= 100 && all.slower_for_memory == 0) return 1;
    return 0;
}
