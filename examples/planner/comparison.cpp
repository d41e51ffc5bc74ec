#include "comparison.hpp"

#include <simdjson.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <optional>
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
#include "stretto/schedule/explain_errors.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "stretto/schedule/verify.hpp"
#include "stretto/transform/module_regions.hpp"
#include "stretto/tune/choose_tokens.hpp"
#include "stretto/tune/chunk_units.hpp"
#include "stretto/tune/search_chunks.hpp"
#include "stretto/tune/try_chunks.hpp"

namespace planner {
namespace {

using stretto::expected;
using stretto::nanoseconds;
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
    std::vector<task_id> seen(step.inputs(v).begin(), step.inputs(v).end());
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

expected<certified, failure> schedule(const std::shared_ptr<const program>& p, const std::string& file,
                                      stretto::bytes limit) {
    stretto::schedule_options options;
    options.memory_limit = limit;
    auto scheduled = stretto::list_schedule(p->graph, options);
    if (scheduled) return certified{p, *std::move(scheduled)};
    return refused(failure::reason::finding, p->capture, file, scheduled.error().at, explain(scheduled.error()),
                   "no plan is known below the peak of the input order: use --memory-limit 1.00x or more");
}

failure about_arguments(const std::string& file, const std::string& cause) {
    return {failure::reason::unusable, stretto::printable(file, 4096) + ": " + cause};
}

/// A step in chunks; the step as it is if it has none.
struct cut_step {
    std::shared_ptr<const program> of;
    std::vector<stretto::module_chunks> settings;
    std::string note;
    bool slices = false;
    std::vector<kept_whole> whole = {};
};

/// Grouped by reason.
std::vector<kept_whole> summary_of(const stretto::chunked_capture& made) {
    std::vector<kept_whole> groups;
    std::vector<std::pair<stretto::chunk_reason, std::string_view>> reasons;  // of `made`
    for (const auto& [why, in_words] : made.kept_whole) {
        const std::pair reason(why.why, std::string_view(why.detail));
        const auto known = std::find(reasons.begin(), reasons.end(), reason);
        if (known != reasons.end()) {
            ++groups[static_cast<std::size_t>(known - reasons.begin())].count;
            continue;
        }
        reasons.push_back(reason);
        groups.push_back({in_words.node_name, 1, in_words.cause});
    }
    std::stable_sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) { return a.count > b.count; });
    return groups;
}

/// The step in the chunks that are wanted, or in the best ones.
expected<cut_step, failure> in_chunks(const std::shared_ptr<const program>& whole, const std::string& file,
                                      stretto::bytes limit, nanoseconds whole_time, const chunking& wanted) {
    const stretto::capture& step = whole->capture;
    const auto tensors = stretto::capture_tensors::read(step);
    if (!tensors) {
        stretto::diagnostic d = tensors.error();
        d.file = file;
        return unexpected(failure{failure::reason::unusable, d.message()});
    }
    const stretto::capture_view view{&step};
    const stretto::capture_op_model ops{&step};
    const stretto::capture_chunks chunks{&step, &*tensors};
    const auto found = stretto::choose_tokens(view, ops, chunks, stretto::token_symbols(step, *tensors),
                                              stretto::token_exchanges(step, *tensors));
    if (!found) {
        if (wanted.choose) return cut_step{whole, {}, "whole: there are no tokens to cut along"};
        return refused(failure::reason::finding, step, file, stretto::no_task,
                       "no input has a symbolic extent, and no all-to-all exchanges tokens",
                       "chunks are cut along the tokens: capture with a symbolic batch or number of tokens");
    }
    const stretto::capture_token_symbol& tokens = *found;
    const stretto::capture_modules modules = stretto::modules_of(step);
    const stretto::capture_part_costs costs = stretto::part_costs_of(step, *tensors);
    const stretto::token_rows<std::uint32_t> rows{tokens.value, tokens.dimensions};
    const stretto::chunk_search_options options{.memory_limit = limit, .recombine = wanted.how, .whole = whole_time};
    std::vector<stretto::module_chunks> chosen;
    std::vector<stretto::capture_chunk_region> regions;
    bool slices = false;
    if (wanted.choose) {
        const stretto::chunk_units units = stretto::units_by_module(view, ops, modules);
        auto best = stretto::search_chunks(view, ops, chunks, costs, units, rows, options);
        if (!best || !best->pays()) return cut_step{whole, {}, "whole: no chunks that fit are faster"};
        chosen = std::move(best->settings);
        regions = std::move(best->regions);
        slices = best->slices;
    } else {
        auto settings = in_rows(wanted.settings, tokens);
        if (!settings) return unexpected(about_arguments(file, settings.error()));
        auto named = stretto::regions_in_chunks(modules, *settings);
        if (!named)
            return unexpected(about_arguments(
                file,
                "--chunk " + wanted.settings[named.error()].text +
                    ": no operation of the step is in such a module; modules are named as the step does, such as " +
                    stretto::printable(modules.paths().size() > 1 ? modules.paths()[1] : "none at all")));
        chosen = *std::move(settings);
        regions = *std::move(named);
        if (regions.empty()) return cut_step{whole, {}, "whole, as is asked for"};
        slices = stretto::slices_pay(view, ops, chunks, costs, std::span<const stretto::capture_chunk_region>(regions),
                                     rows, options);
    }
    auto chunked =
        stretto::chunk_capture(step, *tensors, regions, tokens.dimensions, stretto::trial_chunk_options(slices));
    if (!chunked) {
        stretto::diagnostic d = chunked.error();
        d.file = file;
        return unexpected(failure{failure::reason::finding, d.message()});
    }
    if (chunked->plan.empty())
        return refused(failure::reason::finding, step, file, stretto::no_task,
                       "nothing that --chunk names can run in chunks",
                       "tokens reach none of it, or its operations need all rows");
    auto made = make_program(std::move(chunked->step), file);
    if (!made) return unexpected(made.error());
    std::string note = spelled(chosen);
    return cut_step{*std::move(made), std::move(chosen), std::move(note), chunked->plan.counts().empties != 0,
                    summary_of(*chunked)};
}

