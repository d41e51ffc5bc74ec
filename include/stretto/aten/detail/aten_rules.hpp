// Which rule an operator has: sorted by name, searched by halves. An operator that is not here is refused.
// Longer than 300 lines: it is one table.
#ifndef STRETTO_ATEN_DETAIL_ATEN_RULES_HPP
#define STRETTO_ATEN_DETAIL_ATEN_RULES_HPP

#include <cstddef>
#include <string_view>

#include "stretto/aten/argument_spelling.hpp"
#include "stretto/aten/detail/aten_blocks.hpp"
#include "stretto/aten/detail/aten_call.hpp"
#include "stretto/aten/detail/aten_factories.hpp"
#include "stretto/aten/detail/aten_gather.hpp"
#include "stretto/aten/detail/aten_norms.hpp"
#include "stretto/aten/detail/aten_pointwise.hpp"
#include "stretto/aten/detail/aten_products.hpp"
#include "stretto/aten/detail/aten_reductions.hpp"
#include "stretto/aten/detail/aten_scatter.hpp"
#include "stretto/aten/detail/aten_views.hpp"

namespace stretto::detail::aten {

struct aten_operator {
    std::string_view name;
    aten_rule rule;
    spelled extents = spelled::nothing;
};

// Families of elementwise operators.
inline constexpr aten_rule copy = pointwise<linear::in_its_operand, row_numbers::kept>;
inline constexpr aten_rule cast = pointwise<linear::but_for_rounding_up, row_numbers::kept>;
inline constexpr aten_rule elementwise = pointwise<linear::never, row_numbers::refused>;
inline constexpr aten_rule sum = pointwise<linear::in_all_at_once, row_numbers::added>;
inline constexpr aten_rule added_in_place = written<pointwise<linear::in_all_at_once, row_numbers::refused>, true>;
inline constexpr aten_rule computed_in_place = written<pointwise<linear::never, row_numbers::refused>>;
inline constexpr aten_rule quotient = pointwise<linear::in_the_first, row_numbers::refused>;
inline constexpr aten_rule divided_in_place = written<pointwise<linear::in_the_first, row_numbers::refused>>;
inline constexpr aten_rule floor_quotient = pointwise<linear::never, row_numbers::divided>;
inline constexpr aten_rule linear_elementwise = pointwise<linear::in_its_operand, row_numbers::refused>;
inline constexpr aten_rule scaled = pointwise<linear::in_one_at_a_time, row_numbers::multiplied>;
inline constexpr aten_rule scaled_in_place = written<pointwise<linear::in_one_at_a_time, row_numbers::refused>>;
inline constexpr aten_rule rest = pointwise<linear::never, row_numbers::remainder>;
inline constexpr aten_rule difference = pointwise<linear::in_all_at_once, row_numbers::subtracted>;
inline constexpr aten_rule reversed_difference = pointwise<linear::in_all_at_once, row_numbers::refused>;
inline constexpr aten_rule subtracted_in_place = written<pointwise<linear::in_all_at_once, row_numbers::refused>>;

/// div with a rounding mode: numbers of rows may be divided rounding down, which for them is rounding to zero.
inline chunk_verdict divided_with_mode(const aten_call& c) {
    const std::string_view mode = c.argument(SIZE_MAX, "rounding_mode").text;
    return mode == "floor" || mode == "trunc" ? floor_quotient(c) : quotient(c);
}

inline chunk_verdict foreign_kernel(const aten_call& c) {
    return c.refuse("is a kernel of the program's own: what it does with rows is not known");
}

inline constexpr aten_operator aten_operators[] = {
    {"_c10d_functional.all_gather_into_tensor.default", collective_refused},
    {"_c10d_functional.all_reduce.default", collective_refused},
    {"_c10d_functional.all_to_all_single.default", exchanged, spelled::amounts},
    {"_c10d_functional.broadcast.default", collective_refused},
    {"_c10d_functional.reduce_scatter_tensor.default", collective_refused},
    {"_c10d_functional.wait_tensor.default", copy},
    {"add", number_computed<number_arithmetic::add>},
    {"aten._assert_scalar.default", asserted},
    {"aten._conj.default", copy},
    {"aten._fused_rms_norm.default", normalized<0>},
    {"aten._fused_rms_norm_backward.default", normalized<1>},
    {"aten._grouped_mm.default", grouped_product},
    {"aten._local_scalar_dense.default", value_read},
    {"aten._log_softmax.default", along_one<1, false>},
    {"aten._log_softmax_backward_data.default", along_one<2, true>},
    {"aten._scaled_dot_product_cudnn_attention.default", attended<5>},
    {"aten._scaled_dot_product_cudnn_attention_backward.default", attended<13>},
    {"aten._scaled_dot_product_efficient_attention.default", attended<5>},
    {"aten._scaled_dot_product_efficient_attention_backward.default", attended<9>},
    {"aten._scaled_dot_product_flash_attention.default", attended<3>},
    {"aten._scaled_dot_product_flash_attention_backward.default", attended<10>},
    {"aten._softmax.default", along_one<1, false>},
    {"aten._softmax_backward_data.default", along_one<2, true>},
    {"aten._to_copy.default", cast},
    {"aten._unsafe_view.default", reshaped, spelled::sizes_second},
    {"aten.abs.default", elementwise},
    {"aten.abs_.default", computed_in_place},
    {"aten.add.Scalar", sum},
    {"aten.add.Tensor", sum},
    {"aten.add_.Scalar", added_in_place},
    {"aten.add_.Tensor", added_in_place},
    {"aten.addcdiv.default", elementwise},
    {"aten.addcmul.default", elementwise},
    {"aten.addmm.default", multiplied_with_bias},
    {"aten.alias.default", copy},
    {"aten.all.default", reduced<reduction::extreme, -1>},
    {"aten.all.dim", reduced<reduction::extreme, 1>},
    {"aten.all.dims", reduced<reduction::extreme, 1>},
    {"aten.amax.default", reduced<reduction::extreme, 1>},
    {"aten.amin.default", reduced<reduction::extreme, 1>},
    {"aten.any.default", reduced<reduction::extreme, -1>},
    {"aten.any.dim", reduced<reduction::extreme, 1>},
    {"aten.any.dims", reduced<reduction::extreme, 1>},
    {"aten.arange.default", numbered<0>},
    {"aten.arange.start", numbered<1>},
    {"aten.arange.start_step", numbered<1>},
    {"aten.argmax.default", reduced<reduction::extreme, 1>},
    {"aten.argmin.default", reduced<reduction::extreme, 1>},
    {"aten.bitwise_and.Scalar", elementwise},
    {"aten.bitwise_and.Tensor", elementwise},
    {"aten.bitwise_not.default", elementwise},
    {"aten.bitwise_or.Scalar", elementwise},
    {"aten.bitwise_or.Tensor", elementwise},
    {"aten.bitwise_xor.Scalar", elementwise},
    {"aten.bitwise_xor.Tensor", elementwise},
    {"aten.bmm.default", multiplied<1>},
    {"aten.cat.default", joined<false>},
    {"aten.ceil.default", elementwise},
    {"aten.chunk.default", split_elsewhere},
    {"aten.clamp.default", elementwise},
    {"aten.clamp_max.default", elementwise},
    {"aten.clamp_min.default", elementwise},
    {"aten.clamp_min_.default", computed_in_place},
    {"aten.clone.default", copy},
    {"aten.contiguous.default", copy},
    {"aten.copy_.default", written<copied>},
    {"aten.cos.default", elementwise},
    {"aten.cumprod.default", along_one<1, false>},
    {"aten.cumsum.default", along_one<1, true>},
    {"aten.detach.default", copy},
    {"aten.div.Scalar", quotient},
    {"aten.div.Scalar_mode", elementwise},
    {"aten.div.Tensor", quotient},
    {"aten.div.Tensor_mode", divided_with_mode},
    {"aten.div_.Scalar", divided_in_place},
    {"aten.div_.Tensor", divided_in_place},
    {"aten.embedding.default", embedded},
    {"aten.embedding_dense_backward.default", embedding_backward},
    {"aten.empty.memory_format", made, spelled::sizes_first},
    {"aten.empty_like.default", made_like},
    {"aten.eq.Scalar", elementwise},
    {"aten.eq.Tensor", elementwise},
    {"aten.erf.default", elementwise},
    {"aten.exp.default", elementwise},
    {"aten.exp_.default", computed_in_place},
    {"aten.expand.default", expanded, spelled::sizes_second},
    {"aten.expm1.default", elementwise},
    {"aten.fill_.Scalar", computed_in_place},
    {"aten.flip.default", flipped},
    {"aten.floor.default", elementwise},
    {"aten.floor_divide.Scalar", floor_quotient},
    {"aten.floor_divide.default", floor_quotient},
    {"aten.full.default", made, spelled::sizes_first},
    {"aten.full_like.default", made_like},
    {"aten.gather.default", gathered},
    {"aten.ge.Scalar", elementwise},
    {"aten.ge.Tensor", elementwise},
    {"aten.gelu.default", elementwise},
    {"aten.gelu_backward.default", elementwise},
    {"aten.gt.Scalar", elementwise},
    {"aten.gt.Tensor", elementwise},
    {"aten.histc.default", histogram},
    {"aten.imag.default", linear_elementwise},
    {"aten.index.Tensor", indexed},
    {"aten.index_add.default", rows_put<true>},
    {"aten.index_add_.default", written<rows_put<true>>},
    {"aten.index_copy.default", rows_put<false>},
    {"aten.index_copy_.default", written<rows_put<false>>},
    {"aten.index_put.default", index_put},
    {"aten.index_put_.default", written<index_put>},
    {"aten.index_select.default", index_selected},
    {"aten.isnan.default", elementwise},
    {"aten.item.default", value_read},
    {"aten.le.Scalar", elementwise},
    {"aten.le.Tensor", elementwise},
    {"aten.lift_fresh_copy.default", copy},
    {"aten.log.default", elementwise},
    {"aten.log1p.default", elementwise},
    {"aten.log2.default", elementwise},
    {"aten.log_.default", computed_in_place},
    {"aten.log_softmax.int", along_one<1, false>},
    {"aten.logcumsumexp.default", along_one<1, false>},
    {"aten.logical_and.default", elementwise},
    {"aten.logical_and_.default", computed_in_place},
    {"aten.logical_not.default", elementwise},
    {"aten.logical_or.default", elementwise},
    {"aten.logsumexp.default", reduced<reduction::extreme, 1>},
    {"aten.lt.Scalar", elementwise},
    {"aten.lt.Tensor", elementwise},
    {"aten.masked_fill.Scalar", elementwise},
    {"aten.masked_fill.Tensor", elementwise},
    {"aten.masked_fill_.Scalar", computed_in_place},
    {"aten.masked_fill_.Tensor", computed_in_place},
    {"aten.max.default", reduced<reduction::extreme, -1>},
    {"aten.max.dim", reduced<reduction::extreme, 1>},
    {"aten.maximum.default", elementwise},
    {"aten.mean.default", reduced<reduction::mean, -1>},
    {"aten.mean.dim", reduced<reduction::mean, 1>},
    {"aten.min.default", reduced<reduction::extreme, -1>},
    {"aten.min.dim", reduced<reduction::extreme, 1>},
    {"aten.minimum.default", elementwise},
    {"aten.mm.default", multiplied<0>},
    {"aten.mul.Scalar", scaled},
    {"aten.mul.Tensor", scaled},
    {"aten.mul_.Scalar", scaled_in_place},
    {"aten.mul_.Tensor", scaled_in_place},
    {"aten.native_layer_norm.default", normalized<0>},
    {"aten.native_layer_norm_backward.default", normalized<1>},
    {"aten.ne.Scalar", elementwise},
    {"aten.ne.Tensor", elementwise},
    {"aten.neg.default", linear_elementwise},
    {"aten.neg_.default", computed_in_place},
    {"aten.new_empty.default", made_new, spelled::sizes_second},
    {"aten.new_full.default", made_new, spelled::sizes_second},
    {"aten.new_ones.default", made_new, spelled::sizes_second},
    {"aten.new_zeros.default", made_new, spelled::sizes_second},
    {"aten.nll_loss_backward.default", loss_backward},
    {"aten.nll_loss_forward.default", loss},
    {"aten.numpy_T.default", transposed_2d},
    {"aten.ones.default", made, spelled::sizes_first},
    {"aten.ones_like.default", made_like},
    {"aten.permute.default", dimensions_permuted},
    {"aten.pow.Scalar", elementwise},
    {"aten.pow.Tensor_Scalar", elementwise},
    {"aten.pow.Tensor_Tensor", elementwise},
    {"aten.prod.default", reduced<reduction::extreme, -1>},
    {"aten.prod.dim_int", reduced<reduction::extreme, 1>},
    {"aten.real.default", linear_elementwise},
    {"aten.reciprocal.default", elementwise},
    {"aten.reciprocal_.default", computed_in_place},
    {"aten.relu.default", elementwise},
    {"aten.relu_.default", computed_in_place},
    {"aten.remainder.Scalar", rest},
    {"aten.remainder.Tensor", rest},
    {"aten.repeat.default", repeated},
    {"aten.repeat_interleave.Tensor", runs, spelled::output_size},
    {"aten.reshape.default", reshaped, spelled::sizes_second},
    {"aten.round.default", elementwise},
    {"aten.rsqrt.default", elementwise},
    {"aten.rsqrt_.default", computed_in_place},
    {"aten.rsub.Scalar", reversed_difference},
    {"aten.scalar_tensor.default", number_held},
    {"aten.scatter.src", scattered<false>},
    {"aten.scatter.value", scattered<false>},
    {"aten.scatter_.src", written<scattered<false>>},
    {"aten.scatter_.value", written<scattered<false>>},
    {"aten.scatter_add.default", scattered<true>},
    {"aten.scatter_add_.default", written<scattered<true>>},
    {"aten.select.int", selected},
    {"aten.select_backward.default", part_backward<true>, spelled::sizes_second},
    {"aten.sigmoid.default", elementwise},
    {"aten.sigmoid_.default", computed_in_place},
    {"aten.sigmoid_backward.default", elementwise},
    {"aten.sign.default", elementwise},
    {"aten.silu.default", elementwise},
    {"aten.silu_.default", computed_in_place},
    {"aten.silu_backward.default", elementwise},
    {"aten.sin.default", elementwise},
    {"aten.slice.Tensor", sliced_elsewhere, spelled::slice_end},
    {"aten.slice_backward.default", part_backward<false>, spelled::sizes_second},
    {"aten.slice_scatter.default", slice_scattered},
    {"aten.softmax.int", along_one<1, false>},
    {"aten.softplus.default", elementwise},
    {"aten.sort.default", sorted},
    {"aten.sort.stable", sorted},
    {"aten.split.Tensor", split_elsewhere},
    {"aten.split_with_sizes.default", split_elsewhere},
    {"aten.sqrt.default", elementwise},
    {"aten.sqrt_.default", computed_in_place},
    {"aten.squeeze.dim", squeezed},
    {"aten.squeeze.dims", squeezed},
    {"aten.stack.default", joined<true>},
    {"aten.sub.Scalar", difference},
    {"aten.sub.Tensor", difference},
    {"aten.sub_.Tensor", subtracted_in_place},
    {"aten.sum.default", reduced<reduction::sum, -1>},
    {"aten.sum.dim_IntList", reduced<reduction::sum, 1>},
    {"aten.sym_numel.default", size_read},
    {"aten.sym_size.int", extent_read},
    {"aten.t.default", transposed_2d},
    {"aten.tanh.default", elementwise},
    {"aten.tanh_.default", computed_in_place},
    {"aten.tanh_backward.default", elementwise},
    {"aten.threshold_backward.default", elementwise},
    {"aten.to.dtype", cast},
    {"aten.topk.default", along_one<2, false>},
    {"aten.transpose.int", transposed},
    {"aten.trunc.default", elementwise},
    {"aten.unbind.int", unbound},
    {"aten.unsqueeze.default", unsqueezed},
    {"aten.view.default", reshaped, spelled::sizes_second},
    {"aten.view_as_complex.default", complex_view},
    {"aten.view_as_real.default", complex_view},
    {"aten.where.ScalarOther", elementwise},
    {"aten.where.ScalarSelf", elementwise},
    {"aten.where.self", elementwise},
    {"aten.zero_.default", computed_in_place},
    {"aten.zeros.default", made, spelled::sizes_first},
    {"aten.zeros_like.default", made_like},
    {"flex_attention", flexible_attention},
    {"flex_attention_backward", flexible_attention},
    {"floordiv", number_computed<number_arithmetic::divide>},
    {"ge", number_compared},
    {"getitem", component},
    {"mul", number_computed<number_arithmetic::multiply>},
    {"prims.convert_element_type.default", cast},
    {"prims.device_put.default", copy},
    {"prims.fma.default", elementwise},
    {"sub", number_computed<number_arithmetic::subtract>},
    {"sym_sum", number_computed<number_arithmetic::add>},
    {"torchtitan.deterministic_scatter_add.default", rows_scatter_added},
    {"triton_kernel_wrapper_functional", foreign_kernel},
};

inline constexpr std::size_t aten_operator_count = sizeof(aten_operators) / sizeof(aten_operators[0]);

constexpr bool sorted_by_name() {
    for (std::size_t k = 1; k < aten_operator_count; ++k)
        if (!(aten_operators[k - 1].name < aten_operators[k].name)) return false;
    return true;
}
static_assert(sorted_by_name());

/// Null for an operator without a rule.
constexpr const aten_operator* find_aten_operator(std::string_view name) {
    std::size_t low = 0, high = aten_operator_count;
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        if (aten_operators[middle].name < name) low = middle + 1;
        else high = middle;
    }
    return low < aten_operator_count && aten_operators[low].name == name ? &aten_operators[low] : nullptr;
}

}  // namespace stretto::detail::aten

#endif
