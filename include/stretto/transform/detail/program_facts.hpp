// What a view and an op model say about a program, copied into arrays that are indexed by position in program order.
// The planners and verifiers of buckets, splits and reductions read it. It contains facts and makes no decisions, so a
// verifier may share it with the planner that it checks.
#ifndef STRETTO_TRANSFORM_DETAIL_PROGRAM_FACTS_HPP
#define STRETTO_TRANSFORM_DETAIL_PROGRAM_FACTS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/core/checked_index.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/index_lists.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/value_map.hpp"

namespace stretto::detail {

/// The facts. Vertices are named by their positions, values by their numbers; `none` stands for no vertex or no value.
template <dependence_graph G>
    requires dataflow_graph<G>
struct program_facts {
    static constexpr std::uint32_t none = UINT32_MAX;

    explicit program_facts(G g) : graph(g), values(g), position(g.index_bound(), none) {}

    /// The position of v; none if the graph did not list it.
    [[nodiscard]] std::uint32_t position_of(vertex_t<G> v) const {
        const std::size_t i = graph.index(v);
        return i < position.size() && position[i] != none && vertex[position[i]] == v ? position[i] : none;
    }
    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(vertex.size()); }
    /// The number of the only result of the vertex at p; none if it has no result, or several.
    [[nodiscard]] std::uint32_t only_result(std::uint32_t p) const {
        return first_result[p + 1] - first_result[p] == 1 ? first_result[p] : none;
    }

    G graph;
    std::vector<vertex_t<G>> vertex;  ///< by position
    value_numbering<G> values;
    std::vector<std::uint32_t> position;      ///< by index of a vertex
    std::vector<std::uint32_t> first_result;  ///< by position, with one more entry: a number of a value
    std::vector<std::uint32_t> producer;      ///< by value: a position
    std::vector<op_kind> kind;
    std::vector<std::uint32_t> launch;  ///< by position: the start for which a wait waits, or none
    index_lists waits;                  ///< by position of a start: the positions of its waits, ascending
    index_lists operands, writes;       ///< by position: numbers of values
    index_lists consumers;              ///< by value: positions, once for each use
    index_lists storages;               ///< by value: the storages in which it lives; a storage is named by its owner
};

/// Reads the facts from the view and the model. A value owns a storage if it allocates bytes or aliases nothing, and it
/// lives in all storages of the values that it aliases. O(V + E + aliases). Precondition: the view lists the producers
/// of all values that its vertices read or write.
template <dependence_graph G, op_model<G> M>
    requires dataflow_graph<G>
[[nodiscard]] program_facts<G> gather_program_facts(G g, const M& model) {
    program_facts<G> f(g);
    for (vertex_t<G> v : g.vertices()) {
        f.position[checked_index(g, v, f.position.size())] = f.size();
        f.vertex.push_back(v);
        f.first_result.push_back(f.values.add(v));
        f.producer.resize(f.values.size(), f.size() - 1);
        f.kind.push_back(model.kind(v));
    }
    f.first_result.push_back(f.values.size());
    std::vector<std::uint32_t> row;
    index_lists launches;  // by position: the start for which a wait waits
    for (std::uint32_t p = 0; p < f.size(); ++p) {
        const vertex_t<G> v = f.vertex[p];
        for (value_t<G> x : g.operands(v)) f.operands.push(f.values.number(x));
        f.operands.close_row();
        for_each_effect<G>(model, v, [&](value_t<G> x) { f.writes.push(f.values.number(x)); });
        f.writes.close_row();
        const vertex_t<G> s = f.kind[p] == op_kind::wait ? launch_of(g, model, v) : v;
        f.launch.push_back(s == v ? f.none : f.position_of(s));
        if (f.launch.back() != f.none) launches.push(f.launch.back());
        launches.close_row();
        for (std::uint32_t x = f.first_result[p]; x < f.first_result[p + 1]; ++x) {
            row.clear();
            bool aliases = false;
            for_each_alias<G>(model, f.values.value(x), [&](value_t<G> y) {
                aliases = true;
                const std::uint32_t n = f.values.number(y);
                if (n >= f.storages.rows()) return;  // only aliases of earlier values count
                row.insert(row.end(), f.storages[n].begin(), f.storages[n].end());
            });
            if (!aliases || allocation_of<G>(model, f.values.value(x)).count > 0) row.push_back(x);
            std::sort(row.begin(), row.end());
            row.erase(std::unique(row.begin(), row.end()), row.end());
            for (std::uint32_t s_of_x : row) f.storages.push(s_of_x);
            f.storages.close_row();
        }
    }
    f.consumers = f.operands.inverse(f.values.size());
    f.waits = launches.inverse(f.size());
    return f;
}

/// Calls f(storage) for everything that the vertex at p of a program with these facts writes: the storages that it
/// writes in place; for a start, also the storages of other values in which its results live; and, if it is the first
/// wait for its start, everything that the start fills. `first_wait` says whether a wait is the first one for its
/// start. A storage may occur several times.
template <class Facts, class F>
void for_each_written(const Facts& facts, std::uint32_t p, bool first_wait, F f) {
    for (std::uint32_t x : facts.writes[p])
        for (std::uint32_t s : facts.storages[x]) f(s);
    const std::uint32_t start = facts.kind[p] == op_kind::start ? p : facts.launch[p];
    if (start == Facts::none || (start != p && !first_wait)) return;
    for (std::uint32_t x = facts.first_result[start]; x < facts.first_result[start + 1]; ++x)
        for (std::uint32_t s : facts.storages[x])
            if (start != p || s < facts.first_result[start] || s >= facts.first_result[start + 1]) f(s);
    if (start != p)
        for (std::uint32_t x : facts.writes[start])
            for (std::uint32_t s : facts.storages[x]) f(s);
}

/// Which vertices use each storage, and which write it. A vertex uses a storage if it reads or writes a value in it, if
/// one of its results lives in it, or if it waits for a collective that reads a value in it. for_each_written says what
/// a vertex writes. O(V + E + storages).
template <class Facts>
class storage_uses {
public:
    explicit storage_uses(const Facts& f) {
        index_lists used, written;
        std::vector<char> waited(f.size(), false);  // by position of a start: whether a wait for it has been visited
        for (std::uint32_t p = 0; p < f.size(); ++p) {
            const auto use = [&](std::uint32_t x) {
                for (std::uint32_t s : f.storages[x]) used.push(s);
            };
            for (std::uint32_t x : f.operands[p]) use(x);
            for (std::uint32_t x = f.first_result[p]; x < f.first_result[p + 1]; ++x) use(x);
            const std::uint32_t start = f.launch[p];
            for_each_written(f, p, start != Facts::none && !waited[start], [&](std::uint32_t s) {
                used.push(s);
                written.push(s);
            });
            if (start != Facts::none) {
                waited[start] = true;
                for (std::uint32_t x : f.operands[start]) use(x);
            }
            used.close_row();
            written.close_row();
        }
        users_ = used.inverse(f.values.size());
        writers_ = written.inverse(f.values.size());
    }

    /// Positions in ascending order. A position occurs once for each of its uses.
    [[nodiscard]] std::span<const std::uint32_t> users(std::uint32_t storage) const { return users_[storage]; }
    /// The same for writes.
    [[nodiscard]] std::span<const std::uint32_t> writers(std::uint32_t storage) const { return writers_[storage]; }

private:
    index_lists users_, writers_;
};

}  // namespace stretto::detail

#endif
