// The table of operators and their rules, in which aten_dialect looks up every operation. It is sorted by name, so that
// readers find one. An operator that is not listed is refused. To add one, insert it where its name belongs (the
// compiler checks the order), with the decoder of its family and the extents that its arguments spell, and add a
// program to tests/aten/aten_chunk_model_oracle.cpp, which computes it in parts.
//
// Longer than 300 lines: it is one table.
#ifndef STRETTO_ATEN_DETAIL_ATEN_RULES_HPP
#define STRETTO_ATEN_DETAIL_ATEN_RULES_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "stretto/aten/argument_spelling.hpp"
#include "stretto/aten/detail/aten_arguments.hpp"
#include "stretto/aten/detail/aten_decode.hpp"
#include "stretto/aten/detail/aten_decode_rows.hpp"
#include "stretto/aten/detail/aten_decode_values.hpp"
#include "stretto/transform/chunk_rules/numbers.hpp"
#include "stretto/transform/chunk_rules/reductions.hpp"

namespace stretto::detail::aten {

using by = rules::reduction::by;
using counts = rules::number_arithmetic::op;

/// An operator: its full name, the decoder that returns the rule of a call, and which of its arguments spell extents.
struct aten_operator {
    std::string_view name;
    aten_decoder decode;
    spelled extents = spelled::nothing;
};

inline constexpr aten_operator aten_operators[] = {
    {"_c10d_functional.all_gather_into_tensor.default", aligned_collective<true>},
    {"_c10d_functional.all_reduce.default", aligned_collective<false>},
    {"_c10d_functional.all_to_all_single.default", exchanged, spelled::amounts},
    {"_c10d_functional.broadcast.default", aligned_collective<false>},
    {"_c10d_functional.reduce_scatter_tensor.default", aligned_collective<true>},
    {"_c10d_functional.wait_tensor.default", copy},
    {"add", number_computed<counts::add>},
    {"ao.offload.default", transferred},
    {"ao.reload.default", reloaded, spelled::layout},
    {"ao.wait_tensor.default", transferred},
    {"aten._assert_scalar.default", asserted},
    {"aten._batch_norm_with_update.default", batch_normalized},
    {"aten._batch_norm_with_update_functional.default", batch_normalized},
    {"aten._conj.default", copy},
    {"aten._fused_rms_norm.default", normalized<0>},
    {"aten._fused_rms_norm_backward.default", normalized<1>},
    {"aten._grouped_mm.default", grouped_product},
    {"aten._local_scalar_dense.default", value_read},
    {"aten._log_softmax.default", along_one<1, false>},
    {"aten._log_softmax_backward_data.default", along_one<2, true>},
    {"aten._native_batch_norm_legit.default", batch_normalized},
    {"aten._native_batch_norm_legit_functional.default", batch_normalized},
    {"aten._safe_softmax.default", along_one<1, false>},
    {"aten._scaled_dot_product_cudnn_attention.default", attended<5>},
    {"aten._scaled_dot_product_cudnn_attention_backward.default", attended<13>},
    {"aten._scaled_dot_product_efficient_attention.default", attended<5>},
    {"aten._scaled_dot_product_efficient_attention_backward.default", attended<9>},
    {"aten._scaled_dot_product_flash_attention.default", attended<3>},
    {"aten._scaled_dot_product_flash_attention_backward.default", attended<10>},
    {"aten._scaled_dot_product_flash_attention_for_cpu.default", attended<3>},
    {"aten._scaled_dot_product_flash_attention_for_cpu_backward.default", attended<6>},
    {"aten._scaled_dot_product_fused_attention_overrideable.default", attended<4>},
    {"aten._scaled_dot_product_fused_attention_overrideable_backward.default", attended<12>},
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
    {"aten.all.default", reduced_to_one<by::other>},
    {"aten.all.dim", reduced<by::other>},
    {"aten.all.dims", reduced<by::other>},
    {"aten.amax.default", reduced<by::other>},
    {"aten.amin.default", reduced<by::other>},
    {"aten.any.default", reduced_to_one<by::other>},
    {"aten.any.dim", reduced<by::other>},
    {"aten.any.dims", reduced<by::other>},
    {"aten.arange.default", numbered<0>},
    {"aten.arange.start", numbered<1>},
    {"aten.arange.start_step", numbered<1>},
    {"aten.argmax.default", reduced<by::other>},
    {"aten.argmin.default", reduced<by::other>},
    {"aten.batch_norm_backward.default", batch_normalized},
    {"aten.bernoulli.default", drawn},
    {"aten.bernoulli.p", drawn},
    {"aten.bernoulli_.float", written<drawn>},
    {"aten.binary_cross_entropy.default", element_loss<3, false>},
    {"aten.binary_cross_entropy_backward.default", element_loss<4, true>},
    {"aten.binary_cross_entropy_with_logits.default", element_loss<4, false>},
    {"aten.bitwise_and.Scalar", elementwise},
    {"aten.bitwise_and.Tensor", elementwise},
    {"aten.bitwise_not.default", elementwise},
    {"aten.bitwise_or.Scalar", elementwise},
    {"aten.bitwise_or.Tensor", elementwise},
    {"aten.bitwise_xor.Scalar", elementwise},
    {"aten.bitwise_xor.Tensor", elementwise},
    {"aten.bmm.default", batch_multiplied},
    {"aten.cat.default", concatenated},
    {"aten.ceil.default", elementwise},
    {"aten.chunk.default", split_along},
    {"aten.clamp.default", elementwise},
    {"aten.clamp_max.default", elementwise},
    {"aten.clamp_min.default", elementwise},
    {"aten.clamp_min_.default", computed_in_place},
    {"aten.clone.default", copy},
    {"aten.constant_pad_nd.default", padded},
    {"aten.contiguous.default", copy},
    {"aten.convolution.default", convolved},
    {"aten.convolution_backward.default", convolution_backward},
    {"aten.copy_.default", written<copied>},
    {"aten.cos.default", elementwise},
    {"aten.cudnn_batch_norm.default", batch_normalized},
    {"aten.cudnn_batch_norm_backward.default", batch_normalized},
    {"aten.cumprod.default", along_one<1, false>},
    {"aten.cumsum.default", running_sum},
    {"aten.detach.default", copy},
    {"aten.div.Scalar", quotient},
    {"aten.div.Scalar_mode", elementwise},
    {"aten.div.Tensor", quotient},
    {"aten.div.Tensor_mode", divided_with_mode},
    {"aten.div_.Scalar", divided_in_place},
    {"aten.div_.Tensor", divided_in_place},
    {"aten.elu.default", elementwise},
    {"aten.elu_.default", computed_in_place},
    {"aten.elu_backward.default", elementwise},
    {"aten.embedding.default", embedded},
    {"aten.embedding_dense_backward.default", embedding_backward},
    {"aten.empty.memory_format", made<false>, spelled::sizes_first},
    {"aten.empty_like.default", made_like<false>},
    {"aten.eq.Scalar", elementwise},
    {"aten.eq.Tensor", elementwise},
    {"aten.erf.default", elementwise},
    {"aten.exp.default", elementwise},
    {"aten.exp_.default", computed_in_place},
    {"aten.expand.default", expanded, spelled::sizes_second},
    {"aten.expm1.default", elementwise},
    {"aten.exponential_.default", written<drawn>},
    {"aten.fill_.Scalar", computed_in_place},
    {"aten.flip.default", flipped},
    {"aten.floor.default", elementwise},
    {"aten.floor_divide.Scalar", floor_quotient},
    {"aten.floor_divide.default", floor_quotient},
    {"aten.full.default", made_full, spelled::sizes_first},
    {"aten.full_like.default", made_like<false>},
    {"aten.gather.default", gathered},
    {"aten.ge.Scalar", elementwise},
    {"aten.ge.Tensor", elementwise},
    {"aten.gelu.default", elementwise},
    {"aten.gelu_backward.default", elementwise},
    {"aten.glu.default", along_one<1, false>},
    {"aten.glu_backward.default", along_one<2, true>},
    {"aten.gt.Scalar", elementwise},
    {"aten.gt.Tensor", elementwise},
    {"aten.hardsigmoid.default", elementwise},
    {"aten.hardsigmoid_backward.default", elementwise},
    {"aten.hardswish.default", elementwise},
    {"aten.hardswish_.default", computed_in_place},
    {"aten.hardswish_backward.default", elementwise},
    {"aten.hardtanh.default", elementwise},
    {"aten.hardtanh_.default", computed_in_place},
    {"aten.hardtanh_backward.default", elementwise},
    {"aten.histc.default", histogram},
    {"aten.huber_loss.default", element_loss<2, false>},
    {"aten.huber_loss_backward.default", element_loss<3, true>},
    {"aten.imag.default", linear_elementwise},
    {"aten.index.Tensor", indexed},
    {"aten.index_add.default", rows_put<true>},
    {"aten.index_add_.default", written<rows_put<true>>},
    {"aten.index_copy.default", rows_put<false>},
    {"aten.index_copy_.default", written<rows_put<false>>},
    {"aten.index_put.default", index_put},
    {"aten.index_put_.default", written<index_put>},
    {"aten.index_reduce.default", combined_at<rules::combine_rows>},
    {"aten.index_reduce_.default", written<combined_at<rules::combine_rows>>},
    {"aten.index_select.default", index_selected},
    {"aten.isnan.default", elementwise},
    {"aten.item.default", value_read},
    {"aten.le.Scalar", elementwise},
    {"aten.le.Tensor", elementwise},
    {"aten.leaky_relu.default", elementwise},
    {"aten.leaky_relu_.default", computed_in_place},
    {"aten.leaky_relu_backward.default", elementwise},
    {"aten.lift_fresh_copy.default", copy},
    {"aten.linalg_vector_norm.default", vector_norm},
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
    {"aten.logsumexp.default", reduced<by::other>},
    {"aten.lt.Scalar", elementwise},
    {"aten.lt.Tensor", elementwise},
    {"aten.masked_fill.Scalar", elementwise},
    {"aten.masked_fill.Tensor", elementwise},
    {"aten.masked_fill_.Scalar", computed_in_place},
    {"aten.masked_fill_.Tensor", computed_in_place},
    {"aten.max.default", reduced_to_one<by::other>},
    {"aten.max.dim", reduced<by::other>},
    {"aten.maximum.default", elementwise},
    {"aten.mean.default", reduced_to_one<by::mean>},
    {"aten.mean.dim", reduced<by::mean>},
    {"aten.min.default", reduced_to_one<by::other>},
    {"aten.min.dim", reduced<by::other>},
    {"aten.minimum.default", elementwise},
    {"aten.mish.default", elementwise},
    {"aten.mish_backward.default", elementwise},
    {"aten.mm.default", multiplied},
    {"aten.mse_loss.default", element_loss<2, false>},
    {"aten.mse_loss_backward.default", element_loss<3, true>},
    {"aten.mul.Scalar", scaled},
    {"aten.mul.Tensor", scaled},
    {"aten.mul_.Scalar", scaled_in_place},
    {"aten.mul_.Tensor", scaled_in_place},
    {"aten.multinomial.default", drawn},
    {"aten.native_batch_norm.default", batch_normalized},
    {"aten.native_batch_norm_backward.default", batch_normalized},
    {"aten.native_dropout.default", drawn},
    {"aten.native_group_norm.default", groups_normalized, spelled::samples_fourth},
    {"aten.native_group_norm_backward.default", group_norm_backward, spelled::samples_sixth},
    {"aten.native_layer_norm.default", normalized<0>},
    {"aten.native_layer_norm_backward.default", normalized<1>},
    {"aten.ne.Scalar", elementwise},
    {"aten.ne.Tensor", elementwise},
    {"aten.neg.default", linear_elementwise},
    {"aten.neg_.default", computed_in_place},
    {"aten.new_empty.default", made_new<false>, spelled::sizes_second},
    {"aten.new_full.default", made_new_full, spelled::sizes_second},
    {"aten.new_ones.default", made_new<false>, spelled::sizes_second},
    {"aten.new_zeros.default", made_new<true>, spelled::sizes_second},
    {"aten.nll_loss_backward.default", loss_backward},
    {"aten.nll_loss_forward.default", loss},
    {"aten.normal_.default", written<drawn>},
    {"aten.numpy_T.default", reversed_dimensions},
    {"aten.ones.default", made<false>, spelled::sizes_first},
    {"aten.ones_like.default", made_like<false>},
    {"aten.permute.default", permuted},
    {"aten.pow.Scalar", elementwise},
    {"aten.pow.Tensor_Scalar", elementwise},
    {"aten.pow.Tensor_Tensor", elementwise},
    {"aten.prod.default", reduced_to_one<by::other>},
    {"aten.prod.dim_int", reduced<by::other>},
    {"aten.rand.default", drawn},
    {"aten.rand_like.default", drawn},
    {"aten.randint.default", drawn},
    {"aten.randint.low", drawn},
    {"aten.randint_like.default", drawn},
    {"aten.randn.default", drawn},
    {"aten.randn_like.default", drawn},
    {"aten.randperm.default", drawn},
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
    {"aten.roll.default", rolled},
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
    {"aten.scatter_reduce.two", combined_at<rules::combine_elements>},
    {"aten.scatter_reduce_.two", written<combined_at<rules::combine_elements>>},
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
    {"aten.slice.Tensor", sliced, spelled::slice_end},
    {"aten.slice_backward.default", part_backward<false>, spelled::sizes_second},
    {"aten.slice_scatter.default", slice_scattered},
    {"aten.smooth_l1_loss.default", element_loss<2, false>},
    {"aten.smooth_l1_loss_backward.default", element_loss<3, true>},
    {"aten.softmax.int", along_one<1, false>},
    {"aten.softplus.default", elementwise},
    {"aten.softplus_backward.default", elementwise},
    {"aten.sort.default", sorted},
    {"aten.sort.stable", sorted_stably},
    {"aten.split.Tensor", split_along, spelled::pieces},
    {"aten.split_with_sizes.default", split_along, spelled::pieces},
    {"aten.sqrt.default", elementwise},
    {"aten.sqrt_.default", computed_in_place},
    {"aten.squeeze.dim", squeezed},
    {"aten.squeeze.dims", squeezed},
    {"aten.stack.default", stacked},
    {"aten.std.correction", variance},
    {"aten.sub.Scalar", difference},
    {"aten.sub.Tensor", difference},
    {"aten.sub_.Tensor", subtracted_in_place},
    {"aten.sum.default", reduced_to_one<by::sum>},
    {"aten.sum.dim_IntList", reduced<by::sum>},
    {"aten.sym_numel.default", size_read},
    {"aten.sym_size.int", extent_read},
    {"aten.t.default", reversed_dimensions},
    {"aten.tanh.default", elementwise},
    {"aten.tanh_.default", computed_in_place},
    {"aten.tanh_backward.default", elementwise},
    {"aten.threshold_backward.default", elementwise},
    {"aten.to.dtype", cast},
    {"aten.topk.default", along_one<2, false>},
    {"aten.transpose.int", transposed},
    {"aten.tril.default", triangle},
    {"aten.triu.default", triangle},
    {"aten.trunc.default", elementwise},
    {"aten.unbind.int", unbound},
    {"aten.uniform_.default", written<drawn>},
    {"aten.unsqueeze.default", unsqueezed},
    {"aten.var.correction", variance},
    {"aten.var_mean.correction", variance},
    {"aten.view.default", reshaped, spelled::sizes_second},
    {"aten.view_as_complex.default", complex_view},
    {"aten.view_as_real.default", complex_view},
    {"aten.where.ScalarOther", elementwise},
    {"aten.where.ScalarSelf", elementwise},
    {"aten.where.self", elementwise},
    {"aten.xlogy.Tensor", elementwise},
    {"aten.zero_.default", computed_in_place},
    {"aten.zeros.default", made<true>, spelled::sizes_first},
    {"aten.zeros_like.default", made_like<true>},
    {"flex_attention", flexible_attention},
    {"flex_attention_backward", flexible_attention},
    {"floordiv", number_computed<counts::divide>},
    {"ge", number_compared},
    {"getitem", component},
    {"mul", number_computed<counts::multiply>},
    {"prims.convert_element_type.default", cast},
    {"prims.device_put.default", copy},
    {"prims.fma.default", elementwise},
    {"sub", number_computed<counts::subtract>},
    {"sym_sum", number_computed<counts::add>},
    {"torchtitan.deterministic_scatter_add.default", rows_scatter_added},
    {"triton_kernel_wrapper_functional", foreign_kernel},
};

inline constexpr std::size_t aten_operator_count = sizeof(aten_operators) / sizeof(aten_operators[0]);

/// Returns whether the names ascend and are all different.
constexpr bool sorted_by_name() {
    for (std::size_t k = 1; k < aten_operator_count; ++k)
        if (!(aten_operators[k - 1].name < aten_operators[k].name)) return false;
    return true;
}
static_assert(sorted_by_name());

/// A hash table of the operators by name, computed at compile time. Whoever plans chunks looks up every operator many
/// times, and a binary search among names with common beginnings took longer than all else that a rule needs.
class operators_by_name {
public:
    constexpr operators_by_name() {
        for (std::size_t k = 0; k < aten_operator_count; ++k) {
            std::size_t at = place_of(aten_operators[k].name);
            while (number_[at] != 0) at = (at + 1) % places;
            number_[at] = static_cast<std::uint16_t>(k + 1);
        }
    }
    [[nodiscard]] constexpr const aten_operator* find(std::string_view name) const {
        for (std::size_t at = place_of(name); number_[at] != 0; at = (at + 1) % places)
            if (const aten_operator& o = aten_operators[number_[at] - 1]; o.name == name) return &o;
        return nullptr;
    }

private:
    static constexpr std::size_t places = 2048;
    static_assert(aten_operator_count < places / 4);  // so that searches are short, and end

    /// Adds up the characters, each with a factor of its place, because such products do not wait for each other.
    static constexpr std::size_t place_of(std::string_view name) {
        std::uint32_t hash = 0, factor = 0;
        for (const char c : name) hash += static_cast<unsigned char>(c) * (factor += 2'654'435'769);
        return (hash ^ hash >> 16) % places;
    }

    std::uint16_t number_[places] = {};  // of an operator, plus 1; 0 where there is none
};
inline constexpr operators_by_name aten_operators_by_name;

/// Returns the operator with that name; null if it is not listed. O(length of the name), expected.
constexpr const aten_operator* find_aten_operator(std::string_view name) { return aten_operators_by_name.find(name); }

}  // namespace stretto::detail::aten

#endif
