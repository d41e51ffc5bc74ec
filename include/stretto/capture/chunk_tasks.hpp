// What a captured step would cost in chunks: the tasks of what chunk_capture would write, without writing it. That
// takes a quarter of the time or less, so many ways to cut a step can be scheduled before one of them is made.
#ifndef STRETTO_CAPTURE_CHUNK_TASKS_HPP
#define STRETTO_CAPTURE_CHUNK_TASKS_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_chunker.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/capture/detail/chunk_costs.hpp"
#include "stretto/capture/detail/chunk_layout.hpp"
#include "stretto/capture/detail/chunk_reasons.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/index_lists.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/transform/apply_chunks.hpp"
#include "stretto/transform/chunk_sizes.hpp"
#include "stretto/transform/plan_chunks.hpp"

namespace stretto {

namespace detail {

/// A program of nodes with one value each.
struct node_program {
    struct node {
        op_kind kind;
        collective_kind collective;
        group_id group;
        node_costs costs;
    };
    std::vector<node> nodes;
    index_lists inputs, aliases, writes;
    index_lists readers;
};

struct node_program_view {
    using vertex_type = std::uint32_t;
    using value_type = std::uint32_t;

    const node_program* p;

    [[nodiscard]] id_range vertices() const noexcept { return id_range(p->nodes.size()); }
    [[nodiscard]] std::span<const vertex_type> successors(vertex_type v) const noexcept { return p->readers[v]; }
    [[nodiscard]] std::span<const vertex_type> predecessors(vertex_type v) const noexcept { return p->inputs[v]; }
    [[nodiscard]] std::size_t index(vertex_type v) const noexcept { return v; }
    [[nodiscard]] std::size_t index_bound() const noexcept { return p->nodes.size(); }
    [[nodiscard]] std::span<const value_type> operands(vertex_type v) const noexcept { return p->inputs[v]; }
    [[nodiscard]] std::array<value_type, 1> results(vertex_type v) const noexcept { return {v}; }
    [[nodiscard]] vertex_type producer(value_type x) const noexcept { return x; }
    [[nodiscard]] std::span<const vertex_type> consumers(value_type x) const noexcept { return p->readers[x]; }
};

/// As capture_op_model says of a capture.
struct node_program_model {
    const node_program* p;

    [[nodiscard]] op_kind kind(std::uint32_t v) const noexcept { return p->nodes[v].kind; }
    [[nodiscard]] nanoseconds duration(std::uint32_t v) const noexcept { return p->nodes[v].costs.duration; }
    [[nodiscard]] collective_kind collective(std::uint32_t v) const noexcept { return p->nodes[v].collective; }
    [[nodiscard]] group_id group(std::uint32_t v) const noexcept { return p->nodes[v].group; }
    [[nodiscard]] bytes payload(std::uint32_t v) const noexcept { return p->nodes[v].costs.payload; }
    [[nodiscard]] std::uint32_t launch_of(std::uint32_t w) const noexcept {
        const std::span<const std::uint32_t> read = p->inputs[w];
        return kind(w) == op_kind::wait && !read.empty() && kind(read[0]) == op_kind::start ? read[0] : w;
    }
    [[nodiscard]] bytes bytes_of(std::uint32_t x) const noexcept { return p->nodes[x].costs.allocation; }
    [[nodiscard]] std::span<const std::uint32_t> aliases(std::uint32_t x) const noexcept { return p->aliases[x]; }
    [[nodiscard]] std::span<const std::uint32_t> effects(std::uint32_t v) const noexcept { return p->writes[v]; }
};

/// The rewriter with which apply_chunks makes it. Must do as capture_chunker does, but for text.
class chunk_task_maker {
public:
    using node_id = std::uint32_t;

    chunk_task_maker(const capture& step, const capture_tensors& tensors)
        : step_(&step), tensors_(&tensors), layout_(step), costs_(step, tensors) {}

    void insert_before(node_id v) { layout_.insert_before(v); }

