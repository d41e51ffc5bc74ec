// Carries out a bucket_plan on the user's IR.
#ifndef STRETTO_TRANSFORM_APPLY_BUCKETS_HPP
#define STRETTO_TRANSFORM_APPLY_BUCKETS_HPP

#include <cstddef>
#include <span>
#include <vector>

#include "stretto/core/concepts.hpp"
#include "stretto/core/config.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/rewriter_concepts.hpp"
#include "stretto/transform/bucket_plan.hpp"
#include "stretto/transform/reorder.hpp"

namespace stretto {

/// Applies the plan. First calls `move_before` for the fewest moves that establish the order of the plan. Then makes
/// these calls for each bucket: `pack` (in pack mode) and `launch`, before its first member; `wait`, and `unpack` or
/// `parts`, before its first wait; `replace_uses` once per use of the results of its waits; and `erase` once for each
/// of its waits, members and casts. Apart from `insert_before`, calls nothing else.
///
/// Preconditions: `g` is the view from which the plan was made, and the IR has not changed since. Besides the calls of
/// the rewriter, takes O(V log V) time plus the number of readers of the results.
template <vertex_list_graph G, bucketing_rewriter<G> R>
    requires indexed_graph<G> && dataflow_graph<G>
void apply_buckets(const bucket_plan<vertex_t<G>, value_t<G>>& plan, G g, R& rewriter) {
    using V = vertex_t<G>;
    using X = value_t<G>;
    if (plan.empty()) return;
    const auto moves = plan_reorder(g, std::span<const V>(plan.order));
    STRETTO_ASSERT(moves.has_value(), "the plan was made for another graph");
    // All queries of the view precede the first change of the IR.
    constexpr std::size_t none = SIZE_MAX;
    std::vector<std::size_t> result_at(g.index_bound(), none);  // by wait: the position of its result among all results
    std::vector<std::vector<V>> readers;                        // by result
    std::vector<std::vector<std::size_t>> sources;              // by bucket and part: which result the part is, if any
    for (const bucket<V, X>& b : plan.buckets)
        for (std::size_t k = 0; k < b.waits.size(); ++k) {
            result_at[g.index(b.waits[k])] = readers.size();
            readers.emplace_back();
            for (V v : g.consumers(b.results[k])) readers.back().push_back(v);
        }
    for (const bucket<V, X>& b : plan.buckets) {
        sources.emplace_back();
        for (const X& x : b.parts) sources.back().push_back(result_at[g.index(g.producer(x))]);
    }
    apply(*moves, rewriter);
    std::vector<X>
        made;  // replacements for the results, bucket by bucket: a bucket comes after those whose results it needs
    for (std::size_t k = 0; k < plan.buckets.size(); ++k) {
        const bucket<V, X>& b = plan.buckets[k];
        const std::span<const V> members(b.members), waits(b.waits);
        std::vector<X> payload = b.parts;
        for (std::size_t i = 0; i < payload.size(); ++i)
            if (sources[k][i] != none) payload[i] = made[sources[k][i]];
        rewriter.insert_before(b.members.front());
        if (b.mode == bucket_mode::pack) payload = {rewriter.pack(members, std::span<const X>(payload))};
        const X launched = rewriter.launch(members, std::span<const X>(payload));
        rewriter.insert_before(b.waits.front());
        const X arrived = rewriter.wait(waits, launched);
        const std::size_t first = made.size();
        const auto replace = [&](const auto& results) {
            for (const X& x : results) {
                const X& old = b.results[made.size() - first];
                for (const V& v : readers[made.size()]) rewriter.replace_uses(v, old, x);
                made.push_back(x);
            }
        };
        if (b.mode == bucket_mode::pack) replace(rewriter.unpack(waits, arrived));
        else replace(rewriter.parts(waits, arrived));
        for (const V& v : b.waits) rewriter.erase(v);
        for (const V& v : b.members) rewriter.erase(v);
        for (const V& v : b.casts) rewriter.erase(v);
    }
}

}  // namespace stretto

#endif
