// Runs the part of one rank, on any backend: it binds the order and makes steps.
#ifndef MOE_TRAINER_RANK_PROGRAM_HPP
#define MOE_TRAINER_RANK_PROGRAM_HPP

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "adapters.hpp"
#include "kernels.hpp"
#include "stretto/backend/bound_step.hpp"
#include "stretto/backend/rank_groups.hpp"
#include "stretto/core/process_groups.hpp"
#include "transport.hpp"

namespace trainer {

/// Returns the ranks of the groups of the program, for each rank.
[[nodiscard]] inline stretto::rank_groups groups_of_ranks(const program& p) {
    stretto::rank_groups made(static_cast<std::size_t>(p.mesh.ranks));
    for (stretto::group_id g = 0; g < p.groups.size(); ++g) {
        const auto [members, stride] = p.spread_of(g);
        made.add(stretto::strided_groups(static_cast<std::size_t>(p.mesh.ranks), static_cast<std::size_t>(members),
                                         static_cast<std::size_t>(stride)));
    }
    return made;
}

/// The amounts of an exchange, which its operands measure: after the rows, the amounts received from each rank, then
/// those sent to each.
struct exchange_amounts {
    std::vector<stretto::split_size> received = {}, sent = {};

    explicit exchange_amounts(const program& p) {
        for (std::int64_t r = 1; r <= p.mesh.expert_ranks; ++r) {
            received.push_back({stretto::split_size::form::measured, r});
            sent.push_back({stretto::split_size::form::measured, r + p.mesh.expert_ranks});
        }
    }
};

/// The step_work of a program: what its operations do when they run.
struct work : op_model {
    const exchange_amounts* amounts;

    work(const program& of, const exchange_amounts& a) : op_model(&of, {}), amounts(&a) {}

    void compute(op_id o, stretto::task_memory m) const { trainer::compute(*p, o, m); }
    stretto::collective_call call(op_id o) const {
        stretto::collective_call c = op_model::call(o);
        if (p->ops[o].what == code::send_rows) c.input_sizes = amounts->sent, c.output_sizes = amounts->received;
        return c;
    }
    stretto::bytes row_bytes(op_id o) const { return {4 * p->shape(p->ops[o].makes[0]).back()}; }
    stretto::bytes offset(tensor_id x) const { return {p->offset(x)}; }
};

/// Returns a callable that names tasks in messages.
[[nodiscard]] inline auto names_of(const program& p) {
    return [&p](stretto::task_id t) { return entry_of(p.ops[p.order[t]].what).name; };
}

/// Runs the part of one rank in a job, and copies its state back. Returns why the run has failed, or nothing. Throws if
/// the order cannot be bound.
template <stretto::backend Rank>
[[nodiscard]] std::optional<stretto::run_failure> run_rank(rank_job& job, const stretto::rank_groups& groups,
                                                           Rank& on) {
    const std::size_t me = on.rank();
    const training_step& s = job.step;
    const std::int64_t tokens = s.shape.batch * s.shape.sequence * job.p.mesh.ranks;
    stretto::rank_in_groups<Rank> rank(on, on.rank(), groups);
    const exchange_amounts amounts(job.p);
    auto bound = stretto::bind_step(stretto::views::from_values(values_view{&job.p}), job.tasks, job.order,
                                    work(job.p, amounts), rank);
    if (!bound) throw std::runtime_error(explain(bound.error(), names_of(job.p)));
    const auto write = [&](tensor_id x, const auto& from) {
        std::copy(from.begin(), from.end(),
                  bound->template memory<typename std::decay_t<decltype(from)>::value_type>(x).begin());
    };
    for (const auto& [x, memory] : job.state.ranks[me]) write(x, memory);
    write(s.seed, std::vector<float>{1.0f / static_cast<float>(tokens)});
    rank_result& result = job.results[me];
    for (std::int64_t k = 0; k < job.options.steps; ++k) {
        const std::int64_t step = job.state.steps + k;
        const drawn_text next = draw(job.text, s.shape, job.state.seed, step, static_cast<std::int64_t>(me));
        write(s.text, next.text);
        write(s.targets, next.targets);
        write(s.clock, clock_of(step));
        if (auto failure = bound->replay()) return failure;
        result.milliseconds.push_back(stretto::to_milliseconds(bound->last_replay()));
        result.losses.push_back(bound->template memory<float>(job.p.kept()[0])[0]);
        if (me == 0 && job.options.progress)
            job.options.progress(step,
                                 static_cast<double>(result.losses.back()) * static_cast<double>(job.p.mesh.ranks) /
                                     static_cast<double>(tokens),
                                 result.milliseconds.back());
    }
    for (auto& [x, memory] : job.state.ranks[me])
        std::copy_n(bound->template memory<float>(x).begin(), memory.size(), memory.begin());
    if constexpr (requires { on.times(); }) result.times = on.times();
    return {};
}

}  // namespace trainer

#endif
