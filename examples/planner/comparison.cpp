#include "comparison.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "stretto/capture/check_plan.hpp"
#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "stretto/schedule/rank_program.hpp"
#include "stretto/schedule/verify.hpp"
#include "stretto/tune/best_form.hpp"
#include "stretto/tune/form_front.hpp"

namespace planner {
namespace {

using stretto::expected;
using stretto::task_id;
using stretto::unexpected;

timeline in_program_order(std::shared_ptr<const program> p, stretto::contention under) {
    timeline t{std::move(p), {}, {}, {}, {}};
    t.order.resize(t.of->graph.size());
    std::iota(t.order.begin(), t.order.end(), 0u);
    t.times = stretto::simulate(t.of->graph, t.order, under);
    t.memory = stretto::profile_memory(t.of->graph, t.order);
    t.exposures = stretto::explain_exposure(t.of->graph, t.order, t.times);
    return t;
}

/// Sets how long the exchanges that stay whole are exposed. They are found by their names, which they keep.
void price(std::vector<kept_whole>& groups, const timeline& t) {
    std::map<std::string_view, stretto::nanoseconds> exposed;
    for (const stretto::collective_exposure& e : t.exposures) exposed[t.of->name(e.start)] = e.exposed;
    for (kept_whole& g : groups)
        for (const std::string& name : g.exchanges)
            if (const auto at = exposed.find(name); at != exposed.end()) g.exposed += at->second;
}

class stopwatch {
public:
    [[nodiscard]] double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - since_).count();
    }

private:
    std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

double gap_of(stretto::nanoseconds makespan, const stretto::lower_bound& bound) {
    if (bound.value.count == 0) return 0;
    return static_cast<double>((makespan - bound.value).count) / static_cast<double>(bound.value.count);
}

}  // namespace

double front_point::gap() const { return gap_of(makespan, bound); }
std::string front_point::form() const {
    return std::string(in_chunks ? "in chunks" : "whole") + (reduced_once ? ", reduced once" : "") +
           (in_buckets ? ", in buckets" : "");
}
double comparison::gap() const { return gap_of(after.times.makespan, bound); }

namespace {

/// Returns what the reduced form of a step needs, if no order of it is found within the limit.
std::optional<room_for_sums> needs_of(const stretto::task_graph& reduced, stretto::schedule_options within,
                                      stretto::bytes limit) {
    const auto fits = stretto::list_schedule(reduced, within);
    if (fits) return std::nullopt;
    within.memory_limit = stretto::memory_budget::of_variant(stretto::peak_of_input(reduced), limit);
    const auto s = stretto::list_schedule(reduced, within);
    if (!s) return std::nullopt;
    return room_for_sums{fits.error().needed.value, s->memory().peak, s->makespan()};
}

unexpected<failure> too_slow(const program& p, const std::string& file) {
    return refused(failure::reason::unusable, p.capture, file, stretto::no_task,
                   "times under contention may add up to more than 2^62 ns", "use a smaller --contention");
}

}  // namespace

const contention_point& worst_point(const comparison& c) {
    return *std::max_element(c.range.begin(), c.range.end(), [](const contention_point& a, const contention_point& b) {
        return a.ratio() < b.ratio();
    });
}
double contention_point::ratio() const {
    return best.count == 0 ? 1 : static_cast<double>(after.count) / static_cast<double>(best.count);
}

