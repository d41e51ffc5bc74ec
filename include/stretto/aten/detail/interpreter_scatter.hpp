// Operators of the interpreter that read or write single elements at computed positions of one dimension. Elements are
// taken in row-major order of the index, so if several are written to one place, the last one remains. A position
// outside the dimension makes the call fail.
#ifndef STRETTO_ATEN_DETAIL_INTERPRETER_SCATTER_HPP
#define STRETTO_ATEN_DETAIL_INTERPRETER_SCATTER_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "stretto/aten/detail/interpreter_arithmetic.hpp"
#include "stretto/aten/detail/interpreter_call.hpp"
#include "stretto/aten/detail/interpreter_shapes.hpp"
#include "stretto/aten/tensor.hpp"

namespace stretto::aten::detail {

/// Copies one element, or adds it. Precondition: both tensors have the same element type.
template <class = void>
void move_element(const tensor& to, std::int64_t to_slot, const tensor& from, std::int64_t from_slot, bool add) {
    in_class(to.category(), [&]<class T>(T) {
        const T x = from.load<T>(from_slot);
        to.store<T>(to_slot, add ? plus(to.load<T>(to_slot), x) : x);
    });
}

/// Returns the message for a position outside the dimension.
template <class = void>
std::string no_such_position(std::int64_t at, std::int64_t extent) {
    return "position " + text_of(at) + " of a dimension with " + text_of(extent);
}

/// Calls `f(slot in t, slot in other)` for every element of `index`. Both slots are those at the position of the
/// element, except that in t the element itself gives the position along `dim`. The call fails if the index does not
/// fit into both, or names a position that does not exist. O(elements of the index).
template <class F>
void at_positions(operator_call& c, const tensor& t, std::size_t dim, const tensor& index, const tensor& other, F f) {
    // A tensor without dimensions is treated as if it had one of extent 1.
    const tensor base = t.rank() == 0 ? t.view({1}, {0}, t.offset()) : t;
    const auto lifted = [&](const tensor& x) { return x.rank() == 0 ? x.view({1}, {0}, x.offset()) : x; };
    const tensor where = lifted(index), from = lifted(other);
    if (where.category() != element_class::integer) return c.fail(text_of(index) + " holds no positions");
    if (where.rank() != base.rank() || from.rank() != base.rank())
        return c.fail(text_of(index) + " has another number of dimensions than " + text_of(t));
    for (std::size_t d = 0; d < base.rank(); ++d)
        // The index may be smaller than both, in which case it uses their first positions; nothing is broadcast.
        if ((d != dim && where.extent(d) > base.extent(d)) || where.extent(d) > from.extent(d))
            return c.fail("positions " + text_of(index) + " do not lie within " + text_of(t) + " and " +
                          text_of(other));
    const std::vector<std::int64_t> at = where.values<std::int64_t>();
    extents along = base.strides();
    // The walk over the index yields the slots of t at position 0 of `dim`, and the element adds the rest.
    along[dim] = 0;
    std::vector<std::int64_t> slots;
    slots.reserve(at.size());
    for_each_slot(where.shape(), along, base.offset(), [&](std::int64_t slot) { slots.push_back(slot); });
    std::size_t k = 0;
    for_each_slot(where.shape(), from.strides(), from.offset(), [&](std::int64_t slot) {
        const std::int64_t position = at[k];
        if (position < 0 || position >= base.extent(dim)) c.fail(no_such_position(position, base.extent(dim)));
        if (!c.failed()) f(slots[k] + position * base.strides()[dim], slot);
        ++k;
    });
}

/// gather(self, dim, index) returns elements of self in the shape of the index.
template <class = void>
void gather(operator_call& c) {
    const tensor self = c.input(0, "self"), index = c.input(2, "index");
    const std::size_t dim = c.wrapped(c.integer(1, "dim"), self.rank());
    if (c.failed()) return;
    const tensor made(self.element(), index.shape());
    at_positions(c, self, dim, index, made,
                 [&](std::int64_t slot, std::int64_t to) { move_element(made, to, self, slot, false); });
    if (!c.failed()) c.give(made);
}
/// scatter(self, dim, index, src or value) and scatter_add(self, dim, index, src) return a copy of self into which
/// elements are written, or to which they are added. `src` must have the type of self; a value is converted to it.
template <class = void>
void scatter(operator_call& c) {
    const bool add = c.operation.starts_with("aten.scatter_add");
    const tensor self = c.input(0, "self"), index = c.input(2, "index");
    const std::size_t dim = c.wrapped(c.integer(1, "dim"), self.rank());
    const mixed_operand given = c.input_or_number(3, c.operation.ends_with(".value") ? "value" : "src");
    if (!given.wrapped && given.value.element() != self.element())
        c.fail("scatters " + text_of(given.value) + " into " + text_of(self));
    if (c.failed()) return;
    const tensor made = self.cloned();
    const tensor from = given.value.converted(self.element());
    const tensor source = given.wrapped ? expanded(from, index.shape()) : from;
    at_positions(c, made, dim, index, source,
                 [&](std::int64_t slot, std::int64_t at) { move_element(made, slot, source, at, add); });
    made.storage()->writes = 0;
    if (!c.failed()) c.give(made);
}
/// deterministic_scatter_add(out, index, src) returns out.scatter_add(0, index, src).
template <class = void>
void scatter_add_rows(operator_call& c) {
    const tensor self = c.input(0, "out"), index = c.input(1, "index"), source = c.input(2, "src");
    if (c.failed()) return;
    const tensor made = self.cloned();
    at_positions(c, made, 0, index, source,
                 [&](std::int64_t slot, std::int64_t at) { move_element(made, slot, source, at, true); });
    made.storage()->writes = 0;
    if (!c.failed()) c.give(made);
}

template <class = void>
inline constexpr operator_entry scatter_operators[] = {
    {"aten.gather", "default", gather<>},
    {"aten.scatter", "value src", scatter<>, operator_entry::trait::has_in_place_form},
    {"aten.scatter_add", "default", scatter<>, operator_entry::trait::has_in_place_form},
    {"torchtitan.deterministic_scatter_add", "default", scatter_add_rows<>},
};

}  // namespace stretto::aten::detail

#endif
