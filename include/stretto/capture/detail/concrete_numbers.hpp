// Evaluates the numbers of a captured program that are known before it runs, for concretise_capture: sizes of tensors,
// numbers that are computed from them, and the guards that check them.
//
// A program traced with symbolic extents contains such nodes in order to run for several sizes. Once its symbols have
// values, most of these nodes can be evaluated in advance and removed. A number stays unknown if it depends on anything
// that is known only at run time, such as a count of tokens, or if computing it would overflow; then its node stays.
#ifndef STRETTO_CAPTURE_DETAIL_CONCRETE_NUMBERS_HPP
#define STRETTO_CAPTURE_DETAIL_CONCRETE_NUMBERS_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/transform/extent_expression.hpp"

namespace stretto::detail {

/// A number that is known.
struct concrete_number {
    std::int64_t value = 0;
    bool truth = false;  // the result of a comparison: 0 or 1
};

/// The known extents and numbers of every node. Fill it in program order: for each node first the extents, then
/// compute().
class concrete_numbers {
public:
    /// The extents of a tensor; an extent that is not known is nothing.
    using extents = std::vector<std::optional<std::int64_t>>;

    concrete_numbers(const capture& step, const capture_tensors& tensors)
        : step_(step), tensors_(tensors), numbers_(step.size()), extents_(step.size()) {}

    /// Records what is known of node v: the extents of its only tensor, or its number.
    void set_extents(std::uint32_t v, extents of_only_tensor) { extents_[v] = std::move(of_only_tensor); }
    void set(std::uint32_t v, std::int64_t value) { numbers_[v] = {value, false}; }
    [[nodiscard]] const std::optional<concrete_number>& operator[](std::uint32_t v) const { return numbers_[v]; }

    /// Returns whether v only computes numbers for sizes and guards.
    [[nodiscard]] bool is_plumbing(std::uint32_t v) const {
        const std::string_view op = step_.op(v);
        return is_size(op) || op == "sym_sum" || op == "sym_ite" || op == "sym_not" || op == "sym_min" ||
               op == "sym_max" || !arithmetic(op).empty() || is_comparison(op) || is_guard(v);
    }
    /// Returns whether v only checks numbers, and makes nothing.
    [[nodiscard]] bool is_guard(std::uint32_t v) const {
        return step_.op(v).starts_with("aten._assert_scalar.") || step_.op(v).starts_with("aten.sym_constrain_range");
    }
    /// Returns whether guard v holds; nothing if that is not known.
    [[nodiscard]] std::optional<bool> holds(std::uint32_t v) const {
        const std::span<const tensor_argument> args = tensors_.arguments(v);
        const std::optional<concrete_number> n = args.empty() ? std::nullopt : number(v, args[0]);
        if (!n) return std::nullopt;
        if (step_.op(v).starts_with("aten._assert_scalar.")) return n->value != 0;
        bool within = true;
        for (const named_tensor_argument& a : tensors_.named_arguments(v)) {
            if (a.value.what == tensor_argument::form::none) continue;
            const std::optional<concrete_number> bound = number(v, a.value);
            if (!bound) return std::nullopt;
            if (a.name == "min") within = within && n->value >= bound->value;
            if (a.name == "max") within = within && n->value <= bound->value;
        }
        return within;
    }

    /// Computes the number that v makes, if v makes one and everything that it reads is known.
    void compute(std::uint32_t v) {
        if (is_guard(v) || !is_plumbing(v)) return;
        const std::span<const tensor_argument> args = tensors_.arguments(v);
        const std::string_view op = step_.op(v);
        if (is_size(op)) {
            numbers_[v] = size(v, args);
        } else if (op == "sym_ite" && args.size() == 3) {
            if (const auto condition = number(v, args[0])) numbers_[v] = number(v, args[condition->value != 0 ? 1 : 2]);
        } else if (op == "sym_not" && args.size() == 1) {
            if (const auto n = number(v, args[0])) numbers_[v] = concrete_number{n->value == 0, true};
        } else if (op == "sym_sum" && args.size() == 1 && args[0].what == tensor_argument::form::list) {
            numbers_[v] = fold(v, "+", args[0].items);
        } else if (is_comparison(op) && args.size() == 2) {
            const auto a = number(v, args[0]), b = number(v, args[1]);
            if (a && b) numbers_[v] = concrete_number{compare(op, a->value, b->value), true};
        } else if (op == "sym_min" || op == "sym_max") {
            numbers_[v] = fold(v, op.substr(4), args);
        } else if (args.size() == 2) {
            numbers_[v] = fold(v, arithmetic(op), args);
        }
    }

private:
    using maybe = std::optional<concrete_number>;

