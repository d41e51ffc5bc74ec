// Describes the parts of a chunked step for any number of tokens: symbolic shapes and arguments in place of the
// integers that a plan for one number of tokens has.
//
// The step was captured with a symbol for the number of tokens, and its shapes are multiples of it. A chunk plan is
// made for the recorded value, but the chunked step should be valid for other values as well, or it would have to be
// planned again for every batch. So each extent of a part is written as an expression in the symbol, and added nodes at
// the front compute each number that an argument needs. Where that is impossible, a guard requires that the symbol has
// its recorded value.
#ifndef STRETTO_CAPTURE_DETAIL_OPEN_PARTS_HPP
#define STRETTO_CAPTURE_DETAIL_OPEN_PARTS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/aten/argument_spelling.hpp"
#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_builder.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/detail/argument_text.hpp"
#include "stretto/capture/detail/capture_check.hpp"
#include "stretto/capture/detail/chunk_symbols.hpp"
#include "stretto/capture/detail/open_tokens.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/transform/apply_chunks.hpp"
#include "stretto/transform/chunk_plan.hpp"

namespace stretto::detail {

/// The symbolic extents of the parts of one plan. If a part has some of the rows of an extent that does not depend on
/// the symbol, the extent of the part is right only for the recorded value. It then stays a number, and a guard checks
/// that the symbol has this value.
class open_parts {
public:
    using node_id = std::uint32_t;
    using maker = open_tokens::maker;

    /// Reads the sizes of all regions. Fails if the step does not have the symbol, if no input before the chunks has an
    /// extent that is a multiple of it, or if the rows per chunk of a region do not add up to its value. Step and
    /// tensors must outlive the result.
    [[nodiscard]] static expected<open_parts, diagnostic> of(const capture& step, const capture_tensors& tensors,
                                                             std::string_view symbol,
                                                             const chunk_plan<node_id, node_id>& plan) {
        const auto known = std::find_if(step.symbols().begin(), step.symbols().end(),
                                        [&](const capture_symbol& s) { return s.name == symbol; });
        const std::string name(symbol);
        if (known == step.symbols().end())
            return unexpected(fault_of_step("symbols", "there is no symbol " + name, "they are listed in symbols"));
        const auto source = open_tokens::source_of(step, tensors, symbol);
        if (!source)
            return unexpected(fault_of_step("symbols", "no input has an extent that is a multiple of " + name,
                                            "extents of parts can follow symbols that inputs have"));
        open_parts made(step, tensors, open_tokens(name, known->value, *source));
        // Clones stand at the places of their originals, and may read numbers that are computed from the input.
        if (!plan.operations.empty() && made.first_reader() > plan.operations.front().vertex)
            return unexpected(
                fault_of_node(step, source->input, "outputs",
                              "is the first input with an extent that is a multiple of " + name + ", and comes after " +
                                  printable(step.name(plan.operations.front().vertex)) + ", which runs in chunks",
                              "extents of parts can follow symbols that inputs before them have"));
        for (const auto& region : plan.regions) {
            made.regions_.emplace_back(region.sizes);
            if (region.sizes.size() > 1 && made.regions_.back().tokens() != known->value)
                return unexpected(fault_of_step(("region " + std::to_string(made.regions_.size() - 1)).c_str(),
                                                "has chunks of " + std::to_string(made.regions_.back().tokens()) +
                                                    " rows in all, and " + name + " is " + std::to_string(known->value),
                                                "rows per chunk must add up to the symbol for extents to follow it"));
        }
        return made;
    }

    /// Returns the node before which all numbers must exist: the first that is not an input and comes after the input
    /// from which they are computed.
    [[nodiscard]] node_id first_reader() const {
        node_id v = tokens_.input() + 1;
        while (v + 1 < step_->size() && step_->kind(v) == op_kind::input) ++v;
        return v;
    }
    /// Returns the wanted name of a node that computes a number, such as "u0_floordiv" or "u0_sym_size".
    [[nodiscard]] std::string name_of(std::string_view op) const {
        if (op.starts_with("aten.")) op.remove_prefix(5);
        return tokens_.symbol() + (op[0] == '_' ? "" : "_") + std::string(op.substr(0, op.find('.')));
    }

    /// Adds guards that every chunk of every region has rows.
    void require_rows(const maker& make) {
        for (const open_sizes& sizes : regions_)
            if (sizes.chunks() > 1) tokens_.require_rows(sizes, make);
    }

