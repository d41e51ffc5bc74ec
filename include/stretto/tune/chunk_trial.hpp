// The rewriter that tries a chunk_plan: it makes tasks where other rewriters make operations of an IR.
#ifndef STRETTO_TUNE_CHUNK_TRIAL_HPP
#define STRETTO_TUNE_CHUNK_TRIAL_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/index_lists.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/part_cost_model.hpp"
#include "stretto/core/unique_rows.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/transform/apply_chunks.hpp"
#include "stretto/transform/chunk_plan.hpp"
#include "stretto/tune/clone_layout.hpp"
#include "stretto/tune/step_table.hpp"
#include "stretto/views/snapshot.hpp"

namespace stretto {

/// The purpose of a task of a chunked program.
enum class task_role : std::uint8_t {
    original,  ///< an operation that no region cuts
    clone,     ///< runs an operation on one chunk, or once for all chunks
    split,     ///< a view of one chunk of a value from outside the region
    concat,    ///< puts all parts of a value together
    sum,       ///< adds a part to those before it
    empty,     ///< memory for a value that is written slice by slice
    slice,     ///< a view of the place of one part
    write      ///< copies a part to its place
};

/// The tasks of a program in chunks, and the origin of each task. All vectors are indexed by task.
struct chunked_tasks {
    static constexpr std::uint32_t none = UINT32_MAX;

    task_graph graph;
    std::vector<std::uint32_t> original;  ///< position in program order of the vertex that it is, is a clone of, or
                                          ///< whose result it cuts or puts together
    std::vector<std::uint32_t> region;    ///< a region of the plan; none for an original
    std::vector<std::uint32_t> chunk;     ///< none for an original, a concatenation and an empty value; of a sum, that
                                          ///< of the part it adds
    std::vector<task_role> role;
};

/// The rewriter with which apply_chunks makes the tasks of a plan, on numbers. `Costs` is a part_cost_model of the
/// table. The members from `insert_before` to `erase` are the verbs of a rewriter (core/rewriter_concepts.hpp); each
/// takes O(tasks that it makes and their operands), besides what clone_layout takes.
template <part_cost_model<step_table_view> Costs>
class chunk_trial {
public:
    using id = std::uint32_t;

    /// All arguments must outlive the trial.
    chunk_trial(const step_table& step, const chunk_plan<id, id>& plan, const Costs& costs)
        : step_(&step), costs_(&costs), layout_(step), region_(step.size(), chunked_tasks::none) {
        for (const chunked_operation<id>& o : plan.operations) region_[o.vertex] = o.region;
    }

    void insert_before(id v) {
        layout_.insert_before(v);
        at_ = v;
    }
    id_range clone(id v, std::span<const id> operands, const chunk_part& part) {
        const id made = layout_.add_clone(v), results = layout_.results(made), first = layout_.first_result(made);
        allocated_.assign(results, bytes{});
        const clone_cost cost = costs_->of_clone(v, part, std::span<bytes>(allocated_));
        step_table::operation o = step_->operations[v];
        // The clone of a wait waits for the start of its own chunk.
        if (o.launch != none && layout_.clone_for(o.launch, part.chunk) != none)
            o.launch = layout_.clone_for(o.launch, part.chunk);
        o.duration = cost.duration;
        if (o.kind == op_kind::start) o.payload = cost.payload;
        add(o, {task_role::clone, part.chunk, part.region});
        for (id x : operands) made_.operands.push(x);
        for (id x : step_->effects[v]) made_.effects.push(layout_.of_chunk(v, x, operands, part.chunk));
        for (id k = 0; k < results; ++k) {
            for (id x : step_->aliases[step_->first_result[v] + k])
                made_.aliases.push(layout_.of_chunk(v, x, operands, part.chunk));
            made_.aliases.close_row();
            made_.allocation.push_back(allocated_[k]);
        }
        close();
        return {first, first + results};
    }
    std::vector<id> split(id x, std::size_t, std::span<const std::int64_t> sizes) {
        std::vector<id> parts;
        for (std::uint32_t k = 0; k < sizes.size(); ++k) {
            parts.push_back(add_like(x, op_kind::view, {}, {}, {task_role::split, k, region_[at_]}));
            made_.operands.push(x);
            made_.aliases.push(x);
            close_like();
        }
        return parts;
    }
    id concat(std::span<const id> parts, std::size_t) {
        const id like = layout_.original_value(parts[0]);
        const join_cost cost = costs_->of_concat(like);
        const id whole = add_like(like, cost.kind, cost.duration, cost.allocation,
                                  {task_role::concat, none, region_[step_->producer[like]]});
        for (id x : parts) made_.operands.push(x);
        close_like();
        return whole;
    }
    /// Adds the parts in their order: ((p0 + p1) + p2) + ...
    id sum(std::span<const id> parts) {
        const id like = layout_.original_value(parts[0]);
        id total = parts[0];
        for (std::uint32_t k = 1; k < parts.size(); ++k) {
            const join_cost cost = costs_->of_sum(like);
            const id next = add_like(like, cost.kind, cost.duration, cost.allocation,
                                     {task_role::sum, k, region_[step_->producer[like]]});
            made_.operands.push(total);
            made_.operands.push(parts[k]);
            close_like();
            total = next;
        }
        return total;
    }
    /// The new task reads the part, so that no order allocates the memory before the part exists.
    id empty_like(id x, id part) {
        const id whole =
            add_like(x, op_kind::view, {}, costs_->of_empty(x), {task_role::empty, none, region_[step_->producer[x]]});
        made_.operands.push(part);
        close_like();
        return whole;
    }
    id slice_write(id whole, id part, std::size_t dim, std::span<const std::int64_t> sizes, std::size_t k) {
        const id like = layout_.original_value(whole), region = region_[step_->producer[like]];
        const id chunk = static_cast<id>(k);
        const id slice = add_like(like, op_kind::view, {}, {}, {task_role::slice, chunk, region});
        made_.operands.push(whole);
        made_.aliases.push(whole);
        close_like();
        add_like(like, op_kind::compute, costs_->of_slice_write(like, dim, sizes, k), {},
                 {task_role::write, chunk, region});
        made_.operands.push(slice);
        made_.operands.push(part);
        made_.aliases.push(slice);
        made_.effects.push(slice);
        close_like();
        return whole;
    }
    void replace_uses(id, id from, id to) { layout_.replace_uses(from, to); }
    void erase(id v) { layout_.erase(v); }

