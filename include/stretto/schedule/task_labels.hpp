// What the caller calls the tasks of a graph and its process groups: traces and explanations speak of them by name.
#ifndef STRETTO_SCHEDULE_TASK_LABELS_HPP
#define STRETTO_SCHEDULE_TASK_LABELS_HPP

#include <concepts>
#include <string_view>

#include "stretto/schedule/task_graph.hpp"

namespace stretto {

/// Names for explanations: of a task, and of a process group.
template <class L>
concept task_names = requires(const L& labels, task_id t, group_id g) {
    { labels.name(t) } -> std::convertible_to<std::string_view>;
    { labels.group(g) } -> std::convertible_to<std::string_view>;
};

/// Names for traces: also of the operator of a task.
template <class L>
concept task_labels = task_names<L> && requires(const L& labels, task_id t) {
    { labels.op(t) } -> std::convertible_to<std::string_view>;
};

}  // namespace stretto

#endif
