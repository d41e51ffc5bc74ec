// Operators of the interpreter on numbers: extents, arithmetic, numbers that are read from tensors, and members of
// tuples.
//
// There are two kinds. Operators of `aten` read a number from a tensor. The others have the bare names of Python
// functions ("add", "getitem"), with which a captured program computes symbolic extents. They follow Python: "floordiv"
// and "mod" round towards minus infinity, and "truediv" gives a float. Unlike in Python, integers have 64 bits and
// wrap.
#ifndef STRETTO_ATEN_DETAIL_INTERPRETER_NUMBERS_HPP
#define STRETTO_ATEN_DETAIL_INTERPRETER_NUMBERS_HPP

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/aten/detail/interpreter_arithmetic.hpp"
#include "stretto/aten/detail/interpreter_call.hpp"
#include "stretto/aten/tensor.hpp"

namespace stretto::aten::detail {

template <class = void>
void sym_size(operator_call& c) {
    const tensor self = c.input(0, "self");
    const std::size_t dim = c.wrapped(c.integer(1, "dim"), self.rank());
    if (self.rank() == 0) c.fail("asks for an extent of a tensor without dimensions");
    if (!c.failed()) c.give(number::of(self.extent(dim)));
}
template <class = void>
void sym_numel(operator_call& c) {
    const tensor self = c.input(0, "self");
    if (!c.failed()) c.give(number::of(self.elements()));
}
/// sym_stride(self, dim) returns the stride in elements of the tensor; the interpreter keeps that of a complex tensor
/// in halves of elements.
template <class = void>
void sym_stride(operator_call& c) {
    const tensor self = c.input(0, "self");
    const std::size_t dim = c.wrapped(c.integer(1, "dim"), self.rank());
    if (self.rank() == 0) c.fail("asks for a stride of a tensor without dimensions");
    if (!c.failed()) c.give(number::of(self.strides()[dim] / (self.is_complex() ? 2 : 1)));
}
/// item(self) returns the only element of a tensor, as a number of its class. A bool stays a truth value, so that later
/// promotion is the same as in the framework.
template <class = void>
void item(operator_call& c) {
    const tensor self = c.input(0, "self");
    if (self.elements() != 1) c.fail("reads " + text_of(self) + " as one number");
    if (self.is_complex()) c.fail("reads a complex number");
    if (c.failed()) return;
    if (self.category() == element_class::truth) c.give(number::of(self.values<std::int64_t>()[0] != 0));
    else if (self.integral()) c.give(number::of(self.values<std::int64_t>()[0]));
    else c.give(number::of(self.values<double>()[0]));
}
/// Makes the call fail if the number is 0. Captured programs assert their assumptions about symbols, so a transform
/// that breaks one of them is detected here.
template <class = void>
void assert_scalar(operator_call& c) {
    const number n = c.scalar(0, "self");
    if (!c.failed() && n.real == 0) c.fail("does not hold: " + std::string(c.text(1, "assert_msg", "an assertion")));
}

/// Applies f to two numbers, as integers if both are integers.
template <class F>
void on_numbers(operator_call& c, F f) {
    const number a = c.scalar(0, "a"), b = c.scalar(1, "b");
    if (c.failed()) return;
    if (a.what == element_class::real || b.what == element_class::real) c.give(number::of(f(a.real, b.real)));
    else c.give(number::of(f(a.integer, b.integer)));
}
template <class = void>
void number_add(operator_call& c) {
    on_numbers(c, []<class T>(T a, T b) { return plus(a, b); });
}
template <class = void>
void number_sub(operator_call& c) {
    on_numbers(c, []<class T>(T a, T b) { return minus(a, b); });
}
template <class = void>
void number_mul(operator_call& c) {
    on_numbers(c, []<class T>(T a, T b) { return times(a, b); });
}
/// Returns whether the call has failed, which it does if the divisor is 0: Python raises for floats as well as for
/// integers.
template <class = void>
bool divides_by_zero(operator_call& c) {
    if (c.scalar(1, "b").real == 0) c.fail("divides by zero");
    return c.failed();
}
template <class = void>
void number_floordiv(operator_call& c) {
    if (!divides_by_zero(c)) on_numbers(c, []<class T>(T a, T b) { return floored(a, b); });
}
template <class = void>
void number_truediv(operator_call& c) {
    if (!divides_by_zero(c)) c.give(number::of(c.scalar(0, "a").real / c.scalar(1, "b").real));
}
template <class = void>
void number_mod(operator_call& c) {
    if (!divides_by_zero(c)) on_numbers(c, []<class T>(T a, T b) { return remaining(a, b); });
}
template <class = void>
void number_neg(operator_call& c) {
    const number a = c.scalar(0, "a");
    if (c.failed()) return;
    if (a.what == element_class::real) c.give(number::of(-a.real));
    else c.give(number::of(minus<std::int64_t>(0, a.integer)));
}
template <class = void>
void number_eq(operator_call& c) {
    on_numbers(c, []<class T>(T a, T b) { return a == b; });
}
template <class = void>
void number_ne(operator_call& c) {
    on_numbers(c, []<class T>(T a, T b) { return a != b; });
}
template <class = void>
void number_lt(operator_call& c) {
    on_numbers(c, []<class T>(T a, T b) { return a < b; });
}
template <class = void>
void number_le(operator_call& c) {
    on_numbers(c, []<class T>(T a, T b) { return a <= b; });
}
template <class = void>
void number_gt(operator_call& c) {
    on_numbers(c, []<class T>(T a, T b) { return a > b; });
}
template <class = void>
void number_ge(operator_call& c) {
    on_numbers(c, []<class T>(T a, T b) { return a >= b; });
}
template <class = void>
void number_max(operator_call& c) {
    on_numbers(c, []<class T>(T a, T b) { return larger(a, b); });
}
template <class = void>
void number_min(operator_call& c) {
    on_numbers(c, []<class T>(T a, T b) { return smaller(a, b); });
}
/// sym_sum(args) returns the sum of a list of integers.
template <class = void>
void number_sum(operator_call& c) {
    std::int64_t total = 0;
    for (const std::int64_t n : c.integers(0, "args")) total = plus(total, n);
    if (!c.failed()) c.give(number::of(total));
}

/// getitem(tuple, index) returns a member of a tuple. The index counts from the end if it is negative. If the tuple
/// comes from a collective in flight, the member is in flight too, and has the same list of storages that must not be
/// written before the wait.
template <class = void>
void getitem(operator_call& c) {
    const tensor_argument* const a = c.find(0, "tuple");
    std::int64_t at = c.integer(1, "index");
    if (!a || a->what != tensor_argument::form::operand || c.of(*a).is_number) c.fail("takes a member of no tuple");
    if (c.failed()) return;
    const interpreted_value& tuple = c.of(*a);
    const bool all_tensors = tuple.places.empty();
    const auto members = static_cast<std::int64_t>(all_tensors ? tuple.tensors.size() : tuple.places.size());
    if (at < 0) at += members;
    if (at < 0 || at >= members) return c.fail("takes member " + text_of(at) + " of " + text_of(members));
    c.result.in_flight = tuple.in_flight;
    c.result.reads = tuple.reads;
    // The result for a member that is not a tensor stays empty: an operator that reads it treats it as left out.
    const auto k = static_cast<std::size_t>(at), place = all_tensors ? k : tuple.places[k];
    if (place != interpreted_value::no_tensor) c.give(tuple.tensors[place]);
}

template <class = void>
inline constexpr operator_entry number_operators[] = {
    {"aten.sym_size", "int", sym_size<>, operator_entry::trait::only_shapes},
    {"aten.sym_numel", "default", sym_numel<>, operator_entry::trait::only_shapes},
    {"aten.sym_stride", "int", sym_stride<>, operator_entry::trait::only_shapes},
    {"aten._local_scalar_dense", "default", item<>},
    {"aten.item", "default", item<>},
    {"aten._assert_scalar", "default", assert_scalar<>},
    {"add", "", number_add<>},
    {"sub", "", number_sub<>},
    {"mul", "", number_mul<>},
    {"floordiv", "", number_floordiv<>},
    {"truediv", "", number_truediv<>},
    {"mod", "", number_mod<>},
    {"neg", "", number_neg<>},
    {"eq", "", number_eq<>},
    {"ne", "", number_ne<>},
    {"lt", "", number_lt<>},
    {"le", "", number_le<>},
    {"gt", "", number_gt<>},
    {"ge", "", number_ge<>},
    {"sym_max", "", number_max<>},
    {"sym_min", "", number_min<>},
    {"sym_sum", "", number_sum<>},
    {"getitem", "", getitem<>, operator_entry::trait::only_shapes},
};

}  // namespace stretto::aten::detail

#endif
