// A program as its view and op model describe it at one moment, for comparison with what a rewriter makes of it. A
// rewriter works in place, so the program as it was must be recorded before.
#ifndef STRETTO_TESTING_DETAIL_PROGRAM_COPY_HPP
#define STRETTO_TESTING_DETAIL_PROGRAM_COPY_HPP

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/testing/finding.hpp"

namespace stretto::detail {

/// One operation. Its handles are compared, never followed.
template <class G>
struct operation_copy {
    using V = vertex_t<G>;
    using X = value_t<G>;

    V vertex{};
    op_kind kind = op_kind::compute;
    collective_kind collective = collective_kind::other;
    group_id group = 0;
    V launch{};  ///< if this is a wait
    std::size_t index = 0;
    std::vector<X> operands, results, effects;
    std::vector<std::vector<X>> aliases;  ///< by result
    std::vector<bytes> sizes;             ///< by result
};

/// The operations of a program, in its order.
template <class G>
using program_copy = std::vector<operation_copy<G>>;

/// Everything that the view and the model say about one operation.
template <class G, class M>
[[nodiscard]] operation_copy<G> copy_operation(const G& g, const M& model, vertex_t<G> v) {
    operation_copy<G> o;
    o.vertex = v;
    o.kind = model.kind(v);
    if (o.kind == op_kind::start) {
        o.collective = collective_of<G>(model, v);
        o.group = group_of<G>(model, v);
    }
    if (o.kind == op_kind::wait) o.launch = launch_of<G>(g, model, v);
    o.index = g.index(v);
    for (value_t<G> x : g.operands(v)) o.operands.push_back(x);
    for_each_effect<G>(model, v, [&](value_t<G> x) { o.effects.push_back(x); });
    for (value_t<G> x : g.results(v)) {
        o.results.push_back(x);
        o.sizes.push_back(allocation_of<G>(model, x));
        o.aliases.emplace_back();
        for_each_alias<G>(model, x, [&](value_t<G> y) { o.aliases.back().push_back(y); });
    }
    return o;
}

/// All operations, in the order of vertices().
template <class G, class M>
[[nodiscard]] program_copy<G> copy_program(const G& g, const M& model) {
    program_copy<G> all;
    for (vertex_t<G> v : g.vertices()) all.push_back(copy_operation(g, model, v));
    return all;
}

/// Compares a rewritten program, `after`, with the operations that it must still have, `expected`, and puts the others,
/// the new ones, into `made`. These must stand together, directly before the one at position `at` of the expected ones;
/// finding::none allows no new ones. `before` only serves to tell an old operation from a new one. Returns a finding
/// without a rule if nothing is wrong; its positions are those in the program after. O(V) if nothing is wrong.
template <class G>
[[nodiscard]] finding match_rewritten(const char* verb, const program_copy<G>& before, const program_copy<G>& expected,
                                      std::size_t at, const program_copy<G>& after, program_copy<G>& made) {
    made.clear();
    std::size_t next = 0;
    for (std::size_t k = 0; k < after.size(); ++k) {
        const operation_copy<G>& o = after[k];
        const auto broken = [&](const char* rule, const char* hint) {
            return finding{.rule = rule, .hint = hint, .vertex = k, .verb = verb};
        };
        // `after` is walked along `expected`: what stands at the same place is compared, and everything else must be
        // new.
        if (next < expected.size() && expected[next].vertex == o.vertex) {
            const operation_copy<G>& e = expected[next++];
            if (o.operands != e.operands)
                return broken("operands",
                              "an operation does not read what it should; the verb changes those it is "
                              "told to, and no others");
            if (o.results != e.results) return broken("results", "an operation that was there has other results");
            if (o.kind != e.kind) return broken("kind", "an operation that was there is of another kind");
            if (o.effects != e.effects)
                return broken("effects",
                              "an operation does not write what it should; what it wrote in place follows "
                              "what it reads");
            continue;
        }
        const auto same = [&](const operation_copy<G>& other) { return other.vertex == o.vertex; };
        // This operation existed before but is not the next one expected: it was moved, or the next one is gone, or it
        // should have been erased. The finding says which.
        if (std::any_of(before.begin(), before.end(), same)) {
            if (next < expected.size() &&
                std::none_of(
                    after.begin(), after.end(),
                    [&](const operation_copy<G>& other) { return other.vertex == expected[next].vertex; }))
                return broken("lost", "an operation that stood before this one is gone, or its handle has changed");
            if (std::any_of(expected.begin(), expected.end(), same))
                return broken("order",
                              "an operation that was there stands somewhere else, or the handle of one that "
                              "stays has changed");
            return broken("erased", "an operation that should be gone is still there");
        }
        if (next != at) return broken("position", "a new operation does not stand where insert_before said");
        made.push_back(o);
    }
    if (next < expected.size())
        return {.rule = "lost",
                .hint = "an operation that was there is gone, or its handle has changed",
                .vertex = next,
                .verb = verb};
    return {};
}

}  // namespace stretto::detail

#endif