expected<comparison, failure> plan_step(stretto::capture step, const std::string& file, stretto::memory_budget limit,
                                        const chunking& chunks, const search_wishes& wishes) {
    const stopwatch watch;
    if (auto fault = fault_of_storages(step, file)) return unexpected(*std::move(fault));
    auto made = make_program(std::move(step), file);
    if (!made) return unexpected(made.error());
    if (!stretto::times_fit((*made)->graph, wishes.under.to)) return too_slow(**made, file);
    comparison c{std::string((*made)->capture.name()), in_program_order(*made, wishes.under.from), {}, {}, {}};
    c.memory_limit = limit.limit(c.before.memory.peak);
    c.under = wishes.under.from;

    stretto::form_options wanted;
    wanted.within.memory_limit = stretto::memory_budget::of_variant(c.memory_limit, c.before.memory.peak);
    wanted.within.effort = wishes.effort;
    wanted.within.under = wishes.under.from;
    using stretto::form_choice;
    if (wishes.isolate == "none") wanted.isolate = form_choice::never;
    if (!wishes.reduce_once) wanted.reduce_once = form_choice::never;
    wanted.buckets = !wishes.buckets.wanted  ? form_choice::never
                     : wishes.buckets.choose ? form_choice::if_faster
                                             : form_choice::always;
    if (wishes.under.is_wide()) wanted.up_to = wishes.under.to;
    const step_forms forms(file, chunks, wishes.buckets, wishes.isolate);
    const written_step given{*made};
    auto best = stretto::best_form(forms, given, wanted);
    if (!best) return unexpected(best.error());
    if (!best->passed_over.empty()) return unexpected(best->passed_over.front());

    written_step& written = best->chosen.program;
    const stretto::schedule& s = best->chosen.schedule;
    if (best->reduced) {
        c.sums = best->reduced->sums;
        c.sums->once = best->is_reduced;
    }
    const auto verified = stretto::verify_order(written.of->graph, s.order(), c.memory_limit);
    if (!verified)
        return refused(failure::reason::finding, written.of->capture, file, verified.error().task,
                       "the schedule breaks a dependence here", "this is a defect of stretto: please report the step");
    c.after = {written.of, s.order(), s.times(), s.memory(), s.exposures()};
    c.deadlock = {s.in_flight()};
    c.bound = s.bound();
    if (wishes.pareto)
        for (const auto& point : stretto::form_front(forms, given, wanted, *best)) {
            const written_step& p = point.program;
            c.front.push_back({p.chunks.most > 1, p.sums.has_value(), !p.buckets.empty(), point.schedule.makespan(),
                               point.schedule.memory().peak, point.schedule.bound()});
        }
    for (const stretto::range_point& p : best->points)
        c.range.push_back(
            {p.at, stretto::simulate(c.before.of->graph, c.before.order, p.at).makespan, p.makespan, p.best});
    c.chunks = written.chunks.most;
    c.chunk_note = std::move(written.chunks.note);
    c.slices = written.chunks.slices;
    c.whole = std::move(written.chunks.whole);
    price(c.whole, c.after);
    c.buckets = std::move(written.buckets);
    c.isolated = std::move(written.isolated);
    c.plan_seconds = watch.seconds();
    // The plan is made; the rest explains it.
    c.traffic = summary_of_traffic(c.before.of->capture);
    if (c.sums && !c.sums->once) c.sums->needs = needs_of(best->reduced->of->graph, wanted.within, c.memory_limit);
    return c;
}

expected<comparison, failure> check(stretto::capture step, const std::string& file, stretto::capture plan,
                                    const std::string& plan_file, stretto::memory_budget limit,
                                    stretto::contention under) {
    const stopwatch watch;
    auto before = make_program(std::move(step), file);
    if (!before) return unexpected(before.error());
    auto after = make_program(std::move(plan), plan_file);
    if (!after) return unexpected(after.error());
    for (const auto& p : {*before, *after})
        if (!stretto::times_fit(p->graph, under)) return too_slow(*p, p == *before ? file : plan_file);
    comparison c{std::string((*before)->capture.name()),
                 in_program_order(*before, under),
                 in_program_order(*after, under),
                 {},
                 {}};
    c.under = under;
    c.deadlock = {stretto::communicators_in_flight(c.after.of->graph, c.after.order)};
    c.memory_limit = limit.limit(c.before.memory.peak);
    c.bound = stretto::bound_below((*after)->graph, c.memory_limit, under);
    c.violations = stretto::check_plan((*before)->capture, (*after)->capture, c.memory_limit).violations;
    c.plan_seconds = watch.seconds();
    c.traffic = summary_of_traffic(c.before.of->capture);
    return c;
}

}  // namespace planner
