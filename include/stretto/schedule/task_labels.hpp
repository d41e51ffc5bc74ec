// Callers name tasks and process groups by a small struct. Traces and explanations refer to them by these names.
#ifndef STRETTO_SCHEDULE_TASK_LABELS_HPP
#define STRETTO_SCHEDULE_TASK_LABELS_HPP

#include <concepts>
#include <string_view>

#include "stretto/schedule/task_graph.hpp"

namespace stretto {

/// Names for explanations: `name(t)` returns the name of a task, and `group(g)` that of a process group. If a member
/// returns a view of text, that text must still exist when the next name is asked for.
template <class L>
concept task_names = requires(const L& labels, task_id t, group_id g) {
    { labels.name(t) } -> std::convertible_to<std::string_view>;
    { labels.group(g) } -> std::convertible_to<std::string_view>;
};

/// Names for traces: `op(t)` also returns the name of the operator of a task.
template <class L>
concept task_labels = task_names<L> && requires(const L& labels, task_id t) {
    { labels.op(t) } -> std::convertible_to<std::string_view>;
};

}  // namespace stretto

#endif
