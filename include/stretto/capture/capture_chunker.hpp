// Writes the chunked form of a captured step: the rewriter with which apply_chunks makes a new capture, by the
// conventions of stretto-graph for chunked plans. Needs simdjson.
//
// A clone keeps the operator, the module path and all uninterpreted fields of its original; names, arguments, shapes,
// bytes and costs are those of the part. Work is distributed by rows, but every clone costs at least a launch and the
// time to write its results, up to the cost of the whole; a collective costs what the table of the step says for its
// payload.
//
// Longer than 300 lines: it contains all verbs and the helpers with which they write nodes.
#ifndef STRETTO_CAPTURE_CAPTURE_CHUNKER_HPP
#define STRETTO_CAPTURE_CAPTURE_CHUNKER_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_builder.hpp"
#include "stretto/capture/capture_chunks.hpp"
#include "stretto/capture/capture_part_costs.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/capture/detail/argument_text.hpp"
#include "stretto/capture/detail/chunk_symbols.hpp"
#include "stretto/capture/detail/open_parts.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/core/chunk_model.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/schedule/json_quote.hpp"
#include "stretto/transform/apply_chunks.hpp"
#include "stretto/transform/chunk_sizes.hpp"
#include "stretto/tune/clone_layout.hpp"
#include "stretto/tune/part_costs.hpp"
#include "stretto/tune/step_table.hpp"

namespace stretto {

/// A chunking_rewriter of a captured step, with slice writes. Values are nodes: those of the step have its numbers, and
/// new ones follow. Step, tensors and whatever the chunk model refers to must outlive it. Preconditions: the plan was
/// made for this step, and build() is called once, after the last verb.
class capture_chunker {
public:
    using node_id = std::uint32_t;

    /// `chunks` is the model with which the plan was made; it knows the operators.
    capture_chunker(const capture& step, const capture_tensors& tensors, const capture_chunk_model& chunks)
        : step_(&step),
          tensors_(&tensors),
          model_(chunks),
          numbers_(numbered_step<capture_view>::read(capture_view{&step}, capture_op_model{&step})),
          layout_(numbers_->table()),
          symbols_(step),
          costs_(part_costs_of(step, tensors)) {}
    capture_chunker(const capture_chunker&) = delete;
    capture_chunker& operator=(const capture_chunker&) = delete;

    /// Makes the extents of parts follow a symbol of the step, which counts the tokens of all regions of the plan:
    /// shapes contain expressions, and arguments contain numbers that new nodes compute from an input. Assumptions
    /// about the symbol become guards. Call this before any verb. Fails if no input has such an extent, or if the rows
    /// of a region do not add up to the symbol's value.
    [[nodiscard]] std::optional<diagnostic> keep_symbol(std::string_view symbol,
                                                        const chunk_plan<node_id, node_id>& plan) {
        auto parts = detail::open_parts::of(*step_, *tensors_, symbol, plan);
        if (!parts) return std::move(parts).error();
        open_ = *std::move(parts);
        layout_.keep_ready_for(open_->first_reader());
        open_->require_rows(number_maker());
        return std::nullopt;
    }

    void insert_before(node_id v) { layout_.insert_before(v); }

    std::array<node_id, 1> clone(node_id v, std::span<const node_id> operands, const chunk_part& part) {
        std::string name = std::string(step_->name(v)) + "_chunk" + std::to_string(part.chunk);
        if (step_->find(name)) name = fresh_name(name);
        const node_id id = layout_.add_clone(v);
        capture_node& n = make(std::move(name), step_->op(v), step_->kind(v));
        n.inputs.assign(operands.begin(), operands.end());
        for (node_id x : step_->aliases(v)) n.aliases.push_back(layout_.of_chunk(v, x, operands, part.chunk));
        for (node_id x : step_->writes(v)) n.writes.push_back(layout_.of_chunk(v, x, operands, part.chunk));
        if (n.kind == op_kind::start) {
            n.collective = step_->collective(v);
            n.group = step_->group(v);
        }
        const clone_cost cost = costs_.of_clone(v, part, std::span<bytes>(&n.allocation, 1));
        n.duration = cost.duration;
        n.payload = cost.payload;
        symbols_.bind_symbols(v, part);
        n.outputs = keep(outputs_of_part(v, part));
        add_fields(n, v, part);
        return {id};
    }

