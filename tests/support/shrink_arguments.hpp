// The arguments and inputs of a capture on other extents: integers where an operator spells a shape, sizes of groups.
#ifndef SUPPORT_SHRINK_ARGUMENTS_HPP
#define SUPPORT_SHRINK_ARGUMENTS_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_fields.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/detail/argument_text.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/schedule/json_quote.hpp"

namespace stretto {

/// What becomes of an extent; where an operator is named, only in its arguments.
struct extent_change {
    std::int64_t from = 0;
    std::int64_t to = 0;
    std::string_view operation = {};  ///< the beginning of its name
};

}  // namespace stretto

namespace stretto::detail {

/// Positional arguments that spell extents, as bits, by the beginning of the operator's name.
struct shape_argument {
    std::string_view operation;
    unsigned positions;
};
inline constexpr shape_argument shape_arguments[] = {
    {"aten.view.", 2},
    {"aten.reshape.", 2},
    {"aten._unsafe_view.", 2},
    {"aten.expand.", 2},
    {"aten.new_zeros.", 2},
    {"aten.new_ones.", 2},
    {"aten.new_empty.", 2},
    {"aten.new_full.", 2},
    {"aten.zeros.", 1},
    {"aten.ones.", 1},
    {"aten.full.", 1},
    {"aten.empty.", 1},
    {"aten.arange.", 3},
    {"aten.split.", 2},
    {"aten.split_with_sizes.", 2},
    {"aten.slice.", 4 | 8},
    {"aten.narrow.", 4 | 8},
    {"aten.slice_scatter.", 8 | 16},
    {"aten.slice_backward.", 2 | 8 | 16},
    {"aten.histc.", 2 | 8},
    {"aten.embedding_dense_backward.", 4},
    {"aten.repeat_interleave.", 2},
    {"_c10d_functional.all_to_all_single.", 2 | 4},
};

/// Numbers that a program computes with are extents: each of their operators may spell one.
constexpr std::string_view number_operations[] = {"add", "sub", "mul", "floordiv", "truediv", "mod", "sym_sum"};

class shrunken_arguments {
public:
    shrunken_arguments(const capture& step, const capture_tensors& tensors, std::span<const extent_change> extents,
                       std::span<const capture_symbol> symbols, std::span<const std::int64_t> group_sizes)
        : step_(&step), tensors_(&tensors), extents_(extents), group_sizes_(group_sizes), nodes_(step.size()) {
        capture_fields fields(step);
        for (std::uint32_t v = 0; v < step.size() && !failure_; ++v) {
            if (step.kind(v) == op_kind::input) rewrite_input(v, fields.outputs(v), symbols);
            else rewrite_arguments(v);
        }
    }

    [[nodiscard]] const std::optional<diagnostic>& failure() const noexcept { return failure_; }
    [[nodiscard]] std::span<const tensor_argument> positional(std::uint32_t v) const {
        return nodes_[v].changed ? std::span<const tensor_argument>(nodes_[v].positional) : tensors_->arguments(v);
    }
    [[nodiscard]] std::span<const named_tensor_argument> named(std::uint32_t v) const {
        return nodes_[v].changed ? std::span<const named_tensor_argument>(nodes_[v].named)
                                 : tensors_->named_arguments(v);
    }
    [[nodiscard]] std::span<const tensor_type> types(std::uint32_t v) const {
        return nodes_[v].types.empty() ? tensors_->components(v) : std::span<const tensor_type>(nodes_[v].types);
    }
    /// JSON of the arguments that changed, or empty.
    [[nodiscard]] std::string positional_text(std::uint32_t v) const {
        std::string text;
        if (nodes_[v].changed && step_->field(v, "args").value_or("null") != "null")
            append_arguments(text, nodes_[v].positional);
        return text;
    }
    [[nodiscard]] std::string named_text(std::uint32_t v) const {
        std::string text;
        if (!nodes_[v].changed || nodes_[v].named.empty()) return text;
        for (const named_tensor_argument& a : nodes_[v].named) {
            std::string value;
            append_argument(value, a.value);
            append_member(text, a.name, value);
        }
        return "{" + text + "}";
    }

private:
    struct node {
        bool changed = false;
        std::vector<tensor_argument> positional;
        std::vector<named_tensor_argument> named;
        std::vector<tensor_type> types;
    };

    std::int64_t mapped(std::int64_t extent, std::string_view operation) const noexcept {
        for (const bool named_only : {true, false})
            for (const extent_change& c : extents_)
                if (c.from == extent && c.operation.empty() != named_only && operation.starts_with(c.operation))
                    return c.to;
        return extent;
    }
    std::int64_t group_size(group_id g) const noexcept {
        return g < group_sizes_.size() ? group_sizes_[g] : step_->groups()[g].size;
    }

