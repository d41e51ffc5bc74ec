// Operators on elements of two tensors or more: arithmetic, comparisons, choices.
#ifndef STRETTO_TESTING_DETAIL_INTERPRETER_ARITHMETIC_HPP
#define STRETTO_TESTING_DETAIL_INTERPRETER_ARITHMETIC_HPP

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "stretto/testing/detail/interpreter_call.hpp"
#include "stretto/testing/detail/interpreter_shapes.hpp"
#include "stretto/testing/tensor.hpp"

namespace stretto::testing::detail {

// Integers wrap, as they do on every device.
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
template <class T>
T as(number n) noexcept {
    if constexpr (std::is_same_v<T, std::int64_t>) return n.integer;
    else if constexpr (std::is_same_v<T, double>) return n.real;
    else return {n.real, 0};
}
inline bool is_nan(double x) noexcept { return x != x; }
inline bool is_nan(std::int64_t) noexcept { return false; }
/// The larger one; what is no number wins.
template <class T>
T larger(T a, T b) noexcept {
    return is_nan(a) || a >= b ? a : b;
}
template <class T>
T smaller(T a, T b) noexcept {
    return is_nan(a) || a <= b ? a : b;
}
inline double floored(double a, double b) noexcept { return std::floor(a / b); }
/// The quotient towards minus infinity; b is not 0.
inline std::int64_t floored(std::int64_t a, std::int64_t b) noexcept {
    if (b == -1) return minus<std::int64_t>(0, a);
    const std::int64_t q = a / b;
    return a % b != 0 && (a % b < 0) != (b < 0) ? q - 1 : q;
}

/// f on pairs of elements, computed in the class of `in` and stored as `out`.
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

/// f on pairs of elements of the two operands, in the type that arithmetic on them gives.
template <class F>
void on_operands(operator_call& c, F f) {
    const mixed_operand operands[] = {c.input_or_number(0, "self"), c.input_or_number(1, "other")};
    if (c.failed()) return;
    const element_type e = result_type(operands);
    on_pairs(c, operands[0], operands[1], e, e, f);
}

inline void add(operator_call& c) {
    const number alpha = c.scalar(2, "alpha", number::of(std::int64_t{1}));
    on_operands(c, [alpha]<class T>(T a, T b) -> T { return plus(a, times(as<T>(alpha), b)); });
}
inline void sub(operator_call& c) {
    const number alpha = c.scalar(2, "alpha", number::of(std::int64_t{1}));
    on_operands(c, [alpha]<class T>(T a, T b) -> T { return minus(a, times(as<T>(alpha), b)); });
}
inline void mul(operator_call& c) {
    on_operands(c, []<class T>(T a, T b) -> T { return times(a, b); });
}
inline void maximum(operator_call& c) {
    on_operands(c,
                []<class T>(T a, T b) -> T
                    requires(!std::is_same_v<T, complex_number>)
                { return larger(a, b); });
}
inline void minimum(operator_call& c) {
    on_operands(c,
                []<class T>(T a, T b) -> T
                    requires(!std::is_same_v<T, complex_number>)
                { return smaller(a, b); });
}

/// Division of floats; `mode` is what becomes of the quotient.
inline void divided(operator_call& c, std::string_view mode) {
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
inline void divide(operator_call& c) {
    const std::string_view mode = c.text(2, "rounding_mode", "");
    if (!mode.empty() && mode != "floor" && mode != "trunc")
        return c.fail("rounding mode \"" + std::string(mode) + "\" is neither floor nor trunc");
    divided(c, mode);
}
inline void floor_divide(operator_call& c) { divided(c, "floor"); }
inline void remainder(operator_call& c) {
    const mixed_operand by = c.input_or_number(1, "other");
    if (by.value.integral())
        for (const std::int64_t d : by.value.values<std::int64_t>())
            if (d == 0) return c.fail("divides an integer by zero");
    on_operands(c,
                []<class T>(T a, T b) -> T
                    requires(!std::is_same_v<T, complex_number>)
                {
                    if constexpr (std::is_same_v<T, std::int64_t>) return minus(a, times(floored(a, b), b));
                    else {
                        const double r = std::fmod(a, b);
                        return r != 0 && (r < 0) != (b < 0) ? r + b : r;
                    }
                });
}
inline void power(operator_call& c) {
    const mixed_operand operands[] = {c.input_or_number(0, "self"), c.input_or_number(1, "exponent")};
    if (c.failed()) return;
    const element_type e = result_type(operands);
    if (class_of(e) != element_class::real) return c.fail("is only defined for floats here");
    on_pairs(c, operands[0], operands[1], e, e, []<class T>(T a, T b) -> T {
        if constexpr (std::is_same_v<T, double>) return b == 2 ? a * a : std::pow(a, b);
        else return a;
    });
}

template <class F>
void compare(operator_call& c, F f) {
    const mixed_operand operands[] = {c.input_or_number(0, "self"), c.input_or_number(1, "other")};
    if (c.failed()) return;
    on_pairs(c, operands[0], operands[1], result_type(operands), element_type::boolean, f);
}
inline void equal(operator_call& c) {
    compare(c, []<class T>(T a, T b) -> bool { return a == b; });
}
inline void not_equal(operator_call& c) {
    compare(c, []<class T>(T a, T b) -> bool { return !(a == b); });
}
inline void less(operator_call& c) {
    compare(
        c,
        [](auto a, decltype(a) b) -> bool
            requires requires { a < b; }
        { return a < b; });
}
inline void less_equal(operator_call& c) {
    compare(
        c,
        [](auto a, decltype(a) b) -> bool
            requires requires { a <= b; }
        { return a <= b; });
}
inline void greater(operator_call& c) {
    compare(
        c,
        [](auto a, decltype(a) b) -> bool
            requires requires { a > b; }
        { return a > b; });
}
inline void greater_equal(operator_call& c) {
    compare(
        c,
        [](auto a, decltype(a) b) -> bool
            requires requires { a >= b; }
        { return a >= b; });
}
inline void logical_and(operator_call& c) {
    compare(c, []<class T>(T a, T b) -> bool { return !(a == T{}) && !(b == T{}); });
}
inline void logical_or(operator_call& c) {
    compare(c, []<class T>(T a, T b) -> bool { return !(a == T{}) || !(b == T{}); });
}
template <class F>
void on_bits(operator_call& c, F f) {
    on_operands(c, [&c, f]<class T>(T a, T b) -> T {
        if constexpr (std::is_same_v<T, std::int64_t>) return f(a, b);
        else return c.fail("is not defined for floats"), a;
    });
}
inline void bitwise_and(operator_call& c) {
    on_bits(c, [](std::int64_t a, std::int64_t b) { return a & b; });
}
inline void bitwise_or(operator_call& c) {
    on_bits(c, [](std::int64_t a, std::int64_t b) { return a | b; });
}

/// Where the condition holds the first, elsewhere the second.
inline void choose(operator_call& c, const tensor& condition, const mixed_operand& yes, const mixed_operand& no,
                   element_type e) {
    if (condition.category() != element_class::truth) c.fail("the condition is " + text_of(condition) + ", not bool");
    const extents shape = broadcast(c, condition.shape(), broadcast(c, yes.value.shape(), no.value.shape()));
    if (c.failed()) return;
    const std::vector<std::int64_t> which = expanded(condition, shape).values<std::int64_t>();
    in_class(class_of(e), [&]<class T>(T) {
        std::vector<T> x = expanded(yes.value, shape).values<T>();
        const std::vector<T> y = expanded(no.value, shape).values<T>();
        for (std::size_t k = 0; k < x.size(); ++k)
            if (!which[k]) x[k] = y[k];
        c.give(made_of<T>(e, shape, x));
    });
}
inline void where(operator_call& c) {
    const tensor condition = c.input(0, "condition");
    const mixed_operand operands[] = {c.input_or_number(1, "self"), c.input_or_number(2, "other")};
    if (!c.failed()) choose(c, condition, operands[0], operands[1], result_type(operands));
}
inline void masked_fill(operator_call& c) {
    const tensor self = c.input(0, "self"), mask = c.input(1, "mask");
    const mixed_operand value = c.input_or_number(2, "value");
    if (!c.failed()) choose(c, mask, value, {self, false}, self.element());
}
inline void clamp(operator_call& c) {
    const bool only_max = c.operation.starts_with("aten.clamp_max");
    const bool lower = !only_max && c.has(1, "min"), upper = only_max || c.has(2, "max");
    const tensor self = c.input(0, "self");
    const number low = lower ? c.scalar(1, "min") : number{},
                 high = upper ? c.scalar(only_max ? 1 : 2, "max") : number{};
    if (c.failed()) return;
    element_type e = self.element();
    for (const number& n : {low, high})
        if (n.what == element_class::real && class_of(e) <= element_class::integer) e = element_type::f32;
    in_class(class_of(e), [&]<class T>(T) {
        if constexpr (!std::is_same_v<T, complex_number>) {
            std::vector<T> x = self.values<T>();
            for (T& k : x) {
                if (lower) k = larger(k, as<T>(low));
                if (upper) k = smaller(k, as<T>(high));
            }
            c.give(made_of<T>(e, self.shape(), x));
        } else c.fail("is not defined for complex numbers");
    });
}
/// a * b + c, without rounding in between as far as the product is exact.
inline void fma(operator_call& c) {
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

inline constexpr operator_entry arithmetic_operators[] = {
    {"aten.add", "Tensor Scalar", add, operator_entry::trait::has_in_place_form},
    {"aten.sub", "Tensor Scalar", sub, operator_entry::trait::has_in_place_form},
    {"aten.mul", "Tensor Scalar", mul, operator_entry::trait::has_in_place_form},
    {"aten.div", "Tensor Scalar Tensor_mode Scalar_mode", divide, operator_entry::trait::has_in_place_form},
    {"aten.floor_divide", "default Scalar", floor_divide, operator_entry::trait::has_in_place_form},
    {"aten.remainder", "Tensor Scalar", remainder, operator_entry::trait::has_in_place_form},
    {"aten.pow", "Tensor_Scalar Tensor_Tensor", power},
    {"aten.maximum", "default", maximum},
    {"aten.minimum", "default", minimum},
    {"aten.eq", "Tensor Scalar", equal},
    {"aten.ne", "Tensor Scalar", not_equal},
    {"aten.lt", "Tensor Scalar", less},
    {"aten.le", "Tensor Scalar", less_equal},
    {"aten.gt", "Tensor Scalar", greater},
    {"aten.ge", "Tensor Scalar", greater_equal},
    {"aten.logical_and", "default", logical_and},
    {"aten.logical_or", "default", logical_or},
    {"aten.bitwise_and", "Tensor Scalar", bitwise_and},
    {"aten.bitwise_or", "Tensor Scalar", bitwise_or},
    {"aten.where", "self ScalarOther ScalarSelf", where},
    {"aten.masked_fill", "Scalar Tensor", masked_fill, operator_entry::trait::has_in_place_form},
    {"aten.clamp", "default", clamp},
    {"aten.clamp_min", "default", clamp},
    {"aten.clamp_max", "default", clamp},
    {"prims.fma", "default", fma},
};

}  // namespace stretto::testing::detail

#endif
