// Activation functions that have parameters, and their gradients.
#ifndef STRETTO_ATEN_DETAIL_INTERPRETER_ACTIVATIONS_HPP
#define STRETTO_ATEN_DETAIL_INTERPRETER_ACTIVATIONS_HPP

#include <cmath>

#include "stretto/aten/detail/interpreter_call.hpp"
#include "stretto/aten/detail/interpreter_unary.hpp"

namespace stretto::aten::detail {

/// softplus(self, beta, threshold): log(1 + exp(beta x)) / beta. Above the threshold it is taken to be x itself,
/// because there the power might overflow.
template <class = void>
void softplus(operator_call& c) {
    const double beta = c.real(1, "beta", 1), threshold = c.real(2, "threshold", 20);
    of_float(c, [=](double x) { return x * beta > threshold ? x : std::log1p(std::exp(x * beta)) / beta; });
}

/// GELU is x times the share of the normal distribution below x, exact or as approximated by tanh.
struct gelu_forms {
    bool by_tanh;
    static constexpr double slope = 0.7978845608028654, cubic = 0.044715;  // sqrt(2 / pi), and the factor of x^3

    /// The factor of x.
    [[nodiscard]] double share(double x) const {
        return by_tanh ? 0.5 * (1 + std::tanh(slope * (x + cubic * x * x * x)))
                       : 0.5 * (1 + std::erf(x / std::sqrt(2.0)));
    }
    /// The derivative of that factor.
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

/// gelu_backward(grad, self, approximate): the product rule on x times the share of x.
template <class = void>
void gelu_backward(operator_call& c) {
    const gelu_forms form{c.text(c.positional.size(), "approximate", "none") == "tanh"};
    gradient(c, [form](double g, double x) { return g * (form.share(x) + x * form.slope_of_share(x)); });
}

template <class = void>
inline constexpr operator_entry activation_operators[] = {
    {"aten.softplus", "default", softplus<>},
    {"aten.gelu", "default", gelu<>},
    {"aten.gelu_backward", "default", gelu_backward<>},
};

}  // namespace stretto::aten::detail

#endif
