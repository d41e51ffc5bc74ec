// Operators of the interpreter that read or write rows at computed positions. A position outside its dimension makes
// the call fail, so that a transform that mixes up row numbers is detected and does not read some other row.
//
// Longer than 300 lines: all of these operators share how positions are broadcast and checked.
#ifndef STRETTO_ATEN_DETAIL_INTERPRETER_INDEXING_HPP
#define STRETTO_ATEN_DETAIL_INTERPRETER_INDEXING_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/aten/detail/interpreter_arithmetic.hpp"
#include "stretto/aten/detail/interpreter_call.hpp"
#include "stretto/aten/detail/interpreter_scatter.hpp"
#include "stretto/aten/detail/interpreter_shapes.hpp"
#include "stretto/aten/detail/interpreter_views.hpp"
#include "stretto/aten/tensor.hpp"

namespace stretto::aten::detail {

/// The tensors of an index argument, one for each dimension that is indexed. A tensor of truth values stands for the
/// positions of its true elements, in every dimension that it covers. Dimensions that the argument leaves out stay
/// whole.
struct index_list {
    std::vector<tensor> positions;
    std::vector<std::size_t> dims;
    extents shape;       ///< the shape to which those of the positions broadcast
    std::size_t at = 0;  ///< the number of remaining dimensions in front of that shape
};
/// Reads argument 1, the list of indices into `self`. The call fails if an index does not fit `self`.
template <class = void>
index_list indices_of(operator_call& c, const tensor& self) {
    index_list list;
    const tensor_argument* const a = c.find(1, "indices");
    if (!a || a->what != tensor_argument::form::list) {
        c.fail("argument indices is no list");
        return list;
    }
    std::size_t dim = 0;
    for (std::size_t k = 0; k < a->items.size(); ++k) {
        const tensor_argument& item = a->items[k];
        const bool none = item.what == tensor_argument::form::none;
        if (none) {
            ++dim;
            continue;
        }
        // The items are read like positional arguments, so that the checks of operands apply to them, too.
        operator_call one;
        one.operands = c.operands;
        one.positional = a->items;
        tensor index = one.input(k, "indices");
        if (one.failed()) c.fail(one.cause, one.hint);
        const bool mask = index.category() == element_class::truth;
        const std::size_t takes = mask ? index.rank() : 1;
        if (index.category() > element_class::integer) c.fail(text_of(index) + " holds no positions");
        if (dim + takes > self.rank()) c.fail("has more indices than " + text_of(self) + " has dimensions");
        if (c.failed()) return list;
        if (!mask) {
            list.positions.push_back(std::move(index));
            list.dims.push_back(dim++);
            continue;
        }
        std::vector<std::vector<std::int64_t>> found(takes);
        extents position(takes, 0);
        for (std::size_t d = 0; d < takes; ++d)
            if (index.extent(d) != self.extent(dim + d))
                return c.fail("mask " + text_of(index) + " does not fit " + text_of(self)), list;
        for (const std::int64_t holds : index.values<std::int64_t>()) {
            for (std::size_t d = 0; holds && d < takes; ++d) found[d].push_back(position[d]);
            for (std::size_t d = takes; d-- > 0;) {
                if (++position[d] < index.extent(d)) break;
                position[d] = 0;
            }
        }
        for (const std::vector<std::int64_t>& each : found) {
            list.positions.push_back(
                made_of<std::int64_t>(element_type::i64, {static_cast<std::int64_t>(each.size())}, each));
            list.dims.push_back(dim++);
        }
    }
    for (const tensor& p : list.positions) list.shape = broadcast(c, list.shape, p.shape());
    if (list.dims.empty()) c.fail("names no positions");
    if (c.failed()) return list;
    // If the indexed dimensions are adjacent, the shape of the positions takes their place. Otherwise that place would
    // be ambiguous, and the framework puts the shape first.
    bool adjacent = true;
    for (std::size_t k = 1; k < list.dims.size(); ++k) adjacent = adjacent && list.dims[k] == list.dims[k - 1] + 1;
    list.at = adjacent ? list.dims[0] : 0;
    return list;
}
/// Returns the slots of `self` that an index selects, in row-major order of the result, and sets `shape` to the shape
/// that they have. The call fails if a position does not exist; negative ones count from the end. O(slots).
template <class = void>
std::vector<std::int64_t> slots_of(operator_call& c, const tensor& self, const index_list& list, extents& shape) {
    extents rest, rest_strides;
    for (std::size_t d = 0; d < self.rank(); ++d) {
        bool indexed = false;
        for (const std::size_t i : list.dims) indexed = indexed || i == d;
        if (indexed) continue;
        rest.push_back(self.extent(d));
        rest_strides.push_back(self.strides()[d]);
    }
    std::vector<std::int64_t> starts(static_cast<std::size_t>(product(list.shape)), 0);
    for (std::size_t i = 0; i < list.dims.size(); ++i) {
        const std::int64_t extent = self.extent(list.dims[i]);
        const std::vector<std::int64_t> at = expanded(list.positions[i], list.shape).values<std::int64_t>();
        for (std::size_t k = 0; k < at.size(); ++k) {
            const std::int64_t position = at[k] < 0 ? at[k] + extent : at[k];
            if (position < 0 || position >= extent) return c.fail(no_such_position(at[k], extent)), starts;
            starts[k] += position * self.strides()[list.dims[i]];
        }
    }
    // First come the dimensions before the indexed ones, then the shape of the positions, then the dimensions after.
    const auto cut = static_cast<std::ptrdiff_t>(list.at);
    shape.assign(rest.begin(), rest.begin() + cut);
    shape.insert(shape.end(), list.shape.begin(), list.shape.end());
    shape.insert(shape.end(), rest.begin() + cut, rest.end());
    const extents outer(rest.begin(), rest.begin() + cut), inner(rest.begin() + cut, rest.end());
    const extents outer_strides(rest_strides.begin(), rest_strides.begin() + cut);
    const extents inner_strides(rest_strides.begin() + cut, rest_strides.end());
    std::vector<std::int64_t> slots;
    slots.reserve(static_cast<std::size_t>(product(shape)));
    for_each_slot(outer, outer_strides, self.offset(), [&](std::int64_t first) {
        for (const std::int64_t start : starts)
            for_each_slot(inner, inner_strides, first + start, [&](std::int64_t slot) { slots.push_back(slot); });
    });
    return slots;
}
/// index(self, indices) returns a copy of the elements that the indices select.
template <class = void>
void index(operator_call& c) {
    const tensor self = c.input(0, "self");
    const index_list list = indices_of(c, self);
    if (c.failed()) return;
    extents shape;
    const std::vector<std::int64_t> slots = slots_of(c, self, list, shape);
    if (c.failed()) return;
    in_class(self.category(), [&]<class T>(T) {
        std::vector<T> x;
        x.reserve(slots.size());
        for (const std::int64_t slot : slots) x.push_back(self.load<T>(slot));
        c.give(made_of<T>(self.element(), shape, x));
    });
}
/// index_put(self, indices, values, accumulate) returns a copy of self in which the selected elements are replaced by
/// `values`, broadcast, or increased by them. Of several writes to one place, the last one remains.
template <class = void>
void index_put(operator_call& c) {
    const tensor self = c.input(0, "self"), given = c.input(2, "values");
    const bool add = c.truth(3, "accumulate", false);
    if (given.element() != self.element()) c.fail("puts " + text_of(given) + " into " + text_of(self));
    const tensor made = self.cloned();
    const index_list list = indices_of(c, made);
    if (c.failed()) return;
    extents shape;
    const std::vector<std::int64_t> slots = slots_of(c, made, list, shape);
    if (broadcast(c, shape, given.shape()) != shape)
        c.fail("values " + text_of(given) + " do not fit positions " + text_of(shape));
    if (c.failed()) return;
    in_class(made.category(), [&]<class T>(T) {
        const std::vector<T> x = expanded(given, shape).values<T>();
        for (std::size_t k = 0; k < slots.size(); ++k)
            made.store<T>(slots[k], add ? plus(made.load<T>(slots[k]), x[k]) : x[k]);
    });
    c.give(made);
}

/// Returns copies of the rows that a list of positions names. A row is everything at one position of dimension `dim`.
template <class = void>
tensor rows_at(operator_call& c, const tensor& self, std::size_t dim, const std::vector<std::int64_t>& at) {
    extents shape = self.shape();
    shape[dim] = static_cast<std::int64_t>(at.size());
    tensor made(self.element(), std::move(shape));
    std::int64_t k = 0;
    for (const std::int64_t position : at) {
        if (position < 0 || position >= self.extent(dim)) {
            c.fail(no_such_position(position, self.extent(dim)));
            return made;
        }
        const tensor to = selected(made, dim, k++), from = selected(self, dim, position);
        in_class(self.category(), [&]<class T>(T) { to.assign<T>(from.values<T>()); });
    }
    made.storage()->writes = 0;
    return made;
}
template <class = void>
void index_select(operator_call& c) {
    const tensor self = c.input(0, "self"), index = c.input(2, "index");
    const std::size_t dim = c.wrapped(c.integer(1, "dim"), self.rank());
    if (self.rank() == 0 || index.rank() > 1 || index.category() != element_class::integer)
        c.fail("selects positions " + text_of(index) + " of " + text_of(self));
    if (c.failed()) return;
    const tensor made = rows_at(c, self, dim, index.values<std::int64_t>());
    if (!c.failed()) c.give(made);
}
/// index_add(self, dim, index, source, alpha) adds rows to rows; index_copy(self, dim, index, source) replaces rows.
template <class = void>
void rows_put(operator_call& c) {
    const bool adds = c.operation.starts_with("aten.index_add");
    const tensor self = c.input(0, "self"), index = c.input(2, "index"), source = c.input(3, "source");
    const std::size_t dim = c.wrapped(c.integer(1, "dim"), self.rank());
    const number alpha = adds ? c.scalar(SIZE_MAX, "alpha", number::of(std::int64_t{1})) : number{};
    extents shape = self.shape();
    if (!shape.empty() && index.rank() == 1) shape[dim] = index.extent(0);
    if (self.rank() == 0 || index.rank() != 1 || index.category() != element_class::integer)
        c.fail("puts rows " + text_of(index) + " of " + text_of(self));
    else if (source.shape() != shape || source.element() != self.element())
        c.fail(text_of(source) + " does not fit rows " + text_of(index) + " of " + text_of(self));
    if (c.failed()) return;
    const tensor made = self.cloned();
    std::int64_t k = 0;
    for (const std::int64_t at : index.values<std::int64_t>()) {
        if (at < 0 || at >= self.extent(dim)) return c.fail(no_such_position(at, self.extent(dim)));
        const tensor to = selected(made, dim, at), from = selected(source, dim, k++);
        in_class(self.category(), [&]<class T>(T) {
            std::vector<T> x = from.values<T>();
            const std::vector<T> there = to.values<T>();
            for (std::size_t i = 0; adds && i < x.size(); ++i) x[i] = plus(there[i], times(as<T>(alpha), x[i]));
            to.assign<T>(x);
        });
    }
    made.storage()->writes = 0;
    c.give(made);
}
/// embedding(weight, indices) returns a row of the table for every index, whatever the shape of the indices.
template <class = void>
void embedding(operator_call& c) {
    const tensor table = c.input(0, "weight"), index = c.input(1, "indices");
    if (table.rank() != 2 || index.category() != element_class::integer)
        c.fail("looks " + text_of(index) + " up in " + text_of(table));
    if (c.failed()) return;
    const tensor rows = rows_at(c, table, 0, index.values<std::int64_t>());
    extents shape = index.shape();
    shape.push_back(table.extent(1));
    if (!c.failed()) c.give(reshaped(rows, std::move(shape)));
}
/// embedding_dense_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq) returns the gradient of the
/// table: each row is the sum of the gradients of the places that read it. Row `padding_idx` stays zero.
template <class = void>
void embedding_dense_backward(operator_call& c) {
    const tensor grad = c.input(0, "grad_output"), index = c.input(1, "indices");
    const std::int64_t rows = c.integer(2, "num_weights"), padding = c.integer(3, "padding_idx", -1);
    if (c.truth(4, "scale_grad_by_freq", false)) c.fail("is not supported with gradients scaled by frequency");
    if (grad.rank() != index.rank() + 1 || index.category() != element_class::integer || rows < 0 ||
        grad.elements() != index.elements() * grad.shape().back() || grad.category() != element_class::real)
        c.fail(text_of(grad) + " is no gradient of rows " + text_of(index));
    if (c.failed()) return;
    const auto width = static_cast<std::size_t>(grad.shape().back());
    const std::vector<double> g = grad.values<double>();
    std::vector<double> made(static_cast<std::size_t>(rows) * width);
    std::size_t k = 0;
    for (const std::int64_t row : index.values<std::int64_t>()) {
        if (row < 0 || row >= rows) return c.fail(no_such_position(row, rows));
        for (std::size_t j = 0; j < width; ++j, ++k)
            if (row != padding) made[static_cast<std::size_t>(row) * width + j] += g[k];
    }
    c.give(made_of<double>(grad.element(), {rows, grad.shape().back()}, made));
}

/// repeat_interleave(repeats) lists every position p repeats[p] times, in the type of the counts;
/// repeat_interleave(self, repeats, dim) repeats the rows of self in the same way. If output_size is given, the call
/// fails if the number of rows differs.
template <class = void>
void repeat_interleave(operator_call& c) {
    const bool positions = c.operation == "aten.repeat_interleave.Tensor";
    const tensor self = c.input(0, positions ? "repeats" : "self");
    const bool number = c.operation == "aten.repeat_interleave.self_int";
    const bool flat = positions || !c.has(2, "dim");
    const tensor rows = flat ? reshaped(self, {self.elements()}) : self;
    const std::size_t dim = flat ? 0 : c.wrapped(c.integer(2, "dim"), self.rank());
    const std::int64_t expected_size = c.integer(positions ? 1 : 3, "output_size", -1);
    if (rows.rank() == 0) c.fail("repeats rows of a tensor without dimensions");
    if (c.failed()) return;
    std::vector<std::int64_t> often;
    if (positions) often = self.values<std::int64_t>();
    else if (number) often.assign(static_cast<std::size_t>(rows.extent(dim)), c.integer(1, "repeats"));
    else often = c.input(1, "repeats").values<std::int64_t>();
    if (often.size() == 1 && !positions) often.assign(static_cast<std::size_t>(rows.extent(dim)), often[0]);
    if (static_cast<std::int64_t>(often.size()) != rows.extent(dim))
        c.fail(std::to_string(often.size()) + " counts for " + text_of(rows.extent(dim)) + " rows");
    std::vector<std::int64_t> at;
    for (std::size_t p = 0; p < often.size() && !c.failed(); ++p) {
        if (often[p] < 0) return c.fail("repeats row " + std::to_string(p) + " " + text_of(often[p]) + " times");
        at.insert(at.end(), static_cast<std::size_t>(often[p]), static_cast<std::int64_t>(p));
    }
    const auto size = static_cast<std::int64_t>(at.size());
    if (expected_size >= 0 && expected_size != size)
        c.fail("makes " + text_of(size) + " rows where output_size says " + text_of(expected_size));
    if (c.failed()) return;
    const tensor made = positions ? made_of<std::int64_t>(self.element(), {size}, at) : rows_at(c, rows, dim, at);
    if (!c.failed()) c.give(made);
}

template <class = void>
inline constexpr operator_entry indexing_operators[] = {
    {"aten.index", "Tensor", index<>},
    {"aten.index_put", "default", index_put<>, operator_entry::trait::has_in_place_form},
    {"aten.index_select", "default", index_select<>},
    {"aten.index_add", "default", rows_put<>, operator_entry::trait::has_in_place_form},
    {"aten.index_copy", "default", rows_put<>, operator_entry::trait::has_in_place_form},
    {"aten.embedding", "default", embedding<>},
    {"aten.embedding_dense_backward", "default", embedding_dense_backward<>},
    {"aten.repeat_interleave", "Tensor self_Tensor self_int", repeat_interleave<>},
};

}  // namespace stretto::aten::detail

#endif
