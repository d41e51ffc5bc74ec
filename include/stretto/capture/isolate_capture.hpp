// Writes a captured step in which some collectives, such as token exchanges, have communicators of their own
// (transform/isolate_groups.hpp).
#ifndef STRETTO_CAPTURE_ISOLATE_CAPTURE_HPP
#define STRETTO_CAPTURE_ISOLATE_CAPTURE_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_builder.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/transform/isolate_groups.hpp"

namespace stretto {

namespace detail {

/// The group_rewriter that collects the changes of an isolation plan. It drops priorities, for which the format has no
/// member.
struct group_changes {
    std::vector<capture_group> groups;  // all, the new ones last
    std::vector<group_id> of_node;

    explicit group_changes(const capture& step) : groups(step.groups().begin(), step.groups().end()) {
        for (std::uint32_t v = 0; v < step.size(); ++v) of_node.push_back(step.group(v));
    }
    group_id duplicate_group(group_id original, std::int32_t) {
        capture_group g = groups[original];
        const std::string stem = g.name;
        for (int k = 2; is_taken(g.name); ++k) g.name = stem + "." + std::to_string(k);
        g.duplicate_of = original;
        groups.push_back(std::move(g));
        return static_cast<group_id>(groups.size() - 1);
    }
    void set_group(std::uint32_t v, group_id group) { of_node[v] = group; }

private:
    [[nodiscard]] bool is_taken(const std::string& name) const {
        for (const capture_group& g : groups)
            if (g.name == name) return true;
        return false;
    }
};

}  // namespace detail

/// Returns the step with the groups and the moves of a plan. A new group has the name of its original with the suffix
/// ".2", or the next free number; it lists the same ranks, refers to its original in `duplicate_of`, and has the same
/// costs. Arguments are not changed. Precondition: `plan` was made for `step`. O(size log size).
[[nodiscard]] inline capture isolated(const capture& step, const isolation_plan<std::uint32_t>& plan) {
    detail::group_changes changes(step);
    apply(plan, changes);
    capture_builder made = capture_builder::like(step);
    for (std::size_t g = step.groups().size(); g < changes.groups.size(); ++g) made.add_group(changes.groups[g]);
    for (std::uint32_t v = 0; v < step.size(); ++v) {
        capture_node node = node_of(step, v);
        node.group = changes.of_node[v];
        made.append(node);
    }
    return *std::move(made).build();
}

}  // namespace stretto

#endif
