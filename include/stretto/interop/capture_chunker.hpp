// Writes the chunked form of a captured step: the rewriter with which apply_chunks makes a new capture, by the
// conventions of stretto-graph for chunked plans. Needs simdjson.
//
// A clone keeps operator, module path and whatever else its original says; names, arguments, shapes, bytes and costs
// are those of the part. Work is shared out by rows, at least a launch for every clone and never less than writing its
// results takes; a collective costs what the table of the step says for its payload.
#ifndef STRETTO_INTEROP_CAPTURE_CHUNKER_HPP
#define STRETTO_INTEROP_CAPTURE_CHUNKER_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/interop/capture.hpp"
#include "stretto/interop/capture_builder.hpp"
#include "stretto/interop/capture_tensors.hpp"
#include "stretto/interop/capture_view.hpp"
#include "stretto/interop/detail/argument_text.hpp"
#include "stretto/interop/detail/chunk_costs.hpp"
#include "stretto/interop/detail/chunk_symbols.hpp"
#include "stretto/interop/detail/json_quote.hpp"
#include "stretto/transform/apply_chunks.hpp"
#include "stretto/transform/aten_chunk_model.hpp"

namespace stretto {

/// How the operators of a capture pass chunks on.
using capture_chunk_model = aten_chunk_model<capture_view, capture_tensor_model>;

/// Values are nodes: those of the step have its numbers, new ones follow.
class capture_chunker {
public:
    using node_id = std::uint32_t;

    /// `chunks`: the model that the plan was made with; it knows the operators.
    capture_chunker(const capture& step, const capture_tensors& tensors, const capture_chunk_model& chunks)
        : step_(&step),
          tensors_(&tensors),
          model_(chunks),
          erased_(step.size(), false),
          first_(step.size(), none),
          last_(step.size(), none),
          whole_(step.size(), none),
          symbols_(step),
          costs_(step) {}

    void insert_before(node_id v) { at_ = v; }

    std::array<node_id, 1> clone(node_id v, std::span<const node_id> operands, const chunk_part& part) {
        std::string name = std::string(step_->name(v)) + "_chunk" + std::to_string(part.chunk);
        if (step_->find(name)) name = fresh_name(name);
        made_node& made = make(v, std::move(name), step_->op(v), step_->kind(v));
        capture_node& n = made.node;
        n.inputs.assign(operands.begin(), operands.end());
        const std::span<const node_id> before = step_->inputs(v);
        const auto now = [&](node_id x) {
            const auto at = std::find(before.begin(), before.end(), x);
            return at != before.end() ? operands[static_cast<std::size_t>(at - before.begin())]
                                      : stand_in(x, part.chunk);
        };
        for (node_id x : step_->aliases(v)) n.aliases.push_back(now(x));
        for (node_id x : step_->writes(v)) n.writes.push_back(now(x));

        symbols_.bind_symbols(v, part);
        std::int64_t size = 0;
        n.outputs = keep(outputs_of_part(v, part, size));
        n.allocation = step_->allocation(v);
        if (size != size_of_results(v)) n.allocation.count = part.share(n.allocation.count);
        n.duration = step_->duration(v);
        if (n.kind == op_kind::start) {
            n.collective = step_->collective(v);
            n.group = step_->group(v);
            n.payload = step_->payload(v);
            if (!part.operands.empty() && detail::has_rows(part.operands[0])) {
                n.payload.count = part.share(n.payload.count);
                n.duration = costs_.collective_time(n.group, n.collective, n.payload);
            }
        } else if (n.kind == op_kind::compute) {
            n.duration = costs_.time_of_part(v, bytes{size}, part);
        }
        add_fields(n, v, part);
        clones_[v].push_back(made.id);
        return {made.id};
    }

