#include "html_report.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "html_page.hpp"
#include "human_units.hpp"
#include "measured.hpp"
#include "picture.hpp"
#include "reasons.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/schedule/chrome_trace.hpp"
#include "stretto/schedule/explain.hpp"
#include "stretto/schedule/json_quote.hpp"
#include "stretto/version.hpp"

namespace planner {
namespace {

using stretto::collective_exposure;
using stretto::nanoseconds;
using stretto::task_id;

/// A list of numbers as JSON.
class number_list {
public:
    void add(std::int64_t n) {
        if (!text_.empty()) text_ += ',';
        text_ += std::to_string(n);
    }
    [[nodiscard]] std::string json() const { return "[" + text_ + "]"; }

private:
    std::string text_;
};

/// Appends a text as a JSON string that may occur inside <script>.
void append_string(std::string& to, std::string_view text) {
    std::string quoted;
    stretto::detail::append_quoted(quoted, text);
    for (char c : quoted) {
        if (c == '<') to += "\\u003c";
        else to += c;
    }
}

/// The names of the tasks that the page can name: those with a bar, and waits.
class name_table {
public:
    explicit name_table(const program& p) : place_(p.graph.size(), -1) {
        const stretto::task_graph& g = p.graph;
        std::map<std::string_view, std::int64_t> place_of_op;
        for (task_id t = 0; t < g.size(); ++t) {
            if (g.kind[t] != stretto::op_kind::compute && g.kind[t] != stretto::op_kind::start &&
                g.launch[t] == stretto::no_task)
                continue;
            place_[t] = count_++;
            append(names_, p.name(t));
            const auto [op, fresh] = place_of_op.try_emplace(p.op(t), static_cast<std::int64_t>(place_of_op.size()));
            if (fresh) append(ops_, p.op(t));
            op_of_name_.add(op->second);
        }
    }
    [[nodiscard]] std::int64_t operator[](task_id t) const { return place_[t]; }
    [[nodiscard]] std::string json() const {
        return "{\"names\":[" + names_ + "],\"ops\":[" + ops_ + "],\"op\":" + op_of_name_.json() + "}";
    }

private:
    static void append(std::string& list, std::string_view text) {
        if (!list.empty()) list += ',';
        append_string(list, text);
    }
    std::vector<std::int64_t> place_;
    std::int64_t count_ = 0;
    std::string names_, ops_;
    number_list op_of_name_;
};

/// Returns one timeline as JSON. Lanes are lists of [name, time since the bar before, duration, look, ...], memory is a
/// list of differences [time, bytes, ...], and collectives are a list of [name, name of the wait, when it is needed,
/// exposed, reason, ...].
std::string side_as_json(const timeline& t, const name_table& names, std::size_t table) {
    std::string out =
        "{\"step\":" + std::to_string(t.times.makespan.count) + ",\"table\":" + std::to_string(table) + ",\"lanes\":[";
    bool first = true;
    for (const lane& l : lanes_of(t)) {
        out += first ? "{\"title\":" : ",{\"title\":";
        first = false;
        append_string(out, l.title);
        number_list bars;
        nanoseconds end;
        for (const bar& b : l.bars) {
            bars.add(names[b.task]);
            bars.add((b.begin - end).count);
            bars.add((b.end - b.begin).count);
            bars.add(static_cast<std::int64_t>(b.drawn_as));
            end = b.end;
        }
        out += ",\"bars\":" + bars.json() + "}";
    }
    number_list memory;
    stretto::live_amount last{};
    for (const stretto::live_amount& m : stretto::live_over_time(t.of->graph, t.order, t.times, t.memory)) {
        memory.add((m.since - last.since).count);
        memory.add((m.live - last.live).count);
        last = m;
    }
    number_list collectives;
    for (const collective_exposure& e : t.exposures) {
        collectives.add(names[e.start]);
        collectives.add(e.wait == stretto::no_task ? -1 : names[e.wait]);
        collectives.add(e.needed.count);
        collectives.add(e.exposed.count);
        collectives.add(static_cast<std::int64_t>(e.reason));
    }
    return out + "],\"memory\":" + memory.json() + ",\"collectives\":" + collectives.json() + "}";
}

std::string data_of(const comparison& c) {
    const bool shared = c.before.of == c.after.of;
    const name_table before(*c.before.of), after(*c.after.of);
    const std::size_t table_of_after = shared ? 0 : 1;
    std::string sides = side_as_json(c.before, before, 0) + "," + side_as_json(c.after, after, table_of_after);
    if (c.measured) sides += "," + side_as_json(c.measured->shown, after, table_of_after);
    std::string looks;
    for (std::string_view name : look_names) looks += (looks.empty() ? "\"" : ",\"") + std::string(name) + "\"";
    return "{\"shown\":" + std::to_string(time_shown(c).count) + ",\"looks\":[" + looks +
           "],\"reasons\":[\"hidden\",\"dependence\",\"channel\",\"memory\"],\"tables\":[" + before.json() +
           (shared ? "" : "," + after.json()) + "],\"sides\":[" + sides + "]}";
}

std::string figure(const std::string& title, const std::string& value, const std::string& note) {
    return "<div><h2>" + title + "</h2><p class=\"value\">" + value + "</p><p class=\"note\">" + note + "</p></div>\n";
}

/// Returns two values with an arrow, such as "160.5 -> 138.0 ms"; a common unit is written once.
std::string from_to(std::string before, const std::string& after) {
    const std::size_t unit = before.rfind(' ');
    if (unit != std::string::npos && after.ends_with(before.substr(unit))) before.resize(unit);
    return "<span>" + escaped(before) + " &rarr;</span> " + escaped(after);
}

std::string figures_of(const comparison& c) {
    const timeline &a = c.before, &b = c.after;
    std::string out = "<section class=\"figures\">\n";
    out += figure("Step", from_to(human(a.times.makespan), human(b.times.makespan)),
                  escaped(change(a.times.makespan, b.times.makespan)));
    out += figure("Exposed communication", from_to(human(a.times.exposed), human(b.times.exposed)),
                  escaped(change(a.times.exposed, b.times.exposed)));
    out += figure("Lower bound", escaped(human(c.bound.value)), escaped(explain(c.bound, *b.of)));
    out += figure("Gap", escaped(percent(c.gap())),
                  c.gap() == 0 ? "optimal: no order is faster" : "at most this is left to gain");
    out += figure("Peak memory", from_to(human(a.memory.peak), human(b.memory.peak)), "limit " + human(c.memory_limit));
    out += figure(
        "Collectives",
        a.collectives() == b.collectives() ? with_commas(a.collectives())
                                           : from_to(with_commas(a.collectives()), with_commas(b.collectives())),
        with_commas(b.of->graph.size()) + " nodes in all" +
            (!c.sums        ? ""
             : c.sums->once ? "; " + std::to_string(c.sums->collectives) +
                                  " whose results were added are reduced once, as " + std::to_string(c.sums->made)
                            : "; " + std::to_string(c.sums->collectives) + " whose results are added could be " +
                                  std::to_string(c.sums->made) + ": " + why_not_once(c)) +
            (c.buckets.empty() ? ""
                               : "; " + with_commas(members_of(c.buckets)) + " travel in " +
                                     with_commas(c.buckets.size()) + " buckets"));
    if (!c.range.empty())
        out += figure("Contention", factor(c.range.front().at) + " to " + factor(c.range.back().at),
                      "at worst " + percent(worst_point(c).ratio() - 1) + " above the best plan known, at " +
                          factor(worst_point(c).at) + "; figures at " + factor(c.under));
    else if (!c.under.none())
        out += figure("Contention", factor(c.under), "so many times slower are kernels while a channel transfers");
    return out + "</section>\n";
}

std::string worst_of(const comparison& c, std::size_t count) {
    const std::vector<collective_exposure> worst = worst_collectives(c.after, count);
    if (worst.empty()) return "<p>Every collective is hidden under other work.</p>\n";
    std::string out =
        "<table><thead><tr><th>exposed</th><th>takes</th><th>collective</th><th>group</th><th>why</th></tr></thead>"
        "<tbody>\n";
    const program& p = *c.after.of;
    for (const collective_exposure& e : worst)
        out += "<tr tabindex=\"0\" data-begin=\"" + std::to_string(e.begin.count) + "\" data-end=\"" +
               std::to_string((e.needed + e.exposed).count) + "\"><td>" + human(e.exposed) + "</td><td>" +
               human(p.graph.duration[e.start]) + "</td><td>" + escaped(p.name(e.start)) + "</td><td>" +
               escaped(p.group(p.graph.group[e.start])) + "</td><td>" + escaped(reason_of(c.after, e, c.memory_limit)) +
               "</td></tr>\n";
    return out + "</tbody></table>\n";
}

std::string front_of(const comparison& c) {
    if (c.front.empty()) return "";
    std::string out =
        "<h2>Makespan against peak memory</h2>\n<table><thead><tr><th>step</th><th>peak memory</th><th>of the input "
        "order's</th><th>gap</th><th>program</th></tr></thead><tbody>\n";
    for (const front_point& f : c.front)
        out += "<tr><td>" + human(f.makespan) + "</td><td>" + human(f.peak) + "</td><td>" +
               times_of(f.peak, c.before.memory.peak) + "</td><td>" + percent(f.gap()) + "</td><td>" + f.form() +
               "</td></tr>\n";
    return out + "</tbody></table>\n";
}

/// Returns which operations stay whole, and why.
std::string whole_of(const comparison& c) {
    if (c.whole.empty()) return "";
    std::string out = "<h2>" + title_of_whole(c) +
                      "</h2>\n<table class=\"whole\"><thead><tr><th>operations</th><th>first of them</th><th>why</th>"
                      "<th>what follows</th></tr></thead><tbody>\n";
    for (const kept_whole& g : c.whole)
        out += "<tr><td>" + with_commas(g.count) + "</td><td>" + escaped(stretto::printable(g.first, 60)) +
               "</td><td>" + escaped(g.why) + "</td><td>" + what_is_behind(g) + "</td></tr>\n";
    return out + "</tbody></table>\n";
}

/// Returns the buckets, those that save most first.
std::string buckets_of(const comparison& c, std::size_t count) {
    if (c.buckets.empty()) return "";
    const std::vector<const shown_bucket*> best = best_buckets(c.buckets, count);
    std::string out = "<h2>Buckets: " + std::to_string(best.size()) + " of " + with_commas(c.buckets.size()) +
                      ", those first that save most</h2>\n<table><thead><tr><th>saves</th><th>copies</th>"
                      "<th>members</th><th>payload</th><th>collective</th><th>group</th></tr></thead><tbody>\n";
    for (const shown_bucket* b : best)
        out += "<tr><td>" + human(b->saved) + "</td><td>" + human(b->paid) + "</td><td>" +
               with_commas(b->members.size()) + "</td><td>" + human(b->payload) + "</td><td>" +
               escaped(stretto::printable(b->start, 60)) + ", " + b->collective + "</td><td>" +
               escaped(stretto::printable(b->group, 40)) + "</td></tr>\n";
    return out + "</tbody></table>\n";
}

/// Returns what has become of the buckets of the input.
std::string apart_of(const comparison& c) {
    if (!c.apart) return "";
    const buckets_apart& b = *c.apart;
    std::string out = "<h2>Taken apart: the buckets in which the step came</h2>\n<section class=\"figures\">\n";
    out += figure("Buckets", with_commas(b.buckets),
                  b.whole > 0      ? with_commas(b.whole) + " more stay whole, first " + escaped(b.why)
                  : b.buckets == 0 ? "the step came without any that come apart"
                                   : "none stays whole");
    out += figure("Collectives", from_to(with_commas(b.given), with_commas(b.collectives)), "in them, and without");
    out += figure("Step", from_to(human(b.took), human(c.before.times.makespan)), "as it came, and without them");
    return out + "</section>\n";
}

/// Returns the measurements of a run, and the operations that differ most from their predictions.
std::string measured_of(const comparison& c, std::size_t count) {
    if (!c.measured) return "";
    const stretto::measured_totals& sum = c.measured->run.totals;
    const stretto::nanoseconds step = c.measured->run.middle.makespan;
    std::string out = "<h2>Measured: " + escaped(run_in_words(*c.measured)) + "</h2>\n<section class=\"figures\">\n";
    out += figure("Step", from_to(human(c.after.times.makespan), human(step)),
                  ratio_in_words(step, c.after.times.makespan));
    out += figure("Kernels", from_to(human(c.after.times.compute), human(sum.kernels)), "predicted, and measured");
    out += figure("Transfers", from_to(human(predicted_transfers(c)), human(sum.transfers)),
                  human(sum.jitter) + " more in which ranks wait for others");
    out += figure("The lane is blocked", human(sum.blocked),
                  human(sum.exposed) + " of it exposed: while the collective transfers");
    out += figure("Between both", human(sum.between), "launches, and other users of the lane's core");
    out +=
        "</section>\n<table class=\"run\"><thead><tr><th>predicted</th><th>measured</th><th>difference</th>"
        "<th>operation</th><th>jitter</th></tr>"
        "</thead><tbody>\n";
    std::vector<difference> most = differences_of(c);
    const std::size_t all = most.size();
    most.resize(std::min(all, count));
    for (const difference& d : most)
        out += "<tr><td>" + human(d.predicted) + "</td><td>" + human(d.measured) + "</td><td>" + signed_time(d.off()) +
               "</td><td>" + escaped(c.after.of->name(d.task)) + "</td><td>" +
               human(c.measured->run.tasks[d.task].jitter) + "</td></tr>\n";
    out += "</tbody></table>\n";
    if (most.size() < all)
        out += "<p>" + with_commas(all - most.size()) +
               " more operations are nearer to their predictions; --json lists all.</p>\n";
    return out;
}

std::string violations_of(const comparison& c) {
    if (!c.violations) return "";
    if (c.violations->empty()) return "<p>The plan keeps every rule.</p>\n";
    const std::size_t found = c.violations->size();
    std::string out = "<details open><summary class=\"bad\">The plan has " + with_commas(found) +
                      (found == 1 ? " violation" : " violations; of each kind the first") + "</summary><ul>\n";
    for (const std::string& example : examples_of(*c.violations, 1)) out += "<li>" + escaped(example) + "</li>\n";
    return out + "</ul></details>\n";
}

}  // namespace

std::string to_html(const comparison& c, std::size_t explain) {
    const std::string name = escaped(stretto::printable(c.name));
    std::string page = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + name +
                       ": before and after</title>\n<meta name=\"viewport\" content=\"width=device-width\">\n<style>";
    page += picture_style;
    page += page_style;
    page += "</style></head>\n<body class=\"picture\">\n<header><h1>" + name +
            "</h1><p>what overlap buys, by stretto " STRETTO_VERSION "</p></header>\n";
    page += figures_of(c);
    page += "<div id=\"view\">" + svg_element(c) + "<div id=\"tip\" hidden></div></div>\n";
    page +=
        "<p class=\"note\" id=\"help\" hidden>wheel or +/-: zoom &middot; drag or arrow keys: move &middot; "
        "double click or 0: whole step &middot; <output id=\"shown\"></output></p>\n";
    page += violations_of(c);
    page += apart_of(c);
    page += measured_of(c, explain);
    page += front_of(c);
    page += "<h2>Worst collectives of the plan</h2>\n" + worst_of(c, explain);
    page += buckets_of(c, explain);
    page += whole_of(c);
    page += "<script type=\"application/json\" id=\"data\">" + data_of(c) + "</script>\n<script>";
    page += page_script;
    page += "</script>\n</body></html>\n";
    return page;
}

}  // namespace planner
