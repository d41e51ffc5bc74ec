#include "text_report.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

#include "human_units.hpp"
#include "measured.hpp"
#include "reasons.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/schedule/chrome_trace.hpp"
#include "stretto/schedule/explain.hpp"
#include "stretto/schedule/json_quote.hpp"

namespace planner {
namespace {

using stretto::collective_exposure;
using stretto::nanoseconds;

constexpr std::size_t no_width = 0;

std::string left(std::string_view text, std::size_t width) {
    return std::string(text) + std::string(width > text.size() ? width - text.size() : 0, ' ');
}
std::string right(std::string_view text, std::size_t width) {
    return std::string(width > text.size() ? width - text.size() : 0, ' ') + std::string(text);
}

/// Adds the escape sequences of a terminal to texts, if it is on.
class paint {
public:
    explicit paint(bool on) : on_(on) {}
    [[nodiscard]] std::string bold(const std::string& text) const { return in("1", text); }
    [[nodiscard]] std::string faint(const std::string& text) const { return in("2", text); }
    [[nodiscard]] std::string good(const std::string& text) const { return in("32", text); }
    [[nodiscard]] std::string bad(const std::string& text) const { return in("31", text); }

private:
    [[nodiscard]] std::string in(const char* code, const std::string& text) const {
        return on_ && !text.empty() ? "\x1b[" + std::string(code) + "m" + text + "\x1b[0m" : text;
    }
    bool on_;
};

std::string share_of_step(nanoseconds part, nanoseconds step) {
    if (step.count == 0) return "";
    return percent(static_cast<double>(part.count) / static_cast<double>(step.count)) + " of the step";
}

std::string seconds(double s) { return human(nanoseconds{static_cast<std::int64_t>(s * 1e9)}); }

/// Returns what a check has found.
std::string verdict(const std::vector<stretto::plan_violation>& violations, const paint& p) {
    const std::size_t found = violations.size();
    if (found == 0) return "\n  " + p.good("the plan keeps every rule") + "\n";
    std::string out = "\n  " + p.bad(with_commas(found) + (found == 1 ? " violation" : " violations")) + "\n";
    const std::vector<std::string> examples = examples_of(violations, 3);
    for (const std::string& example : examples) out += "  " + example + "\n";
    if (examples.size() < found)
        out += "  and " + with_commas(found - examples.size()) + " more like these; --json lists all\n";
    return out;
}

/// Returns why some operations do not run in chunks: the reasons that concern most operations.
std::string what_stays_whole(const comparison& c, const paint& p) {
    const std::vector<kept_whole>& groups = c.whole;
    if (groups.empty()) return "";
    constexpr std::size_t most = 5;
    std::string out = "\n  " + p.bold(title_of_whole(c)) + "\n";
    for (std::size_t i = 0; i < std::min(most, groups.size()); ++i) {
        const kept_whole& g = groups[i];
        out += "  " + stretto::printable(g.first, 60);
        if (g.count > 1) out += " and " + with_commas(g.count - 1) + " more";
        out += ": " + g.why + "\n";
        if (const std::string behind = what_is_behind(g); !behind.empty()) out += "    " + behind + "\n";
    }
    if (groups.size() > most) out += "  and " + with_commas(groups.size() - most) + " more reasons\n";
    return out;
}

double number(stretto::contention c) { return static_cast<double>(c.numerator) / static_cast<double>(c.denominator); }

/// Returns what a plan for a range of contention takes over that range.
std::string range_of(const comparison& c, const paint& p) {
    std::string out = "\n  " + p.bold("makespan against contention") + "\n";
    for (const contention_point& at : c.range)
        out += "  " + left(factor(at.at), 14) + right(human(at.before), 12) + right(human(at.after), 14) + "   " +
               percent(at.ratio() - 1) + " above the best plan known\n";
    return out;
}

/// Returns the buckets that save most, one line for each.
std::string buckets_of(const comparison& c, std::size_t count, const paint& p) {
    if (c.buckets.empty()) return "";
    const std::vector<const shown_bucket*> best = best_buckets(c.buckets, count);
    std::string out = "\n  " +
                      p.bold(std::to_string(best.size()) + " of " + with_commas(c.buckets.size()) +
                             " buckets, those first that save most") +
                      "\n";
    std::size_t width = no_width;
    std::vector<std::string> called;
    for (const shown_bucket* b : best) {
        called.push_back(stretto::printable(b->start, 60) + " (" + b->collective + ", " +
                         stretto::printable(b->group, 40) + ")");
        width = std::max(width, called.back().size());
    }
    for (std::size_t i = 0; i < best.size(); ++i)
        out += "  " + left(called[i], width) + right(with_commas(best[i]->members.size()), 6) + " members" +
               right(human(best[i]->payload), 12) + "  saves " + right(human(best[i]->saved), 9) + ", copies " +
               right(human(best[i]->paid), 9) + "\n";
    return out;
}

/// Returns the measurements of a run beside the predictions, and the operations that differ most.
std::string measured_of(const comparison& c, std::size_t count, const paint& p) {
    const stretto::measured_totals& sum = c.measured->run.totals;
    const nanoseconds step = c.measured->run.middle.makespan;
    std::string out = "\n  " + p.bold("measured: " + run_in_words(*c.measured)) + "\n";
    const auto row = [&](std::string_view what, nanoseconds predicted, nanoseconds measured, const std::string& note) {
        out += "  " + left(what, 14) + right(human(predicted), 12) + right(human(measured), 14) +
               right(signed_time(measured - predicted), 14) + (note.empty() ? "" : "   " + note) + "\n";
    };
    out += "  " + left("", 14) + right("predicted", 12) + right("measured", 14) + right("difference", 14) + "\n";
    row("step", c.after.times.makespan, step, ratio_in_words(step, c.after.times.makespan));
    row("kernels", c.after.times.compute, sum.kernels, ratio_in_words(sum.kernels, c.after.times.compute));
    row("transfers", predicted_transfers(c), sum.transfers, human(sum.jitter) + " more in which ranks wait for others");
    row("blocked", c.after.times.exposed, sum.blocked,
        human(sum.exposed) + " of it exposed: while the collective transfers");
    row("between", {}, sum.between, "where the lane is in neither: launches, and other users of its core");
    std::vector<difference> most = differences_of(c);
    const std::size_t all = most.size();
    most.resize(std::min(all, count));
    std::size_t width = no_width;
    for (const difference& d : most) width = std::max(width, stretto::printable(c.after.of->name(d.task), 60).size());
    for (const difference& d : most)
        out += "  " + left(stretto::printable(c.after.of->name(d.task), 60), width) + right(human(d.predicted), 12) +
               right(human(d.measured), 14) + right(signed_time(d.off()), 14) + "\n";
    if (most.size() < all) out += "  and " + with_commas(all - most.size()) + " more, nearer to it; --json lists all\n";
    return out;
}

/// Returns the condition under which no device can hang.
std::string condition_of(const deadlock_verdict& d) {
    const std::string order = "all ranks issue this order";
    if (d.in_flight < 2) return order;
    return order + ", and devices hold " + std::to_string(d.in_flight) + " collectives or begin them in launch order";
}

/// Returns the orders that no other one beats in both makespan and peak, one line for each.
std::string front_of(const comparison& c, const paint& p) {
    std::string out = "\n  " + p.bold("makespan against peak memory") + "\n";
    for (const front_point& f : c.front)
        out += "  " + left(f.form(), 36) + right(human(f.makespan), 10) + right(human(f.peak), 14) +
               right(times_of(f.peak, c.before.memory.peak), 9) + "   gap " + percent(f.gap()) + "\n";
    return out;
}

}  // namespace

std::string to_table(const comparison& c, const text_options& options) {
    const paint p(options.colour);
    const timeline &a = c.before, &b = c.after;
    std::string out =
        p.bold(stretto::printable(c.name)) + p.faint("  " + with_commas(a.of->graph.size()) + " nodes") + "\n";
    const auto row = [&](std::string_view what, const std::string& before, const std::string& after,
                         const std::string& note) {
        out += "  " + left(what, 14) + right(before, 12) + right(after, 14);
        out += note.empty() ? "\n" : "   " + note + "\n";
    };
    const std::string changed = change(a.times.makespan, b.times.makespan);
    const bool within = b.memory.peak <= c.memory_limit;
    row("", "before", "after", "");
    row("step", human(a.times.makespan), human(b.times.makespan),
        b.times.makespan < a.times.makespan   ? p.good(changed)
        : b.times.makespan > a.times.makespan ? p.bad(changed)
                                              : changed);
    row("exposed", human(a.times.exposed), human(b.times.exposed), share_of_step(b.times.exposed, b.times.makespan));
    row("compute", human(a.times.compute), human(b.times.compute), "");
    row("lower bound", "", human(c.bound.value), explain(c.bound, *b.of));
    row("gap", "", percent(c.gap()), c.gap() == 0 ? "optimal: no order is faster" : "at most this is left to gain");
    const std::string limit = "limit " + human(c.memory_limit);
    row("peak memory", human(a.memory.peak), human(b.memory.peak), within ? limit : p.bad(limit + ", exceeded"));
    if (c.apart) row("taken apart", with_commas(c.apart->buckets), "", in_words(*c.apart));
    if (c.chunks > 1 || !c.chunk_note.empty())
        row("chunks", "", std::to_string(c.chunks),
            stretto::printable(c.chunk_note) + (c.slices ? "; written in slices" : ""));
    if (c.sums)
        row("reduced once", "", c.sums->once ? std::to_string(c.sums->made) : "no",
            std::to_string(c.sums->collectives) +
                (c.sums->once ? " collectives whose results were added; float sums are made in another order"
                              : " collectives, whose results are added, could be " + std::to_string(c.sums->made) +
                                    ": " + why_not_once(c)));
    if (!c.buckets.empty())
        row("buckets", "", with_commas(c.buckets.size()),
            with_commas(members_of(c.buckets)) + " collectives travel in them: " + human(saved_by(c.buckets)) +
                " less on channels, " + human(paid_by(c.buckets)) + " of copies");
    for (const isolated_group& g : c.isolated)
        row("isolated", "", std::to_string(g.moved),
            "all-to-alls of " + stretto::printable(g.group, 40) + " are on a communicator of their own, " +
                stretto::printable(g.duplicate, 40));
    if (c.range.empty() && !c.under.none())
        row("contention", "", factor(c.under), "kernels run so many times slower while a channel transfers");
    if (!c.range.empty()) {
        const contention_point& worst = worst_point(c);
        row("contention", "", factor(c.range.front().at) + ":" + factor(c.range.back().at),
            "at worst " + percent(worst.ratio() - 1) + " above the best plan known, at " + factor(worst.at) +
                "; figures at " + factor(c.under));
    }
    row("collectives", with_commas(a.collectives()), with_commas(b.collectives()), collectives_in_words(c.traffic));
    row("inputs", with_commas(c.traffic.inputs), "", inputs_in_words(c.traffic));
    row("deadlock", "", "none", "if " + condition_of(c.deadlock));
    row(c.violations ? "checked in" : "planned in", "", seconds(c.plan_seconds), "");
    if (c.violations) out += verdict(*c.violations, p);
    if (!c.range.empty()) out += range_of(c, p);
    if (c.measured) out += measured_of(c, options.explain, p);
    if (!c.front.empty()) out += front_of(c, p);
    if (options.explain > 0) out += what_stays_whole(c, p) + buckets_of(c, options.explain, p);

    const std::vector<collective_exposure> worst = worst_collectives(b, options.explain);
    if (options.explain == 0) return out;
    if (worst.empty()) return out + "\n  every collective is hidden\n";
    const auto exposed = static_cast<std::size_t>(
        std::count_if(b.exposures.begin(), b.exposures.end(), [](const auto& e) { return e.exposed.count > 0; }));
    out += "\n  " +
           p.bold(std::to_string(worst.size()) + " worst of " + with_commas(exposed) + " exposed collectives") + "\n";
    std::size_t width = no_width;
    std::vector<std::string> called;
    for (const collective_exposure& e : worst) {
        const stretto::task_graph& g = b.of->graph;
        called.push_back(stretto::printable(b.of->name(e.start), 60) + " (" +
                         stretto::printable(b.of->group(g.group[e.start]), 40) + ", " + human(g.duration[e.start]) +
                         ")");
        width = std::max(width, called.back().size());
    }
    for (std::size_t i = 0; i < worst.size(); ++i)
        out += "  " + left(called[i], width) + "  exposed " + right(human(worst[i].exposed), 9) + ": " +
               reason_of(b, worst[i], c.memory_limit) + "\n";
    return out;
}

namespace {

/// Members of one JSON object, in the order in which they are added.
class json_object {
public:
    void add(std::string_view key, std::int64_t n) { raw(key, std::to_string(n)); }
    void add(std::string_view key, std::size_t n) { raw(key, std::to_string(n)); }
    void add(std::string_view key, double x) {
        char digits[40];
        raw(key, std::string(digits, std::to_chars(digits, digits + sizeof digits, x).ptr));
    }
    void add(std::string_view key, std::string_view text) {
        std::string quoted;
        stretto::detail::append_quoted(quoted, text);
        raw(key, quoted);
    }
    void raw(std::string_view key, std::string_view json) { stretto::detail::append_member(members_, key, json); }
    [[nodiscard]] std::string text() const { return "{" + members_ + "}"; }

private:
    std::string members_;
};

std::string to_json(const timeline& t, const collective_exposure& e, stretto::bytes limit) {
    const stretto::task_graph& g = t.of->graph;
    json_object o;
    o.add("name", t.of->name(e.start));
    o.add("collective", stretto::name_of(g.collective[e.start]));
    o.add("group", t.of->group(g.group[e.start]));
    o.add("payload_bytes", g.payload[e.start].count);
    o.add("duration_ns", g.duration[e.start].count);
    o.add("begin_ns", e.begin.count);
    o.add("exposed_ns", e.exposed.count);
    o.add("wait", t.of->name(e.wait));
    o.add("reason", name_of(e.reason));
    const stretto::task_id culprit = culprit_of(g, t.times, e);
    if (culprit == stretto::no_task) o.raw("culprit", "null");
    else o.add("culprit", t.of->name(culprit));
    o.add("explanation", reason_of(t, e, limit));
    return o.text();
}

/// Returns a run of the plan as JSON: sums, and every operation that was measured, those first that are furthest from
/// the prediction.
std::string measured_as_json(const comparison& c) {
    const stretto::measured_totals& sum = c.measured->run.totals;
    json_object o;
    o.add("steps", c.measured->run.steps.size());
    o.add("ranks", c.measured->run.ranks);
    o.add("step_ns", c.measured->run.middle.makespan.count);
    o.add("compute_ns", sum.kernels.count);
    o.add("transfers_ns", sum.transfers.count);
    o.add("predicted_transfers_ns", predicted_transfers(c).count);
    o.add("blocked_ns", sum.blocked.count);
    o.add("exposed_ns", sum.exposed.count);
    o.add("jitter_ns", sum.jitter.count);
    o.add("between_ns", sum.between.count);
    o.add("unknown_names", c.measured->unknown);
    o.add("unmeasured", c.measured->unmeasured);
    std::string list;
    for (const difference& d : differences_of(c)) {
        json_object one;
        one.add("name", c.after.of->name(d.task));
        one.add("predicted_ns", d.predicted.count);
        one.add("measured_ns", d.measured.count);
        one.add("difference_ns", d.off().count);
        if (c.after.of->graph.kind[d.task] == stretto::op_kind::start)
            one.add("jitter_ns", c.measured->run.tasks[d.task].jitter.count);
        list += (list.empty() ? "\n    " : ",\n    ") + one.text();
    }
    o.raw("operations", "[" + list + "]");
    return o.text();
}

}  // namespace

std::string to_json(const comparison& c, const text_options& options) {
    json_object o;
    o.add("name", std::string_view(c.name));
    o.add("nodes", c.before.of->graph.size());
    o.add("chunks", c.chunks);
    if (!c.chunk_note.empty()) o.add("chunk_note", std::string_view(c.chunk_note));
    if (c.chunks > 1) o.add("recombine", std::string_view(c.slices ? "slices" : "concat"));
    json_object inputs, traffic;
    inputs.add("count", c.traffic.inputs);
    inputs.add("parameters", c.traffic.parameters);
    inputs.add("buffers", c.traffic.buffers);
    o.raw("inputs", inputs.text());
    traffic.add("parameter", c.traffic.gathers);
    traffic.add("terminal", c.traffic.reductions);
    traffic.add("exchange", c.traffic.exchanges);
    traffic.add("other", c.traffic.others);
    o.raw("traffic", traffic.text());
    if (c.sums) {
        json_object sums;
        sums.add("collectives", c.sums->collectives);
        sums.add("into", c.sums->made);
        sums.raw("used", c.sums->once ? "true" : "false");
        if (c.sums->needs) {
            sums.add("needs_at_least_bytes", c.sums->needs->least.count);
            sums.add("fits_into_bytes", c.sums->needs->enough.count);
            sums.add("step_then_ns", c.sums->needs->takes.count);
        }
        o.raw("reduced_once", sums.text());
    }
    if (c.apart) {
        json_object apart;
        apart.add("buckets", c.apart->buckets);
        apart.add("collectives", c.apart->collectives);
        apart.add("given_collectives", c.apart->given);
        apart.add("given_step_ns", c.apart->took.count);
        apart.add("whole", c.apart->whole);
        o.raw("apart", apart.text());
    }
    if (!c.under.none() || !c.range.empty()) o.add("contention", number(c.under));
    if (!c.range.empty()) {
        std::string list;
        for (const contention_point& at : c.range) {
            json_object point;
            point.add("contention", number(at.at));
            point.add("step_before_ns", at.before.count);
            point.add("step_ns", at.after.count);
            point.add("best_known_ns", at.best.count);
            list += (list.empty() ? "\n    " : ",\n    ") + point.text();
        }
        json_object range;
        range.add("worst_ratio", worst_point(c).ratio());
        range.add("at", number(worst_point(c).at));
        range.raw("points", "[" + list + "]");
        o.raw("contention_range", range.text());
    }
    if (!c.buckets.empty()) {
        std::string list;
        for (const shown_bucket& b : c.buckets) {
            json_object one;
            one.add("start", std::string_view(b.start));
            one.add("collective", std::string_view(b.collective));
            one.add("group", std::string_view(b.group));
            std::string members;
            for (const std::string& m : b.members) {
                if (!members.empty()) members += ',';
                stretto::detail::append_quoted(members, m);
            }
            one.raw("members", "[" + members + "]");
            one.add("payload_bytes", b.payload.count);
            one.add("received_bytes", b.received.count);
            one.add("saved_ns", b.saved.count);
            one.add("paid_ns", b.paid.count);
            list += (list.empty() ? "\n    " : ",\n    ") + one.text();
        }
        o.raw("buckets", "[" + list + "]");
    }
    if (!c.isolated.empty()) {
        std::string list;
        for (const isolated_group& g : c.isolated) {
            json_object group;
            group.add("group", std::string_view(g.group));
            group.add("duplicate", std::string_view(g.duplicate));
            group.add("collectives", g.moved);
            list += (list.empty() ? "" : ",") + group.text();
        }
        o.raw("isolated", "[" + list + "]");
    }
    json_object deadlock;
    deadlock.raw("possible", "false");
    deadlock.add("if", condition_of(c.deadlock));
    deadlock.add("communicators_in_flight", std::size_t{c.deadlock.in_flight});
    o.raw("deadlock", deadlock.text());
    o.add("collectives_before", c.before.collectives());
    o.add("collectives_after", c.after.collectives());
    o.add("step_before_ns", c.before.times.makespan.count);
    o.add("step_after_ns", c.after.times.makespan.count);
    o.add("compute_ns", c.before.times.compute.count);
    o.add("compute_after_ns", c.after.times.compute.count);
    o.add("lower_bound_ns", c.bound.value.count);
    o.add("lower_bound_kind", name_of(c.bound.kind));
    o.add("gap", c.gap());
    o.add("exposed_before_ns", c.before.times.exposed.count);
    o.add("exposed_after_ns", c.after.times.exposed.count);
    o.add("peak_before_bytes", c.before.memory.peak.count);
    o.add("peak_after_bytes", c.after.memory.peak.count);
    if (c.memory_limit == stretto::unlimited_bytes) o.raw("memory_limit_bytes", "null");
    else o.add("memory_limit_bytes", c.memory_limit.count);
    o.add("plan_seconds", c.plan_seconds);
    if (!c.front.empty()) {
        std::string list;
        for (const front_point& f : c.front) {
            json_object point;
            point.add("program", std::string_view(f.form()));
            point.add("step_ns", f.makespan.count);
            point.add("peak_bytes", f.peak.count);
            point.add("lower_bound_ns", f.bound.value.count);
            point.add("lower_bound_kind", name_of(f.bound.kind));
            list += (list.empty() ? "\n    " : ",\n    ") + point.text();
        }
        o.raw("pareto", "[" + list + "]");
    }
    if (!c.whole.empty()) {
        std::string list;
        for (const kept_whole& g : c.whole) {
            json_object group;
            group.add("first", std::string_view(g.first));
            group.add("count", g.count);
            group.add("why", std::string_view(g.why));
            group.add("behind", g.behind);
            group.add("exchanges", g.exchanges.size());
            group.add("exposed_ns", g.exposed.count);
            list += (list.empty() ? "" : ",") + group.text();
        }
        o.raw(c.chunks > 1 ? "kept_whole" : "whole_in_two_chunks", "[" + list + "]");
    }
    if (c.violations) {
        std::string list;
        for (const stretto::plan_violation& v : *c.violations) {
            if (!list.empty()) list += ',';
            stretto::detail::append_quoted(list, v.message());
        }
        o.raw("violations", "[" + list + "]");
    }
    if (c.measured) o.raw("measured", measured_as_json(c));
    std::string worst;
    for (const collective_exposure& e : worst_collectives(c.after, options.explain))
        worst += (worst.empty() ? "\n    " : ",\n    ") + to_json(c.after, e, c.memory_limit);
    o.raw("worst", "[" + worst + "]");
    return o.text();
}

}  // namespace planner
