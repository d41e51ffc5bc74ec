// Operators of the interpreter that combine elements at computed positions of one dimension: each place receives the
// sum, mean, product or extreme of the elements that are written to it, optionally including its previous content.
#ifndef STRETTO_ATEN_DETAIL_INTERPRETER_COMBINING_HPP
#define STRETTO_ATEN_DETAIL_INTERPRETER_COMBINING_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "stretto/aten/detail/interpreter_arithmetic.hpp"
#include "stretto/aten/detail/interpreter_call.hpp"
#include "stretto/aten/detail/interpreter_scatter.hpp"
#include "stretto/aten/detail/interpreter_shapes.hpp"
#include "stretto/aten/detail/interpreter_views.hpp"
#include "stretto/aten/tensor.hpp"

namespace stretto::aten::detail {

/// Returns the new content of a place when x is combined with it. A mean is kept as a sum until it is divided.
template <class T>
T combined(std::string_view how, T there, T x) {
    if (how == "prod") return times(there, x);
    if constexpr (!std::is_same_v<T, complex_number>) {
        if (how == "amax") return larger(there, x);
        if (how == "amin") return smaller(there, x);
    }
    return plus(there, x);
}

/// scatter_reduce(self, dim, index, src, reduce, *, include_self) combines single elements; for index_reduce, the index
/// is a list of positions of rows. Places that no element reaches keep their content. A mean of integers is rounded
/// down.
template <class = void>
void combine_at(operator_call& c) {
    const bool rows = c.operation.starts_with("aten.index_reduce");
    const tensor self = c.input(0, "self"), source = c.input(3, rows ? "source" : "src");
    tensor index = c.input(2, "index");
    const std::size_t dim = c.wrapped(c.integer(1, "dim"), self.rank());
    const std::string_view how = c.text(4, "reduce", "");
    const bool with_self = c.truth(SIZE_MAX, "include_self", true);
    if (how != "sum" && how != "mean" && how != "prod" && how != "amax" && how != "amin")
        c.fail("combines by " + std::string(how));
    if (self.element() != source.element() || self.category() == element_class::complex)
        c.fail("combines " + text_of(source) + " with " + text_of(self));
    if (!c.failed() && rows) {
        extents along(self.rank(), 1);
        if (index.rank() != 1 || source.rank() != self.rank() || self.rank() == 0)
            return c.fail("combines rows " + text_of(index) + " of " + text_of(self));
        if (index.extent(0) != source.extent(dim))
            return c.fail("has " + text_of(index.extent(0)) + " positions for the rows of " + text_of(source));
        along[dim] = index.extent(0);
        index = expanded(reshaped(index, along), source.shape());
    }
    if (c.failed()) return;
    const tensor made = self.cloned();
    // Counts how many elements have reached each place, by slot: `made` is dense, so its slots are its positions.
    std::vector<std::int64_t> met(static_cast<std::size_t>(made.elements()), 0);
    in_class(made.category(), [&]<class T>(T) {
        at_positions(c, made, dim, index, source, [&](std::int64_t slot, std::int64_t at) {
            const T x = source.load<T>(at);
            const bool first = met[static_cast<std::size_t>(slot)]++ == 0;
            made.store<T>(slot, first && !with_self ? x : combined(how, made.load<T>(slot), x));
        });
        if constexpr (!std::is_same_v<T, complex_number>)
            for (std::size_t k = 0; how == "mean" && k < met.size(); ++k) {
                const T sum = made.load<T>(static_cast<std::int64_t>(k));
                const std::int64_t count = met[k] + with_self;
                if (met[k] == 0) continue;
                if constexpr (std::is_same_v<T, double>)
                    made.store<T>(static_cast<std::int64_t>(k), sum / static_cast<double>(count));
                else made.store<T>(static_cast<std::int64_t>(k), floored(sum, count));
            }
    });
    made.storage()->writes = 0;
    if (!c.failed()) c.give(made);
}

template <class = void>
inline constexpr operator_entry combining_operators[] = {
    {"aten.index_reduce", "default", combine_at<>, operator_entry::trait::has_in_place_form},
    {"aten.scatter_reduce", "two", combine_at<>, operator_entry::trait::has_in_place_form},
};

}  // namespace stretto::aten::detail

#endif
