// Operators of the interpreter that concatenate, repeat or reverse tensors, or replace a part of one.
#ifndef STRETTO_ATEN_DETAIL_INTERPRETER_JOINING_HPP
#define STRETTO_ATEN_DETAIL_INTERPRETER_JOINING_HPP

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/aten/detail/interpreter_call.hpp"
#include "stretto/aten/detail/interpreter_shapes.hpp"
#include "stretto/aten/detail/interpreter_views.hpp"
#include "stretto/aten/tensor.hpp"

namespace stretto::aten::detail {

/// Writes the elements of one tensor into another of the same shape, in the wider of the two classes, so that nothing
/// is lost before the type of the target narrows it. This counts as one write of its storage.
template <class = void>
void write_elements(const tensor& to, const tensor& from) {
    const element_class wider = to.category() > from.category() ? to.category() : from.category();
    in_class(wider, [&]<class T>(T) { to.assign<T>(from.values<T>()); });
}

/// Concatenates tensors along a dimension, into new storage and in the type to which all of them promote. The call
/// fails if they differ in another dimension, except that parts of shape [0] are skipped. Precondition: there is at
/// least one part.
template <class = void>
tensor concatenated(operator_call& c, const std::vector<tensor>& parts, std::size_t dim) {
    std::vector<mixed_operand> operands;
    std::vector<tensor> rows;
    for (const tensor& part : parts) {
        operands.push_back({part, false});
        if (part.rank() != 1 || part.extent(0) != 0) rows.push_back(part);  // shape [0] fits every other shape
    }
    if (rows.empty()) rows.push_back(parts[0]);
    extents shape = rows[0].shape();
    for (std::size_t k = 1; k < rows.size(); ++k)
        for (std::size_t d = 0; d < shape.size(); ++d)
            if (rows[k].rank() != shape.size() || (d != dim && rows[k].extent(d) != shape[d])) {
                c.fail(text_of(rows[k]) + " cannot stand behind " + text_of(rows[0]));
                return {};
            }
    shape[dim] = 0;
    for (const tensor& part : rows) shape[dim] += part.extent(dim);
    tensor made(result_type(operands), std::move(shape));
    std::int64_t first = 0;
    for (const tensor& part : rows) {
        write_elements(narrowed(made, dim, first, part.extent(dim)), part);
        first += part.extent(dim);
    }
    made.storage()->writes = 0;
    return made;
}
/// cat(tensors, dim) joins tensors along a dimension that they have.
template <class = void>
void cat(operator_call& c) {
    const std::vector<tensor> parts = c.inputs(0, "tensors");
    if (parts.empty()) c.fail("joins no tensors");
    std::size_t rank = 1;
    for (const tensor& part : parts) {
        if (part.rank() == 0) c.fail("joins a tensor without dimensions");
        if (part.rank() > rank) rank = part.rank();
    }
    const std::size_t dim = c.wrapped(c.integer(1, "dim", 0), rank);
    if (c.failed()) return;
    const tensor made = concatenated(c, parts, dim);
    if (!c.failed()) c.give(made);
}
/// stack(tensors, dim) gives every tensor a dimension of extent 1 at `dim` and joins them along it. `dim` refers to the
/// result, which has one dimension more than the parts.
template <class = void>
void stack(operator_call& c) {
    std::vector<tensor> parts = c.inputs(0, "tensors");
    if (parts.empty()) return c.fail("joins no tensors");
    const std::size_t dim = c.wrapped(c.integer(1, "dim", 0), parts[0].rank() + 1);
    for (tensor& part : parts) {
        // parts[0] already has the new dimension when the others are compared with it, so that only the number of
        // dimensions can be checked here; concatenated() checks the extents.
        if (part.shape() != parts[0].shape() && part.rank() + 1 != parts[0].rank())
            return c.fail(text_of(part) + " cannot stand behind " + text_of(parts[0]));
        extents shape = part.shape(), strides = part.strides();
        shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(dim), 1);
        strides.insert(strides.begin() + static_cast<std::ptrdiff_t>(dim), 0);
        part = part.view(std::move(shape), std::move(strides), part.offset());
    }
    if (c.failed()) return;
    const tensor made = concatenated(c, parts, dim);
    if (!c.failed()) c.give(made);
}
/// repeat(self, repeats) returns the whole tensor several times along each dimension. Missing leading dimensions are
/// added.
template <class = void>
void repeat(operator_call& c) {
    const tensor self = c.input(0, "self");
    const extents often = c.integers(1, "repeats");
    if (often.size() < self.rank()) c.fail("repeats only " + text_of(often) + " of the dimensions of " + text_of(self));
    for (const std::int64_t n : often)
        if (n < 0) c.fail("repeats " + text_of(n) + " times");
    if (c.failed()) return;
    // The shape becomes [r0, e0, r1, e1, ...], and then the pairs are merged.
    extents pairs, strides, merged;
    for (std::size_t k = 0; k < often.size(); ++k) {
        const std::size_t missing = often.size() - self.rank();
        const std::int64_t extent = k < missing ? 1 : self.extent(k - missing);
        pairs.insert(pairs.end(), {often[k], extent});
        strides.insert(strides.end(), {0, k < missing ? 0 : self.strides()[k - missing]});
        merged.push_back(often[k] * extent);
    }
    const tensor made = self.view(pairs, strides, self.offset()).cloned();
    c.give(reshaped(made, merged));
}
/// flip(self, dims) returns a copy with the order of entries reversed along each of the dimensions.
template <class = void>
void flip(operator_call& c) {
    const tensor self = c.input(0, "self");
    const extents dims = c.integers(1, "dims");
    std::vector<bool> reversed(self.rank() + 1, false);
    for (const std::int64_t d : dims) reversed[c.wrapped(d, self.rank())] = true;
    if (c.failed()) return;
    // Slices are copied one by one along each dimension, because strides cannot be negative.
    tensor now = self;
    for (std::size_t d = 0; d < self.rank(); ++d) {
        if (!reversed[d]) continue;
        const tensor made(self.element(), self.shape());
        for (std::int64_t at = 0; at < self.extent(d); ++at)
            write_elements(narrowed(made, d, at, 1), narrowed(now, d, self.extent(d) - 1 - at, 1));
        now = made;
    }
    tensor made = now.cloned();
    made.storage()->writes = 0;
    c.give(std::move(made));
}
/// slice_scatter(self, src, dim, start, end, step) returns a copy of self in which the slice is src.
template <class = void>
void slice_scatter(operator_call& c) {
    const tensor self = c.input(0, "self"), source = c.input(1, "src");
    const std::size_t dim = c.wrapped(c.integer(2, "dim", 0), self.rank());
    if (self.rank() == 0) c.fail("slices a tensor without dimensions");
    if (c.failed()) return;
    const slice_bounds b = bounds_of_slice(c, 3, self.extent(dim));
    const tensor made = self.cloned();
    const tensor to = narrowed(made, dim, b.first, b.count, b.step);
    if (to.shape() != source.shape()) c.fail(text_of(source) + " does not fit positions " + text_of(to));
    if (c.failed()) return;
    write_elements(to, source);
    made.storage()->writes = 0;
    c.give(made);
}
/// select_scatter(self, src, dim, index) returns a copy of self in which one position of a dimension is src.
template <class = void>
void select_scatter(operator_call& c) {
    const tensor self = c.input(0, "self"), source = c.input(1, "src");
    const std::size_t dim = c.wrapped(c.integer(2, "dim"), self.rank());
    std::int64_t at = c.integer(3, "index");
    if (self.rank() == 0) c.fail("selects from a tensor without dimensions");
    if (c.failed()) return;
    if (at < 0) at += self.extent(dim);
    if (at < 0 || at >= self.extent(dim))
        return c.fail("position " + text_of(at) + " does not exist in " + text_of(self));
    const tensor made = self.cloned();
    const tensor to = selected(made, dim, at);
    if (to.shape() != source.shape()) return c.fail(text_of(source) + " does not fit positions " + text_of(to));
    write_elements(to, source);
    made.storage()->writes = 0;
    c.give(made);
}

