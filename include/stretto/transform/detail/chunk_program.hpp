// A program as numbers, for the search of plan_chunks. The search sweeps over the program until nothing changes. With
// numbers, the view and the models are asked once instead of once per sweep, and most of the search does not depend on
// the types of the caller.
#ifndef STRETTO_TRANSFORM_DETAIL_CHUNK_PROGRAM_HPP
#define STRETTO_TRANSFORM_DETAIL_CHUNK_PROGRAM_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "stretto/core/checked_index.hpp"
#include "stretto/core/index_lists.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/value_map.hpp"
#include "stretto/transform/chunk_plan.hpp"

namespace stretto::detail {

/// A program whose vertices and values are numbered in program order. A value has one or more components: one for each
/// of its tensors, or one if it is a number.
struct chunk_program {
    static constexpr std::uint32_t none = UINT32_MAX;
    static constexpr std::uint32_t no_region = UINT32_MAX;

    index_lists operands;                        // vertex -> values
    index_lists writes;                          // vertex -> values that it writes in place
    index_lists readers;                         // value -> vertices that have it as an operand
    std::vector<std::uint32_t> storage;          // value -> the first of all values that share memory with it
    index_lists writers;                         // storage -> vertices that write it in place, ascending
    std::vector<std::uint32_t> first_result;     // vertex -> values
    std::vector<std::uint32_t> producer;         // value -> vertex
    std::vector<std::uint32_t> first_component;  // value -> components
    std::vector<std::uint32_t> launch;           // vertex -> the start that it waits for, or itself
    index_lists launches;                        // storage -> starts whose results live in it, ascending
    std::vector<std::uint32_t> region;           // vertex -> the region of which it is a candidate
    std::vector<char> kept;                      // vertex -> whether it must stay whole although it is a candidate
    std::vector<char> controlled;                // vertex -> whether it has a dependence that no value carries
    std::vector<std::int8_t> token_dim;  // value -> the dimension along which regions cut it if it is whole; -1: none
    std::vector<std::int64_t> tokens;    // region -> its number of rows

    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(region.size()); }
    [[nodiscard]] std::uint32_t components(std::uint32_t x) const {
        return first_component[x + 1] - first_component[x];
    }
};

/// By start: its waits, ascending. It is a template so that it is compiled only where it is used.
template <class = void>
[[nodiscard]] inline index_lists waits_of_starts(const chunk_program& p) {
    index_lists launches;
    for (std::uint32_t v = 0; v < p.size(); ++v) {
        if (p.launch[v] != v) launches.push(p.launch[v]);
        launches.close_row();
    }
    return launches.inverse(p.size());
}

/// A chunk_error as the search reports it, with numbers in place of handles.
struct chunk_fault {
    chunk_reason why;
    std::uint32_t vertex, other;
    std::string detail;
    std::uint32_t component = 0;  // for result_unset: the component among those of all results
};

/// A candidate that a token reaches but that must stay whole.
struct chunk_refusal {
    std::uint32_t vertex;
    chunk_fault why;
    std::uint32_t cause;  // the vertex with which the chain of refusals begins; possibly `vertex`
};

/// The program of a view as numbers, and the handles that the numbers stand for.
template <class G>
struct numbered_chunk_program {
    chunk_program p;
    std::vector<vertex_t<G>> vertices;         // in program order
    std::vector<std::uint32_t> vertex_number;  // by index of the view
    value_numbering<G> value_numbers;

    explicit numbered_chunk_program(const G& g)
        : vertex_number(g.index_bound(), chunk_program::none), value_numbers(g) {}

    /// The number of v; `none` if v is not listed.
    [[nodiscard]] std::uint32_t number(const G& g, vertex_t<G> v) const {
        const std::size_t i = g.index(v);
        return i < vertex_number.size() ? vertex_number[i] : chunk_program::none;
    }
    /// The number of x; `none` if its producer is not listed.
    [[nodiscard]] std::uint32_t number_of(value_t<G> x) const { return value_numbers.number(x); }
    [[nodiscard]] value_t<G> value(std::uint32_t x) const { return value_numbers.value(x); }
    [[nodiscard]] std::uint32_t values() const { return value_numbers.size(); }
};

