// Writes any program as a captured step: the contents of a task graph, under the caller's names, in the format that the
// tool reads. So stretto-plan can plan a program of any IR, draw it and compare it with its run.
#ifndef STRETTO_CAPTURE_CAPTURE_OF_TASKS_HPP
#define STRETTO_CAPTURE_CAPTURE_OF_TASKS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_builder.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/schedule/task_labels.hpp"

namespace stretto {

/// Returns the step with a node for each task, in program order: kinds, durations, memory, groups and dependences are
/// those of the tasks, names and operators those of `labels`. For every order, its times equal those of the tasks. So
/// does its memory if no task has several results; several results of one task become one value, which lives as long as
/// the longest-lived of them. Shapes and arguments are unknown, so such a step can be ordered, but not cut into chunks.
/// `groups` are those to which starts refer by number. Errors: names that occur twice, a missing group, a collective
/// that the format does not have. O(V log V + E), plus the text of the names, plus, for each task, the square of the
/// number of its dependences.
template <task_labels L>
[[nodiscard]] expected<capture, diagnostic> capture_of_tasks(const task_graph& g, std::string_view name,
                                                             std::span<const capture_group> groups, const L& labels) {
    capture_builder made{std::string(name)};
    for (const capture_group& group : groups) made.add_group(group);
    const auto contains = [](const auto& list, std::uint32_t x) {
        return std::find(list.begin(), list.end(), x) != list.end();
    };
    const auto add_once = [&](std::vector<std::uint32_t>& to, std::uint32_t v) {
        if (!contains(to, v)) to.push_back(v);
    };
    for (task_id t = 0; t < g.size(); ++t) {
        // Labels may return temporaries, and a node only refers to its text.
        const std::string called(labels.name(t)), op(labels.op(t));
        capture_node n;
        n.name = called;
        n.op = op;
        n.kind = g.kind[t];
        n.duration = g.duration[t];
        // The first input of a wait is its start.
        if (g.launch[t] != no_task) n.inputs.push_back(g.launch[t]);
        for (const task_id p : g.declared[t]) add_once(n.inputs, p);
        for (value_id x = g.first_result[t]; x < g.first_result[t + 1]; ++x) {
            n.allocation += g.allocation[x];
            // Refer to the storage through an operand that has it, if there is one: the result of a wait has arrived,
            // whereas that of its start may still be in flight.
            for (const value_id s : g.storages[x]) {
                if (g.storage_owner[s] == t) continue;
                const auto lives_in_it = [&](value_id y) { return contains(g.storages[y], s); };
                const auto operands = g.operands[t];
                const auto through = std::find_if(operands.begin(), operands.end(), lives_in_it);
                add_once(n.aliases, g.storage_owner[through == operands.end() ? s : *through]);
            }
        }
        for (const value_id x : g.writes[t]) add_once(n.writes, g.storage_owner[x]);
        if (g.kind[t] == op_kind::start) {
            n.collective = g.collective[t];
            n.group = g.group[t];
            n.payload = g.payload[t];
        }
        made.append(n);
    }
    return std::move(made).build();
}

}  // namespace stretto

#endif
