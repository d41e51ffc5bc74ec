#include "report.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "stretto/capture/capture_of_tasks.hpp"
#include "stretto/capture/capture_writer.hpp"
#include "stretto/schedule/checked_order.hpp"
#include "stretto/schedule/chrome_trace.hpp"
#include "stretto/schedule/memory.hpp"
#include "stretto/schedule/simulate.hpp"

namespace trainer {
namespace {

std::string number(double x, int digits) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.*f", digits, x);
    return text.data();
}

std::string row(const char* what, const std::string& x) {
    return std::string("<tr><td>") + what + "</td><td>" + x + "</td></tr>\n";
}

/// The names of tasks and groups in a trace.
struct labels {
    const program* p;

    std::string name(stretto::task_id t) const {
        const operation& o = p->ops[p->order[t]];
        // The number distinguishes operations of one kind, because the names in a step must differ.
        return std::string(entry_of(o.what).name) + " " + std::to_string(p->order[t]) +
               (o.backward ? " backward, " : ", ") + p->modules[o.module];
    }
    std::string_view op(stretto::task_id t) const { return entry_of(p->ops[p->order[t]].what).name; }
    std::string group(stretto::group_id g) const { return std::to_string(g); }
};

void add_order(stretto::chrome_trace& trace, const char* title, const form& f,
               std::span<const stretto::task_id> order) {
    trace.add(title, *f.tasks, order, stretto::simulate(*f.tasks, order), stretto::profile_memory(*f.tasks, order),
              labels{f.p.get()});
}

}  // namespace

std::string html_report(const run_figures& f, const std::vector<double>& losses, std::int64_t first) {
    constexpr double width = 640, height = 240;
    const double most = std::max(f.entropy, losses.empty() ? 0.0 : *std::max_element(losses.begin(), losses.end()));
    const auto y = [&](double loss) { return number(height - loss / most * height, 1); };
    std::string points;
    for (std::size_t k = 0; k < losses.size(); ++k)
        points +=
            number(width * static_cast<double>(k) / static_cast<double>(std::max<std::size_t>(losses.size() - 1, 1)),
                   1) +
            "," + y(losses[k]) + " ";
    const std::string last = std::to_string(first + static_cast<std::int64_t>(losses.size()));
    return "<!doctype html><meta charset=\"utf-8\"><title>moe_trainer</title>\n"
           "<style>body{font:16px sans-serif;max-width:48em;margin:2em auto}td{padding:.2em 1em .2em 0}</style>\n"
           "<h1>A mixture of experts, trained</h1>\n<p>Loss in nats a byte, steps " +
           std::to_string(first + 1) + " to " + last + "; the dashed line is the unigram entropy of the text.</p>\n" +
           "<svg viewBox=\"0 0 640 240\" width=\"640\" height=\"240\" role=\"img\" aria-label=\"loss curve\">"
           "<polyline fill=\"none\" stroke=\"#06c\" stroke-width=\"2\" points=\"" +
           points + "\"/><line x1=\"0\" x2=\"640\" y1=\"" + y(f.entropy) + "\" y2=\"" + y(f.entropy) +
           "\" stroke=\"#888\" stroke-dasharray=\"6 4\"/></svg>\n<table>\n" +
           row("loss", number(f.first_loss, 3) + " &rarr; " + number(f.last_loss, 3)) +
           row("unigram entropy", number(f.entropy, 3)) +
           row("step as written, ms",
               number(f.whole_predicted, 1) + " predicted, " + number(f.whole_measured, 1) + " measured") +
           row("step as planned, ms",
               number(f.planned_predicted, 1) + " predicted, " + number(f.planned_measured, 1) + " measured") +
           row("as planned, with kernels as much slower as in the run",
               "c = " + number(f.contention, 2) + ": " + number(f.contended, 1) + " predicted") +
           row("lower bound of any order, ms", number(f.bound, 1)) +
           row("speed-up", number(f.speed_up(), 2) + ", at most " + number(f.ceiling(), 2) + " by the busiest lane") +
           row("of the speed-up of the best order", number(100 * f.share_of(f.bound), 0) + " %, with c " +
                                                        number(100 * f.share_of(f.contended_bound), 0) +
                                                        " %, at least") +
           row("collectives hidden", number(100 * f.overlap_predicted, 0) + " % predicted, " +
                                         number(100 * f.overlap_measured, 0) + " % measured") +
           row("between kernels and waits, ms",
               number(f.between, 2) + ", " + number(100 * f.between / f.planned_measured, 1) + " % of the step") +
           row("chunks at most", std::to_string(f.chunks)) + row("buckets", std::to_string(f.buckets)) +
           row("exchanges on a communicator of their own", f.isolated ? "yes" : "no") +
           row("tokens a second", number(f.tokens_per_second, 0)) + "</table>\n";
}

std::string trace_of(const form& whole, const planned_step& planned, const std::vector<stretto::measured_span>& times) {
    stretto::chrome_trace trace;
    add_order(trace, "as written", whole, program_order(*whole.tasks));
    add_order(trace, "as planned", planned.chosen, planned.schedule.order());
    std::map<stretto::rank_id, std::vector<stretto::measured_span>> by_rank;
    stretto::nanoseconds zero = times.empty() ? stretto::nanoseconds{} : times[0].begin;
    for (const stretto::measured_span& s : times) {
        by_rank[s.rank].push_back(s);
        zero = std::min(zero, s.begin);
    }
    for (const auto& [rank, spans] : by_rank)
        trace.add_run("rank " + std::to_string(rank), *planned.chosen.tasks, spans, zero,
                      labels{planned.chosen.p.get()});
    return std::move(trace).json();
}

std::optional<std::string> write_step(const planned_step& planned, const std::string& path) {
    const program& p = *planned.chosen.p;
    std::vector<stretto::capture_group> groups;
    for (stretto::group_id g = 0; g < p.groups.size(); ++g)
        groups.push_back({std::to_string(g), p.members(g), "", {}, p.groups[g].duplicate_of});
    const auto step = stretto::capture_of_tasks(*planned.chosen.tasks, "moe_trainer", groups, labels{&p});
    if (!step) return step.error().message();
    const auto written = stretto::write_plan(*step, planned.schedule.order(), path);
    if (!written) return written.error().message();
    return {};
}

}  // namespace trainer