    std::vector<node_id> split(node_id x, std::size_t dim, std::span<const std::int64_t> sizes) {
        const tensor_type type = tensors_->components(original(x))[0];
        const std::int64_t tokens = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
        const std::int64_t unit = type.shape[dim] / tokens;
        std::vector<node_id> parts;
        std::int64_t from = 0;
        for (std::size_t k = 0; k < sizes.size(); ++k) {
            const std::int64_t to = from + sizes[k] * unit;
            made_node& made =
                make(original(x), fresh_name(std::string(step_->name(original(x))) + "_part" + std::to_string(k)),
                     "aten.slice.Tensor", op_kind::view);
            made.node.inputs = {x};
            made.node.aliases = {x};
            std::vector<std::int64_t> shape(type.shape.begin(), type.shape.end());
            shape[dim] = to - from;
            std::string outputs = "[";
            detail::append_tensor(outputs, shape, name_of(type.element), {});
            made.node.outputs = keep(outputs + "]");
            made.node.fields.push_back({"args", keep("[\"%0\"," + std::to_string(dim) + "," + std::to_string(from) +
                                                     "," + std::to_string(to) + "]")});
            parts.push_back(made.id);
            from = to;
        }
        return parts;
    }

    node_id concat(std::span<const node_id> parts, std::size_t dim) {
        std::string args = "[[";
        for (std::size_t k = 0; k < parts.size(); ++k) args += (k == 0 ? "\"%" : ",\"%") + std::to_string(k) + "\"";
        args += "]," + std::to_string(dim) + "]";
        return whole_again(parts, "aten.cat.default", op_kind::compute, std::move(args));
    }

    /// In the order of the parts: ((p0 + p1) + p2) + ...
    node_id sum(std::span<const node_id> parts) {
        const bool number = tensors_->components(original(parts[0])).empty();
        node_id total = parts[0];
        for (node_id part : parts.subspan(1)) {
            const std::array<node_id, 2> both = {total, part};
            total = whole_again(both, number ? "add" : "aten.add.Tensor", number ? op_kind::view : op_kind::compute,
                                "[\"%0\",\"%1\"]");
        }
        return total;
    }

    /// Whoever reads an erased node reads its stand-in: apply_chunks replaces all uses outside of the region.
    void replace_uses(node_id, node_id from, node_id to) { whole_[from] = to; }
    void erase(node_id v) { erased_[v] = true; }

    /// The new step: program order as it was, what was made where insert_before said.
    [[nodiscard]] expected<capture, diagnostic> build() const {
        capture_builder builder = capture_builder::like(*step_);
        for (const capture_symbol& s : symbols_.made()) builder.add_symbol(s.name, s.value);
        std::vector<node_id> position(step_->size() + made_.size(), none);
        const auto place = [&](capture_node n) {
            for (std::vector<node_id>* list : {&n.inputs, &n.aliases, &n.writes}) {
                std::vector<node_id> there;
                for (node_id x : *list) {
                    const node_id now = x < step_->size() && erased_[x] ? whole_[x] : x;
                    if (now == none) continue;  // shared storage with what is gone, and reads it no more
                    if (std::find(there.begin(), there.end(), position[now]) == there.end())
                        there.push_back(position[now]);
                }
                *list = std::move(there);
            }
            return builder.append(n);
        };
        for (node_id v = 0; v < step_->size(); ++v) {
            for (node_id k = first_[v]; k != none; k = made_[k - step_->size()].next)
                position[k] = place(made_[k - step_->size()].node);
            if (!erased_[v]) position[v] = place(node_of(*step_, v));
        }
        return std::move(builder).build();
    }

private:
    static constexpr node_id none = UINT32_MAX;

    struct made_node {
        node_id id;
        node_id like;  // of the step: what it is a clone of, or what it cuts or recombines
        capture_node node;
        node_id next = none;  // made behind it, before the same node
    };

    made_node& make(node_id like, std::string name, std::string_view op, op_kind kind) {
        made_node& n = made_.emplace_back(made_node{static_cast<node_id>(step_->size() + made_.size()), like, {}});
        n.node.name = keep(std::move(name));
        n.node.op = op;
        n.node.kind = kind;
        if (first_[at_] == none) first_[at_] = n.id;
        else made_[last_[at_] - step_->size()].next = n.id;
        last_[at_] = n.id;
        return n;
    }

