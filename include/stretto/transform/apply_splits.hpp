// Carries out a split_plan on the user's IR.
#ifndef STRETTO_TRANSFORM_APPLY_SPLITS_HPP
#define STRETTO_TRANSFORM_APPLY_SPLITS_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/core/concepts.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/rewriter_concepts.hpp"
#include "stretto/core/value_map.hpp"
#include "stretto/transform/split_plan.hpp"

namespace stretto {

/// Applies the plan. Makes these calls for each bucket: `launch_part` once per member, in the order of the payload,
/// before the start of the bucket; `wait_part` likewise, before its wait; `replace_uses` once per use of the results;
/// and `erase` once for each unpack, the wait, the start and each pack, readers first. Apart from `insert_before`,
/// calls nothing else.
///
/// Preconditions: `g` is the view from which the plan was made, and the IR has not changed since. Besides the calls of
/// the rewriter, takes time linear in the vertices of the plan and the readers of its results.
template <dataflow_graph G, splitting_rewriter<G> R>
    requires indexed_graph<G>
void apply_splits(const split_plan<vertex_t<G>, value_t<G>>& plan, G g, R& rewriter) {
    using V = vertex_t<G>;
    using X = value_t<G>;
    // All queries of the view precede the first change of the IR. A part may be a result of an earlier bucket.
    constexpr std::size_t none = SIZE_MAX;
    value_numbering<G> values(g);                   // numbers the vertices that compute results
    std::vector<std::size_t> result_at;             // by value: its position among all results
    std::vector<std::vector<V>> readers;            // by result
    std::vector<std::vector<std::size_t>> sources;  // by bucket and part: which result the part is, if any
    for (const bucket_split<V, X>& b : plan.buckets) {
        sources.emplace_back();
        for (const X& x : b.parts) {
            const auto number = values.number(x);
            sources.back().push_back(number == values.none ? none : result_at[number]);
        }
        for (const X& x : b.results) {
            const V v = g.producer(x);
            if (!values.contains(v)) values.add(v);
            result_at.resize(values.size(), none);
            result_at[values.number(x)] = readers.size();
            readers.emplace_back();
            for (V reader : g.consumers(x)) readers.back().push_back(reader);
        }
    }
    std::vector<X> made;  // replacements for the results, bucket by bucket
    for (std::size_t k = 0; k < plan.buckets.size(); ++k) {
        const bucket_split<V, X>& b = plan.buckets[k];
        std::vector<X> launched;
        rewriter.insert_before(b.start);
        for (std::size_t i = 0; i < b.parts.size(); ++i)
            launched.push_back(
                rewriter.launch_part(b.start, i, sources[k][i] == none ? b.parts[i] : made[sources[k][i]]));
        rewriter.insert_before(b.wait);
        for (std::size_t i = 0; i < b.parts.size(); ++i)
            made.push_back(rewriter.wait_part(b.wait, i, launched[i], b.results[i]));
        for (std::size_t i = 0; i < b.parts.size(); ++i) {
            const std::size_t at = made.size() - b.parts.size() + i;
            for (V v : readers[at]) rewriter.replace_uses(v, b.results[i], made[at]);
        }
        for (std::size_t i = b.unpacks.size(); i-- > 0;) rewriter.erase(b.unpacks[i]);
        rewriter.erase(b.wait);
        rewriter.erase(b.start);
        for (std::size_t i = b.packs.size(); i-- > 0;) rewriter.erase(b.packs[i]);
    }
}

}  // namespace stretto

#endif
