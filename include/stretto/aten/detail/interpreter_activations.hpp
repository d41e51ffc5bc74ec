// Operators of the interpreter for activation functions that have parameters or several pieces, and for their
// gradients. The formulas are those of the framework.
#ifndef STRETTO_ATEN_DETAIL_INTERPRETER_ACTIVATIONS_HPP
#define STRETTO_ATEN_DETAIL_INTERPRETER_ACTIVATIONS_HPP

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "stretto/aten/detail/interpreter_arithmetic.hpp"
#include "stretto/aten/detail/interpreter_call.hpp"
#include "stretto/aten/detail/interpreter_shapes.hpp"
#include "stretto/aten/detail/interpreter_unary.hpp"
#include "stretto/aten/detail/interpreter_views.hpp"
#include "stretto/aten/tensor.hpp"

namespace stretto::aten::detail {

/// softplus(self, beta, threshold) returns log(1 + exp(beta x)) / beta. Where beta x is above the threshold it returns
/// x itself, because the power might overflow there.
template <class = void>
void softplus(operator_call& c) {
    const double beta = c.real(1, "beta", 1), threshold = c.real(2, "threshold", 20);
    of_float(c, [=](double x) { return x * beta > threshold ? x : std::log1p(std::exp(x * beta)) / beta; });
}

/// The two forms of GELU, which is x times the cumulative normal distribution at x, either exact or approximated by
/// tanh.
struct gelu_forms {
    bool by_tanh;
    static constexpr double slope = 0.7978845608028654, cubic = 0.044715;  // sqrt(2 / pi), and the factor of x^3

    /// Returns the factor of x.
    [[nodiscard]] double share(double x) const {
        return by_tanh ? 0.5 * (1 + std::tanh(slope * (x + cubic * x * x * x)))
                       : 0.5 * (1 + std::erf(x / std::sqrt(2.0)));
    }
    /// Returns the derivative of that factor.
    [[nodiscard]] double slope_of_share(double x) const {
        if (!by_tanh) return std::exp(-x * x / 2) * slope / 2;
        const double t = 2 * share(x) - 1;
        return 0.5 * (1 - t * t) * slope * (1 + 3 * cubic * x * x);
    }
};
template <class = void>
void gelu(operator_call& c) {
    const gelu_forms form{c.text(c.positional.size(), "approximate", "none") == "tanh"};
    of_float(c, [form](double x) { return x * form.share(x); });
}

/// gelu_backward(grad, self, approximate) applies the product rule to x times its factor.
template <class = void>
void gelu_backward(operator_call& c) {
    const gelu_forms form{c.text(c.positional.size(), "approximate", "none") == "tanh"};
    gradient(c, [form](double g, double x) { return g * (form.share(x) + x * form.slope_of_share(x)); });
}

/// softplus_backward(grad, self, beta, threshold) returns the gradient of softplus.
template <class = void>
void softplus_backward(operator_call& c) {
    const double beta = c.real(2, "beta", 1), threshold = c.real(3, "threshold", 20);
    gradient(c, [=](double g, double x) { return x * beta > threshold ? g : g * logistic(x * beta); });
}

/// leaky_relu(self, negative_slope) multiplies negative elements by the slope, and leaky_relu_backward(grad, self,
/// negative_slope, self_is_result) their gradients. Operand and result have the same sign if the slope is not negative,
/// so the gradient does not read which of the two it is given.
template <class = void>
void leaky_relu(operator_call& c) {
    const double slope = c.real(1, "negative_slope", 0.01);
    of_float(c, [slope](double x) { return x > 0 ? x : x * slope; });
}
template <class = void>
void leaky_relu_backward(operator_call& c) {
    const double slope = c.real(2, "negative_slope", 0.01);
    gradient(c, [slope](double g, double x) { return x > 0 ? g : g * slope; });
}

/// elu(self, alpha, scale, input_scale) returns scale * x for positive x, and alpha * scale * (exp(input_scale * x) -
/// 1) for others.
template <class = void>
void elu(operator_call& c) {
    const double alpha = c.real(1, "alpha", 1), scale = c.real(2, "scale", 1), inner = c.real(3, "input_scale", 1);
    of_float(c, [=](double x) { return x > 0 ? x * scale : std::expm1(x * inner) * alpha * scale; });
}
/// elu_backward(grad, alpha, scale, input_scale, is_result, self_or_result) returns the gradient of elu, computed from
/// its operand or from its result.
template <class = void>
void elu_backward(operator_call& c) {
    const double below = c.real(1, "alpha", 1) * c.real(2, "scale", 1), scale = c.real(2, "scale", 1);
    const double inner = c.real(3, "input_scale", 1);
    const bool is_result = c.truth(4, "is_result", false);
    const mixed_operand g = c.input_or_number(0, "grad_output"), x = c.input_or_number(5, "self_or_result");
    if (c.failed()) return;
    const element_type e = result_type(std::vector<mixed_operand>{g, x});
    on_pairs(c, g, x, e, e, [=]<class T>(T up, T at) -> T {
        if constexpr (!std::is_same_v<T, double>) return up;
        else if (at > 0) return up * scale;
        else return up * inner * (is_result ? at + below : below * std::exp(at * inner));
    });
}

/// Returns hardsigmoid of x, which is a sigmoid made of three straight lines. hardswish is x times it.
template <class = void>
double hard_share(double x) {
    return smaller(larger(x + 3, 0.0), 6.0) / 6;
}
template <class = void>
void hardsigmoid(operator_call& c) {
    of_float(c, hard_share<>);
}
template <class = void>
void hardsigmoid_backward(operator_call& c) {
    constexpr double slope = 1.0f / 6.0f;  // the framework has it as a float, whatever the type of the elements
    gradient(c, [](double g, double x) { return x > -3 && x < 3 ? g * slope : 0; });
}
template <class = void>
void hardswish(operator_call& c) {
    of_float(c, [](double x) { return x * hard_share(x); });
}
template <class = void>
void hardswish_backward(operator_call& c) {
    gradient(c, [](double g, double x) { return x <= -3 ? 0 : x < 3 ? g * (x / 3 + 0.5) : g; });
}
/// hardtanh(self, min, max) limits elements to an interval; relu6 is a special case.
template <class = void>
void hardtanh(operator_call& c) {
    const double low = c.real(1, "min_val", -1), high = c.real(2, "max_val", 1);
    of_float(c, [=](double x) { return smaller(larger(x, low), high); });
}
template <class = void>
void hardtanh_backward(operator_call& c) {
    const double low = c.real(2, "min_val", -1), high = c.real(3, "max_val", 1);
    gradient(c, [=](double g, double x) { return x <= low || x >= high ? 0 : g; });
}

/// mish(self) returns x times the tanh of its softplus.
template <class = void>
void mish(operator_call& c) {
    of_float(c, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); });
}
template <class = void>
void mish_backward(operator_call& c) {
    gradient(c, [](double g, double x) {
        const double t = std::tanh(std::log1p(std::exp(x)));
        return g * (t + x * (1 - t * t) * logistic(x));
    });
}

