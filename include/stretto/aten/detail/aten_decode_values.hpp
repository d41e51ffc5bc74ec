// Decodes operators that create tensors, compute with numbers, communicate with other ranks, or are whole blocks such
// as attention. aten_decode.hpp explains how decoders work.
#ifndef STRETTO_ATEN_DETAIL_ATEN_DECODE_VALUES_HPP
#define STRETTO_ATEN_DETAIL_ATEN_DECODE_VALUES_HPP

#include <cstddef>
#include <cstdint>

#include "stretto/aten/detail/aten_arguments.hpp"
#include "stretto/aten/detail/aten_decode.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/transform/chunk_rules/any_rule.hpp"
#include "stretto/transform/chunk_rules/blocks.hpp"
#include "stretto/transform/chunk_rules/exchanges.hpp"
#include "stretto/transform/chunk_rules/factories.hpp"
#include "stretto/transform/chunk_rules/losses.hpp"
#include "stretto/transform/chunk_rules/numbers.hpp"

namespace stretto::detail::aten {

/// Decodes zeros, ones and empty. Argument 0 has the sizes.
template <bool Zero>
rules::any_rule made(const aten_arguments& a) {
    return rules::fill{.zero = Zero, .sizes = a.sizes(0, "size")};
}
/// Decodes full(size, fill_value). Filling with zero is a special case, because zero is the only constant that equals
/// the sum of the values that all chunks fill in.
inline rules::any_rule made_full(const aten_arguments& a) {
    return rules::fill{.zero = is_zero(a.argument(1, "fill_value")), .sizes = a.sizes(0, "size")};
}
/// Decodes new_zeros and similar operators, which make a tensor with the device and type of another one. Argument 1 has
/// the sizes.
template <bool Zero>
rules::any_rule made_new(const aten_arguments& a) {
    return rules::fill_beside{.zero = Zero, .like = a.operand(0, "self"), .sizes = a.sizes(1, "size")};
}
inline rules::any_rule made_new_full(const aten_arguments& a) {
    return rules::fill_beside{
        .zero = is_zero(a.argument(2, "fill_value")), .like = a.operand(0, "self"), .sizes = a.sizes(1, "size")};
}
/// Decodes zeros_like(self) and similar operators.
template <bool Zero>
rules::any_rule made_like(const aten_arguments& a) {
    return rules::fill_like{.zero = Zero, .like = a.operand(0, "self")};
}
/// Decodes arange(number of rows). `End` is the position of that argument. An argument before it is a start, which must
/// be 0; one after it is a step, which must be 1.
template <std::size_t End>
rules::any_rule numbered(const aten_arguments& a) {
    const bool from_0 = End == 0 || a.integer(0, "start", -1) == 0;
    return rules::iota{.end = a.operand(End, "end"), .from_0_by_1 = from_0 && step_of(a, End + 1) == 1};
}
inline rules::any_rule extent_read(const aten_arguments& a) {
    return rules::read_extent{.x = a.operand(0, "self"), .dim = a.integer(1, "dim", 0)};
}
inline rules::any_rule size_read(const aten_arguments& a) { return rules::read_size{.x = a.operand(0, "self")}; }
inline rules::any_rule value_read(const aten_arguments&) { return rules::read_element{}; }
inline rules::any_rule number_held(const aten_arguments&) { return rules::hold_number{}; }
/// Decodes add, sub, mul and floordiv of two numbers, and sym_sum of a list.
template <rules::number_arithmetic::op What>
rules::any_rule number_computed(const aten_arguments& a) {
    rules::number_arithmetic r{.what = What, .terms = {}};
    for (const tensor_argument& p : a.positional) {
        if (p.what != argument_form::list) r.terms.push_back(a.number(p));
        for (const tensor_argument& item : p.items) r.terms.push_back(a.number(item));
    }
    return r;
}
/// Decodes ge(number, bound).
inline rules::any_rule number_compared(const aten_arguments& a) {
    const tensor_argument& bound = a.argument(1, "other");
    return rules::compare_number{.with_zero = bound.what == argument_form::integer && bound.integer == 0};
}
inline rules::any_rule asserted(const aten_arguments&) { return rules::assertion{}; }

// The next functions decode collectives, attention and losses.

/// Decodes all_to_all_single(x, received, sent, group).
inline rules::any_rule exchanged(const aten_arguments& a) {
    return rules::exchange{.x = a.operand(0, "input"),
                           .received = a.numbers(1, "output_split_sizes"),
                           .sent = a.numbers(2, "input_split_sizes"),
                           .group = a.argument(3, "group_name").text};
}
/// Decodes all_reduce and broadcast (`JoinsBlocks` is false), and all_gather_into_tensor and reduce_scatter_tensor
/// (true).
template <bool JoinsBlocks>
rules::any_rule aligned_collective(const aten_arguments& a) {
    return rules::aligned_collective{.x = a.operand(0, "input"), .joins_blocks = JoinsBlocks};
}
/// Decodes attention. Argument `Dropout` is the probability of dropout.
template <std::size_t Dropout>
rules::any_rule attended(const aten_arguments& a) {
    const tensor_argument& p = a.argument(Dropout, "dropout_p");
    const bool drops =
        p.what == argument_form::real ? p.real < 0 || p.real > 0 : p.what != argument_form::none && p.integer != 0;
    return rules::attention{.drops = drops};
}
/// Decodes flex_attention and its backward.
inline rules::any_rule flexible_attention(const aten_arguments&) {
    return rules::refused{.why = "has a block mask whose tables name rows of the whole batch"};
}
/// Decodes operators that draw random numbers. These come from a state that the program does not show, so a second draw
/// differs from the first.
inline rules::any_rule drawn(const aten_arguments&) {
    return rules::refused{.why = "draws random numbers: chunks would draw others, and so does whoever draws again"};
}
inline rules::any_rule foreign_kernel(const aten_arguments&) { return rules::refused{}; }

/// Returns how the losses of rows are reduced. PyTorch's number is 0 for none, 1 for the mean (the default), and 2 for
/// the sum.
inline rules::loss_of reduction_of(const aten_arguments& a, std::size_t position) {
    const std::int64_t how = a.integer(position, "reduction", 1);
    return how == 1 ? rules::loss_of::mean : how == 2 ? rules::loss_of::sum : rules::loss_of::each_row;
}
/// Decodes nll_loss_forward(rows, targets, weight, reduction, ignored), which returns the loss and the divisor of a
/// mean.
inline rules::any_rule loss(const aten_arguments& a) {
    return rules::class_loss{.x = a.operand(0, "self"), .target = a.operand(1, "target"), .how = reduction_of(a, 3)};
}
/// Decodes nll_loss_backward(grad, rows, targets, weight, reduction, ignored, total).
inline rules::any_rule loss_backward(const aten_arguments& a) {
    return rules::class_loss_gradient{.gradient = a.operand(0, "grad_output"),
                                      .x = a.operand(1, "self"),
                                      .target = a.operand(2, "target"),
                                      .total = a.operand(6, "total_weight"),
                                      .how = reduction_of(a, 4)};
}

/// Decodes losses of elements and their gradients. Argument `Position` is the reduction of the losses.
template <std::size_t Position, bool Backward>
rules::any_rule element_loss(const aten_arguments& a) {
    return rules::element_loss{.how = reduction_of(a, Position), .of_gradient = Backward};
}

}  // namespace stretto::detail::aten

#endif
