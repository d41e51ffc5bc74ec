// Values on the host, which an author's `evaluate` takes and returns in checks that compute.
#ifndef STRETTO_TESTING_HOST_VALUE_HPP
#define STRETTO_TESTING_HOST_VALUE_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/tensor_model.hpp"

namespace stretto {

/// A tensor: extents, outermost first, and the elements in row-major order. Integers and truth values are also stored
/// as doubles, which hold integers exactly up to 2^53. A complex number is two elements along an additional innermost
/// dimension.
struct host_tensor {
    std::vector<std::int64_t> shape;
    std::vector<double> elements;
    element_type element = element_type::other;

    [[nodiscard]] std::size_t rank() const { return shape.size(); }
    [[nodiscard]] std::int64_t extent(std::size_t dim) const { return shape[dim]; }
    friend bool operator==(const host_tensor&, const host_tensor&) = default;
};

/// A value of a program: its tensors, as many as chunk_model::components_of returns, or a number.
struct host_value {
    std::vector<host_tensor> tensors;
    double number = 0;  ///< used if there are no tensors

    [[nodiscard]] bool is_number() const { return tensors.empty(); }
    friend bool operator==(const host_value&, const host_value&) = default;
};

/// The number of elements of a tensor of that shape; 1 if it has no dimensions.
[[nodiscard]] inline std::int64_t elements_of(std::span<const std::int64_t> shape) {
    std::int64_t count = 1;
    for (std::int64_t extent : shape) count *= extent;
    return count;
}

/// A tensor made of the rows at these places along dimension `dim`. Precondition: the rows exist.
[[nodiscard]] inline host_tensor take_rows(const host_tensor& t, std::size_t dim,
                                           std::span<const std::int64_t> places) {
    host_tensor made{t.shape, {}, t.element};
    made.shape[dim] = static_cast<std::int64_t>(places.size());
    const auto inner = elements_of(std::span(t.shape).subspan(dim + 1));
    const auto outer = elements_of(std::span(t.shape).first(dim));
    made.elements.reserve(static_cast<std::size_t>(elements_of(made.shape)));
    for (std::int64_t o = 0; o < outer; ++o)
        for (std::int64_t place : places)
            for (std::int64_t i = 0; i < inner; ++i)
                made.elements.push_back(t.elements[static_cast<std::size_t>((o * t.extent(dim) + place) * inner + i)]);
    return made;
}

/// The elements row by row along dimension `dim`; those of one row are in the order of the tensor.
[[nodiscard]] inline std::vector<std::vector<double>> rows_of(const host_tensor& t, std::size_t dim) {
    std::vector<std::vector<double>> all(static_cast<std::size_t>(t.extent(dim)));
    const auto inner = static_cast<std::size_t>(elements_of(std::span(t.shape).subspan(dim + 1)));
    for (std::size_t k = 0; k < t.elements.size(); ++k) all[k / inner % all.size()].push_back(t.elements[k]);
    return all;
}

/// The tensors concatenated along dimension `dim`. Precondition: there is at least one tensor, and they differ only in
/// this extent.
[[nodiscard]] inline host_tensor join_rows(std::span<const host_tensor> parts, std::size_t dim) {
    host_tensor made{parts[0].shape, {}, parts[0].element};
    made.shape[dim] = 0;
    for (const host_tensor& part : parts) made.shape[dim] += part.extent(dim);
    const std::int64_t outer = elements_of(std::span(made.shape).first(dim));
    for (std::int64_t o = 0; o < outer; ++o)
        for (const host_tensor& part : parts) {
            const auto block = static_cast<std::ptrdiff_t>(elements_of(std::span(part.shape).subspan(dim)));
            made.elements.insert(made.elements.end(), part.elements.begin() + o * block,
                                 part.elements.begin() + (o + 1) * block);
        }
    return made;
}

}  // namespace stretto

#endif
