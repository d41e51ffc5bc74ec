// The training of the trainer's network by hand: the model and its derivatives written down as a program that runs
// chunk by chunk, on all ranks, one kernel after the other. No IR, plan, order or executor takes part; only kernels are
// shared.
#ifndef STRETTO_TESTS_EXAMPLES_MOE_TRAINER_EAGER_HPP
#define STRETTO_TESTS_EXAMPLES_MOE_TRAINER_EAGER_HPP

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernels.hpp"
#include "model.hpp"
#include "training.hpp"

namespace eager {

using stretto::element_type;
using trainer::code;
using trainer::extents;

struct array {
    extents shape = {};
    element_type element = element_type::f32;
    std::vector<std::byte> memory = {};

    array() = default;
    explicit array(extents s, element_type e = element_type::f32)
        : shape(std::move(s)), element(e), memory(static_cast<std::size_t>(stretto::size_of(e, shape))) {}
    template <class E>
    array(extents s, element_type e, const std::vector<E>& from) : array(std::move(s), e) {
        std::copy(from.begin(), from.end(), as<E>());
    }
    template <class E = float>
    E* as() {
        return reinterpret_cast<E*>(memory.data());
    }
    template <class E = float>
    const E* as() const {
        return reinterpret_cast<const E*>(memory.data());
    }
    array in(extents s) const {
        array other = *this;
        other.shape = std::move(s);
        return other;
    }
};

/// Calls one kernel.
inline std::vector<array> call_all(code what, std::vector<array> reads, std::vector<array> makes,
                                   std::int64_t field = 0) {
    trainer::program p;
    std::vector<trainer::tensor_id> in;
    for (const array& x : reads) in.push_back(p.make(code::given, {}, x.shape, x.element));
    const trainer::op_id o = p.record(what, in, field);
    for (const array& x : makes) p.result(o, x.shape, x.element);
    std::vector<std::byte*> from, to;
    for (array& x : reads) from.push_back(x.memory.data());
    for (array& x : makes) to.push_back(x.memory.data());
    compute(p, o, {from, to});
    return makes;
}
inline array call(code what, std::vector<array> reads, extents shape, element_type e = element_type::f32,
                  std::int64_t field = 0) {
    return std::move(call_all(what, std::move(reads), {array(std::move(shape), e)}, field)[0]);
}
inline array sum(const array& a, const array& b) { return call(code::add, {a, b}, a.shape); }

/// What a layer of experts on one rank remembers for its backward.
struct routing {
    array y, chosen, scores, gated, from, token, tally, ends, rows, both, inside, back, portion;
};
struct layer_memory {
    array x, y, qkv, seen, middle, shared, swished;
    routing r;
};

class training {
public:
    training(const trainer::training_step& s, trainer::training_state state)
        : s_(s), m_(s.p.mesh), state_(std::move(state)) {}

