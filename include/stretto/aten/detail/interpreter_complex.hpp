// Operators of the interpreter that are views between complex numbers and pairs of floats, such as rotary position
// embeddings use.
//
// They never touch data. Storage holds a complex number as two adjacent doubles, and the strides and offsets of a
// complex tensor count these halves. So the strides of its dimensions are those of the pairs, and only the last
// dimension, of extent 2 and stride 1, is added or removed. A conjugate is a flag on the view: the signs of imaginary
// parts in its storage are opposite to those of its elements. A view of its parts would show the signs of the storage,
// and is refused.
#ifndef STRETTO_ATEN_DETAIL_INTERPRETER_COMPLEX_HPP
#define STRETTO_ATEN_DETAIL_INTERPRETER_COMPLEX_HPP

#include <utility>

#include "stretto/aten/detail/interpreter_call.hpp"
#include "stretto/aten/detail/tensor_storage.hpp"
#include "stretto/aten/tensor.hpp"

namespace stretto::aten::detail {

/// view_as_complex(self) views [.., 2] of floats as [..] of complex numbers twice as wide. The two floats of each
/// number must be adjacent.
template <class = void>
void view_as_complex(operator_call& c) {
    const tensor self = c.input(0, "self");
    if (self.category() != element_class::real || self.rank() == 0 || self.shape().back() != 2 ||
        self.strides().back() != 1)
        c.fail(text_of(self) + " holds no adjacent pairs of floats");
    if (c.failed()) return;
    extents shape = self.shape(), strides = self.strides();
    shape.pop_back();
    strides.pop_back();
    const element_type e = self.element() == element_type::f64 ? element_type::c128 : element_type::c64;
    c.give(self.reinterpreted(e).view(std::move(shape), std::move(strides), self.offset()));
}
/// view_as_real(self) views [..] of complex numbers as [.., 2] of floats half as wide.
template <class = void>
void view_as_real(operator_call& c) {
    const tensor self = c.input(0, "self");
    if (!self.is_complex()) c.fail(text_of(self) + " is not complex");
    if (self.conjugated()) c.fail("the storage of a conjugate holds something else", "clone it first");
    if (c.failed()) return;
    extents shape = self.shape(), strides = self.strides();
    shape.push_back(2);
    strides.push_back(1);
    const element_type e = self.element() == element_type::c128 ? element_type::f64 : element_type::f32;
    c.give(self.reinterpreted(e).view(std::move(shape), std::move(strides), self.offset()));
}
/// real(self) and imag(self) return one of the two floats of every element, as a view. The real part of a tensor that
/// is not complex is the tensor itself.
template <class = void>
void real(operator_call& c) {
    const std::int64_t which = c.operation.starts_with("aten.imag") ? 1 : 0;
    const tensor self = c.input(0, "self");
    if (self.conjugated()) c.fail("the storage of a conjugate holds something else", "clone it first");
    if (!self.is_complex() && which == 1) c.fail(text_of(self) + " is not complex");
    if (c.failed()) return;
    const element_type e = self.element() == element_type::c128 ? element_type::f64 : element_type::f32;
    if (!self.is_complex()) c.give(self);
    else c.give(self.reinterpreted(e).view(self.shape(), self.strides(), self.offset() + which));
}
/// _conj(self) returns the complex conjugate as a view: reads and writes change the sign of the imaginary part. Real
/// tensors are their own conjugates.
template <class = void>
void conj(operator_call& c) {
    const tensor self = c.input(0, "self");
    if (!c.failed()) c.give(self.is_complex() ? self.conjugate() : self);
}

template <class = void>
inline constexpr operator_entry complex_operators[] = {
    {"aten.view_as_complex", "default", view_as_complex<>},
    {"aten.view_as_real", "default", view_as_real<>},
    {"aten.real", "default", real<>},
    {"aten.imag", "default", real<>},
    {"aten._conj", "default", conj<>},
};

}  // namespace stretto::aten::detail

#endif
