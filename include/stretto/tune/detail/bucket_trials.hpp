// Trials of bucket plans on a step in numbers, for models of the user's.
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

/// A step in numbers whose vertices are listed in an order of their own.
struct ordered_step_view : step_table_view {
    std::span<const std::uint32_t> order;

    [[nodiscard]] std::span<const std::uint32_t> vertices() const noexcept { return order; }
};

/// What bucket_search asks of a step. All arguments must outlive it; `choose` is asked once for every start.
template <class G, class M, class C>
class bucket_trials {
    using id = std::uint32_t;

public:
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

    /// The collectives that may travel with others of their class, in program order. O(V log classes).
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
    /// What is known of the program in an order is gathered when the order is first asked for.
    [[nodiscard]] bucket_plan<id, id> plan(const std::vector<bucketable>& items, const std::vector<id>& runs,
                                           const std::vector<id>& order) {
        for (std::size_t k = 0; k < items.size(); ++k) choices_[items[k].vertex].label = runs[k];
        auto made = program_in(order).planner.plan([this](id v) { return choices_[v]; });
        if (!made || made->empty() || std::is_sorted(order.begin(), order.end()))
            return made ? *std::move(made) : bucket_plan<id, id>{};
        // A view of what is in flight needs no wait. If it stands before the wait in one order and behind it in the
        // other, the program as it is given has the last word.
        if (!given_) given_.emplace(step_table_view{&step_->table()}, models_);
        const bool legal = bucket_verifier<step_table_view, models>(*made, *given_, models_).run().empty();
        return legal ? *std::move(made) : bucket_plan<id, id>{};
    }
    /// The tasks without buckets, or why the step is no task graph.
    [[nodiscard]] expected<const task_graph*, task_graph_error> whole() const {
        if (!contraction_) return unexpected(contraction_.error());
        return &contraction_->whole();
    }
    /// The tasks in the buckets of a plan, until the next plan is asked for; null if its costs are none.
    [[nodiscard]] const bucketed_tasks* tasks(const bucket_plan<id, id>& plan) {
        if (!contraction_) return nullptr;
        const auto moving = [&](bytes moved) { return costs_->of_moving(moved); };
        return contraction_->contract(plan, moving, tasks_) ? nullptr : &tasks_;
    }

    /// A plan in the handles of the user.
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
    struct models : step_table_model {
        const bucket_trials* of;

        [[nodiscard]] collective_call call(id v) const { return call_of<G>(*of->ops_, of->step_->vertex(v)); }
    };
    struct prices {
        const bucket_trials* of = nullptr;

        [[nodiscard]] nanoseconds of_merged(id v, bytes payload) const { return of->merged(v, payload); }
        [[nodiscard]] nanoseconds of_moving(bytes moved) const { return of->costs_->of_moving(moved); }
    };
    struct prices_and_sizes : prices {
        [[nodiscard]] bytes size_of(id x) const { return this->of->costs_->size_of(this->of->step_->value(x)); }
    };
    using prices_type = std::conditional_t<has_size_as_documented<C, value_t<G>>, prices_and_sizes, prices>;
    [[nodiscard]] static prices_type make_prices(const bucket_trials* trials) {
        prices_type made;
        made.of = trials;
        return made;
    }

    /// A program in one order, of which plans are asked.
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
    bucketed_tasks tasks_;                // of the last plan
    std::vector<bucket_choice> choices_;  // by vertex
    models models_{{&step_->table()}, this};
    prices_type prices_ = make_prices(this);
    std::deque<ordered_program> programs_;  // planners refer to orders, which must stay where they are
    std::optional<bucketed_program_facts<step_table_view>> given_;
};

}  // namespace stretto::detail

#endif
