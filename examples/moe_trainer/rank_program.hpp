// What one rank does in a run, whatever backend it is on: binds the order, and makes steps.
#ifndef MOE_TRAINER_RANK_PROGRAM_HPP
#define MOE_TRAINER_RANK_PROGRAM_HPP

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "adapters.hpp"
#include "kernels.hpp"
#include "stretto/backend/executor.hpp"
#include "stretto/core/process_groups.hpp"
#include "transport.hpp"

namespace trainer {

/// Groups of the program, which are the same for every rank, and the groups of ranks that they are.
struct physical_groups {
    stretto::process_groups all;
    std::vector<std::vector<stretto::group_id>> of_rank;  // by rank, by group of the program

    explicit physical_groups(const program& p) : of_rank(static_cast<std::size_t>(p.mesh.ranks)) {
        for (stretto::group_id c = 0; c < p.groups.size(); ++c) {
            const auto [members, stride] = p.spread_of(c);
            const auto cosets = stretto::strided_groups(of_rank.size(), static_cast<std::size_t>(members),
                                                        static_cast<std::size_t>(stride));
            for (stretto::group_id g = 0; g < cosets.group_count(); ++g) {
                const stretto::group_id id = all.add(cosets.group_at(g));
                for (stretto::rank_id r : cosets.group_at(g).ranks) of_rank[r].push_back(id);
            }
        }
    }
};

/// A rank of a backend, on which groups have the numbers of the program.
template <stretto::backend Rank>
class rank_in_groups {
public:
    using queue_type = typename Rank::queue_type;
    using communicator_type = typename Rank::communicator_type;
    using arena_type = typename Rank::arena_type;
    using event_type = typename Rank::event_type;

    rank_in_groups(Rank& rank, const std::vector<stretto::group_id>& groups) : rank_(rank), groups_(groups) {}

    queue_type& compute() { return rank_.compute(); }
    communicator_type* channel(stretto::group_id g) { return rank_.channel(groups_[g]); }
    event_type* make_events(std::size_t n) { return rank_.make_events(n); }
    std::optional<arena_type> make_arena(stretto::bytes size, std::size_t alignment) {
        return rank_.make_arena(size, alignment);
    }
    void begin() { rank_.begin(); }
    std::optional<stretto::run_failure> finish() { return rank_.finish(); }

private:
    Rank& rank_;
    const std::vector<stretto::group_id>& groups_;
};

/// What the executor asks about the program, and where the inputs of one rank are.
struct source {
    const program* p;
    op_model model;
    std::vector<tensor_id> tensors = {};  // by value of the task graph
    std::map<tensor_id, std::byte*> inputs = {};
    // The amounts of an exchange: those received stand behind its rows, and those sent behind these.
    std::vector<stretto::split_size> first = {}, second = {};