/// glu(self, dim) returns the first half of the dimension times the sigmoid of the second half.
template <class = void>
void glu(operator_call& c) {
    const tensor self = c.input(0, "self");
    const std::size_t dim = c.wrapped(c.integer(1, "dim", -1), self.rank());
    if (self.rank() == 0 || self.extent(dim) % 2 != 0 || self.category() != element_class::real)
        c.fail("has no halves of " + text_of(self));
    if (c.failed()) return;
    const std::int64_t half = self.extent(dim) / 2;
    const tensor value = narrowed(self, dim, 0, half);
    std::vector<double> x = value.values<double>();
    const std::vector<double> gate = narrowed(self, dim, half, half).values<double>();
    for (std::size_t k = 0; k < x.size(); ++k) x[k] *= logistic(gate[k]);
    c.give(made_of<double>(self.element(), value.shape(), x));
}
/// glu_backward(grad, self, dim) returns the gradients of both halves, joined along the dimension.
template <class = void>
void glu_backward(operator_call& c) {
    const tensor grad = c.input(0, "grad_output"), self = c.input(1, "self");
    const std::size_t dim = c.wrapped(c.integer(2, "dim", -1), self.rank());
    extents twice = grad.shape();
    if (dim < twice.size()) twice[dim] *= 2;
    if (self.rank() == 0 || twice != self.shape()) c.fail(text_of(grad) + " is no gradient of " + text_of(self));
    if (c.failed()) return;
    const std::int64_t half = grad.extent(dim);
    std::vector<double> g = grad.values<double>(), of_gate = g;
    const std::vector<double> x = narrowed(self, dim, 0, half).values<double>();
    const std::vector<double> gate = narrowed(self, dim, half, half).values<double>();
    for (std::size_t k = 0; k < g.size(); ++k) {
        const double share = logistic(gate[k]);
        of_gate[k] = g[k] * x[k] * share * (1 - share);
        g[k] *= share;
    }
    const tensor made(self.element(), self.shape());
    narrowed(made, dim, 0, half).assign<double>(g);
    narrowed(made, dim, half, half).assign<double>(of_gate);
    made.storage()->writes = 0;
    c.give(made);
}

template <class = void>
inline constexpr operator_entry activation_operators[] = {
    {"aten.softplus", "default", softplus<>},
    {"aten.softplus_backward", "default", softplus_backward<>},
    {"aten.gelu", "default", gelu<>},
    {"aten.gelu_backward", "default", gelu_backward<>},
    {"aten.leaky_relu", "default", leaky_relu<>, operator_entry::trait::has_in_place_form},
    {"aten.leaky_relu_backward", "default", leaky_relu_backward<>},
    {"aten.elu", "default", elu<>, operator_entry::trait::has_in_place_form},
    {"aten.elu_backward", "default", elu_backward<>},
    {"aten.hardsigmoid", "default", hardsigmoid<>},
    {"aten.hardsigmoid_backward", "default", hardsigmoid_backward<>},
    {"aten.hardswish", "default", hardswish<>, operator_entry::trait::has_in_place_form},
    {"aten.hardswish_backward", "default", hardswish_backward<>},
    {"aten.hardtanh", "default", hardtanh<>, operator_entry::trait::has_in_place_form},
    {"aten.hardtanh_backward", "default", hardtanh_backward<>},
    {"aten.mish", "default", mish<>},
    {"aten.mish_backward", "default", mish_backward<>},
    {"aten.glu", "default", glu<>},
    {"aten.glu_backward", "default", glu_backward<>},
};

}  // namespace stretto::aten::detail

#endif