/// slice_backward(gradient, sizes, dim, start, end, step) and select_backward(gradient, sizes, dim, index) return the
/// gradient where the part was taken from, and zeros elsewhere.
template <class = void>
void part_backward(operator_call& c) {
    const bool selects = c.operation.starts_with("aten.select");
    const tensor gradient = c.input(0, "grad_output");
    const extents sizes = c.integers(1, "input_sizes");
    const std::size_t dim = c.wrapped(c.integer(2, "dim"), sizes.size());
    std::int64_t at = selects ? c.integer(3, "index") : 0;
    if (sizes.empty()) c.fail("is the gradient of a part of a tensor without dimensions");
    if (c.failed()) return;
    if (selects && at < 0) at += sizes[dim];
    if (selects && (at < 0 || at >= sizes[dim])) return c.fail("position " + text_of(at) + " does not exist");
    const tensor made(gradient.element(), sizes);
    tensor to;
    if (selects) {
        to = selected(made, dim, at);
    } else {
        const slice_bounds b = bounds_of_slice(c, 3, sizes[dim]);
        if (c.failed()) return;
        to = narrowed(made, dim, b.first, b.count, b.step);
    }
    if (to.shape() != gradient.shape()) return c.fail(text_of(gradient) + " does not fit positions " + text_of(to));
    write_elements(to, gradient);
    made.storage()->writes = 0;
    c.give(made);
}

template <class = void>
inline constexpr operator_entry joining_operators[] = {
    {"aten.cat", "default", cat<>},
    {"aten.stack", "default", stack<>},
    {"aten.repeat", "default", repeat<>},
    {"aten.flip", "default", flip<>},
    {"aten.slice_scatter", "default", slice_scatter<>},
    {"aten.select_scatter", "default", select_scatter<>},
    {"aten.slice_backward", "default", part_backward<>},
    {"aten.select_backward", "default", part_backward<>},
};

}  // namespace stretto::aten::detail

#endif