class stopwatch {
public:
    [[nodiscard]] double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - since_).count();
    }

private:
    std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

}  // namespace

double comparison::gap() const {
    if (bound.value.count == 0) return 0;
    return static_cast<double>((after.times.makespan - bound.value).count) / static_cast<double>(bound.value.count);
}

expected<comparison, failure> plan_step(stretto::capture step, const std::string& file, stretto::memory_budget limit,
                                        const chunking& chunks) {
    const stopwatch watch;
    if (auto fault = fault_of_storages(step, file)) return unexpected(*std::move(fault));
    auto made = make_program(std::move(step), file);
    if (!made) return unexpected(made.error());
    comparison c{std::string((*made)->capture.name()), in_program_order(*made), {}, {}, {}};
    c.memory_limit = limit.limit(c.before.memory.peak);

    // As it is, unless chunks are asked for; to choose, both are tried.
    expected<certified, failure> best = unexpected(failure{failure::reason::finding, ""});
    if (chunks.choose || !chunks.wanted()) best = schedule(*made, file, c.memory_limit);
    if (chunks.wanted()) {
        const nanoseconds whole = best ? best->schedule.makespan() : nanoseconds{INT64_MAX};
        auto cut = in_chunks(*made, file, c.memory_limit, whole, chunks);
        if (!cut) return unexpected(cut.error());
        if (cut->of != *made || !chunks.choose) best = schedule(cut->of, file, c.memory_limit);
        for (const stretto::module_chunks& s : cut->settings) c.chunks = std::max(c.chunks, s.sizes.size());
        c.chunk_note = std::move(cut->note);
        c.slices = cut->slices;
        c.whole = std::move(cut->whole);
    }
    if (!best) return unexpected(best.error());
    const stretto::schedule& s = best->schedule;
    const auto verified = stretto::verify_order(best->of->graph, s.order(), c.memory_limit);
    if (!verified)
        return refused(failure::reason::finding, best->of->capture, file, verified.error().task,
                       "the schedule breaks a dependence here", "this is a defect of stretto: please report the step");
    c.after = {best->of, s.order(), s.times(), s.memory(), s.exposures()};
    c.bound = s.bound();
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
    c.bound = stretto::bound_below((*after)->graph);
    c.violations = stretto::check_plan((*before)->capture, (*after)->capture, c.memory_limit).violations;
    c.plan_seconds = watch.seconds();
    return c;
}

}  // namespace planner
