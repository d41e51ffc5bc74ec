#include "reasons.hpp"

#include <algorithm>
#include <map>

#include "human_units.hpp"
#include "stretto/capture/diagnostic.hpp"

namespace planner {
namespace {

using stretto::collective_exposure;
using stretto::exposure_reason;
using stretto::nanoseconds;
using stretto::op_kind;
using stretto::task_id;

std::string shown(const timeline& t, task_id v) { return stretto::printable(t.of->name(v), 60); }

/// Whatever v needs that was there last, seen through views, which take no time; no_task if all is there at the start.
task_id last_needed_by(const timeline& t, task_id v) {
    const stretto::task_graph& g = t.of->graph;
    do {
        task_id latest = stretto::no_task;
        nanoseconds latest_end;
        for (task_id p : g.predecessors[v]) {
            const nanoseconds end = g.kind[p] == op_kind::start ? t.times.begin[p] : t.times.end(g, p);
            if (latest != stretto::no_task && end <= latest_end) continue;
            latest = p;
            latest_end = end;
        }
        v = latest;
    } while (v != stretto::no_task && (g.kind[v] == op_kind::view || g.kind[v] == op_kind::input));
    return v;
}

/// The collective before e on its channel, if e had to wait for it.
task_id queued_behind(const timeline& t, const collective_exposure& e) {
    const stretto::task_graph& g = t.of->graph;
    const bool queued = e.blocker != stretto::no_task && g.kind[e.blocker] == op_kind::start && e.begin > e.ready &&
                        g.group[e.blocker] == g.group[e.start] && t.times.end(g, e.blocker) == e.begin;
    return queued ? e.blocker : stretto::no_task;
}

/// Kernels behind the wait in the order that needed nothing which was not there when the lane reached it.
std::size_t kernels_kept_back(const timeline& t, task_id wait) {
    const stretto::task_graph& g = t.of->graph;
    std::vector<bool> done(g.size(), false);
    std::size_t at = 0;
    for (; t.order[at] != wait; ++at) done[t.order[at]] = true;
    std::size_t kernels = 0;
    for (++at; at < t.order.size(); ++at) {
        const task_id v = t.order[at];
        const auto before = g.predecessors[v];
        if (!std::all_of(before.begin(), before.end(), [&](task_id p) { return done[p]; })) continue;
        if (g.kind[v] == op_kind::compute) ++kernels;
        else if (g.kind[v] == op_kind::view) done[v] = true;  // costs nothing, so what it leads to is ready as well
    }
    return kernels;
}

std::string because_of_dependence(const timeline& t, const collective_exposure& e) {
    const task_id source = last_needed_by(t, e.start), before = queued_behind(t, e);
    const nanoseconds late = e.begin - e.ready, work = e.needed - e.begin;
    std::string why = "reads nothing that is computed";
    if (source != stretto::no_task)
        why = "depends on " + shown(t, source) + ", which ends at " + human(t.times.end(t.of->graph, source));
    if (before != stretto::no_task) why += ", and queued " + human(late) + " behind " + shown(t, before);
    else if (late * 2 >= e.exposed && late.count > 0) why += ", and was launched " + human(late) + " later";
    if (work.count > 0) why += "; only " + human(work) + " of other work was left before ";
    else why += "; no other work was left before ";
    return why + shown(t, e.wait) + " needed it";
}

}  // namespace

std::vector<collective_exposure> worst_collectives(const timeline& t, std::size_t count) {
    std::vector<collective_exposure> worst;
    for (const collective_exposure& e : t.exposures)
        if (e.exposed.count > 0) worst.push_back(e);
    std::stable_sort(worst.begin(), worst.end(),
                     [](const collective_exposure& a, const collective_exposure& b) { return a.exposed > b.exposed; });
    if (worst.size() > count) worst.resize(count);
    return worst;
}

task_id culprit_of(const timeline& t, const collective_exposure& e) {
    if (e.reason == exposure_reason::channel) return e.blocker;
    return e.reason == exposure_reason::dependence ? last_needed_by(t, e.start) : stretto::no_task;
}

std::string reason_of(const timeline& t, const collective_exposure& e, stretto::bytes limit) {
    switch (e.reason) {
        case exposure_reason::hidden:
            return "hidden under other work";
        case exposure_reason::channel:
            return "queued " + human(e.begin - e.ready) + " behind " + shown(t, e.blocker) + " on " +
                   stretto::printable(t.of->group(t.of->graph.group[e.start]), 40);
        case exposure_reason::memory: {
            const std::size_t kept = kernels_kept_back(t, e.wait);
            return (kept == 0   ? std::string("other work was")
                    : kept == 1 ? std::string("1 kernel was")
                                : with_commas(kept) + " kernels were") +
                   " ready, but would have exceeded the memory limit of " + human(limit);
        }
        case exposure_reason::dependence:
            break;
    }
    return because_of_dependence(t, e);
}

std::vector<std::string> examples_of(const std::vector<stretto::plan_violation>& violations, std::size_t of_each) {
    std::map<stretto::plan_rule, std::size_t> found;
    std::vector<std::string> examples;
    for (const stretto::plan_violation& v : violations)
        if (++found[v.rule] <= of_each) examples.push_back(v.message());
    return examples;
}

std::string_view name_of(exposure_reason reason) {
    switch (reason) {
        case exposure_reason::hidden:
            return "hidden";
        case exposure_reason::channel:
            return "channel";
        case exposure_reason::memory:
            return "memory";
        case exposure_reason::dependence:
            break;
    }
    return "dependence";
}

std::string_view name_of(stretto::bound_kind kind) {
    switch (kind) {
        case stretto::bound_kind::load:
            return "load";
        case stretto::bound_kind::critical_path:
            return "critical_path";
        case stretto::bound_kind::jackson:
            return "jackson";
        case stretto::bound_kind::spine:
            break;
    }
    return "spine";
}

std::string meaning_of(const stretto::lower_bound& bound, const program& p) {
    const std::string machine =
        bound.machine == 0 ? "the compute lane" : "the channel of " + std::string(p.group(bound.machine - 1));
    switch (bound.kind) {
        case stretto::bound_kind::load:
            return machine + " is busy that long";
        case stretto::bound_kind::critical_path:
            return "a chain of dependences takes that long";
        case stretto::bound_kind::jackson:
            return machine + " with what must come before and after its work";
        case stretto::bound_kind::spine:
            break;
    }
    return "work that must lie between points of the critical path";
}

}  // namespace planner