    /// One step in such chunks. Returns the mean loss.
    double step(const std::string& text, const std::vector<std::int64_t>& chunks) {
        const std::size_t ranks = state_.ranks.size();
        weights_.assign(ranks, {});
        gradients_.assign(ranks, {});
        tallies_.assign(s_.expert_bias.size(), std::vector<std::int64_t>(static_cast<std::size_t>(shape().experts)));
        for (std::size_t r = 0; r < ranks; ++r) {
            for (const trainer::weight& w : s_.weights) {
                array whole(w.shape);
                float* to = whole.as();
                for (const std::size_t other : sharers(w, r))
                    for (const float x : state_.ranks[other].at(w.share)) *to++ = x;
                weights_[r][w.name] = std::move(whole);
            }
        }
        std::vector<trainer::drawn_text> drawn;
        for (std::size_t r = 0; r < ranks; ++r)
            drawn.push_back(draw(text, shape(), state_.seed, state_.steps, static_cast<std::int64_t>(r)));
        std::vector<float> losses(ranks, 0.0f);
        std::int64_t first = 0;
        for (std::size_t c = 0; c < chunks.size(); first += chunks[c++]) run_chunk(drawn, first, chunks[c], c, losses);
        learn();
        ++state_.steps;
        double all = 0;
        for (const float x : losses) all += static_cast<double>(x);
        return all / static_cast<double>(m_.ranks * shape().batch * shape().sequence);
    }
    [[nodiscard]] const trainer::training_state& state() const { return state_; }

private:
    [[nodiscard]] const trainer::model_shape& shape() const { return s_.shape; }
    /// The ranks that have shares of a weight, in the order of their shares.
    [[nodiscard]] std::vector<std::size_t> sharers(const trainer::weight& w, std::size_t rank) const {
        std::vector<std::size_t> all;
        const auto block = static_cast<std::size_t>(m_.expert_ranks);
        for (std::size_t r = 0; r < state_.ranks.size(); ++r)
            if (!w.is_of_experts || r % block == rank % block) all.push_back(r);
        return all;
    }
    const array& weight(std::size_t r, const std::string& name) const { return weights_[r].at(name); }
    void add_gradient(std::size_t r, const std::string& name, array g) {
        const auto [at, is_new] = gradients_[r].emplace(name, g);
        if (!is_new) at->second = sum(at->second, g);
    }
    array round(array x) const { return shape().rounds ? call(code::round16, {x}, x.shape) : x; }

    void run_chunk(const std::vector<trainer::drawn_text>& drawn, std::int64_t first, std::int64_t b, std::size_t c,
                   std::vector<float>& losses) {
        const std::size_t ranks = state_.ranks.size();
        const std::int64_t n = b * shape().sequence, w = shape().width;
        std::vector<array> text, targets, x;
        const auto rows = [&](const std::vector<std::int32_t>& all) {
            const auto from = all.begin() + first * shape().sequence;
            return array({b, shape().sequence}, element_type::i32, std::vector<std::int32_t>(from, from + n));
        };
        for (std::size_t r = 0; r < ranks; ++r) {
            text.push_back(rows(drawn[r].text));
            targets.push_back(rows(drawn[r].targets));
            x.push_back(
                call(code::embed, {weight(r, "embedding.table"), text[r]}, {b, shape().sequence, w}).in({n, w}));
        }
        std::vector<std::vector<layer_memory>> memory(static_cast<std::size_t>(shape().layers),
                                                      std::vector<layer_memory>(ranks));
        for (std::size_t l = 0; l < memory.size(); ++l) forward(l, b, memory[l], x);
        std::vector<array> g;
        for (std::size_t r = 0; r < ranks; ++r) {
            const std::int64_t v = shape().vocabulary;
            const array y = call(code::norm, {x[r], weight(r, "head.norm")}, {n, w});
            const array likely =
                call(code::log_softmax, {call(code::project, {y, weight(r, "head.out")}, {n, v})}, {n, v});
            const float loss =
                *call_all(code::loss, {likely, targets[r].in({n})}, {array(extents{}), array(extents{})})[0].as();
            losses[r] = c == 0 ? loss : losses[r] + loss;
            const array seed(
                {1}, element_type::f32,
                std::vector<float>{1.0f / static_cast<float>(m_.ranks * shape().batch * shape().sequence)});
            const array d = call(code::log_softmax_back,
                                 {call(code::loss_back, {seed, likely, targets[r].in({n})}, {n, v}), likely}, {n, v});
            add_gradient(r, "head.out", call(code::weigh, {y, d}, {w, v}));
            g.push_back(norm_back(r, "head.norm", call(code::project_back, {d, weight(r, "head.out")}, {n, w}), x[r]));
        }
        for (std::size_t l = memory.size(); l-- > 0;) backward(l, b, memory[l], g);
        for (std::size_t r = 0; r < ranks; ++r)
            add_gradient(r, "embedding.table",
                         call(code::embed_back, {g[r].in({b, shape().sequence, w}), text[r]}, {shape().vocabulary, w}));
    }

