// Tries many choices of regions on one step, for search_chunks and choose_tokens. The step is read once into a numeric
// table (numbered_step), so a trial does not query the graph again: it costs a plan, a task graph and, if its makespan
// is wanted, a schedule.
#ifndef STRETTO_TUNE_DETAIL_CHUNK_TRIALS_HPP
#define STRETTO_TUNE_DETAIL_CHUNK_TRIALS_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/config.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/limit_trial.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "stretto/schedule/memory.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/transform/chunk_plan.hpp"
#include "stretto/transform/plan_chunks.hpp"
#include "stretto/tune/chunk_source.hpp"
#include "stretto/tune/chunk_trial.hpp"
#include "stretto/tune/step_table.hpp"
#include "stretto/tune/try_chunks.hpp"

namespace stretto::detail {

/// Adapts a chunk model of a view to the table of the view.
template <class G, class C>
struct numbered_chunk_model {
    const numbered_step<G>* step;
    const C* chunks;

    [[nodiscard]] std::size_t components_of(std::uint32_t x) const { return chunks->components_of(step->value(x)); }
    [[nodiscard]] std::size_t rank(std::uint32_t x, std::size_t component) const {
        return chunks->rank(step->value(x), component);
    }
    [[nodiscard]] std::int64_t extent(std::uint32_t x, std::size_t component, std::size_t dim) const {
        return chunks->extent(step->value(x), component, dim);
    }
    [[nodiscard]] chunk_verdict combine_rule(std::uint32_t v, std::int64_t tokens,
                                             std::span<const chunk_state> operands,
                                             std::span<chunk_state> results) const {
        return chunks->combine_rule(step->vertex(v), tokens, operands, results);
    }
    [[nodiscard]] bool makes_zeros(std::uint32_t v) const { return detail::makes_zeros(*chunks, step->vertex(v)); }
    [[nodiscard]] bool sum_widens(std::uint32_t v) const { return detail::sum_widens(*chunks, step->vertex(v)); }
};

/// Plans regions of one step. `Chunks` is a chunk_model_source.
template <class G, class Chunks>
class chunk_planner {
public:
    using id = std::uint32_t;
    using region = chunk_region<id>;

    /// Preconditions: the step and the chunk model outlive the planner; the graph lists the values of the tokens.
    chunk_planner(const numbered_step<G>& step, const Chunks& chunks,
                  std::span<const token_dimension<value_t<G>>> tokens)
        : step_(&step), chunks_(&chunks) {
        for (const token_dimension<value_t<G>>& t : tokens) {
            const id x = step.number_of_value(t.value);
            STRETTO_ASSERT(x != step_table::none, "a token dimension is of a value that the graph does not list");
            tokens_.push_back({x, t.dim});
        }
    }

    /// Returns the plan of these regions, or why plan_chunks makes none. Operations that cannot run per chunk stay
    /// whole. A source of chunk models is asked for a new model in every call, so no plan depends on earlier ones.
    [[nodiscard]] expected<chunk_plan<id, id>, chunk_error<id>> plan(std::span<const region> regions,
                                                                     bool slices) const {
        if constexpr (chunk_model<Chunks, G>) {
            return plan_with(*chunks_, regions, slices);
        } else {
            const auto model = (*chunks_)();
            return plan_with(model, regions, slices);
        }
    }

protected:
    const numbered_step<G>* step_;

private:
    template <class C>
    [[nodiscard]] expected<chunk_plan<id, id>, chunk_error<id>> plan_with(const C& model,
                                                                          std::span<const region> regions,
                                                                          bool slices) const {
        return plan_chunks(step_table_view{&step_->table()}, step_table_model{&step_->table()},
                           numbered_chunk_model<G, C>{step_, &model}, regions,
                           std::span<const token_dimension<id>>(tokens_), trial_chunk_options(slices));
    }

    const Chunks* chunks_;
    std::vector<token_dimension<id>> tokens_;
};

/// Makes task graphs and schedules of one step with given regions in chunks.
template <class G, class Chunks, class Costs>
class chunk_trials : public chunk_planner<G, Chunks> {
public:
    using base = chunk_planner<G, Chunks>;
    using region = typename base::region;

    /// `under` is the contention by which schedules are judged. Preconditions as for chunk_planner.
    chunk_trials(const numbered_step<G>& step, const Chunks& chunks, const Costs& costs,
                 std::span<const token_dimension<value_t<G>>> tokens, contention under = {})
        : base(step, chunks, tokens), costs_(step, costs), under_(under) {}

    /// Returns the tasks of the step with these regions in chunks; nothing if there is no plan or no task graph of it,
    /// for example because times or bytes overflow.
    [[nodiscard]] std::optional<chunked_tasks> operator()(std::span<const region> regions, bool slices) const {
        const auto planned = base::plan(regions, slices);
        if (!planned) return std::nullopt;
        auto made = try_chunks(*planned, base::step_->table(), costs_);
        if (!made) return std::nullopt;
        return *std::move(made);
    }
    /// Returns the makespan of list_schedule with these regions in chunks; nothing if there are no such tasks, or if no
    /// order that was tried fits into the memory.
    [[nodiscard]] std::optional<nanoseconds> makespan(std::span<const region> regions, bool slices,
                                                      memory_budget memory) const {
        const auto made = (*this)(regions, slices);
        if (!made) return std::nullopt;
        return makespan_of(made->graph, memory);
    }
    /// Returns the figures of the uncut step within these limits, as list_schedule_by_limits does. Precondition: the
    /// limits ascend, and the last one is that of the budget.
    [[nodiscard]] std::vector<limit_figures> whole(memory_budget memory, std::span<const bytes> limits) const {
        const auto graph = tasks_of_whole();
        if (!graph) return std::vector<limit_figures>(limits.size());
        schedule_options options;
        options.memory_limit = memory;
        options.under = under_;
        return list_schedule_by_limits(*graph, options, limits).figures;
    }
    /// Returns the peak of the uncut step in its input order; 0 if it is not a task graph.
    [[nodiscard]] bytes input_peak() const {
        const auto graph = tasks_of_whole();
        return graph ? peak_of_input(*graph) : bytes{};
    }
    /// Converts regions of the view to regions of its table.
    [[nodiscard]] std::vector<region> in_numbers(std::span<const chunk_region<vertex_t<G>>> regions) const {
        std::vector<region> all;
        for (const chunk_region<vertex_t<G>>& r : regions) {
            all.push_back({{}, r.sizes, {}});
            for (const vertex_t<G>& v : r.candidates) all.back().candidates.push_back(base::step_->number(v));
            for (const vertex_t<G>& v : r.kept) all.back().kept.push_back(base::step_->number(v));
        }
        return all;
    }

private:
    [[nodiscard]] expected<task_graph, task_graph_error> tasks_of_whole() const {
        const step_table& table = base::step_->table();
        return make_task_graph(step_table_view{&table}, step_table_model{&table});
    }
    [[nodiscard]] std::optional<nanoseconds> makespan_of(const task_graph& graph, memory_budget memory) const {
        schedule_options options;
        options.memory_limit = memory;
        options.under = under_;
        const auto scheduled = list_schedule(graph, options);
        if (!scheduled) return std::nullopt;
        return scheduled->makespan();
    }

    numbered_part_costs<G, Costs> costs_;
    contention under_;
};

}  // namespace stretto::detail

#endif
