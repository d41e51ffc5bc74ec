// Operators of the interpreter that only view storage differently. Their results share the storage of their operand, so
// that all of them see a write in place, as in the framework.
//
// A new shape that no strides can express makes a copy. In the framework only reshape does that, and view fails; but a
// captured program has no view that failed, so both are one operator here. Strides along dimensions of extent 1 have
// arbitrary values, which nothing reads.
#ifndef STRETTO_ATEN_DETAIL_INTERPRETER_VIEWS_HPP
#define STRETTO_ATEN_DETAIL_INTERPRETER_VIEWS_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "stretto/aten/detail/interpreter_call.hpp"
#include "stretto/aten/detail/interpreter_shapes.hpp"
#include "stretto/aten/tensor.hpp"

namespace stretto::aten::detail {

/// Finds the strides with which t has another shape without a copy; returns false if there are none. Runs of dimensions
/// of t that follow each other in memory without a gap are divided anew. O(dimensions of both shapes).
template <class = void>
bool strides_for(const tensor& t, const extents& shape, extents& strides) {
    strides.assign(shape.size(), t.is_complex() ? 2 : 1);
    if (t.elements() == 0) return true;
    std::size_t wanted = shape.size();
    for (std::size_t d = t.rank(); d > 0;) {
        const std::int64_t step = t.strides()[--d];
        std::int64_t run = t.shape()[d];
        if (run == 1) continue;
        while (d > 0 && (t.shape()[d - 1] == 1 || t.strides()[d - 1] == step * run)) run *= t.shape()[--d];
        std::int64_t made = 1;
        // The wanted dimensions, from the last one on, must make up exactly this run of elements without a gap.
        while (wanted > 0 && (made < run || shape[wanted - 1] == 1)) {
            strides[--wanted] = step * made;
            made *= shape[wanted];
        }
        if (made != run) return false;
    }
    return true;
}

/// Returns t with another shape: a view if possible, otherwise a copy. Precondition: the shape has as many elements as
/// t.
template <class = void>
tensor reshaped(const tensor& t, extents shape) {
    extents strides;
    if (strides_for(t, shape, strides)) return t.view(std::move(shape), std::move(strides), t.offset());
    const tensor copy = t.cloned();
    strides_for(copy, shape, strides);
    return copy.view(std::move(shape), std::move(strides), 0);
}

/// Returns a shape argument in which one extent may be -1, which stands for what remains of `elements`. The call fails
/// if the shape does not have as many elements.
template <class = void>
extents completed(operator_call& c, extents shape, std::int64_t elements) {
    std::int64_t known = 1, open = 0;
    bool negative = false;
    for (const std::int64_t e : shape) {
        if (e == -1) ++open;
        else known *= e;
        negative = negative || e < -1;
    }
    for (std::int64_t& e : shape)
        if (e == -1 && open == 1) e = known == 0 ? 0 : elements / known;
    if (open > 1 || negative || product(shape) != elements)
        c.fail("makes shape " + text_of(shape) + " of " + text_of(elements) + " elements");
    return shape;
}

/// view(self, size) and reshape(self, shape) return the same elements in another shape.
template <class = void>
void view(operator_call& c) {
    const tensor self = c.input(0, "self");
    extents shape = completed(c, c.integers(1, c.has(1, "size") ? "size" : "shape"), self.elements());
    if (!c.failed()) c.give(reshaped(self, std::move(shape)));
}
/// alias(self) and detach(self) return the tensor itself: the interpreter has no gradients to detach.
template <class = void>
void alias(operator_call& c) {
    tensor self = c.input(0, "self");
    if (!c.failed()) c.give(std::move(self));
}
/// expand(self, size) repeats dimensions of extent 1, and new leading ones, without a copy. An extent of -1 stands for
/// that of self, which a new dimension does not have.
template <class = void>
void expand(operator_call& c) {
    const tensor self = c.input(0, "self");
    extents shape = c.integers(1, "size");
    if (shape.size() < self.rank()) c.fail("expands " + text_of(self) + " to fewer dimensions");
    for (std::size_t k = 1; k <= shape.size() && !c.failed(); ++k) {
        const std::int64_t own = k <= self.rank() ? self.shape()[self.rank() - k] : 1;
        std::int64_t& e = shape[shape.size() - k];
        if (e == -1 && k <= self.rank()) e = own;
        if (e < 0 || (own != 1 && own != e)) c.fail("expands " + text_of(self) + " to " + text_of(shape));
    }
    if (!c.failed()) c.give(expanded(self, std::move(shape)));
}

/// Returns t with its dimensions in another order: dimension k of the result is dimension order[k] of t.
template <class = void>
tensor permuted(const tensor& t, const std::vector<std::size_t>& order) {
    extents shape, strides;
    for (const std::size_t d : order) {
        shape.push_back(t.shape()[d]);
        strides.push_back(t.strides()[d]);
    }
    return t.view(std::move(shape), std::move(strides), t.offset());
}
/// permute(self, dims) makes dimension dims[k] of self dimension k of the result.
template <class = void>
void permute(operator_call& c) {
    const tensor self = c.input(0, "self");
    std::vector<std::size_t> order;
    std::vector<bool> taken(self.rank());
    for (const std::int64_t d : c.integers(1, "dims")) {
        order.push_back(c.wrapped(d, self.rank()));
        if (order.back() >= taken.size() || taken[order.back()]) return c.fail("names a dimension twice");
        taken[order.back()] = true;
    }
    if (order.size() != self.rank()) c.fail("does not name every dimension");
    if (!c.failed()) c.give(permuted(self, order));
}
/// Returns t with two dimensions exchanged.
template <class = void>
tensor transposed(const tensor& t, std::size_t a, std::size_t b) {
    std::vector<std::size_t> order(t.rank());
    for (std::size_t d = 0; d < order.size(); ++d) order[d] = d == a ? b : d == b ? a : d;
    return permuted(t, order);
}
template <class = void>
void transpose(operator_call& c) {
    const tensor self = c.input(0, "self");
    const std::size_t a = c.wrapped(c.integer(1, "dim0"), self.rank()),
                      b = c.wrapped(c.integer(2, "dim1"), self.rank());
    if (!c.failed()) c.give(transposed(self, a, b));
}
/// t(self) transposes a matrix; a tensor with fewer dimensions stays as it is.
template <class = void>
void t(operator_call& c) {
    const tensor self = c.input(0, "self");
    if (self.rank() > 2) c.fail("transposes " + text_of(self) + ", which is no matrix");
    if (!c.failed()) c.give(self.rank() < 2 ? self : transposed(self, 0, 1));
}

/// numpy_T(self) reverses the order of all dimensions.
template <class = void>
void reversed_dims(operator_call& c) {
    const tensor self = c.input(0, "self");
    if (c.failed()) return;
    c.give(self.view({self.shape().rbegin(), self.shape().rend()}, {self.strides().rbegin(), self.strides().rend()},
                     self.offset()));
}

/// squeeze(self) and squeeze(self, dims) remove dimensions of extent 1. Dimensions that are named and have another
/// extent stay, without an error.
template <class = void>
void squeeze(operator_call& c) {
    const tensor self = c.input(0, "self");
    const bool all = c.operation.ends_with(".default");
    std::vector<bool> chosen(self.rank() + 1, all);
    for (const std::int64_t d : c.integers(1, "dim")) chosen[c.wrapped(d, self.rank())] = true;
    extents shape, strides;
    for (std::size_t d = 0; d < self.rank(); ++d) {
        if (chosen[d] && self.shape()[d] == 1) continue;
        shape.push_back(self.shape()[d]);
        strides.push_back(self.strides()[d]);
    }
    if (!c.failed()) c.give(self.view(std::move(shape), std::move(strides), self.offset()));
}
/// unsqueeze(self, dim) adds a dimension of extent 1. `dim` refers to the result, which has one dimension more.
template <class = void>
void unsqueeze(operator_call& c) {
    const tensor self = c.input(0, "self");
    const auto at = static_cast<std::ptrdiff_t>(c.wrapped(c.integer(1, "dim"), self.rank() + 1));
    extents shape = self.shape(), strides = self.strides();
    shape.insert(shape.begin() + at, 1);
    strides.insert(strides.begin() + at, 1);
    if (!c.failed()) c.give(self.view(std::move(shape), std::move(strides), self.offset()));
}

/// Returns a view of `count` positions of a dimension, beginning with `first` and `step` apart. Precondition: the
/// positions exist.
template <class = void>
tensor narrowed(const tensor& t, std::size_t dim, std::int64_t first, std::int64_t count, std::int64_t step = 1) {
    extents shape = t.shape(), strides = t.strides();
    const std::int64_t offset = t.offset() + first * strides[dim];
    shape[dim] = count;
    strides[dim] *= step;
    return t.view(std::move(shape), std::move(strides), offset);
}
/// Where a slice begins, how many positions it has, and how far apart they are.
struct slice_bounds {
    std::int64_t first = 0, count = 0, step = 1;
};
/// Reads arguments k to k + 2: start, end and step. Start and end are limited to the extent, and count from the end if
/// negative.
template <class = void>
slice_bounds bounds_of_slice(operator_call& c, std::size_t k, std::int64_t extent) {
    const auto within = [extent](std::int64_t at) {
        if (at < 0) at += extent;
        return at < 0 ? 0 : at > extent ? extent : at;
    };
    slice_bounds b;
    b.first = within(c.integer(k, "start", 0));
    const std::int64_t end = within(c.integer(k + 1, "end", extent));
    b.step = c.integer(k + 2, "step", 1);
    if (b.step < 1) {
        c.fail("slices with step " + text_of(b.step));
        b.step = 1;
    }
    b.count = end > b.first ? (end - b.first + b.step - 1) / b.step : 0;
    return b;
}
/// slice(self, dim, start, end, step) returns a view of positions of a dimension.
template <class = void>
void slice(operator_call& c) {
    const tensor self = c.input(0, "self");
    const std::size_t dim = c.wrapped(c.integer(1, "dim", 0), self.rank());
    if (self.rank() == 0) c.fail("slices a tensor without dimensions");
    if (c.failed()) return;
    const slice_bounds b = bounds_of_slice(c, 2, self.extent(dim));
    if (!c.failed()) c.give(narrowed(self, dim, b.first, b.count, b.step));
}
/// narrow(self, dim, start, length) returns a view of neighbouring positions. Unlike a slice, it fails if they do not
/// all exist.
template <class = void>
void narrow(operator_call& c) {
    const tensor self = c.input(0, "self");
    const std::size_t dim = c.wrapped(c.integer(1, "dim"), self.rank());
    std::int64_t first = c.integer(2, "start");
    const std::int64_t count = c.integer(3, "length");
    if (self.rank() == 0) c.fail("narrows a tensor without dimensions");
    if (c.failed()) return;
    if (first < 0) first += self.extent(dim);
    if (first < 0 || count < 0 || first + count > self.extent(dim))
        return c.fail("positions " + text_of(first) + " and " + text_of(count) + " more do not exist in " +
                      text_of(self));
    c.give(narrowed(self, dim, first, count));
}
/// Returns a view of one position of a dimension, without that dimension.
template <class = void>
tensor selected(const tensor& t, std::size_t dim, std::int64_t at) {
    extents shape = t.shape(), strides = t.strides();
    const std::int64_t offset = t.offset() + at * strides[dim];
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(dim));
    strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(dim));
    return t.view(std::move(shape), std::move(strides), offset);
}
template <class = void>
void select(operator_call& c) {
    const tensor self = c.input(0, "self");
    const std::size_t dim = c.wrapped(c.integer(1, "dim"), self.rank());
    std::int64_t at = c.integer(2, "index");
    if (self.rank() == 0) c.fail("selects from a tensor without dimensions");
    if (c.failed()) return;
    if (at < 0) at += self.extent(dim);
    if (at < 0 || at >= self.extent(dim))
        return c.fail("position " + text_of(at) + " does not exist in " + text_of(self));
    c.give(selected(self, dim, at));
}
template <class = void>
inline constexpr operator_entry view_operators[] = {
    {"aten.view", "default", view<>},
    {"aten.reshape", "default", view<>},
    {"aten._unsafe_view", "default", view<>},
    {"aten.alias", "default", alias<>},
    {"aten.detach", "default", alias<>},
    {"aten.expand", "default", expand<>},
    {"aten.permute", "default", permute<>},
    {"aten.transpose", "int", transpose<>},
    {"aten.t", "default", t<>},
    {"aten.numpy_T", "default", reversed_dims<>},
    {"aten.squeeze", "default dim dims", squeeze<>},
    {"aten.unsqueeze", "default", unsqueeze<>},
    {"aten.slice", "Tensor", slice<>},
    {"aten.narrow", "default", narrow<>},
    {"aten.select", "int", select<>},
};

}  // namespace stretto::aten::detail

#endif
