// A joint training step of any size: forward, loss and backward of a transformer whose layers alternate between dense
// and mixture-of-experts, sharded as FSDP and expert parallelism shard it. Made for measuring growth: the shape of real
// captures (half views, a gather per parameter and direction, a scatter per gradient, all-to-alls around the experts,
// activations that live from forward to backward) at sizes of which no capture exists. Deterministic.
#ifndef STRETTO_BENCH_SUPPORT_SYNTHETIC_STEP_HPP
#define STRETTO_BENCH_SUPPORT_SYNTHETIC_STEP_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/core/op_model.hpp"
#include "support/step_pen.hpp"

namespace bench {

namespace detail {

class step_writer : step_pen {
public:
    explicit step_writer(std::uint32_t layers) : step_pen(std::size_t{layers} * 450 + 100) {}

    /// Forward and backward of all layers. `mixture(l)`: whether layer l has experts.
    template <class Mixture>
    synthetic_step write(std::uint32_t layers, Mixture mixture) {
        std::vector<layer> all(layers);
        node hidden = kernel(40, activation, {gather(parameter(embedding)), input(64)});
        for (std::uint32_t l = 0; l < layers; ++l) hidden = forward(all[l], hidden, mixture(l));
        node gradient = loss(hidden);
        for (std::uint32_t l = layers; l-- > 0;) gradient = backward(all[l], gradient);
        results_.push_back(reduce(kernel(40, embedding, {gradient}), embedding));
        return finish(results_);
    }

private:
    // KiB of one rank: 16,384 tokens of 2,048 channels in bfloat16, and what it is routed to in blocks of six experts.
    static constexpr std::int32_t activation = 65536, routed = 393216, wide = 90112, vector = 64;
    static constexpr std::int32_t embedding = 8192, square = 512, narrow = 350, experts = 22528;

    struct weight {
        node shard = 0;        // as the optimiser keeps it
        std::int32_t kib = 0;  // gathered
    };
    struct linear {
        weight w;
        node in = 0;
        std::int32_t us = 0, in_kib = 0;
    };
    struct layer {
        bool mixture = false;
        weight norm_weight[2];
        node normed_from[2] = {}, scale[2] = {};
        linear query, key_value, out, up[2], down, shared_up[2], shared_down;
        weight router;
        node q = 0, k = 0, attended = 0, gate[2] = {}, activated = 0, shared_gate[2] = {}, shared_activated = 0;
        node scores = 0, permutation = 0, counts = 0, routed_in = 0;
    };

    weight parameter(std::int32_t kib) { return {input(kib), kib * 8}; }

    /// Gathers a whole weight from its shards.
    node gather(const weight& w) {
        const node cast = kernel(3 + w.kib / 4096, w.kib / 16, {w.shard});
        const node whole = move(view(cast), transfer_us(w.kib), w.kib, stretto::collective_kind::all_gather, fsdp);
        return view(view(whole));
    }
    /// Sends a gradient to the rank that owns the shard.
    node reduce(node gradient, std::int32_t kib) {
        const node cast = kernel(4 + kib / 2048, kib, {view(gradient)});
        const node sum = move(cast, transfer_us(kib), kib / 8, stretto::collective_kind::reduce_scatter, fsdp);
        return view(kernel(3, kib / 8, {sum}));
    }

    node apply(linear& m, weight w, node in, std::int32_t us, std::int32_t in_kib, std::int32_t out_kib) {
        m = {w, in, us, in_kib};
        return view(kernel(us, out_kib, {view(in), view(gather(w))}));
    }
    /// The gradient of the input; the gradient of the weight goes to its owner.
    node apply_backward(const linear& m, node gradient) {
        const node flat = view(gradient);
        const node transposed = view(flat);
        results_.push_back(reduce(kernel(m.us, m.w.kib, {transposed, view(m.in)}), m.w.kib));
        return view(kernel(m.us, m.in_kib, {flat, view(gather(m.w))}));
    }

