// Says which ATen operators are sums and which only change the layout, for programs with a tensor_model. With this, the
// reduce-once transform moves a linear collective across a sum.
#ifndef STRETTO_ATEN_ATEN_LINEAR_MODEL_HPP
#define STRETTO_ATEN_ATEN_LINEAR_MODEL_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "stretto/aten/detail/aten_arguments.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/element_type.hpp"
#include "stretto/core/linear_model.hpp"
#include "stretto/core/tensor_model.hpp"

namespace stretto {

/// A linear_model of any graph with a tensor_model whose operators have the names that PyTorch gives them. A sum is
/// `aten.add.Tensor` or `aten.add_.Tensor` of two tensors, without a factor. Relayouts are the views that contain every
/// element exactly once; one that changes no extent, such as `aten.alias.default`, is the same value. Everything else,
/// including every unknown operator, is `other`. Each query takes O(length of names, arguments and shapes).
template <dataflow_graph G, tensor_model<G> T>
class aten_linear_model {
public:
    aten_linear_model(G view, T tensors) : view_(view), tensors_(tensors) {}

    /// Returns how the only result of v relates to its operands; `other` if v has several results.
    [[nodiscard]] linear_kind linearity(vertex_t<G> v) const {
        const std::string_view name = tensors_.operation(v);
        std::vector<value_t<G>> operands;
        for (value_t<G> x : view_.operands(v)) operands.push_back(x);
        std::vector<value_t<G>> results;
        for (value_t<G> x : view_.results(v)) results.push_back(x);
        if (results.size() != 1) return linear_kind::other;
        const auto is_result = [&](value_t<G> x) { return same_type(x, results[0]); };
        if (name == "aten.add.Tensor" || name == "aten.add_.Tensor")
            return operands.size() == 2 && adds_its_operands(v) && is_result(operands[0]) && is_result(operands[1])
                       ? linear_kind::sum
                       : linear_kind::other;
        if (operands.size() != 1 || std::find(std::begin(layouts), std::end(layouts), name) == std::end(layouts))
            return linear_kind::other;
        const std::span<const tensor_type> from = tensors_.components(operands[0]),
                                           to = tensors_.components(results[0]);
        if (from.size() != 1 || to.size() != 1 || from[0].element != to[0].element) return linear_kind::other;
        // aten.t, transpose and permute are left out: they move elements even where the shape stays the same.
        const bool keeps_order =
            name.find("alias") != std::string_view::npos || name.find("view") != std::string_view::npos ||
            name.find("reshape") != std::string_view::npos || name.find("detach") != std::string_view::npos;
        return keeps_order && is_result(operands[0]) ? linear_kind::same : linear_kind::relayout;
    }

    /// Returns whether v and w are the same operator with the same arguments, on operands and with results of the same
    /// types. Real numbers are compared bit by bit. An argument of the form `other`, or a tensor of unknown element
    /// type, makes them differ.
    [[nodiscard]] bool alike(vertex_t<G> v, vertex_t<G> w) const {
        const std::span<const tensor_argument> of_v = tensors_.arguments(v), of_w = tensors_.arguments(w);
        const std::span<const named_tensor_argument> named_v = tensors_.named_arguments(v),
                                                     named_w = tensors_.named_arguments(w);
        return std::string_view(tensors_.operation(v)) == std::string_view(tensors_.operation(w)) &&
               detail::aten::same_arguments(of_v, of_w) && detail::aten::same_arguments(named_v, named_w) &&
               same_types(view_.operands(v), view_.operands(w)) && same_types(view_.results(v), view_.results(w));
    }

private:
    /// The views whose result contains every element of the operand exactly once.
    static constexpr std::string_view layouts[] = {
        "aten.alias.default",        "aten.detach.default", "aten.view.default",    "aten.reshape.default",
        "aten._unsafe_view.default", "aten.t.default",      "aten.transpose.int",   "aten.permute.default",
        "aten.unsqueeze.default",    "aten.squeeze.dim",    "aten.squeeze.default", "aten._reshape_alias.default"};

    /// Returns whether the arguments of v are its two operands and nothing else: no factor and no constant.
    [[nodiscard]] bool adds_its_operands(vertex_t<G> v) const {
        const std::span<const tensor_argument> a = tensors_.arguments(v);
        const std::span<const named_tensor_argument> named = tensors_.named_arguments(v);
        return named.empty() && a.size() == 2 && a[0].what == tensor_argument::form::operand &&
               a[1].what == tensor_argument::form::operand && a[0].integer + a[1].integer == 1;
    }
    [[nodiscard]] bool same_type(value_t<G> x, value_t<G> y) const {
        const std::span<const tensor_type> a = tensors_.components(x), b = tensors_.components(y);
        return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const tensor_type& p, const tensor_type& q) {
            return p.element == q.element && p.element != element_type::other && std::ranges::equal(p.shape, q.shape);
        });
    }
    template <class Values>
    [[nodiscard]] bool same_types(const Values& some, const Values& others) const {
        std::vector<value_t<G>> a, b;
        for (value_t<G> x : some) a.push_back(x);
        for (value_t<G> x : others) b.push_back(x);
        return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                          [this](value_t<G> x, value_t<G> y) { return same_type(x, y); });
    }

    G view_;
    T tensors_;
};

}  // namespace stretto

#endif
