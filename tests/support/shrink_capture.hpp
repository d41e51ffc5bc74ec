// A capture made small enough to be executed in a test: the same nodes on small extents. A table says what becomes of
// the extents that its author chose (hidden 2048 -> 8, sequence 4096 -> 16, ...); inputs and the integers in
// shape arguments are rewritten by it, and the extents of everything else are what executing the program with them
// gives. So the result is a consistent capture, or there is none.
//
// Who executes is the caller's business: this layer knows files, not operators. Needs simdjson.
#ifndef SUPPORT_SHRINK_CAPTURE_HPP
#define SUPPORT_SHRINK_CAPTURE_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_builder.hpp"
#include "stretto/capture/capture_fields.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/tensor_model.hpp"
#include "support/shrink_arguments.hpp"
#include "support/shrink_symbols.hpp"

namespace stretto {

struct shrink_options {
    /// What is not listed stays; entries for an operator come before the others. The table must respect the sums and
    /// products of the program: if 192 = 128 + 64 and 3072 = 16 * 192 there, so it must be for their new values.
    std::vector<extent_change> extents;
    std::vector<capture_symbol> symbols;    ///< new values of symbols of inputs
    std::vector<std::int64_t> group_sizes;  ///< by group; a group that is not listed keeps its size
};

/// What a node made when the program was executed on one rank.
struct executed_node {
    std::vector<std::vector<std::int64_t>> shapes;  ///< of its tensors
    std::optional<std::int64_t> number;             ///< if it makes a number
};

/// Operators, arguments and types of a capture that is being shrunk, for capture_view: arguments and inputs are as the
/// options have them, what the other nodes record is still that of the old extents.
struct shrunken_tensor_model {
    const capture* step;
    const capture_tensors* tensors;
    const detail::shrunken_arguments* rewritten;

    [[nodiscard]] std::string_view name(std::uint32_t v) const noexcept { return step->name(v); }
    [[nodiscard]] std::string_view operation(std::uint32_t v) const noexcept { return step->op(v); }
    [[nodiscard]] std::span<const tensor_argument> arguments(std::uint32_t v) const { return rewritten->positional(v); }
    [[nodiscard]] std::span<const named_tensor_argument> named_arguments(std::uint32_t v) const {
        return rewritten->named(v);
    }
    [[nodiscard]] std::span<const tensor_type> components(std::uint32_t x) const { return rewritten->types(x); }
};
static_assert(tensor_model<shrunken_tensor_model, capture_view>);

/// `execute(capture_view, capture_op_model, shrunken_tensor_model)` runs the program and gives
/// expected<std::vector<executed_node>, diagnostic>, one entry a node. Recorded types must not be checked by it.
///
/// What a collective gathers is cut anew for the new size of its group, through the casts in between. Bytes and
/// payloads follow the new shapes, durations stay. Symbols that nodes bind get the numbers that came out. O(text of the
/// capture) besides executing it.
template <class Execute>
[[nodiscard]] expected<capture, diagnostic> shrink_capture(const capture& step, const capture_tensors& tensors,
                                                           const shrink_options& options, Execute execute) {
    const detail::shrunken_arguments rewritten(step, tensors, options.extents, options.symbols, options.group_sizes);
    if (rewritten.failure()) return unexpected(*rewritten.failure());
    const shrunken_tensor_model model{&step, &tensors, &rewritten};
    expected<std::vector<executed_node>, diagnostic> executed =
        execute(capture_view{&step}, capture_op_model{&step}, model);
    if (!executed) return unexpected(std::move(executed).error());

    capture_fields fields(step);
    detail::shrunken_symbols symbols(step, options.symbols);
    for (std::uint32_t v = 0; v < step.size(); ++v)
        if (const auto& made = (*executed)[v]; made.number)
            if (const auto bound = fields.texts(v, "binds"))
                for (const std::string& symbol : *bound) symbols.set(symbol, *made.number);

    capture_builder made(std::string(step.name()) + ", shrunken");
    made.set_costs(step.costs());
    made.set_fields(std::string(step.fields()));
    for (std::size_t g = 0; g < step.groups().size(); ++g) {
        capture_group group = step.groups()[g];
        if (g < options.group_sizes.size()) {
            group.size = options.group_sizes[g];
            group.ranks.clear();  // which of them are left is not said
        }
        made.add_group(std::move(group));
    }
    for (const capture_symbol& s : symbols.all()) made.add_symbol(s.name, s.value);

    for (std::uint32_t v = 0; v < step.size(); ++v) {
        capture_node node = node_of(step, v);
        const std::vector<std::vector<std::int64_t>>& shapes = (*executed)[v].shapes;
        const std::vector<capture_tensor> recorded = fields.outputs(v);
        std::string outputs = "[";
        std::int64_t size = 0;
        for (std::size_t k = 0; k < recorded.size() && k < shapes.size(); ++k) {
            if (k) outputs += ',';
            symbols.append_type(outputs, recorded[k], shapes[k]);
            size += size_of(element_type_of(recorded[k].dtype), shapes[k]);
        }
        outputs += ']';
        node.outputs = outputs;
        if (node.allocation > bytes{}) node.allocation = bytes{size};
        if (node.kind == op_kind::start && !node.inputs.empty()) {
            const std::uint32_t sent = node.inputs[0];
            const std::span<const tensor_type> types = tensors.components(sent);
            const std::vector<std::vector<std::int64_t>>& made_there = (*executed)[sent].shapes;
            node.payload = {};
            if (!types.empty() && !made_there.empty()) node.payload.count = size_of(types[0].element, made_there[0]);
        }
        const std::string positional = rewritten.positional_text(v), named = rewritten.named_text(v);
        for (json_field& f : node.fields) {
            if (f.key == "args" && !positional.empty()) f.text = positional;
            if (f.key == "kwargs" && !named.empty()) f.text = named;
        }
        made.append(node);
    }
    return std::move(made).build();
}

}  // namespace stretto

#endif
