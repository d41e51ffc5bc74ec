// Operators of the interpreter that make tensors from nothing but shapes and numbers.
//
// The new_ and _like operators read only the shape and the type of their tensor, and are marked so: a buffer that is
// modelled on the result of a collective may be made while that is in flight.
#ifndef STRETTO_ATEN_DETAIL_INTERPRETER_CREATION_HPP
#define STRETTO_ATEN_DETAIL_INTERPRETER_CREATION_HPP

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/aten/detail/interpreter_call.hpp"
#include "stretto/aten/detail/interpreter_shapes.hpp"
#include "stretto/aten/tensor.hpp"

namespace stretto::aten::detail {

/// Returns a tensor all of whose elements are the same number, in storage of its own. An integer is not converted
/// through a double, which would round those above 2^53.
template <class = void>
tensor constant(element_type e, extents shape, number n) {
    const bool real = n.what == element_class::real;
    const tensor one =
        real ? tensor::of(element_type::f64, {}, {n.real}) : tensor::of_integers(element_type::i64, {}, {n.integer});
    return expanded(one, std::move(shape)).converted(e);
}

/// Returns a tensor that is filled as the name of the operator says: "aten.new_zeros.default" fills with 0, "empty"
/// with garbage. Otherwise argument `fill_position` is the number with which it is filled.
template <class = void>
tensor filled(operator_call& c, element_type e, extents shape, std::size_t fill_position) {
    if (c.operation.find("empty") != std::string_view::npos) return garbage(e, std::move(shape));
    if (c.operation.find("zeros") != std::string_view::npos) return tensor(e, std::move(shape));
    if (c.operation.find("ones") != std::string_view::npos)
        return constant(e, std::move(shape), number::of(std::int64_t{1}));
    return constant(e, std::move(shape), c.scalar(fill_position, "fill_value"));
}
/// zeros(size, dtype=), full(size, fill_value, dtype=) and similar operators make a tensor of a given shape. Without a
/// dtype, its elements are f32, or for `full` of the type that the class of the value has by default.
template <class = void>
void create(operator_call& c) {
    extents shape = c.integers(0, "size");
    check_shape(c, shape);
    const bool full = c.operation.find("full") != std::string_view::npos;
    constexpr element_type defaults[] = {element_type::boolean, element_type::i64, element_type::f32};
    const element_type usual =
        full ? defaults[static_cast<std::size_t>(c.scalar(1, "fill_value").what)] : element_type::f32;
    const element_type e = c.element(c.positional.size(), "dtype", usual);
    if (!c.failed()) c.give(filled(c, e, std::move(shape), 1));
}
/// new_zeros(like, size, dtype=) and similar operators use the type of `like` by default.
template <class = void>
void create_new(operator_call& c) {
    const tensor like = c.input(0, "self");
    extents shape = c.integers(1, "size");
    check_shape(c, shape);
    const element_type e = c.element(c.positional.size(), "dtype", like.element());
    if (!c.failed()) c.give(filled(c, e, std::move(shape), 2));
}
/// zeros_like(like, dtype=) and similar operators use the shape of `like`, and its type by default.
template <class = void>
void create_like(operator_call& c) {
    const tensor like = c.input(0, "self");
    const element_type e = c.element(c.positional.size(), "dtype", like.element());
    if (!c.failed()) c.give(filled(c, e, like.shape(), 1));
}
/// scalar_tensor(s, dtype=) returns a number as a tensor; it is f32 by default, even if the number is an integer.
template <class = void>
void scalar_tensor(operator_call& c) {
    const number n = c.scalar(0, "s");
    const element_type e = c.element(c.positional.size(), "dtype", element_type::f32);
    if (!c.failed()) c.give(constant(e, {}, n));
}

/// arange(end), arange(start, end) and arange(start, end, step) return the numbers from start up to, but without, end.
/// Without a dtype they are i64, or f32 if one of the arguments is a float. The k-th float is start + k * step and not
/// a running sum, so that its error does not grow.
template <class = void>
void arange(operator_call& c) {
    const bool only_end = c.operation == "aten.arange.default";
    const number zero = number::of(std::int64_t{0}), one = number::of(std::int64_t{1});
    const number start = only_end ? zero : c.scalar(0, "start"), end = c.scalar(only_end ? 0 : 1, "end");
    const number step = c.operation == "aten.arange.start_step" ? c.scalar(2, "step", one) : one;
    bool floats = false;
    for (const number& n : {start, end, step}) floats = floats || n.what == element_class::real;
    const element_type e = c.element(c.positional.size(), "dtype", floats ? element_type::f32 : element_type::i64);
    if (step.real == 0 || !((end.real - start.real) / step.real >= 0)) c.fail("counts away from its end");
    if (c.failed()) return;
    if (floats || class_of(e) >= element_class::real) {
        std::vector<double> x(static_cast<std::size_t>(std::ceil((end.real - start.real) / step.real)));
        for (std::size_t k = 0; k < x.size(); ++k) x[k] = start.real + static_cast<double>(k) * step.real;
        return c.give(made_of<double>(e, {static_cast<std::int64_t>(x.size())}, x));
    }
    std::vector<std::int64_t> x;
    for (std::int64_t k = start.integer; step.integer > 0 ? k < end.integer : k > end.integer; k += step.integer)
        x.push_back(k);
    c.give(made_of<std::int64_t>(e, {static_cast<std::int64_t>(x.size())}, x));
}

template <class = void>
inline constexpr operator_entry creation_operators[] = {
    {"aten.zeros", "default", create<>},
    {"aten.ones", "default", create<>},
    {"aten.full", "default", create<>},
    {"aten.empty", "memory_format default", create<>},
    {"aten.new_zeros", "default", create_new<>, operator_entry::trait::only_shapes},
    {"aten.new_ones", "default", create_new<>, operator_entry::trait::only_shapes},
    {"aten.new_full", "default", create_new<>, operator_entry::trait::only_shapes},
    {"aten.new_empty", "default", create_new<>, operator_entry::trait::only_shapes},
    {"aten.zeros_like", "default", create_like<>, operator_entry::trait::only_shapes},
    {"aten.ones_like", "default", create_like<>, operator_entry::trait::only_shapes},
    {"aten.full_like", "default", create_like<>, operator_entry::trait::only_shapes},
    {"aten.empty_like", "default", create_like<>, operator_entry::trait::only_shapes},
    {"aten.scalar_tensor", "default", scalar_tensor<>},
    {"aten.arange", "default start start_step", arange<>},
};

}  // namespace stretto::aten::detail

#endif