    std::vector<node_id> split(node_id x, std::size_t dim, std::span<const std::int64_t> sizes) {
        const std::string name = std::string(step_->name(layout_.original_value(x))) + "_part";
        std::vector<node_id> parts;
        for (std::size_t k = 0; k < sizes.size(); ++k) parts.push_back(slice(x, name, dim, sizes, k));
        return parts;
    }

    node_id concat(std::span<const node_id> parts, std::size_t dim) {
        std::string args = "[[";
        for (std::size_t k = 0; k < parts.size(); ++k) args += (k == 0 ? "\"%" : ",\"%") + std::to_string(k) + "\"";
        args += "]," + std::to_string(dim) + "]";
        const join_cost cost = costs_.of_concat(layout_.original_value(parts[0]));
        return whole_again(parts, "aten.cat.default", cost, std::move(args));
    }

    /// Adds the parts in their order: ((p0 + p1) + p2) + ...
    node_id sum(std::span<const node_id> parts) {
        const join_cost cost = costs_.of_sum(layout_.original_value(parts[0]));
        node_id total = parts[0];
        for (node_id part : parts.subspan(1)) {
            const std::array<node_id, 2> both = {total, part};
            const bool number = cost.kind == op_kind::view;
            total = whole_again(both, number ? "add" : "aten.add.Tensor", cost, "[\"%0\",\"%1\"]");
        }
        return total;
    }

    /// Makes memory for a value like x. The node is a view, since it launches no kernel, but it shares no storage and
    /// allocates. It reads `part`, so that no order allocates the memory before there is anything to write.
    node_id empty_like(node_id x, node_id part) {
        const node_id id = layout_.add_like(x);
        capture_node& n =
            make(fresh_name(std::string(step_->name(x)) + "_whole"), "aten.new_empty.default", op_kind::view);
        n.inputs = {part};
        n.outputs = step_->outputs(x);
        n.allocation = costs_.of_empty(x);
        std::string sizes;
        for (std::size_t d = 0; d < tensors_->components(x)[0].shape.size(); ++d)
            sizes += (d == 0 ? "" : ",") + whole_extent(n, x, d);
        n.fields.push_back({"args", keep("[\"%0\",[" + sizes + "]]")});
        keep_module(n, x);
        return id;
    }

    /// Makes a view of slice k of `whole` and a copy of `part` into it. Returns `whole`, which readers read once all
    /// slices are written.
    node_id slice_write(node_id whole, node_id part, std::size_t dim, std::span<const std::int64_t> sizes,
                        std::size_t k) {
        const node_id like = layout_.original_value(whole);
        const std::string name = std::string(step_->name(like)) + "_slice";
        const node_id slice_there = slice(whole, name, dim, sizes, k);
        const std::string_view made = made_[slice_there - step_->size()].outputs;
        layout_.add_like(whole);
        capture_node& copy =
            make(fresh_name(name + std::to_string(k) + "_write"), "aten.copy_.default", op_kind::compute);
        copy.inputs = {slice_there, part};
        copy.aliases = copy.writes = {slice_there};
        copy.outputs = made;
        copy.duration = costs_.of_slice_write(like, dim, sizes, k);
        copy.fields.push_back({"args", R"(["%0","%1"])"});
        keep_module(copy, like);
        return whole;
    }

    void replace_uses(node_id, node_id from, node_id to) { layout_.replace_uses(from, to); }
    void erase(node_id v) { layout_.erase(v); }

