#include "model.hpp"

#include <utility>

#include "differentiation.hpp"

namespace trainer {
namespace {

constexpr auto f = stretto::element_type::f32;
constexpr auto i = stretto::element_type::i32;
constexpr auto n = stretto::element_type::i64;

class builder {
public:
    builder(const model_shape& s, const mesh& m) : s_(s), tokens_(s.batch * s.sequence) {
        made_.shape = s;
        p().mesh = m;
        p().groups = {{communicator::of::world}};
        // There is one communicator for each set of ranks. If all ranks share the experts, exchanges use the one of all
        // ranks.
        if (m.expert_ranks < m.ranks) {
            block_ = 1, replicas_ = 2;
            p().groups.push_back({communicator::of::block});
            p().groups.push_back({communicator::of::replicas});
        }
    }

    training_step build() {
        made_.text = given({s_.batch, s_.sequence}, i);
        made_.targets = given({s_.batch, s_.sequence}, i);
        made_.seed = given({1});
        made_.clock = given({3});
        p().enter("embedding");
        const tensor_id table = dense("table", {s_.vocabulary, s_.width});
        const tensor_id x3 = p().make(code::embed, {table, made_.text}, {s_.batch, s_.sequence, s_.width});
        tensor_id x = reshape(x3, {tokens_, s_.width});
        for (std::int64_t l = 0; l < s_.layers; ++l) {
            const std::string layer = "layers." + std::to_string(l);
            p().enter(layer + ".attention");
            x = add(x, attention(x));
            p().enter(layer + ".experts");
            x = experts(x);
        }
        p().enter("head");
        const tensor_id y = p().make(code::norm, {x, dense("norm", {s_.width})}, {tokens_, s_.width});
        const tensor_id scores =
            p().make(code::project, {y, dense("out", {s_.width, s_.vocabulary})}, {tokens_, s_.vocabulary});
        const tensor_id likely = p().make(code::log_softmax, {scores}, p().shape(scores));
        const op_id loss = p().record(code::loss, {likely, reshape(made_.targets, {tokens_}, i)});
        const tensor_id sum = p().result(loss, {});
        p().result(loss, {});
        kept_.insert(kept_.begin(), sum);
        differentiate(p(), sum, made_.seed, whole_, [&](std::size_t k, tensor_id g) { learn(k, g); });
        p().record(code::kept, kept_);
        return std::move(made_);
    }

private:
    program& p() { return made_.p; }
    tensor_id given(extents shape, stretto::element_type e = f) {
        const std::uint32_t module = std::exchange(p().module, 0u);
        const tensor_id x = p().make(code::given, {}, std::move(shape), e);
        p().module = module;
        return x;
    }
    tensor_id reshape(tensor_id x, extents shape, stretto::element_type e = f) {
        return p().make(code::reshape, {x}, std::move(shape), e);
    }
    tensor_id add(tensor_id a, tensor_id b) { return p().make(code::add, {a, b}, p().shape(a)); }
    tensor_id arrive(tensor_id sent) {
        return p().make(code::arrive, {sent}, p().shape(sent), p().tensors[sent].element);
    }

    /// Makes a weight, gathered from the ranks that share it. All ranks share one that does not belong to experts.
    tensor_id dense(const std::string& name, extents shape) { return gathered(name, std::move(shape), 0, false); }
    tensor_id gathered(const std::string& name, extents shape, stretto::group_id group, bool of_experts) {
        std::int64_t all = 1;
        for (std::int64_t e : shape) all *= e;
        const std::int64_t members = of_experts && block_ == 0 ? 1 : p().members(group);
        weight w{p().modules[p().module] + "." + name, shape, group, of_experts};
        w.share = given({all / members});
        w.mean = given({all / members});
        w.square = given({all / members});
        tensor_id x = w.share;
        if (members > 1) x = arrive(p().make(code::collect, {x}, {all}, f, 0, group));
        x = reshape(x, std::move(shape));
        made_.weights.push_back(std::move(w));
        whole_.push_back(x);
        return x;
    }
    /// Sums the gradient of weight k over these ranks, and lets Adam change the weight.
    void learn(std::size_t k, tensor_id g) {
        const weight& w = made_.weights[k];
        const std::int64_t share = p().shape(w.share)[0], all = p().tensors[g].count();
        g = reshape(g, {all});
        if (share < all) g = arrive(p().make(code::reduce, {g}, {share}, f, 0, w.group));
        kept_.push_back(p().make(code::adam, {w.share, w.mean, w.square, g, made_.clock}, {share}));
    }

    tensor_id attention(tensor_id x) {
        const std::int64_t w = s_.width;
        const tensor_id y = p().make(code::norm, {x, dense("norm", {w})}, {tokens_, w});
        const tensor_id qkv = p().make(code::project, {y, dense("in", {w, 3 * w})}, {tokens_, 3 * w});
        const tensor_id seen = p().make(code::attend, {reshape(qkv, {s_.batch, s_.sequence, 3 * w})},
                                        {s_.batch, s_.sequence, w}, f, s_.heads);
        return p().make(code::project, {reshape(seen, {tokens_, w}), dense("out", {w, w})}, {tokens_, w});
    }

