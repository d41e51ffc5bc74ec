// Views between complex numbers and pairs of floats.
#ifndef STRETTO_ATEN_DETAIL_INTERPRETER_COMPLEX_HPP
#define STRETTO_ATEN_DETAIL_INTERPRETER_COMPLEX_HPP

#include <utility>

#include "stretto/aten/detail/interpreter_call.hpp"
#include "stretto/aten/detail/tensor_storage.hpp"
#include "stretto/aten/tensor.hpp"

namespace stretto::aten::detail {

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
/// One of the two floats of every element, as a view; the real part of what is not complex is the tensor itself.
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
