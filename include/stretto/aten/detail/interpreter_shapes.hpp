// Rules that operators of the interpreter share: broadcasting, the element type of a result, and rounding. These are
// the framework's rules, because a captured program records the types that follow from them, and the interpreter checks
// each result.
#ifndef STRETTO_ATEN_DETAIL_INTERPRETER_SHAPES_HPP
#define STRETTO_ATEN_DETAIL_INTERPRETER_SHAPES_HPP

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stretto/aten/detail/interpreter_call.hpp"
#include "stretto/aten/tensor.hpp"
#include "stretto/core/tensor_model.hpp"

namespace stretto::aten::detail {

/// Returns the shape to which both shapes broadcast, aligned at the last dimension. The call fails if there is none.
template <class = void>
extents broadcast(operator_call& c, std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
    extents shape(a.size() > b.size() ? a.size() : b.size(), 1);
    for (std::size_t k = 1; k <= shape.size(); ++k) {
        const std::int64_t x = k <= a.size() ? a[a.size() - k] : 1, y = k <= b.size() ? b[b.size() - k] : 1;
        if (x != y && x != 1 && y != 1)
            c.fail("shapes " + text_of(a) + " and " + text_of(b) + " do not fit each other",
                   "extents must be equal or 1, from the last dimension on");
        shape[shape.size() - k] = x == 1 ? y : x;
    }
    return shape;
}

/// Returns a view of t with that shape, in which dimensions that t does not have, or has with extent 1, are repeated:
/// their stride is 0. Precondition: t broadcasts to the shape.
template <class = void>
tensor expanded(const tensor& t, extents shape) {
    extents strides(shape.size(), 0);
    for (std::size_t k = 1; k <= t.rank() && k <= shape.size(); ++k)
        if (t.shape()[t.rank() - k] != 1) strides[shape.size() - k] = t.strides()[t.rank() - k];
    return t.view(std::move(shape), std::move(strides), t.offset());
}

/// Returns the result type of arithmetic on two element types: the one of the higher class; within a class the wider
/// one, or a type that holds both if two different types have the same width.
template <class = void>
element_type promoted(element_type a, element_type b) noexcept {
    if (a == b) return a;
    if (class_of(a) < class_of(b)) std::swap(a, b);
    const element_class wide = class_of(a), narrow = class_of(b);
    if (wide == element_class::complex)
        return a == element_type::c128 || b == element_type::c128 || b == element_type::f64 ? element_type::c128
                                                                                            : element_type::c64;
    if (wide != narrow) return a;
    if (wide == element_class::real) {
        const bool both_short = size_of(a) == 2 && size_of(b) == 2;
        return both_short ? element_type::f32 : size_of(a) > size_of(b) ? a : b;
    }
    if (size_of(a) == 1 && size_of(b) == 1) return element_type::i16;  // i8 with u8
    return size_of(a) > size_of(b) ? a : b;
}

/// Returns the element type of a result. Tensors with dimensions decide among themselves; tensors without dimensions,
/// and then numbers, count only if they are of a higher class: a bf16 tensor times an f32 scalar is bf16, an i64 tensor
/// times 0.5 is f32.
template <class = void>
element_type result_type(std::span<const mixed_operand> operands) noexcept {
    element_type best = element_type::boolean;
    bool decided = false;
    for (int priority = 0; priority < 3; ++priority) {  // tensors with dimensions, tensors without, numbers
        element_type here = element_type::boolean;
        bool any = false;
        for (const mixed_operand& o : operands) {
            if ((o.wrapped ? 2 : o.value.rank() == 0 ? 1 : 0) != priority) continue;
            here = any ? promoted(here, o.value.element()) : o.value.element();
            any = true;
        }
        if (!any) continue;
        if (!decided) best = here;
        else if (class_of(here) > class_of(best))
            best = priority == 2 && class_of(here) == element_class::complex ? element_type::c64 : here;
        decided = true;
    }
    return best;
}

/// Returns the nearest number that an element type can hold, ties to even. An f64 is unchanged. Below the normal
/// numbers of f16 and bf16 the distance between neighbours is constant (gradual underflow), so the exponent is bounded
/// from below. Values that round beyond the largest number become infinite.
template <class = void>
double rounded(double x, element_type e) noexcept {
    if (e == element_type::f64 || e == element_type::c128) return x;
    const auto single = static_cast<float>(x);
    if (e != element_type::bf16 && e != element_type::f16) return static_cast<double>(single);
    if (!(x - x == 0)) return x;  // infinities and NaNs
    if (e == element_type::f16) {
        constexpr double largest = 65504, half_above = 65520;
        int exponent = 0;
        std::frexp(x, &exponent);
        const double unit = std::ldexp(1.0, (exponent < -13 ? -13 : exponent) - 11);
        const double r = std::nearbyint(x / unit) * unit;
        if (std::fabs(x) >= half_above) return std::copysign(std::numeric_limits<double>::infinity(), x);
        return std::fabs(r) > largest ? std::copysign(largest, x) : r;
    }
    int exponent = 0;
    std::frexp(x, &exponent);
    const double unit = std::ldexp(1.0, (exponent < -125 ? -125 : exponent) - 8);
    const double r = std::nearbyint(x / unit) * unit;
    constexpr double above_all = 0x1p128;
    return std::fabs(r) >= above_all ? std::copysign(std::numeric_limits<double>::infinity(), x) : r;
}

/// Rounds every element in place to what its type can hold. This does not count as a write.
template <class = void>
void round_elements(const tensor& t) {
    if (t.integral() || t.element() == element_type::f64 || t.element() == element_type::c128) return;
    const std::uint64_t before = t.storage()->writes;
    in_class(t.category(), [&]<class T>(T) {
        for_each_slot(t.shape(), t.strides(), t.offset(), [&](std::int64_t slot) {
            const T x = t.load<T>(slot);
            if constexpr (std::is_same_v<T, double>) t.store(slot, rounded(x, t.element()));
            else if constexpr (std::is_same_v<T, complex_number>)
                t.store(slot, complex_number{rounded(x.re, t.element()), rounded(x.im, t.element())});
        });
    });
    t.storage()->writes = before;
}

/// Returns a tensor of these elements in row-major order. It counts as never written. Precondition: there are as many
/// values as the shape has elements.
template <class T>
tensor made_of(element_type element, extents shape, std::span<const T> values) {
    tensor made(element, std::move(shape));
    made.assign<T>(values);
    made.storage()->writes = 0;
    return made;
}

/// Returns the type of the result of a function of floats: integers become f32.
template <class = void>
element_type float_type(element_type e) noexcept {
    return class_of(e) <= element_class::integer ? element_type::f32 : e;
}

/// Returns a tensor that represents uninitialised memory: floats are NaN and integers are invalid positions, so that a
/// read of them is noticed. A truth value has no invalid element, so it is true.
template <class = void>
tensor garbage(element_type element, extents shape) {
    tensor made(element, std::move(shape));
    const auto n = static_cast<std::size_t>(made.elements());
    if (made.category() == element_class::truth) made.storage()->integers.assign(n, 1);
    else if (made.integral()) made.storage()->integers.assign(n, std::numeric_limits<std::int64_t>::min());
    else made.storage()->reals.assign(made.storage()->reals.size(), std::numeric_limits<double>::quiet_NaN());
    return made;
}

/// Makes the call fail if an extent is negative, and replaces such extents by 0.
template <class = void>
void check_shape(operator_call& c, extents& shape) {
    for (std::int64_t& e : shape) {
        if (e >= 0) continue;
        c.fail("extent " + text_of(e) + " is negative");
        e = 0;
    }
}

}  // namespace stretto::aten::detail

#endif
