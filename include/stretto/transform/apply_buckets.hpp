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

/// Replays the plan. `g` must be the view from which the plan was made, and the IR must not have changed since. First
/// it calls `move_before` for the fewest moves that give the order of the plan. Then, for each bucket, in front of its
/// first member `pack`, if it packs, and `launch`; in front of the first of its waits `wait`, and `unpack` or `parts`;
/// `replace_uses` once per use of the waits' results; and `erase` once for each of waits, members and casts. Nothing
/// else. Besides the rewriter, O(V log V) and the readers of the results.
template <vertex_list_graph G, bucketing_rewriter<G> R>
    requires indexed_graph<G> && dataflow_graph<G>
void apply_buckets(const bucket_plan<vertex_t<G>, value_t<G>>& plan, G g, R& rewriter) {
    using V = vertex_t<G>;
    using X = value_t<G>;
    if (plan.empty()) return;
    const auto moves = plan_reorder(g, std::span<const V>(plan.order));
    STRETTO_ASSERT(moves.has_value(), "the plan was made for another graph");
    // What is asked of the view is asked before anything changes.
    constexpr std::size_t none = SIZE_MAX;
    std::vector<std::size_t> result_at(g.index_bound(), none);  // by wait: the place of its result among all results
    std::vector<std::vector<V>> readers;                        // by result
    std::vector<std::vector<std::size_t>> sources;              // by bucket and part: the result that it is, if any
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
    std::vector<X> made;  // instead of the results, bucket by bucket: one that needs another comes behind it
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
