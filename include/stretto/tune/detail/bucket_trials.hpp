// Answers what bucket_search asks about a step, with the models of the user: which collectives may be merged, the plan
// of a division, the tasks of a plan, and prices. The step is in numbers (numbered_step), so trials do not query the
// graph; only `choose` and the models are asked about its vertices.
#ifndef STRETTO_TUNE_DETAIL_BUCKET_TRIALS_HPP
#define STRETTO_TUNE_DETAIL_BUCKET_TRIALS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "stretto/core/bucket_cost_model.hpp"
#include "stretto/core/collective_call.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/transform/bucket_plan.hpp"
#include "stretto/transform/plan_buckets.hpp"
#include "stretto/transform/verify_buckets.hpp"
#include "stretto/tune/bucketed_tasks.hpp"
#include "stretto/tune/detail/bucket_contraction.hpp"
#include "stretto/tune/detail/bucket_windows.hpp"
#include "stretto/tune/step_table.hpp"

namespace stretto::detail {

/// A view of a step in numbers that lists the vertices in a given order, which must be topological.
struct ordered_step_view : step_table_view {
    std::span<const std::uint32_t> order;

    [[nodiscard]] std::span<const std::uint32_t> vertices() const noexcept { return order; }
};

/// The trials of one step. All arguments of the constructor except `choose` and the options must outlive it.
template <class G, class M, class C>
class bucket_trials {
    using id = std::uint32_t;

public:
    /// Calls `choose` once for every start. O(V + E).
    template <class Choose>
    bucket_trials(const numbered_step<G>& step, const M& ops, Choose& choose, const C& costs,
                  const bucket_options& options)
        : step_(&step),
          ops_(&ops),
          costs_(&costs),
          options_(options),
          contraction_(bucket_contraction<>::of(step.table())),
          choices_(step.table().size()) {
        for (id v = 0; v < choices_.size(); ++v)
            if (step.table().operations[v].kind == op_kind::start) choices_[v] = choose(step.vertex(v));
    }
    bucket_trials(const bucket_trials&) = delete;
    bucket_trials& operator=(const bucket_trials&) = delete;

    /// Returns the collectives that may be merged with others of their class, in program order. A class has the same
    /// label, group and kind of collective. O(V log classes).
    [[nodiscard]] std::vector<bucketable> items() const {
        const step_table& table = step_->table();
        std::map<std::tuple<id, group_id, collective_kind>, id> classes;
        std::vector<bucketable> all;
        std::int64_t reached = 0;
        for (id v = 0; v < table.size(); ++v) {
            const step_table::operation& o = table.operations[v];
            if (o.kind == op_kind::compute) reached += o.duration.count;
            if (o.kind != op_kind::start || choices_[v].label == bucket_choice::apart) continue;
            bucketable i;
            i.vertex = v;
            i.in_class =
                classes.try_emplace({choices_[v].label, o.group, o.collective}, static_cast<id>(classes.size()))
                    .first->second;
            i.gathers = !reduces(o.collective);
            i.payload = i.weight = o.payload;
            for (id x = table.first_result[v]; x < table.first_result[v + 1]; ++x)
                i.weight = std::max(i.weight, table.allocation[x]);
            i.reached = reached;
            if (choices_[v].cast && table.operands[v].size() == 1) i.cast = table.producer[table.operands[v][0]];
            all.push_back(i);
        }
        return all;
    }

    [[nodiscard]] nanoseconds merged(id v, bytes payload) const { return costs_->of_merged(step_->vertex(v), payload); }
    /// Returns the plan in which the items of each run are merged, as far as that is legal, for the program in this
    /// order; an empty plan if there is none that is legal in program order too. Facts about the program in an order
    /// are gathered when the order is first used.
    [[nodiscard]] bucket_plan<id, id> plan(const std::vector<bucketable>& items, const std::vector<id>& runs,
                                           const std::vector<id>& order) {
        for (std::size_t k = 0; k < items.size(); ++k) choices_[items[k].vertex].label = runs[k];
        auto made = program_in(order).planner.plan([this](id v) { return choices_[v]; });
        if (!made || made->empty() || std::is_sorted(order.begin(), order.end()))
            return made ? *std::move(made) : bucket_plan<id, id>{};
        // A view of data in flight needs no wait, so it may stand before the wait in one order and after it in the
        // other. The plan must also be legal in the order in which the program was given.
        if (!given_) given_.emplace(step_table_view{&step_->table()}, models_);
        const bool legal = bucket_verifier<step_table_view, models>(*made, *given_, models_).run().empty();
        return legal ? *std::move(made) : bucket_plan<id, id>{};
    }
    /// Returns the tasks without buckets, or why the step is not a task graph.
    [[nodiscard]] expected<const task_graph*, task_graph_error> whole() const {
        if (!contraction_) return unexpected(contraction_.error());
        return &contraction_->whole();
    }
    /// Returns the tasks of a plan, which are valid until the next call; null if the step is not a task graph or if
    /// costs of the buckets are negative or overflow.
    [[nodiscard]] const bucketed_tasks* tasks(const bucket_plan<id, id>& plan) {
        if (!contraction_) return nullptr;
        const auto moving = [&](bytes moved) { return costs_->of_moving(moved); };
        return contraction_->contract(plan, moving, tasks_) ? nullptr : &tasks_;
    }