    static bool is_size(std::string_view op) { return op == "aten.sym_size.int" || op == "aten.sym_numel.default"; }
    static bool is_comparison(std::string_view op) {
        return op == "eq" || op == "ne" || op == "ge" || op == "gt" || op == "le" || op == "lt" || op == "and_" ||
               op == "or_";
    }
    static std::int64_t compare(std::string_view op, std::int64_t a, std::int64_t b) {
        return op == "eq"     ? a == b
               : op == "ne"   ? a != b
               : op == "ge"   ? a >= b
               : op == "gt"   ? a > b
               : op == "le"   ? a <= b
               : op == "lt"   ? a < b
               : op == "and_" ? a != 0 && b != 0
                              : a != 0 || b != 0;
    }
    /// Returns the operator in the notation of extent expressions; empty if it is no arithmetic.
    static std::string_view arithmetic(std::string_view op) {
        return op == "add"        ? "+"
               : op == "sub"      ? "-"
               : op == "mul"      ? "*"
               : op == "floordiv" ? "//"
               : op == "truediv"  ? "/"
               : op == "mod"      ? "%"
                                  : "";
    }
    /// Returns the value of an argument of v, if it is known.
    [[nodiscard]] maybe number(std::uint32_t v, const tensor_argument& a) const {
        using form = tensor_argument::form;
        if (a.what == form::integer) return concrete_number{a.integer, false};
        if (a.what == form::truth) return concrete_number{a.integer, true};
        if (a.what == form::operand) return numbers_[step_.inputs(v)[static_cast<std::size_t>(a.integer)]];
        return std::nullopt;
    }
    /// Returns the arguments of v combined from left to right; nothing if one is unknown, or if the operation cannot be
    /// carried out in whole numbers.
    [[nodiscard]] maybe fold(std::uint32_t v, std::string_view operation, std::span<const tensor_argument> args) const {
        maybe n;
        for (const tensor_argument& a : args) {
            const maybe next = number(v, a);
            if (!next) return std::nullopt;
            const std::optional<std::int64_t> value =
                n ? whole_number_of(operation, n->value, next->value) : std::optional(next->value);
            if (!value) return std::nullopt;
            n = concrete_number{*value, false};
        }
        return n;
    }
    /// Returns an extent of the operand of v, or, if there is no second argument, its number of elements. A negative
    /// dimension counts from the end, as in the framework.
    [[nodiscard]] maybe size(std::uint32_t v, std::span<const tensor_argument> args) const {
        if (args.empty() || args[0].what != tensor_argument::form::operand) return std::nullopt;
        const std::uint32_t of = step_.inputs(v)[static_cast<std::size_t>(args[0].integer)];
        if (tensors_.components(of).size() != 1) return std::nullopt;
        const extents& all = extents_[of];
        if (args.size() == 2) {
            const maybe dim = number(v, args[1]);
            const std::int64_t rank = static_cast<std::int64_t>(all.size());
            const std::int64_t d = !dim ? rank : dim->value < 0 ? dim->value + rank : dim->value;
            if (d < 0 || d >= rank || !all[static_cast<std::size_t>(d)]) return std::nullopt;
            return concrete_number{*all[static_cast<std::size_t>(d)], false};
        }
        std::optional<std::int64_t> elements = 1;
        for (const std::optional<std::int64_t>& e : all)
            elements = e && elements ? whole_number_of("*", *elements, *e) : std::nullopt;
        if (!elements) return std::nullopt;
        return concrete_number{*elements, false};
    }

    const capture& step_;
    const capture_tensors& tensors_;
    std::vector<maybe> numbers_;
    std::vector<extents> extents_;
};

}  // namespace stretto::detail

#endif
