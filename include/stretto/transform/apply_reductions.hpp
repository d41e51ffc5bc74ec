// Carries out a reduction_plan on the user's IR.
#ifndef STRETTO_TRANSFORM_APPLY_REDUCTIONS_HPP
#define STRETTO_TRANSFORM_APPLY_REDUCTIONS_HPP

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "stretto/core/concepts.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/rewriter_concepts.hpp"
#include "stretto/transform/reduction_plan.hpp"

namespace stretto {

/// Applies the plan. Makes these calls for each reduction: `add` once per member after the first, before that member,
/// with its operand as the second summand; `clone` of the last member, before it, on the sum; `clone` of its wait and
/// of the views in `layout`, before the vertex that computes `result`; `replace_uses` once per use of `result`; and
/// `erase` once for each sum, wait and member, readers first. Apart from `insert_before`, calls nothing else. Each
/// clone gets a chunk_part that covers everything: one chunk, whose operand and only result are whole and are one
/// tensor each.
///
/// Preconditions: `g` is the view from which the plan was made, and the IR has not changed since. Besides the calls of
/// the rewriter, takes time linear in the vertices of the plan and the readers of its results.
template <dataflow_graph G, reducing_rewriter<G> R>
void apply_reductions(const reduction_plan<vertex_t<G>, value_t<G>>& plan, G g, R& rewriter) {
    using V = vertex_t<G>;
    using X = value_t<G>;
    const auto like = [&](V v, X operand) {
        const std::array<X, 1> operands = {operand};
        const std::array<chunk_state, 1> whole = {};  // of its operand, and of its only result
        const chunk_part everything{0, 1, 1, {0, 1}, whole, whole};
        X made{};
        for (X x : rewriter.clone(v, std::span<const X>(operands), everything)) made = x;
        return made;
    };
    for (const reduction<V, X>& r : plan.reductions) {
        X total = r.operands[0];
        for (std::size_t k = 1; k < r.members.size(); ++k) {
            rewriter.insert_before(r.members[k]);
            total = rewriter.add(total, r.operands[k], k == 1 ? r.first_sum : sum_place::first);
        }
        const X launched = like(r.members.back(), total);
        rewriter.insert_before(r.sums.back());
        X whole = like(r.waits.back(), launched);
        for (V view : r.layout) whole = like(view, whole);
        std::vector<V> readers;  // replace_uses may change the list
        for (V v : g.consumers(r.result)) readers.push_back(v);
        for (V v : readers) rewriter.replace_uses(v, r.result, whole);
        for (std::size_t k = r.sums.size(); k-- > 0;) rewriter.erase(r.sums[k]);
        for (std::size_t k = r.members.size(); k-- > 0;) {
            rewriter.erase(r.waits[k]);
            rewriter.erase(r.members[k]);
        }
    }
}

}  // namespace stretto

#endif