    array norm_back(std::size_t r, const std::string& name, const array& g, const array& x) {
        auto both = call_all(code::norm_back, {g, x, weight(r, name)}, {array(x.shape), array(extents{x.shape[1]})});
        add_gradient(r, name, both[1]);
        return both[0];
    }
    array linear_back(std::size_t r, const std::string& name, const array& x, const array& g) {
        add_gradient(r, name, call(code::weigh, {x, g}, weight(r, name).shape));
        return call(code::project_back, {g, weight(r, name)}, x.shape);
    }
    array linear(std::size_t r, const std::string& name, const array& x) const {
        return call(code::project, {x, weight(r, name)}, {x.shape[0], weight(r, name).shape[1]});
    }

    void forward(std::size_t l, std::int64_t b, std::vector<layer_memory>& all, std::vector<array>& x) {
        const std::string a = "layers." + std::to_string(l) + ".attention.";
        const std::string e = "layers." + std::to_string(l) + ".experts.";
        const std::int64_t t = shape().sequence, n = b * t, w = shape().width, k = shape().chosen;
        for (std::size_t r = 0; r < all.size(); ++r) {
            layer_memory& m = all[r];
            m.x = x[r];
            m.y = call(code::norm, {m.x, weight(r, a + "norm")}, {n, w});
            m.qkv = linear(r, a + "in", m.y).in({b, t, 3 * w});
            m.seen = call(code::attend, {m.qkv}, {b, t, w}, element_type::f32, shape().heads).in({n, w});
            m.middle = sum(m.x, linear(r, a + "out", m.seen));
            routing& to = m.r;
            to.y = call(code::norm, {m.middle, weight(r, e + "norm")}, {n, w});
            to.scores = call(code::sigmoid, {linear(r, e + "router", to.y)}, {n, shape().experts});
            const array bias({shape().experts}, element_type::f32, state_.ranks[r].at(s_.expert_bias[l]));
            to.chosen = call(code::choose, {to.scores, bias}, {n, k}, element_type::i32);
            to.gated = call(code::gate, {to.scores, to.chosen}, {n, k});
            const array expert = to.chosen.in({n * k});
            to.from = call_all(code::line_up, {expert},
                               {array({n * k}, element_type::i32), array({n * k}, element_type::i32)})[1];
            to.token = call(code::token_of, {to.from}, {n * k}, element_type::i32, k);
            to.tally = call(code::tally, {expert}, {shape().experts}, element_type::i64);
            for (std::size_t j = 0; j < tallies_[l].size(); ++j) tallies_[l][j] += to.tally.as<std::int64_t>()[j];
            to.portion =
                call(code::fetch, {call(code::portion, {to.gated}, {n, k}).in({n * k, 1}), to.from}, {n * k, 1});
            to.rows = round(call(code::fetch, {to.y, to.token}, {n * k, w}));
        }
        std::vector<array> rows = there(all, n, [](const routing& to) -> const array& { return to.rows; });
        for (std::size_t r = 0; r < all.size(); ++r) {
            routing& to = all[r].r;
            to.rows = rows[r];
            const std::int64_t room = to.rows.shape[0], h = shape().hidden;
            to.both = call(code::expert, {to.rows, weight(r, e + "in"), to.ends}, {room, 2 * h});
            to.inside = call(code::expert_swish, {to.both, to.ends}, {room, h});
            to.back = round(call(code::expert, {to.inside, weight(r, e + "out"), to.ends}, {room, w}));
        }
        rows = back(all, n, [](const routing& to) -> const array& { return to.back; });
        for (std::size_t r = 0; r < all.size(); ++r) {
            layer_memory& m = all[r];
            m.r.back = rows[r];
            const array weighed = call(code::scale, {m.r.back, m.r.portion}, {n * k, w});
            const array routed = call(code::put, {array({n, w}), m.r.token, weighed}, {n, w});
            m.shared = linear(r, e + "shared_in", m.r.y);
            m.swished = call(code::swish, {m.shared}, {n, shape().shared});
            x[r] = sum(sum(m.middle, linear(r, e + "shared_out", m.swished)), routed);
        }
    }

