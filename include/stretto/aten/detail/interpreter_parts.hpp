// Operators of the interpreter that take a tensor apart along a dimension. The parts share its storage.
#ifndef STRETTO_ATEN_DETAIL_INTERPRETER_PARTS_HPP
#define STRETTO_ATEN_DETAIL_INTERPRETER_PARTS_HPP

#include <cstddef>
#include <cstdint>

#include "stretto/aten/detail/interpreter_call.hpp"
#include "stretto/aten/detail/interpreter_views.hpp"
#include "stretto/aten/tensor.hpp"

namespace stretto::aten::detail {

/// unbind(self, dim) returns a view of every position of a dimension, without that dimension.
template <class = void>
void unbind(operator_call& c) {
    const tensor self = c.input(0, "self");
    const std::size_t dim = c.wrapped(c.integer(1, "dim", 0), self.rank());
    if (self.rank() == 0) c.fail("takes a tensor without dimensions apart");
    for (std::int64_t at = 0; !c.failed() && at < self.extent(dim); ++at) c.give(selected(self, dim, at));
}
/// Returns parts of the given sizes. The call fails unless they make up the whole dimension.
template <class = void>
void split_by(operator_call& c, const tensor& self, std::size_t dim, const extents& sizes) {
    std::int64_t first = 0;
    for (const std::int64_t n : sizes) {
        // A bad size makes `first` negative, which ends the loop and cannot be the extent below.
        if (n < 0 || first + n > self.extent(dim)) first = -self.extent(dim) - 1;
        if (first < 0) break;
        c.give(narrowed(self, dim, first, n));
        first += n;
    }
    if (first != self.extent(dim))
        c.fail("parts " + text_of(sizes) + " are not what " + text_of(self) + " consists of");
}
/// split(self, split_size, dim) returns parts of one size, of which the last may be smaller; split(self, split_size,
/// dim) with a list, and split_with_sizes(self, split_sizes, dim), return parts of these sizes. Of a dimension of
/// extent 0, there is one part of extent 0 and not none.
template <class = void>
void split(operator_call& c) {
    const tensor self = c.input(0, "self");
    const std::size_t dim = c.wrapped(c.integer(2, "dim", 0), self.rank());
    extents sizes = c.integers(1, c.has(1, "split_size") ? "split_size" : "split_sizes");
    if (self.rank() == 0) c.fail("splits a tensor without dimensions");
    if (c.failed()) return;
    if (c.operation == "aten.split.Tensor" && sizes.size() == 1) {
        const std::int64_t whole = self.extent(dim), part = sizes[0];
        if (part < 0 || (part == 0 && whole != 0)) return c.fail("splits into parts of " + text_of(part));
        sizes.assign(1, part > whole ? whole : part);
        for (std::int64_t done = sizes[0]; done < whole; done += sizes.back())
            sizes.push_back(part > whole - done ? whole - done : part);
    }
    split_by(c, self, dim, sizes);
}
/// chunk(self, chunks, dim) returns parts of equal extent, except that the last may be smaller. There may be fewer
/// parts than were asked for.
template <class = void>
void chunk(operator_call& c) {
    const tensor self = c.input(0, "self");
    const std::int64_t parts = c.integer(1, "chunks");
    const std::size_t dim = c.wrapped(c.integer(2, "dim", 0), self.rank());
    if (self.rank() == 0 || parts < 1) c.fail("makes " + text_of(parts) + " parts of " + text_of(self));
    if (c.failed()) return;
    const std::int64_t whole = self.extent(dim), part = (whole + parts - 1) / parts;
    extents sizes;
    for (std::int64_t done = 0; done < whole; done += sizes.back())
        sizes.push_back(part > whole - done ? whole - done : part);
    // An empty dimension gives as many empty parts as were asked for.
    if (whole == 0) sizes.assign(static_cast<std::size_t>(parts), 0);
    split_by(c, self, dim, sizes);
}

template <class = void>
inline constexpr operator_entry part_operators[] = {
    {"aten.unbind", "int", unbind<>},
    {"aten.chunk", "default", chunk<>},
    {"aten.split", "Tensor sizes", split<>},
    {"aten.split_with_sizes", "default", split<>},
};

}  // namespace stretto::aten::detail

#endif
