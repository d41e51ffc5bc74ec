// A training step of mixture-of-experts layers as a plain index IR, to chunk: what a node does to the rows of its
// operands is said node by node, so that chunking needs no shapes and no names of operators. Made for measuring how
// planning and rewriting grow; the layers have the shape of captured ones: half views, weights gathered and gradients
// scattered in each direction, all-to-alls around the experts, backward reading what forward has left.
#ifndef STRETTO_BENCH_SUPPORT_MOE_STEP_HPP
#define STRETTO_BENCH_SUPPORT_MOE_STEP_HPP

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/index_lists.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/transform/chunk_plan.hpp"
#include "support/array_view.hpp"

namespace bench {

/// What an operation does to rows.
enum class row_rule : std::uint8_t {
    by_row,   ///< every row from the same row of the operands; what has no rows is read by all
    reorder,  ///< the rows, in an order that they decide
    restore,  ///< back in the order they came in
    total,    ///< a sum over rows: a gradient of a weight, a histogram
    none      ///< everything depends on everything
};

/// Structure of arrays in program order; every node has one result, named like itself.
struct moe_step {
    static constexpr std::int64_t tokens = 6720;  // in 1 to 8 equal chunks

    std::vector<stretto::op_kind> kind;
    std::vector<row_rule> rule;
    stretto::index_lists reads, readers, aliases, writes;
    std::vector<std::vector<std::uint32_t>> blocks;  // of a layer: its experts' nodes, forward and backward
    std::vector<stretto::token_dimension<std::uint32_t>> entries;

    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(kind.size()); }
};

using moe_view = array_view<moe_step>;

struct moe_op_model {
    const moe_step* step;

    [[nodiscard]] stretto::op_kind kind(std::uint32_t v) const { return step->kind[v]; }
    [[nodiscard]] std::span<const std::uint32_t> aliases(std::uint32_t x) const { return step->aliases[x]; }
    [[nodiscard]] std::span<const std::uint32_t> effects(std::uint32_t v) const { return step->writes[v]; }
};

struct moe_chunk_model {
    const moe_step* step;

    [[nodiscard]] std::size_t components_of(std::uint32_t) const { return 1; }
    [[nodiscard]] std::size_t rank(std::uint32_t, std::size_t) const { return 2; }
    [[nodiscard]] std::int64_t extent(std::uint32_t, std::size_t, std::size_t) const { return moe_step::tokens; }
    [[nodiscard]] stretto::chunk_verdict combine_rule(std::uint32_t v, std::int64_t,
                                                      std::span<const stretto::chunk_state> operands,
                                                      std::span<stretto::chunk_state> results) const {
        using state = stretto::chunk_state::kind;
        for (const stretto::chunk_state& s : operands) {
            if (s.what == state::whole) continue;
            if (s.what == state::addend && step->rule[v] != row_rule::by_row) return {false, "no rows but sums"};
            switch (step->rule[v]) {
                case row_rule::by_row:
                    results[0] = s;
                    return {};
                case row_rule::reorder:
                    results[0] = {state::permuted, 0};
                    return {};
                case row_rule::restore:
                    results[0] = {state::sliced, 0};
                    return {};
                case row_rule::total:
                    results[0] = {state::addend, -1};
                    return {};
                case row_rule::none:
                    return {false, "a row depends on all rows"};
            }
        }
        return {false, "nothing is cut"};
    }
};

namespace detail {

class moe_writer {
public:
    using node = std::uint32_t;

    moe_step write(std::uint32_t layers) {
        std::vector<layer> all(layers);
        s_.blocks.resize(layers);
        node hidden = input();
        for (std::uint32_t l = 0; l < layers; ++l) {
            hidden = attention(all[l], hidden);
            region_ = l;
            s_.entries.push_back({hidden, 0});
            hidden = experts(all[l], hidden);
            region_ = outside;
        }
        node gradient = add(row_rule::none, {add(row_rule::total, {hidden})});
        for (std::uint32_t l = layers; l-- > 0;) {
            region_ = l;
            s_.entries.push_back({gradient, 0});
            gradient = experts_backward(all[l], gradient);
            region_ = outside;
            gradient = attention_backward(all[l], gradient);
        }
        results_.push_back(gradient);
        add(stretto::op_kind::output, row_rule::none, results_);
        s_.readers = s_.reads.inverse(s_.size());
        return std::move(s_);
    }

private:
    static constexpr std::uint32_t outside = UINT32_MAX;

    struct linear {
        node shard = 0, in = 0;
    };
    struct layer {
        node in = 0, scores = 0, order = 0, gate = 0, raised = 0, shared_gate = 0, shared_raised = 0;
        linear query, key, value, out, router, up[2], down, shared_up[2], shared_down;
    };

