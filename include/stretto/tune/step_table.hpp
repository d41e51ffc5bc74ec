// A step in numbers: everything that a view and an op model say about a program, read once, so that thousands of plans
// can be tried without further queries to the user's IR. Vertices and values are positions in program order,
// independent of the handles of the IR. A table consists of flat arrays, and its type does not depend on the graph.
#ifndef STRETTO_TUNE_STEP_TABLE_HPP
#define STRETTO_TUNE_STEP_TABLE_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/config.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/index_lists.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/unique_rows.hpp"
#include "stretto/core/units.hpp"
#include "stretto/core/value_map.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/views/snapshot.hpp"

namespace stretto {

/// A program of V vertices and X values. Takes about 60 bytes per vertex, 24 per value, and 4 to 8 per operand.
struct step_table {
    static constexpr std::uint32_t none = UINT32_MAX;

    /// What the op model says about a vertex.
    struct operation {
        op_kind kind = op_kind::compute;
        collective_kind collective = collective_kind::other;  ///< for starts only
        group_id group = 0;                                   ///< for starts only
        std::uint32_t launch = none;                          ///< for waits: the start, or none
        nanoseconds duration;
        bytes payload;  ///< for starts only
    };
    std::vector<operation> operations;
    std::vector<std::uint32_t> first_result = {0};  ///< results of v: [first_result[v], first_result[v + 1])
    std::vector<std::uint32_t> producer;            ///< by value
    std::vector<bytes> allocation;                  ///< by value
    index_lists operands;                           ///< vertex -> values it reads, in order
    index_lists controls;      ///< vertex -> predecessors in the view none of whose results it reads, each once
    index_lists aliases;       ///< value -> values whose storage it shares
    index_lists effects;       ///< vertex -> values whose storage it writes in place
    index_lists predecessors;  ///< vertex -> producers of its operands, then its controls, each once
    index_lists successors;    ///< vertex -> vertices that have it as a predecessor, ascending
    index_lists readers;       ///< value -> vertices, once per use, ascending

    [[nodiscard]] std::size_t size() const noexcept { return operations.size(); }
    [[nodiscard]] std::size_t values() const noexcept { return producer.size(); }

    /// Derives the lists that follow from the others. O(V + X + operands and controls).
    void close() {
        close_for_tasks();
        successors = predecessors.inverse(size());
        readers = operands.inverse(values());
    }
    /// Derives predecessors only. make_task_graph never reads the successors of a vertex or the readers of a value.
    void close_for_tasks() {
        predecessors = index_lists();
        predecessors.reserve(size(), operands.items() + controls.items());
        detail::unique_rows<> rows;
        for (std::uint32_t v = 0; v < size(); ++v) {
            for (std::uint32_t x : operands[v]) rows.add(predecessors, producer[x]);
            for (std::uint32_t p : controls[v]) rows.add(predecessors, p);
            rows.close(predecessors);
        }
    }
};

/// A view of the table, which must outlive it.
struct step_table_view {
    using vertex_type = std::uint32_t;
    using value_type = std::uint32_t;

    const step_table* table;

    [[nodiscard]] id_range vertices() const noexcept { return id_range(table->size()); }
    [[nodiscard]] std::span<const vertex_type> successors(vertex_type v) const { return table->successors[v]; }
    [[nodiscard]] std::span<const vertex_type> predecessors(vertex_type v) const { return table->predecessors[v]; }
    [[nodiscard]] std::size_t index(vertex_type v) const noexcept { return v; }
    [[nodiscard]] std::size_t index_bound() const noexcept { return table->size(); }
    [[nodiscard]] std::span<const value_type> operands(vertex_type v) const { return table->operands[v]; }
    [[nodiscard]] id_range results(vertex_type v) const {
        return id_range(table->first_result[v], table->first_result[v + 1]);
    }
    [[nodiscard]] vertex_type producer(value_type x) const { return table->producer[x]; }
    [[nodiscard]] std::span<const vertex_type> consumers(value_type x) const { return table->readers[x]; }
};

/// The op model of the table, which must outlive it.
struct step_table_model {
    const step_table* table;

    [[nodiscard]] op_kind kind(std::uint32_t v) const { return table->operations[v].kind; }
    [[nodiscard]] nanoseconds duration(std::uint32_t v) const { return table->operations[v].duration; }
    [[nodiscard]] collective_kind collective(std::uint32_t v) const { return table->operations[v].collective; }
    [[nodiscard]] group_id group(std::uint32_t v) const { return table->operations[v].group; }
    [[nodiscard]] bytes payload(std::uint32_t v) const { return table->operations[v].payload; }
    [[nodiscard]] std::uint32_t launch_of(std::uint32_t w) const {
        const std::uint32_t start = table->operations[w].launch;
        return start == step_table::none ? w : start;
    }
    [[nodiscard]] bytes bytes_of(std::uint32_t x) const { return table->allocation[x]; }
    [[nodiscard]] std::span<const std::uint32_t> aliases(std::uint32_t x) const { return table->aliases[x]; }
    [[nodiscard]] std::span<const std::uint32_t> effects(std::uint32_t v) const { return table->effects[v]; }
};

/// The table of a graph, and the mapping back to its handles. It does not track changes of the graph.
template <dependence_graph G>
    requires dataflow_graph<G>
class numbered_step {
public:
    using vertex_type = vertex_t<G>;
    using value_type = value_t<G>;

