// What planning and verifying merged collectives have to know of a program, by position in program order: a
// transcription of the view and the op model, without any judgement.
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

/// Positions of vertices and numbers of values are 32-bit; `none` stands for neither.
template <dependence_graph G>
    requires dataflow_graph<G>
struct program_facts {
    static constexpr std::uint32_t none = UINT32_MAX;

    explicit program_facts(G g) : graph(g), values(g), position(g.index_bound(), none) {}

    [[nodiscard]] std::uint32_t position_of(vertex_t<G> v) const {
        const std::size_t i = graph.index(v);
        return i < position.size() && position[i] != none && vertex[position[i]] == v ? position[i] : none;
    }
    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(vertex.size()); }
    /// The number of the only result of the vertex at p; none if it has none or several.
    [[nodiscard]] std::uint32_t only_result(std::uint32_t p) const {
        return first_result[p + 1] - first_result[p] == 1 ? first_result[p] : none;
    }

    G graph;
    std::vector<vertex_t<G>> vertex;
    value_numbering<G> values;
    std::vector<std::uint32_t> position;      ///< by index of a vertex
    std::vector<std::uint32_t> first_result;  ///< by position, and one more
    std::vector<std::uint32_t> producer;      ///< by value: a position
    std::vector<op_kind> kind;
    std::vector<std::uint32_t> launch;  ///< by position, of waits: the position of the start, or none
    index_lists operands, writes;       ///< by position: values
    index_lists consumers;              ///< by value: positions, once for each use
    index_lists storages;               ///< by value: the values in whose memory it lives
};

/// O(V + E + aliases). A value lives in memory of its own if it allocates, or if it aliases nothing.
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
    for (std::uint32_t p = 0; p < f.size(); ++p) {
        const vertex_t<G> v = f.vertex[p];
        for (value_t<G> x : g.operands(v)) f.operands.push(f.values.number(x));
        f.operands.close_row();
        for_each_effect<G>(model, v, [&](value_t<G> x) { f.writes.push(f.values.number(x)); });
        f.writes.close_row();
        const vertex_t<G> s = f.kind[p] == op_kind::wait ? launch_of(g, model, v) : v;
        f.launch.push_back(s == v ? f.none : f.position_of(s));
        for (std::uint32_t x = f.first_result[p]; x < f.first_result[p + 1]; ++x) {
            row.clear();
            bool aliases = false;
            for_each_alias<G>(model, f.values.value(x), [&](value_t<G> y) {
                aliases = true;
                const std::uint32_t n = f.values.number(y);
                if (n >= f.storages.rows()) return;  // itself, or a later result
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
    return f;
}

/// Which vertices use a memory, and which of them write it: a use is a read, a write, a wait for a collective that
/// reads it, and a result that lives in it. O(V + E + storages).
template <class Facts>
class storage_uses {
public:
    explicit storage_uses(const Facts& f) {
        index_lists used, written;
        for (std::uint32_t p = 0; p < f.size(); ++p) {
            const auto use = [&](std::uint32_t x) {
                for (std::uint32_t s : f.storages[x]) used.push(s);
            };
            for (std::uint32_t x : f.operands[p]) use(x);
            for (std::uint32_t x = f.first_result[p]; x < f.first_result[p + 1]; ++x) use(x);
            for (std::uint32_t x : f.writes[p]) {
                use(x);
                for (std::uint32_t s : f.storages[x]) written.push(s);
            }
            if (f.launch[p] != Facts::none)
                for (std::uint32_t x : f.operands[f.launch[p]]) use(x);
            used.close_row();
            written.close_row();
        }
        users_ = used.inverse(f.values.size());
        writers_ = written.inverse(f.values.size());
    }

    /// Positions, ascending; one occurs as often as it uses the memory.
    [[nodiscard]] std::span<const std::uint32_t> users(std::uint32_t storage) const { return users_[storage]; }
    [[nodiscard]] std::span<const std::uint32_t> writers(std::uint32_t storage) const { return writers_[storage]; }

private:
    index_lists users_, writers_;
};

}  // namespace stretto::detail

#endif
