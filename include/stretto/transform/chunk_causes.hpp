// Finds the root causes of operations that a chunk plan leaves whole. If an operation cannot run per chunk, its results
// stay whole, and so do the operations that read them. A plan lists all operations that stay whole; this header finds
// the first of each chain, with its consequences.
#ifndef STRETTO_TRANSFORM_CHUNK_CAUSES_HPP
#define STRETTO_TRANSFORM_CHUNK_CAUSES_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/vertex_map.hpp"
#include "stretto/transform/chunk_plan.hpp"

namespace stretto {

/// An operation that stays whole for a reason of its own, and its consequences.
template <handle V>
struct chunk_cause {
    V vertex;
    chunk_error<V> why;
    std::size_t refused = 0;     ///< further operations that a token reaches but that stay whole
    std::size_t unreached = 0;   ///< candidates that tokens no longer reach, or reach only as sums, because another
                                 ///< operand is whole: for example an exchange of whole rows by the counts of a chunk
    std::vector<V> exchanges{};  ///< all-to-alls among all these operations, including the cause itself, and
                                 ///< among operations outside the regions that depend on them
};

/// Returns the causes of a plan that was made with `skip_refused`, in program order. An operation that runs once, on
/// sums over the chunks, is a cause only if another operation stays whole because it would need the sum of a single
/// chunk. An operation that stays whole for two reasons counts for the first one that the planner encountered; the
/// other reason appears once the first is removed. Preconditions: `regions` are those of the plan; `g` lists its
/// vertices in a topological order. O(V + E).
template <dataflow_graph G, op_model<G> M>
    requires vertex_list_graph<G> && indexed_graph<G>
[[nodiscard]] std::vector<chunk_cause<vertex_t<G>>> chunk_causes(const chunk_plan<vertex_t<G>, value_t<G>>& plan, G g,
                                                                 const M& ops,
                                                                 std::span<const chunk_region<vertex_t<G>>> regions) {
    using V = vertex_t<G>;
    constexpr std::uint32_t none = UINT32_MAX;
    std::vector<chunk_cause<V>> causes;
    vertex_map<G, std::uint32_t> cause_of(g, none);
    vertex_map<G, char> settled(g, false), candidate(g, false), missed(g, false);
    for (const chunk_region<V>& r : regions)
        for (const V& v : r.candidates) candidate[v] = r.sizes.size() > 1;
    for (const chunked_operation<V>& o : plan.operations) settled[o.vertex] = true;
    for (const refused_operation<V>& o : plan.refused)
        if (!(o.cause == o.vertex)) missed[o.cause] = true;
    for (const refused_operation<V>& o : plan.refused) {
        if (o.why.why == chunk_reason::only_sums && !missed[o.vertex]) continue;
        settled[o.vertex] = true;
        if (!(o.cause == o.vertex)) continue;
        cause_of[o.vertex] = static_cast<std::uint32_t>(causes.size());
        causes.push_back({o.vertex, o.why});
    }
    for (const refused_operation<V>& o : plan.refused) {
        if (o.why.why == chunk_reason::only_sums || o.cause == o.vertex || cause_of[o.cause] == none) continue;
        cause_of[o.vertex] = cause_of[o.cause];
        ++causes[cause_of[o.cause]].refused;
    }
    for (V v : g.vertices()) {
        if (!settled[v]) {
            for (value_t<G> x : g.operands(v))
                if (cause_of[v] == none) cause_of[v] = cause_of[g.producer(x)];
            if (cause_of[v] != none && candidate[v]) ++causes[cause_of[v]].unreached;
        }
        if (cause_of[v] != none && ops.kind(v) == op_kind::start &&
            collective_of<G>(ops, v) == collective_kind::all_to_all)
            causes[cause_of[v]].exchanges.push_back(v);
    }
    return causes;
}

}  // namespace stretto

#endif
