// Operators of the interpreter that compare elements, choose between them, or combine their bits. Operands are promoted
// to a common type first, as for arithmetic; complex numbers can be compared for equality only.
#ifndef STRETTO_ATEN_DETAIL_INTERPRETER_COMPARISONS_HPP
#define STRETTO_ATEN_DETAIL_INTERPRETER_COMPARISONS_HPP

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "stretto/aten/detail/interpreter_arithmetic.hpp"
#include "stretto/aten/detail/interpreter_call.hpp"
#include "stretto/aten/detail/interpreter_shapes.hpp"
#include "stretto/aten/tensor.hpp"

namespace stretto::aten::detail {

/// Compares pairs of elements in the type that arithmetic on them has. The results are truth values.
template <class F>
void compare(operator_call& c, F f) {
    const mixed_operand operands[] = {c.input_or_number(0, "self"), c.input_or_number(1, "other")};
    if (c.failed()) return;
    on_pairs(c, operands[0], operands[1], result_type(operands), element_type::boolean, f);
}
template <class = void>
void equal(operator_call& c) {
    compare(c, []<class T>(T a, T b) -> bool { return a == b; });
}
/// ne(self, other) is the negation of equality, so that a NaN differs from everything, including itself.
template <class = void>
void not_equal(operator_call& c) {
    compare(c, []<class T>(T a, T b) -> bool { return !(a == b); });
}
/// The requirement excludes complex numbers, which have no order: on_pairs() then makes the call fail. less_equal,
/// greater and greater_equal do the same.
template <class = void>
void less(operator_call& c) {
    compare(
        c,
        [](auto a, decltype(a) b) -> bool
            requires requires { a < b; }
        { return a < b; });
}
template <class = void>
void less_equal(operator_call& c) {
    compare(
        c,
        [](auto a, decltype(a) b) -> bool
            requires requires { a <= b; }
        { return a <= b; });
}
template <class = void>
void greater(operator_call& c) {
    compare(
        c,
        [](auto a, decltype(a) b) -> bool
            requires requires { a > b; }
        { return a > b; });
}
template <class = void>
void greater_equal(operator_call& c) {
    compare(
        c,
        [](auto a, decltype(a) b) -> bool
            requires requires { a >= b; }
        { return a >= b; });
}
/// logical_and(self, other) returns whether both elements are other than 0, as bool. Elements may have any type, and a
/// NaN counts as true. The same holds for logical_or.
template <class = void>
void logical_and(operator_call& c) {
    compare(c, []<class T>(T a, T b) -> bool { return !(a == T{}) && !(b == T{}); });
}
template <class = void>
void logical_or(operator_call& c) {
    compare(c, []<class T>(T a, T b) -> bool { return !(a == T{}) || !(b == T{}); });
}
/// Applies f to pairs of integers or truth values. The call fails for other elements.
template <class F>
void on_bits(operator_call& c, F f) {
    on_operands(c, [&c, f]<class T>(T a, T b) -> T {
        if constexpr (std::is_same_v<T, std::int64_t>) return f(a, b);
        else return c.fail("is not defined for floats"), a;
    });
}
template <class = void>
void bitwise_and(operator_call& c) {
    on_bits(c, [](std::int64_t a, std::int64_t b) { return a & b; });
}
template <class = void>
void bitwise_or(operator_call& c) {
    on_bits(c, [](std::int64_t a, std::int64_t b) { return a | b; });
}

template <class = void>
void bitwise_xor(operator_call& c) {
    on_bits(c, [](std::int64_t a, std::int64_t b) { return a ^ b; });
}

/// Returns elements of `yes` where the condition holds and of `no` elsewhere, as elements of type `e`. All three are
/// broadcast against each other. Elements are chosen and never computed with, so that a NaN has no effect where it is
/// not chosen; gradients rely on that.
template <class = void>
void choose(operator_call& c, const tensor& condition, const mixed_operand& yes, const mixed_operand& no,
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
/// where(condition, self, other) chooses between two operands of any types, which are promoted.
template <class = void>
void where(operator_call& c) {
    const tensor condition = c.input(0, "condition");
    const mixed_operand operands[] = {c.input_or_number(1, "self"), c.input_or_number(2, "other")};
    if (!c.failed()) choose(c, condition, operands[0], operands[1], result_type(operands));
}
/// masked_fill(self, mask, value) returns elements of the type of self, whatever the type of the value. Unlike `where`,
/// it does not promote, because it also works in place.
template <class = void>
void masked_fill(operator_call& c) {
    const tensor self = c.input(0, "self"), mask = c.input(1, "mask");
    const mixed_operand value = c.input_or_number(2, "value");
    if (!c.failed()) choose(c, mask, value, {self, false}, self.element());
}
/// tril(self, diagonal) and triu(self, diagonal) keep, in every matrix of the last two dimensions, the elements (i, j)
/// with j - i <= diagonal, or with j - i >= diagonal. The other elements become zero.
template <class = void>
void triangle(operator_call& c) {
    const tensor self = c.input(0, "self");
    const std::int64_t diagonal = c.integer(1, "diagonal", 0);
    if (self.rank() < 2) c.fail("takes a triangle of " + text_of(self));
    if (c.failed()) return;
    const bool lower = c.operation.starts_with("aten.tril");
    const auto columns = static_cast<std::size_t>(self.shape().back());
    const auto rows = static_cast<std::size_t>(self.extent(self.rank() - 2));
    in_class(self.category(), [&]<class T>(T) {
        std::vector<T> x = self.values<T>();
        for (std::size_t k = 0; k < x.size(); ++k) {
            const auto over = static_cast<std::int64_t>(k % columns) - static_cast<std::int64_t>(k / columns % rows);
            if (lower ? over > diagonal : over < diagonal) x[k] = T{};
        }
        c.give(made_of<T>(self.element(), self.shape(), x));
    });
}
/// clamp(self, min, max), clamp_min(self, min) and clamp_max(self, max) limit elements to bounds that are numbers or
/// left out. Integers become f32 if a bound is a float. The upper bound is applied last, so it decides if the two
/// contradict each other. A NaN stays a NaN.
template <class = void>
void clamp(operator_call& c) {
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

template <class = void>
inline constexpr operator_entry comparison_operators[] = {
    {"aten.eq", "Tensor Scalar", equal<>},
    {"aten.ne", "Tensor Scalar", not_equal<>},
    {"aten.lt", "Tensor Scalar", less<>},
    {"aten.le", "Tensor Scalar", less_equal<>},
    {"aten.gt", "Tensor Scalar", greater<>},
    {"aten.ge", "Tensor Scalar", greater_equal<>},
    {"aten.logical_and", "default", logical_and<>, operator_entry::trait::has_in_place_form},
    {"aten.logical_or", "default", logical_or<>},
    {"aten.bitwise_and", "Tensor Scalar", bitwise_and<>},
    {"aten.bitwise_or", "Tensor Scalar", bitwise_or<>},
    {"aten.bitwise_xor", "Tensor Scalar", bitwise_xor<>},
    {"aten.where", "self ScalarOther ScalarSelf", where<>},
    {"aten.masked_fill", "Scalar Tensor", masked_fill<>, operator_entry::trait::has_in_place_form},
    {"aten.tril", "default", triangle<>, operator_entry::trait::has_in_place_form},
    {"aten.triu", "default", triangle<>, operator_entry::trait::has_in_place_form},
    {"aten.clamp", "default", clamp<>},
    {"aten.clamp_min", "default", clamp<>, operator_entry::trait::has_in_place_form},
    {"aten.clamp_max", "default", clamp<>},
};

}  // namespace stretto::aten::detail

#endif
