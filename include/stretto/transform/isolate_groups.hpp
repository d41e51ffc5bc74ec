// Gives one class of collectives communicators of its own. The collectives of a communicator run one after another, so
// token exchanges that share a communicator with parameter gathers wait for these in any program order.
#ifndef STRETTO_TRANSFORM_ISOLATE_GROUPS_HPP
#define STRETTO_TRANSFORM_ISOLATE_GROUPS_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "stretto/core/expected.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/process_groups.hpp"
#include "stretto/core/rewriter_concepts.hpp"

namespace stretto {

/// A group to be added: a further communicator for the ranks of `original`.
struct group_duplicate {
    group_id original = no_group;
    std::int32_t priority = 0;
    friend bool operator==(const group_duplicate&, const group_duplicate&) = default;
};

/// The start `vertex` moves from one group to another.
template <handle V>
struct group_move {
    V vertex;
    group_id from = no_group;
    group_id to = no_group;
    friend bool operator==(const group_move&, const group_move&) = default;
};

/// An isolation of groups as a value.
template <handle V>
struct isolation_plan {
    std::size_t groups = 0;                   ///< the number of groups in the IR
    std::vector<group_duplicate> duplicates;  ///< new groups, with ids groups, groups + 1, …, in this order
    std::vector<group_move<V>> moves;         ///< in program order
    friend bool operator==(const isolation_plan&, const isolation_plan&) = default;
};

/// Why collectives cannot be given separate groups.
struct isolation_error {
    enum class reason : std::uint8_t {
        group_out_of_range,  ///< a start uses `group`, which is not in the list of groups
        broken_groups,       ///< `group` is inconsistent, in itself or with its original, as `fault` describes
    };
    reason why;
    group_id group;
    std::optional<group_fault> fault = {};  ///< for broken_groups
};

/// Choices of plan_isolation.
struct isolation_options {
    std::int32_t priority = 1;  ///< priority of the new communicators
};

/// Plans a change of groups after which no start for which `wanted(v)` is true shares its group with a start for which
/// it is false. Each wanted start that shares its group moves to a duplicate of the group, with the same ranks in the
/// same order. If the list already has such a duplicate that no other class uses (for example one that was made for an
/// earlier graph), that one is used; otherwise one new duplicate is added per group. Two groups are the same
/// communicator if and only if their ids are equal; equal ranks are not enough. The order, the dependences and all
/// other collectives do not change. The plan is empty if the class is isolated already. All ranks of a group must plan
/// on the same graph, because they create its duplicate together. Deterministic. O(V + groups²), plus the check of the
/// list of groups (first_fault).
template <vertex_list_graph G, op_model<G> M, group_model L, class Wanted>
[[nodiscard]] expected<isolation_plan<vertex_t<G>>, isolation_error> plan_isolation(G view, const M& model,
                                                                                    const L& groups,
                                                                                    const Wanted& wanted,
                                                                                    isolation_options options = {}) {
    using why = isolation_error::reason;
    if (const auto fault = first_fault(groups))
        return unexpected(isolation_error{why::broken_groups, fault->group, fault});
    isolation_plan<vertex_t<G>> plan;
    plan.groups = static_cast<std::size_t>(groups.group_count());

    std::vector<char> by_others(plan.groups, false);  // whether starts that are not wanted use a group
    for (const vertex_t<G> v : view.vertices()) {
        if (model.kind(v) != op_kind::start) continue;
        const group_id group = group_of<G>(model, v);
        if (group >= plan.groups) return unexpected(isolation_error{why::group_out_of_range, group});
        if (!wanted(v)) by_others[group] = true;
    }

    std::vector<group_id> target(plan.groups, no_group);
    const auto target_of = [&](group_id shared) {
        for (group_id g = 0; g < plan.groups; ++g) {
            const process_group known = groups.group_at(g);
            if (known.duplicate_of == shared && !by_others[g]) return g;
        }
        plan.duplicates.push_back({shared, options.priority});
        return static_cast<group_id>(plan.groups + plan.duplicates.size() - 1);
    };
    for (const vertex_t<G> v : view.vertices()) {
        if (model.kind(v) != op_kind::start) continue;
        const group_id from = group_of<G>(model, v);
        if (!by_others[from] || !wanted(v)) continue;
        if (target[from] == no_group) target[from] = target_of(from);
        plan.moves.push_back({v, from, target[from]});
    }
    return plan;
}

/// Plans a change of groups after which all-to-alls share no group with other collectives.
template <vertex_list_graph G, op_model<G> M, group_model L>
[[nodiscard]] expected<isolation_plan<vertex_t<G>>, isolation_error> plan_isolation(G view, const M& model,
                                                                                    const L& groups) {
    return plan_isolation(view, model, groups,
                          [&](vertex_t<G> v) { return collective_of<G>(model, v) == collective_kind::all_to_all; });
}

/// Adds the groups and moves the starts. Cannot fail. Makes O(duplicates + moves) calls of the rewriter.
template <class V, class R>
void apply(const isolation_plan<V>& plan, R&& rewriter)
    requires requires(V v, group_id g) { rewriter.set_group(v, rewriter.duplicate_group(g, 0)); }
{
    std::vector<group_id> made;  // the ids that the rewriter has assigned
    for (const group_duplicate& d : plan.duplicates) made.push_back(rewriter.duplicate_group(d.original, d.priority));
    for (const group_move<V>& m : plan.moves)
        rewriter.set_group(m.vertex, m.to < plan.groups ? m.to : made[m.to - plan.groups]);
}

}  // namespace stretto

#endif
