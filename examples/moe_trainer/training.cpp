#include "training.hpp"

#include <pthread.h>
#include <sched.h>

#include <array>
#include <chrono>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "adapters.hpp"
#include "kernels.hpp"
#include "stretto/backend/executor.hpp"
#include "stretto/backend/host/host_world.hpp"
#include "stretto/core/process_groups.hpp"
#include "stretto/schedule/checked_order.hpp"

namespace trainer {
namespace {

/// A number that depends on all of `keys`, and looks like chance (SplitMix64).
template <class... Keys>
std::uint64_t mixed(Keys... keys) {
    std::uint64_t x = 0;
    for (const std::uint64_t key : {static_cast<std::uint64_t>(keys)...}) {
        x += key + 0x9e3779b97f4a7c15u;
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        x ^= x >> 31;
    }
    return x;
}

/// Element k of weight number w, before the first step.
float first_weight(std::uint64_t seed, std::size_t w, std::int64_t k, float most) {
    const auto drawn = static_cast<double>(mixed(seed, w, k) >> 11) / 9007199254740992.0;  // below 1
    return static_cast<float>((2 * drawn - 1) * static_cast<double>(most));
}

/// Groups of the program, which are the same for every rank, and the groups of ranks that they are.
struct physical_groups {
    stretto::process_groups all;
    std::vector<std::vector<stretto::group_id>> of_rank;  // by rank, by group of the program

    explicit physical_groups(const program& p) : of_rank(static_cast<std::size_t>(p.mesh.ranks)) {
        const auto ranks = static_cast<std::size_t>(p.mesh.ranks),
                   block = static_cast<std::size_t>(p.mesh.expert_ranks);
        for (const communicator& c : p.groups) {
            const bool replicas = c.what == communicator::of::replicas;
            const std::size_t size = c.what == communicator::of::world ? ranks : replicas ? ranks / block : block;
            const auto cosets = stretto::strided_groups(ranks, size, replicas ? block : 1);
            for (stretto::group_id g = 0; g < cosets.group_count(); ++g) {
                const stretto::group_id id = all.add(cosets.group_at(g));
                for (stretto::rank_id r : cosets.group_at(g).ranks) of_rank[r].push_back(id);
            }
        }
    }
};

/// A rank of the host, on which groups have the numbers of the program.
class rank_in_groups {
public:
    using queue_type = stretto::host_rank::queue_type;
    using communicator_type = stretto::host_rank::communicator_type;
    using arena_type = stretto::host_rank::arena_type;
    using event_type = stretto::host_rank::event_type;

    rank_in_groups(stretto::host_rank& rank, const std::vector<stretto::group_id>& groups)
        : rank_(rank), groups_(groups) {}

