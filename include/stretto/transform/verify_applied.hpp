// Verifies that a chunk plan was applied correctly. The program after the transformation is compared with the program
// before it, operation by operation. The caller says where each operation comes from; the verifier checks what it
// reads.
#ifndef STRETTO_TRANSFORM_VERIFY_APPLIED_HPP
#define STRETTO_TRANSFORM_VERIFY_APPLIED_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/core/concepts.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/transform/chunk_plan.hpp"
#include "stretto/transform/detail/verify_applied_rules.hpp"
#include "stretto/transform/detail/verify_replay.hpp"

namespace stretto {
namespace detail {

/// Models with no information: the verification does not need any.
template <class G>
struct no_op_model {
    op_kind kind(vertex_t<G>) const { return op_kind::compute; }
};
template <class G>
struct one_component {
    std::size_t components_of(value_t<G>) const { return 1; }
};

}  // namespace detail

/// The number of operations of each kind in the transformed program.
struct applied_counts {
    std::size_t kept = 0, clones = 0, splits = 0, joins = 0, empties = 0, slices = 0;
    friend bool operator==(const applied_counts&, const applied_counts&) = default;
};

/// Returns the number of operations of each kind if the plan was applied correctly. The error is the list of everything
/// that is wrong, in the order of the transformed program. Kept operations and clones must be at the positions where
/// apply_chunks puts them, and they must read what the plan says. No operation outside a region reads a part; inside
/// it, every clone reads the parts of its own chunk. Parts come from the whole value, and recombined values from all
/// parts in order. Memory that is written slice by slice is read only after all slices have been written. A split, a
/// join or a slice write may consist of several operations.
///
/// `before` is a view of the original program (of a copy, for example). `origin(v)` returns the origin of operation v
/// of `after`. The verifier trusts it on which rows a split or a slice takes and how a join recombines, because it does
/// not look at what operations compute. Preconditions: both views list their vertices in a topological order;
/// verify_chunks accepts the plan for `before`. The result is deterministic. Takes O(V + E) time, plus a search among
/// the results of the producer for each use of a value.
template <dependence_graph G, dependence_graph H, class Origin>
    requires dataflow_graph<G> && dataflow_graph<H> && requires(const Origin& origin, vertex_t<H> v) {
        { origin(v) } -> std::convertible_to<applied_origin<vertex_t<G>, value_t<G>>>;
    }
[[nodiscard]] expected<applied_counts, std::vector<applied_violation<vertex_t<H>, vertex_t<G>>>> verify_applied(
    const chunk_plan<vertex_t<G>, value_t<G>>& plan, G before, H after, Origin origin) {
    using what = typename applied_origin<vertex_t<G>, value_t<G>>::kind;
    std::vector<chunk_violation<vertex_t<G>>> unfit;
    const detail::verify_facts<G> facts =
        detail::gather_verify_facts(before, detail::no_op_model<G>{}, detail::one_component<G>{});
    detail::verify_structure<G> structure(plan, facts, unfit);
    std::vector<applied_violation<vertex_t<H>, vertex_t<G>>> found;
    if (!structure.match_handles()) {
        found.push_back({applied_rule::plan_unfit, {}, unfit[0].vertex});
        return unexpected(std::move(found));
    }
    applied_counts counts;
    detail::verify_replay<G, H> replay(structure, after, found);
    for (vertex_t<H> v : after.vertices()) {
        const applied_origin<vertex_t<G>, value_t<G>> from = origin(v);
        counts.kept += from.what == what::kept;
        counts.clones += from.what == what::clone;
        counts.splits += from.what == what::split;
        counts.joins += from.what == what::join;
        counts.empties += from.what == what::empty;
        counts.slices += from.what == what::slice;
        replay.meet(v, from);
    }
    replay.finish();
    if (!found.empty()) return unexpected(std::move(found));
    return counts;
}

}  // namespace stretto

#endif
