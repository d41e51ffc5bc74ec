// A step that is timed while it runs: what each of its operations takes beside the others and alone, what timing costs,
// and what the step gains when it is planned again with these times. Writes it and its run as files for stretto-plan.
#ifndef STRETTO_BENCH_DEVICE_TIMED_STEPS_CUH
#define STRETTO_BENCH_DEVICE_TIMED_STEPS_CUH

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/expert_step.cuh"
#include "device/measured_steps.cuh"
#include "stretto/capture/capture_of_tasks.hpp"
#include "stretto/capture/capture_writer.hpp"
#include "stretto/schedule/chrome_trace.hpp"
#include "stretto/schedule/measured_run.hpp"
#include "support/measure.hpp"
#include "support/ranks.hpp"

namespace bench {

/// The names of operations for stretto-plan.
struct step_labels {
    const program* p;

    static std::string_view name_of(code c) {
        constexpr std::string_view names[] = {"argument",  "rows",      "exchange", "up",      "down",  "loss",
                                              "back_down", "grow_down", "back_up",  "grow_up", "result"};
        return names[static_cast<std::size_t>(c)];
    }
    [[nodiscard]] std::string_view op(task_id t) const {
        return p->operations[t].kind == op_kind::wait ? "wait" : name_of(p->what[t]);
    }
    [[nodiscard]] std::string name(task_id t) const { return std::string(op(t)) + "_" + std::to_string(t); }
    [[nodiscard]] std::string group(group_id) const { return "experts"; }
};

inline void write_to(const std::string& path, const std::string& text) {
    std::ofstream to(path, std::ios::binary);
    if (to << text && to.flush()) return;
    std::fprintf(stderr, "%s cannot be written\n", path.c_str());
    std::exit(1);
}

/// Writes a step, whose ranks are `peers`, and its run on rank 0 to DIR/step.json and DIR/run.json.
inline void write_run(const planned& plan, std::size_t peers, const std::vector<measured_span>& spans,
                      const std::string& dir) {
    const step_labels labels{&plan.p};
    const capture_group group{.name = "experts", .size = static_cast<std::int64_t>(peers)};
    const auto step = capture_of_tasks(plan.g, "expert", {&group, 1}, labels);
    const auto written = step ? write_plan(*step, plan.order.order(), dir + "/step.json")
                              : expected<std::uint64_t, diagnostic>(unexpected(step.error()));
    if (!written) {
        std::fprintf(stderr, "%s\n", written.error().message().c_str());
        std::exit(1);
    }
    nanoseconds zero = spans.empty() ? nanoseconds{} : spans[0].begin;
    for (const measured_span& s : spans) zero = std::min(zero, s.begin);
    chrome_trace trace;
    trace.add_run("rank 0", plan.g, spans, zero, labels);
    write_to(dir + "/run.json", std::move(trace).json());
}

/// Replays two bound steps, taking turns. Returns the median time of each, in nanoseconds.
template <class A>
std::pair<double, double> in_turns(bound_program<A>& a, bound_program<A>& b, int rounds) {
    std::vector<double> of_a, of_b;
    for (int round = -1; round < rounds; ++round)
        for (bound_program<A>* const x : {&a, &b}) {
            std::optional<run_failure> failure;
            const double ns = wall([&] { failure = x->bound.replay(); });
            if (!bench::went_well(failure)) std::exit(1);
            if (round >= 0) (x == &a ? of_a : of_b).push_back(ns);
        }
    return {median(of_a), median(of_b)};
}

/// Replays a step on a rank that is timed and on one that is not, taking turns, and prints what it has seen. `p` has
/// the durations of its operations alone. Both ranks have `peers` members. Writes DIR/step.json and DIR/run.json.
template <class A>
void time_step(const program& p, cuda_nccl_rank<A>& rank, cuda_nccl_rank<A>& timed, std::size_t peers, rank_data& data,
               products& multiply, int rounds, const std::string& dir) {
    bound_program<A> plain(planned(p), data, multiply, rank), noted(planned(p), data, multiply, timed);
    const auto [without, with] = in_turns(plain, noted, rounds);
    std::vector<measured_span> spans;  // without those of the first replay, which makes the events
    for (const measured_span& s : timed.times())
        if (s.step != 0) spans.push_back(s);
    const task_graph& g = noted.plan.g;
    const measured_run run = summarize_run(g, spans);

    std::printf("\nThe step in %zu chunks, timed while it runs: it takes %.3f of the time without timing\n\n", p.chunks,
                with / without);
    std::printf("| operations | alone us | in the step us | in the step / alone |\n|---|---|---|---|\n");
    program again = p;
    for (const code c : {code::up, code::down, code::loss, code::back_down, code::grow_down, code::back_up,
                         code::grow_up, code::exchange}) {
        double alone = 0, beside = 0;
        for (std::uint32_t v = 0; v < p.operations.size(); ++v) {
            if (p.what[v] != c || !does_work(g.kind[v])) continue;
            alone += static_cast<double>(p.takes[v].count);
            beside += static_cast<double>(run.tasks[v].duration.count);
            again.takes[v] = run.tasks[v].duration;
        }
        const std::string_view name = step_labels::name_of(c);
        std::printf("| %.*s | %.0f | %.0f | %.3f |\n", static_cast<int>(name.size()), name.data(), alone / 1e3,
                    beside / 1e3, beside / alone);
    }
    const auto makespan = [](const program& of, std::span<const task_id> order) {
        return static_cast<double>(simulate(planned(of).g, order).makespan.count);
    };
    const auto order = noted.plan.order.order();
    std::printf("\nMeasured / predicted: %.3f with the durations alone, %.3f with those in the step.\n",
                without / makespan(p, order), without / makespan(again, order));

    // The same step, in the order that is best for the durations in the step.
    bound_program<A> better(planned(again), data, multiply, rank);
    const auto [before, after] = in_turns(plain, better, rounds);
    std::printf("Planned again with those in the step, it takes %.3f of the time (predicted: %.3f).\n", after / before,
                makespan(again, better.plan.order.order()) / makespan(again, order));

    std::fflush(stdout);
    write_run(noted.plan, peers, spans, dir);
}

}  // namespace bench

#endif
