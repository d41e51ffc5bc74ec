#include "differentiation.hpp"

#include <algorithm>
#include <utility>

namespace trainer {
namespace {

constexpr tensor_id none = UINT32_MAX;

class derivatives {
public:
    derivatives(program& p, std::vector<tensor_id> gradient) : p_(p), gradient_(std::move(gradient)) {}

    [[nodiscard]] tensor_id gradient(tensor_id x) const { return x < gradient_.size() ? gradient_[x] : none; }

    /// Appends the derivatives of one operation, whose first result has the gradient g.
    void of(const operation& o, tensor_id g) {
        const auto read = [&](std::size_t k) { return o.reads[k]; };
        const auto like = [&](tensor_id x) { return p_.shape(x); };
        const tensor_id y = o.makes[0];
        switch (o.what) {
            case code::embed:
                return give(read(0), p_.make(code::embed_back, {g, read(1)}, like(read(0))));
            case code::norm: {
                const op_id back = p_.record(code::norm_back, {g, read(0), read(1)});
                give(read(0), p_.result(back, like(read(0))));
                return give(read(1), p_.result(back, like(read(1))));
            }
            case code::project:
                give(read(0), p_.make(code::project_back, {g, read(1)}, like(read(0))));
                return give(read(1), p_.make(code::weigh, {read(0), g}, like(read(1))));
            case code::attend:
                return give(read(0), p_.make(code::attend_back, {g, read(0)}, like(read(0)), stretto::element_type::f32,
                                             o.field));
            case code::swish:
                return give(read(0), p_.make(code::swish_back, {g, read(0)}, like(read(0))));
            case code::add:
                give(read(0), g);
                return give(read(1), g);
            case code::log_softmax:
                return give(read(0), p_.make(code::log_softmax_back, {g, y}, like(read(0))));
            case code::sigmoid:
                return give(read(0), p_.make(code::sigmoid_back, {g, y}, like(read(0))));
            case code::gate: {
                const tensor_id zeros = p_.make(code::blank, {read(0)}, like(read(0)));
                return give(read(0), p_.make(code::gate_back, {zeros, read(1), g}, like(read(0))));
            }
            case code::portion:
                return give(read(0), p_.make(code::portion_back, {g, read(0)}, like(read(0))));
            case code::fetch: {
                const tensor_id zeros = p_.make(code::blank, {read(0)}, like(read(0)));
                return give(read(0), p_.make(code::put, {zeros, read(1), g}, like(read(0))));
            }
            case code::put:  // into zeros
                return give(read(2), p_.make(code::fetch, {g, read(1)}, like(read(2))));
            case code::scale:
                give(read(0), p_.make(code::scale, {g, read(1)}, like(read(0))));
                return give(read(1), p_.make(code::dot, {g, read(0)}, like(read(1))));
            case code::round16:
                return give(read(0), p_.make(code::round16, {g}, like(read(0))));
            case code::expert:
                give(read(0), p_.make(code::expert_back, {g, read(1), read(2)}, like(read(0))));
                return give(read(1), p_.make(code::weigh_experts, {read(0), g, read(2)}, like(read(1))));
            case code::expert_swish:
                return give(read(0), p_.make(code::expert_swish_back, {g, read(0), read(1)}, like(read(0))));
            case code::reshape:
                return give(read(0), p_.make(code::reshape, {g}, like(read(0))));
            case code::arrive:  // the gradients of rows go back by the same amounts
                if (p_.ops[p_.tensors[read(0)].by].what == code::send_rows) give(read(0), g);
                return;
            case code::send_rows: {
                std::vector<tensor_id> reads = {g};
                const auto half = static_cast<std::ptrdiff_t>((o.reads.size() - 1) / 2);
                reads.insert(reads.end(), o.reads.begin() + 1 + half, o.reads.end());
                reads.insert(reads.end(), o.reads.begin() + 1, o.reads.begin() + 1 + half);
                const tensor_id sent =
                    p_.make(code::send_rows, std::move(reads), like(read(0)), stretto::element_type::f32, 0, o.group);
                return give(read(0), p_.make(code::arrive, {sent}, like(read(0))));
            }
            default:
                return;
        }
    }

private:
    /// Adds g to the gradient of x.
    void give(tensor_id x, tensor_id g) {
        if (gradient_[x] != none) g = p_.make(code::add, {gradient_[x], g}, p_.shape(x));
        gradient_[x] = g;
    }

    program& p_;
    std::vector<tensor_id> gradient_;  // by tensor of the forward program
};

}  // namespace

void differentiate(program& p, tensor_id loss, tensor_id seed, const std::vector<tensor_id>& weights,
                   const std::function<void(std::size_t, tensor_id)>& found) {
    const std::vector<op_id> forward = p.order;
    std::vector<tensor_id> gradient(p.tensors.size(), none);
    p.backward = true;
    const operation last = p.ops[p.tensors[loss].by];
    p.module = last.module;
    gradient[last.reads[0]] = p.make(code::loss_back, {seed, last.reads[0], last.reads[1]}, p.shape(last.reads[0]));
    derivatives d(p, std::move(gradient));
    for (auto at = forward.rbegin(); at != forward.rend(); ++at) {
        const operation o = p.ops[*at];  // a copy, because recording moves the operations
        if (o.makes.empty()) continue;
        const tensor_id g = d.gradient(o.makes[0]);
        if (g == none) continue;
        p.module = o.module;
        const auto weight = std::find(weights.begin(), weights.end(), o.makes[0]);
        if (weight == weights.end()) d.of(o, g);
        else found(static_cast<std::size_t>(weight - weights.begin()), g);
    }
    p.backward = false;
}

}  // namespace trainer
