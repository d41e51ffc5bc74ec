// Operators of the interpreter for losses of single elements against their targets, and their gradients; and xlogy, of
// which relative entropies are made. Each loss is a function of an element and its target. The argument `reduction`
// says what is returned: 0 stands for all losses, 1 for their mean, 2 for their sum.
#ifndef STRETTO_ATEN_DETAIL_INTERPRETER_ELEMENT_LOSSES_HPP
#define STRETTO_ATEN_DETAIL_INTERPRETER_ELEMENT_LOSSES_HPP

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>
#include <vector>

#include "stretto/aten/detail/interpreter_arithmetic.hpp"
#include "stretto/aten/detail/interpreter_call.hpp"
#include "stretto/aten/detail/interpreter_shapes.hpp"
#include "stretto/aten/tensor.hpp"

namespace stretto::aten::detail {

/// Elements and their targets side by side, broadcast and in the type to which both promote. The call fails if they are
/// no floats.
struct loss_elements {
    extents shape;
    std::vector<double> x, target;
    element_type element = element_type::f64;

    template <class = void>
    loss_elements(operator_call& c, std::size_t first) {
        const tensor self = c.input(first, "self"), wanted = c.input(first + 1, "target");
        if (self.category() != element_class::real || wanted.category() != element_class::real)
            c.fail("is only defined for floats");
        shape = broadcast(c, self.shape(), wanted.shape());
        if (c.failed()) return;
        element = promoted(self.element(), wanted.element());
        x = expanded(self, shape).values<double>();
        target = expanded(wanted, shape).values<double>();
    }
    /// Returns factors of the losses, which argument k has; they are 1 if it is left out.
    template <class = void>
    std::vector<double> factors(operator_call& c, std::size_t k, std::string_view name) const {
        if (!c.has(k, name)) return std::vector<double>(x.size(), 1);
        const tensor given = c.input(k, name);
        if (broadcast(c, shape, given.shape()) != shape) c.fail(text_of(given) + " does not fit the losses");
        return c.failed() ? std::vector<double>(x.size(), 1) : expanded(given, shape).template values<double>();
    }
};

/// Returns f(k) for every element k, their mean or their sum, as the result of the call.
template <class F>
void losses_of(operator_call& c, const loss_elements& e, std::int64_t reduction, F f) {
    if (c.failed()) return;
    std::vector<double> losses(e.x.size());
    double sum = 0;
    for (std::size_t k = 0; k < losses.size(); ++k) sum += losses[k] = f(k);
    if (reduction == 0) c.give(made_of<double>(e.element, e.shape, losses));
    else c.give(tensor::of(e.element, {}, {reduction == 1 ? sum / static_cast<double>(losses.size()) : sum}));
}
/// Returns the gradients as the result of the call: the gradient of the loss, argument 0, times f(k) for every element
/// k, divided by the number of elements if the losses were averaged.
template <class F>
void loss_gradient(operator_call& c, const loss_elements& e, std::int64_t reduction, F f) {
    const tensor grad = c.input(0, "grad_output");
    if (broadcast(c, e.shape, grad.shape()) != e.shape) c.fail(text_of(grad) + " is no gradient of that loss");
    if (c.failed()) return;
    std::vector<double> made = expanded(grad, e.shape).template values<double>();
    const double over = reduction == 1 ? static_cast<double>(made.size()) : 1;
    for (std::size_t k = 0; k < made.size(); ++k) made[k] *= f(k) / over;
    c.give(made_of<double>(e.element, e.shape, made));
}

/// binary_cross_entropy(self, target, weight, reduction) compares probabilities. Their logarithms are at least -100.
template <class = void>
void binary_cross_entropy(operator_call& c) {
    const loss_elements e(c, 0);
    const std::vector<double> weight = e.factors(c, 2, "weight");
    losses_of(c, e, c.integer(3, "reduction", 1), [&](std::size_t k) {
        const double yes = larger(std::log(e.x[k]), -100.0), no = larger(std::log1p(-e.x[k]), -100.0);
        return weight[k] * ((e.target[k] - 1) * no - e.target[k] * yes);
    });
}
/// binary_cross_entropy_backward(grad, self, target, weight, reduction) returns the gradient of self.
template <class = void>
void binary_cross_entropy_backward(operator_call& c) {
    const loss_elements e(c, 1);
    const std::vector<double> weight = e.factors(c, 3, "weight");
    constexpr double least = 1e-12f;  // a float in the framework, too
    loss_gradient(c, e, c.integer(4, "reduction", 1), [&](std::size_t k) {
        return weight[k] * (e.x[k] - e.target[k]) / larger((1 - e.x[k]) * e.x[k], least);
    });
}
/// binary_cross_entropy_with_logits(self, target, weight, pos_weight, reduction) applies the logistic function to self
/// first.
template <class = void>
void logit_cross_entropy(operator_call& c) {
    const loss_elements e(c, 0);
    const std::vector<double> weight = e.factors(c, 2, "weight"), positive = e.factors(c, 3, "pos_weight");
    losses_of(c, e, c.integer(4, "reduction", 1), [&](std::size_t k) {
        const double x = e.x[k], t = e.target[k];
        const double log_no = std::log1p(std::exp(-std::fabs(x))) + larger(-x, 0.0);  // log(1 + exp(-x))
        return weight[k] * ((1 - t) * x + ((positive[k] - 1) * t + 1) * log_no);
    });
}

/// mse_loss(self, target, reduction) squares distances; mse_loss_backward(grad, self, target, reduction) returns the
/// gradient.
template <class = void>
void square_loss(operator_call& c) {
    const loss_elements e(c, 0);
    losses_of(c, e, c.integer(2, "reduction", 1),
              [&](std::size_t k) { return (e.x[k] - e.target[k]) * (e.x[k] - e.target[k]); });
}
template <class = void>
void square_loss_backward(operator_call& c) {
    const loss_elements e(c, 1);
    loss_gradient(c, e, c.integer(3, "reduction", 1), [&](std::size_t k) { return 2 * (e.x[k] - e.target[k]); });
}
/// smooth_l1_loss(self, target, reduction, beta) is a parabola for distances up to beta, and linear beyond.
/// huber_loss(self, target, reduction, delta) is delta times the smooth_l1_loss with beta = delta. Their gradients have
/// the gradient of the loss before these arguments.
template <class = void>
void smooth_loss(operator_call& c) {
    const loss_elements e(c, 0);
    const bool huber = c.operation.starts_with("aten.huber");
    const double bend = c.real(3, huber ? "delta" : "beta", 1);
    losses_of(c, e, c.integer(2, "reduction", 1), [&](std::size_t k) {
        const double z = std::fabs(e.x[k] - e.target[k]);
        if (huber) return z <= bend ? z * z / 2 : bend * (z - bend / 2);
        return z < bend ? z * z / 2 / bend : z - bend / 2;
    });
}
template <class = void>
void smooth_loss_backward(operator_call& c) {
    const loss_elements e(c, 1);
    const bool huber = c.operation.starts_with("aten.huber");
    const double bend = c.real(4, huber ? "delta" : "beta", 1);
    loss_gradient(c, e, c.integer(3, "reduction", 1), [&](std::size_t k) {
        const double z = e.x[k] - e.target[k], end = huber ? bend : 1;
        return z <= -bend ? -end : z >= bend ? end : huber ? z : z / bend;
    });
}

/// xlogy(self, other) returns self times the logarithm of other; the result is 0 where self is 0, unless other is a
/// NaN.
template <class = void>
void x_log_y(operator_call& c) {
    const mixed_operand operands[] = {c.input_or_number(0, "self"), c.input_or_number(1, "other")};
    if (c.failed()) return;
    const element_type e = float_type(result_type(operands));
    on_pairs(c, operands[0], operands[1], e, e, []<class T>(T x, T y) -> T {
        if constexpr (std::is_same_v<T, double>) return is_nan(y) ? y : x == 0 ? 0 : x * std::log(y);
        else return x;
    });
}

template <class = void>
inline constexpr operator_entry element_loss_operators[] = {
    {"aten.binary_cross_entropy", "default", binary_cross_entropy<>},
    {"aten.binary_cross_entropy_backward", "default", binary_cross_entropy_backward<>},
    {"aten.binary_cross_entropy_with_logits", "default", logit_cross_entropy<>},
    {"aten.mse_loss", "default", square_loss<>},
    {"aten.mse_loss_backward", "default", square_loss_backward<>},
    {"aten.smooth_l1_loss", "default", smooth_loss<>},
    {"aten.smooth_l1_loss_backward", "default", smooth_loss_backward<>},
    {"aten.huber_loss", "default", smooth_loss<>},
    {"aten.huber_loss_backward", "default", smooth_loss_backward<>},
    {"aten.xlogy", "Tensor", x_log_y<>},
};

}  // namespace stretto::aten::detail

#endif
