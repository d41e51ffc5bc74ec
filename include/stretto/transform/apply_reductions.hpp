// Carries out a reduction_plan on the user's IR.
#ifndef STRETTO_TRANSFORM_APPLY_REDUCTIONS_HPP
#define STRETTO_TRANSFORM_APPLY_REDUCTIONS_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/core/concepts.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/rewriter_concepts.hpp"
#include "stretto/core/value_map.hpp"
#include "stretto/transform/reduction_plan.hpp"

namespace stretto {

/// Applies the plan. Makes these calls for each reduction: `add` once per member after the first, before that member,
/// with its operand as the second summand; `clone` of the last member, before it, on the sum; `clone` of its wait and
/// of the views in `layout`, before the vertex that computes `result`; `replace_uses` once per use of `result`; and
/// `erase` once for each sum, wait and member, readers first. Apart from `insert_before`, calls nothing else. Each
/// clone gets a chunk_part that covers everything: one chunk, whose operand and only result are whole and are one
/// tensor each.
///
/// Where a member sends the result of an earlier reduction of the plan, it sends what replaces that result.
///
/// Preconditions: `g` is the view from which the plan was made, and the IR has not changed since. Besides the calls of
/// the rewriter, takes time linear in index_bound, the vertices of the plan and the readers of its results.
template <dataflow_graph G, reducing_rewriter<G> R>
    requires indexed_graph<G>
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
    // All queries about operands precede the first change of the IR.
    constexpr std::size_t none = SIZE_MAX;
    value_numbering<G> values(g);                   // numbers the results of the vertices that compute results
    std::vector<std::size_t> reduction_of;          // by value: the reduction whose result it is, or none
    std::vector<std::vector<std::size_t>> sources;  // by reduction and member: the reduction whose result it sends
    for (const reduction<V, X>& r : plan.reductions) {
        sources.emplace_back();
        for (const X& x : r.operands) {
            const auto number = values.number(x);
            sources.back().push_back(number == values.none ? none : reduction_of[number]);
        }
        const V v = g.producer(r.result);
        if (!values.contains(v)) values.add(v);
        reduction_of.resize(values.size(), none);
        reduction_of[values.number(r.result)] = sources.size() - 1;
    }
    std::vector<X> made;  // replacements for the results, by reduction
    for (const reduction<V, X>& r : plan.reductions) {
        const auto operand = [&](std::size_t k) {
            const std::size_t source = sources[made.size()][k];
            return source == none ? r.operands[k] : made[source];
        };
        X total = operand(0);
        for (std::size_t k = 1; k < r.members.size(); ++k) {
            rewriter.insert_before(r.members[k]);
            total = rewriter.add(total, operand(k), k == 1 ? r.first_sum : sum_place::first);
        }
        const X launched = like(r.members.back(), total);
        rewriter.insert_before(r.sums.back());
        X whole = like(r.waits.back(), launched);
        for (V view : r.layout) whole = like(view, whole);
        made.push_back(whole);
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
