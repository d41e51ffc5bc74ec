#include "comparison.hpp"

#include <simdjson.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "human_units.hpp"
#include "stretto/capture/capture_chunks.hpp"
#include "stretto/capture/capture_module_model.hpp"
#include "stretto/capture/capture_part_costs.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/capture_tokens.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/capture/check_plan.hpp"
#include "stretto/capture/chunk_capture.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/capture/reduce_capture.hpp"
#include "stretto/schedule/explain_errors.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "stretto/schedule/verify.hpp"
#include "stretto/transform/module_ranges.hpp"
#include "stretto/tune/choose_tokens.hpp"
#include "stretto/tune/fastest_of.hpp"
#include "stretto/tune/search_chunks.hpp"
#include "stretto/tune/step_form.hpp"
#include "stretto/tune/try_chunks.hpp"

namespace planner {
namespace {

using stretto::expected;
using stretto::task_id;
using stretto::unexpected;

/// Captures name groups by numbers, as frameworks do, and may describe them: {"name": "69", "desc": "mesh_ep"}.
std::vector<std::string> names_of_groups(const stretto::capture& step) {
    std::vector<std::string> names;
    for (const stretto::capture_group& g : step.groups()) {
        simdjson::dom::parser parser;
        std::string_view described;
        const simdjson::padded_string members("{" + g.fields + "}");
        if (parser.parse(members)["desc"].get(described) == simdjson::SUCCESS && !described.empty())
            names.emplace_back(described);
        else if (g.name.find_first_not_of("0123456789") == std::string::npos) names.push_back("group " + g.name);
        else names.push_back(g.name);
    }
    const std::vector<std::string> plain = names;
    for (std::size_t k = 0; k < names.size(); ++k)
        if (std::count(plain.begin(), plain.end(), plain[k]) > 1) names[k] += " (" + step.groups()[k].name + ")";
    return names;
}

unexpected<failure> refused(failure::reason why, const stretto::capture& step, const std::string& file, task_id at,
                            std::string cause, std::string hint) {
    stretto::diagnostic d;
    d.file = file;
    if (at < step.size()) {
        d.node = at;
        d.node_name = step.name(at);
    }
    d.cause = std::move(cause);
    d.hint = std::move(hint);
    return unexpected(failure{why, d.message()});
}

expected<std::shared_ptr<const program>, failure> make_program(stretto::capture step, const std::string& file) {
    auto made = std::make_shared<program>(program{std::move(step), {}, {}});
    auto graph =
        stretto::make_task_graph(stretto::capture_view{&made->capture}, stretto::capture_op_model{&made->capture});
    if (!graph)
        return refused(failure::reason::unusable, made->capture, file, graph.error().task,
                       explain(graph.error(),
                               [&](task_id t) {
                                   return t < made->capture.size() ? stretto::printable(made->capture.name(t))
                                                                   : "a node";
                               }),
                       "");
    made->graph = *std::move(graph);
    made->group_names = names_of_groups(made->capture);
    return std::shared_ptr<const program>(std::move(made));
}

/// Whether node v reads what has the storage of node x: x, or what shares it with x.
bool reads_storage_of(const stretto::capture& step, task_id v, task_id x) {
    std::vector<task_id> seen;
    for (task_id u : step.inputs(v)) seen.push_back(u);
    for (std::size_t k = 0; k < seen.size(); ++k) {
        if (seen[k] == x) return true;
        for (task_id shared : step.aliases(seen[k]))
            if (std::find(seen.begin(), seen.end(), shared) == seen.end()) seen.push_back(shared);
    }
    return false;
}

/// A node that shares or writes storage that it does not read could be ordered before the storage is there.
std::optional<failure> fault_of_storages(const stretto::capture& step, const std::string& file) {
    for (task_id v = 0; v < step.size(); ++v) {
        if (step.kind(v) == stretto::op_kind::input) continue;
        for (const auto& [list, verb] : {std::pair(step.aliases(v), "shares"), std::pair(step.writes(v), "writes")})
            for (task_id x : list)
                if (!reads_storage_of(step, v, x))
                    return refused(failure::reason::unusable, step, file, v,
                                   std::string(verb) + " the storage of " + stretto::printable(step.name(x)) +
                                       ", which it does not read",
                                   "alias and mutates name inputs of a node, or nodes whose storage these share")
                        .error();
    }
    return std::nullopt;
}

timeline in_program_order(std::shared_ptr<const program> p) {
    timeline t{std::move(p), {}, {}, {}, {}};
    t.order.resize(t.of->graph.size());
    std::iota(t.order.begin(), t.order.end(), 0u);
    t.times = stretto::simulate(t.of->graph, t.order);
    t.memory = stretto::profile_memory(t.of->graph, t.order);
    t.exposures = stretto::explain_exposure(t.of->graph, t.order, t.times);
    return t;
}

/// A program and the best order of it.
struct certified {
    std::shared_ptr<const program> of;
    stretto::schedule schedule;
};

/// The schedule of a program, or in words why there is none.
expected<certified, failure> certify(const std::shared_ptr<const program>& p, const std::string& file,
                                     expected<stretto::schedule, stretto::limit_too_low> scheduled) {
    if (scheduled) return certified{p, *std::move(scheduled)};
    const stretto::limit_too_low& e = scheduled.error();
    return refused(failure::reason::finding, p->capture, file, e.infeasible() ? e.needed.at : e.at, explain(e),
                   e.infeasible() ? "no order of this step fits: use --memory-limit 1.00x, or --chunk"
                                  : "no plan is known below the peak of the input order: use --memory-limit 1.00x or "
                                    "more");
}

/// Within how much memory a plan is searched for, and how thoroughly.
struct search_bounds {
    stretto::bytes limit;
    unsigned effort = 1;
};

expected<certified, failure> schedule(const std::shared_ptr<const program>& p, const std::string& file,
                                      const search_bounds& within) {
    stretto::schedule_options options;
    options.memory_limit = within.limit;
    options.effort = within.effort;
    return certify(p, file, stretto::list_schedule(p->graph, options));
}

/// Adds all schedules of a program, of whatever limit, that no other one beats in both makespan and peak.
void add_front(std::vector<front_point>& front, const program& p, bool in_chunks, bool reduced_once, unsigned effort) {
    const auto found = stretto::schedule_front(p.graph, {.memory_limit = stretto::unlimited_bytes, .effort = effort});
    if (!found) return;
    for (const stretto::schedule& s : *found)
        front.push_back({in_chunks, reduced_once, s.makespan(), s.memory().peak, s.bound()});
}

failure about_arguments(const std::string& file, const std::string& cause) {
    return {failure::reason::unusable, stretto::printable(file, 4096) + ": " + cause};
}

/// The plan of a step in chunks, or of the step as it is if it has none.
struct chunked_plan {
    certified plan;
    std::size_t chunks = 1;  ///< the most that a part of the step runs in
    std::string note;
    bool slices = false;
    std::vector<kept_whole> whole = {};
};

expected<chunked_plan, failure> as_it_is(expected<certified, failure> plan, const char* note) {
    if (!plan) return unexpected(plan.error());
    return chunked_plan{*std::move(plan), 1, note};
}

/// Why operations stay whole, grouped by reason.
std::vector<kept_whole> summary_of(const stretto::capture& step, const stretto::chunked_capture& made) {
    std::vector<kept_whole> groups;
    std::vector<std::pair<stretto::chunk_reason, std::string_view>> reasons;  // of `made`
    for (const auto& [cause, in_words] : made.causes) {
        const std::pair reason(cause.why.why, std::string_view(cause.why.detail));
        const auto known = std::find(reasons.begin(), reasons.end(), reason);
        const auto at = static_cast<std::size_t>(known - reasons.begin());
        if (known == reasons.end()) {
            reasons.push_back(reason);
            groups.push_back({in_words.node_name, 0, in_words.cause});
        }
        kept_whole& group = groups[at];
        ++group.count;
        group.behind += cause.refused;
        for (std::uint32_t v : cause.exchanges) group.exchanges.emplace_back(step.name(v));
    }
    std::stable_sort(groups.begin(), groups.end(),
                     [](const kept_whole& a, const kept_whole& b) { return a.count + a.behind > b.count + b.behind; });
    return groups;
}

/// How long the exchanges that stay whole are exposed; they keep their names.
void price(std::vector<kept_whole>& groups, const timeline& t) {
    std::map<std::string_view, stretto::nanoseconds> exposed;
    for (const stretto::collective_exposure& e : t.exposures) exposed[t.of->name(e.start)] = e.exposed;
    for (kept_whole& g : groups)
        for (const std::string& name : g.exchanges)
            if (const auto at = exposed.find(name); at != exposed.end()) g.exposed += at->second;
}

/// The tensors of a step, the models over them, and the tokens along which it is cut.
struct chunkable_step {
    const program* whole;
    stretto::capture_tensors tensors;
    stretto::capture_modules modules = stretto::modules_of(whole->capture);
    stretto::capture_part_costs costs = stretto::part_costs_of(whole->capture, tensors);
    stretto::capture_chunks chunks{whole->capture, tensors};
    std::optional<stretto::capture_token_symbol> tokens =
        stretto::choose_tokens(view(), ops(), chunks, stretto::token_symbols(whole->capture, tensors),
                               stretto::token_exchanges(whole->capture, tensors));