    node add(stretto::op_kind kind, row_rule rule, std::span<const node> reads) {
        const node n = s_.size();
        s_.kind.push_back(kind);
        s_.rule.push_back(rule);
        s_.reads.push_row(reads);
        if (kind == stretto::op_kind::view || kind == stretto::op_kind::wait) s_.aliases.push(reads.front());
        s_.aliases.close_row();
        s_.writes.close_row();
        if (region_ != outside) s_.blocks[region_].push_back(n);
        return n;
    }
    node add(row_rule rule, std::initializer_list<node> reads) {
        return add(stretto::op_kind::compute, rule, std::span<const node>(reads.begin(), reads.size()));
    }
    node kernel(std::initializer_list<node> reads) { return add(row_rule::by_row, reads); }
    node view(node of) { return add(stretto::op_kind::view, row_rule::by_row, {&of, 1}); }
    node input() { return add(stretto::op_kind::input, row_rule::none, {}); }
    node move(node of) {
        const node start = add(stretto::op_kind::start, row_rule::by_row, {&of, 1});
        return add(stretto::op_kind::wait, row_rule::by_row, {&start, 1});
    }
    node gather(const linear& m) { return view(view(move(view(kernel({m.shard}))))); }

    node apply(linear& m, node in) {
        const std::uint32_t region = region_;
        region_ = outside;
        m = {input(), in};
        region_ = region;
        return view(kernel({view(in), view(gather(m))}));
    }
    /// The gradient of the input; the gradient of the weight goes to its owner.
    node apply_backward(const linear& m, node gradient) {
        const node flat = view(gradient);
        const node of_weight = add(row_rule::total, {view(flat), view(m.in)});
        results_.push_back(view(kernel({move(kernel({view(of_weight)}))})));
        return view(kernel({flat, view(gather(m))}));
    }

    node attention(layer& l, node in) {
        const node normed = kernel({in, kernel({kernel({in})})});
        const node q = view(apply(l.query, normed)), k = view(apply(l.key, normed));
        const node all = add(row_rule::none, {q, k, view(apply(l.value, normed))});
        return kernel({in, apply(l.out, view(all))});
    }
    node attention_backward(const layer& l, node gradient) {
        const node inner = add(row_rule::none, {view(apply_backward(l.out, gradient)), l.query.in});
        const node q = apply_backward(l.query, view(inner)), k = apply_backward(l.key, view(inner));
        const node sum = kernel({kernel({q, k}), apply_backward(l.value, view(inner))});
        return kernel({gradient, kernel({sum, kernel({sum, l.query.in})})});
    }

    node experts(layer& l, node in) {
        l.in = in;
        l.scores = kernel({kernel({apply(l.router, view(in))})});
        const node chosen = kernel({l.scores});
        l.order = add(row_rule::reorder, {view(chosen)});
        results_.push_back(move(add(row_rule::total, {chosen})));  // the load of every expert
        const node arrived = kernel({move(add(row_rule::reorder, {view(in), l.order}))});
        l.gate = apply(l.up[0], arrived);
        l.raised = apply(l.up[1], arrived);
        const node done = apply(l.down, kernel({kernel({l.gate}), l.raised}));
        const node back = move(kernel({done}));
        l.shared_gate = apply(l.shared_up[0], in);
        l.shared_raised = apply(l.shared_up[1], in);
        const node shared = apply(l.shared_down, kernel({kernel({l.shared_gate}), l.shared_raised}));
        return kernel({in, add(row_rule::restore, {back, l.order, l.scores, shared})});
    }
    node gates_backward(const linear (&up)[2], node gate, node raised, node gradient) {
        const node second = apply_backward(up[1], kernel({gradient, gate}));
        return kernel({apply_backward(up[0], kernel({gradient, gate, raised})), second});
    }
    node experts_backward(const layer& l, node gradient) {
        const node of_shared =
            gates_backward(l.shared_up, l.shared_gate, l.shared_raised, apply_backward(l.shared_down, gradient));
        const node spread = add(row_rule::reorder, {view(gradient), l.order, l.scores});
        const node of_scores = add(row_rule::restore, {spread, l.order});
        const node arrived = kernel({move(spread)});
        const node back = move(kernel({gates_backward(l.up, l.gate, l.raised, apply_backward(l.down, arrived))}));
        const node of_router = apply_backward(l.router, kernel({of_scores, l.scores}));
        const node unsorted = add(row_rule::restore, {back, l.order});
        return kernel({gradient, kernel({kernel({unsorted, of_router}), of_shared})});
    }

    moe_step s_;
    std::uint32_t region_ = outside;
    std::vector<node> results_;
};

}  // namespace detail

/// A step of about `nodes` nodes, and at least one layer; every layer has experts.
[[nodiscard]] inline moe_step make_moe_step(std::uint32_t nodes) {
    const std::uint32_t one = detail::moe_writer().write(1).size(), two = detail::moe_writer().write(2).size();
    return detail::moe_writer().write(1 + (nodes < one ? 0 : (nodes - one + (two - one) / 2) / (two - one)));
}

}  // namespace bench

#endif
