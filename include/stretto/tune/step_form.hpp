// Chooses whether to run a step whole or in chunks: the fastest form that fits into memory, or the requested form.
#ifndef STRETTO_TUNE_STEP_FORM_HPP
#define STRETTO_TUNE_STEP_FORM_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/config.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/module_model.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/part_cost_model.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/limit_trial.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/transform/chunk_plan.hpp"
#include "stretto/transform/module_regions.hpp"
#include "stretto/transform/step_modules.hpp"
#include "stretto/tune/chunk_source.hpp"
#include "stretto/tune/chunk_units.hpp"
#include "stretto/tune/detail/limit_levels.hpp"
#include "stretto/tune/search_chunks.hpp"
#include "stretto/tune/step_table.hpp"

namespace stretto {

/// A form of a step: the regions that run in chunks.
template <handle V>
struct step_form {
    std::vector<chunk_region<V>> regions;  ///< for plan_chunks with trial_chunk_options(slices); empty: uncut
    std::vector<module_chunks> settings;   ///< the same by module
    bool slices = false;                   ///< whether values are written slice by slice where possible

    [[nodiscard]] bool is_whole() const noexcept { return regions.empty(); }
};

/// The fastest form of a step, and the figures found on the way.
template <handle V>
struct fastest_step_form {
    step_form<V> form;
    whole_reason why = whole_reason::no_tokens;  ///< why the form is whole; chunks_pay if it is not
    expected<schedule, limit_too_low> whole;     ///< the schedule of the uncut step
    std::optional<nanoseconds> makespan = {};    ///< the makespan of the form, if it fits
    std::vector<limit_figures> figures = {};     ///< as in chunk_search_result
    trial_order order = {};                      ///< as in chunk_search_result, if the form is not whole
};

/// Returns the fastest form of a step within `options.memory_limit`: whole, or in chunks if these are faster or if only
/// they fit. A larger limit never gives a longer schedule, under the conditions of search_chunks. `tokens` are those to
/// cut along; without any, the step stays whole. If `options.step_peak` is not set, it becomes the peak of the input
/// order of `tasks`; `options.whole` is ignored. Preconditions: `tasks` is the task graph of `g` and `ops`; `modules`
/// knows every operation. Deterministic. O(list_schedule and search_chunks).
template <dependence_graph G, op_model<G> M, chunk_model_source<G> C, part_cost_model<G> P, module_model<G> Modules>
    requires dataflow_graph<G>
[[nodiscard]] fastest_step_form<vertex_t<G>> fastest_form(const task_graph& tasks, G g, const M& ops, const C& chunks,
                                                          const P& costs, const Modules& modules,
                                                          const std::optional<token_rows<value_t<G>>>& tokens,
                                                          chunk_search_options options = {}) {
    if (!options.step_peak) options.step_peak = peak_of_input(tasks);
    schedule_options limits;
    limits.memory_limit = options.budget();
    limits.effort = options.effort;
    limits.under = options.under;
    const auto levels = detail::limit_levels::up_to(options.memory_limit, *options.step_peak);
    schedule_by_limits of_whole = list_schedule_by_limits(tasks, limits, levels.limits);
    fastest_step_form<vertex_t<G>> found{{}, whole_reason::no_tokens, std::move(of_whole.scheduled)};
    if (found.whole) found.makespan = found.whole->makespan();
    found.figures.assign(of_whole.figures.begin(),
                         of_whole.figures.begin() + static_cast<std::ptrdiff_t>(levels.decided));
    if (!tokens) return found;
    options.whole = {};
    chunk_units units = units_by_module(g, ops, modules);
    for (std::uint32_t p : options.kept) {
        STRETTO_ASSERT(p < units.unit_of.size(), "a vertex to keep whole is named by a position beyond the last");
        units.unit_of[p] = chunk_units::none;
    }
    const auto step = numbered_step<G>::read(g, ops);
    STRETTO_ASSERT(step.has_value(), "the view is no task graph, but `tasks` is said to be that of it");
    if (!step) return found;
    auto best = detail::search_step(*step, chunks, costs, units, *tokens, options, std::move(of_whole.figures));
    found.why = best.why;
    if (best.pays()) {
        found.form = {std::move(best.regions), std::move(best.settings), best.slices};
        found.makespan = best.makespan;
        found.order = std::move(best.order);
    }
    found.figures = std::move(best.figures);
    return found;
}

/// Returns the form in which the operations of given modules run in given chunks. If several settings name an
/// operation, the last one counts. The step stays whole if all settings say one chunk. `options` decide on slices, as
/// in slices_pay, and name vertices to keep whole. The error is the position of the first setting that names no
/// operation. Deterministic. O(V * settings + kept vertices), and at most two trials.
template <dependence_graph G, op_model<G> M, chunk_model_source<G> C, part_cost_model<G> P>
    requires dataflow_graph<G>
[[nodiscard]] expected<step_form<vertex_t<G>>, std::size_t> form_in_chunks(
    G g, const M& ops, const C& chunks, const P& costs, const step_modules<G>& modules,
    std::vector<module_chunks> settings, token_rows<value_t<G>> tokens, chunk_search_options options = {}) {
    auto named = regions_in_chunks(modules, settings);
    if (!named) return unexpected(named.error());
    step_form<vertex_t<G>> form{*std::move(named), std::move(settings), false};
    if (!options.kept.empty()) {
        std::vector<std::size_t> indices;  // by position
        for (vertex_t<G> v : g.vertices()) indices.push_back(g.index(v));
        std::vector<char> kept(g.index_bound(), false);
        for (std::uint32_t p : options.kept) {
            STRETTO_ASSERT(p < indices.size(), "a vertex to keep whole is named by a position beyond the last");
            kept[indices[p]] = true;
        }
        for (chunk_region<vertex_t<G>>& r : form.regions)
            std::erase_if(r.candidates, [&](vertex_t<G> v) { return kept[g.index(v)] != 0; });
        std::erase_if(form.regions, [](const auto& r) { return r.candidates.empty(); });
    }
    if (!form.is_whole())
        form.slices = slices_pay(g, ops, chunks, costs, std::span<const chunk_region<vertex_t<G>>>(form.regions),
                                 tokens, options);
    return form;
}

}  // namespace stretto

#endif
