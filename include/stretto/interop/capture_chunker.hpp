// Writes the chunked form of a captured step: the rewriter with which apply_chunks makes a new capture, by the
// conventions of stretto-graph for chunked plans. Needs simdjson.
//
// A clone keeps operator, module path and whatever else its original says; names, arguments, shapes, bytes and costs
// are those of the part. Work is shared out by rows, at least a launch for every clone and never less than writing its
// results takes; a collective costs what the table of the step says for its payload.
//
// Longer than 300 lines: one class, whose verbs all fill in the same kind of node.
#ifndef STRETTO_INTEROP_CAPTURE_CHUNKER_HPP
#define STRETTO_INTEROP_CAPTURE_CHUNKER_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
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
          changed_(step.size(), none),
          whole_(step.size(), none),
          symbols_(step),
          costs_(step) {}

    void insert_before(node_id v) { at_ = v; }

    std::array<node_id, 1> clone(node_id v, std::span<const node_id> operands, const chunk_part& part) {
        made_node& n = make();
        n.like = v;
        n.inputs.assign(operands.begin(), operands.end());
        n.name = std::string(step_->name(v)) + "_chunk" + std::to_string(part.chunk);
        if (step_->find(n.name)) n.name = fresh_name(n.name);
        n.op = step_->op(v);
        n.kind = step_->kind(v);
        const std::span<const node_id> before = step_->inputs(v);
        auto now = [&](node_id x) {
            for (std::size_t k = 0; k < before.size(); ++k)
                if (before[k] == x) return operands[k];
            return stand_in(x, part.chunk);
        };
        for (node_id x : step_->aliases(v)) n.aliases.push_back(now(x));
        for (node_id x : step_->writes(v)) n.writes.push_back(now(x));

        // Shapes, and from them bytes and work.
        std::int64_t size = 0, whole_size = 0;
        const std::span<const tensor_type> types = tensors_->components(v);
        std::vector<std::vector<std::int64_t>> shapes;
        for (std::size_t c = 0; c < types.size(); ++c) {
            shapes.emplace_back(types[c].shape.begin(), types[c].shape.end());
            const chunk_state s = c < part.results.size() ? part.results[c] : chunk_state{};
            if (s.dim >= 0 && s.what != chunk_state::kind::whole && s.what != chunk_state::kind::addend) {
                std::int64_t& extent = shapes.back()[static_cast<std::size_t>(s.dim)];
                extent = detail::share(extent, part);
            }
            std::int64_t count = 1, all = 1;
            for (std::int64_t e : shapes.back()) count *= e;
            for (std::int64_t e : types[c].shape) all *= e;
            size += count * size_of(types[c].element);
            whole_size += all * size_of(types[c].element);
        }
        symbols_.bind_symbols(v, part);
        n.outputs = outputs_of_part(v, shapes, part);
        n.allocation = step_->allocation(v);
        if (size != whole_size) n.allocation.count = detail::share(n.allocation.count, part);
        n.duration = step_->duration(v);
        if (n.kind == op_kind::start) {
            n.collective = step_->collective(v);
            n.group = step_->group(v);
            const bool whole_payload = part.once || part.operands.empty() ||
                                       part.operands[0].what == chunk_state::kind::addend ||
                                       part.operands[0].what == chunk_state::kind::whole;
            n.payload = step_->payload(v);
            if (!whole_payload) {
                n.payload.count = detail::share(n.payload.count, part);
                n.duration = costs_.collective_time(n.group, n.collective, n.payload);
            }
        } else if (n.kind == op_kind::compute && !part.once) {
            n.duration = costs_.time_of_part(v, bytes{size}, part);
        }
        add_fields(n, v, part);
        clones_[v].push_back(n.id);
        return {n.id};
    }

    std::vector<node_id> split(node_id x, std::size_t dim, std::span<const std::int64_t> sizes) {
        const tensor_type type = type_of(x);
        std::int64_t tokens = 0;
        for (std::int64_t size : sizes) tokens += size;
        const std::int64_t unit = type.shape[dim] / tokens;
        std::vector<node_id> parts;
        std::int64_t from = 0;
        for (std::size_t k = 0; k < sizes.size(); ++k) {
            const std::int64_t to = from + sizes[k] * unit;
            made_node& n = make();
            n.like = original(x);
            n.name = fresh_name(name_of(x) + "_part" + std::to_string(k));
            n.op = "aten.slice.Tensor";
            n.kind = op_kind::view;
            n.inputs = {x};
            n.aliases = {x};
            std::vector<std::int64_t> shape(type.shape.begin(), type.shape.end());
            shape[dim] = to - from;
            n.outputs = "[";
            detail::append_tensor(n.outputs, shape, element_name(type.element), {});
            n.outputs += ']';
            n.fields.push_back({"args", keep("[\"%0\"," + std::to_string(dim) + "," + std::to_string(from) + "," +
                                             std::to_string(to) + "]")});
            parts.push_back(n.id);
            from = to;
        }
        return parts;
    }

    node_id concat(std::span<const node_id> parts, std::size_t dim) {
        std::string args = "[[";
        for (std::size_t k = 0; k < parts.size(); ++k) args += (k == 0 ? "\"%" : ",\"%") + std::to_string(k) + "\"";
        args += "]," + std::to_string(dim) + "]";
        return whole_again(parts, "aten.cat.default", std::move(args));
    }

    /// In the order of the parts: ((p0 + p1) + p2) + ...
    node_id sum(std::span<const node_id> parts) {
        node_id total = parts[0];
        for (std::size_t k = 1; k < parts.size(); ++k) {
            const std::array<node_id, 2> both = {total, parts[k]};
            const bool number = tensors_->components(original(parts[0])).empty();
            total = whole_again(both, number ? "add" : "aten.add.Tensor", "[\"%0\",\"%1\"]");
            if (number) made_.back().kind = op_kind::view;
        }
        return total;
    }

    void replace_uses(node_id v, node_id from, node_id to) {
        if (changed_[v] == none) {
            changed_[v] = static_cast<node_id>(changes_.size());
            changes_.push_back({});
        }
        changes_[changed_[v]].push_back({from, to});
        whole_[from] = to;
    }
    void erase(node_id v) { erased_[v] = true; }

    /// The new step: program order as it was, what was made where insert_before said.
    [[nodiscard]] expected<capture, diagnostic> build() const {
        capture_builder builder = capture_builder::like(*step_);
        for (const capture_symbol& s : symbols_.made()) builder.add_symbol(s.name, s.value);
        std::vector<node_id> position(step_->size() + made_.size(), none);
        auto placed = [&](const std::vector<node_id>& nodes, bool may_vanish) {
            std::vector<node_id> at;
            for (node_id x : nodes) {
                const node_id there = position[x < step_->size() && erased_[x] ? whole_[x] : x];
                if ((may_vanish && there == none) || std::find(at.begin(), at.end(), there) != at.end()) continue;
                at.push_back(there);
            }
            return at;
        };
        for (node_id v = 0; v < step_->size(); ++v) {
            for (node_id k = first_[v]; k != none; k = made_[k - step_->size()].next) {
                const made_node& m = made_[k - step_->size()];
                capture_node n;
                n.name = m.name;
                n.op = m.op;
                n.kind = m.kind;
                n.inputs = placed(m.inputs, false);
                n.aliases = placed(m.aliases, true);
                n.writes = placed(m.writes, true);
                n.allocation = m.allocation;
                n.duration = m.duration;
                n.collective = m.collective;
                n.group = m.group;
                n.payload = m.payload;
                n.outputs = m.outputs;
                n.fields = m.fields;
                position[k] = builder.append(n);
            }
            if (erased_[v]) continue;
            capture_node n = node_of(*step_, v);
            if (changed_[v] != none)
                for (const auto& [from, to] : changes_[changed_[v]])
                    for (std::vector<node_id>* list : {&n.inputs, &n.aliases, &n.writes})
                        std::replace(list->begin(), list->end(), from, to);
            n.inputs = placed(n.inputs, false);
            n.aliases = placed(n.aliases, true);
            n.writes = placed(n.writes, true);
            position[v] = builder.append(n);
        }
        return std::move(builder).build();
    }

