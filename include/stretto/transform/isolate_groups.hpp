// Gives collectives of one class communicators of their own. Collectives of one communicator run one after the other,
// so token exchanges that share the communicator of parameter gathers wait for those, whatever the order.
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

/// A group that is to be added: a further communicator for the ranks of `original`.
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

/// What isolation does to the IR, as a value.
template <handle V>
struct isolation_plan {
    std::size_t groups = 0;                   ///< how many groups the IR had
    std::vector<group_duplicate> duplicates;  ///< which get the ids groups, groups + 1, …, in this order
    std::vector<group_move<V>> moves;         ///< in program order
    friend bool operator==(const isolation_plan&, const isolation_plan&) = default;
};

/// Why groups cannot be told apart.
struct isolation_error {
    enum class reason : std::uint8_t {
        group_out_of_range,  ///< a start uses `group`, which is not in the list
        broken_groups,       ///< `group` contradicts itself, or its original, as `fault` says
    };
    reason why;
    group_id group;
    std::optional<group_fault> fault = {};  ///< of broken groups
};

struct isolation_options {
    std::int32_t priority = 1;  ///< of the communicators that are added
};

/// Plans that no start for which `wanted(v)` holds shares its group with one for which it does not. What shares moves
/// to a duplicate of its group with the same ranks in the same order: to one that the list of groups has already and
/// that no other class uses, such as one that was made for an earlier graph, and otherwise to a new one, a single one
/// for each group. Two groups are one communicator if they have the same id; that their ranks are equal says nothing.
/// Order, dependences and all other collectives stay. A plan for what is isolated already is empty. O(V + groups²).
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

    std::vector<char> by_wanted(plan.groups, false), by_others(plan.groups, false);
    for (const vertex_t<G> v : view.vertices()) {
        if (model.kind(v) != op_kind::start) continue;
        const group_id group = group_of<G>(model, v);
        if (group >= plan.groups) return unexpected(isolation_error{why::group_out_of_range, group});
        (wanted(v) ? by_wanted : by_others)[group] = true;
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

/// Plans that all-to-alls share no group with other collectives.
template <vertex_list_graph G, op_model<G> M, group_model L>
[[nodiscard]] expected<isolation_plan<vertex_t<G>>, isolation_error> plan_isolation(G view, const M& model,
                                                                                    const L& groups) {
    return plan_isolation(view, model, groups,
                          [&](vertex_t<G> v) { return collective_of<G>(model, v) == collective_kind::all_to_all; });
}

/// Adds the groups and moves the starts. It cannot fail.
template <class V, class R>
void apply(const isolation_plan<V>& plan, R&& rewriter)
    requires requires(V v, group_id g) { rewriter.set_group(v, rewriter.duplicate_group(g, 0)); }
{
    std::vector<group_id> made;  // as the rewriter names them
    for (const group_duplicate& d : plan.duplicates) made.push_back(rewriter.duplicate_group(d.original, d.priority));
    for (const group_move<V>& m : plan.moves)
        rewriter.set_group(m.vertex, m.to < plan.groups ? m.to : made[m.to - plan.groups]);
}

}  // namespace stretto

#endif
