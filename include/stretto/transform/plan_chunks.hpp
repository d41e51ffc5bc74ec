// Plans to run regions of a program in chunks of their tokens.
//
// One sweep in program order carries the state of every value (core/chunk_model.hpp) from the token dimensions through
// the candidates. What no token reaches stays whole and is shared; what a token reaches runs once per chunk; an
// operation that only carries sums of chunks on to the outside runs once, on the sum. Nothing here knows an operator:
// how states pass through one is told by the chunk model.
#ifndef STRETTO_TRANSFORM_PLAN_CHUNKS_HPP
#define STRETTO_TRANSFORM_PLAN_CHUNKS_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/transform/chunk_plan.hpp"
#include "stretto/transform/detail/chunk_sweep.hpp"

namespace stretto {

struct chunk_options {
    /// What cannot run per chunk, or has parts that nothing recombines, stays whole, with the values it reads
    /// recombined before it, and is listed in the plan. Otherwise it is an error.
    bool skip_refused = false;
};

namespace detail {

/// The program of a view on numbers, and the way back.
template <class G>
struct numbered_chunk_program {
    chunk_program p;
    std::vector<vertex_t<G>> vertices;
    std::vector<value_t<G>> values;
    std::vector<std::uint32_t> vertex_number;  // by index of the view

