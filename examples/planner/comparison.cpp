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

#include "human_units.hpp"
#include "stretto/analysis/unread_storage.hpp"
#include "stretto/capture/capture_chunks.hpp"
#include "stretto/capture/capture_module_model.hpp"
#include "stretto/capture/capture_part_costs.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/capture_tokens.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/capture/check_plan.hpp"
#include "stretto/capture/chunk_capture.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/capture/group_names.hpp"
#include "stretto/capture/isolate_capture.hpp"
#include "stretto/capture/reduce_capture.hpp"
#include "stretto/schedule/certificate.hpp"
#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/explain_errors.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "stretto/schedule/rank_program.hpp"
#include "stretto/schedule/verify.hpp"
#include "stretto/transform/isolate_groups.hpp"
#include "stretto/transform/module_ranges.hpp"
#include "stretto/tune/choose_tokens.hpp"
#include "stretto/tune/contention_range.hpp"
#include "stretto/tune/fastest_of.hpp"
#include "stretto/tune/search_chunks.hpp"
#include "stretto/tune/step_form.hpp"
#include "stretto/tune/try_chunks.hpp"

namespace planner {
namespace {

using stretto::expected;
using stretto::task_id;
using stretto::unexpected;

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
    made->group_names = stretto::names_of_groups(made->capture);
    return std::shared_ptr<const program>(std::move(made));
}

/// A node that shares or writes storage that it does not read could be ordered before the storage is there.
std::optional<failure> fault_of_storages(const stretto::capture& step, const std::string& file) {
    const auto found = stretto::first_unread_storage(stretto::capture_view{&step}, stretto::capture_op_model{&step});
    if (!found) return std::nullopt;
    const bool shares = found->how == stretto::unread_storage<stretto::capture_view>::use::shares;
    return refused(failure::reason::unusable, step, file, found->vertex,
                   std::string(shares ? "shares" : "writes") + " the storage of " +
                       stretto::printable(step.name(found->value)) + ", which it does not read",
                   "alias and mutates name inputs of a node, or nodes whose storage these share")
        .error();
}

timeline in_program_order(std::shared_ptr<const program> p, stretto::contention under) {
    timeline t{std::move(p), {}, {}, {}, {}};
    t.order.resize(t.of->graph.size());
    std::iota(t.order.begin(), t.order.end(), 0u);
    t.times = stretto::simulate(t.of->graph, t.order, under);
    t.memory = stretto::profile_memory(t.of->graph, t.order);
    t.exposures = stretto::explain_exposure(t.of->graph, t.order, t.times);
    return t;
}

deadlock_verdict verdict_of(const timeline& t) { return {stretto::communicators_in_flight(t.of->graph, t.order)}; }

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
                                  : "no order was found that needs so little: use a larger --memory-limit");
}

/// Within how much memory a plan is searched for, and how thoroughly.
struct search_bounds {
    stretto::bytes limit;
    stretto::bytes step_peak;  ///< of the step as it was captured
    unsigned effort = 1;
    stretto::contention under = {};

    [[nodiscard]] stretto::memory_budget budget() const { return stretto::memory_budget::of_variant(limit, step_peak); }
};

expected<certified, failure> schedule(const std::shared_ptr<const program>& p, const std::string& file,
                                      const search_bounds& within) {
    stretto::schedule_options options;
    options.memory_limit = within.budget();
    options.effort = within.effort;
    options.under = within.under;
    return certify(p, file, stretto::list_schedule(p->graph, options));
}

