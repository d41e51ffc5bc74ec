// Operators of the interpreter for norms, variances and standard deviations along dimensions.
#ifndef STRETTO_ATEN_DETAIL_INTERPRETER_MOMENTS_HPP
#define STRETTO_ATEN_DETAIL_INTERPRETER_MOMENTS_HPP

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/aten/detail/interpreter_arithmetic.hpp"
#include "stretto/aten/detail/interpreter_call.hpp"
#include "stretto/aten/detail/interpreter_shapes.hpp"
#include "stretto/aten/tensor.hpp"

namespace stretto::aten::detail {

/// The elements of a tensor, grouped by the element of the result that is computed from them.
struct grouped_elements {
    extents shape;  ///< the shape of the result
    std::vector<std::vector<double>> of;

    /// Groups the elements along the dimensions that argument `dims_at` names, or along all dimensions if it names
    /// none. Within a group they are in row-major order.
    template <class = void>
    grouped_elements(operator_call& c, const tensor& self, std::size_t dims_at, bool keep) {
        const extents dims = c.integers(dims_at, "dim");
        std::vector<bool> gone(self.rank() + 1, dims.empty());
        for (const std::int64_t d : dims) gone[c.wrapped(d, self.rank())] = true;
        if (self.category() != element_class::real) c.fail("is only defined for floats");
        extents strides(self.rank(), 0);
        std::int64_t size = 1;
        for (std::size_t d = 0; d < self.rank(); ++d)
            if (!gone[d] || keep) shape.push_back(gone[d] ? 1 : self.extent(d));
        for (std::size_t d = self.rank(); d-- > 0;) {
            if (gone[d]) continue;
            strides[d] = size;
            size *= self.extent(d);
        }
        if (c.failed()) return;
        of.resize(static_cast<std::size_t>(size));
        // Strides of 0 along the reduced dimensions make the slot of each element the number of its group.
        const std::vector<double> x = self.values<double>();
        std::size_t k = 0;
        for_each_slot(self.shape(), strides, 0,
                      [&](std::int64_t slot) { of[static_cast<std::size_t>(slot)].push_back(x[k++]); });
    }
};

/// linalg_vector_norm(self, ord, dim, keepdim, dtype=) returns the root of order `ord` of the sum of powers, an extreme
/// for infinite orders, and the number of nonzero elements for order 0.
template <class = void>
void vector_norm(operator_call& c) {
    const tensor self = c.input(0, "self");
    const double order = c.real(1, "ord", 2);
    const element_type e = c.element(c.positional.size(), "dtype", self.element());
    const grouped_elements all(c, self, 2, c.truth(3, "keepdim", false));
    std::vector<double> norms;
    for (const std::vector<double>& x : all.of) {
        if (std::isinf(order) && order < 0 && x.empty()) c.fail("there is no extreme element of none");
        double norm = std::isinf(order) && order < 0 ? std::fabs(x.empty() ? 0 : x[0]) : 0;
        for (const double each : x) {
            const double size = std::fabs(each);
            if (std::isinf(order)) norm = order > 0 ? larger(norm, size) : smaller(norm, size);
            else norm += order == 0 ? size != 0 : std::pow(size, order);
        }
        norms.push_back(std::isinf(order) || order == 0 ? norm : std::pow(norm, 1 / order));
    }
    if (!c.failed()) c.give(made_of<double>(e, all.shape, norms));
}

/// var, std and var_mean(self, dim, *, correction, keepdim) return moments. The variance is the sum of squared
/// distances from the mean, divided by the number of elements minus the correction, which is 1 by default; std is its
/// square root, and var_mean returns the variance and the mean.
template <class = void>
void variance(operator_call& c) {
    const tensor self = c.input(0, "self");
    const bool root = c.operation.starts_with("aten.std"), with_mean = c.operation.starts_with("aten.var_mean");
    const double correction = c.real(SIZE_MAX, "correction", 1);
    const grouped_elements all(c, self, 1, c.truth(SIZE_MAX, "keepdim", false));
    std::vector<double> made, means;
    for (const std::vector<double>& x : all.of) {
        double mean = 0, spread = 0;
        for (const double each : x) mean += each;
        mean /= static_cast<double>(x.size());
        for (const double each : x) spread += (each - mean) * (each - mean);
        spread /= larger(static_cast<double>(x.size()) - correction, 0.0);
        made.push_back(root ? std::sqrt(spread) : spread);
        means.push_back(mean);
    }
    if (c.failed()) return;
    c.give(made_of<double>(self.element(), all.shape, made));
    if (with_mean) c.give(made_of<double>(self.element(), all.shape, means));
}

template <class = void>
inline constexpr operator_entry moment_operators[] = {
    {"aten.linalg_vector_norm", "default", vector_norm<>},
    {"aten.var", "correction", variance<>},
    {"aten.std", "correction", variance<>},
    {"aten.var_mean", "correction", variance<>},
};

}  // namespace stretto::aten::detail

#endif
