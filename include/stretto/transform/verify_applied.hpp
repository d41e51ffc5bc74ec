// Has a chunk plan been carried out? Compares the program after with the program before, operation by operation. Which
// operation of the one comes from which of the other is told by the caller; that it reads what it should is checked.
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

/// All that it needs to know of models: nothing.
template <class G>
struct no_op_model {
    op_kind kind(vertex_t<G>) const { return op_kind::compute; }
};
template <class G>
struct one_component {
    std::size_t components_of(value_t<G>) const { return 1; }
};

}  // namespace detail

/// How many operations of which kind the program after has.
struct applied_counts {
    std::size_t kept = 0, clones = 0, splits = 0, joins = 0, empties = 0, slices = 0;
    friend bool operator==(const applied_counts&, const applied_counts&) = default;
};

/// What the program after is made of, or everything that is wrong with it, in its program order. Kept operations and
/// clones must stand as apply_chunks puts them; they must read what the plan says: outside of a region nobody reads a
/// part, within it every clone reads the parts of its own chunk; parts come from the whole value, recombined values
/// from all parts in their order; memory that is written slice by slice is read when all slices are there. A split,
/// join or write of a slice may take several operations.
///
/// `before` is a view of the program as it was, say of a copy, and the plan one that verify_chunks finds right for it.
/// `origin(v)`, of an operation v of `after`, says where it comes from. It is believed about which rows a split takes
/// or a slice takes and how a join recombines: what operations compute is not looked at. Both views list their vertices
/// in a topological order. Deterministic. O(V + E); finding a value among the results of its producer is linear in
/// their number.
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