    /// Returns the tasks of the program in chunks, in program order, or why they are no task graph, such as times or
    /// bytes that overflow. Precondition: called once, after the plan has been applied. O(tasks and their rows), plus
    /// make_task_graph.
    [[nodiscard]] expected<chunked_tasks, task_graph_error> tasks() {
        chunked_tasks t;
        const std::span<const id> order = layout_.close();
        t.original.reserve(order.size());
        step_table there;
        detail::unique_rows<> rows;
        there.operations.reserve(order.size());
        there.operands.reserve(order.size(), 2 * order.size());
        there.aliases.reserve(order.size(), order.size());
        there.allocation.reserve(order.size());
        there.producer.reserve(order.size());
        there.first_result.reserve(order.size() + 1);
        t.role.reserve(order.size());
        t.chunk.reserve(order.size());
        t.region.reserve(order.size());
        for (id v : order) {
            const bool is_new = layout_.is_new(v);
            const id k = is_new ? v - static_cast<id>(step_->size()) : v;
            const step_table& from = is_new ? made_ : *step_;
            step_table::operation o = from.operations[k];
            if (o.launch != none) o.launch = layout_.position(o.launch);
            layout_.for_each_position(from.operands[k], [&](id x) { rows.add(there.operands, x); });
            rows.close(there.operands);
            layout_.for_each_storage(v, from.effects[k], [&](id x) { rows.add(there.effects, x); });
            rows.close(there.effects);
            // Only originals and clones inherit control dependences; values carry those of the other new tasks.
            if (is_new && made_from_[k].role != task_role::clone) there.controls.close_row();
            else push_controls(there, layout_.original(v));
            const id first = layout_.first_result(v) - (is_new ? static_cast<id>(step_->values()) : 0);
            for (id x = first; x < first + layout_.results(v); ++x) {
                layout_.for_each_storage(v, from.aliases[x], [&](id y) { rows.add(there.aliases, y); });
                rows.close(there.aliases);
                there.allocation.push_back(from.allocation[x]);
                there.producer.push_back(static_cast<id>(there.operations.size()));
            }
            there.operations.push_back(o);
            there.first_result.push_back(static_cast<id>(there.producer.size()));
            const origin from_where = is_new ? made_from_[k] : origin{task_role::original, none, none};
            t.original.push_back(layout_.original(v));
            t.role.push_back(from_where.role);
            t.chunk.push_back(from_where.chunk);
            t.region.push_back(from_where.region);
        }
        there.close_for_tasks();
        auto graph = make_task_graph(step_table_view{&there}, step_table_model{&there});
        if (!graph) return unexpected(graph.error());
        t.graph = *std::move(graph);
        return t;
    }

private:
    static constexpr id none = step_table::none;
    /// Where a new task comes from; the vertex is in the layout.
    struct origin {
        task_role role;
        id chunk, region;
    };

    void add(const step_table::operation& o, origin from) {
        made_.operations.push_back(o);
        made_from_.push_back(from);
    }
    /// Adds a task with one result like x. Its operands, aliases and effects are open until close_like.
    id add_like(id x, op_kind kind, nanoseconds duration, bytes allocation, origin from) {
        const id made = layout_.add_like(x);
        add({kind, collective_kind::other, 0, none, duration, {}}, from);
        made_.allocation.push_back(allocation);
        return layout_.first_result(made);
    }
    void close() {
        made_.operands.close_row();
        made_.effects.close_row();
    }
    void close_like() {
        close();
        made_.aliases.close_row();
    }
    /// A control dependence orders all clones of both operations, since its purpose is not known.
    void push_controls(step_table& there, id original) const {
        for (id p : step_->controls[original])
            layout_.for_each_stand_in(p, [&](id position) { there.controls.push(position); });
        there.controls.close_row();
    }

    const step_table* step_;
    const Costs* costs_;
    clone_layout layout_;
    std::vector<id> region_;  // by vertex of the step
    id at_ = 0;
    step_table made_;  // by number, after those of the step; its values are numbers of the layout
    std::vector<origin> made_from_;
    std::vector<bytes> allocated_;
};

}  // namespace stretto

#endif