    /// Returns the new step: the old program order, with the new nodes where insert_before placed them. The error is a
    /// fault that capture_builder finds.
    [[nodiscard]] expected<capture, diagnostic> build() {
        capture_builder builder = capture_builder::like(*step_);
        for (const capture_symbol& s : symbols_.made()) builder.add_symbol(s.name, s.value);
        for (node_id id : layout_.close()) {
            capture_node n = id < step_->size() ? node_of(*step_, id) : made_[id - step_->size()];
            const auto keep_there = [](std::vector<node_id>& list, std::span<const node_id> there) {
                list.assign(there.begin(), there.end());
            };
            keep_there(n.inputs, layout_.positions(n.inputs));
            keep_there(n.aliases, layout_.storages(id, n.aliases));
            keep_there(n.writes, layout_.storages(id, n.writes));
            builder.append(n);
        }
        return std::move(builder).build();
    }

private:
    /// Returns a callable that makes nodes that compute numbers. They stand before all nodes that may read them.
    [[nodiscard]] detail::open_tokens::maker number_maker() {
        return [this](std::string_view op, std::span<const node_id> inputs, std::string args) {
            const node_id id = layout_.add_ready(inputs[0]);
            capture_node& n = make(fresh_name(open_->name_of(op)), op, op_kind::view);
            n.inputs.assign(inputs.begin(), inputs.end());
            n.fields.push_back({"args", keep(std::move(args))});
            return id;
        };
    }
    [[nodiscard]] std::string_view recorded_extent(node_id v, std::size_t dim) const {
        return tensors_->symbolic_extent(v, 0, dim);
    }
    /// Returns the text of an extent of node x of the step as an argument of n. If a node computes the extent, n
    /// becomes a reader of that node.
    std::string whole_extent(capture_node& n, node_id x, std::size_t dim) {
        const std::int64_t extent = tensors_->components(x)[0].shape[dim];
        if (!open_) return std::to_string(extent);
        return detail::open_parts::spelt(n, open_->whole(x, recorded_extent(x, dim), extent, number_maker()));
    }
    /// Makes a view of part k of x.
    node_id slice(node_id x, const std::string& name, std::size_t dim, std::span<const std::int64_t> sizes,
                  std::size_t k) {
        const node_id like = layout_.original_value(x), id = layout_.add_like(x);
        const tensor_type type = tensors_->components(like)[0];
        const auto [from, to] = place_of_slice(type.shape[dim], sizes, k);
        capture_node& n = make(fresh_name(name + std::to_string(k)), "aten.slice.Tensor", op_kind::view);
        n.inputs = n.aliases = {x};
        std::vector<std::int64_t> shape(type.shape.begin(), type.shape.end());
        shape[dim] = to - from;
        std::string bounds = std::to_string(from) + "," + std::to_string(to);
        std::vector<std::string> symbolic;
        if (open_) {
            const detail::open_parts::cut_extent cut{like, recorded_extent(like, dim), type.shape[dim], sizes};
            const auto begin = open_->begin_of_slice(cut, k, number_maker());
            const auto end = open_->begin_of_slice(cut, k + 1, number_maker());
            bounds = detail::open_parts::spelt(n, begin);
            bounds += "," + detail::open_parts::spelt(n, end);
            for (std::size_t d = 0; d < shape.size(); ++d)
                symbolic.push_back(d == dim ? open_->extent_of_slice(cut, k) : std::string(recorded_extent(like, d)));
            for (std::size_t d = 0; d < shape.size(); ++d)
                if (symbolic[d].empty()) symbolic[d] = std::to_string(shape[d]);
        }
        std::string outputs = "[";
        detail::append_tensor(outputs, shape, tensors_->element_name(like, 0), symbolic);
        n.outputs = keep(outputs + "]");
        n.fields.push_back({"args", keep("[\"%0\"," + std::to_string(dim) + "," + bounds + "]")});
        return id;
    }
    /// Begins the description of the node that the layout has added last, and returns it. The reference stays valid.
    capture_node& make(std::string name, std::string_view op, op_kind kind) {
        capture_node& n = made_.emplace_back();
        n.name = keep(std::move(name));
        n.op = op;
        n.kind = kind;
        return n;
    }
    /// Keeps a text to which nodes refer.
    [[nodiscard]] std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }

