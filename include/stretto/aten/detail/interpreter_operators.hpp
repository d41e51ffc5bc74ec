// The search for an operator of the interpreter by name, in the tables of all families.
//
// A full name consists of namespace, base and overload: "aten.add.Tensor". A family is a table of entries, each with
// one base and all overloads that its function handles; to add an operator, add a line. The tables are searched one
// after the other, which costs little compared with running an operator on tensors.
#ifndef STRETTO_ATEN_DETAIL_INTERPRETER_OPERATORS_HPP
#define STRETTO_ATEN_DETAIL_INTERPRETER_OPERATORS_HPP

#include <span>
#include <string_view>

#include "stretto/aten/detail/interpreter_activations.hpp"
#include "stretto/aten/detail/interpreter_arithmetic.hpp"
#include "stretto/aten/detail/interpreter_attention.hpp"
#include "stretto/aten/detail/interpreter_call.hpp"
#include "stretto/aten/detail/interpreter_combining.hpp"
#include "stretto/aten/detail/interpreter_comparisons.hpp"
#include "stretto/aten/detail/interpreter_complex.hpp"
#include "stretto/aten/detail/interpreter_convolutions.hpp"
#include "stretto/aten/detail/interpreter_creation.hpp"
#include "stretto/aten/detail/interpreter_element_losses.hpp"
#include "stretto/aten/detail/interpreter_group_norms.hpp"
#include "stretto/aten/detail/interpreter_indexing.hpp"
#include "stretto/aten/detail/interpreter_joining.hpp"
#include "stretto/aten/detail/interpreter_losses.hpp"
#include "stretto/aten/detail/interpreter_moments.hpp"
#include "stretto/aten/detail/interpreter_norms.hpp"
#include "stretto/aten/detail/interpreter_numbers.hpp"
#include "stretto/aten/detail/interpreter_parts.hpp"
#include "stretto/aten/detail/interpreter_products.hpp"
#include "stretto/aten/detail/interpreter_reductions.hpp"
#include "stretto/aten/detail/interpreter_rounding.hpp"
#include "stretto/aten/detail/interpreter_scatter.hpp"
#include "stretto/aten/detail/interpreter_shifts.hpp"
#include "stretto/aten/detail/interpreter_sorting.hpp"
#include "stretto/aten/detail/interpreter_unary.hpp"
#include "stretto/aten/detail/interpreter_views.hpp"

namespace stretto::aten::detail {

/// The result of a search for an operator.
struct operator_match {
    const operator_entry* entry = nullptr;
    bool in_place = false;  ///< the name ends in '_': the result is written into the first operand
};

/// Returns whether a word occurs in a list of words that are separated by blanks.
template <class = void>
bool has_word(std::string_view words, std::string_view word) {
    while (!words.empty()) {
        const std::size_t end = words.find(' ') < words.size() ? words.find(' ') : words.size();
        if (words.substr(0, end) == word) return true;
        words.remove_prefix(end < words.size() ? end + 1 : end);
    }
    return false;
}

/// Returns the operator with this full name ("aten.add_.Tensor"), or nothing. Only exact names match. O(operators).
template <class = void>
operator_match find_operator(std::string_view operation) {
    // Python's own functions on numbers carry the name of their module in some programs.
    for (const std::string_view prefix : {"_operator.", "operator."})
        if (operation.starts_with(prefix)) operation.remove_prefix(prefix.size());
    const std::size_t dot = operation.rfind('.');
    const bool bare = dot == std::string_view::npos;
    std::string_view base = bare ? operation : operation.substr(0, dot);
    const std::string_view overload = bare ? std::string_view() : operation.substr(dot + 1);
    // By the convention of ATen, "add_" writes its first operand. One function serves both: the caller writes the
    // result back, and only where the table says that the operator has such a form.
    const bool in_place = !bare && base.ends_with('_');
    if (in_place) base.remove_suffix(1);
    constexpr std::span<const operator_entry> families[] = {
        number_operators<>,       view_operators<>,        complex_operators<>,    arithmetic_operators<>,
        comparison_operators<>,   unary_operators<>,       creation_operators<>,   reduction_operators<>,
        sorting_operators<>,      product_operators<>,     indexing_operators<>,   scatter_operators<>,
        joining_operators<>,      attention_operators<>,   loss_operators<>,       part_operators<>,
        activation_operators<>,   rounding_operators<>,    norm_operators<>,       combining_operators<>,
        element_loss_operators<>, convolution_operators<>, group_norm_operators<>, shift_operators<>,
        moment_operators<>};
    for (const std::span<const operator_entry> family : families)
        for (const operator_entry& e : family) {
            if (e.base != base || (bare ? !e.overloads.empty() : !has_word(e.overloads, overload))) continue;
            if (in_place && e.special != operator_entry::trait::has_in_place_form) continue;
            return {&e, in_place};
        }
    return {};
}

}  // namespace stretto::aten::detail

#endif