/// Finds for every value the first of all values that share memory with it, directly or through other values. This is a
/// union-find in which the least number of a set is its root, so the order of the aliases makes no difference. Nearly
/// linear in values and aliases.
template <class G, class M>
void number_storages(numbered_chunk_program<G>& n, const M& model) {
    std::vector<std::uint32_t>& parent = n.p.storage;
    parent.resize(n.values());
    for (std::uint32_t x = 0; x < parent.size(); ++x) parent[x] = x;
    const auto root = [&](std::uint32_t x) {
        while (parent[x] != x) x = parent[x] = parent[parent[x]];
        return x;
    };
    for (std::uint32_t x = 0; x < parent.size(); ++x)
        for_each_alias<G>(model, n.value(x), [&](value_t<G> y) {
            const std::uint32_t other = n.number_of(y);
            if (other == chunk_program::none) return;
            const std::uint32_t a = root(x), b = root(other);
            if (a < b) parent[b] = a;
            else parent[a] = b;
        });
    // The parent of a value is not after it, so the parent already points to its root here.
    for (std::uint32_t x = 0; x < parent.size(); ++x) parent[x] = parent[parent[x]];
}

/// Numbers a program. It asks the view and the models O(V + E) questions; finding a value among the results of its
/// producer takes time linear in their number. In the result no vertex is a candidate and no value has a token
/// dimension. Precondition: the view lists the producers of all values that its vertices read or write.
template <class G, class M, class C>
[[nodiscard]] numbered_chunk_program<G> number_chunk_program(const G& g, const M& model, const C& chunks) {
    numbered_chunk_program<G> n(g);
    chunk_program& p = n.p;
    n.vertices.reserve(g.index_bound());
    p.first_result.reserve(g.index_bound() + 1);
    for (vertex_t<G> v : g.vertices()) {
        n.vertex_number[checked_index(g, v, n.vertex_number.size())] = static_cast<std::uint32_t>(n.vertices.size());
        n.vertices.push_back(v);
        p.first_result.push_back(n.value_numbers.add(v));
    }
    p.first_result.push_back(n.values());
    const std::uint32_t size = static_cast<std::uint32_t>(n.vertices.size());
    p.producer.resize(n.values());
    p.first_component.resize(n.values() + 1);
    for (std::uint32_t v = 0; v < size; ++v)
        for (std::uint32_t x = p.first_result[v]; x < p.first_result[v + 1]; ++x) {
            const std::size_t components = chunks.components_of(n.value(x));
            p.producer[x] = v;
            p.first_component[x + 1] =
                p.first_component[x] + static_cast<std::uint32_t>(components == 0 ? 1 : components);
        }
    p.launch.resize(size);
    p.operands.reserve(size, 2 * std::size_t{size});  // most operations have up to two operands
    p.writes.reserve(size, 0);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> written, brought;  // a value, and a writer or start
    for (std::uint32_t own = 0; own < size; ++own) {
        const vertex_t<G> v = n.vertices[own];
        for (value_t<G> operand : g.operands(v)) {
            const std::uint32_t x = n.number_of(operand);
            p.operands.push(x);
        }
        p.operands.close_row();
        for_each_effect<G>(model, v, [&](value_t<G> effect) {
            const std::uint32_t x = n.number_of(effect);
            p.writes.push(x);
            written.emplace_back(x, own);
        });
        p.writes.close_row();
        const op_kind kind = model.kind(v);
        // A wait for nothing, which real steps contain, and one for a start that the view does not list, count as their
        // own launch: they are ordinary operations.
        const std::uint32_t start = kind == op_kind::wait ? n.number(g, launch_of<G>(g, model, v)) : own;
        p.launch[own] = start == chunk_program::none ? own : start;
        if (kind == op_kind::start)
            for (std::uint32_t x = p.first_result[own]; x < p.first_result[own + 1]; ++x) brought.emplace_back(x, own);
    }
    p.controlled.assign(size, false);
    std::vector<std::uint32_t> read_by(size, chunk_program::none);  // by vertex: its last known reader
    for (std::uint32_t v = 0; v < size; ++v) {
        for (std::uint32_t x : p.operands[v]) read_by[p.producer[x]] = v;
        for (vertex_t<G> before : g.predecessors(n.vertices[v])) {
            const std::uint32_t u = n.number(g, before);
            if (u != chunk_program::none && read_by[u] != v) p.controlled[u] = p.controlled[v] = true;
        }
    }
    p.readers = p.operands.inverse(n.values());
    number_storages(n, model);
    for (auto* pairs : {&written, &brought})
        for (auto& [x, v] : *pairs) x = p.storage[x];
    p.writers = index_lists::grouped(written, n.values());
    p.launches = index_lists::grouped(brought, n.values());
    p.region.assign(n.vertices.size(), chunk_program::no_region);
    p.kept.assign(n.vertices.size(), false);
    p.token_dim.assign(n.values(), -1);
    return n;
}

}  // namespace stretto::detail

#endif
