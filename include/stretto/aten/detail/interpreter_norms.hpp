// Operators of the interpreter that normalise over the last dimensions of a tensor, and their gradients.
//
// Layer norm subtracts the mean of a row and divides by its deviation; RMS norm only divides by the root of the mean
// square. So they share everything but the mean. The scale of a row (`rstd`) is one over that root, with epsilon added
// under the root; it is returned for the backward pass, as f32 if the elements are shorter than that.
#ifndef STRETTO_ATEN_DETAIL_INTERPRETER_NORMS_HPP
#define STRETTO_ATEN_DETAIL_INTERPRETER_NORMS_HPP

#include <cmath>
#include <cstddef>
#include <limits>
#include <string_view>
#include <vector>

#include "stretto/aten/detail/interpreter_call.hpp"
#include "stretto/aten/detail/interpreter_shapes.hpp"
#include "stretto/aten/tensor.hpp"

namespace stretto::aten::detail {

/// The rows of a tensor that are normalised, stored one after the other, with the weight and bias that scale and shift
/// them.
struct normalised_rows {
    std::size_t rows = 0, width = 1;
    std::vector<double> x, weight, bias;
    extents one_a_row;  ///< the shape of a tensor with one element for each row
    element_type statistics = element_type::f32;

    /// Reads the operands. `shape_at` is the argument that lists the extents of the normalised dimensions; the weight,
    /// and the bias if there is one, are argument `weight_at` and the next.
    template <class = void>
    normalised_rows(operator_call& c, const tensor& input, std::size_t shape_at, std::size_t weight_at, bool has_bias) {
        const extents last = c.integers(shape_at, "normalized_shape");
        const auto like_last = [&](std::size_t k, std::string_view name) {
            if (!c.has(k, name)) return std::vector<double>(width, name == "weight" ? 1 : 0);
            const tensor t = c.input(k, name);
            if (t.shape() != last) c.fail(text_of(t) + " is not of the shape that is normalised");
            return t.values<double>();
        };
        bool fits = input.category() == element_class::real && last.size() <= input.rank() && !last.empty();
        for (std::size_t d = 0; fits && d < last.size(); ++d)
            fits = input.extent(input.rank() - last.size() + d) == last[d];
        if (!fits) {
            c.fail("normalises dimensions that " + text_of(input) + " does not have");
            return;
        }
        for (const std::int64_t e : last) width *= static_cast<std::size_t>(e);
        x = input.values<double>();
        one_a_row = input.shape();
        for (std::size_t d = input.rank() - last.size(); d < input.rank(); ++d) one_a_row[d] = 1;
        rows = static_cast<std::size_t>(product(one_a_row));
        weight = like_last(weight_at, "weight");
        if (has_bias) bias = like_last(weight_at + 1, "bias");
        if (size_of(input.element()) > 4) statistics = input.element();
    }
};

/// native_layer_norm(input, shape, weight, bias, eps) returns the normalised tensor, and the mean and the scale of
/// every row.
template <class = void>
void layer_norm(operator_call& c) {
    const tensor input = c.input(0, "input");
    const normalised_rows r(c, input, 1, 2, true);
    const double epsilon = c.real(4, "eps", 1e-5);
    if (c.failed()) return;
    std::vector<double> made(r.x.size()), means, scales;
    for (std::size_t i = 0; i < r.rows; ++i) {
        double mean = 0, spread = 0;
        for (std::size_t j = 0; j < r.width; ++j) mean += r.x[i * r.width + j];
        mean /= static_cast<double>(r.width);
        for (std::size_t j = 0; j < r.width; ++j)
            spread += (r.x[i * r.width + j] - mean) * (r.x[i * r.width + j] - mean);
        const double scale = 1 / std::sqrt(spread / static_cast<double>(r.width) + epsilon);
        for (std::size_t j = 0; j < r.width; ++j)
            made[i * r.width + j] = (r.x[i * r.width + j] - mean) * scale * r.weight[j] + r.bias[j];
        means.push_back(mean);
        scales.push_back(scale);
    }
    c.give(made_of<double>(input.element(), input.shape(), made));
    c.give(made_of<double>(r.statistics, r.one_a_row, means));
    c.give(made_of<double>(r.statistics, r.one_a_row, scales));
}

/// _fused_rms_norm(input, shape, weight, eps) returns the normalised tensor and the scale of every row.
template <class = void>
void rms_norm(operator_call& c) {
    const tensor input = c.input(0, "input");
    const normalised_rows r(c, input, 1, 2, false);
    // Without an epsilon, the framework takes that of the type it computes in, which is f32 for shorter floats.
    const double smallest = r.statistics == element_type::f64 ? std::numeric_limits<double>::epsilon()
                                                              : std::numeric_limits<float>::epsilon();
    const double epsilon = c.real(3, "eps", smallest);
    if (c.failed()) return;
    std::vector<double> made(r.x.size()), scales;
    for (std::size_t i = 0; i < r.rows; ++i) {
        double squares = 0;
        for (std::size_t j = 0; j < r.width; ++j) squares += r.x[i * r.width + j] * r.x[i * r.width + j];
        const double scale = 1 / std::sqrt(squares / static_cast<double>(r.width) + epsilon);
        for (std::size_t j = 0; j < r.width; ++j) made[i * r.width + j] = r.x[i * r.width + j] * scale * r.weight[j];
        scales.push_back(scale);
    }
    c.give(made_of<double>(input.element(), input.shape(), made));
    c.give(made_of<double>(r.statistics, r.one_a_row, scales));
}

/// native_layer_norm_backward(gradient, input, shape, mean, scale, weight, bias, which) returns the gradients of input,
/// weight and bias; _fused_rms_norm_backward has no mean and no bias. `which` says which gradients are requested. The
/// others are None; the requested ones keep their positions in the tuple.
template <bool Centred>
void norm_backward(operator_call& c) {
    constexpr std::size_t scale_at = Centred ? 4 : 3;
    const tensor gradient = c.input(0, "grad_out"), input = c.input(1, "input"), scale = c.input(scale_at, "rstd");
    const tensor mean = Centred ? c.input(3, "mean") : scale;
    const normalised_rows r(c, input, 2, scale_at + 1, Centred);
    const tensor_argument* const which = c.find(scale_at + (Centred ? 3 : 2), "output_mask");
    if (gradient.shape() != input.shape() || scale.shape() != r.one_a_row || mean.shape() != r.one_a_row || !which ||
        which->items.size() != (Centred ? 3 : 2))
        c.fail("has operands of other shapes than " + text_of(input));
    if (c.failed()) return;
    const std::vector<double> g = gradient.values<double>(), s = scale.values<double>(), m = mean.values<double>();
    std::vector<double> of_input(r.x.size()), of_weight(r.width), of_bias(r.width);
    const double width = static_cast<double>(r.width);
    for (std::size_t i = 0; i < r.rows; ++i) {
        // With u the normalised row and h = g * weight, the gradient of the row is scale * (h - mean(h) - u * mean(h *
        // u)); without a mean in the forward direction there is no mean(h) either.
        double sum = 0, along = 0;
        const auto unit = [&](std::size_t k) { return (r.x[k] - (Centred ? m[i] : 0)) * s[i]; };
        for (std::size_t j = 0, k = i * r.width; j < r.width; ++j, ++k) {
            sum += Centred ? g[k] * r.weight[j] : 0;
            along += g[k] * r.weight[j] * unit(k);
            of_weight[j] += g[k] * unit(k);
            of_bias[j] += g[k];
        }
        for (std::size_t j = 0, k = i * r.width; j < r.width; ++j, ++k)
            of_input[k] = s[i] * (g[k] * r.weight[j] - sum / width - unit(k) * along / width);
    }
    const extents last = c.integers(2, "normalized_shape");
    const auto give = [&](std::size_t place, const extents& shape, const std::vector<double>& x) {
        if (which->items[place].integer == 0) c.give_none();
        else c.give_member(made_of<double>(input.element(), shape, x));
    };
    give(0, input.shape(), of_input);
    give(1, last, of_weight);
    if constexpr (Centred) give(2, last, of_bias);
}

template <class = void>
inline constexpr operator_entry norm_operators[] = {
    {"aten.native_layer_norm", "default", layer_norm<>},
    {"aten.native_layer_norm_backward", "default", norm_backward<true>},
    {"aten._fused_rms_norm", "default", rms_norm<>},
    {"aten._fused_rms_norm_backward", "default", norm_backward<false>},
};

}  // namespace stretto::aten::detail

#endif