    /// UINT32_MAX if v is not listed.
    [[nodiscard]] std::uint32_t number(const G& g, vertex_t<G> v) const {
        const std::size_t i = g.index(v);
        return i < vertex_number.size() ? vertex_number[i] : UINT32_MAX;
    }
    [[nodiscard]] std::uint32_t value_number(const G& g, value_t<G> x) const {
        const std::uint32_t v = number(g, g.producer(x));
        if (v == UINT32_MAX) return UINT32_MAX;
        for (std::uint32_t k = p.first_result[v]; k < p.first_result[v + 1]; ++k)
            if (values[k] == x) return k;
        return UINT32_MAX;
    }
};

template <class G, class M, class C>
numbered_chunk_program<G> number_chunk_program(const G& g, const M& model, const C& chunks) {
    numbered_chunk_program<G> n;
    n.vertex_number.assign(g.index_bound(), UINT32_MAX);
    chunk_program& p = n.p;
    p.first_result.push_back(0);
    p.first_component.push_back(0);
    for (vertex_t<G> v : g.vertices()) {
        const std::uint32_t id = static_cast<std::uint32_t>(n.vertices.size());
        n.vertex_number[g.index(v)] = id;
        n.vertices.push_back(v);
        for (value_t<G> x : g.results(v)) {
            const std::size_t components = chunks.components_of(x);
            n.values.push_back(x);
            p.producer.push_back(id);
            p.first_component.push_back(p.first_component.back() +
                                        static_cast<std::uint32_t>(components == 0 ? 1 : components));
        }
        p.first_result.push_back(static_cast<std::uint32_t>(n.values.size()));
    }
    for (const vertex_t<G>& v : n.vertices) {
        for (value_t<G> x : g.operands(v)) p.operands.push(n.value_number(g, x));
        p.operands.close_row();
        for_each_effect<G>(model, v, [&](value_t<G> x) { p.writes.push(n.value_number(g, x)); });
        p.writes.close_row();
        const std::uint32_t own = n.number(g, v);
        const std::uint32_t start = model.kind(v) == op_kind::wait ? n.number(g, launch_of<G>(g, model, v)) : own;
        p.launch.push_back(start == UINT32_MAX ? own : start);
    }
    p.readers = p.operands.inverse(n.values.size());
    // Values that share memory, however far apart: a forest whose roots are the first of them.
    p.storage.resize(n.values.size());
    auto root = [&](std::uint32_t x) {
        while (p.storage[x] != x) x = p.storage[x] = p.storage[p.storage[x]];
        return x;
    };
    for (std::uint32_t x = 0; x < n.values.size(); ++x) {
        p.storage[x] = x;
        for_each_alias<G>(model, n.values[x], [&](value_t<G> y) {
            const std::uint32_t other = n.value_number(g, y);
            if (other < x) p.storage[root(x)] = root(other);
        });
    }
    for (std::uint32_t x = 0; x < n.values.size(); ++x) p.storage[x] = root(x);
    index_lists written;  // vertex -> storages
    for (std::uint32_t v = 0; v < n.vertices.size(); ++v) {
        for (std::uint32_t x : p.writes[v]) written.push(p.storage[x]);
        written.close_row();
    }
    p.writers = written.inverse(n.values.size());
    p.region.assign(n.vertices.size(), chunk_program::no_region);
    p.token_dim.assign(n.values.size(), -1);
    return n;
}

}  // namespace detail

/// A plan, or why there is none; nothing is changed. `g` lists its vertices in a topological order. Chunks of no rows
/// are left out, and a region of one chunk stays as it is. Time: a few sweeps over the program, each O(V + E) and one
/// call of the chunk model per operation that a token reaches; with `skip_refused` as many more as there are layers of
/// operations that have to be taken out again.
template <dependence_graph G, op_model<G> M, chunk_model<G> C>
    requires dataflow_graph<G>
[[nodiscard]] expected<chunk_plan<vertex_t<G>, value_t<G>>, chunk_error<vertex_t<G>>> plan_chunks(
    G g, M model, C chunks, std::span<const chunk_region<vertex_t<G>>> regions,
    std::span<const token_dimension<value_t<G>>> tokens, chunk_options options = {}) {
    using V = vertex_t<G>;
    using X = value_t<G>;
    using why = typename chunk_error<V>::reason;
    auto n = detail::number_chunk_program(g, model, chunks);
    detail::chunk_program& p = n.p;
    chunk_plan<V, X> plan;

    if (regions.empty()) return unexpected(chunk_error<V>{why::no_regions, 0, {}, {}, {}});
    for (std::uint32_t r = 0; r < regions.size(); ++r) {
        typename chunk_plan<V, X>::region made;
        for (std::int64_t size : regions[r].sizes) {
            if (size < 0) return unexpected(chunk_error<V>{why::negative_size, r, {}, {}, {}});
            made.tokens += size;
            if (size > 0) made.sizes.push_back(size);
        }
        if (made.sizes.empty()) return unexpected(chunk_error<V>{why::no_sizes, r, {}, {}, {}});
        p.tokens.push_back(made.tokens);
        for (const V& v : regions[r].candidates) {
            const std::uint32_t id = n.number(g, v);
            if (id == UINT32_MAX) return unexpected(chunk_error<V>{why::not_in_graph, r, v, v, {}});
            if (p.region[id] != detail::chunk_program::no_region && p.region[id] != r)
                return unexpected(chunk_error<V>{why::overlapping, r, v, v, {}});
            p.region[id] = r;
        }
        plan.regions.push_back(std::move(made));
    }
    for (const token_dimension<X>& t : tokens) {
        const std::uint32_t x = n.value_number(g, t.value);
        const V from = g.producer(t.value);
        if (x == UINT32_MAX) return unexpected(chunk_error<V>{why::not_in_graph, 0, from, from, {}});
        if (chunks.components_of(t.value) != 1 || t.dim >= chunks.rank(t.value, 0))
            return unexpected(chunk_error<V>{why::dim_out_of_range, 0, from, from, {}});
        for (std::uint32_t r = 0; r < regions.size(); ++r)
            if (chunks.extent(t.value, 0, t.dim) % p.tokens[r] != 0)
                return unexpected(chunk_error<V>{why::extent_indivisible, r, from, from, {}});
        p.token_dim[x] = static_cast<std::int8_t>(t.dim);
    }
    // A region of one chunk is the program as it is.
    for (std::uint32_t v = 0; v < p.size(); ++v)
        if (p.region[v] != detail::chunk_program::no_region && plan.regions[p.region[v]].sizes.size() == 1)
            p.region[v] = detail::chunk_program::no_region;

    auto rule = [&](std::uint32_t v, std::int64_t rows, std::span<const chunk_state> operands,
                    std::span<chunk_state> results) {
        return chunks.combine_rule(n.vertices[v], rows, operands, results);
    };
    auto extent = [&](std::uint32_t x, std::size_t dim) -> std::int64_t {
        if (chunks.components_of(n.values[x]) != 1 || dim >= chunks.rank(n.values[x], 0)) return -1;
        return chunks.extent(n.values[x], 0, dim);
    };
    detail::chunk_sweep sweep(p, rule, extent, options.skip_refused);
    if (!sweep.run()) {
        const detail::chunk_fault& f = sweep.fault();
        constexpr why reasons[] = {why::refused, why::unknown_live_out, why::left_in_flight, why::written_outside,
                                   why::read_between_writes};
        const why reason = reasons[static_cast<std::size_t>(f.why)];
        const std::uint32_t at =
            p.region[f.vertex] != detail::chunk_program::no_region ? p.region[f.vertex] : p.region[f.other];
        return unexpected(chunk_error<V>{reason, at, n.vertices[f.vertex], n.vertices[f.other], f.detail});
    }

    auto contains = [](const std::vector<std::uint32_t>& all, std::uint32_t one) {
        for (std::uint32_t k : all)
            if (k == one) return true;
        return false;
    };
    std::vector<char> reached(regions.size(), false);
    std::vector<std::vector<std::uint32_t>> split_in(n.values.size());  // value -> regions it is split for
    for (std::uint32_t v = 0; v < p.size(); ++v) {
        if (sweep.refused(v)) plan.refused.push_back(n.vertices[v]);
        if (!sweep.in_body(v)) continue;
        const std::uint32_t r = p.region[v];
        reached[r] = true;
        chunked_operation<V> o;
        o.vertex = n.vertices[v];
        o.region = r;
        o.first_operand = static_cast<std::uint32_t>(plan.states.size());
        for (std::uint32_t x : p.operands[v])
            for (std::uint32_t c = p.first_component[x]; c < p.first_component[x + 1]; ++c) {
                const chunk_state s = sweep.seen_in(r, x, c);
                plan.states.push_back(s);
                const std::uint32_t from = p.producer[x];
                const bool outside = !sweep.in_body(from) || p.region[from] != r;
                if (outside && s.what == chunk_state::kind::sliced && !contains(split_in[x], r)) {
                    split_in[x].push_back(r);
                    plan.splits.push_back({n.values[x], r, static_cast<std::uint32_t>(s.dim)});
                }
            }
        o.first_result = static_cast<std::uint32_t>(plan.states.size());
        o.once = true;
        for (std::uint32_t x = p.first_result[v]; x < p.first_result[v + 1]; ++x) {
            for (std::uint32_t c = p.first_component[x]; c < p.first_component[x + 1]; ++c) {
                plan.states.push_back(sweep.state(c));
                o.once = o.once && sweep.state(c).what == chunk_state::kind::whole;
            }
            chunk_join<V, X> join{n.values[x], r, {}, 0, {}, false};
            for (std::uint32_t u : p.readers[x])
                if ((!sweep.in_body(u) || p.region[u] != r) &&
                    (join.readers.empty() || !(join.readers.back() == n.vertices[u])))
                    join.readers.push_back(n.vertices[u]);
            if (join.readers.empty()) continue;
            const chunk_state s = sweep.state(p.first_component[x]);
            join.dim = static_cast<std::uint32_t>(s.dim);
            join.how = s.what == chunk_state::kind::sliced   ? recombination::concat
                       : s.what == chunk_state::kind::addend ? recombination::sum
                                                             : recombination::first;
            join.late = !p.writers[p.storage[x]].empty();
            plan.joins.push_back(std::move(join));
        }
        o.once = o.once && p.first_result[v] != p.first_result[v + 1] && p.writes[v].empty();
        o.last_result = static_cast<std::uint32_t>(plan.states.size());
        plan.operations.push_back(o);
    }
    for (std::uint32_t r = 0; r < regions.size(); ++r)
        if (!reached[r] && plan.regions[r].sizes.size() > 1 && !options.skip_refused)
            return unexpected(chunk_error<V>{why::nothing_reached, r, {}, {}, {}});
    return plan;
}

}  // namespace stretto

#endif