/// Adds all schedules of a program, of whatever limit, that no other one beats in both makespan and peak.
void add_front(std::vector<front_point>& front, const program& p, bool in_chunks, bool reduced_once, bool in_buckets,
               const search_bounds& within) {
    search_bounds all = within;
    all.limit = stretto::unlimited_bytes;
    const auto found = stretto::schedule_front(
        p.graph, {.memory_limit = all.budget(), .effort = within.effort, .under = within.under});
    if (!found) return;
    for (const stretto::schedule& s : *found)
        front.push_back({in_chunks, reduced_once, in_buckets, s.makespan(), s.memory().peak, s.bound()});
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

expected<chunked_plan, failure> as_it_is(expected<certified, failure> plan, std::string note,
                                         std::vector<kept_whole> whole = {}) {
    if (!plan) return unexpected(plan.error());
    return chunked_plan{*std::move(plan), 1, std::move(note), false, std::move(whole)};
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

/// What would stay whole if everything that tokens reach ran in two chunks: why chunks do not pay, perhaps. Nothing if
/// that cannot be planned, or if there are not two rows.
std::vector<kept_whole> whole_in_two_chunks(const chunkable_step& step, const std::vector<std::uint32_t>& kept) {
    if (!step.tokens || step.tokens->value < 2) return {};
    const std::int64_t half = step.tokens->value / 2;
    auto regions = stretto::regions_in_chunks(
        step.modules,
        std::vector<stretto::module_chunks>{{"", stretto::pass_direction::both, {step.tokens->value - half, half}}});
    if (!regions) return {};
    for (auto& r : *regions)
        std::erase_if(r.candidates,
                      [&](std::uint32_t v) { return std::find(kept.begin(), kept.end(), v) != kept.end(); });
    const auto made = stretto::chunk_capture(step.whole->capture, step.tensors, *regions, step.tokens->dimensions,
                                             stretto::trial_chunk_options(false));
    return made ? summary_of(step.whole->capture, *made) : std::vector<kept_whole>();
}

/// A program, and the fastest form of it.
struct searched_program {
    std::shared_ptr<const program> of;
    std::unique_ptr<const chunkable_step> step;
    stretto::fastest_step_form<std::uint32_t> best;
    std::vector<std::uint32_t> kept;
};

expected<std::unique_ptr<const chunkable_step>, failure> chunkable(const program& whole, const std::string& file) {
    auto tensors = stretto::capture_tensors::read(whole.capture);
    if (tensors) return std::unique_ptr<const chunkable_step>(new chunkable_step{&whole, *std::move(tensors)});
    stretto::diagnostic d = tensors.error();
    d.file = file;
    return unexpected(failure{failure::reason::unusable, d.message()});
}

stretto::chunk_search_options search_options(const search_bounds& within, const chunking& wanted,
                                             std::vector<std::uint32_t> kept) {
    return {.memory_limit = within.limit,
            .step_peak = within.step_peak,
            .recombine = wanted.how,
            .kept = std::move(kept),
            .effort = within.effort,
            .under = within.under};
}

/// The fastest form of a program; `rival` is what another one takes that would be chosen instead.
expected<searched_program, failure> search_form(const std::shared_ptr<const program>& whole, const std::string& file,
                                                const search_bounds& within, const chunking& wanted,
                                                std::vector<std::uint32_t> kept,
                                                std::vector<stretto::limit_figures> rival = {}) {
    auto step = chunkable(*whole, file);
    if (!step) return unexpected(step.error());
    stretto::chunk_search_options options = search_options(within, wanted, kept);
    options.rival = std::move(rival);
    const chunkable_step& s = **step;
    auto best = stretto::fastest_form(whole->graph, s.view(), s.ops(), s.chunks, s.costs, s.modules,
                                      s.tokens ? std::optional(s.rows()) : std::nullopt, options);
    return searched_program{whole, *std::move(step), std::move(best), std::move(kept)};
}

/// The fastest form, with the best order of it.
expected<chunked_plan, failure> carry_out(searched_program found, const std::string& file,
                                          const search_bounds& within) {
    if (!found.best.form.is_whole()) return carry_out(*found.step, file, within, found.best.form);
    return as_it_is(certify(found.of, file, std::move(found.best.whole)),
                    "whole: " + std::string(explain(found.best.why)), whole_in_two_chunks(*found.step, found.kept));
}

/// The step in the chunks that are wanted, or in the best form.
expected<chunked_plan, failure> in_chunks(const std::shared_ptr<const program>& whole, const std::string& file,
                                          const search_bounds& within, const chunking& wanted,
                                          std::vector<std::uint32_t> kept) {
    if (wanted.choose) {
        auto found = search_form(whole, file, within, wanted, std::move(kept));
        if (!found) return unexpected(found.error());
        return carry_out(*std::move(found), file, within);
    }
    const auto step = chunkable(*whole, file);
    if (!step) return unexpected(step.error());
    const auto form = named_form(**step, file, wanted, search_options(within, wanted, std::move(kept)));
    if (!form) return unexpected(form.error());
    if (form->is_whole()) return as_it_is(schedule(whole, file, within), "whole, as is asked for");
    return carry_out(**step, file, within, *form);
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

/// A program in which all-to-alls share no communicator with other collectives.
struct isolated_program {
    std::shared_ptr<const program> of;
    std::vector<isolated_group> groups;
};

using maybe_isolated = std::optional<isolated_program>;

/// Nothing if none of those that are wanted shares one.
expected<maybe_isolated, failure> isolated_from_others(const program& p, const std::string& file,
                                                       const std::string& wanted) {
    if (wanted == "none") return maybe_isolated();
    const auto& groups = p.capture.groups();
    const auto is_wanted = [&](stretto::group_id g) {
        return wanted == "ep" || p.group_names[g] == wanted || groups[g].name == wanted;
    };
    bool any = wanted == "ep";
    for (stretto::group_id g = 0; g < groups.size(); ++g) any = any || is_wanted(g);
    if (!any) {
        std::string known;
        for (const std::string& name : p.group_names) known += (known.empty() ? "" : ", ") + name;
        return unexpected(failure{failure::reason::unusable,
                                  stretto::printable(file, 4096) + ": --isolate " + stretto::printable(wanted) +
                                      ": the step has no such group; it has " + stretto::printable(known, 400)});
    }
    const stretto::capture_op_model ops{&p.capture};
    const auto plan = stretto::plan_isolation(stretto::capture_view{&p.capture}, ops, p.capture, [&](task_id v) {
        return p.capture.collective(v) == stretto::collective_kind::all_to_all && is_wanted(p.capture.group(v));
    });
    if (!plan)
        return refused(failure::reason::unusable, p.capture, file, stretto::no_task,
                       "its process groups contradict each other", "a group has as many ranks as it says, each once");
    if (plan->moves.empty()) return maybe_isolated();
    auto made = make_program(stretto::isolated(p.capture, *plan), file);
    if (!made) return unexpected(made.error());
    isolated_program isolated{*std::move(made), {}};
    for (const auto& move : plan->moves) {
        const std::string& from = isolated.of->group_names[move.from];
        const auto known = std::find_if(isolated.groups.begin(), isolated.groups.end(),
                                        [&](const isolated_group& g) { return g.group == from; });
        if (known != isolated.groups.end()) ++known->moved;
        else isolated.groups.push_back({from, isolated.of->group_names[move.to], 1});
    }
    return maybe_isolated(std::move(isolated));
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

/// The best plan of a step in one of its forms, and what has become of its sums and of its collectives.
struct formed_plan {
    chunked_plan best;
    std::optional<sums_of_collectives> sums = {};
    std::vector<shown_bucket> buckets = {};
    std::shared_ptr<const program> unmerged = {};  ///< the same without buckets, if there are some
};

/// The forms that a step may take.
struct wanted_forms {
    const chunking& chunks;
    const bucketing& buckets;
};

/// The plan in buckets instead, if they are asked for, or if they are faster.
std::optional<failure> merge(formed_plan& formed, const std::string& file, const search_bounds& within,
                             const bucketing& wanted) {
    certified& plan = formed.best.plan;
    auto made = in_buckets(
        plan.of->capture, wanted,
        {.memory_limit = within.limit, .step_peak = within.step_peak, .effort = within.effort, .under = within.under});
    if (!made) return about_arguments(file, made.error());
    if (!*made) return std::nullopt;
    const auto merged = make_program(std::move((*made)->step), file);
    if (!merged) return merged.error();
    if (!stretto::times_fit((*merged)->graph, within.under)) return std::nullopt;
    auto scheduled = schedule(*merged, file, within);
    if (!scheduled) return wanted.choose ? std::nullopt : std::optional(scheduled.error());
    if (wanted.choose && scheduled->schedule.makespan() >= plan.schedule.makespan()) return std::nullopt;
    formed.unmerged = plan.of;
    plan = *std::move(scheduled);
    formed.buckets = std::move((*made)->buckets);
    return std::nullopt;
}

/// The best plan in the best form, reduced once if that is faster. That one is searched first, since it is as a rule,
/// and what is much slower as it is written is then given up early. Only what is chosen is carried out.
expected<formed_plan, failure> best_searched_form(const std::shared_ptr<const program>& p,
                                                  const reduced_program& reduced, const std::string& file,
                                                  const search_bounds& within, const chunking& chunks) {
    auto once = search_form(reduced.of, file, within, chunks, reduced.summands);
    auto as_written =
        search_form(p, file, within, chunks, {}, once ? once->best.figures : std::vector<stretto::limit_figures>());
    if (!as_written) return unexpected(as_written.error());
    const std::optional<stretto::nanoseconds> forms[] = {as_written->best.makespan,
                                                         once ? once->best.makespan : std::nullopt};
    sums_of_collectives sums = reduced.sums;
    sums.once = stretto::fastest_of(forms) == 1;
    auto best = carry_out(*std::move(sums.once ? once : as_written), file, within);
    if (!best) return unexpected(best.error());
    return formed_plan{*std::move(best), sums};
}

/// The best plan without buckets, reduced once if that is possible and faster.
expected<formed_plan, failure> best_unmerged_form(const std::shared_ptr<const program>& p, const maybe_reduced& reduced,
                                                  const std::string& file, const search_bounds& within,
                                                  const chunking& chunks) {
    if (reduced && chunks.choose) return best_searched_form(p, *reduced, file, within, chunks);
    auto best = plan_of(p, file, within, chunks);
    std::optional<sums_of_collectives> sums;
    if (reduced) {
        auto once = plan_of(reduced->of, file, within, chunks, reduced->summands);
        const auto makespan = [](const auto& plan) {
            return plan ? std::optional(plan->plan.schedule.makespan()) : std::nullopt;
        };
        const std::optional<stretto::nanoseconds> forms[] = {makespan(best), makespan(once)};
        sums = reduced->sums;
        sums->once = stretto::fastest_of(forms) == 1;
        if (sums->once) best = std::move(once);
    }
    if (!best) return unexpected(best.error());
    return formed_plan{*std::move(best), sums};
}

/// The best plan, reduced once if that is possible and faster, and then in buckets.
expected<formed_plan, failure> best_form(const std::shared_ptr<const program>& p, const maybe_reduced& reduced,
                                         const std::string& file, const search_bounds& within,
                                         const wanted_forms& wanted) {
    auto formed = best_unmerged_form(p, reduced, file, within, wanted.chunks);
    if (!formed) return formed;
    if (auto fault = merge(*formed, file, within, wanted.buckets)) return unexpected(*std::move(fault));
    return formed;
}

/// The steadiest of the plans that are best at the ends and in the middle of a range, and what it takes at five points
/// of it. Its schedule is certified by the clock at the beginning.
expected<formed_plan, failure> steadiest_form(const std::shared_ptr<const program>& p, const maybe_reduced& reduced,
                                              const std::string& file, search_bounds within, const wanted_forms& wanted,
                                              const contention_range& range, std::vector<contention_point>& shown) {
    std::vector<formed_plan> plans;
    for (const stretto::contention c : stretto::contention_points(range.from, range.to, 3)) {
        within.under = c;
        auto made = best_form(p, reduced, file, within, wanted);
        if (!made) return unexpected(made.error());
        plans.push_back(*std::move(made));
    }
    const auto points = stretto::contention_points(range.from, range.to, 5);
    const auto makespans_of = [&](const program& of, std::span<const task_id> order) {
        std::vector<stretto::nanoseconds> makespans;
        for (const stretto::contention c : points) makespans.push_back(simulate(of.graph, order, c).makespan);
        return makespans;
    };
    std::vector<std::vector<stretto::nanoseconds>> makespans;
    for (const formed_plan& f : plans) makespans.push_back(makespans_of(*f.best.plan.of, f.best.plan.schedule.order()));
    const std::size_t steadiest = stretto::steadiest_of(makespans)->plan;
    const timeline given = in_program_order(p, {});
    const std::vector<stretto::nanoseconds> before = makespans_of(*p, given.order);
    for (std::size_t k = 0; k < points.size(); ++k) {
        stretto::nanoseconds best = makespans[steadiest][k];
        for (const auto& of_plan : makespans) best = std::min(best, of_plan[k]);
        shown.push_back({points[k], before[k], makespans[steadiest][k], best});
    }
    formed_plan chosen = std::move(plans[steadiest]);
    certified& plan = chosen.best.plan;
    if (!(plan.schedule.under() == range.from)) {
        auto again = stretto::certify(plan.of->graph, plan.schedule.order(), within.limit, range.from);
        if (again) plan.schedule = *std::move(again);
    }
    return chosen;
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

    const search_bounds within{c.memory_limit, c.before.memory.peak, wishes.effort, wishes.under.from};
    const wanted_forms wanted{chunks, wishes.buckets};
    const auto formed_of = [&](const std::shared_ptr<const program>& p) -> expected<formed_plan, failure> {
        maybe_reduced reduced;
        if (wishes.reduce_once) {
            auto found = reduced_once(*p, file);
            if (!found) return unexpected(found.error());
            reduced = *std::move(found);
        }
        return wishes.under.is_wide() ? steadiest_form(p, reduced, file, within, wanted, wishes.under, c.range)
                                      : best_form(p, reduced, file, within, wanted);
    };
    auto isolated = isolated_from_others(**made, file, wishes.isolate);
    if (!isolated) return unexpected(isolated.error());
    auto formed = formed_of(*made);
    if (*isolated) {
        std::vector<contention_point> shared = std::exchange(c.range, {});
        auto apart = formed_of((*isolated)->of);
        const auto makespan = [](const auto& f) {
            return f ? std::optional(f->best.plan.schedule.makespan()) : std::nullopt;
        };
        const std::optional<stretto::nanoseconds> forms[] = {makespan(formed), makespan(apart)};
        if (stretto::fastest_of(forms) == 1) {
            formed = std::move(apart);
            c.isolated = (*isolated)->groups;
        } else {
            c.range = std::move(shared);
        }
    }
    if (!formed) return unexpected(formed.error());
    chunked_plan* const best = &formed->best;
    c.sums = formed->sums;
    c.buckets = std::move(formed->buckets);
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
    c.deadlock = verdict_of(c.after);
    price(c.whole, c.after);
    c.bound = s.bound();
    if (wishes.pareto) {
        const bool once = c.sums && c.sums->once;
        const auto& unmerged = formed->unmerged;
        add_front(c.front, **made, false, false, false, within);
        if (unmerged && unmerged != *made) add_front(c.front, *unmerged, best->chunks > 1, once, false, within);
        if (of != *made) add_front(c.front, *of, best->chunks > 1, once, unmerged != nullptr, within);
    }
    c.plan_seconds = watch.seconds();
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
    c.deadlock = verdict_of(c.after);
    c.memory_limit = limit.limit(c.before.memory.peak);
    c.bound = stretto::bound_below((*after)->graph, c.memory_limit, under);
    c.violations = stretto::check_plan((*before)->capture, (*after)->capture, c.memory_limit).violations;
    c.plan_seconds = watch.seconds();
    return c;
}

}  // namespace planner