    [[nodiscard]] stretto::capture_view view() const { return {&whole->capture}; }
    [[nodiscard]] stretto::capture_op_model ops() const { return {&whole->capture}; }
    [[nodiscard]] stretto::token_rows<std::uint32_t> rows() const { return {tokens->value, tokens->dimensions}; }
};

using step_form = stretto::step_form<std::uint32_t>;

/// The form that --chunk names.
expected<step_form, failure> named_form(const chunkable_step& step, const std::string& file, const chunking& wanted,
                                        const stretto::chunk_search_options& options) {
    if (!step.tokens)
        return refused(failure::reason::finding, step.whole->capture, file, stretto::no_task,
                       "no input has a symbolic extent, and no all-to-all exchanges tokens",
                       "chunks are cut along the tokens: capture with a symbolic batch or number of tokens");
    auto settings = in_rows(wanted.settings, *step.tokens);
    if (!settings) return unexpected(about_arguments(file, settings.error()));
    auto form = stretto::form_in_chunks(step.view(), step.ops(), step.chunks, step.costs, step.modules,
                                        *std::move(settings), step.rows(), options);
    if (form) return *std::move(form);
    const auto& paths = step.modules.paths();
    return unexpected(about_arguments(
        file, "--chunk " + wanted.settings[form.error()].text +
                  ": no operation of the step is in such a module; modules are named as the step does, such as " +
                  stretto::printable(paths.size() > 1 ? paths[1] : "none at all")));
}

/// The step in that form, which is not whole, with the best order of it.
expected<chunked_plan, failure> carry_out(const chunkable_step& step, const std::string& file,
                                          const search_bounds& within, const step_form& form) {
    auto chunked = stretto::chunk_capture(step.whole->capture, step.tensors, form.regions, step.tokens->dimensions,
                                          stretto::trial_chunk_options(form.slices));
    if (!chunked) {
        stretto::diagnostic d = chunked.error();
        d.file = file;
        return unexpected(failure{failure::reason::finding, d.message()});
    }
    if (chunked->plan.empty())
        return refused(failure::reason::finding, step.whole->capture, file, stretto::no_task,
                       "nothing that --chunk names can run in chunks",
                       "tokens reach none of it, or its operations need all rows");
    const auto made = make_program(std::move(chunked->step), file);
    if (!made) return unexpected(made.error());
    auto plan = schedule(*made, file, within);
    if (!plan) return unexpected(plan.error());
    std::size_t most = 1;
    for (const stretto::module_chunks& s : form.settings) most = std::max(most, s.sizes.size());
    return chunked_plan{*std::move(plan), most, spelled(stretto::in_ranges(form.settings)),
                        chunked->plan.counts().empties != 0, summary_of(step.whole->capture, *chunked)};
}

/// The step in the chunks that are wanted, or in the best form.
expected<chunked_plan, failure> in_chunks(const std::shared_ptr<const program>& whole, const std::string& file,
                                          const search_bounds& within, const chunking& wanted,
                                          std::vector<std::uint32_t> kept) {
    auto tensors = stretto::capture_tensors::read(whole->capture);
    if (!tensors) {
        stretto::diagnostic d = tensors.error();
        d.file = file;
        return unexpected(failure{failure::reason::unusable, d.message()});
    }
    const chunkable_step step{whole.get(), *std::move(tensors)};
    const stretto::chunk_search_options options{
        .memory_limit = within.limit, .recombine = wanted.how, .kept = std::move(kept), .effort = within.effort};
    if (!wanted.choose) {
        const auto form = named_form(step, file, wanted, options);
        if (!form) return unexpected(form.error());
        if (form->is_whole()) return as_it_is(schedule(whole, file, within), "whole, as is asked for");
        return carry_out(step, file, within, *form);
    }
    auto best = stretto::fastest_form(whole->graph, step.view(), step.ops(), step.chunks, step.costs, step.modules,
                                      step.tokens ? std::optional(step.rows()) : std::nullopt, options);
    if (!best.form.is_whole()) return carry_out(step, file, within, best.form);
    return as_it_is(certify(whole, file, std::move(best.whole)), best.why == stretto::whole_reason::no_tokens
                                                                     ? "whole: there are no tokens to cut along"
                                                                     : "whole: no chunks that fit are faster");
}

/// The best plan of a program, in chunks if they are wanted; `kept` are operations that stay whole.
expected<chunked_plan, failure> plan_of(const std::shared_ptr<const program>& p, const std::string& file,
                                        const search_bounds& within, const chunking& chunks,
                                        std::vector<std::uint32_t> kept = {}) {
    return chunks.wanted() ? in_chunks(p, file, within, chunks, std::move(kept))
                           : as_it_is(schedule(p, file, within), "");
}

/// A program in which collectives of parts of a sum are one of the sum.
struct reduced_program {
    std::shared_ptr<const program> of;
    sums_of_collectives sums;
    std::vector<std::uint32_t> summands;
};

using maybe_reduced = std::optional<reduced_program>;

/// Nothing if there are no such sums.
expected<maybe_reduced, failure> reduced_once(const program& p, const std::string& file) {
    const auto about = [&](stretto::diagnostic d) {
        d.file = file;
        return unexpected(failure{failure::reason::finding, d.message()});
    };
    std::size_t linear = 0;
    for (task_id t = 0; t < p.graph.size(); ++t)
        linear += p.graph.kind[t] == stretto::op_kind::start &&
                  (p.graph.collective[t] == stretto::collective_kind::reduce_scatter ||
                   p.graph.collective[t] == stretto::collective_kind::all_reduce);
    if (linear < 2) return maybe_reduced();
    const auto tensors = stretto::capture_tensors::read(p.capture);
    if (!tensors) return maybe_reduced();  // an order needs no arguments, and these cannot be read
    auto plan = stretto::plan_capture_reductions(p.capture, *tensors);
    if (!plan) return about(plan.error());
    if (plan->empty()) return maybe_reduced();
    const sums_of_collectives sums{plan->saved() + plan->reductions.size(), plan->reductions.size(), false};
    auto reduced = stretto::reduce_capture(p.capture, *tensors, *std::move(plan));
    if (!reduced) return about(reduced.error());
    auto made = make_program(std::move(reduced->step), file);
    if (!made) return unexpected(made.error());
    return maybe_reduced(reduced_program{*std::move(made), sums, std::move(reduced->summands)});
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
    return std::string(in_chunks ? "in chunks" : "whole") + (reduced_once ? ", reduced once" : "");
}
double comparison::gap() const { return gap_of(after.times.makespan, bound); }

expected<comparison, failure> plan_step(stretto::capture step, const std::string& file, stretto::memory_budget limit,
                                        const chunking& chunks, const search_wishes& wishes) {
    const stopwatch watch;
    if (auto fault = fault_of_storages(step, file)) return unexpected(*std::move(fault));
    auto made = make_program(std::move(step), file);
    if (!made) return unexpected(made.error());
    comparison c{std::string((*made)->capture.name()), in_program_order(*made), {}, {}, {}};
    c.memory_limit = limit.limit(c.before.memory.peak);

    const search_bounds within{c.memory_limit, wishes.effort};
    auto best = plan_of(*made, file, within, chunks);
    if (wishes.reduce_once) {
        auto reduced = reduced_once(**made, file);
        if (!reduced) return unexpected(reduced.error());
        if (*reduced) {
            auto once = plan_of((*reduced)->of, file, within, chunks, (*reduced)->summands);
            const auto makespan = [](const auto& plan) {
                return plan ? std::optional(plan->plan.schedule.makespan()) : std::nullopt;
            };
            const std::optional<stretto::nanoseconds> forms[] = {makespan(best), makespan(once)};
            c.sums = (*reduced)->sums;
            c.sums->once = stretto::fastest_of(forms) == 1;
            if (c.sums->once) best = std::move(once);
        }
    }
    if (!best) return unexpected(best.error());
    c.chunks = best->chunks;
    c.chunk_note = std::move(best->note);
    c.slices = best->slices;
    c.whole = std::move(best->whole);
    const auto& [of, s] = best->plan;
    const auto verified = stretto::verify_order(of->graph, s.order(), c.memory_limit);
    if (!verified)
        return refused(failure::reason::finding, of->capture, file, verified.error().task,
                       "the schedule breaks a dependence here", "this is a defect of stretto: please report the step");
    c.after = {of, s.order(), s.times(), s.memory(), s.exposures()};
    price(c.whole, c.after);
    c.bound = s.bound();
    if (wishes.pareto) {
        add_front(c.front, **made, false, false, wishes.effort);
        if (of != *made) add_front(c.front, *of, best->chunks > 1, c.sums && c.sums->once, wishes.effort);
    }
    c.plan_seconds = watch.seconds();
    return c;
}

expected<comparison, failure> check(stretto::capture step, const std::string& file, stretto::capture plan,
                                    const std::string& plan_file, stretto::memory_budget limit) {
    const stopwatch watch;
    auto before = make_program(std::move(step), file);
    if (!before) return unexpected(before.error());
    auto after = make_program(std::move(plan), plan_file);
    if (!after) return unexpected(after.error());
    comparison c{std::string((*before)->capture.name()), in_program_order(*before), in_program_order(*after), {}, {}};
    c.memory_limit = limit.limit(c.before.memory.peak);
    c.bound = stretto::bound_below((*after)->graph, c.memory_limit);
    c.violations = stretto::check_plan((*before)->capture, (*after)->capture, c.memory_limit).violations;
    c.plan_seconds = watch.seconds();
    return c;
}

}  // namespace planner