    tensor_id experts(tensor_id x) {
        const std::int64_t w = s_.width, ranks = p().mesh.expert_ranks, own = s_.experts / ranks;
        const std::int64_t copies = tokens_ * s_.chosen, room = ranks * tokens_ * std::min(s_.chosen, own);
        const tensor_id y = p().make(code::norm, {x, dense("norm", {w})}, {tokens_, w});

        // This decides which token goes to which expert. The bias towards idle experts affects the choice, but not the
        // weights.
        const tensor_id bias = given({s_.experts});
        made_.expert_bias.push_back(bias);
        const tensor_id scores = p().make(
            code::sigmoid, {p().make(code::project, {y, dense("router", {w, s_.experts})}, {tokens_, s_.experts})},
            {tokens_, s_.experts});
        const tensor_id chosen = p().make(code::choose, {scores, bias}, {tokens_, s_.chosen}, i);
        const tensor_id portions = p().make(
            code::portion, {p().make(code::gate, {scores, chosen}, {tokens_, s_.chosen})}, {tokens_, s_.chosen});
        const tensor_id expert = reshape(chosen, {copies}, i);
        const op_id line = p().record(code::line_up, {expert});
        p().result(line, {copies}, i);
        const tensor_id from = p().result(line, {copies}, i);
        const tensor_id token = p().make(code::token_of, {from}, {copies}, i, s_.chosen);
        const tensor_id tally = p().make(code::tally, {expert}, {s_.experts}, n);
        const tensor_id arrived = arrive(p().make(code::send_tally, {tally}, {s_.experts}, n, 0, block_));
        const std::vector<tensor_id> sent = amounts(tally, ranks, own), received = amounts(arrived, ranks, own);
        const tensor_id ends = p().make(code::ends, {arrived}, {s_.experts}, n);

        // The rows go to the ranks of their experts, through the experts, and back.
        tensor_id rows = exchange(rounded(p().make(code::fetch, {y, token}, {copies, w})), received, sent, {room, w});
        rows =
            p().make(code::expert, {rows, experts_weight("in", {own, w, 2 * s_.hidden}), ends}, {room, 2 * s_.hidden});
        rows = p().make(code::expert_swish, {rows, ends}, {room, s_.hidden});
        rows = p().make(code::expert, {rows, experts_weight("out", {own, s_.hidden, w}), ends}, {room, w});
        rows = exchange(rounded(rows), sent, received, {copies, w});
        const tensor_id portion = p().make(code::fetch, {reshape(portions, {copies, 1}), from}, {copies, 1});
        rows = p().make(code::scale, {rows, portion}, {copies, w});
        const tensor_id routed =
            p().make(code::put, {p().make(code::blank, {y}, {tokens_, w}), token, rows}, {tokens_, w});

        // All tokens also go through the shared expert.
        tensor_id all = p().make(code::project, {y, dense("shared_in", {w, 2 * s_.shared})}, {tokens_, 2 * s_.shared});
        all = p().make(code::swish, {all}, {tokens_, s_.shared});
        all = p().make(code::project, {all, dense("shared_out", {s_.shared, w})}, {tokens_, w});

        // All ranks together count how many tokens each expert has had.
        tensor_id counted = tally;
        if (p().mesh.ranks > 1) counted = arrive(p().make(code::count, {tally}, {s_.experts}, n));
        kept_.push_back(p().make(code::balance, {bias, counted}, {s_.experts}));
        return add(add(x, all), routed);
    }
    tensor_id experts_weight(const std::string& name, extents shape) {
        return gathered(name, std::move(shape), replicas_, true);
    }
    tensor_id rounded(tensor_id x) { return s_.rounds ? p().make(code::round16, {x}, p().shape(x)) : x; }
    std::vector<tensor_id> amounts(tensor_id tally, std::int64_t ranks, std::int64_t own) {
        const tensor_id sums = p().make(code::per_rank, {reshape(tally, {ranks, own}, n)}, {ranks}, n);
        std::vector<tensor_id> all;
        for (std::int64_t r = 0; r < ranks; ++r) all.push_back(p().make(code::pick, {sums}, {}, n, r));
        return all;
    }
    tensor_id exchange(tensor_id x, const std::vector<tensor_id>& received, const std::vector<tensor_id>& sent,
                       extents room) {
        std::vector<tensor_id> reads = {x};
        reads.insert(reads.end(), received.begin(), received.end());
        reads.insert(reads.end(), sent.begin(), sent.end());
        return arrive(p().make(code::send_rows, std::move(reads), std::move(room), f, 0, block_));
    }

    model_shape s_;
    std::int64_t tokens_;
    stretto::group_id block_ = 0, replicas_ = 0;
    training_step made_;
    std::vector<tensor_id> whole_, kept_;
};

}  // namespace

std::optional<std::string> fault_of(const model_shape& s, const mesh& m) {
    const auto text = [](std::int64_t x) { return std::to_string(x); };
    if (m.ranks < 1 || m.expert_ranks < 1) return "there must be a rank: use --ranks 2";
    if (m.ranks % m.expert_ranks != 0)
        return text(m.expert_ranks) + " ranks that share experts do not divide " + text(m.ranks) +
               " ranks: use --expert-ranks with a divisor of --ranks";
    if (s.experts % m.expert_ranks != 0)
        return text(m.expert_ranks) + " ranks do not divide " + text(s.experts) +
               " experts: use --ranks, or --expert-ranks, with a divisor of " + text(s.experts);
    if (s.chosen < 1 || s.chosen > s.experts) return "every token goes to 1 expert at least, and to all at most";
    if (s.heads < 1 || s.width % (2 * s.heads) != 0)
        return "the width " + text(s.width) + " is no multiple of twice the " + text(s.heads) + " heads";
    if (s.width % m.ranks != 0)
        return text(m.ranks) + " ranks do not divide the width " + text(s.width) +
               ", along which weights are sharded: use --ranks with a divisor of " + text(s.width);
    return {};
}

training_step build_step(const model_shape& s, const mesh& m) { return builder(s, m).build(); }

}  // namespace trainer
