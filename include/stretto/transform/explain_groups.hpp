// Explains in sentences, with the caller's names of groups, what is wrong with a list of process groups, or why
// collectives cannot be given separate groups. (Names are not constrained by a concept, as in
// schedule/explain_errors.hpp.)
#ifndef STRETTO_TRANSFORM_EXPLAIN_GROUPS_HPP
#define STRETTO_TRANSFORM_EXPLAIN_GROUPS_HPP

#include <string>
#include <string_view>

#include "stretto/core/process_groups.hpp"
#include "stretto/transform/isolate_groups.hpp"

namespace stretto {

/// Returns the spelling of the enumerator.
[[nodiscard]] constexpr std::string_view name_of(group_fault::reason reason) noexcept {
    using why = group_fault::reason;
    switch (reason) {
        case why::other_id:
            return "other_id";
        case why::no_rank:
            return "no_rank";
        case why::no_rank_on_node:
            return "no_rank_on_node";
        case why::rank_count:
            return "rank_count";
        case why::rank_twice:
            return "rank_twice";
        case why::unknown_original:
            return "unknown_original";
        case why::other_ranks_than_original:
            break;
    }
    return "other_ranks_than_original";
}

/// Returns the spelling of the enumerator.
[[nodiscard]] constexpr std::string_view name_of(isolation_error::reason reason) noexcept {
    return reason == isolation_error::reason::group_out_of_range ? "group_out_of_range" : "broken_groups";
}

/// Explains in a sentence what is wrong with a list of groups. `name(id)` returns the name of a group; it is also
/// called for ids that are not in the list.
template <class Name>
[[nodiscard]] std::string explain(const group_fault& f, const Name& name) {
    using why = group_fault::reason;
    const auto called = [&](group_id id) { return std::string(std::string_view(name(id))); };
    const std::string group = called(f.group);
    switch (f.why) {
        case why::other_id:
            return group + " is number " + std::to_string(f.group) + " of the list, and says that its id is " +
                   std::to_string(f.other);
        case why::no_rank:
            return group + " has fewer than one rank";
        case why::no_rank_on_node:
            return group + " has fewer than one rank on a node";
        case why::rank_count:
            return group + " lists more or fewer ranks than its size";
        case why::rank_twice:
            return group + " lists rank " + std::to_string(f.rank) + " twice";
        case why::unknown_original:
            return group + " duplicates " + called(f.other) + ", which does not stand before it in the list";
        case why::other_ranks_than_original:
            break;
    }
    return group + " duplicates " + called(f.other) + ", which has other ranks, or has them in another order";
}

/// Explains in a sentence why collectives cannot be given separate groups.
template <class Name>
[[nodiscard]] std::string explain(const isolation_error& e, const Name& name) {
    if (e.fault) return explain(*e.fault, name);
    return "a collective is launched in " + std::string(std::string_view(name(e.group))) +
           ", which is not in the list of groups";
}

}  // namespace stretto

#endif