    /// Reads a program. Fails like make_task_graph if its order is not topological, if a wait names something other
    /// than an earlier start, or if the producer of a value is not listed. Does not check durations and bytes. O(V +
    /// E), plus, for each use of a value, its position among the results of its producer.
    template <op_model<G> M>
    [[nodiscard]] static expected<numbered_step, task_graph_error> read(G g, const M& ops) {
        numbered_step s(g);
        for (vertex_type v : g.vertices()) s.list(v);
        for (std::uint32_t v = 0; v < s.vertices_.size(); ++v)
            if (const auto fault = s.take(v, ops)) return unexpected(*fault);
        s.table_.close();
        return s;
    }

    [[nodiscard]] const step_table& table() const noexcept { return table_; }
    [[nodiscard]] const G& graph() const noexcept { return graph_; }
    [[nodiscard]] vertex_type vertex(std::uint32_t v) const { return vertices_[v]; }
    [[nodiscard]] value_type value(std::uint32_t x) const { return values_.value(x); }
    [[nodiscard]] std::span<const vertex_type> vertices() const noexcept { return vertices_; }
    /// The number of a vertex; step_table::none if the graph does not list it.
    [[nodiscard]] std::uint32_t number(vertex_type v) const {
        const std::size_t i = graph_.index(v);
        return i < number_.size() ? number_[i] : step_table::none;
    }
    [[nodiscard]] std::uint32_t number_of_value(value_type x) const { return values_.number(x); }

private:
    explicit numbered_step(G g) : graph_(g), number_(g.index_bound(), step_table::none), values_(g) {}

    /// Assigns the next number to a vertex, and the next numbers to its results.
    void list(vertex_type v) {
        const std::uint32_t id = static_cast<std::uint32_t>(vertices_.size());
        STRETTO_ASSERT(number_[graph_.index(v)] == step_table::none, "vertices() lists a vertex twice");
        number_[graph_.index(v)] = id;
        vertices_.push_back(v);
        values_.add(v);
        table_.producer.resize(values_.size(), id);
        table_.first_result.push_back(values_.size());
    }

    using fault = task_graph_error;

    /// Reads the operands, dependences and costs of a vertex, or returns why the program is invalid. All vertices are
    /// listed before the first one is read, because aliases and effects may name any value.
    template <class M>
    [[nodiscard]] std::optional<fault> take(std::uint32_t id, const M& ops) {
        const vertex_type v = vertices_[id];
        bool known = true;
        const auto push = [&](index_lists& list, value_type x) {
            const std::uint32_t number = number_of_value(x);
            known = known && number != step_table::none;
            if (number != step_table::none) list.push(number);
        };
        for (value_type x : graph_.operands(v)) push(table_.operands, x);
        table_.operands.close_row();
        for_each_effect<G>(ops, v, [&](value_type x) { push(table_.effects, x); });
        table_.effects.close_row();
        for (value_type x : graph_.results(v)) {
            for_each_alias<G>(ops, x, [&](value_type y) { push(table_.aliases, y); });
            table_.aliases.close_row();
            table_.allocation.push_back(allocation_of<G>(ops, x));
        }
        if (!known) return fault{fault::reason::operand_not_in_graph, id, no_task};
        known_to_.resize(vertices_.size(), step_table::none);
        for (std::uint32_t x : table_.operands[id]) known_to_[table_.producer[x]] = id;
        for (vertex_type p : graph_.predecessors(v)) {
            const std::uint32_t before = number(p);
            if (before >= id) return fault{fault::reason::reads_later_task, id, before};
            if (known_to_[before] == id) continue;
            known_to_[before] = id;
            table_.controls.push(before);
        }
        table_.controls.close_row();

        step_table::operation o;
        o.kind = ops.kind(v);
        o.duration = duration_of<G>(ops, v);
        if (o.kind == op_kind::start) {
            o.collective = collective_of<G>(ops, v);
            o.group = group_of<G>(ops, v);
            o.payload = payload_of<G>(ops, v);
        }
        if (o.kind == op_kind::wait) {
            const vertex_type start = launch_of<G>(graph_, ops, v);
            if (!(start == v)) {
                o.launch = number(start);
                if (o.launch != step_table::none && o.launch > id)
                    return fault{fault::reason::reads_later_task, id, o.launch};
                if (o.launch >= id || table_.operations[o.launch].kind != op_kind::start)
                    return fault{fault::reason::launch_is_no_start, id, o.launch};
            }
        }
        table_.operations.push_back(o);
        return std::nullopt;
    }

    G graph_;
    std::vector<std::uint32_t> number_;  // by index of the view
    std::vector<vertex_type> vertices_;
    value_numbering<G> values_;
    step_table table_;
    std::vector<std::uint32_t> known_to_;  // vertex -> the last one read that is known to follow it
};

static_assert(dependence_graph<step_table_view> && dataflow_graph<step_table_view>);
static_assert(op_model<step_table_model, step_table_view>);

}  // namespace stretto

#endif
