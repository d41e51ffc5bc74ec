// Decodes operators that combine rows or move them: products, reductions, sorting, reads and writes at indices, and
// operators on samples. aten_decode.hpp explains how decoders work.
#ifndef STRETTO_ATEN_DETAIL_ATEN_DECODE_ROWS_HPP
#define STRETTO_ATEN_DETAIL_ATEN_DECODE_ROWS_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "stretto/aten/detail/aten_arguments.hpp"
#include "stretto/aten/detail/aten_decode.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/transform/chunk_rules/any_rule.hpp"
#include "stretto/transform/chunk_rules/lookups.hpp"
#include "stretto/transform/chunk_rules/norms.hpp"
#include "stretto/transform/chunk_rules/parts.hpp"
#include "stretto/transform/chunk_rules/products.hpp"
#include "stretto/transform/chunk_rules/reductions.hpp"
#include "stretto/transform/chunk_rules/rule_operands.hpp"
#include "stretto/transform/chunk_rules/samples.hpp"
#include "stretto/transform/chunk_rules/scattered_reductions.hpp"
#include "stretto/transform/chunk_rules/scatters.hpp"
#include "stretto/transform/chunk_rules/sorting.hpp"

namespace stretto::detail::aten {

/// Decodes mm(self, mat2).
inline rules::any_rule multiplied(const aten_arguments& a) {
    return rules::matrix_product{.left = a.operand(0, "self"), .right = a.operand(1, "mat2")};
}
/// Decodes bmm(self, mat2): dimension 0 of both counts the matrices.
inline rules::any_rule batch_multiplied(const aten_arguments& a) {
    return rules::matrix_product{
        .left = a.operand(0, "self"), .right = a.operand(1, "mat2"), .left_batch = {0}, .right_batch = {0}};
}
/// Decodes addmm(self, mat1, mat2), which is self + mat1 mat2. Its factors beta and alpha are not read: they multiply
/// by constants, which changes no state.
inline rules::any_rule multiplied_with_bias(const aten_arguments& a) {
    return rules::biased_product{.bias = a.operand(0, "self"),
                                 .product = {.left = a.operand(1, "mat1"), .right = a.operand(2, "mat2")}};
}
/// Decodes _grouped_mm(self, mat2, offs).
inline rules::any_rule grouped_product(const aten_arguments& a) {
    return rules::grouped_product{
        .left = a.operand(0, "self"), .right = a.operand(1, "mat2"), .ends = a.operand(2, "offs")};
}

// The next functions decode reductions and operators along one dimension.

/// Decodes sum(self) and similar reductions over all dimensions.
template <rules::reduction::by How>
rules::any_rule reduced_to_one(const aten_arguments& a) {
    return rules::reduction{.how = How, .x = a.operand(0, "self")};
}
/// Decodes sum(self, dim, keepdim) and similar reductions. Without dimensions they reduce all of them.
template <rules::reduction::by How>
rules::any_rule reduced(const aten_arguments& a) {
    rules::reduction r{.how = How, .x = a.operand(0, "self"), .keeps_dims = a.truth(2, "keepdim")};
    return a.dims(1, "dim", r.dims) ? rules::any_rule(r) : too_many_dimensions();
}
/// Decodes softmax and similar operators, which compute each row along a dimension as a unit, so that this dimension
/// must not be cut. Argument `Dim` names the dimension. `Linear` marks operators with f(a + b) = f(a) + f(b).
template <std::size_t Dim, bool Linear>
rules::any_rule along_one(const aten_arguments& a) {
    return rules::along_dimension{.x = a.operand(0, "self"), .dim = a.integer(Dim, "dim", -1), .linear = Linear};
}
/// Decodes tril and triu(self, diagonal), for which row and column decide which elements of a matrix are kept.
inline rules::any_rule triangle(const aten_arguments& a) {
    return rules::along_dimension{.x = a.operand(0, "self"), .dim = -2, .count = 2, .linear = true};
}
inline rules::any_rule running_sum(const aten_arguments& a) {
    return rules::running_sum{.x = a.operand(0, "self"), .dim = a.integer(1, "dim", -1)};
}
/// Decodes sort(self, dim, descending). PyTorch does not promise that it is stable.
inline rules::any_rule sorted(const aten_arguments& a) {
    return rules::sort{
        .x = a.operand(0, "self"), .dim = a.integer(1, "dim", -1), .descending = a.truth(2, "descending")};
}
/// Decodes sort.stable(self, *, stable, dim, descending). Every argument but the tensor is named.
inline rules::any_rule sorted_stably(const aten_arguments& a) {
    return rules::sort{.x = a.operand(0, "self"),
                       .dim = a.integer(SIZE_MAX, "dim", -1),
                       .descending = a.truth(SIZE_MAX, "descending"),
                       .stable = a.truth(SIZE_MAX, "stable")};
}
/// Decodes linalg_vector_norm(self, ord, dim, keepdim).
inline rules::any_rule vector_norm(const aten_arguments& a) {
    rules::reduction r{
        .how = rules::reduction::by::other, .x = a.operand(0, "self"), .keeps_dims = a.truth(3, "keepdim")};
    return a.dims(2, "dim", r.dims) ? rules::any_rule(r) : too_many_dimensions();
}
/// Decodes var, std and var_mean(self, dim, *, correction, keepdim).
inline rules::any_rule variance(const aten_arguments& a) {
    rules::reduction r{
        .how = rules::reduction::by::other, .x = a.operand(0, "self"), .keeps_dims = a.truth(SIZE_MAX, "keepdim")};
    return a.dims(1, "dim", r.dims) ? rules::any_rule(r) : too_many_dimensions();
}
/// Decodes histc(self, bins, min, max). If min is not below max, PyTorch derives the bins from the elements.
inline rules::any_rule histogram(const aten_arguments& a) {
    const auto fixed = [](const tensor_argument& n) {
        return n.what == argument_form::real ? n.real : static_cast<double>(n.integer);
    };
    return rules::histogram{.fixed_bins = fixed(a.argument(2, "min")) < fixed(a.argument(3, "max"))};
}
/// Decodes native_layer_norm(input, shape, weight, bias, eps) and _fused_rms_norm(input, shape, weight, eps). `Input`
/// is the position of the input, which differs in the backward operators; `shape` follows it.
template <std::size_t Input>
rules::any_rule normalized(const aten_arguments& a) {
    return rules::normalization{.x = a.operand(Input, "input"),
                                .dims = a.argument(Input + 1, "normalized_shape").items.size()};
}

// The next functions decode reads and writes at indices.

/// Decodes index(self, indices), where the list has an index, or nothing, for each leading dimension.
inline rules::any_rule indexed(const aten_arguments& a) {
    return rules::look_up_elements{.x = a.operand(0, "self"), .indices = a.indices(1, "indices")};
}
/// Decodes index_select(self, dim, index).
inline rules::any_rule index_selected(const aten_arguments& a) {
    return rules::look_up{.x = a.operand(0, "self"), .index = a.operand(2, "index"), .dim = a.integer(1, "dim", 0)};
}
/// Decodes embedding(weight, indices).
inline rules::any_rule embedded(const aten_arguments& a) {
    return rules::look_up{.x = a.operand(0, "weight"), .index = a.operand(1, "indices")};
}
/// Decodes gather(self, dim, index).
inline rules::any_rule gathered(const aten_arguments& a) {
    return rules::gather{.x = a.operand(0, "self"), .index = a.operand(2, "index"), .dim = a.integer(1, "dim", 0)};
}
/// Decodes repeat_interleave(repeats, *, output_size).
inline rules::any_rule runs(const aten_arguments& a) {
    return rules::repeat_by_counts{.counts = a.operand(0, "repeats"), .total = a.operand(SIZE_MAX, "output_size")};
}
/// Decodes index_put(self, indices, values, accumulate).
inline rules::any_rule index_put(const aten_arguments& a) {
    return rules::put_elements{.base = a.operand(0, "self"),
                               .indices = a.indices(1, "indices"),
                               .values = a.operand(2, "values"),
                               .adds = a.truth(3, "accumulate")};
}
/// Decodes scatter and scatter_add(self, dim, index, src). If a constant is written, `src` is not an operand.
template <bool Adds>
rules::any_rule scattered(const aten_arguments& a) {
    return rules::scatter{.base = a.operand(0, "self"),
                          .index = a.operand(2, "index"),
                          .source = a.operand(3, "src"),
                          .dim = a.integer(1, "dim", 0),
                          .adds = Adds};
}
/// Decodes index_add and index_copy(base, dim, index, source).
template <bool Adds>
rules::any_rule rows_put(const aten_arguments& a) {
    return rules::put_rows{.base = a.operand(0, "self"),
                           .index = a.operand(2, "index"),
                           .source = a.operand(3, "source"),
                           .dim = a.integer(1, "dim", 0),
                           .adds = Adds};
}
/// Decodes index_reduce and scatter_reduce(self, dim, index, source, reduce, *, include_self).
template <class Kind>
rules::any_rule combined_at(const aten_arguments& a) {
    using by = rules::reduction::by;
    const std::string_view how = a.argument(4, "reduce").text;
    return Kind{.base = a.operand(0, "self"),
                .index = a.operand(2, "index"),
                .source = a.operand(3, a.argument(3, "src").what == argument_form::none ? "source" : "src"),
                .dim = a.integer(1, "dim", 0),
                .how = how == "sum"    ? by::sum
                       : how == "mean" ? by::mean
                                       : by::other,
                .with_base = a.integer(SIZE_MAX, "include_self", 1) != 0};
}
/// Decodes torchtitan's scatter_add along dimension 0, with its index expanded to rows: (base, index, src).
inline rules::any_rule rows_scatter_added(const aten_arguments& a) {
    return rules::add_expanded_rows{
        .base = a.operand(0, "self"), .index = a.operand(1, "index"), .source = a.operand(2, "src")};
}
/// Decodes embedding_dense_backward(grad, indices, rows, padding, by_frequency).
inline rules::any_rule embedding_backward(const aten_arguments& a) {
    return rules::look_up_gradient{.gradient = a.operand(0, "grad_output"),
                                   .index = a.operand(1, "indices"),
                                   .scales_by_count = a.truth(4, "scale_grad_by_freq")};
}
/// Decodes slice_scatter(base, src, dim, start, end, step). The first position is -1, which means unknown, if the
/// program computes it or the slice is not contiguous.
inline rules::any_rule slice_scattered(const aten_arguments& a) {
    const bool from_start = a.argument(3, "start").what == argument_form::none, by_1 = step_of(a, 5) == 1;
    return rules::put_slice{.base = a.operand(0, "self"),
                            .source = a.operand(1, "src"),
                            .dim = a.integer(2, "dim", 0),
                            .first = by_1 ? a.integer(3, "start", from_start ? 0 : -1) : -1};
}
/// Decodes slice_backward(gradient, sizes, dim, start, end, step) and select_backward(gradient, sizes, dim, index).
template <bool Selects>
rules::any_rule part_backward(const aten_arguments& a) {
    return rules::slice_gradient{.gradient = a.operand(0, "grad_output"),
                                 .dim = a.integer(2, "dim", 0),
                                 .of_select = Selects,
                                 .sizes = a.sizes(1, "input_sizes")};
}

/// Decodes constant_pad_nd(self, pad, value). `pad` has two numbers for each dimension, the last dimension first.
inline rules::any_rule padded(const aten_arguments& a) {
    const std::span<const tensor_argument> pad = a.argument(1, "pad").items;
    const tensor_argument& value = a.argument(2, "value");
    rules::shift r{.x = a.operand(0, "self")};
    if (pad.size() / 2 >= rules::dim_list::capacity) return too_many_dimensions();
    for (std::size_t k = 0; k + 1 < pad.size(); k += 2)
        if (!is_zero(pad[k]) || !is_zero(pad[k + 1])) r.dims.push_back(-1 - static_cast<std::int64_t>(k / 2));
    r.adds_constants = value.what != argument_form::none && !is_zero(value);
    return r;
}
/// Decodes roll(self, shifts, dims). Without dimensions it treats all elements as one row.
inline rules::any_rule rolled(const aten_arguments& a) {
    rules::shift r{.x = a.operand(0, "self")};
    if (!a.dims(2, "dims", r.dims)) return too_many_dimensions();
    if (r.dims.empty()) return rules::refused{.why = "rolls all elements as one row, which chunks would cut"};
    return r;
}

// The next functions decode operators that process each sample of a batch independently.

/// Decodes convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups). With a bias
/// it is not linear in the input.
inline rules::any_rule convolved(const aten_arguments& a) {
    const std::size_t x = a.operand(0, "input");
    const bool biased = a.argument(2, "bias").what != argument_form::none;
    return rules::by_sample{.batched = {x}, .linear_in = biased ? rules::no_operand : x};
}
/// Returns how many results have one entry per sample: the gradient of the input, which is the first result, if the
/// mask requests it.
inline std::size_t wanted_of_input(const tensor_argument& mask) {
    return mask.items.empty() || mask.items[0].integer != 0 ? 1 : 0;
}
/// Decodes convolution_backward(grad, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding,
/// groups, output_mask).
inline rules::any_rule convolution_backward(const aten_arguments& a) {
    const std::size_t gradient = a.operand(0, "grad_output");
    return rules::by_sample{.batched = {gradient, a.operand(1, "input")},
                            .own = wanted_of_input(a.argument(10, "output_mask")),
                            .linear_in = gradient};
}
/// The next two functions decode native_group_norm(input, weight, bias, N, C, HxW, group, eps) and its backward(grad,
/// input, mean, rstd, weight, N, C, HxW, group, output_mask).
inline rules::any_rule groups_normalized(const aten_arguments& a) {
    return rules::by_sample{.batched = {a.operand(0, "input")}, .samples = a.number(3, "N")};
}
inline rules::any_rule group_norm_backward(const aten_arguments& a) {
    const std::size_t gradient = a.operand(0, "grad_out");
    return rules::by_sample{.batched = {gradient, a.operand(1, "input"), a.operand(2, "mean"), a.operand(3, "rstd")},
                            .own = wanted_of_input(a.argument(9, "output_mask")),
                            .linear_in = gradient,
                            .samples = a.number(5, "N")};
}
inline rules::any_rule batch_normalized(const aten_arguments&) {
    return rules::refused{.why = "normalises by means over all samples: chunks would have others"};
}

}  // namespace stretto::detail::aten

#endif
