// Operators of the interpreter that sort or select extremes with their positions, and histograms. Every sort is stable
// here, even where the framework does not promise it: among the results that the framework allows, the interpreter
// always chooses the same.
#ifndef STRETTO_ATEN_DETAIL_INTERPRETER_SORTING_HPP
#define STRETTO_ATEN_DETAIL_INTERPRETER_SORTING_HPP

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "stretto/aten/detail/interpreter_arithmetic.hpp"
#include "stretto/aten/detail/interpreter_call.hpp"
#include "stretto/aten/detail/interpreter_reductions.hpp"
#include "stretto/aten/detail/interpreter_shapes.hpp"
#include "stretto/aten/detail/interpreter_views.hpp"
#include "stretto/aten/tensor.hpp"

namespace stretto::aten::detail {

/// Sorts positions by merging runs of doubling width, from the bottom up. The sort is stable; a position goes before
/// another if `before` says so. O(n log n).
template <class Before>
void sort_stably(std::vector<std::int64_t>& positions, Before before) {
    std::vector<std::int64_t> merged(positions.size());
    const std::size_t n = positions.size();
    for (std::size_t width = 1; width < n; width *= 2) {
        for (std::size_t low = 0; low < n; low += 2 * width) {
            const std::size_t middle = low + width < n ? low + width : n,
                              high = low + 2 * width < n ? low + 2 * width : n;
            for (std::size_t a = low, b = middle, k = low; k < high; ++k) {
                const bool right = a == middle || (b < high && before(positions[b], positions[a]));
                merged[k] = right ? positions[b++] : positions[a++];
            }
        }
        positions.swap(merged);
    }
}
/// Sorts the rows along a dimension, and returns the sorted values and their positions: the first `count` of each row,
/// or all if `count` is negative. A NaN counts as the largest element; equal elements stay in the order of their
/// positions.
template <class = void>
void sorted(operator_call& c, const tensor& self, std::size_t dim, bool descending, std::int64_t count) {
    in_class(self.category(), [&]<class T>(T) {
        if constexpr (std::is_same_v<T, complex_number>) {
            c.fail("is not defined for complex numbers");
        } else {
            std::vector<std::int64_t> all;
            along<T>(c, self, dim, self.element(), [&](std::vector<T>& row) {
                std::vector<std::int64_t> order(row.size());
                for (std::size_t k = 0; k < order.size(); ++k) order[k] = static_cast<std::int64_t>(k);
                const auto less = [](T a, T b) { return is_nan(a) ? false : is_nan(b) || a < b; };
                sort_stably(order, [&](std::int64_t p, std::int64_t q) {
                    const T a = row[static_cast<std::size_t>(p)], b = row[static_cast<std::size_t>(q)];
                    return descending ? less(b, a) : less(a, b);
                });
                const std::vector<T> before = row;
                for (std::size_t k = 0; k < row.size(); ++k) row[k] = before[static_cast<std::size_t>(order[k])];
                all.insert(all.end(), order.begin(), order.end());
            });
            // `all` is in the order in which along() takes rows, with the sorted dimension last.
            tensor positions(element_type::i64, c.result.tensors[0].shape());
            const tensor rows = self.rank() == 0 ? positions.view({1}, {0}, 0) : positions;
            transposed(rows, dim, rows.rank() - 1).assign<std::int64_t>(all);
            c.give(positions);
        }
    });
    for (tensor& made : c.result.tensors)
        if (count >= 0 && made.rank() > 0) made = narrowed(made, dim, 0, count).cloned();
}
/// sort returns values and positions, and argsort only the positions.
template <class = void>
void sort(operator_call& c) {
    const bool stable = c.operation == "aten.sort.stable";
    const tensor self = c.input(0, "self");
    // The arguments are sort.stable(self, *, stable, dim, descending) and sort(self, dim, descending).
    const std::size_t k = stable ? 2 : 1;
    const std::size_t dim = c.wrapped(c.integer(k, "dim", -1), self.rank());
    const bool descending = c.truth(k + 1, "descending", false);
    if (!c.failed()) sorted(c, self, dim, descending, -1);
    if (c.operation.starts_with("aten.argsort") && !c.failed()) c.result.tensors.erase(c.result.tensors.begin());
}
/// topk(self, k, dim, largest) returns the k largest or smallest elements of each row, in order, and their positions.
template <class = void>
void topk(operator_call& c) {
    const tensor self = c.input(0, "self");
    const std::int64_t count = c.integer(1, "k");
    const std::size_t dim = c.wrapped(c.integer(2, "dim", -1), self.rank());
    const bool largest = c.truth(3, "largest", true);
    if (count < 0 || count > (self.rank() == 0 ? 1 : self.extent(dim)))
        c.fail("takes " + text_of(count) + " elements of a row of " + text_of(self));
    if (!c.failed()) sorted(c, self, dim, largest, count);
    if (c.failed() || !c.balanced_routing || self.rank() == 0) return;
    // Balanced routing: row r takes the `count` positions after those of row r - 1, cyclically.
    const std::int64_t extent = self.extent(dim);
    std::int64_t next = 0;
    std::vector<std::int64_t> at(static_cast<std::size_t>(c.result.tensors[1].elements()));
    for (std::int64_t& x : at) x = next++ % extent;
    transposed(c.result.tensors[1], dim, self.rank() - 1).assign<std::int64_t>(at);
}

/// max(self, dim, keepdim) and min return the largest or smallest element of every row, and the first position where it
/// occurs; argmax and argmin return only the position, and without a dimension that among all elements. A NaN counts as
/// the extreme.
template <class = void>
void extreme_of_rows(operator_call& c) {
    const bool only_where = c.operation.starts_with("aten.arg");
    const bool largest = c.operation.find("max") != std::string_view::npos;
    const tensor given = c.input(0, "self");
    const tensor_argument* const named = c.find(1, "dim");
    const bool all = only_where && (!named || named->what == tensor_argument::form::none);
    const bool keep = c.truth(2, "keepdim", false);
    if (all && keep) c.fail("keeps dimensions that it does not name");
    if (c.failed()) return;
    const tensor self = all ? reshaped(given, {given.elements()}) : given;
    const std::size_t dim = all ? 0 : c.wrapped(c.integer(1, "dim"), self.rank());
    if (!c.failed() && self.rank() > 0 && self.extent(dim) == 0) c.fail("there is no extreme element of none");
    if (c.failed()) return;
    std::vector<std::int64_t> where;
    in_class(self.category(), [&]<class T>(T) {
        if constexpr (std::is_same_v<T, complex_number>) {
            c.fail("is not defined for complex numbers");
        } else {
            along<T>(c, self, dim, self.element(), [&](std::vector<T>& row) {
                std::size_t best = 0;
                for (std::size_t k = 1; k < row.size(); ++k)
                    if (!is_nan(row[best]) && (is_nan(row[k]) || (largest ? row[k] > row[best] : row[k] < row[best])))
                        best = k;
                where.push_back(static_cast<std::int64_t>(best));
                // The first element of each row holds its extreme; the others are cut off below.
                row[0] = row[best];
            });
        }
    });
    if (c.failed()) return;
    tensor values = c.result.tensors[0];
    if (self.rank() > 0) values = narrowed(values, dim, 0, 1).cloned();
    const tensor positions(element_type::i64, values.shape());
    const tensor rows = self.rank() == 0 ? positions.view({1}, {0}, 0) : positions;
    transposed(rows, dim, rows.rank() - 1).assign<std::int64_t>(where);
    positions.storage()->writes = 0;
    c.result.tensors.clear();
    const auto give = [&](const tensor& made) { c.give(keep || self.rank() == 0 ? made : selected(made, dim, 0)); };
    if (!only_where) give(values);
    give(positions);
}

/// histc(self, bins, min, max) returns the number of elements in each of several intervals of equal width; the last
/// interval includes both of its ends. Elements outside, and NaNs, are not counted. If min and max are the same, the
/// elements give the bounds, and if these are the same too, the interval is widened by 1 on both sides. The call fails
/// if the interval then has no positive finite width, as with an infinite bound.
template <class = void>
void histc(operator_call& c) {
    const tensor self = c.input(0, "self");
    const std::int64_t bins = c.integer(1, "bins", 100);
    double low = c.real(2, "min", 0), high = c.real(3, "max", 0);
    if (bins < 1 || high < low || self.is_complex()) c.fail("has no such histogram of " + text_of(self));
    if (c.failed()) return;
    const std::vector<double> x = self.values<double>();
    if (low == high)
        for (std::size_t k = 0; k < x.size(); ++k) {
            low = k == 0 ? x[k] : smaller(low, x[k]);
            high = k == 0 ? x[k] : larger(high, x[k]);
        }
    if (low == high) {
        low -= 1;
        high += 1;
    }
    if (!(high - low > 0 && std::isfinite(high - low)))
        return c.fail("has bounds that are not finite, or so large that no interval has a width");
    std::vector<double> counts(static_cast<std::size_t>(bins));
    for (const double v : x) {
        if (!(v >= low && v <= high)) continue;
        const std::int64_t bin = truncated((v - low) / (high - low) * static_cast<double>(bins));
        ++counts[static_cast<std::size_t>(bin < bins ? bin : bins - 1)];
    }
    c.give(made_of<double>(self.element(), {bins}, counts));
}

template <class = void>
inline constexpr operator_entry sorting_operators[] = {
    {"aten.sort", "default stable", sort<>},
    {"aten.argsort", "default", sort<>},
    {"aten.topk", "default", topk<>},
    {"aten.max", "dim", extreme_of_rows<>},
    {"aten.min", "dim", extreme_of_rows<>},
    {"aten.argmax", "default", extreme_of_rows<>},
    {"aten.argmin", "default", extreme_of_rows<>},
    {"aten.histc", "default", histc<>},
};

}  // namespace stretto::aten::detail

#endif
