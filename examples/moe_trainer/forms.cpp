#include "forms.hpp"

#include <utility>

#include "adapters.hpp"
#include "stretto/core/process_groups.hpp"
#include "stretto/schedule/explain_errors.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "stretto/transform/apply_buckets.hpp"
#include "stretto/transform/apply_chunks.hpp"
#include "stretto/transform/chunk_rules/rule_chunk_model.hpp"
#include "stretto/transform/explain_chunks.hpp"
#include "stretto/transform/isolate_groups.hpp"
#include "stretto/transform/plan_chunks.hpp"
#include "stretto/transform/recording_rewriter.hpp"
#include "stretto/transform/step_modules.hpp"
#include "stretto/transform/verify_buckets.hpp"
#include "stretto/transform/verify_chunks.hpp"
#include "stretto/tune/best_form.hpp"
#include "stretto/tune/part_costs.hpp"
#include "stretto/tune/search_buckets.hpp"
#include "stretto/tune/try_chunks.hpp"

namespace trainer {
namespace {

using stretto::expected;
using stretto::schedule_options;
using stretto::unexpected;

/// Returns the groups of a program, with the ranks that rank 0 meets in them.
stretto::process_groups groups_of(const program& p) {
    stretto::process_groups made;
    for (stretto::group_id id = 0; id < p.groups.size(); ++id) {
        const auto [members, stride] = p.spread_of(id);
        std::vector<stretto::rank_id> ranks;
        for (std::int64_t k = 0; k < members; ++k) ranks.push_back(static_cast<stretto::rank_id>(k * stride));
        const communicator& c = p.groups[id];
        made.add({.size = members, .ranks = ranks, .priority = c.priority, .duplicate_of = c.duplicate_of});
    }
    return made;
}

/// Prices an exchange of some of the rows by the link.
struct link_prices {
    const program* p;
    stretto::host_link link;

    std::optional<stretto::nanoseconds> operator()(stretto::collective_kind kind, stretto::group_id g,
                                                   stretto::bytes sent) const {
        if (kind != stretto::collective_kind::all_to_all) return {};
        const std::int64_t members = p->members(g);
        return link.duration({sent.count * (members - 1) / members});
    }
};

/// The sizes from which share_costs derives what parts cost.
struct sizes {
    const program* p;

    std::size_t components_of(tensor_id) const { return 1; }
    std::int64_t size(tensor_id x, std::size_t) const { return p->tensors[x].size(); }
    std::int64_t extent(tensor_id x, std::size_t, std::size_t dim) const { return p->shape(x)[dim]; }
};
using part_costs = stretto::share_costs<view, op_model, sizes, link_prices>;

/// The models of a program that the search for chunks needs.
struct models {
    const program* p;
    stretto::host_link link;
    std::vector<stretto::token_dimension<tensor_id>> tokens;
    stretto::row_orders orders = {};

    [[nodiscard]] trainer::view view() const { return stretto::views::from_values(values_view{p}); }
    [[nodiscard]] op_model ops() const { return {p, link}; }
    [[nodiscard]] auto chunks() { return stretto::rule_chunk_model(view(), dialect{p}, orders); }
    [[nodiscard]] part_costs costs() const {
        // The same estimates as those of op_model.
        return {view(), ops(), {p}, {.launch = {500}, .memory_bytes_per_second = 4e9}, {p, link}};
    }
    [[nodiscard]] stretto::token_rows<tensor_id> rows(std::int64_t sequences) const { return {sequences, tokens}; }
};
models models_of(const program& p, const training_step& s, stretto::host_link link) {
    return {&p, link, {{s.text, 0}, {s.targets, 0}}};
}

/// The rewriter of the IR. It gives the clones of kernels the durations that the search has estimated.
struct pricing_rewriter : rewriter {
    part_costs costs;

    std::vector<tensor_id> clone(op_id o, std::span<const tensor_id> operands, const stretto::chunk_part& part) {
        std::vector<stretto::bytes> allocated(p->ops[o].makes.size());
        const stretto::nanoseconds duration = costs.of_clone(o, part, allocated).duration;
        std::vector<tensor_id> made = rewriter::clone(o, operands, part);
        if (entry_of(p->ops[o].what).is == role::kernel) p->ops[p->tensors[made[0]].by].takes = duration.count;
        return made;
    }
};

/// Names operations in sentences.
struct op_names {
    const program* p;

