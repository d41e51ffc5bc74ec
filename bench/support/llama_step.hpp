// A joint training step of a dense transformer with the dimensions of Llama 3 70B: forward, loss and backward, sharded
// by FSDP over 64 ranks, where backward computes each layer anew before it differentiates it. Each parameter is
// gathered twice and each gradient reduced once, as captures have it before anything is merged. Deterministic.
#ifndef STRETTO_BENCH_SUPPORT_LLAMA_STEP_HPP
#define STRETTO_BENCH_SUPPORT_LLAMA_STEP_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/core/op_model.hpp"
#include "support/step_pen.hpp"

namespace bench {

namespace detail {

class llama_writer : step_pen {
public:
    explicit llama_writer(std::uint32_t layers) : step_pen(std::size_t{layers} * 450 + 100) {}

    synthetic_step write(std::uint32_t layers) {
        std::vector<layer> all(layers);
        const node tokens = input(64);
        const weight embedding = parameter(vocabulary);
        const node embedded = kernel(90, hidden, {gather(embedding), view(tokens)});
        node x = embedded;
        for (layer& l : all) {
            for (std::size_t w = 0; w < l.weights.size(); ++w) l.weights[w] = parameter(size_of(w));
            l.in = x;
            x = forward(l);
        }
        node gradient = loss(x);
        for (std::uint32_t l = layers; l-- > 0;) {
            forward(all[l]);
            gradient = backward(all[l], gradient);
        }
        reduce(kernel(90, vocabulary, {view(gradient), view(tokens)}), vocabulary);
        return finish(results_);
    }

private:
    // KiB of one rank: 8,192 tokens in bfloat16, of 8,192 channels, of 1,024 for keys and values, and of 28,672 within
    // the feed-forward; twice that in f32. Weights as they are gathered, in bfloat16.
    static constexpr std::int32_t hidden = 131072, narrow = 16384, wide = 458752, ranks = 64;
    static constexpr std::int32_t square = 131072, vocabulary = 2052096, scale = 16;
    // Microseconds of multiplying all tokens by a weight of so many KiB.
    static constexpr std::int32_t multiply_us(std::int32_t kib) { return 10 + kib / 72; }

    enum weight_name : std::size_t {
        attention_norm,
        query,
        key,
        value,
        output,
        feed_forward_norm,
        gate,
        up,
        down,
        weight_names
    };
    [[nodiscard]] static std::int32_t size_of(std::size_t name) {
        constexpr std::array<std::int32_t, weight_names> kib = {scale, square, narrow, narrow, square,
                                                                scale, wide,   wide,   wide};
        return kib[name];
    }

    struct weight {
        node shard = 0;        // as the optimiser keeps it, in f32
        std::int32_t kib = 0;  // gathered
    };
    struct norm_state {
        node wide_in = 0, inverse = 0, normed = 0;
    };
    /// What backward reads of a layer: of the last time that it was computed.
    struct layer {
        std::array<weight, weight_names> weights;
        std::array<node, weight_names> whole = {}, read = {};
        node in = 0;
        std::array<norm_state, 2> norms;
        node q = 0, k = 0, v = 0, attended = 0, gated = 0, activated = 0, raised = 0;
    };

    weight parameter(std::int32_t kib) { return {input(kib / ranks * 2 + 1), kib}; }
    node gather(const weight& w) {
        const node cast = kernel(3 + w.kib / 65536, w.kib / ranks + 1, {w.shard});
        return view(move(view(cast), transfer_us(w.kib), w.kib, stretto::collective_kind::all_gather, fsdp));
    }
    /// Sends a gradient to the rank that owns the shard, where it becomes a result of the step.
    void reduce(node gradient, std::int32_t kib) {
        const node parts = kernel(4 + kib / 2048, kib, {view(gradient)});
        const node sum = move(parts, transfer_us(kib), kib / ranks + 1, stretto::collective_kind::reduce_scatter, fsdp);
        results_.push_back(view(kernel(3, kib / ranks * 2 + 1, {view(sum)})));
    }

    node apply(layer& l, weight_name name, node in, std::int32_t out_kib) {
        l.read[name] = in;
        l.whole[name] = gather(l.weights[name]);
        const std::int32_t us = multiply_us(l.weights[name].kib);
        return view(kernel(us, out_kib, {view(in), view(l.whole[name])}));
    }
    /// The gradient of the input; the gradient of the weight goes to its owner.
    node apply_backward(const layer& l, weight_name name, node gradient, std::int32_t in_kib) {
        const std::int32_t kib = l.weights[name].kib, us = multiply_us(kib);
        const node flat = view(gradient);
        reduce(view(kernel(us, kib, {view(flat), view(l.read[name])})), kib);
        return view(kernel(us, in_kib, {flat, view(view(l.whole[name]))}));
    }

