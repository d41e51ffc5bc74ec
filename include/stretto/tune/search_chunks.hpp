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
    std::size_t most = 8;               ///< the largest number of chunks of one region
    std::size_t task_budget = 200'000;  ///< for refinement, in tasks made; one that is begun is finished. Half of it is
                                        ///< added for parts by themselves. What is the best one within more memory is
                                        ///< refined for a quarter of that
    recombining recombine = recombining::either;
    /// Vertices that must not be in any chunk, by position in program order; their readers and producers are cut around
    /// them. Precondition: each position is below the number of vertices. Only fastest_form and form_in_chunks, which
    /// make the units and regions, read it.
    std::vector<std::uint32_t> kept = {};
    /// How thoroughly fastest_form schedules the uncut step, as in schedule_options::effort. Trials use effort 1.
    unsigned effort = 1;
    std::optional<nanoseconds> whole = {};  ///< the makespan to beat; that of the step whole, if it is not said
    /// The figures of another form of the step that would be chosen instead, as in chunk_search_result. Candidates that
    /// are slower by more than a fiftieth are abandoned early.
    std::vector<limit_figures> rival = {};
    contention under = {};  ///< the clock by which everything is judged

    [[nodiscard]] memory_budget budget() const {
        return step_peak ? memory_budget::of_variant(memory_limit, *step_peak) : memory_budget(memory_limit);
    }
};

/// Why a step stays whole.
enum class whole_reason : std::uint8_t {
    chunks_pay,      ///< it does not
    no_tokens,       ///< nobody knows along what to cut it
    too_few_rows,    ///< there are no two chunks: fewer than two rows, or no more than one chunk is allowed
    no_plan,         ///< plan_chunks refuses the tokens, or their rows: `refused` says why
    nothing_cut,     ///< no token reaches an operation that can run per chunk
    costs_refused,   ///< what the parts cost is negative, or times or bytes of them add up to more than 2^62
    exceeds_memory,  ///< nothing that was tried fits
    nothing_faster,  ///< what fits takes as long as the step whole, or longer
};
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
    std::vector<std::size_t> chunks;      ///< of every unit; none if the step stays whole, and so are those that follow
    std::vector<module_chunks> settings;  ///< the same by module
    std::vector<chunk_region<V>> regions;        ///< the same for plan_chunks, with trial_chunk_options(slices)
    bool slices = false;                         ///< written slice by slice, where that may be
    std::optional<chunk_error<V>> refused = {};  ///< why there is no_plan for two chunks of everything
    nanoseconds makespan;                        ///< that of the best that was scheduled, the step whole included
    std::size_t trials = 0;                      ///< choices whose tasks were made
    std::vector<limit_figures> figures;          ///< of the best, within each level of memory up to the limit

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
    best.slices = search.slices();
    best.settings = settings_of(units, best.chunks, tokens.rows);
    for (const chunk_region<std::uint32_t>& r : search.regions_of(best.chunks)) {
        best.regions.push_back({{}, r.sizes});
        for (std::uint32_t v : r.candidates) best.regions.back().candidates.push_back(step.vertex(v));
    }
    return best;
}

}  // namespace detail

/// The chunks with which a step is fastest within the memory limit, of those tried. First everything is in 2, 3, ...
/// `most` chunks, until the lower bound of one more is no better than the best; what does not fit is tried again with
/// the parts of the model whole in which it needs too much. If nothing of that is faster, the modules around
/// all-to-alls alone. Then parts and modules whole whose chunks hide nothing, forward or backward whole, and other
/// numbers of chunks for halves, quarters, ... of the parts, those with the most exposed time first, until the budget
/// is spent; and parts by themselves in which no exchange runs per chunk, whole or in chunks. Everything that has an
/// equal number of chunks is one region.
///
/// `units` are of this view (units_by_module). Fails if the view is no task graph. Depends on its arguments alone:
/// integers, ties by program order. The makespan is that of list_schedule on what try_chunks says of the regions; no
/// choice that was tried and not given up has a shorter one. A larger memory limit never gives a longer makespan, from
/// the step peak on, and among the limits below it from a sixteenth on; unless the options say which makespan to beat,
/// or no step peak. (docs/algorithms/search-chunks.md says why.) Time: most + 4 + 7 parts trials at most, and fewer for
/// each further level of memory, each plan_chunks, try_chunks and list_schedule; beyond the first ones no more tasks
/// than the budget and half of it, a quarter of these for each further level, and two trials.
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
/// recombining::either, if the makespan within the memory limit is shorter than with concatenation. Also returns false
/// then if the view is not a task graph. Makes at most two trials.
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
