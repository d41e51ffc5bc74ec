// Operators of the interpreter for convolutions over any number of dimensions, transposed or not, and their gradients.
//
// All of them are sums over the same products, and differ only in which of three tensors receives the product of the
// other two. The tensors are `wide`, `narrow` and the weights. A place in `wide` is the stride times a place in
// `narrow`, plus an offset that depends on the place in the kernel. A convolution computes narrow from wide, a
// transposed convolution computes wide from narrow; in both the weights are [channels of narrow, channels of wide in a
// group, kernel...].
#ifndef STRETTO_ATEN_DETAIL_INTERPRETER_CONVOLUTIONS_HPP
#define STRETTO_ATEN_DETAIL_INTERPRETER_CONVOLUTIONS_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "stretto/aten/detail/interpreter_call.hpp"
#include "stretto/aten/detail/interpreter_shapes.hpp"
#include "stretto/aten/tensor.hpp"

namespace stretto::aten::detail {

/// The shape of a convolution: the sizes [samples, channels, places...] of `wide` and `narrow`, and how places of one
/// correspond to those of the other.
struct convolution_form {
    extents wide, narrow, weight;
    extents stride, padding, dilation;
    std::int64_t groups = 1;

    /// Calls f(slot in wide, slot in narrow, slot in weight) for every product. Slots are positions in row-major order.
    /// Products that would read the padding are left out. O(samples * places of narrow * elements of weight).
    template <class F>
    void for_each_product(F f) const {
        const std::size_t dims = weight.size() - 2;
        const std::int64_t of_wide = weight[1], of_narrow = weight[0] / groups;
        const extents places(narrow.begin() + 2, narrow.end()), kernel(weight.begin() + 2, weight.end());
        const std::int64_t all_wide = product(extents(wide.begin() + 2, wide.end()));
        const std::int64_t all_narrow = product(places), taps = product(kernel);
        if (all_narrow == 0 || taps == 0) return;
        extents at(dims, 0), tap(dims, 0);
        const auto next = [dims](extents& x, const extents& end) {
            for (std::size_t d = dims; d-- > 0; x[d] = 0)
                if (++x[d] < end[d]) return true;
            return false;
        };
        do do {
                std::int64_t from = 0, to = 0, by = 0;
                bool inside = true;
                for (std::size_t d = 0; d < dims; ++d) {
                    const std::int64_t p = at[d] * stride[d] - padding[d] + tap[d] * dilation[d];
                    inside = inside && p >= 0 && p < wide[d + 2];
                    from = from * wide[d + 2] + p;
                    to = to * narrow[d + 2] + at[d];
                    by = by * weight[d + 2] + tap[d];
                }
                if (!inside) continue;
                for (std::int64_t n = 0; n < narrow[0]; ++n)
                    for (std::int64_t j = 0; j < narrow[1]; ++j)
                        for (std::int64_t i = 0; i < of_wide; ++i) {
                            const std::int64_t channel = j / of_narrow * of_wide + i;
                            f(static_cast<std::size_t>((n * wide[1] + channel) * all_wide + from),
                              static_cast<std::size_t>((n * narrow[1] + j) * all_narrow + to),
                              static_cast<std::size_t>((j * of_wide + i) * taps + by));
                        }
            } while (next(tap, kernel));
        while (next(at, places));
    }
};

/// Reads arguments `first` to `first + 5`: stride, padding, dilation, transposed, output_padding and groups, of a
/// convolution of `input` by `weight`. The call fails if they do not fit.
template <class = void>
convolution_form form_of(operator_call& c, const tensor& input, const tensor& weight, std::size_t first) {
    convolution_form form;
    form.weight = weight.shape();
    form.groups = c.integer(first + 5, "groups", 1);
    const bool transposed = c.truth(first + 3, "transposed", false);
    const std::size_t dims = input.rank() < 2 ? 0 : input.rank() - 2;
    const auto list = [&](std::size_t k, std::string_view name) {
        extents all = c.integers(k, name);
        if (all.size() == 1) all.resize(dims, all[0]);
        if (all.size() != dims) c.fail("has " + std::string(name) + " for other dimensions than " + text_of(input));
        return all;
    };
    form.stride = list(first, "stride");
    form.padding = list(first + 1, "padding");
    form.dilation = list(first + 2, "dilation");
    const extents more = list(first + 4, "output_padding");
    const bool fits = dims > 0 && weight.rank() == input.rank() && form.groups > 0 &&
                      weight.extent(0) % form.groups == 0 && input.category() == element_class::real &&
                      input.extent(1) == (transposed ? weight.extent(0) : weight.extent(1) * form.groups);
    if (!fits) c.fail("no convolution of " + text_of(input) + " by " + text_of(weight));
    if (c.failed()) return form;
    extents made{input.extent(0), transposed ? weight.extent(1) * form.groups : weight.extent(0)};
    for (std::size_t d = 0; d < dims; ++d) {
        const std::int64_t reach = form.dilation[d] * (weight.extent(d + 2) - 1), n = input.extent(d + 2);
        if (form.stride[d] <= 0) c.fail("has a stride that is not positive");
        if (!transposed && n + 2 * form.padding[d] <= reach)
            c.fail("has a kernel that is larger than " + text_of(input) + " with its padding");
        if (c.failed()) return form;
        made.push_back(transposed ? (n - 1) * form.stride[d] - 2 * form.padding[d] + reach + more[d] + 1
                                  : (n + 2 * form.padding[d] - reach - 1) / form.stride[d] + 1);
    }
    check_shape(c, made);
    form.wide = transposed ? made : input.shape();
    form.narrow = transposed ? input.shape() : made;
    return form;
}

/// convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups) returns the
/// convolution of input by weight, plus the bias.
template <class = void>
void convolution(operator_call& c) {
    const tensor input = c.input(0, "input"), weight = c.input(1, "weight");
    const bool biased = c.has(2, "bias"), transposed = c.truth(6, "transposed", false);
    const std::vector<double> bias = biased ? c.input(2, "bias").values<double>() : std::vector<double>();
    const convolution_form form = form_of(c, input, weight, 3);
    if (c.failed()) return;
    const extents& shape = transposed ? form.wide : form.narrow;
    if (biased && static_cast<std::int64_t>(bias.size()) != shape[1]) return c.fail("has a bias of other channels");
    std::vector<double> made(static_cast<std::size_t>(product(shape)));
    const std::vector<double> x = input.values<double>(), w = weight.values<double>();
    const auto places = static_cast<std::size_t>(product(extents(shape.begin() + 2, shape.end())));
    for (std::size_t k = 0; biased && k < made.size(); ++k)
        made[k] = bias[k / places % static_cast<std::size_t>(shape[1])];
    form.for_each_product([&](std::size_t wide, std::size_t narrow, std::size_t by) {
        made[transposed ? wide : narrow] += x[transposed ? narrow : wide] * w[by];
    });
    c.give(made_of<double>(input.element(), shape, made));
}

/// convolution_backward(grad, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups,
/// output_mask) returns those gradients of input, weight and bias that the mask requests.
template <class = void>
void convolution_backward(operator_call& c) {
    const tensor grad = c.input(0, "grad_output"), input = c.input(1, "input"), weight = c.input(2, "weight");
    const bool transposed = c.truth(7, "transposed", false);
    const convolution_form form = form_of(c, input, weight, 4);
    const extents wanted = c.integers(10, "output_mask");
    if (wanted.size() != 3 || grad.shape() != (transposed ? form.wide : form.narrow))
        c.fail(text_of(grad) + " is no gradient of that convolution");
    if (c.failed()) return;
    const std::vector<double> g = grad.values<double>(), x = input.values<double>(), w = weight.values<double>();
    std::vector<double> of_input(x.size()), of_weight(w.size()), of_bias(static_cast<std::size_t>(grad.extent(1)));
    form.for_each_product([&](std::size_t wide, std::size_t narrow, std::size_t by) {
        const std::size_t in = transposed ? narrow : wide, out = transposed ? wide : narrow;
        of_input[in] += g[out] * w[by];
        of_weight[by] += g[out] * x[in];
    });
    const auto places = static_cast<std::size_t>(product(extents(grad.shape().begin() + 2, grad.shape().end())));
    for (std::size_t k = 0; k < g.size(); ++k) of_bias[k / places % of_bias.size()] += g[k];
    const auto give = [&](std::size_t place, const extents& shape, const std::vector<double>& values) {
        if (wanted[place] == 0) c.give_none();
        else c.give_member(made_of<double>(input.element(), shape, values));
    };
    give(0, input.shape(), of_input);
    give(1, weight.shape(), of_weight);
    give(2, {grad.extent(1)}, of_bias);
}

template <class = void>
inline constexpr operator_entry convolution_operators[] = {
    {"aten.convolution", "default", convolution<>},
    {"aten.convolution_backward", "default", convolution_backward<>},
};

}  // namespace stretto::aten::detail

#endif