private:
    static constexpr node_id none = UINT32_MAX;

    struct made_node {
        node_id id = 0;
        node_id next = none;  // made behind it, before the same node
        node_id like = none;  // of the step: what it is a clone of, or what it cuts or recombines
        std::string name;
        std::string_view op;
        op_kind kind = op_kind::compute;
        std::vector<node_id> inputs, aliases, writes;
        bytes allocation, payload;
        nanoseconds duration;
        collective_kind collective = collective_kind::other;
        group_id group = 0;
        std::string outputs;
        std::vector<json_field> fields;
    };

    made_node& make() {
        made_node& n = made_.emplace_back();
        n.id = static_cast<node_id>(step_->size() + made_.size() - 1);
        if (first_[at_] == none) first_[at_] = n.id;
        else made_[last_[at_] - step_->size()].next = n.id;
        last_[at_] = n.id;
        return n;
    }

    [[nodiscard]] static std::string_view element_name(element_type e) noexcept {
        const std::size_t k = static_cast<std::size_t>(e);
        return k < detail::element_names.size() ? detail::element_names[k] : "other";
    }
    /// What chunk k of an operation shares storage with where its original shares it with x.
    [[nodiscard]] node_id stand_in(node_id x, std::uint32_t chunk) const {
        const auto clones = clones_.find(x);
        if (clones == clones_.end()) return x;
        return clones->second[std::min<std::size_t>(chunk, clones->second.size() - 1)];
    }
    [[nodiscard]] node_id original(node_id x) const { return x < step_->size() ? x : made_[x - step_->size()].like; }
    [[nodiscard]] std::string name_of(node_id x) const {
        return x < step_->size() ? std::string(step_->name(x)) : made_[x - step_->size()].name;
    }
    [[nodiscard]] tensor_type type_of(node_id x) const { return tensors_->components(original(x))[0]; }

    [[nodiscard]] std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }

    std::string outputs_of_part(node_id v, const std::vector<std::vector<std::int64_t>>& shapes,
                                const chunk_part& part) {
        const std::span<const tensor_type> types = tensors_->components(v);
        const std::vector<capture_tensor>& recorded = symbols_.recall(v).outputs;
        std::string text = "[";
        for (std::size_t c = 0; c < shapes.size(); ++c) {
            std::vector<std::string> symbolic;
            if (c < recorded.size() && !part.once)
                for (std::size_t d = 0; d < recorded[c].symbolic.size() && d < shapes[c].size(); ++d) {
                    symbolic.push_back(symbols_.in_symbols_of(part.chunk, recorded[c].symbolic[d]));
                    if (symbolic.back().empty()) symbolic.back() = std::to_string(shapes[c][d]);
                }
            if (c != 0) text += ',';
            detail::append_tensor(text, shapes[c], element_name(types[c].element), symbolic);
        }
        return text + "]";
    }

    void add_fields(made_node& n, node_id v, const chunk_part& part) {
        argument_store store;
        chunk_arguments own;
        if (!part.once)
            own = model_.local_arguments(v, part.tokens, {part.first, part.rows}, part.operands, part.results, store);
        for (std::size_t k = 0; k < step_->field_count(v); ++k) {
            const json_field f = step_->field(v, k);
            if (part.once || (f.key != "args" && f.key != "kwargs" && f.key != "binds")) {
                if (f.key != "origin" && f.key != "chunk") n.fields.push_back(f);
                continue;
            }
            std::string text;
            if (f.key == "args") {
                detail::append_arguments(text, own.positional);
            } else if (f.key == "kwargs") {
                detail::append_arguments(text, own.named);
            } else {
                for (const std::string& symbol : symbols_.recall(v).binds) {
                    text += text.empty() ? '[' : ',';
                    detail::append_quoted(text, symbols_.name_in(symbol, part.chunk));
                }
                text += ']';
            }
            n.fields.push_back({f.key, keep(std::move(text))});
        }
        std::string origin;
        detail::append_quoted(origin, step_->name(v));
        n.fields.push_back({"origin", keep(std::move(origin))});
        n.fields.push_back({"chunk", keep(std::to_string(part.once ? 0 : part.chunk))});
    }

    node_id whole_again(std::span<const node_id> parts, std::string_view op, std::string args) {
        const node_id like = original(parts[0]);
        made_node& n = make();
        n.like = like;
        n.name = fresh_name(std::string(step_->name(like)) + "_whole");
        n.op = op;
        n.inputs.assign(parts.begin(), parts.end());
        n.outputs = step_->outputs(like);
        for (const tensor_type& t : tensors_->components(like)) {
            std::int64_t size = size_of(t.element);
            for (std::int64_t e : t.shape) size *= e;
            n.allocation.count += size;
        }
        n.duration = costs_.time_of_copy(n.allocation);
        n.fields.push_back({"args", keep(std::move(args))});
        for (std::string_view key : {"fqn", "direction"})
            if (const auto text = step_->field(like, key)) n.fields.push_back({key, *text});
        return n.id;
    }

    std::string fresh_name(std::string wanted) {
        if (!step_->find(wanted) && taken_.insert(wanted).second) return wanted;
        for (int k = 1;; ++k) {
            std::string other = wanted + "_" + std::to_string(k);
            if (!step_->find(other) && taken_.insert(other).second) return other;
        }
    }

    const capture* step_;
    const capture_tensors* tensors_;
    capture_chunk_model model_;
    node_id at_ = 0;
    std::deque<made_node> made_;  // clone() and the others refer to what they make
    std::vector<char> erased_;
    std::vector<node_id> first_, last_;  // of a node of the step: what was made before it
    std::vector<node_id> changed_;       // of a node of the step: its changes, or none
    std::vector<std::vector<std::pair<node_id, node_id>>> changes_;
    std::vector<node_id> whole_;  // of a node of the step: what its parts were recombined to
    std::map<node_id, std::vector<node_id>> clones_;
    detail::chunk_symbols symbols_;
    detail::chunk_costs costs_;
    std::deque<std::string> texts_;
    std::set<std::string> taken_;
};

}  // namespace stretto

#endif
