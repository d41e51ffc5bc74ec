// The ATen dialect of chunk rules: it derives the kind of rule of an operation from the name of its operator and its
// arguments. Programs in other operators need a dialect like this one, but nothing else from this directory; see
// docs/adapt-your-ir.md.
#ifndef STRETTO_ATEN_ATEN_DIALECT_HPP
#define STRETTO_ATEN_ATEN_DIALECT_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "stretto/aten/detail/aten_arguments.hpp"
#include "stretto/aten/detail/operators_by_name.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/transform/chunk_rules/any_rule.hpp"

namespace stretto {

/// A chunk_dialect of graphs with a tensor_model whose operators have the names of PyTorch's ATen and prims operators.
/// It uses only the names of operators, their arguments and recorded types; nothing depends on names of modules, nodes
/// or symbols. An operator whose name ends in an underscore writes its first argument in place, even if the operator is
/// unknown: facts about a buffer must not survive an operator that may have changed it. For the same reason an unknown
/// operator writes its argument `out`, if it has one, and may write any operand if that argument is a list or if its
/// overload is `out`. Any other unknown operator has no rule, and is refused with its name.
template <dataflow_graph G, tensor_model<G> T>
class aten_dialect {
public:
    explicit aten_dialect(T tensors) : tensors_(tensors) {}

    /// Returns the full name of the operator, such as "aten.add.Tensor".
    [[nodiscard]] std::string_view name(vertex_t<G> v) const { return tensors_.operation(v); }
    /// Returns the tensors of which x consists: none for a number.
    [[nodiscard]] std::span<const tensor_type> components(value_t<G> x) const { return tensors_.components(x); }

    /// Returns the rule of v. O(length of its name + arguments of v), expected.
    [[nodiscard]] chunk_rules::any_rule rule(vertex_t<G> v) const {
        const std::string_view called = name(v);
        const detail::aten::aten_operator* known = detail::aten::find_aten_operator(called);
        const detail::aten::aten_arguments given = arguments(v);
        if (known != nullptr) return known->decode(given);
        const std::size_t dot = called.rfind('.');
        if (dot != std::string_view::npos && dot > 0 && called[dot - 1] == '_')
            return detail::aten::written<detail::aten::unknown>(given);
        const tensor_argument& out = given.argument(SIZE_MAX, "out");
        if (out.what == tensor_argument::form::operand)
            return chunk_rules::any_rule().in_place(static_cast<std::size_t>(out.integer));
        if (out.what != tensor_argument::form::none || called.ends_with(".out"))
            return chunk_rules::any_rule().in_place(chunk_rules::any_rule::every_operand);
        return {};
    }

    /// Returns the arguments of v as the program spells them.
    [[nodiscard]] detail::aten::aten_arguments arguments(vertex_t<G> v) const {
        return {tensors_.arguments(v), tensors_.named_arguments(v)};
    }

private:
    T tensors_;
};

}  // namespace stretto

#endif
