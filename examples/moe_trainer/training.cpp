#include "training.hpp"

#include <array>
#include <cmath>

#include "stretto/schedule/checked_order.hpp"
#include "transport.hpp"

namespace trainer {
namespace {

/// Returns a number that depends on all of `keys`, and looks random (SplitMix64).
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

/// Returns element k of weight number w before the first step, between -most and most.
float first_weight(std::uint64_t seed, std::size_t w, std::int64_t k, float most) {
    const auto drawn = static_cast<double>(mixed(seed, w, k) >> 11) / 9007199254740992.0;  // below 1
    return static_cast<float>((2 * drawn - 1) * static_cast<double>(most));
}

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

std::optional<std::string> train(transport& on, const training_step& s, const program& p,
                                 const stretto::task_graph& tasks, const std::vector<stretto::task_id>& order,
                                 const std::string& text, const run_options& options, training_state& state,
                                 run_result& result) {
    const auto checked = stretto::check_order(tasks, order);
    if (!checked) return "the order is not one of the step";
    rank_job job{s, p, tasks, *checked, text, options, state, std::vector<rank_result>(state.ranks.size())};
    if (auto wrong = on.run(job)) return wrong;
    const auto before = static_cast<std::uint32_t>(result.losses.size());
    const auto tokens = static_cast<double>(s.shape.batch * s.shape.sequence * p.mesh.ranks);
    for (std::size_t k = 0; k < static_cast<std::size_t>(options.steps); ++k) {
        double sum = 0;
        for (const rank_result& own : job.results) sum += static_cast<double>(own.losses[k]);
        result.losses.push_back(sum / tokens);
        result.milliseconds.push_back(job.results[0].milliseconds[k]);
    }
    for (const rank_result& own : job.results)
        for (stretto::measured_span x : own.times) {
            x.step += before;
            result.times.push_back(x);
        }
    state.steps += options.steps;
    return {};
}

}  // namespace trainer
