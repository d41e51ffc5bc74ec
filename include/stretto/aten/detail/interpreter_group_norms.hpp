// Operators of the interpreter that normalise groups of channels, and their gradients. The groups of a sample
// [channels, places...] are stored one after the other, so that the groups of all samples are the rows of a matrix;
// weight and bias have one element for each channel.
#ifndef STRETTO_ATEN_DETAIL_INTERPRETER_GROUP_NORMS_HPP
#define STRETTO_ATEN_DETAIL_INTERPRETER_GROUP_NORMS_HPP

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "stretto/aten/detail/interpreter_call.hpp"
#include "stretto/aten/detail/interpreter_shapes.hpp"
#include "stretto/aten/tensor.hpp"

namespace stretto::aten::detail {

/// The groups of a tensor. Arguments `first` to `first + 3` are the numbers of samples, channels, places in a channel,
/// and groups in a sample.
struct channel_groups {
    std::size_t rows = 0, width = 0, channels = 0, places = 0;
    extents one_a_group;  ///< [samples, groups]
    std::vector<double> x, weight, bias;

    /// Reads the operands. The weight is argument `weight_at`; the bias, if `has_bias`, is the next one.
    template <class = void>
    channel_groups(operator_call& c, const tensor& input, std::size_t first, std::size_t weight_at, bool has_bias) {
        const std::int64_t samples = c.integer(first, "N"), all = c.integer(first + 1, "C"),
                           inner = c.integer(first + 2, "HxW"), groups = c.integer(first + 3, "group");
        if (input.category() != element_class::real || samples < 0 || all <= 0 || inner < 0 || groups <= 0 ||
            all % groups != 0 || input.rank() < 2 || input.extent(0) != samples || input.extent(1) != all ||
            samples * all * inner != input.elements())
            c.fail("has other samples, channels or groups than " + text_of(input));
        if (c.failed()) return;
        channels = static_cast<std::size_t>(all);
        places = static_cast<std::size_t>(inner);
        rows = static_cast<std::size_t>(samples * groups);
        width = channels / static_cast<std::size_t>(groups) * places;
        one_a_group = {samples, groups};
        x = input.values<double>();
        weight = by_channel(c, weight_at, "weight", 1);
        bias = has_bias ? by_channel(c, weight_at + 1, "bias", 0) : std::vector<double>();
    }
    /// Returns argument k, which has one element for each channel; `otherwise` for every channel if it is left out.
    template <class = void>
    std::vector<double> by_channel(operator_call& c, std::size_t k, std::string_view name, double otherwise) const {
        if (!c.has(k, name)) return std::vector<double>(channels, otherwise);
        const tensor t = c.input(k, name);
        if (t.elements() != static_cast<std::int64_t>(channels)) c.fail(text_of(t) + " is not of the channels");
        return c.failed() ? std::vector<double>(channels, otherwise) : t.values<double>();
    }
    /// Returns the channel of element k.
    [[nodiscard]] std::size_t channel(std::size_t k) const { return k / places % channels; }
};

/// native_group_norm(input, weight, bias, N, C, HxW, group, eps) returns the normalised tensor, and the mean and the
/// scale of every group. These have the type of the weight if there is one, otherwise that of the input.
template <class = void>
void group_norm(operator_call& c) {
    const tensor input = c.input(0, "input");
    const channel_groups r(c, input, 3, 1, true);
    const double epsilon = c.real(7, "eps", 1e-5);
    if (c.failed()) return;
    std::vector<double> made(r.x.size()), means, scales;
    for (std::size_t i = 0; i < r.rows; ++i) {
        double mean = 0, spread = 0;
        for (std::size_t k = i * r.width; k < (i + 1) * r.width; ++k) mean += r.x[k];
        mean /= static_cast<double>(r.width);
        for (std::size_t k = i * r.width; k < (i + 1) * r.width; ++k) spread += (r.x[k] - mean) * (r.x[k] - mean);
        const double scale = 1 / std::sqrt(spread / static_cast<double>(r.width) + epsilon);
        for (std::size_t k = i * r.width; k < (i + 1) * r.width; ++k)
            made[k] = (r.x[k] - mean) * scale * r.weight[r.channel(k)] + r.bias[r.channel(k)];
        means.push_back(mean);
        scales.push_back(scale);
    }
    const element_type statistics = c.has(1, "weight") ? c.input(1, "weight").element() : input.element();
    c.give(made_of<double>(input.element(), input.shape(), made));
    c.give(made_of<double>(statistics, r.one_a_group, means));
    c.give(made_of<double>(statistics, r.one_a_group, scales));
}

/// native_group_norm_backward(grad, input, mean, rstd, weight, N, C, HxW, group, output_mask) returns those gradients
/// of input, weight and bias that the mask requests.
template <class = void>
void group_norm_backward(operator_call& c) {
    const tensor grad = c.input(0, "grad_out"), input = c.input(1, "input");
    const tensor mean = c.input(2, "mean"), scale = c.input(3, "rstd");
    const channel_groups r(c, input, 5, 4, false);
    const extents wanted = c.integers(9, "output_mask");
    if (grad.shape() != input.shape() || mean.shape() != r.one_a_group || scale.shape() != r.one_a_group ||
        wanted.size() != 3)
        c.fail("has operands of other shapes than " + text_of(input));
    if (c.failed()) return;
    const std::vector<double> g = grad.values<double>(), m = mean.values<double>(), s = scale.values<double>();
    std::vector<double> of_input(r.x.size()), of_weight(r.channels), of_bias(r.channels);
    for (std::size_t i = 0; i < r.rows; ++i) {
        // As for a layer norm: with u the normalised element and h = g * weight, the gradient is scale * (h - mean(h) -
        // u * mean(h * u)).
        double sum = 0, along = 0;
        const auto unit = [&](std::size_t k) { return (r.x[k] - m[i]) * s[i]; };
        for (std::size_t k = i * r.width; k < (i + 1) * r.width; ++k) {
            sum += g[k] * r.weight[r.channel(k)];
            along += g[k] * r.weight[r.channel(k)] * unit(k);
            of_weight[r.channel(k)] += g[k] * unit(k);
            of_bias[r.channel(k)] += g[k];
        }
        const double width = static_cast<double>(r.width);
        for (std::size_t k = i * r.width; k < (i + 1) * r.width; ++k)
            of_input[k] = s[i] * (g[k] * r.weight[r.channel(k)] - sum / width - unit(k) * along / width);
    }
    const element_type parameters = c.has(4, "weight") ? c.input(4, "weight").element() : input.element();
    const auto give = [&](std::size_t place, const extents& shape, element_type e, const std::vector<double>& values) {
        if (wanted[place] == 0) c.give_none();
        else c.give_member(made_of<double>(e, shape, values));
    };
    const extents channels{static_cast<std::int64_t>(r.channels)};
    give(0, input.shape(), input.element(), of_input);
    give(1, channels, parameters, of_weight);
    give(2, channels, parameters, of_bias);
}

template <class = void>
inline constexpr operator_entry group_norm_operators[] = {
    {"aten.native_group_norm", "default", group_norm<>},
    {"aten.native_group_norm_backward", "default", group_norm_backward<>},
};

}  // namespace stretto::aten::detail

#endif
