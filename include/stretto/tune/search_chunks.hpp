// Chooses the parts of a step to cut, and the number of chunks of each, by trials on task graphs before the IR is
// changed. docs/algorithms/search-chunks.md explains the trials and their order.
#ifndef STRETTO_TUNE_SEARCH_CHUNKS_HPP
#define STRETTO_TUNE_SEARCH_CHUNKS_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/part_cost_model.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/limit_trial.hpp"
#include "stretto/schedule/memory.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/transform/chunk_plan.hpp"
#include "stretto/transform/module_regions.hpp"
#include "stretto/tune/chunk_source.hpp"
#include "stretto/tune/chunk_units.hpp"
#include "stretto/tune/detail/chunk_search.hpp"
#include "stretto/tune/detail/chunk_trials.hpp"
#include "stretto/tune/detail/search_limits.hpp"
#include "stretto/tune/step_table.hpp"

namespace stretto {

/// How the slices of a value are recombined into the value.
enum class recombining : std::uint8_t {
    concat,  ///< concatenated once all of them are complete
    slices,  ///< each is copied to its place as soon as it is complete
    either   ///< one of these ways for all values: the faster one
};

/// The budget of a search, and the constraints on its result.
struct chunk_search_options {
    bytes memory_limit = unlimited_bytes;  ///< that every schedule keeps
    /// The peak of the uncut step in its input order, or of the step that this one is a variant of: see
    /// memory_budget::of_variant. If it is not set, fastest_form computes it.
    std::optional<bytes> step_peak = {};
    std::size_t most = 8;  ///< the largest number of chunks of one region
    /// The budget of refinement, in tasks made. A trial that has begun is finished. Half of the budget is added for
    /// trials of single parts. The best choice of each further level of memory is refined with a quarter of both.
    std::size_t task_budget = 200'000;
    recombining recombine = recombining::either;  ///< how slices are recombined in trials, and so in the result
    /// Vertices that must not be in any chunk, by position in program order; their readers and producers are cut around
    /// them. Precondition: each position is below the number of vertices. Only fastest_form and form_in_chunks, which
    /// make the units and regions, read it.
    std::vector<std::uint32_t> kept = {};
    /// How thoroughly fastest_form schedules the uncut step, as in schedule_options::effort. Trials use effort 1.
    unsigned effort = 1;
    std::optional<nanoseconds> whole = {};  ///< the makespan to beat; if it is not set, that of the uncut step
    /// The figures of another form of the step that would be chosen instead, as in chunk_search_result. Candidates that
    /// are slower by more than a fiftieth are abandoned early.
    std::vector<limit_figures> rival = {};
    contention under = {};  ///< the contention by which all schedules are judged