    node norm(layer& l, int which, node in) {
        l.norm_weight[which] = parameter(vector);
        l.normed_from[which] = in;
        l.scale[which] = kernel(3, vector, {kernel(25, vector, {in})});
        return kernel(3, activation, {kernel(40, activation, {in, l.scale[which]}), gather(l.norm_weight[which])});
    }
    node norm_backward(const layer& l, int which, node gradient) {
        const node unscaled = kernel(40, activation, {gradient, gather(l.norm_weight[which])});
        const node of_weight = kernel(30, vector, {gradient, l.normed_from[which], l.scale[which]});
        results_.push_back(reduce(of_weight, vector));
        const node inner = kernel(30, vector, {unscaled, l.normed_from[which]});
        return kernel(60, activation, {unscaled, inner, l.scale[which]});
    }

    node rotate(node x) { return view(kernel(30, activation, {view(view(x))})); }

    node forward(layer& l, node in, bool mixture) {
        l.mixture = mixture;
        const node normed = norm(l, 0, in);
        l.q = rotate(apply(l.query, parameter(square), normed, 320, activation, activation));
        const node kv = apply(l.key_value, parameter(square), normed, 320, activation, activation);
        l.k = rotate(view(kv));
        l.attended = kernel(1500, activation, {l.q, l.k, view(view(kv))});
        const node joined = view(l.attended);
        const node out = apply(l.out, parameter(square), joined, 320, activation, activation);
        const node middle = kernel(50, activation, {in, out});
        const node fed = norm(l, 1, middle);
        return kernel(50, activation, {middle, mixture ? forward_experts(l, fed) : forward_dense(l, fed)});
    }

    node forward_dense(layer& l, node in) {
        for (int i = 0; i < 2; ++i) l.gate[i] = apply(l.up[i], parameter(narrow * 8), in, 1700, activation, routed);
        l.activated = kernel(110, routed, {kernel(90, routed, {l.gate[0]}), l.gate[1]});
        return apply(l.down, parameter(narrow * 8), l.activated, 1700, routed, activation);
    }

    node forward_experts(layer& l, node in) {
        l.router = parameter(vector);
        l.scores = kernel(20, vector, {kernel(30, vector, {view(in), gather(l.router)})});
        const node chosen = kernel(30, vector, {l.scores});
        l.permutation = kernel(35, vector, {view(chosen)});
        const node histogram = kernel(15, vector, {chosen});
        // The load of every expert is counted in place, for its balancing bias.
        add_in_place(input(vector), histogram);
        l.counts =
            kernel(10, vector, {move(histogram, 25, vector, stretto::collective_kind::all_to_all, expert_parallel)});
        const node sorted = kernel(160, routed, {view(in), l.permutation});
        const node arrived = move(sorted, 3600, routed, stretto::collective_kind::all_to_all, expert_parallel);
        l.routed_in = kernel(160, routed, {arrived, l.counts});
        for (int i = 0; i < 2; ++i)
            l.gate[i] = apply(l.up[i], parameter(experts / 8), l.routed_in, 1300, routed, wide * 3);
        l.activated = kernel(80, wide * 3, {kernel(60, wide * 3, {l.gate[0]}), l.gate[1]});
        const node done = apply(l.down, parameter(experts / 8), l.activated, 1300, wide * 3, routed);
        const node back = move(kernel(160, routed, {done, l.counts}), 3600, routed,
                               stretto::collective_kind::all_to_all, expert_parallel);
        for (int i = 0; i < 2; ++i)
            l.shared_gate[i] = apply(l.shared_up[i], parameter(narrow), in, 420, activation, wide);
        l.shared_activated = kernel(40, wide, {kernel(30, wide, {l.shared_gate[0]}), l.shared_gate[1]});
        const node shared = apply(l.shared_down, parameter(narrow), l.shared_activated, 420, wide, activation);
        return kernel(200, activation, {back, l.permutation, l.scores, shared});
    }

