// Operators of the interpreter that pad or crop the ends of dimensions, or rotate all entries.
#ifndef STRETTO_ATEN_DETAIL_INTERPRETER_SHIFTS_HPP
#define STRETTO_ATEN_DETAIL_INTERPRETER_SHIFTS_HPP

#include <cstddef>
#include <cstdint>

#include "stretto/aten/detail/interpreter_call.hpp"
#include "stretto/aten/detail/interpreter_joining.hpp"
#include "stretto/aten/detail/interpreter_shapes.hpp"
#include "stretto/aten/detail/interpreter_views.hpp"
#include "stretto/aten/tensor.hpp"

namespace stretto::aten::detail {

/// constant_pad_nd(self, pad, value) adds entries before and after the existing ones. `pad` has two numbers for each
/// dimension, the last dimension first: how many entries are added before, and how many after. A negative number
/// removes entries.
template <class = void>
void constant_pad(operator_call& c) {
    tensor inside = c.input(0, "self");
    const extents pad = c.integers(1, "pad");
    const mixed_operand value = c.has(2, "value") ? c.input_or_number(2, "value") : mixed_operand{};
    if (pad.size() % 2 != 0 || pad.size() / 2 > inside.rank()) c.fail("pads dimensions that there are not");
    if (c.failed()) return;
    extents shape = inside.shape();
    // Entries are removed first. What remains is then copied to its place in a tensor full of `value`.
    for (std::size_t k = 0; k < pad.size(); k += 2) {
        const std::size_t d = inside.rank() - 1 - k / 2;
        shape[d] += pad[k] + pad[k + 1];
        const std::int64_t first = pad[k] < 0 ? -pad[k] : 0, behind = pad[k + 1] < 0 ? -pad[k + 1] : 0;
        if (shape[d] < 0 || first + behind > inside.extent(d)) return c.fail("cuts more off than there is");
        inside = narrowed(inside, d, first, inside.extent(d) - first - behind);
    }
    const tensor made = expanded(value.value, shape).converted(inside.element());
    tensor place = made;
    for (std::size_t k = 0; k < pad.size(); k += 2) {
        const std::size_t d = inside.rank() - 1 - k / 2;
        place = narrowed(place, d, pad[k] > 0 ? pad[k] : 0, inside.extent(d));
    }
    write_elements(place, inside);
    made.storage()->writes = 0;
    c.give(made);
}
/// roll(self, shifts, dims) moves entries along a dimension; those that leave it at its end enter again at its
/// beginning. Without dimensions all elements form one row.
template <class = void>
void roll(operator_call& c) {
    const tensor self = c.input(0, "self");
    const extents by = c.integers(1, "shifts"), dims = c.integers(2, "dims");
    const bool flat = dims.empty();
    if (flat ? by.size() != 1 : by.size() != dims.size()) c.fail("shifts other dimensions than it names");
    if (c.failed()) return;
    tensor now = self.cloned();
    if (flat) now = reshaped(now, {self.elements()});
    for (std::size_t k = 0; k < by.size(); ++k) {
        const std::size_t d = flat ? 0 : c.wrapped(dims[k], self.rank());
        if (c.failed() || now.rank() == 0 || now.extent(d) == 0) continue;
        const std::int64_t n = now.extent(d), first = ((by[k] % n) + n) % n;
        now = concatenated(c, {narrowed(now, d, n - first, first), narrowed(now, d, 0, n - first)}, d);
    }
    if (!c.failed()) c.give(reshaped(now, self.shape()));
}

template <class = void>
inline constexpr operator_entry shift_operators[] = {
    {"aten.constant_pad_nd", "default", constant_pad<>},
    {"aten.roll", "default", roll<>},
};

}  // namespace stretto::aten::detail

#endif
