// Operators of the interpreter for the negative log-likelihood, forward and backward, computed from its definition on
// doubles.
#ifndef STRETTO_ATEN_DETAIL_INTERPRETER_LOSSES_HPP
#define STRETTO_ATEN_DETAIL_INTERPRETER_LOSSES_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/aten/detail/interpreter_arithmetic.hpp"
#include "stretto/aten/detail/interpreter_call.hpp"
#include "stretto/aten/detail/interpreter_shapes.hpp"
#include "stretto/aten/tensor.hpp"

namespace stretto::aten::detail {

/// The terms that nll_loss(self, target, weight, reduction, ignore_index) and its gradient share.
struct nll_terms {
    std::vector<std::int64_t> target;
    std::vector<double> weight;  ///< by row; 0 for rows that are ignored
    double total = 0;            ///< the sum of the weights
    std::int64_t reduction = 1;  ///< 0 is none, 1 mean, 2 sum
};
/// Reads arguments `first` to `first + 3`: target, weight, reduction and ignore_index. `self` is [rows, classes] or one
/// row. The call fails for a target that is not a class, unless it equals ignore_index.
template <class = void>
nll_terms terms_of(operator_call& c, std::size_t first, const tensor& self) {
    nll_terms t;
    const tensor target = c.input(first, "target");
    const bool weighted = c.has(first + 1, "weight");
    const std::vector<double> by_class =
        weighted ? c.input(first + 1, "weight").values<double>() : std::vector<double>{};
    t.reduction = c.integer(first + 2, "reduction", 1);
    const std::int64_t ignored = c.integer(first + 3, "ignore_index", -100);
    if (self.rank() == 0 || self.rank() > 2 || target.rank() + 1 != self.rank() ||
        (self.rank() == 2 && self.extent(0) != target.extent(0)) || target.category() != element_class::integer ||
        self.category() != element_class::real)
        c.fail("no loss of " + text_of(self) + " against " + text_of(target));
    if (c.failed()) return t;
    const std::int64_t classes = self.shape().back();
    if (weighted && static_cast<std::int64_t>(by_class.size()) != classes)
        c.fail("weights of another number of classes");
    t.target = target.values<std::int64_t>();
    for (const std::int64_t at : t.target) {
        if (at != ignored && (at < 0 || at >= classes)) c.fail("class " + text_of(at) + " of " + text_of(classes));
        if (c.failed()) return t;
        t.weight.push_back(at == ignored ? 0 : weighted ? by_class[static_cast<std::size_t>(at)] : 1);
        t.total += t.weight.back();
    }
    return t;
}
/// nll_loss_forward(self, target, weight, reduction, ignore_index) returns the loss and the sum of the weights; that
/// sum is returned as 0 if the losses are not reduced. A mean divides by the sum of the weights and not by the number
/// of rows, so it is a NaN if every row is ignored.
template <class = void>
void nll_loss(operator_call& c) {
    const tensor self = c.input(0, "self");
    const nll_terms t = terms_of(c, 1, self);
    if (c.failed()) return;
    const auto classes = static_cast<std::size_t>(self.shape().back());
    const std::vector<double> x = self.values<double>();
    std::vector<double> losses;
    double sum = 0;
    for (std::size_t r = 0; r < t.target.size(); ++r) {
        const bool counts = t.weight[r] != 0;
        losses.push_back(counts ? -t.weight[r] * x[r * classes + static_cast<std::size_t>(t.target[r])] : 0);
        sum += losses.back();
    }
    if (t.reduction == 0 && self.rank() == 2) c.give(made_of<double>(self.element(), {self.extent(0)}, losses));
    else c.give(tensor::of(self.element(), {}, {t.reduction == 1 ? sum / t.total : sum}));
    c.give(tensor::of(self.element(), {}, {t.reduction == 0 ? 0 : t.total}));
}
/// nll_loss_backward(grad, self, target, weight, reduction, ignore_index, total_weight) returns the gradient of self.
template <class = void>
void nll_loss_backward(operator_call& c) {
    const tensor grad = c.input(0, "grad_output"), self = c.input(1, "self");
    const nll_terms t = terms_of(c, 2, self);
    const double total = c.input(6, "total_weight").values<double>()[0];
    const bool by_row = t.reduction == 0 && self.rank() == 2;
    if (grad.elements() != (by_row ? static_cast<std::int64_t>(t.target.size()) : 1))
        c.fail(text_of(grad) + " is no gradient of that loss");
    if (c.failed()) return;
    const auto classes = static_cast<std::size_t>(self.shape().back());
    const std::vector<double> g = grad.values<double>();
    std::vector<double> made(static_cast<std::size_t>(self.elements()));
    for (std::size_t r = 0; r < t.target.size(); ++r) {
        if (t.weight[r] == 0) continue;
        const double x = -t.weight[r] * g[by_row ? r : 0];
        made[r * classes + static_cast<std::size_t>(t.target[r])] = t.reduction == 1 ? x / total : x;
    }
    c.give(made_of<double>(self.element(), self.shape(), made));
}

template <class = void>
inline constexpr operator_entry loss_operators[] = {
    {"aten.nll_loss_forward", "default", nll_loss<>},
    {"aten.nll_loss_backward", "default", nll_loss_backward<>},
};

}  // namespace stretto::aten::detail

#endif