    /// Through casts and aliases: the collective that gathers what node v holds.
    std::optional<std::uint32_t> gathered_by(std::uint32_t v) const {
        std::vector<std::uint32_t> held_by{v};
        for (std::size_t k = 0; k < held_by.size(); ++k)
            for (const std::uint32_t r : step_->readers(held_by[k])) {
                const std::string_view op = step_->op(r);
                if (step_->kind(r) == op_kind::start && op.find("all_gather") != std::string_view::npos) return r;
                for (const std::string_view cast : {"aten._to_copy.", "aten.alias.", "aten.clone.", "prims.convert"})
                    if (op.starts_with(cast)) {
                        held_by.push_back(r);
                        break;
                    }
            }
        return std::nullopt;
    }
    void rewrite_input(std::uint32_t v, const std::vector<capture_tensor>& recorded,
                       std::span<const capture_symbol> symbols) {
        const std::optional<std::uint32_t> gather = gathered_by(v);
        const std::span<const tensor_type> old = tensors_->components(v);
        for (std::size_t k = 0; k < old.size(); ++k) {
            const std::span<std::int64_t> shape = kept_.make(old[k].shape.size());
            for (std::size_t d = 0; d < shape.size(); ++d) {
                const std::int64_t e = old[k].shape[d];
                shape[d] = mapped(e, {});
                if (d < recorded[k].symbolic.size())
                    for (const capture_symbol& s : symbols)
                        if (s.name == recorded[k].symbolic[d]) shape[d] = s.value;
                if (d != 0 || !gather) continue;
                const group_id g = step_->group(*gather);
                const std::int64_t whole = mapped(e * step_->groups()[g].size, {});
                if (whole % group_size(g) != 0)
                    return fail(v,
                                "becomes " + std::to_string(whole) + " rows, which " + std::to_string(group_size(g)) +
                                    " ranks cannot share equally",
                                "choose another new extent for " + std::to_string(e * step_->groups()[g].size));
                shape[d] = whole / group_size(g);
            }
            nodes_[v].types.push_back({shape, old[k].element});
        }
    }

    void rewrite_arguments(std::uint32_t v) {
        const std::string_view op = step_->op(v);
        unsigned positions = 0;
        for (const shape_argument& s : shape_arguments)
            if (op.starts_with(s.operation)) positions = s.positions;
        for (const std::string_view n : number_operations)
            if (op == n) positions = ~0u;
        std::size_t group_at = 99;
        if (step_->kind(v) == op_kind::start && op.find("all_gather_into") != std::string_view::npos) group_at = 1;
        if (step_->kind(v) == op_kind::start && op.find("reduce_scatter") != std::string_view::npos) group_at = 2;
        if (positions == 0 && group_at == 99) return;
        node& n = nodes_[v];
        const std::span<const tensor_argument> old = tensors_->arguments(v);
        n.positional.assign(old.begin(), old.end());
        n.named.assign(tensors_->named_arguments(v).begin(), tensors_->named_arguments(v).end());
        n.changed = true;
        for (std::size_t k = 0; k < n.positional.size(); ++k) {
            if (k < 32 && (positions >> k & 1u)) rewrite(n.positional[k], op);
            if (k == group_at) n.positional[k].integer = group_size(step_->group(v));
        }
        for (named_tensor_argument& a : n.named)
            if (a.name == "output_size" || a.name == "size" || a.name == "split_size") rewrite(a.value, op);
        for (const tensor_argument& a : n.positional) n.changed = n.changed && a.what != tensor_argument::form::other;
        for (const named_tensor_argument& a : n.named)
            n.changed = n.changed && a.value.what != tensor_argument::form::other;
    }
    void rewrite(tensor_argument& a, std::string_view op) {
        if (a.what == tensor_argument::form::integer) a.integer = mapped(a.integer, op);
        if (a.what != tensor_argument::form::list) return;
        const std::span<tensor_argument> items = arguments_.make(a.items.size());
        for (std::size_t k = 0; k < items.size(); ++k) {
            items[k] = a.items[k];
            if (items[k].what == tensor_argument::form::integer) items[k].integer = mapped(items[k].integer, op);
        }
        a.items = items;
    }

    void fail(std::uint32_t v, std::string cause, std::string hint) {
        failure_ = diagnostic{.file = {},
                              .byte = {},
                              .node = v,
                              .node_name = std::string(step_->name(v)),
                              .field = "outputs",
                              .cause = std::move(cause),
                              .hint = std::move(hint)};
    }

    const capture* step_;
    const capture_tensors* tensors_;
    std::span<const extent_change> extents_;
    std::span<const std::int64_t> group_sizes_;
    std::vector<node> nodes_;
    stable_arrays<std::int64_t> kept_;
    stable_arrays<tensor_argument> arguments_;
    std::optional<diagnostic> failure_;
};

}  // namespace stretto::detail

#endif