    queue_type& compute() { return rank_.compute(); }
    communicator_type* channel(stretto::group_id g) { return rank_.channel(groups_[g]); }
    event_type* make_events(std::size_t n) { return rank_.make_events(n); }
    std::optional<arena_type> make_arena(stretto::bytes size, std::size_t alignment) {
        return rank_.make_arena(size, alignment);
    }
    void begin() { rank_.begin(); }
    std::optional<stretto::run_failure> finish() { return rank_.finish(); }

private:
    stretto::host_rank& rank_;
    const std::vector<stretto::group_id>& groups_;
};
static_assert(stretto::backend<rank_in_groups>);

/// What the executor asks about the program, and the inputs of one rank.
struct source {
    const program* p;
    op_model model;
    std::vector<tensor_id> tensors = {};  // by value of the task graph
    std::map<tensor_id, std::byte*> inputs = {};
    std::vector<std::int64_t>* takes = nullptr;
    std::int64_t* busy = nullptr;
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
        const op_id o = p->order[t];
        return {p,
                o,
                {m.operands.begin(), m.operands.end()},
                {m.results.begin(), m.results.end()},
                takes == nullptr ? nullptr : &(*takes)[o],
                busy};
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

/// While it lives, threads that are made go before others.
class real_time {
public:
    explicit real_time(bool wanted) {
        sched_param most{};
        most.sched_priority = 1;
        pthread_getschedparam(pthread_self(), &policy_, &before_);
        changed_ = wanted && pthread_setschedparam(pthread_self(), SCHED_FIFO, &most) == 0;
    }
    real_time(const real_time&) = delete;
    real_time& operator=(const real_time&) = delete;
    ~real_time() {
        if (changed_) pthread_setschedparam(pthread_self(), policy_, &before_);
    }
    [[nodiscard]] bool is_on() const { return changed_; }

private:
    int policy_ = 0;
    sched_param before_{};
    bool changed_ = false;
};

}  // namespace

training_state first_state(const training_step& s, std::uint64_t seed) {
    training_state made{seed, 0, std::vector<rank_state>(static_cast<std::size_t>(s.p.mesh.ranks))};
    for (std::size_t rank = 0; rank < made.ranks.size(); ++rank) {
        rank_state& state = made.ranks[rank];
        const auto block = static_cast<std::size_t>(s.p.mesh.expert_ranks);
        for (std::size_t w = 0; w < s.weights.size(); ++w) {
            const weight& own = s.weights[w];
            const std::int64_t share = s.p.shape(own.share)[0];
            std::int64_t all = 1, first = 0;
            for (std::int64_t e : own.shape) all *= e;
            if (own.is_of_experts) first = static_cast<std::int64_t>(rank % block) * all;  // of all experts
            if (share < all) first += share * static_cast<std::int64_t>(own.is_of_experts ? rank / block : rank);
            const bool is_gain = own.shape.size() == 1, is_table = own.shape[0] == s.shape.vocabulary;
            const auto inside =
                static_cast<float>(is_table ? s.shape.width : own.shape[own.shape.size() - 2 + is_gain]);
            std::vector<float>& x = state[own.share];
            for (std::int64_t k = 0; k < share; ++k)
                x.push_back(is_gain ? 1.0f : first_weight(seed, w, first + k, std::sqrt(3.0f / inside)));
            state[own.mean].assign(static_cast<std::size_t>(share), 0.0f);
            state[own.square].assign(static_cast<std::size_t>(share), 0.0f);
        }
        for (tensor_id bias : s.expert_bias) state[bias].assign(static_cast<std::size_t>(s.shape.experts), 0.0f);
    }
    return made;
}

drawn_text draw(const std::string& text, const model_shape& s, std::uint64_t seed, std::int64_t step,
                std::int64_t rank) {
    drawn_text made;
    const auto length = static_cast<std::size_t>(s.sequence);
    const auto symbols = static_cast<unsigned>(s.vocabulary);
    for (std::int64_t b = 0; b < s.batch; ++b) {
        const std::size_t at = mixed(seed, step, rank, b) % (text.size() - length);
        for (std::size_t k = 0; k < length; ++k) {
            made.text.push_back(static_cast<std::int32_t>(static_cast<unsigned char>(text[at + k]) % symbols));
            made.targets.push_back(static_cast<std::int32_t>(static_cast<unsigned char>(text[at + k + 1]) % symbols));
        }
    }
    return made;
}

double unigram_entropy(const std::string& text) {
    std::array<std::size_t, 256> times{};
    for (char c : text) ++times[static_cast<unsigned char>(c)];
    double sum = 0;
    for (std::size_t n : times)
        if (n != 0) {
            const double share = static_cast<double>(n) / static_cast<double>(text.size());
            sum -= share * std::log(share);
        }
    return sum;
}

std::vector<float> clock_of(std::int64_t step) {
    const double t = static_cast<double>(step) + 1;
    return {static_cast<float>(0.004 * std::min(1.0, t / 10) / std::sqrt(1 + t / 200)),
            static_cast<float>(1 - std::pow(0.9, t)), static_cast<float>(1 - std::pow(0.99, t))};
}

std::optional<std::string> train(const training_step& s, const program& p, const stretto::task_graph& tasks,
                                 const std::vector<stretto::task_id>& order, const std::string& text,
                                 const run_options& options, training_state& state, run_result& result) {
    const auto checked = stretto::check_order(tasks, order);
    if (!checked) return "the order is not one of the step";
    const physical_groups groups(p);
    const std::int64_t tokens = s.shape.batch * s.shape.sequence * p.mesh.ranks;
    std::vector<std::vector<float>> losses(state.ranks.size());  // sums over the tokens of a rank, by rank and step
    std::unique_ptr<stretto::host_world> world;
    {
        const real_time priority(options.real_time);  // of the channels, which are made here
        world = std::make_unique<stretto::host_world>(
            state.ranks.size(), groups.all, stretto::host_options{.link = options.link, .timed = options.timed});
    }
    if (options.timed) result.times.resize(state.ranks.size());
    const auto failure = world->run([&](stretto::host_rank& on) {
        const std::size_t me = on.rank();
        rank_in_groups rank(on, groups.of_rank[me]);
        source mine(p);
        mine.takes = me == 0 ? options.takes : nullptr;
        std::int64_t busy = 0;
        mine.busy = me == 0 ? &busy : nullptr;
        drawn_text drawn;
        drawn.text.resize(static_cast<std::size_t>(s.shape.batch * s.shape.sequence));
        drawn.targets = drawn.text;
        std::vector<float> seed = {1.0f / static_cast<float>(tokens)}, clock(3);
        for (auto& [x, memory] : state.ranks[me]) mine.inputs[x] = reinterpret_cast<std::byte*>(memory.data());
        mine.inputs[s.text] = reinterpret_cast<std::byte*>(drawn.text.data());
        mine.inputs[s.targets] = reinterpret_cast<std::byte*>(drawn.targets.data());
        mine.inputs[s.seed] = reinterpret_cast<std::byte*>(seed.data());
        mine.inputs[s.clock] = reinterpret_cast<std::byte*>(clock.data());
        auto bound = stretto::bind_order(tasks, *checked, mine, rank);
        if (!bound) {
            const stretto::task_id t = bound.error().task;
            throw std::runtime_error((t == stretto::no_task ? "the step" : entry_of(p.ops[p.order[t]].what).name) +
                                     (" " + explain(bound.error())));
        }
        const auto loss = static_cast<stretto::value_id>(
            std::find(mine.tensors.begin(), mine.tensors.end(), p.kept()[0]) - mine.tensors.begin());
        for (std::int64_t k = 0; k < options.steps; ++k) {
            const drawn_text next = draw(text, s.shape, state.seed, state.steps + k, static_cast<std::int64_t>(me));
            std::copy(next.text.begin(), next.text.end(), drawn.text.begin());
            std::copy(next.targets.begin(), next.targets.end(), drawn.targets.begin());
            const std::vector<float> now = clock_of(state.steps + k);
            std::copy(now.begin(), now.end(), clock.begin());
            busy = 0;
            const auto since = std::chrono::steady_clock::now();
            if (bound->replay()) return;
            losses[me].push_back(*reinterpret_cast<const float*>(bound->address(loss)));
            if (me != 0) continue;
            result.milliseconds.push_back(
                std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - since).count());
            result.busy.push_back(static_cast<double>(busy) / 1e6);
            if (options.progress)
                options.progress(state.steps + k,
                                 static_cast<double>(losses[0].back() * seed[0]) * static_cast<double>(p.mesh.ranks),
                                 result.milliseconds.back());
        }
        if (options.timed) result.times[me] = on.times();
    });
    if (failure) return explain(*failure, [&](stretto::task_id t) { return entry_of(p.ops[p.order[t]].what).name; });
    for (std::size_t k = 0; k < static_cast<std::size_t>(options.steps); ++k) {
        double sum = 0;
        for (const std::vector<float>& own : losses) sum += static_cast<double>(own[k]);
        result.losses.push_back(sum / static_cast<double>(tokens));
    }
    state.steps += options.steps;
    return {};
}

bool may_use_real_time() { return real_time(true).is_on(); }

}  // namespace trainer
