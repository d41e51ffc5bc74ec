// Operators of the interpreter along dimensions: sums and extremes, running sums, softmax. Elements are taken in the
// order of their positions, so a sum does not depend on the memory layout of its operand.
//
// Longer than 300 lines: the operators share the loops at the top.
#ifndef STRETTO_ATEN_DETAIL_INTERPRETER_REDUCTIONS_HPP
#define STRETTO_ATEN_DETAIL_INTERPRETER_REDUCTIONS_HPP

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>
#include <vector>

#include "stretto/aten/detail/interpreter_arithmetic.hpp"
#include "stretto/aten/detail/interpreter_call.hpp"
#include "stretto/aten/detail/interpreter_shapes.hpp"
#include "stretto/aten/detail/interpreter_views.hpp"
#include "stretto/aten/tensor.hpp"

namespace stretto::aten::detail {

/// Returns the dimensions that argument 1 names, as flags; all of them if it names none, or if `all` is set. There is
/// one more flag than dimensions, because a tensor without dimensions may be reduced along dimension 0 or -1.
template <class = void>
std::vector<bool> reduced_dims(operator_call& c, std::size_t rank, bool all) {
    std::vector<bool> reduced(rank + 1, all);
    if (all) return reduced;
    const extents dims = c.integers(1, "dim");
    if (dims.empty()) reduced.assign(rank + 1, true);
    for (const std::int64_t d : dims) reduced[c.wrapped(d, rank)] = true;
    return reduced;
}

/// Folds the elements along the reduced dimensions, computed in the class of `e` and stored as `e`. `first` gives the
/// value to begin with, `step` adds an element, and `finish` gets the number of elements that went into each result. If
/// `step` does not accept elements of that class, the call fails. O(elements).
template <class First, class Step, class Finish>
void fold(operator_call& c, const tensor& self, element_type e, const std::vector<bool>& reduced, bool keep,
          First first, Step step, Finish finish) {
    extents shape, strides(self.rank(), 0), kept;
    std::int64_t count = 1;
    for (std::size_t d = 0; d < self.rank(); ++d) {
        if (reduced[d]) count *= self.extent(d);
        kept.push_back(reduced[d] ? 1 : self.extent(d));
        if (!reduced[d] || keep) shape.push_back(kept.back());
    }
    // Strides of 0 along the reduced dimensions make the slot of each element the place of its result; walking the
    // operand in row-major order then feeds every result in ascending order of positions.
    std::int64_t size = 1;
    for (std::size_t d = self.rank(); d-- > 0; size *= kept[d]) strides[d] = reduced[d] ? 0 : size;
    if (c.failed()) return;
    in_class(class_of(e), [&]<class T>(T) {
        if constexpr (requires(T x) { step(x, x); }) {
            std::vector<T> sums(static_cast<std::size_t>(size), first(T{}));
            const std::vector<T> x = self.values<T>();
            std::size_t k = 0;
            for_each_slot(self.shape(), strides, 0, [&](std::int64_t slot) {
                T& sum = sums[static_cast<std::size_t>(slot)];
                sum = step(sum, x[k++]);
            });
            for (T& sum : sums) sum = finish(sum, count);
            c.give(made_of<T>(e, shape, sums));
        } else c.fail("is not defined for complex numbers");
    });
}

/// sum(self) and sum(self, dim, keepdim, dtype=) return sums. Integers and truth values are summed as i64; with a
/// dtype, elements are converted before they are added.
template <class = void>
void sum(operator_call& c) {
    const tensor self = c.input(0, "self");
    const bool all = c.operation == "aten.sum.default";
    const element_type usual = self.integral() ? element_type::i64 : self.element();
    const element_type e = c.element(c.positional.size(), "dtype", usual);
    const std::vector<bool> reduced = reduced_dims(c, self.rank(), all);
    fold(
        c, self, e, reduced, !all && c.truth(2, "keepdim", false), []<class T>(T) { return T{}; },
        []<class T>(T a, T b) { return plus(a, b); }, []<class T>(T a, std::int64_t) { return a; });
}
/// mean(self) and mean(self, dim, keepdim, dtype=) return the sum, divided once at the end. The mean of nothing is NaN.
template <class = void>
void mean(operator_call& c) {
    const tensor self = c.input(0, "self");
    const bool all = c.operation == "aten.mean.default";
    const element_type e = c.element(c.positional.size(), "dtype", self.element());
    if (class_of(e) <= element_class::integer) c.fail("is only defined for floats");
    const std::vector<bool> reduced = reduced_dims(c, self.rank(), all);
    fold(
        c, self, e, reduced, !all && c.truth(2, "keepdim", false), []<class T>(T) { return T{}; },
        []<class T>(T a, T b) { return plus(a, b); },
        []<class T>(T a, std::int64_t n) -> T {
            const auto count = static_cast<double>(n);
            if constexpr (std::is_same_v<T, complex_number>) return {a.re / count, a.im / count};
            else if constexpr (std::is_same_v<T, double>) return a / count;
            else return a;
        });
}
/// amax, amin, max and min return the largest or the smallest element, as `any` and `all` do of truth values.
template <class = void>
void extreme(operator_call& c) {
    const tensor given = c.input(0, "self");
    const std::string_view op = c.operation;
    const bool truths = op.starts_with("aten.any") || op.starts_with("aten.all");
    const bool largest = op.starts_with("aten.amax") || op.starts_with("aten.any") || op == "aten.max.default";
    const bool all = op.ends_with(".default") && !op.starts_with("aten.am");
    const tensor self = truths ? given.converted(element_type::boolean) : given;
    const std::vector<bool> reduced = reduced_dims(c, self.rank(), all);
    for (std::size_t d = 0; d < self.rank() && !truths; ++d)
        if (reduced[d] && self.extent(d) == 0) c.fail("there is no extreme element of none");
    // `any` of no elements is false and `all` of none is true; an extreme of none has been refused above.
    const auto first = [largest, truths]<class T>(T) -> T {
        if constexpr (std::is_same_v<T, std::int64_t>)
            return truths ? !largest : largest ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
        else return largest ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    };
    fold(
        c, self, self.element(), reduced, !all && c.truth(2, "keepdim", false), first,
        [largest]<class T>(T a, T b)
            requires(!std::is_same_v<T, complex_number>)
        { return largest ? larger(a, b) : smaller(a, b); },
        []<class T>(T a, std::int64_t) { return a; });
}

/// Calls `f(values of one row along the dimension)`, which may change them, for every row, and adds the tensor of all
/// rows to the results of the call. Rows come in row-major order of the dimensions with `dim` and the last one swapped;
/// a caller with data of its own for each element must read it in that order. A tensor without dimensions is one row
/// with one element. O(elements) and the calls of f.
template <class T, class F>
void along(operator_call& c, const tensor& self, std::size_t dim, element_type out, F f) {
    const tensor rows = self.rank() == 0 ? self.view({1}, {0}, self.offset()) : self;
    tensor made(out, rows.shape());
    const auto last = [](const tensor& x, std::size_t d) { return transposed(x, d, x.rank() - 1); };
    const tensor from = last(rows, dim), to = last(made, dim);
    const auto n = static_cast<std::size_t>(rows.extent(dim));
    std::vector<T> all = from.values<T>(), row(n);
    for (std::size_t at = 0; n > 0 && at < all.size(); at += n) {
        for (std::size_t k = 0; k < n; ++k) row[k] = all[at + k];
        f(row);
        for (std::size_t k = 0; k < n; ++k) all[at + k] = row[k];
    }
    to.assign<T>(all);
    made.storage()->writes = 0;
    c.give(self.rank() == 0 ? made.view({}, {}, 0) : made);
}
/// Makes each element the `combine` of itself and all elements before it along the dimension.
template <class Combine>
void running(operator_call& c, Combine combine) {
    const tensor self = c.input(0, "self");
    const std::size_t dim = c.wrapped(c.integer(1, "dim"), self.rank());
    const element_type e =
        c.element(c.positional.size(), "dtype", self.integral() ? element_type::i64 : self.element());
    if (c.failed()) return;
    in_class(class_of(e), [&]<class T>(T) {
        along<T>(c, self, dim, e, [&](std::vector<T>& row) {
            for (std::size_t k = 1; k < row.size(); ++k) row[k] = combine(row[k - 1], row[k]);
        });
    });
}
/// cumsum(self, dim, dtype=) returns running sums; integers are summed as i64. cumprod does the same with products.
template <class = void>
void cumsum(operator_call& c) {
    running(c, []<class T>(T a, T b) { return plus(a, b); });
}
template <class = void>
void cumprod(operator_call& c) {
    running(c, []<class T>(T a, T b) { return times(a, b); });
}

/// prod(self) and prod(self, dim, keepdim, dtype=) return products over all dimensions or one; integers become i64.
template <class = void>
void product_of(operator_call& c) {
    const tensor self = c.input(0, "self");
    const bool all = c.operation == "aten.prod.default";
    const element_type usual = self.integral() ? element_type::i64 : self.element();
    const element_type e = c.element(c.positional.size(), "dtype", usual);
    std::vector<bool> reduced(self.rank() + 1, all);
    if (!all) reduced[c.wrapped(c.integer(1, "dim"), self.rank())] = true;
    fold(
        c, self, e, reduced, !all && c.truth(2, "keepdim", false),
        []<class T>(T) {
            if constexpr (std::is_same_v<T, complex_number>) return T{1, 0};
            else return T{1};
        },
        []<class T>(T a, T b) { return times(a, b); }, []<class T>(T a, std::int64_t) { return a; });
}

/// Returns log(exp(a) + exp(b)), computed without overflow.
template <class = void>
double log_of_sum(double a, double b) {
    const double top = larger(a, b);
    // Two infinities of the same sign would be subtracted from each other below.
    if (is_nan(top) || std::isinf(top)) return top;
    return top + std::log1p(std::exp(smaller(a, b) - top));
}
/// logcumsumexp(self, dim) returns the logarithm of the running sum of powers, and logsumexp(self, dim, keepdim) that
/// of the sum.
template <class = void>
void logcumsumexp(operator_call& c) {
    const tensor self = c.input(0, "self");
    const std::size_t dim = c.wrapped(c.integer(1, "dim"), self.rank());
    if (self.category() != element_class::real) c.fail("is only defined for floats");
    if (c.failed()) return;
    along<double>(c, self, dim, self.element(), [](std::vector<double>& row) {
        for (std::size_t k = 1; k < row.size(); ++k) row[k] = log_of_sum(row[k - 1], row[k]);
    });
}
template <class = void>
void logsumexp(operator_call& c) {
    const tensor self = c.input(0, "self");
    if (self.category() != element_class::real) c.fail("is only defined for floats");
    const std::vector<bool> reduced = reduced_dims(c, self.rank(), false);
    fold(
        c, self, self.element(), reduced, c.truth(2, "keepdim", false),
        []<class T>(T) -> T {
            if constexpr (std::is_same_v<T, double>) return -std::numeric_limits<double>::infinity();
            else return T{};
        },
        []<class T>(T a, T b) -> T {
            if constexpr (std::is_same_v<T, double>) return log_of_sum(a, b);
            else return a;
        },
        []<class T>(T a, std::int64_t) { return a; });
}

/// Returns the largest element; minus infinity if there is none.
template <class = void>
double largest_of(const std::vector<double>& row) {
    double top = -std::numeric_limits<double>::infinity();
    for (const double x : row) top = larger(top, x);
    return top;
}
/// softmax(self, dim, dtype) and _softmax(self, dim, half_to_float) return the softmax of rows; the log_ variants
/// return its logarithm. _safe_softmax(self, dim, dtype) makes zeros of rows without a finite element. The largest
/// element is subtracted first, so that no power overflows.
template <class = void>
void softmax(operator_call& c) {
    const bool logarithmic = c.operation.find("log_softmax") != std::string_view::npos;
    const bool safe = c.operation.starts_with("aten._safe");
    const bool typed = safe || c.operation.ends_with(".int");  // with a dtype, in which they compute
    const tensor given = c.input(0, "self");
    const tensor self = typed ? given.converted(c.element(2, "dtype", given.element())) : given;
    const std::size_t dim = c.wrapped(c.integer(1, "dim"), self.rank());
    if (self.category() != element_class::real) c.fail("is only defined for floats");
    if (c.failed()) return;
    const element_type e = !typed && c.truth(2, "half_to_float", false) ? element_type::f32 : self.element();
    along<double>(c, self, dim, e, [logarithmic, safe](std::vector<double>& row) {
        const double top = largest_of(row);
        if (safe && std::isinf(top) && top < 0) return row.assign(row.size(), 0);
        double total = 0;
        for (const double x : row) total += std::exp(x - top);
        const double shift = std::log(total);
        for (double& x : row) x = logarithmic ? x - top - shift : std::exp(x - top) / total;
    });
}
/// _softmax_backward_data(grad, output, dim, input_dtype) and _log_softmax_backward_data return the gradient from the
/// result of the forward operator.
template <class = void>
void softmax_backward(operator_call& c) {
    const bool logarithmic = c.operation.starts_with("aten._log_softmax");
    const tensor grad = c.input(0, "grad_output"), output = c.input(1, "output");
    const std::size_t dim = c.wrapped(c.integer(2, "dim"), grad.rank());
    const element_type e = c.element(3, "input_dtype", grad.element());
    if (grad.shape() != output.shape()) c.fail(text_of(grad) + " is no gradient of " + text_of(output));
    if (c.failed()) return;
    // along() visits the rows of the gradient; those of the forward result are read in parallel, in the same order.
    const tensor rows = grad.rank() == 0 ? output.view({1}, {0}, output.offset()) : output;
    const std::vector<double> y = transposed(rows, dim, rows.rank() - 1).values<double>();
    std::size_t at = 0;
    along<double>(c, grad, dim, e, [&](std::vector<double>& row) {
        double total = 0;
        for (std::size_t k = 0; k < row.size(); ++k) total += logarithmic ? row[k] : row[k] * y[at + k];
        for (std::size_t k = 0; k < row.size(); ++k)
            row[k] = logarithmic ? row[k] - std::exp(y[at + k]) * total : y[at + k] * (row[k] - total);
        at += row.size();
    });
}

template <class = void>
inline constexpr operator_entry reduction_operators[] = {
    {"aten.sum", "default dim_IntList", sum<>},
    {"aten.mean", "default dim", mean<>},
    {"aten.amax", "default", extreme<>},
    {"aten.amin", "default", extreme<>},
    {"aten.max", "default", extreme<>},
    {"aten.min", "default", extreme<>},
    {"aten.any", "default dim dims", extreme<>},
    {"aten.all", "default dim dims", extreme<>},
    {"aten.prod", "default dim_int", product_of<>},
    {"aten.logsumexp", "default", logsumexp<>},
    {"aten.cumsum", "default", cumsum<>},
    {"aten.cumprod", "default", cumprod<>},
    {"aten.logcumsumexp", "default", logcumsumexp<>},
    {"aten.softmax", "int", softmax<>},
    {"aten.log_softmax", "int", softmax<>},
    {"aten._safe_softmax", "default", softmax<>},
    {"aten._softmax", "default", softmax<>},
    {"aten._log_softmax", "default", softmax<>},
    {"aten._softmax_backward_data", "default", softmax_backward<>},
    {"aten._log_softmax_backward_data", "default", softmax_backward<>},
};

}  // namespace stretto::aten::detail

#endif
