// Operators of the interpreter for arithmetic on the elements of two or more tensors. Types are promoted as in the
// framework (result_type), and elements are computed in the widest type of their class: 64-bit integers that wrap,
// doubles, or pairs of doubles. Where the framework would trap, as in a division of integers by zero, the call fails.
#ifndef STRETTO_ATEN_DETAIL_INTERPRETER_ARITHMETIC_HPP
#define STRETTO_ATEN_DETAIL_INTERPRETER_ARITHMETIC_HPP

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "stretto/aten/detail/interpreter_call.hpp"
#include "stretto/aten/detail/interpreter_shapes.hpp"
#include "stretto/aten/tensor.hpp"

namespace stretto::aten::detail {

// Integers wrap, as they do on every device; the detour over unsigned integers makes that well defined. Arithmetic on
// narrower types wraps in 64 bits here and again when it is stored, which leaves the same lower bits.
template <class T>
T plus(T a, T b) noexcept {
    if constexpr (std::is_same_v<T, std::int64_t>)
        return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    else return a + b;
}
template <class T>
T minus(T a, T b) noexcept {
    if constexpr (std::is_same_v<T, std::int64_t>)
        return static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
    else return a - b;
}
template <class T>
T times(T a, T b) noexcept {
    if constexpr (std::is_same_v<T, std::int64_t>)
        return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    else return a * b;
}
/// Returns a number of the program as an element of the type in which arithmetic is done.
template <class T>
T as(number n) noexcept {
    if constexpr (std::is_same_v<T, std::int64_t>) return n.integer;
    else if constexpr (std::is_same_v<T, double>) return n.real;
    else return {n.real, 0};
}
/// Returns whether an element is a NaN. An integer never is.
template <class = void>
bool is_nan(double x) noexcept {
    return x != x;
}
template <class = void>
bool is_nan(std::int64_t) noexcept {
    return false;
}
/// Returns the larger of two elements. If one of them is a NaN, the result is that NaN, as in the framework.
template <class T>
T larger(T a, T b) noexcept {
    return is_nan(a) || a >= b ? a : b;
}
/// Returns the smaller of two elements. If one of them is a NaN, the result is that NaN.
template <class T>
T smaller(T a, T b) noexcept {
    return is_nan(a) || a <= b ? a : b;
}
/// Returns the remainder of a division that rounds towards minus infinity; it has the sign of the divisor.
template <class = void>
double remaining(double a, double b) noexcept {
    const double rest = std::fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
/// Returns the quotient rounded towards minus infinity. As in Python and in the framework, it is computed from the
/// exact remainder: 0.1 fits 9 times into 1, although 1 / 0.1 rounds to 10.
template <class = void>
double floored(double a, double b) noexcept {
    if (b == 0) return a / b;
    const double rest = std::fmod(a, b);
    const double count = std::round((a - rest) / b) - (rest != 0 && (rest < 0) != (b < 0) ? 1 : 0);
    return count == 0 ? std::copysign(count, a / b) : count;
}
/// Returns the quotient rounded towards minus infinity. Precondition: b is not 0.
template <class = void>
std::int64_t floored(std::int64_t a, std::int64_t b) noexcept {
    if (b == -1) return minus<std::int64_t>(0, a);
    const std::int64_t q = a / b;
    return a % b != 0 && (a % b < 0) != (b < 0) ? q - 1 : q;
}
/// Returns the remainder, which has the sign of the divisor. Precondition: b is not 0.
template <class = void>
std::int64_t remaining(std::int64_t a, std::int64_t b) noexcept {
    return minus(a, times(floored(a, b), b));
}

/// Applies f to pairs of elements of `a` and `b` broadcast against each other, computed in the class of `in` and stored
/// as `out`. If f returns a truth value for two elements of that class, the operator compares; if f returns an element,
/// it computes; if f does not accept such elements (complex numbers have no order), the call fails. The result is
/// dense, with the broadcast shape. O(elements of the result).
template <class F>
void on_pairs(operator_call& c, const mixed_operand& a, const mixed_operand& b, element_type in, element_type out,
              F f) {
    const extents shape = broadcast(c, a.value.shape(), b.value.shape());
    if (c.failed()) return;
    const tensor left = expanded(a.value, shape), right = expanded(b.value, shape);
    in_class(class_of(in), [&]<class T>(T) {
        std::vector<T> x = left.values<T>();
        const std::vector<T> y = right.values<T>();
        if constexpr (requires {
                          { f(T{}, T{}) } -> std::same_as<bool>;
                      }) {
            std::vector<std::int64_t> truths(x.size());
            for (std::size_t k = 0; k < x.size(); ++k) truths[k] = f(x[k], y[k]);
            c.give(made_of<std::int64_t>(out, shape, truths));
        } else if constexpr (requires {
                                 { f(T{}, T{}) } -> std::same_as<T>;
                             }) {
            for (std::size_t k = 0; k < x.size(); ++k) x[k] = f(x[k], y[k]);
            c.give(made_of<T>(out, shape, x));
        } else {
            c.fail("is not defined for complex numbers");
        }
    });
}

/// Applies f to pairs of elements of the two operands, in the type that arithmetic on them has.
template <class F>
void on_operands(operator_call& c, F f) {
    const mixed_operand operands[] = {c.input_or_number(0, "self"), c.input_or_number(1, "other")};
    if (c.failed()) return;
    const element_type e = result_type(operands);
    on_pairs(c, operands[0], operands[1], e, e, f);
}

/// add, sub and rsub(self, other, alpha) multiply the second term by `alpha`; for rsub, that term is self. `alpha` is
/// converted to the type of the sum first, so a sum of integers stays exact.
template <class = void>
void add(operator_call& c) {
    const number alpha = c.scalar(2, "alpha", number::of(std::int64_t{1}));
    on_operands(c, [alpha]<class T>(T a, T b) -> T { return plus(a, times(as<T>(alpha), b)); });
}
template <class = void>
void sub(operator_call& c) {
    const number alpha = c.scalar(2, "alpha", number::of(std::int64_t{1}));
    on_operands(c, [alpha]<class T>(T a, T b) -> T { return minus(a, times(as<T>(alpha), b)); });
}
template <class = void>
void rsub(operator_call& c) {
    const number alpha = c.scalar(2, "alpha", number::of(std::int64_t{1}));
    on_operands(c, [alpha]<class T>(T a, T b) -> T { return minus(b, times(as<T>(alpha), a)); });
}
template <class = void>
void mul(operator_call& c) {
    on_operands(c, []<class T>(T a, T b) -> T { return times(a, b); });
}
template <class = void>
void maximum(operator_call& c) {
    on_operands(c,
                []<class T>(T a, T b) -> T
                    requires(!std::is_same_v<T, complex_number>)
                { return larger(a, b); });
}
template <class = void>
void minimum(operator_call& c) {
    on_operands(c,
                []<class T>(T a, T b) -> T
                    requires(!std::is_same_v<T, complex_number>)
                { return smaller(a, b); });
}

/// Divides as floats, unless the operands are integers and `mode` says how to round; `mode` is empty, "floor" or
/// "trunc". A true division of integers gives f32 for every width. The call fails if an integer is divided by zero; a
/// float divided by zero is infinite or a NaN.
template <class = void>
void divided(operator_call& c, std::string_view mode) {
    const mixed_operand operands[] = {c.input_or_number(0, "self"), c.input_or_number(1, "other")};
    if (c.failed()) return;
    const element_type e = result_type(operands);
    if (mode.empty() || class_of(e) >= element_class::real) {
        if (!mode.empty() && class_of(e) == element_class::complex) return c.fail("is not defined for complex numbers");
        const element_type quotient = float_type(e);
        return on_pairs(c, operands[0], operands[1], quotient, quotient, [mode]<class T>(T a, T b) -> T {
            if constexpr (std::is_same_v<T, complex_number>) {
                const double norm = b.re * b.re + b.im * b.im;
                const complex_number n = a * complex_number{b.re, -b.im};
                return {n.re / norm, n.im / norm};
            } else if constexpr (std::is_same_v<T, double>) {
                return mode == "floor" ? floored(a, b) : mode == "trunc" ? std::trunc(a / b) : a / b;
            } else {
                return a;
            }
        });
    }
    for (const std::int64_t d : operands[1].value.values<std::int64_t>())
        if (d == 0) return c.fail("divides an integer by zero");
    on_pairs(c, operands[0], operands[1], e, e, [mode]<class T>(T a, T b) -> T {
        if constexpr (std::is_same_v<T, std::int64_t>)
            return mode == "floor" ? floored(a, b) : b == -1 ? minus<T>(0, a) : a / b;
        else return a;
    });
}
template <class = void>
void divide(operator_call& c) {
    const std::string_view mode = c.text(2, "rounding_mode", "");
    if (!mode.empty() && mode != "floor" && mode != "trunc")
        return c.fail("rounding mode \"" + std::string(mode) + "\" is neither floor nor trunc");
    divided(c, mode);
}
template <class = void>
void floor_divide(operator_call& c) {
    divided(c, "floor");
}
/// remainder(self, other) returns the remainder, which has the sign of the divisor.
template <class = void>
void remainder(operator_call& c) {
    const mixed_operand operands[] = {c.input_or_number(0, "self"), c.input_or_number(1, "other")};
    if (c.failed()) return;
    if (class_of(result_type(operands)) <= element_class::integer)
        for (const std::int64_t d : operands[1].value.values<std::int64_t>())
            if (d == 0) return c.fail("divides an integer by zero");
    on_operands(c,
                []<class T>(T a, T b) -> T
                    requires(!std::is_same_v<T, complex_number>)
                { return remaining(a, b); });
}
/// pow(self, exponent) is supported for results that are floats. The square is by far the most frequent power; it is
/// computed as a product, so that it is exact where a product is, which std::pow does not promise.
template <class = void>
void power(operator_call& c) {
    const mixed_operand operands[] = {c.input_or_number(0, "self"), c.input_or_number(1, "exponent")};
    if (c.failed()) return;
    const element_type e = result_type(operands);
    if (class_of(e) != element_class::real) return c.fail("is only defined for floats here");
    on_pairs(c, operands[0], operands[1], e, e, []<class T>(T a, T b) -> T {
        if constexpr (std::is_same_v<T, double>) return b == 2 ? a * a : std::pow(a, b);
        else return a;
    });
}

/// fma(a, b, c) returns a * b + c. The product of two elements of at most 32 bits is exact as a double, so that only
/// the sum is rounded, as the fused instruction does; a product of two f64 is rounded as well.
template <class = void>
void fma(operator_call& c) {
    const mixed_operand operands[] = {c.input_or_number(0, "a"), c.input_or_number(1, "b"), c.input_or_number(2, "c")};
    if (c.failed()) return;
    const element_type e = result_type(operands);
    const extents shape =
        broadcast(c, operands[0].value.shape(), broadcast(c, operands[1].value.shape(), operands[2].value.shape()));
    if (c.failed()) return;
    in_class(class_of(e), [&]<class T>(T) {
        std::vector<T> x = expanded(operands[0].value, shape).values<T>();
        const std::vector<T> y = expanded(operands[1].value, shape).values<T>();
        const std::vector<T> z = expanded(operands[2].value, shape).values<T>();
        for (std::size_t k = 0; k < x.size(); ++k) x[k] = plus(times(x[k], y[k]), z[k]);
        c.give(made_of<T>(e, shape, x));
    });
}

/// addcmul and addcdiv(self, a, b, value) return self + value * a * b and self + value * a / b.
template <class = void>
void add_product(operator_call& c) {
    const bool divides = c.operation.starts_with("aten.addcdiv");
    const tensor self = c.input(0, "self"), a = c.input(1, "tensor1"), b = c.input(2, "tensor2");
    // `value` can only be named: no position reaches it.
    const double value = c.real(SIZE_MAX, "value", 1);
    const extents shape = broadcast(c, broadcast(c, self.shape(), a.shape()), b.shape());
    if (self.category() != element_class::real || a.element() != self.element() || b.element() != self.element())
        c.fail("is supported for floats of one type");
    if (c.failed()) return;
    std::vector<double> x = expanded(self, shape).values<double>();
    const std::vector<double> y = expanded(a, shape).values<double>(), z = expanded(b, shape).values<double>();
    for (std::size_t k = 0; k < x.size(); ++k) x[k] += divides ? value * y[k] / z[k] : value * y[k] * z[k];
    c.give(made_of<double>(self.element(), shape, x));
}

template <class = void>
inline constexpr operator_entry arithmetic_operators[] = {
    {"aten.addcmul", "default", add_product<>},
    {"aten.addcdiv", "default", add_product<>},
    {"aten.add", "Tensor Scalar", add<>, operator_entry::trait::has_in_place_form},
    {"aten.sub", "Tensor Scalar", sub<>, operator_entry::trait::has_in_place_form},
    {"aten.rsub", "Scalar", rsub<>},
    {"aten.mul", "Tensor Scalar", mul<>, operator_entry::trait::has_in_place_form},
    {"aten.div", "Tensor Scalar Tensor_mode Scalar_mode", divide<>, operator_entry::trait::has_in_place_form},
    {"aten.floor_divide", "default Scalar", floor_divide<>, operator_entry::trait::has_in_place_form},
    {"aten.remainder", "Tensor Scalar", remainder<>, operator_entry::trait::has_in_place_form},
    {"aten.pow", "Scalar Tensor_Scalar Tensor_Tensor", power<>},
    {"aten.maximum", "default", maximum<>},
    {"aten.minimum", "default", minimum<>},
    {"prims.fma", "default", fma<>},
};

}  // namespace stretto::aten::detail

#endif