    /// The memory limit, as the budget of a variant if `step_peak` is set.
    [[nodiscard]] memory_budget budget() const {
        return step_peak ? memory_budget::of_variant(memory_limit, *step_peak) : memory_budget(memory_limit);
    }
};

/// Why a step stays whole.
enum class whole_reason : std::uint8_t {
    chunks_pay,      ///< it does not stay whole
    no_tokens,       ///< there are no tokens along which to cut it
    too_few_rows,    ///< there are fewer than two rows, or no more than one chunk is allowed
    no_plan,         ///< plan_chunks refuses the tokens or their rows; `refused` says why
    nothing_cut,     ///< no token reaches an operation that can run per chunk
    costs_refused,   ///< costs of parts are negative, or their times or bytes add up to more than 2^62
    exceeds_memory,  ///< no choice that was tried fits into the memory limit
    nothing_faster,  ///< no choice that fits is faster than the uncut step
};
/// Returns the reason in words.
[[nodiscard]] constexpr std::string_view explain(whole_reason why) noexcept {
    switch (why) {
        case whole_reason::chunks_pay:
            return "chunks make it faster";
        case whole_reason::no_tokens:
            return "there are no tokens to cut along";
        case whole_reason::too_few_rows:
            return "there are too few rows for two chunks";
        case whole_reason::no_plan:
            return "the tokens or their rows do not fit the step";
        case whole_reason::nothing_cut:
            return "nothing that tokens reach can run per chunk";
        case whole_reason::costs_refused:
            return "the costs of its parts are negative, or add up to more than 2^62";
        case whole_reason::exceeds_memory:
            return "no chunks that were tried fit into the memory limit";
        case whole_reason::nothing_faster:
            break;
    }
    return "no chunks that fit are faster";
}

/// The result of a search. Its members are consistent: `regions`, planned with trial_chunk_options(slices) and
/// scheduled within the limit, have this makespan.
template <handle V>
struct chunk_search_result {
    whole_reason why = whole_reason::nothing_faster;
    std::vector<std::size_t> chunks;             ///< the number of chunks of every unit; empty if the step stays whole
    std::vector<module_chunks> settings;         ///< the same by module
    std::vector<chunk_region<V>> regions;        ///< the same for plan_chunks, with trial_chunk_options(slices)
    bool slices = false;                         ///< whether values are written slice by slice where possible
    std::optional<chunk_error<V>> refused = {};  ///< for no_plan: why two chunks of everything have no plan
    nanoseconds makespan;                        ///< the shortest one that was found, that of the uncut step included
    trial_order order = {};                      ///< an order of the tasks of these regions with this makespan
    std::size_t trials = 0;                      ///< the number of choices whose tasks were made
    std::vector<limit_figures> figures;          ///< those of the best form within each level of memory up to the limit