    void backward(std::size_t l, std::int64_t b, std::vector<layer_memory>& all, std::vector<array>& g) {
        const std::string a = "layers." + std::to_string(l) + ".attention.";
        const std::string e = "layers." + std::to_string(l) + ".experts.";
        const std::int64_t t = shape().sequence, n = b * t, w = shape().width, k = shape().chosen;
        std::vector<array> dy, portions;
        for (std::size_t r = 0; r < all.size(); ++r) {
            layer_memory& m = all[r];
            const array inner = linear_back(r, e + "shared_out", m.swished, g[r]);
            dy.push_back(
                linear_back(r, e + "shared_in", m.r.y, call(code::swish_back, {inner, m.shared}, m.shared.shape)));
            const array rows = call(code::fetch, {g[r], m.r.token}, {n * k, w});
            portions.push_back(call(code::dot, {rows, m.r.back}, {n * k, 1}));
            m.r.back = call(code::scale, {rows, m.r.portion}, {n * k, w});
        }
        std::vector<array> rows = there(all, n, [](const routing& to) -> const array& { return to.back; });
        for (std::size_t r = 0; r < all.size(); ++r) {
            routing& to = all[r].r;
            const array d = round(rows[r]);
            add_gradient(r, e + "out", call(code::weigh_experts, {to.inside, d, to.ends}, weight(r, e + "out").shape));
            const array inner = call(code::expert_back, {d, weight(r, e + "out"), to.ends}, to.inside.shape);
            const array both = call(code::expert_swish_back, {inner, to.both, to.ends}, to.both.shape);
            add_gradient(r, e + "in", call(code::weigh_experts, {to.rows, both, to.ends}, weight(r, e + "in").shape));
            to.back = call(code::expert_back, {both, weight(r, e + "in"), to.ends}, to.rows.shape);
        }
        rows = back(all, n, [](const routing& to) -> const array& { return to.back; });
        for (std::size_t r = 0; r < all.size(); ++r) {
            layer_memory& m = all[r];
            const routing& to = m.r;
            const array fetched = call(code::put, {array({n, w}), to.token, round(rows[r])}, {n, w});
            const array portion = call(code::put, {array({n * k, 1}), to.from, portions[r]}, {n * k, 1}).in({n, k});
            const array gated = call(code::portion_back, {portion, to.gated}, {n, k});
            const array scores = call(code::gate_back, {array(to.scores.shape), to.chosen, gated}, to.scores.shape);
            const array router =
                linear_back(r, e + "router", to.y, call(code::sigmoid_back, {scores, to.scores}, to.scores.shape));
            const array middle = sum(g[r], norm_back(r, e + "norm", sum(sum(dy[r], fetched), router), m.middle));
            const array seen = linear_back(r, a + "out", m.seen, middle);
            const array qkv =
                call(code::attend_back, {seen.in({b, t, w}), m.qkv}, m.qkv.shape, element_type::f32, shape().heads);
            g[r] = sum(middle, norm_back(r, a + "norm", linear_back(r, a + "in", m.y, qkv.in({n, 3 * w})), m.x));
        }
    }