    /// What chunk k of an operation shares storage with where its original shares it with x.
    [[nodiscard]] node_id stand_in(node_id x, std::uint32_t chunk) const {
        const auto clones = clones_.find(x);
        if (clones == clones_.end()) return x;
        return clones->second[std::min<std::size_t>(chunk, clones->second.size() - 1)];
    }
    [[nodiscard]] node_id original(node_id x) const { return x < step_->size() ? x : made_[x - step_->size()].like; }
    [[nodiscard]] std::int64_t size_of_results(node_id v) const {
        std::int64_t size = 0;
        for (const tensor_type& t : tensors_->components(v)) size += size_of(t);
        return size;
    }
    /// Nodes refer to their texts.
    [[nodiscard]] std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }

    /// Shapes as text; adds their bytes to `size`.
    std::string outputs_of_part(node_id v, const chunk_part& part, std::int64_t& size) {
        const std::span<const tensor_type> types = tensors_->components(v);
        const std::vector<capture_tensor>& recorded = symbols_.recall(v).outputs;
        std::string text = "[";
        for (std::size_t c = 0; c < types.size(); ++c) {
            std::vector<std::int64_t> shape(types[c].shape.begin(), types[c].shape.end());
            const chunk_state& s = part.results[c];
            if (s.dim >= 0 && detail::has_rows(s)) {
                std::int64_t& extent = shape[static_cast<std::size_t>(s.dim)];
                extent = part.share(extent);
            }
            size += size_of(types[c].element, shape);
            std::vector<std::string> symbolic;
            if (c < recorded.size() && recorded[c].symbolic.size() == shape.size())
                for (std::size_t d = 0; d < shape.size(); ++d) {
                    symbolic.push_back(symbols_.in_symbols_of(part.chunk, recorded[c].symbolic[d]));
                    if (symbolic.back().empty()) symbolic.back() = std::to_string(shape[d]);
                }
            if (c != 0) text += ',';
            detail::append_tensor(text, shape, name_of(types[c].element), symbolic);
        }
        return text + "]";
    }

    void add_fields(capture_node& n, node_id v, const chunk_part& part) {
        argument_store store;
        const bool spelt = step_->field(v, "args") || step_->field(v, "kwargs");
        const chunk_arguments own =
            spelt ? model_.local_arguments(v, part.tokens, part.rows, part.operands, part.results, store)
                  : chunk_arguments{};
        for (std::size_t k = 0; k < step_->field_count(v); ++k) {
            const json_field f = step_->field(v, k);
            std::string text;
            if (f.key == "args") {
                detail::append_arguments(text, own.positional);
            } else if (f.key == "kwargs") {
                detail::append_arguments(text, own.named);
            } else if (f.key == "binds" && part.chunks > 1) {
                for (const std::string& symbol : symbols_.recall(v).binds) {
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

    node_id whole_again(std::span<const node_id> parts, std::string_view op, op_kind kind, std::string args) {
        const node_id like = original(parts[0]);
        made_node& made = make(like, fresh_name(std::string(step_->name(like)) + "_whole"), op, kind);
        capture_node& n = made.node;
        n.inputs.assign(parts.begin(), parts.end());
        n.outputs = step_->outputs(like);
        n.allocation.count = size_of_results(like);
        if (kind == op_kind::compute) n.duration = costs_.time_of_copy(n.allocation);
        n.fields.push_back({"args", keep(std::move(args))});
        for (std::string_view key : {"fqn", "direction"})
            if (const auto text = step_->field(like, key)) n.fields.push_back({key, *text});
        return made.id;
    }

    std::string fresh_name(const std::string& wanted) {
        std::string name = wanted;
        for (int k = 1; step_->find(name) || !taken_.insert(name).second; ++k) name = wanted + "_" + std::to_string(k);
        return name;
    }

    const capture* step_;
    const capture_tensors* tensors_;
    capture_chunk_model model_;
    node_id at_ = 0;
    std::deque<made_node> made_;  // clone() and the others refer to what they make
    std::vector<char> erased_;
    std::vector<node_id> first_, last_;  // of a node of the step: what was made before it
    std::vector<node_id> whole_;         // of a node of the step: what its parts were recombined to
    std::map<node_id, std::vector<node_id>> clones_;
    detail::chunk_symbols symbols_;
    detail::chunk_costs costs_;
    std::deque<std::string> texts_;
    std::set<std::string> taken_;
};

}  // namespace stretto

#endif
