// The facts about a program against which a chunk plan is checked, as numbers. They come from the view and the models
// alone, and share only the numbering of values in core with the planner. What resembles chunk_program is written again
// on purpose, because a verifier that shares code with the planner shares its mistakes.
#ifndef STRETTO_TRANSFORM_DETAIL_VERIFY_FACTS_HPP
#define STRETTO_TRANSFORM_DETAIL_VERIFY_FACTS_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/core/checked_index.hpp"
#include "stretto/core/chunk_model.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/config.hpp"
#include "stretto/core/index_lists.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/value_map.hpp"

namespace stretto::detail {

/// Stands for no vertex, no value, and no entry of a plan.
inline constexpr std::uint32_t verify_none = UINT32_MAX;

/// A program whose vertices and values are numbered in program order.
template <class G>
struct verify_facts {
    std::vector<vertex_t<G>> vertices;           // in program order
    std::vector<value_t<G>> values;              // those of one vertex after those of another
    std::vector<op_kind> kind;                   // by vertex
    std::vector<std::uint32_t> group;            // by vertex: the group of a start, 0 for others
    std::vector<std::uint32_t> launch;           // vertex -> the start that it waits for, or itself
    std::vector<std::uint32_t> first_result;     // vertex -> values
    std::vector<std::uint32_t> producer;         // value -> vertex
    std::vector<std::uint32_t> first_component;  // value -> components; a number has one
    std::vector<std::uint32_t> memory;           // value -> one number for all values that may share memory
    std::vector<std::uint32_t> bound_to;         // vertex -> another one, if a dependence that no value carries
                                                 // connects the two; otherwise itself
    index_lists operands, writes;                // vertex -> values
    index_lists readers;                         // value -> vertices, ascending, once per use

    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(vertices.size()); }
    [[nodiscard]] std::uint32_t components(std::uint32_t x) const {
        return first_component[x + 1] - first_component[x];
    }
    /// The first value after the results of v.
    [[nodiscard]] std::uint32_t end_of_results(std::uint32_t v) const { return first_result[v + 1]; }
};

/// Gives all values that share memory, directly or through other values, one number: the least of theirs. This is a
/// union-find with path halving; a call takes nearly constant time on average.
class memory_classes {
public:
    explicit memory_classes(std::uint32_t values) : parent_(values) {
        for (std::uint32_t x = 0; x < values; ++x) parent_[x] = x;
    }
    void join(std::uint32_t x, std::uint32_t y) {
        x = find(x);
        y = find(y);
        if (x < y) parent_[y] = x;
        else parent_[x] = y;
    }
    [[nodiscard]] std::uint32_t find(std::uint32_t x) {
        while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
        return x;
    }

private:
    std::vector<std::uint32_t> parent_;
};

/// Gathers the facts. It asks the view and the models O(V + E) questions; finding a value among the results of its
/// producer takes time linear in their number. Precondition: the view lists the producers of all values that its
/// vertices read or write.
template <class G, class M, class C>
[[nodiscard]] verify_facts<G> gather_verify_facts(const G& g, const M& model, const C& chunks) {
    verify_facts<G> f;
    std::vector<std::uint32_t> number(g.index_bound(), verify_none);  // by index of the view
    value_numbering<G> numbers(g);
    static_assert(numbers.none == verify_none);
    f.vertices.reserve(g.index_bound());
    f.first_result.reserve(g.index_bound() + 1);
    for (vertex_t<G> v : g.vertices()) {
        number[checked_index(g, v, number.size())] = f.size();
        f.vertices.push_back(v);
        f.first_result.push_back(numbers.add(v));
    }
    f.first_result.push_back(numbers.size());
    f.values = numbers.values();
    const std::uint32_t values = numbers.size();
    f.producer.resize(values);
    f.first_component.resize(values + 1);
    for (std::uint32_t id = 0; id < f.size(); ++id)
        for (std::uint32_t x = f.first_result[id]; x < f.first_result[id + 1]; ++x) {
            const std::size_t components = chunks.components_of(f.values[x]);
            f.producer[x] = id;
            f.first_component[x + 1] =
                f.first_component[x] + static_cast<std::uint32_t>(components == 0 ? 1 : components);
        }
    f.kind.resize(f.size());
    f.group.resize(f.size());
    f.launch.resize(f.size());
    f.operands.reserve(f.size(), 2 * std::size_t{f.size()});  // most operations have up to two operands
    f.writes.reserve(f.size(), 0);
    for (std::uint32_t id = 0; id < f.size(); ++id) {
        const vertex_t<G> v = f.vertices[id];
        f.kind[id] = model.kind(v);
        f.group[id] = f.kind[id] == op_kind::start ? group_of<G>(model, v) : 0;
        const std::uint32_t start =
            f.kind[id] == op_kind::wait ? number[checked_index(g, launch_of<G>(g, model, v), number.size())] : id;
        f.launch[id] = start == verify_none ? id : start;
        for (value_t<G> x : g.operands(v)) {
            const std::uint32_t k = numbers.number(x);
            STRETTO_ASSERT(k != verify_none, "the view lists an operation and not what produces its operand");
            f.operands.push(k);
        }
        f.operands.close_row();
        for_each_effect<G>(model, v, [&](value_t<G> x) {
            const std::uint32_t k = numbers.number(x);
            STRETTO_ASSERT(k != verify_none, "an operation writes a value that the view does not list");
            f.writes.push(k);
        });
        f.writes.close_row();
    }
    f.bound_to.resize(f.size());
    for (std::uint32_t id = 0; id < f.size(); ++id) f.bound_to[id] = id;
    std::vector<std::uint32_t> read_by(f.size(), verify_none);  // by vertex: the last one known to read its results
    for (std::uint32_t id = 0; id < f.size(); ++id) {
        for (std::uint32_t x : f.operands[id]) read_by[f.producer[x]] = id;
        for (vertex_t<G> p : g.predecessors(f.vertices[id])) {
            const std::size_t i = g.index(p);
            const std::uint32_t u = i < number.size() ? number[i] : verify_none;
            if (u != verify_none && read_by[u] != id) f.bound_to[f.bound_to[id] = u] = id;
        }
    }
    f.readers = f.operands.inverse(values);
    memory_classes classes(values);
    for (std::uint32_t x = 0; x < values; ++x)
        for_each_alias<G>(model, f.values[x], [&](value_t<G> y) {
            if (const std::uint32_t k = numbers.number(y); k != verify_none) classes.join(x, k);
        });
    f.memory.resize(values);
    for (std::uint32_t x = 0; x < values; ++x) f.memory[x] = classes.find(x);
    return f;
}

}  // namespace stretto::detail

#endif