    explicit source(const program& of) : p(&of), model{p, {}} {
        for (op_id o : p->order) tensors.insert(tensors.end(), p->ops[o].makes.begin(), p->ops[o].makes.end());
        const std::int64_t block = p->mesh.expert_ranks;
        for (std::int64_t r = 0; r < block; ++r) {
            first.push_back({stretto::split_size::form::measured, 1 + r});
            second.push_back({stretto::split_size::form::measured, 1 + block + r});
        }
    }
    trainer::kernel kernel(stretto::task_id t, stretto::task_memory m) const {
        return {p, p->order[t], {m.operands.begin(), m.operands.end()}, {m.results.begin(), m.results.end()}};
    }
    stretto::collective_call call(stretto::task_id t) const {
        stretto::collective_call c = model.call(p->order[t]);
        if (p->ops[p->order[t]].what == code::send_rows) c.input_sizes = second, c.output_sizes = first;
        return c;
    }
    stretto::bytes row_bytes(stretto::task_id t) const { return {4 * p->shape(p->ops[p->order[t]].makes[0]).back()}; }
    stretto::bytes offset(stretto::value_id x) const { return {p->offset(tensors[x])}; }
    std::byte* address(stretto::value_id x) const {
        const auto at = inputs.find(tensors[x]);
        return at == inputs.end() ? nullptr : at->second;
    }
};

/// The inputs of one rank, in memory of its backend, which collectives can reach.
template <class Arena>
class input_memory {
public:
    /// Throws if there is no such memory.
    template <class Rank>
    input_memory(const program& p, Rank& rank) {
        std::int64_t size = 0;
        const auto each = [&](auto f) {
            for (op_id o : p.order)
                if (p.ops[o].what == code::given)
                    for (tensor_id x : p.ops[o].makes) f(x, (p.tensors[x].size() + 63) / 64 * 64);
        };
        each([&](tensor_id, std::int64_t n) { size += n; });
        memory_ = rank.make_arena({size}, 64);
        if (!memory_) throw std::runtime_error("there is no memory for the weights: use a smaller network");
        std::byte* next = memory_->data();
        each([&](tensor_id x, std::int64_t n) { at_[x] = std::exchange(next, next + n); });
    }
    [[nodiscard]] const std::map<tensor_id, std::byte*>& addresses() const { return at_; }
    template <class T>
    void write(tensor_id x, const std::vector<T>& from) {
        std::memcpy(at_.at(x), from.data(), from.size() * sizeof(T));
    }
    template <class T>
    void read(tensor_id x, std::vector<T>& to) const {
        std::memcpy(to.data(), at_.at(x), to.size() * sizeof(T));
    }

private:
    std::optional<Arena> memory_;
    std::map<tensor_id, std::byte*> at_;
};

[[nodiscard]] inline std::string words_of(const stretto::run_failure& f, const program& p) {
    return explain(f, [&](stretto::task_id t) { return entry_of(p.ops[p.order[t]].what).name; });
}

/// The part of one rank in a job. Throws if the order cannot be bound.
template <stretto::backend Rank>
[[nodiscard]] std::optional<stretto::run_failure> run_rank(rank_job& job, const physical_groups& groups, Rank& on) {
    const std::size_t me = on.rank();
    const training_step& s = job.step;
    const std::int64_t tokens = s.shape.batch * s.shape.sequence * job.p.mesh.ranks;
    rank_in_groups<Rank> rank(on, groups.of_rank[me]);
    input_memory<typename Rank::arena_type> inputs(job.p, rank);
    for (const auto& [x, memory] : job.state.ranks[me]) inputs.write(x, memory);
    inputs.write(s.seed, std::vector<float>{1.0f / static_cast<float>(tokens)});
    source mine(job.p);
    mine.inputs = inputs.addresses();
    auto bound = stretto::bind_order(job.tasks, job.order, mine, rank);
    if (!bound) {
        const stretto::task_id t = bound.error().task;
        throw std::runtime_error((t == stretto::no_task ? "the step" : entry_of(job.p.ops[job.p.order[t]].what).name) +
                                 (" " + explain(bound.error())));
    }
    const auto loss = static_cast<stretto::value_id>(
        std::find(mine.tensors.begin(), mine.tensors.end(), job.p.kept()[0]) - mine.tensors.begin());
    rank_result& result = job.results[me];
    for (std::int64_t k = 0; k < job.options.steps; ++k) {
        const std::int64_t step = job.state.steps + k;
        const drawn_text next = draw(job.text, s.shape, job.state.seed, step, static_cast<std::int64_t>(me));
        inputs.write(s.text, next.text);
        inputs.write(s.targets, next.targets);
        inputs.write(s.clock, clock_of(step));
        const auto since = std::chrono::steady_clock::now();
        if (auto failure = bound->replay()) return failure;
        result.milliseconds.push_back(
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - since).count());
        result.losses.push_back(*reinterpret_cast<const float*>(bound->address(loss)));
        if (me == 0 && job.options.progress)
            job.options.progress(step,
                                 static_cast<double>(result.losses.back()) * static_cast<double>(job.p.mesh.ranks) /
                                     static_cast<double>(tokens),
                                 result.milliseconds.back());
    }
    for (auto& [x, memory] : job.state.ranks[me]) inputs.read(x, memory);
    if constexpr (requires { on.times(); }) result.times = on.times();
    return {};
}

}  // namespace trainer

#endif