    /// Converts a plan to the handles of the graph.
    [[nodiscard]] bucket_plan<vertex_t<G>, value_t<G>> in_handles(const bucket_plan<id, id>& plan) const {
        const auto vertices = [&](const std::vector<id>& all) {
            std::vector<vertex_t<G>> handles;
            for (id v : all) handles.push_back(step_->vertex(v));
            return handles;
        };
        const auto values = [&](const std::vector<id>& all) {
            std::vector<value_t<G>> handles;
            for (id x : all) handles.push_back(step_->value(x));
            return handles;
        };
        bucket_plan<vertex_t<G>, value_t<G>> made;
        for (const bucket<id, id>& b : plan.buckets)
            made.buckets.push_back({vertices(b.members), values(b.parts), vertices(b.waits), values(b.results),
                                    vertices(b.casts), b.mode, b.payload, b.received, b.alone, b.merged, b.copies});
        made.order = vertices(plan.order);
        for (const refused_bucket<id>& r : plan.refused)
            made.refused.push_back({r.why, step_->vertex(r.vertex), step_->vertex(r.other)});
        return made;
    }

private:
    // The models of the step in numbers, for the planner and the verifier.
    struct models : step_table_model {
        const bucket_trials* of;

        [[nodiscard]] collective_call call(id v) const { return call_of<G>(*of->ops_, of->step_->vertex(v)); }
    };
    struct prices {
        const bucket_trials* of = nullptr;

        [[nodiscard]] nanoseconds of_merged(id v, bytes payload) const { return of->merged(v, payload); }
        [[nodiscard]] nanoseconds of_moving(bytes moved) const { return of->costs_->of_moving(moved); }
    };
    // Costs have `size_of` only if those of the user have it, because the planner asks whether it exists.
    struct prices_and_sizes : prices {
        [[nodiscard]] bytes size_of(id x) const { return this->of->costs_->size_of(this->of->step_->value(x)); }
    };
    using prices_type = std::conditional_t<has_size_as_documented<C, value_t<G>>, prices_and_sizes, prices>;
    [[nodiscard]] static prices_type make_prices(const bucket_trials* trials) {
        prices_type made;
        made.of = trials;
        return made;
    }

    /// The planner for the program in one order.
    struct ordered_program {
        ordered_program(const std::vector<id>& o, const step_table* table, const bucket_trials& of)
            : order(o), planner({{table}, order}, of.models_, of.prices_, of.options_) {}

        std::vector<id> order;
        bucket_planner<ordered_step_view, models, prices_type> planner;
    };
    [[nodiscard]] ordered_program& program_in(const std::vector<id>& order) {
        for (ordered_program& p : programs_)
            if (p.order == order) return p;
        return programs_.emplace_back(order, &step_->table(), *this);
    }

    const numbered_step<G>* step_;
    const M* ops_;
    const C* costs_;
    bucket_options options_;
    expected<bucket_contraction<>, task_graph_error> contraction_;
    bucketed_tasks tasks_;                // those of the last plan
    std::vector<bucket_choice> choices_;  // by vertex; `plan` sets the labels of items to their runs
    models models_{{&step_->table()}, this};
    prices_type prices_ = make_prices(this);
    std::deque<ordered_program> programs_;  // planners refer to orders, which must stay where they are
    std::optional<bucketed_program_facts<step_table_view>> given_;  // facts about the program in program order
};

}  // namespace stretto::detail

#endif
