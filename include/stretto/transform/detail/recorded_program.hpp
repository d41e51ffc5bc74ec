// A copy of a dataflow program as numbers, which remains when the IR is rewritten in place. verify_applied compares the
// program before with the program after; chunk_recording makes this copy, because the IR itself does not keep the
// program before. O(V + E) time and memory.
#ifndef STRETTO_TRANSFORM_DETAIL_RECORDED_PROGRAM_HPP
#define STRETTO_TRANSFORM_DETAIL_RECORDED_PROGRAM_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/index_lists.hpp"
#include "stretto/transform/chunk_plan.hpp"

namespace stretto::detail {

/// Stands for a vertex or value that does not belong to the recorded program.
inline constexpr std::uint32_t not_recorded = UINT32_MAX;

/// The part of the copy that does not depend on handle types. Vertices and values are numbered in program order.
struct numbered_program {
    index_lists operands;                  // by vertex: values
    index_lists results;                   // by vertex: values
    index_lists readers;                   // by value: vertices, once per use
    index_lists successors, predecessors;  // by vertex: vertices, along operands
    std::vector<std::uint32_t> order;      // 0, 1, ...
    std::vector<std::uint32_t> producer;   // by value: its vertex
};

/// A view of the copy. Its vertices and values are numbers.
struct numbered_program_view {
    using vertex_type = std::uint32_t;
    using value_type = std::uint32_t;
    const numbered_program* p;

    [[nodiscard]] const std::vector<std::uint32_t>& vertices() const { return p->order; }
    [[nodiscard]] std::span<const std::uint32_t> successors(std::uint32_t v) const { return p->successors[v]; }
    [[nodiscard]] std::span<const std::uint32_t> predecessors(std::uint32_t v) const { return p->predecessors[v]; }
    [[nodiscard]] std::size_t index(std::uint32_t v) const { return v; }
    [[nodiscard]] std::size_t index_bound() const { return p->order.size(); }
    [[nodiscard]] std::span<const std::uint32_t> operands(std::uint32_t v) const { return p->operands[v]; }
    [[nodiscard]] std::span<const std::uint32_t> results(std::uint32_t v) const { return p->results[v]; }
    [[nodiscard]] std::uint32_t producer(std::uint32_t x) const { return p->producer[x]; }
    [[nodiscard]] std::span<const std::uint32_t> consumers(std::uint32_t x) const { return p->readers[x]; }
};

/// The copy, with the numbers of the handles. A handle can be looked up until its operation is erased.
template <dataflow_graph G>
class recorded_program {
public:
    using V = vertex_t<G>;
    using X = value_t<G>;

    /// Copies the program. Precondition: the view lists the producer of every operand. O(V + E), plus a search among
    /// the results of its producer for each operand.
    explicit recorded_program(G g) : number_(g.index_bound(), not_recorded) {
        for (V v : g.vertices()) {
            const auto id = static_cast<std::uint32_t>(vertices_.size());
            number_[g.index(v)] = id;
            vertices_.push_back(v);
            erased_.push_back(false);
            p_.order.push_back(id);
            for (X x : g.results(v)) {
                p_.results.push(static_cast<std::uint32_t>(values_.size()));
                values_.push_back(x);
                p_.producer.push_back(id);
            }
            p_.results.close_row();
        }
        for (const V& v : vertices_) {
            for (X x : g.operands(v)) {
                const std::uint32_t k = value(g, x);
                p_.operands.push(k);
                p_.predecessors.push(p_.producer[k]);
            }
            p_.operands.close_row();
            p_.predecessors.close_row();
        }
        p_.readers = p_.operands.inverse(values_.size());
        p_.successors = p_.predecessors.inverse(vertices_.size());
    }

    /// The copy as a dataflow graph of numbers. It points into this object.
    [[nodiscard]] numbered_program_view view() const { return {&p_}; }
    [[nodiscard]] const numbered_program& numbers() const { return p_; }
    [[nodiscard]] const std::vector<V>& vertices() const { return vertices_; }
    /// Whether erase() was called for that vertex. It remains in the copy, but its handle is no longer valid.
    [[nodiscard]] bool is_erased(std::uint32_t v) const { return erased_[v]; }

    /// The number of a vertex; not_recorded if it does not belong to this program.
    [[nodiscard]] std::uint32_t number(const G& g, const V& v) const {
        const std::size_t i = g.index(v);
        return i < number_.size() && number_[i] != not_recorded && vertices_[number_[i]] == v ? number_[i]
                                                                                              : not_recorded;
    }
    /// The number of a value; not_recorded if it does not belong to this program. O(results of its producer).
    [[nodiscard]] std::uint32_t value(const G& g, const X& x) const {
        const std::uint32_t v = number(g, g.producer(x));
        if (v == not_recorded) return not_recorded;
        for (std::uint32_t k : p_.results[v])
            if (values_[k] == x) return k;
        return not_recorded;
    }
    /// Records that the IR has erased a vertex. Does nothing if the vertex is not_recorded.
    void erase(std::uint32_t v) {
        if (v != not_recorded) erased_[v] = true;
    }

    /// The plan with numbers in place of handles, so that it can be compared with the copy when the handles are no
    /// longer valid. Handles that do not belong to this program become not_recorded, which the verifier rejects. The
    /// lists `refused` and `unreached` are left out, because applying a plan does not use them.
    [[nodiscard]] chunk_plan<std::uint32_t, std::uint32_t> numbered(const G& g, const chunk_plan<V, X>& plan) const {
        chunk_plan<std::uint32_t, std::uint32_t> made;
        for (const auto& r : plan.regions) made.regions.push_back({r.tokens, r.sizes});
        for (const chunked_operation<V>& o : plan.operations)
            made.operations.push_back({number(g, o.vertex), o.region, o.once, o.first_operand, o.first_result,
                                       o.last_result, o.chained, o.sum_widens});
        for (const chunk_split<X>& s : plan.splits) made.splits.push_back({value(g, s.value), s.region, s.dim});
        for (const chunk_join<V, X>& j : plan.joins) {
            made.joins.push_back({value(g, j.value), j.region, j.how, j.dim, {}, j.late});
            for (const V& v : j.readers) made.joins.back().readers.push_back(number(g, v));
        }
        made.states = plan.states;
        return made;
    }

private:
    numbered_program p_;
    std::vector<V> vertices_;
    std::vector<X> values_;
    std::vector<std::uint32_t> number_;  // by index of the view
    std::vector<char> erased_;
};

}  // namespace stretto::detail

#endif
