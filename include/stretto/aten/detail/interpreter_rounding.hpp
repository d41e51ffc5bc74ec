// Operators of the interpreter on the representation of elements: rounding, signs, bits, and tests for NaN.
#ifndef STRETTO_ATEN_DETAIL_INTERPRETER_ROUNDING_HPP
#define STRETTO_ATEN_DETAIL_INTERPRETER_ROUNDING_HPP

#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "stretto/aten/detail/interpreter_arithmetic.hpp"
#include "stretto/aten/detail/interpreter_call.hpp"
#include "stretto/aten/detail/interpreter_unary.hpp"
#include "stretto/aten/tensor.hpp"

namespace stretto::aten::detail {

/// Applies f to floats. Integers and truth values stay as they are, because they are already round.
template <class F>
void rounded(operator_call& c, F f) {
    of_same_type(c, [&c, f]<class T>(T x) -> T {
        if constexpr (std::is_same_v<T, complex_number>) return c.fail("is not defined for complex numbers"), x;
        else if constexpr (std::is_same_v<T, double>) return f(x);
        else return x;
    });
}
template <class = void>
void ceil(operator_call& c) {
    rounded(c, [](double x) { return std::ceil(x); });
}
template <class = void>
void floor(operator_call& c) {
    rounded(c, [](double x) { return std::floor(x); });
}
template <class = void>
void trunc(operator_call& c) {
    rounded(c, [](double x) { return std::trunc(x); });
}
/// round(self) rounds to the nearest integer, and halves to the even one.
template <class = void>
void round(operator_call& c) {
    rounded(c, [](double x) {
        // std::round would take halves away from zero, and std::nearbyint depends on the mode of the thread. The sign
        // is copied because -0.4 becomes -0.
        const double below = std::floor(x), rest = x - below;
        const bool up = rest > 0.5 || (rest == 0.5 && std::fmod(below, 2) != 0);
        return std::copysign(up ? below + 1 : below, x);
    });
}
/// sign(self) returns -1, 0 or 1 in the type of the tensor. A NaN is neither above nor below 0, so its sign is 0.
template <class = void>
void sign(operator_call& c) {
    of_same_type(c, [&c]<class T>(T x) -> T {
        if constexpr (std::is_same_v<T, complex_number>) return c.fail("is not defined for complex numbers"), x;
        else return x > T{} ? T{1} : x < T{} ? T{-1} : T{};
    });
}
/// bitwise_not(self) returns the complement of every bit, except that a truth value is negated: ~1 would be -2, which
/// is true again.
template <class = void>
void bitwise_not(operator_call& c) {
    const bool truths = c.input(0, "self").category() == element_class::truth;
    of_same_type(c, [&c, truths]<class T>(T x) -> T {
        if constexpr (std::is_same_v<T, std::int64_t>) return truths ? !x : ~x;
        else return c.fail("is not defined for floats"), x;
    });
}
/// isnan(self) returns whether an element is a NaN; for a complex element, whether one of its two parts is.
template <class = void>
void isnan(operator_call& c) {
    const tensor self = c.input(0, "self");
    if (c.failed()) return;
    std::vector<std::int64_t> truths;
    for (const complex_number x : self.values<complex_number>()) truths.push_back(is_nan(x.re) || is_nan(x.im));
    c.give(made_of<std::int64_t>(element_type::boolean, self.shape(), truths));
}

template <class = void>
inline constexpr operator_entry rounding_operators[] = {
    {"aten.ceil", "default", ceil<>},   {"aten.floor", "default", floor<>},
    {"aten.trunc", "default", trunc<>}, {"aten.round", "default", round<>},
    {"aten.sign", "default", sign<>},   {"aten.bitwise_not", "default", bitwise_not<>},
    {"aten.isnan", "default", isnan<>},
};

}  // namespace stretto::aten::detail

#endif