    std::array<node_id, 1> clone(node_id v, std::span<const node_id> operands, const chunk_part& part) {
        const node_id id = layout_.add_clone(v);
        made_.nodes.push_back({step_->kind(v), step_->collective(v), step_->group(v), costs_.of_clone(v, part)});
        for (node_id x : operands) made_.inputs.push(x);
        for (node_id x : step_->aliases(v)) made_.aliases.push(layout_.of_chunk(v, x, operands, part.chunk));
        for (node_id x : step_->writes(v)) made_.writes.push(layout_.of_chunk(v, x, operands, part.chunk));
        close();
        return {id};
    }
    std::vector<node_id> split(node_id x, std::size_t, std::span<const std::int64_t> sizes) {
        std::vector<node_id> parts;
        for (std::size_t k = 0; k < sizes.size(); ++k) {
            parts.push_back(layout_.add(x));
            made_.nodes.push_back({op_kind::view, collective_kind::other, 0, {}});
            made_.inputs.push(x);
            made_.aliases.push(x);
            close();
        }
        return parts;
    }
    node_id concat(std::span<const node_id> parts, std::size_t) { return whole_again(parts, op_kind::compute); }
    node_id sum(std::span<const node_id> parts) {
        const bool number = tensors_->components(layout_.original(parts[0])).empty();
        node_id total = parts[0];
        for (node_id part : parts.subspan(1)) {
            const std::array<node_id, 2> both = {total, part};
            total = whole_again(both, number ? op_kind::view : op_kind::compute);
        }
        return total;
    }
    node_id empty_like(node_id x, node_id part) {
        const node_id id = layout_.add(x);
        made_.nodes.push_back({op_kind::view, collective_kind::other, 0, costs_.of_whole(x, op_kind::view)});
        made_.inputs.push(part);
        close();
        return id;
    }
    node_id slice_write(node_id whole, node_id part, std::size_t dim, std::span<const std::int64_t> sizes,
                        std::size_t k) {
        const node_id like = layout_.original(whole), slice = layout_.add(whole);
        const auto [from, to] = place_of_slice(tensors_->components(like)[0].shape[dim], sizes, k);
        made_.nodes.push_back({op_kind::view, collective_kind::other, 0, {}});
        made_.inputs.push(whole);
        made_.aliases.push(whole);
        close();
        layout_.add(whole);
        made_.nodes.push_back(
            {op_kind::compute, collective_kind::other, 0, costs_.of_slice_write(like, dim, to - from)});
        made_.inputs.push(slice);
        made_.inputs.push(part);
        made_.aliases.push(slice);
        made_.writes.push(slice);
        close();
        return whole;
    }
    void replace_uses(node_id, node_id from, node_id to) { layout_.replace_uses(from, to); }
    void erase(node_id v) { layout_.erase(v); }

    /// `original` gets, for every node, the node of the step that it is or is made from.
    [[nodiscard]] node_program program(std::vector<node_id>& original) {
        node_program p;
        p.nodes.reserve(layout_.size());
        layout_.for_each([&](node_id id) {
            const bool old = id < step_->size();
            const std::size_t k = id - step_->size();
            if (old)
                p.nodes.push_back({step_->kind(id),
                                   step_->collective(id),
                                   step_->group(id),
                                   {step_->allocation(id), step_->payload(id), step_->duration(id)}});
            else p.nodes.push_back(made_.nodes[k]);
            place(p.inputs, layout_.positions(old ? step_->inputs(id) : made_.inputs[k]));
            place(p.aliases, layout_.storages(id, old ? step_->aliases(id) : made_.aliases[k]));
            place(p.writes, layout_.storages(id, old ? step_->writes(id) : made_.writes[k]));
            original.push_back(layout_.original(id));
            return static_cast<node_id>(p.nodes.size() - 1);
        });
        p.readers = p.inputs.inverse(p.nodes.size());
        return p;
    }

private:
    static void place(index_lists& list, std::span<const node_id> positions) {
        for (node_id x : positions) list.push(x);
        list.close_row();
    }
    void close() {
        made_.inputs.close_row();
        made_.aliases.close_row();
        made_.writes.close_row();
    }
    node_id whole_again(std::span<const node_id> parts, op_kind kind) {
        const node_id like = layout_.original(parts[0]), id = layout_.add(like);
        made_.nodes.push_back({kind, collective_kind::other, 0, costs_.of_whole(like, kind)});
        for (node_id x : parts) made_.inputs.push(x);
        close();
        return id;
    }

    const capture* step_;
    const capture_tensors* tensors_;
    chunk_layout layout_;
    chunk_costs costs_;
    node_program made_;  // readers stay empty
};

}  // namespace detail

/// The tasks of a step in chunks.
struct chunked_tasks {
    task_graph graph;
    std::vector<std::uint32_t> original;  ///< of a task: the node of the step that it is, or is made from
};

/// The task graph of the step that chunk_capture would make of the same arguments, task by task; fails as it does, but
/// that the plan is not verified. Deterministic. Time: that of plan_chunks, apply_chunks and make_task_graph.
[[nodiscard]] inline expected<chunked_tasks, diagnostic> chunk_tasks(
    const capture& step, const capture_tensors& tensors, std::span<const chunk_region<std::uint32_t>> regions,
    std::span<const token_dimension<std::uint32_t>> tokens, chunk_options options = {}) {
    const capture_view view{&step};
    const detail::chunk_reasons reasons(step, tensors, regions, tokens);
    if (auto fault = reasons.of_regions()) return unexpected(*std::move(fault));
    aten_ledger ledger;
    const capture_chunk_model model(view, {&step, &tensors}, ledger);
    const auto plan = plan_chunks(view, capture_op_model{&step}, model, regions, tokens, options);
    if (!plan) return unexpected(reasons.of(plan.error()));
    detail::chunk_task_maker maker(step, tensors);
    apply_chunks(*plan, view, maker);
    std::vector<std::uint32_t> original;
    const detail::node_program program = maker.program(original);
    auto graph = make_task_graph(detail::node_program_view{&program}, detail::node_program_model{&program});
    if (!graph) return unexpected(reasons.of(graph.error()));
    return chunked_tasks{*std::move(graph), std::move(original)};
}

}  // namespace stretto

#endif
