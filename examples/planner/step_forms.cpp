#include "step_forms.hpp"

#include <algorithm>
#include <string_view>

#include "stretto/capture/capture_chunks.hpp"
#include "stretto/capture/capture_module_model.hpp"
#include "stretto/capture/capture_part_costs.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/capture_tokens.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/capture/chunk_capture.hpp"
#include "stretto/capture/isolate_capture.hpp"
#include "stretto/capture/reduce_capture.hpp"
#include "stretto/schedule/explain_errors.hpp"
#include "stretto/schedule/memory.hpp"
#include "stretto/transform/chunk_settings_text.hpp"
#include "stretto/transform/isolate_groups.hpp"
#include "stretto/transform/module_pattern.hpp"
#include "stretto/transform/module_ranges.hpp"
#include "stretto/tune/choose_tokens.hpp"
#include "stretto/tune/search_buckets.hpp"
#include "stretto/tune/search_chunks.hpp"
#include "stretto/tune/step_form.hpp"
#include "stretto/tune/try_chunks.hpp"

namespace planner {

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

namespace {

using stretto::expected;
using stretto::schedule_options;
using stretto::scheduled_program;
using stretto::task_graph;
using stretto::task_id;
using stretto::unexpected;

/// Returns why operations stay whole, grouped by reason.
std::vector<kept_whole> summary_of(const stretto::capture& step, const stretto::chunked_capture& made) {
    std::vector<kept_whole> groups;
    std::vector<std::pair<stretto::chunk_reason, std::string_view>> reasons;  // by group; texts of `made`
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

using step_form = stretto::step_form<std::uint32_t>;

/// Returns what would stay whole if everything that tokens reach ran in two chunks, which may explain why chunks do not
/// pay. Returns nothing if that cannot be planned, or if there are not two rows.
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

/// Reads the tensors of a program, and finds its tokens. The program must outlive the result.
expected<std::shared_ptr<const chunkable_step>, failure> chunkable(const program& whole, const std::string& file) {
    auto tensors = stretto::capture_tensors::read(whole.capture);
    if (!tensors) return described(failure::reason::unusable, tensors.error(), file);
    return std::shared_ptr<const chunkable_step>(new chunkable_step{&whole, *std::move(tensors)});
}

}  // namespace

/// The result of a search: a form that is to be written, or the plan of the whole step.
struct step_forms::chosen_chunks {
    written_step of;
    std::shared_ptr<const chunkable_step> step;
    stretto::step_form<std::uint32_t> form = {};
    stretto::whole_reason why = stretto::whole_reason::chunks_pay;
    std::optional<expected<stretto::schedule, stretto::limit_too_low>> whole = {};  ///< the plan, if the form is whole
    std::optional<stretto::nanoseconds> makespan = {};                              ///< what the form takes, if known
    stretto::trial_order order = {};                                                ///< its tasks in such an order
};

namespace {

/// Returns the schedule of a form that was tried, which list_schedule would find again. A certificate proves that the
/// order is one of the written program, and that the program is what was tried: it takes as long.
std::optional<stretto::schedule> as_tried(const task_graph& tasks, const stretto::trial_order& tried,
                                          std::optional<stretto::nanoseconds> makespan,
                                          const schedule_options& within) {
    if (!makespan || within.effort != 1 || tried.tasks.size() != tasks.size()) return std::nullopt;
    const stretto::bytes limit = within.memory_limit.limit({});
    auto made = stretto::certify(tasks, tried.tasks, limit, within.under, tried.starved);
    if (!made || made->makespan() != *makespan) return std::nullopt;
    return *std::move(made);
}

stretto::chunk_search_options search_options(const schedule_options& within, const chunking& wanted,
                                             std::vector<std::uint32_t> kept) {
    return {.memory_limit = within.memory_limit.limit({}),
            .step_peak = within.memory_limit.unit({}),
            .recombine = wanted.how,
            .kept = std::move(kept),
            .effort = within.effort,
            .under = within.under};
}

/// Returns the form that --chunk names.
expected<stretto::step_form<std::uint32_t>, failure> named_form(const chunkable_step& step, const std::string& file,
                                                                const chunking& wanted,
                                                                const stretto::chunk_search_options& options) {
    if (!step.tokens)
        return refused(failure::reason::finding, step.whole->capture, file, stretto::no_task,
                       "no input has a symbolic extent, and no all-to-all exchanges tokens",
                       "chunks are cut along the tokens: capture with a symbolic batch or number of tokens");
    auto settings = in_rows(wanted.settings, *step.tokens);
    if (!settings) return about_arguments(file, settings.error());
    auto form = stretto::form_in_chunks(step.view(), step.ops(), step.chunks, step.costs, step.modules,
                                        *std::move(settings), step.rows(), options);
    if (form) return *std::move(form);
    const auto& paths = step.modules.paths();
    return about_arguments(file,
                           "--chunk " + wanted.settings[form.error()].text +
                               ": no operation of the step is in such a module; modules are named as the step "
                               "does, such as " +
                               stretto::printable(paths.size() > 1 ? stretto::exact_pattern(paths[1]) : "none at all"));
}

}  // namespace

failure step_forms::unschedulable(const written_step& p, const stretto::limit_too_low& why) const {
    return refused(failure::reason::finding, p.of->capture, file_, why.infeasible() ? why.needed.at : why.at,
                   explain(why),
                   why.infeasible() ? "no order of this step fits: use --memory-limit 1.00x, or --chunk"
                                    : "no order was found that needs so little: use a larger --memory-limit")
        .error();
}

expected<scheduled_program<written_step>, failure> step_forms::scheduled(
    written_step p, expected<stretto::schedule, stretto::limit_too_low> found) const {
    if (!found) return unexpected(unschedulable(p, found.error()));
    return scheduled_program<written_step>{std::move(p), *std::move(found)};
}

expected<scheduled_program<written_step>, failure> step_forms::carry_out(const chosen_chunks& found,
                                                                         const schedule_options& within) const {
    const chunkable_step& step = *found.step;
    auto chunked = stretto::chunk_capture(step.whole->capture, step.tensors, found.form.regions,
                                          step.tokens->dimensions, stretto::trial_chunk_options(found.form.slices));
    if (!chunked) return described(failure::reason::finding, chunked.error(), file_);
    if (chunked->plan.empty())
        return refused(failure::reason::finding, step.whole->capture, file_, stretto::no_task,
                       "nothing that --chunk names can run in chunks",
                       "tokens reach none of it, or its operations need all rows");
    auto made = make_program(std::move(chunked->step), file_);
    if (!made) return unexpected(made.error());
    written_step written = found.of;
    written.of = *std::move(made);
    for (const stretto::module_chunks& s : found.form.settings)
        written.chunks.most = std::max(written.chunks.most, s.sizes.size());
    written.chunks.note = stretto::print_chunk_settings(stretto::in_ranges(found.form.settings));
    written.chunks.slices = chunked->plan.counts().empties != 0;
    const task_graph& tasks = written.of->graph;
    auto tried = as_tried(tasks, found.order, found.makespan, within);
    auto plan = scheduled(std::move(written), tried ? *std::move(tried) : stretto::list_schedule(tasks, within));
    if (plan) plan->program.chunks.whole = summary_of(step.whole->capture, *chunked);
    return plan;
}

expected<scheduled_program<written_step>, failure> step_forms::in_named_chunks(const written_step& p,
                                                                               const schedule_options& within) const {
    auto step = chunkable(*p.of, file_);
    if (!step) return unexpected(step.error());
    auto form = named_form(**step, file_, chunks_, search_options(within, chunks_, p.summands));
    if (!form) return unexpected(form.error());
    if (!form->is_whole()) return carry_out({p, *std::move(step), *std::move(form)}, within);
    written_step whole = p;
    whole.chunks.note = "whole, as is asked for";
    return scheduled(std::move(whole), stretto::list_schedule(p.of->graph, within));
}

expected<step_forms::chunk_search, failure> step_forms::search(const written_step& p, const schedule_options& within,
                                                               std::vector<stretto::limit_figures> rival) const {
    if (!chunks_.choose) {
        auto written =
            chunks_.wanted() ? in_named_chunks(p, within) : scheduled(p, stretto::list_schedule(p.of->graph, within));
        if (!written) return unexpected(written.error());
        chunk_search found{written->schedule.makespan()};
        if (!chunks_.wanted()) found.whole = found.makespan;
        found.written = *std::move(written);
        return found;
    }
    auto step = chunkable(*p.of, file_);
    if (!step) return unexpected(step.error());
    const chunkable_step& s = **step;
    stretto::chunk_search_options options = search_options(within, chunks_, p.summands);
    options.rival = std::move(rival);
    auto best = stretto::fastest_form(p.of->graph, s.view(), s.ops(), s.chunks, s.costs, s.modules,
                                      s.tokens ? std::optional(s.rows()) : std::nullopt, options);
    chunk_search found{best.makespan, {}, std::move(best.figures)};
    if (best.whole) found.whole = best.whole->makespan();
    found.chosen =
        std::make_shared<chosen_chunks>(chosen_chunks{p, *std::move(step), std::move(best.form), best.why,
                                                      std::move(best.whole), best.makespan, std::move(best.order)});
    return found;
}

expected<scheduled_program<written_step>, failure> step_forms::in_chunks(chunk_search found,
                                                                         const schedule_options& within) const {
    if (found.written) return *std::move(found.written);
    chosen_chunks& chosen = *found.chosen;
    if (!chosen.form.is_whole()) return carry_out(chosen, within);
    written_step whole = chosen.of;
    whole.chunks.note = "whole: " + std::string(explain(chosen.why));
    whole.chunks.whole = whole_in_two_chunks(*chosen.step, whole.summands);
    return scheduled(std::move(whole), std::move(*chosen.whole));
}

expected<std::optional<written_step>, failure> step_forms::reduced(const written_step& p) const {
    const task_graph& tasks = p.of->graph;
    std::size_t linear = 0;
    for (task_id t = 0; t < tasks.size(); ++t)
        linear += tasks.kind[t] == stretto::op_kind::start &&
                  (tasks.collective[t] == stretto::collective_kind::reduce_scatter ||
                   tasks.collective[t] == stretto::collective_kind::all_reduce);
    if (linear < 2) return std::optional<written_step>();
    const auto tensors = stretto::capture_tensors::read(p.of->capture);
    if (!tensors) return std::optional<written_step>();  // an order needs no arguments, and these cannot be read
    auto plan = stretto::plan_capture_reductions(p.of->capture, *tensors);
    if (!plan) return described(failure::reason::finding, plan.error(), file_);
    if (plan->empty()) return std::optional<written_step>();
    const sums_of_collectives sums{plan->saved() + plan->reductions.size(), plan->reductions.size()};
    auto reduced = stretto::reduce_capture(p.of->capture, *tensors, *std::move(plan));
    if (!reduced) return described(failure::reason::finding, reduced.error(), file_);
    auto made = make_program(std::move(reduced->step), file_);
    if (!made) return unexpected(made.error());
    written_step written = p;
    written.of = *std::move(made);
    written.sums = sums;
    written.summands = std::move(reduced->summands);
    return std::optional(std::move(written));
}

expected<std::optional<written_step>, failure> step_forms::isolated(const written_step& p) const {
    const auto& groups = p.of->capture.groups();
    const auto is_wanted = [&](stretto::group_id g) {
        return isolate_ == "ep" || p.of->group_names[g] == isolate_ || groups[g].name == isolate_;
    };
    bool any = isolate_ == "ep";
    for (stretto::group_id g = 0; g < groups.size(); ++g) any = any || is_wanted(g);
    if (!any) {
        std::string known;
        for (const std::string& name : p.of->group_names) known += (known.empty() ? "" : ", ") + name;
        return about_arguments(file_, "--isolate " + stretto::printable(isolate_) +
                                          ": the step has no such group; it has " + stretto::printable(known, 400));
    }
    const stretto::capture& step = p.of->capture;
    const auto plan =
        stretto::plan_isolation(stretto::capture_view{&step}, stretto::capture_op_model{&step}, step, [&](task_id v) {
            return step.collective(v) == stretto::collective_kind::all_to_all && is_wanted(step.group(v));
        });
    if (!plan)
        return refused(failure::reason::unusable, step, file_, stretto::no_task,
                       "its process groups contradict each other", "a group has as many ranks as it says, each once");
    if (plan->moves.empty()) return std::optional<written_step>();
    auto made = make_program(stretto::isolated(step, *plan), file_);
    if (!made) return unexpected(made.error());
    written_step written = p;
    written.of = *std::move(made);
    for (const auto& move : plan->moves) {
        const std::string& from = written.of->group_names[move.from];
        const auto known = std::find_if(written.isolated.begin(), written.isolated.end(),
                                        [&](const isolated_group& g) { return g.group == from; });
        if (known != written.isolated.end()) ++known->moved;
        else written.isolated.push_back({from, written.of->group_names[move.to], 1});
    }
    return std::optional(std::move(written));
}

expected<std::optional<written_step>, failure> step_forms::in_buckets(
    const written_step& p, const schedule_options& within, std::optional<stretto::nanoseconds> to_beat) const {
    auto merged = planner::in_buckets(p.of->capture, buckets_,
                                      {.memory_limit = within.memory_limit.limit({}),
                                       .step_peak = within.memory_limit.unit({}),
                                       .effort = within.effort,
                                       .under = within.under,
                                       .to_beat = to_beat});
    if (!merged) return about_arguments(file_, merged.error());
    if (!*merged) return std::optional<written_step>();
    auto made = make_program(std::move((*merged)->step), file_);
    if (!made) return unexpected(made.error());
    written_step written = p;
    written.of = *std::move(made);
    written.buckets = std::move((*merged)->buckets);
    if (chunks_.choose && written.chunks.note.empty()) written.chunks.note = "whole: it is faster in buckets";
    return std::optional(std::move(written));
}

}  // namespace planner
