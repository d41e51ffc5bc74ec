// stretto-plan reads captured training steps, orders their operations so that communication runs under computation, and
// shows what that buys. For each step it calls read_capture; then plan_step, which finds the fastest form and order and
// verifies the order, or check, which verifies an existing plan; then write_plan and a report.

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "arguments.hpp"
#include "comparison.hpp"
#include "html_report.hpp"
#include "measured.hpp"
#include "picture.hpp"
#include "progress.hpp"
#include "stretto/capture/capture_reader.hpp"
#include "stretto/capture/capture_writer.hpp"
#include "stretto/capture/gzip.hpp"
#include "stretto/capture/retimed_capture.hpp"
#include "stretto/schedule/chrome_trace.hpp"
#include "taking_apart.hpp"
#include "text_report.hpp"

namespace {

using stretto::expected;
using stretto::unexpected;

using planner::comparison;
using planner::failure;

enum exit_status {
    fine = 0,
    finding = 1,
    unusable = 2
};

failure unusable_file(const stretto::diagnostic& d) { return {failure::reason::unusable, d.message()}; }

expected<comparison, failure> result_of(const planner::job& j, const planner::arguments& args) {
    const planner::search_wishes& wishes = args.wishes;
    const planner::progress shown(j.check.empty() ? "planning " + j.step : "checking " + j.check);
    auto step = stretto::read_capture(j.step);
    if (!step) return unexpected(unusable_file(step.error()));
    if (!j.durations.empty()) {
        auto retimed = planner::with_measured_durations(*step, j.durations);
        if (!retimed) return unexpected(retimed.error());
        *step = *std::move(retimed);
    }
    if (args.host_reads.count != 0) {
        auto charged = stretto::with_synchronisation(*step, args.host_reads);
        if (!charged) return unexpected(unusable_file(charged.error()));
        *step = *std::move(charged);
    }
    std::optional<planner::buckets_apart> apart;
    if (!j.apart.empty()) {
        auto made = planner::take_step_apart(*std::move(step), j.step, wishes.under.from);
        if (!made) return unexpected(std::move(made).error());
        step = std::move(made->step);
        apart = std::move(made->what);
    }
    const auto noted = [&](expected<comparison, failure> c) {
        if (c) c->apart = std::move(apart);
        return c;
    };
    if (j.check.empty()) return noted(planner::plan_step(*std::move(step), j.step, args.limit, args.chunks, wishes));
    auto plan = stretto::read_capture(j.check);
    if (!plan) return unexpected(unusable_file(plan.error()));
    return noted(planner::check(*std::move(step), j.step, *std::move(plan), j.check, args.limit, wishes.under.from));
}

/// Returns the result of a job, with the run that belongs to it.
expected<comparison, failure> shown_result_of(const planner::job& j, const planner::arguments& args) {
    auto made = result_of(j, args);
    if (made && !j.overlay.empty())
        if (auto fault = planner::add_run(*made, j.overlay)) return unexpected(*std::move(fault));
    return made;
}

std::string trace_of(const comparison& c) {
    stretto::chrome_trace trace;
    static constexpr const char* titles[] = {"before", "after", "measured"};
    const std::vector<const planner::timeline*> sides = planner::sides_of(c);
    for (std::size_t k = 0; k < sides.size(); ++k) {
        const planner::timeline& side = *sides[k];
        trace.add(titles[k], side.of->graph, side.order, side.times, side.memory, *side.of);
    }
    return std::move(trace).json();
}

/// Writes the files of a job. Returns what went wrong, or an empty text.
std::string write_files(const planner::job& j, const comparison& c, const planner::text_options& options) {
    const planner::progress shown("writing files for " + j.step);
    std::string fault;
    const auto note = [&](const expected<std::uint64_t, stretto::diagnostic>& written) {
        if (!written && fault.empty()) fault = written.error().message();
    };
    if (!j.apart.empty()) note(stretto::write_capture(c.before.of->capture, j.apart));
    if (!j.plan.empty()) note(stretto::write_plan(c.after.of->capture, c.after.order, j.plan));
    if (!j.trace.empty()) note(stretto::write_text(j.trace, trace_of(c)));
    if (!j.html.empty()) note(stretto::write_text(j.html, planner::to_html(c, options.explain)));
    if (!j.svg.empty()) note(stretto::write_text(j.svg, planner::to_svg(c)));
    return fault;
}

bool wants_colour() {
    const char* refused = std::getenv("NO_COLOR");
    const char* terminal = std::getenv("TERM");
    return isatty(STDOUT_FILENO) != 0 && (refused == nullptr || *refused == '\0') &&
           (terminal == nullptr || std::string_view(terminal) != "dumb");
}

}  // namespace

int main(int argc, char** argv) {
    const auto parsed = planner::parse_arguments(argc, argv);
    if (const auto* nothing = std::get_if<planner::nothing_to_do>(&parsed)) {
        std::fputs(nothing->text.c_str(), nothing->status == fine ? stdout : stderr);
        return nothing->status;
    }
    const auto& args = std::get<planner::arguments>(parsed);
    const planner::text_options options{args.explain, !args.json && wants_colour()};

    int status = fine;
    std::string figures;  // printed at the end, so that JSON is complete or missing
    for (const planner::job& j : args.jobs) {
        const auto result = shown_result_of(j, args);
        if (!result) {
            std::fprintf(stderr, "%s\n", result.error().message.c_str());
            if (result.error().why == failure::reason::unusable) return unusable;
            status = finding;
            continue;
        }
        if (result->violations && !result->violations->empty()) status = finding;
        if (const std::string fault = write_files(j, *result, options); !fault.empty()) {
            std::fprintf(stderr, "%s\n", fault.c_str());
            return unusable;
        }
        if (args.json) {
            figures += (figures.empty() ? "\n  " : ",\n  ") + planner::to_json(*result, options);
        } else {
            if (&j != &args.jobs.front()) std::fputs("\n", stdout);
            std::fputs(planner::to_table(*result, options).c_str(), stdout);
            std::fflush(stdout);
        }
    }
    if (args.json) std::printf("[%s\n]\n", figures.c_str());
    if (std::fflush(stdout) != 0) return unusable;
    return status;
}
