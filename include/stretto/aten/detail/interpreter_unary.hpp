// Operators of the interpreter on the elements of one tensor, their gradients, and copies.
#ifndef STRETTO_ATEN_DETAIL_INTERPRETER_UNARY_HPP
#define STRETTO_ATEN_DETAIL_INTERPRETER_UNARY_HPP

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "stretto/aten/detail/interpreter_arithmetic.hpp"
#include "stretto/aten/detail/interpreter_call.hpp"
#include "stretto/aten/detail/interpreter_shapes.hpp"
#include "stretto/aten/tensor.hpp"

namespace stretto::aten::detail {

/// Applies a function of floats to every element. Integers and truth values become f32 first, as in the framework. A
/// function that keeps integers goes through of_same_type() instead.
template <class F>
void of_float(operator_call& c, F f) {
    const tensor self = c.input(0, "self");
    if (self.is_complex()) c.fail("is not defined for complex numbers here");
    if (c.failed()) return;
    std::vector<double> x = self.values<double>();
    for (double& k : x) k = f(k);
    c.give(made_of<double>(float_type(self.element()), self.shape(), x));
}
/// Returns the logistic function of x. It needs no special cases: for a very negative x the power is infinite and the
/// quotient 0.
template <class = void>
double logistic(double x) {
    return 1 / (1 + std::exp(-x));
}

template <class = void>
void exp(operator_call& c) {
    of_float(c, [](double x) { return std::exp(x); });
}
template <class = void>
void log(operator_call& c) {
    of_float(c, [](double x) { return std::log(x); });
}
template <class = void>
void sqrt(operator_call& c) {
    of_float(c, [](double x) { return std::sqrt(x); });
}
template <class = void>
void rsqrt(operator_call& c) {
    of_float(c, [](double x) { return 1 / std::sqrt(x); });
}
template <class = void>
void reciprocal(operator_call& c) {
    of_float(c, [](double x) { return 1 / x; });
}
template <class = void>
void sigmoid(operator_call& c) {
    of_float(c, logistic<>);
}
template <class = void>
void silu(operator_call& c) {
    of_float(c, [](double x) { return x * logistic(x); });
}
template <class = void>
void tanh(operator_call& c) {
    of_float(c, [](double x) { return std::tanh(x); });
}
template <class = void>
void sin(operator_call& c) {
    of_float(c, [](double x) { return std::sin(x); });
}
template <class = void>
void cos(operator_call& c) {
    of_float(c, [](double x) { return std::cos(x); });
}

template <class = void>
void erf(operator_call& c) {
    of_float(c, [](double x) { return std::erf(x); });
}
template <class = void>
void expm1(operator_call& c) {
    of_float(c, [](double x) { return std::expm1(x); });
}
template <class = void>
void log1p(operator_call& c) {
    of_float(c, [](double x) { return std::log1p(x); });
}
template <class = void>
void log2(operator_call& c) {
    of_float(c, [](double x) { return std::log2(x); });
}
/// Applies f to every element in the class of the tensor; the result has the element type of the tensor.
template <class F>
void of_same_type(operator_call& c, F f) {
    const tensor self = c.input(0, "self");
    if (c.failed()) return;
    in_class(self.category(), [&]<class T>(T) {
        std::vector<T> x = self.values<T>();
        for (T& k : x) k = f(k);
        c.give(made_of<T>(self.element(), self.shape(), x));
    });
}
template <class = void>
void neg(operator_call& c) {
    // This is not 0 - x, because the negative of 0 is -0.
    of_same_type(c, []<class T>(T x) -> T {
        if constexpr (std::is_same_v<T, std::int64_t>) return minus<T>(0, x);
        else if constexpr (std::is_same_v<T, double>) return -x;
        else return {-x.re, -x.im};
    });
}
template <class = void>
void abs(operator_call& c) {
    of_same_type(c, [&c]<class T>(T x) -> T {
        if constexpr (std::is_same_v<T, std::int64_t>) return x < 0 ? minus<T>(0, x) : x;
        else if constexpr (std::is_same_v<T, double>) return std::fabs(x);
        else return c.fail("is not defined for complex numbers here"), x;
    });
}
/// relu(self) returns the larger of an element and 0. A NaN stays a NaN, whereas `x > 0 ? x : 0` would turn it into 0.
template <class = void>
void relu(operator_call& c) {
    of_same_type(c, [&c]<class T>(T x) -> T {
        if constexpr (std::is_same_v<T, complex_number>) return c.fail("is not defined for complex numbers"), x;
        else return larger(x, T{});
    });
}
/// logical_not(self) returns whether an element is 0, as bool. Reading every element as a complex number covers all
/// classes at once.
template <class = void>
void logical_not(operator_call& c) {
    const tensor self = c.input(0, "self");
    if (c.failed()) return;
    std::vector<std::int64_t> truths;
    for (const complex_number x : self.values<complex_number>()) truths.push_back(x == complex_number{});
    c.give(made_of<std::int64_t>(element_type::boolean, self.shape(), truths));
}

/// Computes the gradient of an elementwise function: f(g, x), where g is the gradient of the result and x is what the
/// forward operator has kept. That is its result for sigmoid and tanh, whose derivatives are simplest in terms of the
/// result, and its operand for the others.
template <class F>
void gradient(operator_call& c, F f) {
    const mixed_operand operands[] = {c.input_or_number(0, "grad_output"), c.input_or_number(1, "self")};
    if (c.failed()) return;
    const element_type e = result_type(operands);
    if (class_of(e) != element_class::real) return c.fail("is only defined for floats");
    on_pairs(c, operands[0], operands[1], e, e, [f]<class T>(T g, T x) -> T {
        if constexpr (std::is_same_v<T, double>) return f(g, x);
        else return g;
    });
}
template <class = void>
void sigmoid_backward(operator_call& c) {
    gradient(c, [](double g, double y) { return g * (1 - y) * y; });
}
template <class = void>
void tanh_backward(operator_call& c) {
    gradient(c, [](double g, double y) { return g * (1 - y * y); });
}
template <class = void>
void silu_backward(operator_call& c) {
    gradient(c, [](double g, double x) {
        const double s = logistic(x);
        return g * s * (1 + x * (1 - s));
    });
}
/// threshold_backward(grad, x, threshold) returns the gradient of relu. `x` may be its operand or its result, because
/// both are above the threshold in the same places. The comparison is written so that g passes where x is a NaN.
template <class = void>
void threshold_backward(operator_call& c) {
    const double threshold = c.real(2, "threshold", 0);
    gradient(c, [threshold](double g, double x) { return x <= threshold ? 0.0 : g; });
}

/// Returns a copy, with another element type if one is named. Device, layout and memory format make no difference here,
/// so those arguments are not read. `dtype` is positional in two operators and can only be named in the others, where
/// the second positional argument is something else.
template <class = void>
void copied(operator_call& c) {
    const tensor self = c.input(0, "self");
    const bool positional = c.operation == "prims.convert_element_type.default" || c.operation == "aten.to.dtype";
    const element_type e = c.element(positional ? 1 : c.positional.size(), "dtype", self.element());
    if (!c.failed()) c.give(self.converted(e));
}
/// Returns a copy in other memory. The interpreter has only one memory, so this is a plain copy.
template <class = void>
void moved(operator_call& c) {
    const tensor self = c.input(0, "tensor");
    if (!c.failed()) c.give(self.converted(self.element()));
}
/// copy(self, src) returns the second operand in the shape and type of the first, into which copy_ writes it. `src` may
/// be broadcast, but self may not, because it is memory.
template <class = void>
void copy_into(operator_call& c) {
    const tensor self = c.input(0, "self");
    const mixed_operand from = c.input_or_number(1, "src");
    if (c.failed()) return;
    const extents shape = broadcast(c, self.shape(), from.value.shape());
    if (shape != self.shape()) c.fail(text_of(from.value) + " does not fit into " + text_of(self));
    if (!c.failed()) c.give(expanded(from.value, shape).converted(self.element()));
}
/// fill(self, value) and zero(self) return a constant in the shape and type of self. They do not read its elements, so
/// self may hold garbage.
template <class = void>
void fill(operator_call& c) {
    const tensor self = c.input(0, "self");
    const bool zero = c.operation.starts_with("aten.zero");
    const mixed_operand value = zero ? mixed_operand{} : c.input_or_number(1, "value");
    if (!zero && value.value.elements() != 1) c.fail("fills with " + text_of(value.value) + ", which is no number");
    if (!c.failed()) c.give(expanded(value.value, self.shape()).converted(self.element()));
}

template <class = void>
inline constexpr operator_entry unary_operators[] = {
    {"aten.exp", "default", exp<>, operator_entry::trait::has_in_place_form},
    {"aten.log", "default", log<>, operator_entry::trait::has_in_place_form},
    {"aten.sqrt", "default", sqrt<>, operator_entry::trait::has_in_place_form},
    {"aten.rsqrt", "default", rsqrt<>, operator_entry::trait::has_in_place_form},
    {"aten.reciprocal", "default", reciprocal<>, operator_entry::trait::has_in_place_form},
    {"aten.sigmoid", "default", sigmoid<>, operator_entry::trait::has_in_place_form},
    {"aten.silu", "default", silu<>, operator_entry::trait::has_in_place_form},
    {"aten.tanh", "default", tanh<>, operator_entry::trait::has_in_place_form},
    {"aten.sin", "default", sin<>},
    {"aten.cos", "default", cos<>},
    {"aten.neg", "default", neg<>, operator_entry::trait::has_in_place_form},
    {"aten.abs", "default", abs<>, operator_entry::trait::has_in_place_form},
    {"aten.relu", "default", relu<>, operator_entry::trait::has_in_place_form},
    {"aten.erf", "default", erf<>},
    {"aten.expm1", "default", expm1<>},
    {"aten.log1p", "default", log1p<>},
    {"aten.log2", "default", log2<>},
    {"aten.logical_not", "default", logical_not<>},
    {"aten.sigmoid_backward", "default", sigmoid_backward<>},
    {"aten.tanh_backward", "default", tanh_backward<>},
    {"aten.silu_backward", "default", silu_backward<>},
    {"aten.threshold_backward", "default", threshold_backward<>},
    {"aten._to_copy", "default", copied<>},
    {"aten.clone", "default", copied<>},
    {"aten.contiguous", "default", copied<>},
    {"aten.lift_fresh_copy", "default", copied<>},
    {"aten.to", "dtype", copied<>},
    {"prims.convert_element_type", "default", copied<>},
    {"prims.device_put", "default", copied<>},
    {"ao.offload", "default", moved<>},
    {"ao.reload", "default", moved<>},
    {"ao.wait_tensor", "default", moved<>},
    {"aten.copy", "default", copy_into<>, operator_entry::trait::has_in_place_form},
    {"aten.fill", "Scalar Tensor", fill<>, operator_entry::trait::has_in_place_form},
    {"aten.zero", "default", fill<>, operator_entry::trait::has_in_place_form},
};

}  // namespace stretto::aten::detail

#endif