    /// How many rows rank `from` has for each expert of rank `to`, both of one block.
    static std::int64_t tally(const std::vector<layer_memory>& all, std::size_t from, std::int64_t expert) {
        return all[from].r.tally.as<std::int64_t>()[expert];
    }
    /// Rows to the ranks that have their experts, rank by rank; `ends` of the groups in which they lie are noted.
    template <class Rows>
    std::vector<array> there(std::vector<layer_memory>& all, std::int64_t n, Rows rows) {
        const std::int64_t w = shape().width, block = m_.expert_ranks, own = shape().experts / block;
        const std::int64_t room = block * n * std::min(shape().chosen, own);
        std::vector<array> made;
        for (std::size_t r = 0; r < all.size(); ++r) {
            array to({room, w});
            array ends({shape().experts}, element_type::i64);
            std::int64_t at = 0, group = 0;
            const std::size_t first = r / static_cast<std::size_t>(block) * static_cast<std::size_t>(block);
            for (std::size_t q = first; q < first + static_cast<std::size_t>(block); ++q) {
                std::int64_t from = 0;
                for (std::int64_t e = 0; e < shape().experts; ++e) {
                    const std::int64_t many = tally(all, q, e);
                    if (e / own == static_cast<std::int64_t>(r - first)) {
                        std::copy_n(rows(all[q].r).as() + from * w, many * w, to.as() + at * w);
                        at += many;
                        ends.as<std::int64_t>()[group++] = at;
                    }
                    from += many;
                }
            }
            made.push_back(std::move(to));
            all[r].r.ends = std::move(ends);
        }
        return made;
    }
    template <class Rows>
    std::vector<array> back(const std::vector<layer_memory>& all, std::int64_t n, Rows rows) {
        const std::int64_t w = shape().width, block = m_.expert_ranks, own = shape().experts / block;
        std::vector<array> made(all.size(), array({n * shape().chosen, w}));
        for (std::size_t r = 0; r < all.size(); ++r) {
            std::int64_t at = 0;
            const std::size_t first = r / static_cast<std::size_t>(block) * static_cast<std::size_t>(block);
            for (std::size_t q = first; q < first + static_cast<std::size_t>(block); ++q)
                for (std::int64_t e = 0; e < shape().experts; ++e) {
                    if (e / own != static_cast<std::int64_t>(r - first)) continue;
                    std::int64_t before = 0;
                    for (std::int64_t j = 0; j < e; ++j) before += tally(all, q, j);
                    const std::int64_t many = tally(all, q, e);
                    std::copy_n(rows(all[r].r).as() + at * w, many * w, made[q].as() + before * w);
                    at += many;
                }
        }
        return made;
    }

    void learn() {
        const std::vector<float> clock = trainer::clock_of(state_.steps);
        for (const trainer::weight& w : s_.weights)
            for (std::size_t r = 0; r < state_.ranks.size(); ++r) {
                const std::vector<std::size_t> from = sharers(w, r);
                array g = gradients_[from[0]].at(w.name);
                for (std::size_t k = 1; k < from.size(); ++k) g = sum(g, gradients_[from[k]].at(w.name));
                std::vector<float>& share = state_.ranks[r].at(w.share);
                const std::size_t place =
                    static_cast<std::size_t>(std::find(from.begin(), from.end(), r) - from.begin()) * share.size();
                const float* const own = g.as() + place;
                for (std::size_t k = 0; k < share.size(); ++k) {
                    float& m = state_.ranks[r].at(w.mean)[k];
                    float& v = state_.ranks[r].at(w.square)[k];
                    m = 0.9f * m + 0.1f * own[k];
                    v = 0.99f * v + 0.01f * own[k] * own[k];
                    share[k] = share[k] - clock[0] * (m / clock[1]) / (std::sqrt(v / clock[2]) + 1e-8f);
                }
            }
        for (std::size_t l = 0; l < tallies_.size(); ++l) {
            std::int64_t all = 0;
            for (const std::int64_t k : tallies_[l]) all += k;
            for (trainer::rank_state& r : state_.ranks)
                for (std::size_t e = 0; e < tallies_[l].size(); ++e) {
                    const std::int64_t more = tallies_[l][e] * shape().experts - all;
                    r.at(s_.expert_bias[l])[e] += more < 0 ? 0.001f : more > 0 ? -0.001f : 0.0f;
                }
        }
    }

    const trainer::training_step& s_;
    trainer::mesh m_;
    trainer::training_state state_;
    std::vector<std::map<std::string, array>> weights_, gradients_;
    std::vector<std::vector<std::int64_t>> tallies_;
};

}  // namespace eager

#endif
