#include "measured.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "human_units.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/capture/retimed_capture.hpp"
#include "stretto/capture/run_reader.hpp"

namespace planner {
namespace {

using stretto::expected;
using stretto::measured_span;
using stretto::op_kind;
using stretto::task_id;
using stretto::unexpected;

/// Returns the slices of a run whose operations the step has.
expected<stretto::run_of_step, failure> run_for(const stretto::capture& step, const std::string& run_file) {
    const auto run = stretto::read_run(run_file);
    if (!run) return unexpected(failure{failure::reason::unusable, run.error().message()});
    stretto::run_of_step found = stretto::match_run(*run, step);
    if (!found.spans.empty()) return found;
    stretto::diagnostic d;
    d.file = run_file;
    d.cause = "has no operation of " + stretto::printable(step.name()) + "; its first is " +
              stretto::printable(run->names.front());
    d.hint = "a run is of the step, or of the plan that --check names";
    return unexpected(failure{failure::reason::unusable, d.message()});
}

}  // namespace

std::vector<difference> differences_of(const comparison& c) {
    std::vector<difference> all;
    const stretto::task_graph& g = c.after.of->graph;
    for (task_id t = 0; t < g.size(); ++t)
        if (does_work(g.kind[t]) && c.measured->run.tasks[t].spans != 0)
            all.push_back({t, g.duration[t], c.measured->run.tasks[t].duration});
    std::stable_sort(all.begin(), all.end(), [](const difference& a, const difference& b) {
        return std::abs(a.off().count) > std::abs(b.off().count);
    });
    return all;
}

stretto::nanoseconds predicted_transfers(const comparison& c) {
    stretto::nanoseconds sum;
    const stretto::task_graph& g = c.after.of->graph;
    for (task_id t = 0; t < g.size(); ++t)
        if (g.kind[t] == op_kind::start && c.measured->run.tasks[t].spans != 0) sum += g.duration[t];
    return sum;
}

std::string run_in_words(const run_comparison& m) {
    const auto counted = [](std::size_t n, const char* what) {
        return with_commas(n) + " " + what + (n == 1 ? "" : "s");
    };
    std::string out = counted(m.run.steps.size(), "step") + " on " + counted(m.run.ranks, "rank");
    if (m.unmeasured != 0)
        out += "; " + counted(m.unmeasured, "operation") + " of the plan " + (m.unmeasured == 1 ? "was" : "were") +
               " not measured";
    if (m.unknown != 0)
        out += "; " + counted(m.unknown, "name") + " of the run " + (m.unknown == 1 ? "is" : "are") +
               " not of the plan, such as " + stretto::printable(m.first_unknown, 40);
    return out;
}

std::string ratio_in_words(stretto::nanoseconds measured, stretto::nanoseconds predicted) {
    if (predicted.count == 0) return "";
    char digits[40];
    std::snprintf(digits, sizeof digits, "%.3f",
                  static_cast<double>(measured.count) / static_cast<double>(predicted.count));
    return std::string(digits) + " times the prediction";
}

std::optional<failure> add_run(comparison& c, const std::string& run_file) {
    const auto found = run_for(c.after.of->capture, run_file);
    if (!found) return found.error();
    const stretto::task_graph& g = c.after.of->graph;
    run_comparison made{{c.after.of, c.after.order, {}, c.after.memory, {}},
                        summarize_run(g, found->spans),
                        0,
                        found->unknown,
                        found->first_unknown.value_or("")};
    made.rank = std::min_element(found->spans.begin(), found->spans.end(), [](const auto& a, const auto& b) {
                    return a.rank < b.rank;
                })->rank;
    std::vector<measured_span> shown;
    for (const measured_span& s : found->spans)
        if (s.rank == made.rank && s.step == made.run.middle.number) shown.push_back(s);
    made.shown.times = measured_times(g, c.after.order, shown);
    for (task_id t = 0; t < g.size(); ++t)
        made.unmeasured += does_work(g.kind[t]) && g.duration[t].count > 0 && made.run.tasks[t].spans == 0;
    c.measured = std::move(made);
    return std::nullopt;
}

expected<stretto::capture, failure> with_measured_durations(const stretto::capture& step, const std::string& run_file) {
    const auto found = run_for(step, run_file);
    if (!found) return unexpected(found.error());
    auto made = stretto::with_durations_of(step, found->spans);
    if (!made) return unexpected(described(failure::reason::unusable, made.error(), run_file).error());
    return *std::move(made);
}

}  // namespace planner