    /// Returns the results of a clone of v as JSON: the shapes of the part, and symbolic extents in the symbols of its
    /// chunk.
    std::string outputs_of_part(node_id v, const chunk_part& part) {
        const std::span<const tensor_type> types = tensors_->components(v);
        std::string text = "[";
        for (std::size_t c = 0; c < types.size(); ++c) {
            std::vector<std::int64_t> shape(types[c].shape.begin(), types[c].shape.end());
            const chunk_state& s = part.results[c];
            const std::size_t cut = s.dim >= 0 && has_rows(s) ? static_cast<std::size_t>(s.dim) : SIZE_MAX;
            if (cut != SIZE_MAX) shape[cut] = part.share(shape[cut]);
            std::vector<std::string> symbolic;
            for (std::size_t d = 0; d < shape.size() && (open_ || tensors_->is_symbolic(v, c)); ++d) {
                const std::string_view extent = tensors_->symbolic_extent(v, c, d);
                symbolic.push_back(open_ ? open_->extent(v, part, extent, types[c].shape[d], d == cut ? &s : nullptr,
                                                         symbols_, number_maker())
                                         : symbols_.in_symbols_of(part, extent));
                if (symbolic.back().empty()) symbolic.back() = std::to_string(shape[d]);
            }
            if (c != 0) text += ',';
            detail::append_tensor(text, shape, tensors_->element_name(v, c), symbolic);
        }
        return text + "]";
    }

    /// Gives a clone of v its arguments and the symbols that it binds, then all other fields of v unchanged, and
    /// finally `origin` and `chunk`.
    void add_fields(capture_node& n, node_id v, const chunk_part& part) {
        argument_store store;
        const bool spelt = step_->field(v, "args") || step_->field(v, "kwargs");
        const chunk_arguments own =
            spelt ? model_.local_arguments(v, part.tokens, part.rows, part.operands, part.results, store)
                  : chunk_arguments{};
        if (open_) open_->name_extents(v, part, store.extents(), n, number_maker());
        for (std::size_t k = 0; k < step_->field_count(v); ++k) {
            const json_field f = step_->field(v, k);
            std::string text;
            if (f.key == "args") {
                detail::append_arguments(text, own.positional);
            } else if (f.key == "kwargs") {
                detail::append_arguments(text, own.named);
            } else if (f.key == "binds" && part.chunks > 1) {
                for (const std::string& symbol : symbols_.bound_by(v)) {
                    text += text.empty() ? '[' : ',';
                    detail::append_quoted(text, symbols_.name_in(symbol, part.chunk));
                }
                text += ']';
            } else {
                if (f.key != "origin" && f.key != "chunk") n.fields.push_back(f);
                continue;
            }
            n.fields.push_back({f.key, keep(std::move(text))});
        }
        std::string origin;
        detail::append_quoted(origin, step_->name(v));
        n.fields.push_back({"origin", keep(std::move(origin))});
        n.fields.push_back({"chunk", keep(std::to_string(part.chunk))});
    }

    /// Makes a node that reads `parts` and has the results of their original.
    node_id whole_again(std::span<const node_id> parts, std::string_view op, const join_cost& cost, std::string args) {
        const node_id like = layout_.original_value(parts[0]), id = layout_.add_like(like);
        capture_node& n = make(fresh_name(std::string(step_->name(like)) + "_whole"), op, cost.kind);
        n.inputs.assign(parts.begin(), parts.end());
        n.outputs = step_->outputs(like);
        n.allocation = cost.allocation;
        n.duration = cost.duration;
        n.fields.push_back({"args", keep(std::move(args))});
        keep_module(n, like);
        return id;
    }
    /// Assigns the node to the module of `like`.
    void keep_module(capture_node& n, node_id like) const {
        for (std::string_view key : {"fqn", "direction"})
            if (const auto text = step_->field(like, key)) n.fields.push_back({key, *text});
    }

    /// Returns the wanted name, with a number appended if a node of the step or an earlier call has it.
    std::string fresh_name(const std::string& wanted) {
        std::string name = wanted;
        for (int k = 1; step_->find(name) || !taken_.insert(name).second; ++k) name = wanted + "_" + std::to_string(k);
        return name;
    }

    const capture* step_;
    const capture_tensors* tensors_;
    capture_chunk_model model_;
    expected<numbered_step<capture_view>, task_graph_error> numbers_;  // always has a value: captures are well formed
    clone_layout layout_;
    std::deque<capture_node> made_;  // a deque, because make() returns references
    detail::chunk_symbols symbols_;
    capture_part_costs costs_;
    std::optional<detail::open_parts> open_;
    std::deque<std::string> texts_;
    std::set<std::string> taken_;
};

}  // namespace stretto

#endif