    node norm(layer& l, std::size_t which, weight_name name, node in) {
        norm_state& n = l.norms[which];
        n.wide_in = kernel(130, hidden * 2, {in});
        const node mean = kernel(60, 32, {kernel(170, hidden * 2, {n.wide_in})});
        n.inverse = kernel(3, 32, {kernel(3, 32, {mean})});
        n.normed = kernel(130, hidden, {kernel(170, hidden * 2, {n.wide_in, n.inverse})});
        l.whole[name] = gather(l.weights[name]);
        return kernel(90, hidden, {n.normed, l.whole[name]});
    }
    node norm_backward(const layer& l, std::size_t which, weight_name name, node gradient) {
        const norm_state& n = l.norms[which];
        reduce(view(kernel(60, scale, {kernel(90, hidden, {gradient, n.normed})})), scale);
        const node scaled = kernel(130, hidden * 2, {kernel(90, hidden, {gradient, l.whole[name]})});
        const node along = kernel(60, 32, {kernel(170, hidden * 2, {scaled, n.wide_in})});
        const node cubed = kernel(3, 32, {kernel(3, 32, {n.inverse}), along});
        const node inner = kernel(170, hidden * 2, {n.wide_in, view(cubed)});
        const node outer = kernel(170, hidden * 2, {scaled, n.inverse});
        return kernel(130, hidden, {kernel(200, hidden * 2, {outer, inner})});
    }

    /// Turns queries or keys by their positions, as complex numbers; and back, in backward.
    node rotate(node x, std::int32_t kib) {
        const node pairs = view(view(kernel(20 + kib / 1200, kib * 2, {view(x)})));
        const node turned = view(view(kernel(20 + kib / 900, kib * 2, {pairs})));
        return kernel(20 + kib / 1200, kib, {turned});
    }

    node forward(layer& l) {
        const node normed = norm(l, 0, attention_norm, l.in);
        l.q = view(rotate(view(apply(l, query, normed, hidden)), hidden));
        l.k = view(rotate(view(apply(l, key, normed, narrow)), narrow));
        l.v = view(view(apply(l, value, normed, narrow)));
        l.attended = kernel(2200, hidden, {l.q, l.k, l.v});
        const node middle = kernel(130, hidden, {l.in, apply(l, output, view(view(l.attended)), hidden)});
        const node fed = norm(l, 1, feed_forward_norm, middle);
        l.gated = apply(l, gate, fed, wide);
        l.activated = kernel(310, wide, {kernel(450, wide * 2, {kernel(450, wide * 2, {l.gated})})});
        l.raised = apply(l, up, fed, wide);
        const node lowered = apply(l, down, kernel(450, wide, {l.activated, l.raised}), hidden);
        return kernel(130, hidden, {middle, lowered});
    }

    node backward(const layer& l, node gradient) {
        const node inner = apply_backward(l, down, gradient, wide);
        const node of_raised = apply_backward(l, up, kernel(450, wide, {inner, l.activated}), hidden);
        const node of_activated = kernel(450, wide * 2, {kernel(450, wide, {inner, l.raised})});
        const node slope = kernel(450, wide * 2, {kernel(450, wide * 2, {l.gated})});
        const node of_gated = kernel(310, wide, {kernel(600, wide * 2, {of_activated, slope})});
        const node of_fed = kernel(130, hidden, {of_raised, apply_backward(l, gate, of_gated, hidden)});
        const node middle = kernel(130, hidden, {gradient, norm_backward(l, 1, feed_forward_norm, of_fed)});
        const node of_attended = view(view(apply_backward(l, output, middle, hidden)));
        const node of_all = kernel(5200, hidden + 2 * narrow, {of_attended, l.q, l.k, l.v, l.attended});
        const node of_value = apply_backward(l, value, view(view(of_all)), hidden);
        const node of_key = apply_backward(l, key, view(rotate(view(view(of_all)), narrow)), hidden);
        const node of_query = apply_backward(l, query, view(rotate(view(view(of_all)), hidden)), hidden);
        const node of_normed = kernel(130, hidden, {kernel(130, hidden, {of_value, of_key}), of_query});
        return kernel(130, hidden, {middle, norm_backward(l, 0, attention_norm, of_normed)});
    }

    node loss(node x) {
        const weight head = parameter(vocabulary);
        const node whole = gather(head);
        const node flat = view(x);
        const node logits = kernel(28000, vocabulary, {flat, view(whole)});
        const node likelihood = kernel(2000, vocabulary * 2 / 4, {logits});
        const node mean = kernel(20, 32, {likelihood});
        results_.push_back(move(mean, 30, 32, stretto::collective_kind::all_reduce, data_parallel));
        const node of_logits = kernel(2000, vocabulary, {likelihood, logits});
        reduce(kernel(28000, vocabulary, {view(of_logits), flat}), vocabulary);
        return view(kernel(28000, hidden, {of_logits, view(whole)}));
    }

    std::vector<node> results_;
};

}  // namespace detail

/// A step of so many layers: some 450 nodes each, of which 18 are gathers and 9 are reductions.
[[nodiscard]] inline synthetic_step make_llama_step(std::uint32_t layers) {
    return detail::llama_writer(layers).write(layers);
}

}  // namespace bench

#endif