    [[nodiscard]] bool pays() const noexcept { return why == whole_reason::chunks_pay; }
};

namespace detail {

/// Converts an error about the table of a step to one about its graph.
template <class G>
[[nodiscard]] chunk_error<vertex_t<G>> in_handles(const numbered_step<G>& step, const chunk_error<std::uint32_t>& e) {
    chunk_error<vertex_t<G>> about{e.why, e.region,   step.vertex(e.vertex), step.vertex(e.other), e.detail,
                                   {},    e.component};
    for (std::uint32_t v : e.path) about.path.push_back(step.vertex(v));
    return about;
}

/// search_chunks for a step that has been read. `whole` holds the figures of the uncut step within the levels of the
/// limit. They are computed if missing, and `options.whole` overrides them.
template <class G, class C, class P>
[[nodiscard]] chunk_search_result<vertex_t<G>> search_step(const numbered_step<G>& step, const C& chunks,
                                                           const P& costs, const chunk_units& units,
                                                           token_rows<value_t<G>> tokens,
                                                           const chunk_search_options& options,
                                                           std::vector<limit_figures> whole) {
    const chunk_trials<G, C, P> trials(step, chunks, costs, tokens.dimensions, options.under);
    search_limits limits{
        limit_levels::up_to(options.memory_limit, options.step_peak ? *options.step_peak : trials.input_peak()),
        std::move(whole),
        options.rival,
        options.step_peak,
        options.most,
        options.task_budget,
        options.recombine == recombining::slices,
        options.recombine == recombining::either,
        options.under};
    const std::vector<bytes>& levels = limits.levels.limits;
    if (options.whole) limits.whole.assign(levels.size(), {*options.whole, {INT64_MAX}});
    if (limits.whole.size() != levels.size()) limits.whole = trials.whole(options.budget(), levels);
    chunk_search search(units, tokens.rows, limits, trials);
    search.run();

    chunk_search_result<vertex_t<G>> best;
    best.makespan = search.best();
    best.trials = search.trials();
    best.figures = search.figures();
    if (search.chosen().empty()) {
        best.why = options.most < 2 || tokens.rows < 2 ? whole_reason::too_few_rows
                   : !search.any_cut()                 ? whole_reason::nothing_cut
                   : !search.any_fit()                 ? whole_reason::exceeds_memory
                                                       : whole_reason::nothing_faster;
        if (best.why == whole_reason::nothing_cut) {
            const std::vector<chunk_region<std::uint32_t>> halves =
                search.regions_of(std::vector<std::size_t>(units.size(), 2));
            const auto plan = trials.plan(halves, limits.slices);
            if (!plan && !halves.empty() && plan.error().why != chunk_reason::nothing_reached) {
                best.why = whole_reason::no_plan;
                best.refused = in_handles(step, plan.error());
            } else if (plan && !plan->empty() && !trials(halves, limits.slices)) {
                best.why = whole_reason::costs_refused;
            }
        }
        return best;
    }
    best.why = whole_reason::chunks_pay;
    best.chunks = search.chosen();
    best.order = search.order();
    best.slices = search.slices();
    best.settings = settings_of(units, best.chunks, tokens.rows);
    for (const chunk_region<std::uint32_t>& r : search.regions_of(best.chunks)) {
        best.regions.push_back({{}, r.sizes});
        for (std::uint32_t v : r.candidates) best.regions.back().candidates.push_back(step.vertex(v));
    }
    return best;
}

}  // namespace detail

/// Returns the chunks with which a step is fastest within the memory limit, among those tried. Everything that has the
/// same number of chunks is one region. docs/algorithms/search-chunks.md says what is tried, and why the guarantees
/// hold. Precondition: `units` are those of this view (units_by_module). Fails if the view is not a task graph.
///
/// Deterministic. The makespan is that of list_schedule on the tasks that try_chunks makes of the regions; no choice
/// that was tried and not given up has a shorter one. A larger memory limit never gives a longer makespan, separately
/// for limits from `step_peak` on and for those below it, down to a sixteenth of it. This guarantee requires that the
/// options set `step_peak` and not `whole`.
///
/// Each trial takes plan_chunks, try_chunks and list_schedule. Before refinement there are at most 4 * (most - 1)
/// trials and, if nothing pays, as many again for every depth of modules around exchanges. Refinement makes no more
/// tasks than one and a half times the budget, and finishes two trials. Further levels of memory repeat this with a
/// quarter of the budget, but try no choice again.
template <dependence_graph G, op_model<G> M, chunk_model_source<G> C, part_cost_model<G> P>
    requires dataflow_graph<G>
[[nodiscard]] expected<chunk_search_result<vertex_t<G>>, task_graph_error> search_chunks(
    G g, const M& ops, const C& chunks, const P& costs, const chunk_units& units, token_rows<value_t<G>> tokens,
    chunk_search_options options = {}) {
    const auto step = numbered_step<G>::read(g, ops);
    if (!step) return unexpected(step.error());
    // A trial reports only whether there are tasks. If even the uncut step has none, its error is the reason.
    const step_table& table = step->table();
    if (const auto whole = make_task_graph(step_table_view{&table}, step_table_model{&table}); !whole)
        return unexpected(whole.error());
    return detail::search_step(*step, chunks, costs, units, tokens, options, {});
}

/// Returns whether the values of a step in these chunks should be written slice by slice: as the options say or, with
/// recombining::either, if the makespan within the memory limit is shorter than with concatenation. In the latter case,
/// returns false if the view is not a task graph. Makes at most two trials.
template <dependence_graph G, op_model<G> M, chunk_model_source<G> C, part_cost_model<G> P>
    requires dataflow_graph<G>
[[nodiscard]] bool slices_pay(G g, const M& ops, const C& chunks, const P& costs,
                              std::span<const chunk_region<vertex_t<G>>> regions, token_rows<value_t<G>> tokens,
                              chunk_search_options options = {}) {
    if (options.recombine != recombining::either) return options.recombine == recombining::slices;
    const auto step = numbered_step<G>::read(g, ops);
    if (!step) return false;
    const detail::chunk_trials<G, C, P> trials(*step, chunks, costs, tokens.dimensions, options.under);
    const auto in_numbers = trials.in_numbers(regions);
    const std::optional<nanoseconds> concat = trials.makespan(in_numbers, false, options.budget());
    const std::optional<nanoseconds> slices = trials.makespan(in_numbers, true, options.budget());
    return slices && (!concat || *slices < *concat);
}

}  // namespace stretto

#endif