    [[nodiscard]] std::string name(op_id o) const {
        const operation& a = p->ops[o];
        const std::string& module = p->modules[a.module];
        return entry_of(a.what).name + (module.empty() ? std::string() : " of " + module);
    }
};

/// Says in one sentence why a step cannot run in chunks.
std::string sentence(const stretto::chunk_explanation<op_id>& e, const op_names& names) {
    using subject = stretto::chunk_explanation<op_id>::subject;
    const std::string about = e.about == subject::vertex   ? names.name(e.vertex)
                              : e.about == subject::region ? "what is to run in chunks"
                                                           : "the step";
    return "the step cannot run in chunks: " + about + " " + e.cause + "; " + e.hint;
}

stretto::chunk_search_options search_options(const schedule_options& within) {
    return {.memory_limit = within.memory_limit.limit({}),
            .step_peak = within.memory_limit.unit({}),
            .task_budget = 60'000,
            .recombine = stretto::recombining::concat,
            .effort = within.effort,
            .under = within.under};
}

}  // namespace

expected<form, std::string> form_of(program p, const stretto::host_link& link) {
    form made{std::make_shared<const program>(std::move(p)), {}};
    auto tasks =
        stretto::make_task_graph(stretto::views::from_values(values_view{made.p.get()}), op_model{made.p.get(), link});
    if (!tasks) {
        const op_id o = made.p->order[tasks.error().task];
        return unexpected("the step contradicts itself at " + std::string(entry_of(made.p->ops[o].what).name));
    }
    made.tasks = std::make_shared<const stretto::task_graph>(*std::move(tasks));
    return made;
}

expected<std::optional<form>, std::string> form_writer::isolated(const form& f) const {
    trainer::program p = *f.p;
    const auto plan =
        stretto::plan_isolation(stretto::views::from_values(values_view{&p}), op_model{&p, link_}, groups_of(p));
    if (!plan) return unexpected(std::string("the communicators of the step contradict each other"));
    if (plan->moves.empty()) return std::optional<form>();
    rewriter rewrites{&p};
    apply(*plan, rewrites);
    auto made = form_of(std::move(p), link_);
    if (!made) return unexpected(made.error());
    return std::optional<form>(*std::move(made));
}

expected<form_writer::chunk_search, std::string> form_writer::search(const form& f, const schedule_options& within,
                                                                     std::vector<stretto::limit_figures> rival) const {
    chunk_search found{{}, {}, {}, f, {}};
    if (!wish_.chooses && wish_.settings.empty()) {
        const auto whole = stretto::list_schedule(*f.tasks, within);
        if (!whole) return unexpected(unschedulable(f, whole.error()));
        found.makespan = found.whole = whole->makespan();
        return found;
    }
    models m = models_of(*f.p, *step_, link_);
    stretto::chunk_search_options options = search_options(within);
    options.rival = std::move(rival);
    const auto chunks = m.chunks();
    const stretto::step_modules named(m.view(), m.ops(), m.ops());
    if (wish_.chooses) {
        auto best = stretto::fastest_form(*f.tasks, m.view(), m.ops(), chunks, m.costs(), named,
                                          std::optional(m.rows(step_->shape.batch)), options);
        found.makespan = best.makespan;
        if (best.whole) found.whole = best.whole->makespan();
        found.figures = std::move(best.figures);
        found.found = std::move(best.form);
        if (!found.makespan && !best.whole) return unexpected(unschedulable(f, best.whole.error()));
        return found;
    }
    auto asked = stretto::form_in_chunks(m.view(), m.ops(), chunks, m.costs(), named, wish_.settings,
                                         m.rows(step_->shape.batch), options);
    if (!asked) return unexpected("no part of the network is called " + wish_.settings[asked.error()].pattern);
    found.found = *std::move(asked);
    auto written = in_chunks(found, within);
    if (!written) return unexpected(written.error());
    found.makespan = written->schedule.makespan();
    return found;
}

expected<stretto::scheduled_program<form>, std::string> form_writer::in_chunks(chunk_search found,
                                                                               const schedule_options& within) const {
    form made = found.of;
    if (!found.found.is_whole()) {
        trainer::program p = *found.of.p;
        models m = models_of(p, *step_, link_);
        const auto chunks = m.chunks();
        const auto rows = m.rows(step_->shape.batch);
        const std::span regions(std::as_const(found.found.regions));
        const auto plan = stretto::plan_chunks(m.view(), m.ops(), chunks, regions, rows.dimensions,
                                               stretto::trial_chunk_options(found.found.slices));
        const op_names names{&p};
        const op_model ops = m.ops();
        const stretto::chunk_explainer why(m.view(), ops, chunks, names, regions, std::span(rows.dimensions));
        if (!plan) return unexpected(sentence(why.explain(plan.error()), names));
        if (const auto verified = stretto::verify_chunks(*plan, m.view(), ops, chunks); !verified)
            return unexpected(sentence(why.explain(verified.error()[0]), names));
        pricing_rewriter rewrites{{&p}, m.costs()};
        stretto::chunk_recording recording(m.view(), *plan);
        auto recorder = recording.rewriter(rewrites);
        stretto::apply_chunks(*plan, m.view(), recorder);
        if (const auto applied = recording.verify(m.view()); !applied)
            return unexpected(std::string(stretto::hint(applied.error()[0].broken)));
        auto written = form_of(std::move(p), link_);
        if (!written) return unexpected(written.error());
        made = *std::move(written);
        made.chunks = found.found.settings;
    }
    auto scheduled = stretto::list_schedule(*made.tasks, within);
    if (!scheduled) return unexpected(unschedulable(made, scheduled.error()));
    return stretto::scheduled_program<form>{std::move(made), *std::move(scheduled)};
}

expected<std::optional<form>, std::string> form_writer::in_buckets(const form& f, const schedule_options& within,
                                                                   std::optional<stretto::nanoseconds> to_beat) const {
    trainer::program p = *f.p;
    const trainer::view v = stretto::views::from_values(values_view{&p});
    const op_model ops{&p, link_};
    const auto choose = [&](op_id o) {
        if (p.ops[o].what != code::collect && p.ops[o].what != code::reduce) return stretto::bucket_choice{};
        return stretto::bucket_choice{.label = 0, .place = static_cast<std::uint32_t>(p.ops[o].like)};
    };
    const auto found = stretto::search_buckets(v, ops, choose, ops,
                                               {.memory_limit = within.memory_limit.limit({}),
                                                .step_peak = within.memory_limit.unit({}),
                                                .task_budget = 100'000,
                                                .effort = within.effort,
                                                .under = within.under,
                                                .to_beat = to_beat});
    if (!found || found->front.empty()) return std::optional<form>();
    // Launches cost more than the clock knows, so of the plans that are at most one percent slower than the fastest,
    // the one with the fewest collectives is taken.
    const auto* best = &found->front[0];
    for (const auto& other : found->front)
        if (other.makespan.count <= found->front[0].makespan.count / 100 * 101 && other.collectives < best->collectives)
            best = &other;
    if (best->plan.empty()) return std::optional<form>();
    const auto& plan = best->plan;
    if (!stretto::verify_buckets(plan, v, ops)) return unexpected(std::string("the buckets of the step are not legal"));
    rewriter rewrites{&p};
    stretto::apply_buckets(plan, v, rewrites);
    auto made = form_of(std::move(p), link_);
    if (!made) return unexpected(made.error());
    made->chunks = f.chunks;
    made->buckets = plan.buckets.size();
    return std::optional<form>(*std::move(made));
}

std::string form_writer::unschedulable(const form&, const stretto::limit_too_low& why) const {
    return explain(why) + (why.infeasible() ? ": use a larger --memory-limit, a smaller --batch, or --chunks"
                                            : ": use a larger --memory-limit");
}

expected<planned_step, std::string> plan_step(const training_step& s, const form& whole, const stretto::host_link& link,
                                              const chunk_wish& wish, stretto::memory_budget limit) {
    form_writer writer(s, link, wish);
    stretto::form_options wanted;
    wanted.within.memory_limit = limit;
    wanted.isolate = stretto::form_choice::always;
    wanted.buckets = stretto::form_choice::always;
    auto best = stretto::best_form(writer, whole, wanted);
    if (!best) return unexpected(best.error());
    return planned_step{best->chosen.program, best->unmerged ? *best->unmerged : best->chosen.program,
                        std::move(best->chosen.schedule), best->is_isolated};
}

expected<form, std::string> retimed(const form& f, const stretto::measured_run& run, const stretto::host_link& link,
                                    bool of_all) {
    trainer::program p = *f.p;
    for (stretto::task_id t = 0; t < run.tasks.size(); ++t) {
        const bool counts =
            f.tasks->kind[t] == stretto::op_kind::compute || (of_all && f.tasks->kind[t] == stretto::op_kind::start);
        if (counts && run.tasks[t].spans != 0)
            p.ops[p.order[t]].takes = std::max<std::int64_t>(run.tasks[t].duration.count, 1);
    }
    auto made = form_of(std::move(p), link);
    if (!made) return unexpected(made.error());
    made->chunks = f.chunks;
    made->buckets = f.buckets;
    return made;
}

expected<planned_step, std::string> reordered(planned_step before, form with_durations) {
    const stretto::bytes limit = before.schedule.memory_limit();
    auto same = stretto::certify(*with_durations.tasks, before.schedule.order(), limit);
    if (!same) return unexpected(std::string("the order of the plan is not one of the step"));
    auto found = stretto::list_schedule(*with_durations.tasks, {.memory_limit = limit});
    const bool is_faster = found && found->makespan() < same->makespan();
    return planned_step{std::move(with_durations), std::move(before.unmerged),
                        is_faster ? *std::move(found) : *std::move(same), before.is_isolated};
}

}  // namespace trainer
