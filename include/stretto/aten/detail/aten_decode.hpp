// Decodes calls of PyTorch's operators for aten_dialect: each function reads the arguments of a family of operators and
// returns the rule, which is a kind from transform/chunk_rules with its members. This header has elementwise operators,
// views and joins; aten_decode_rows.hpp and aten_decode_values.hpp have the others, and the table in aten_rules.hpp
// assigns operators to families.
//
// Positions and names of arguments are those of the schemas in PyTorch's native_functions.yaml. An argument that the
// rule needs but the program computes (the index of a select, the end of a slice) is decoded to a value from which the
// rule assumes nothing.
#ifndef STRETTO_ATEN_DETAIL_ATEN_DECODE_HPP
#define STRETTO_ATEN_DETAIL_ATEN_DECODE_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "stretto/aten/detail/aten_arguments.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/transform/chunk_rules/any_rule.hpp"
#include "stretto/transform/chunk_rules/blocks.hpp"
#include "stretto/transform/chunk_rules/elementwise.hpp"
#include "stretto/transform/chunk_rules/joining.hpp"
#include "stretto/transform/chunk_rules/layout.hpp"
#include "stretto/transform/chunk_rules/transfer.hpp"

namespace stretto::detail::aten {

namespace rules = chunk_rules;
/// Returns the rule of an operator that is called with these arguments.
using aten_decoder = rules::any_rule (*)(const aten_arguments&);

/// Returns the rule of a call with a longer list of dimensions than dim_list holds. It is refused, because a truncated
/// list would be wrong.
inline rules::any_rule too_many_dimensions() {
    return rules::refused{.why = "names more dimensions than a rule can hold"};
}

/// Returns whether an argument is the constant zero.
inline bool is_zero(const tensor_argument& a) {
    return (a.what == argument_form::integer && a.integer == 0) ||
           (a.what == argument_form::real && a.real <= 0 && a.real >= 0);
}

/// Returns the step of a range: 1 if it is left out, and 0, which no rule mistakes for 1, if it is no constant integer.
inline std::int64_t step_of(const aten_arguments& a, std::size_t position) {
    return a.integer(position, "step", a.argument(position, "step").what == argument_form::none ? 1 : 0);
}

/// Returns the rule of an operator about which nothing is known.
inline rules::any_rule unknown(const aten_arguments&) { return {}; }

// The next functions decode elementwise operators.

/// `elementwise` is for functions such as exp, where f of a partial sum says nothing about f of the sum;
/// `linear_elementwise` is for those with f(a + b) = f(a) + f(b), such as neg.
inline rules::any_rule elementwise(const aten_arguments&) { return rules::elementwise{}; }
inline rules::any_rule linear_elementwise(const aten_arguments&) { return rules::elementwise{.linear = true}; }
inline rules::any_rule copy(const aten_arguments& a) { return rules::copy{.x = a.operand(0, "self")}; }
/// `transferred` and `reloaded` decode operators that offload activations and load them again (PyTorch's ao):
/// offload(tensor), reload(tensor, device, original_size, original_stride) and wait_tensor(tensor, keepalive,
/// last_use_of_storage).
inline rules::any_rule transferred(const aten_arguments& a) { return rules::transfer{.x = a.operand(0, "tensor")}; }
inline rules::any_rule reloaded(const aten_arguments& a) {
    return rules::transfer{.x = a.operand(0, "tensor"), .sizes = a.sizes(2, "original_size")};
}
/// Decodes operators that convert to another type, `dtype`. Additions promote types, so the sum of parts does the same
/// conversion, unless the call also names a device or a layout.
inline rules::any_rule cast(const aten_arguments& a) {
    bool only_type = a.positional.size() <= 2;
    for (const named_tensor_argument& named : a.named)
        only_type = only_type && (named.name == "dtype" || named.value.what == argument_form::none);
    return rules::cast{.x = a.operand(0, "self"), .added_unconverted = only_type};
}

/// Decodes add(self, other, alpha) and similar operators. `alpha`, if present, multiplies `other`. A `self` or `other`
/// that is no operand is a constant, however it is spelt. The rule must know of it, because every chunk would add a
/// constant summand.
template <rules::arithmetic::op What>
rules::any_rule arithmetic(const aten_arguments& a) {
    rules::arithmetic r{.what = What, .left = a.number(0, "self"), .right = a.number(1, "other")};
    r.scaled = a.argument(2, "alpha").what != argument_form::none;
    for (const tensor_argument* term : {&a.argument(0, "self"), &a.argument(1, "other")})
        r.has_constants =
            r.has_constants || (term->what != argument_form::operand && term->what != argument_form::none);
    return r;
}
inline constexpr aten_decoder sum = arithmetic<rules::arithmetic::op::add>;
inline constexpr aten_decoder difference = arithmetic<rules::arithmetic::op::subtract>;
// rsub is other - self: it is linear in both, but its operands are in the opposite order to those of `difference`.
inline constexpr aten_decoder reversed_difference = arithmetic<rules::arithmetic::op::combine>;
inline constexpr aten_decoder scaled = arithmetic<rules::arithmetic::op::multiply>;
inline constexpr aten_decoder quotient = arithmetic<rules::arithmetic::op::divide>;
inline constexpr aten_decoder floor_quotient = arithmetic<rules::arithmetic::op::floor_divide>;
inline constexpr aten_decoder rest = arithmetic<rules::arithmetic::op::remainder>;

/// Decodes div with a rounding mode. Numbers of rows are not negative, so rounding down and rounding to zero are the
/// same for them.
inline rules::any_rule divided_with_mode(const aten_arguments& a) {
    const std::string_view mode = a.argument(SIZE_MAX, "rounding_mode").text;
    return mode == "floor" || mode == "trunc" ? floor_quotient(a) : quotient(a);
}

/// Decodes an operator that writes its first argument in place with the result that `Decode` describes. If the first
/// argument is not an operand, the operator may write any operand.
template <aten_decoder Decode>
rules::any_rule written(const aten_arguments& a) {
    const std::size_t target = a.operand(0, "self");
    return Decode(a).in_place(target == rules::no_operand ? rules::any_rule::every_operand : target);
}
inline constexpr aten_decoder computed_in_place = written<elementwise>;
inline constexpr aten_decoder added_in_place = written<sum>;
inline constexpr aten_decoder subtracted_in_place = written<difference>;
inline constexpr aten_decoder scaled_in_place = written<scaled>;
inline constexpr aten_decoder divided_in_place = written<quotient>;

/// Decodes copy_(target, source).
inline rules::any_rule copied(const aten_arguments& a) {
    return rules::copy_into{.target = a.operand(0, "self"), .source = a.operand(1, "src")};
}

// The next functions decode views.

/// Decodes view(self, size), reshape(self, shape) and similar operators. Only extents that the program computes are
/// listed; the others are known from the shapes of the values.
inline rules::any_rule reshaped(const aten_arguments& a) {
    const bool sized = a.argument(1, "size").what != argument_form::none;
    return rules::reshape{.x = a.operand(0, "self"), .sizes = a.sizes(1, sized ? "size" : "shape")};
}
inline rules::any_rule expanded(const aten_arguments& a) {
    return rules::expand{.x = a.operand(0, "self"), .sizes = a.sizes(1, "size")};
}
inline rules::any_rule reversed_dimensions(const aten_arguments& a) {
    return rules::reverse_dimensions{.x = a.operand(0, "self")};
}
inline rules::any_rule transposed(const aten_arguments& a) {
    return rules::transpose{
        .x = a.operand(0, "self"), .first = a.integer(1, "dim0", 0), .second = a.integer(2, "dim1", 0)};
}
inline rules::any_rule permuted(const aten_arguments& a) {
    rules::permute r{.x = a.operand(0, "self")};
    return a.dims(1, "dims", r.dims) ? rules::any_rule(r) : too_many_dimensions();
}
inline rules::any_rule unsqueezed(const aten_arguments& a) {
    return rules::unsqueeze{.x = a.operand(0, "self"), .dim = a.integer(1, "dim", 0)};
}
inline rules::any_rule squeezed(const aten_arguments& a) {
    rules::squeeze r{.x = a.operand(0, "self")};
    return a.dims(1, "dim", r.dims) ? rules::any_rule(r) : too_many_dimensions();
}
inline rules::any_rule selected(const aten_arguments& a) {
    return rules::select{.x = a.operand(0, "self"), .dim = a.integer(1, "dim", 0), .index = a.integer(2, "index", -1)};
}
inline rules::any_rule unbound(const aten_arguments& a) {
    return rules::unbind{.x = a.operand(0, "self"), .dim = a.integer(1, "dim", 0)};
}
/// Decodes split, split_with_sizes and chunk(self, sizes, dim). The sizes of the pieces are known from the shapes of
/// the results, unless the program computes them.
inline rules::any_rule split_along(const aten_arguments& a) {
    rules::split r{.x = a.operand(0, "self"), .dim = a.integer(2, "dim", 0), .sizes = a.sizes(1, "split_sizes")};
    if (const std::size_t all = a.operand(1, "split_size"); all != rules::no_operand) r.sizes = {all};
    return r;
}
/// Decodes slice(self, dim, start, end, step).
inline rules::any_rule sliced(const aten_arguments& a) {
    rules::slice r{.x = a.operand(0, "self"), .dim = a.integer(1, "dim", 0)};
    const tensor_argument &start = a.argument(2, "start"), &end = a.argument(3, "end");
    if (start.what != argument_form::none)
        r.first = start.what == argument_form::integer ? start.integer : rules::slice::unknown;
    if (end.what != argument_form::none)
        r.last = end.what == argument_form::integer ? end.integer : rules::slice::unknown;
    r.step = step_of(a, 4);
    return r;
}
inline rules::any_rule flipped(const aten_arguments& a) {
    rules::flip r{.x = a.operand(0, "self")};
    return a.dims(1, "dims", r.dims) ? rules::any_rule(r) : too_many_dimensions();
}
/// Decodes view_as_complex, which folds the last dimension away, and view_as_real, which adds one.
inline rules::any_rule complex_view(const aten_arguments& a) { return rules::regroup_last{.x = a.operand(0, "self")}; }
/// Decodes repeat(self, repeats). A repeat count that the program computes is decoded as 0, which no rule mistakes for
/// 1.
inline rules::any_rule repeated(const aten_arguments& a) {
    rules::repeat r{.x = a.operand(0, "self")};
    const tensor_argument& times = a.argument(1, "repeats");
    if (times.items.size() >= rules::dim_list::capacity) return too_many_dimensions();
    for (const tensor_argument& n : times.items) r.times.push_back(n.what == argument_form::integer ? n.integer : 0);
    return r;
}
/// Decodes cat(tensors, dim).
inline rules::any_rule concatenated(const aten_arguments& a) {
    rules::concat r{.dim = a.integer(1, "dim", 0)};
    const tensor_argument& all = a.argument(0, "tensors");
    if (!all.items.empty()) r.first = a.operand(all.items[0]);
    return r;
}
inline rules::any_rule stacked(const aten_arguments& a) { return rules::stack{.dim = a.integer(1, "dim", 0)}; }
/// Decodes getitem, which selects one member of a tuple.
inline rules::any_rule component(const aten_arguments& a) {
    const tensor_argument& which = a.argument(1, "index");
    return rules::component{.which = which.what == argument_form::integer ? which.integer : -1};
}

}  // namespace stretto::detail::aten

#endif