    /// Returns an extent of a part of node v, for its shape. `recorded` and `extent` are those of the whole; `recorded`
    /// is empty if the extent is a number. `cut` is the state of the part if it has only some of these rows, and null
    /// otherwise.
    [[nodiscard]] std::string extent(node_id v, const chunk_part& part, std::string_view recorded, std::int64_t extent,
                                     const chunk_state* cut, const chunk_symbols& symbols, const maker& make) {
        // An extent that is not cut is that of the whole. One that the part measures itself, such as the rows received
        // in an exchange, is its own symbol. What remains is a share of the tokens.
        if (cut == nullptr || part.chunks == 1)
            return recorded.empty() ? std::to_string(extent) : symbols.with_symbols_of(part, recorded);
        if (const std::string own = symbols.in_symbols_of(part, recorded); extent_expression::has_symbols(own))
            return own;
        // A sliced value has the same number of rows for every token, even if the program measures them. In a value
        // whose rows are in another order, this holds only for an extent that is written in tokens.
        const auto times =
            cut->what == chunk_state::kind::sliced ? rows_per_token(recorded, extent) : tokens_.multiple(recorded);
        if (times) return regions_[part.region].text(tokens_.symbol(), part.chunk, *times);
        tokens_.require_value(step_->name(v), make);
        return std::to_string(part.share(extent));
    }
    /// An extent of node v of the step, and the sizes of the parts into which it is cut.
    struct cut_extent {
        node_id v;
        std::string_view recorded;
        std::int64_t extent;
        std::span<const std::int64_t> sizes;
    };
    /// Returns the extent of part k, for its shape.
    [[nodiscard]] std::string extent_of_slice(const cut_extent& cut, std::size_t k) const {
        const open_sizes parts(cut.sizes);
        const auto times = rows_per_token(cut.recorded, cut.extent);
        if (times) return parts.text(tokens_.symbol(), k, *times);
        return std::to_string(cut.extent / parts.tokens() * cut.sizes[k]);
    }
    /// Returns where part k begins, which is where part k - 1 ends. k may be the number of parts.
    [[nodiscard]] open_tokens::number begin_of_slice(const cut_extent& cut, std::size_t k, const maker& make) {
        const open_sizes parts(cut.sizes);
        if (const auto times = rows_per_token(cut.recorded, cut.extent))
            return tokens_.product(tokens_.rows_before(parts, k, make), *times, make);
        tokens_.require_value(step_->name(cut.v), make);
        std::int64_t first = 0;
        for (std::size_t j = 0; j < k; ++j) first += cut.sizes[j];
        return {cut.extent / parts.tokens() * first, {}};
    }
    /// Returns a whole extent of node v of the step as a number.
    [[nodiscard]] open_tokens::number whole(node_id v, std::string_view recorded, std::int64_t extent,
                                            const maker& make) {
        if (const auto times = rows_per_token(recorded, extent))
            return tokens_.product(tokens_.tokens(make), *times, make);
        if (extent_expression::has_symbols(recorded)) tokens_.require_value(step_->name(v), make);
        return {extent, {}};
    }

    /// Replaces those arguments of a clone of v that state extents of its part. They then refer to nodes that compute
    /// these extents. `written` lists these arguments.
    void name_extents(node_id v, const chunk_part& part, std::span<const written_extent> written, capture_node& clone,
                      const maker& make) {
        for (const written_extent& w : written) {
            const std::size_t dim = static_cast<std::size_t>(w.dim);
            const bool cut = w.dim < 0 || w.dim == part.results[0].dim;
            const std::string_view text = w.dim < 0 ? std::string_view() : tensors_->symbolic_extent(v, 0, dim);
            const auto times =
                text.empty() ? std::nullopt : rows_per_token(text, tensors_->components(v)[0].shape[dim]);
            if (!times) {
                if (cut || extent_expression::has_symbols(text)) tokens_.require_value(step_->name(v), make);
                continue;
            }
            const bool all = !cut || part.chunks == 1;
            const open_tokens::number n = tokens_.product(
                all ? tokens_.tokens(make) : tokens_.rows(regions_[part.region], part.chunk, make), *times, make);
            if (n.node) *w.argument = operand(clone, *n.node);
        }
    }
    /// Returns the argument, such as "%1", that refers to node x, which becomes an input of the reader if it was not
    /// yet.
    [[nodiscard]] static tensor_argument operand(capture_node& reader, node_id x) {
        const auto at = std::find(reader.inputs.begin(), reader.inputs.end(), x);
        tensor_argument a;
        a.what = tensor_argument::form::operand;
        a.integer = at - reader.inputs.begin();
        if (at == reader.inputs.end()) reader.inputs.push_back(x);
        return a;
    }

    /// Returns the text of a number as an argument of a node.
    [[nodiscard]] static std::string spelt(capture_node& reader, const open_tokens::number& n) {
        std::string text;
        if (n.node) append_argument(text, operand(reader, *n.node));
        return n.node ? text : std::to_string(n.value);
    }

private:
    open_parts(const capture& step, const capture_tensors& tensors, open_tokens tokens)
        : step_(&step), tensors_(&tensors), tokens_(std::move(tokens)) {}

    /// Returns how many rows of a sliced value belong to each token, if that is the same for all. Counts that the
    /// program measures are not expressed in tokens, but a value that has the same number of rows for every token has
    /// it for any number of tokens.
    [[nodiscard]] std::optional<std::int64_t> rows_per_token(std::string_view recorded, std::int64_t extent) const {
        const auto times = tokens_.multiple(recorded);
        if (times || !extent_expression::has_symbols(recorded) ||
            extent_expression::mentions(recorded, tokens_.symbol()))
            return times;
        const std::int64_t tokens = tokens_.value();
        return tokens != 0 && extent % tokens == 0 ? std::optional(extent / tokens) : std::nullopt;
    }

    const capture* step_;
    const capture_tensors* tensors_;
    open_tokens tokens_;
    std::vector<open_sizes> regions_;
};

}  // namespace stretto::detail

#endif