    void add_in_place(node buffer, node amount) {
        const node reads[] = {buffer, amount};
        const node n = s_.size();
        s_.kind.push_back(stretto::op_kind::compute);
        s_.microseconds.push_back(4);
        s_.kibibytes.push_back(0);
        s_.collective.push_back(stretto::collective_kind::other);
        s_.group.push_back(fsdp);
        for (node r : reads) s_.reads.push(r);
        s_.reads.close_row();
        s_.aliases.push(buffer);
        s_.aliases.close_row();
        s_.writes.push(buffer);
        s_.writes.close_row();
        results_.push_back(n);
    }

    node loss(node hidden) {
        linear head;
        const node logits = apply(head, parameter(embedding), hidden, 5000, activation, routed * 4);
        const node likelihood = kernel(900, routed * 4, {logits});
        const node mean = kernel(20, vector, {likelihood});
        results_.push_back(move(mean, 30, vector, stretto::collective_kind::all_reduce, data_parallel));
        return apply_backward(head, kernel(900, routed * 4, {likelihood}));
    }

    node backward(const layer& l, node gradient) {
        const node fed = l.mixture ? backward_experts(l, gradient) : backward_dense(l, gradient);
        const node middle = kernel(50, activation, {gradient, norm_backward(l, 1, fed)});
        const node attended = view(apply_backward(l.out, middle));
        const node inner = kernel(3200, activation * 2, {attended, l.q, l.k, l.attended});
        const node kv = kernel(60, activation, {rotate(view(inner)), view(view(inner))});
        const node of_kv = apply_backward(l.key_value, kv);
        const node of_query = apply_backward(l.query, rotate(view(inner)));
        const node normed = norm_backward(l, 0, kernel(50, activation, {of_kv, of_query}));
        return kernel(50, activation, {middle, normed});
    }

    node gates_backward(const linear (&up)[2], const node (&gate)[2], node gradient, std::int32_t kib) {
        const node first = kernel(90, kib, {gradient, gate[0], gate[1]});
        const node second = kernel(70, kib, {gradient, gate[0]});
        const node of_second = apply_backward(up[1], second);
        const node of_first = apply_backward(up[0], first);
        return kernel(80, up[0].in_kib, {of_first, of_second});
    }

    node backward_dense(const layer& l, node gradient) {
        return gates_backward(l.up, l.gate, apply_backward(l.down, gradient), routed);
    }

    node backward_experts(const layer& l, node gradient) {
        const node of_shared =
            gates_backward(l.shared_up, l.shared_gate, apply_backward(l.shared_down, gradient), wide);
        const node spread = kernel(200, routed, {gradient, l.permutation, l.scores});
        const node of_scores = kernel(90, vector, {gradient, spread});
        const node arrived = move(spread, 3600, routed, stretto::collective_kind::all_to_all, expert_parallel);
        const node of_experts =
            gates_backward(l.up, l.gate, apply_backward(l.down, kernel(160, routed, {arrived, l.counts})), wide * 3);
        const node back = move(kernel(160, routed, {of_experts, l.counts}), 3600, routed,
                               stretto::collective_kind::all_to_all, expert_parallel);
        const node logits = kernel(25, vector, {of_scores, l.scores});
        results_.push_back(reduce(kernel(30, vector, {view(logits), l.normed_from[1]}), vector));
        const node of_router = kernel(30, activation, {logits, gather(l.router)});
        const node unsorted = kernel(200, activation, {back, l.permutation});
        return kernel(70, activation, {kernel(50, activation, {unsorted, of_router}), of_shared});
    }

    std::vector<node> results_;
};

}  // namespace detail

/// A step of about `nodes` nodes, and at least one layer; three layers of four have experts.
[[nodiscard]] inline synthetic_step make_synthetic_step(std::uint32_t nodes) {
    const auto mixture = [](std::uint32_t l) { return l % 4 != 0; };
    const auto size_of = [&](std::uint32_t layers) {
        return detail::step_writer(layers).write(layers, mixture).size();
    };
    const std::uint32_t four_layers = size_of(8) - size_of(4);
    const std::uint32_t layers = std::max(1u, static_cast<std::uint32_t>(std::uint64_t{nodes} * 4 / four_layers));
    return detail::step_writer(layers).write(layers, mixture);
}

}  // namespace bench

#endif
