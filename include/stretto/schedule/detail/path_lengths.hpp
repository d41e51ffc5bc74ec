// Longest paths tell how early a task can begin, and how much of the step must follow it.
#ifndef STRETTO_SCHEDULE_DETAIL_PATH_LENGTHS_HPP
#define STRETTO_SCHEDULE_DETAIL_PATH_LENGTHS_HPP

#include <algorithm>
#include <span>

#include "stretto/schedule/detail/compact_tasks.hpp"
#include "stretto/schedule/detail/workspace.hpp"

namespace stretto::detail {

/// The longest paths of all nodes, in nanoseconds. The duration of a collective counts on the edge from its start to
/// its waits; other successors of a start (for example, a view that reads the shape of the result) only need it to have
/// been issued. The arrays belong to the workspace.
struct path_lengths {
    std::span<std::int64_t> head;     ///< longest path to the beginning of the node
    std::span<std::int64_t> tail;     ///< longest path from the end of its work, a kernel or a collective
    std::span<std::int64_t> through;  ///< longest path from the beginning of the node to the end of the step
    std::int64_t critical = 0;        ///< the longest path of the step
};

/// Returns whether `successor` needs the work of `n` to be done; if not, it only needs that work to have begun.
template <class = void>
[[nodiscard]] inline bool needs_end(const compact_tasks& c, std::uint32_t n, std::uint32_t successor) {
    return c.kind[n] != compact_tasks::role::start || c.launch[successor] == n;
}

/// Computes all longest paths. O(V + E).
template <class = void>
[[nodiscard]] inline path_lengths longest_paths(const compact_tasks& c, workspace& w) {
    path_lengths l;
    l.head = w.take<std::int64_t>(c.size());
    l.tail = w.take<std::int64_t>(c.size());
    l.through = w.take<std::int64_t>(c.size());
    for (std::uint32_t n = 0; n < c.size(); ++n) {
        std::int64_t head = 0;
        for (std::uint32_t p : c.predecessors[n])
            head = std::max(head, l.head[p] + (needs_end(c, p, n) ? c.duration[p] : 0));
        l.head[n] = head;
    }
    for (std::uint32_t n = c.size(); n-- > 0;) {
        std::int64_t after_begin = 0, tail = 0;
        for (std::uint32_t s : c.successors[n]) {
            std::int64_t& longest = needs_end(c, n, s) ? tail : after_begin;
            longest = std::max(longest, l.through[s]);
        }
        l.tail[n] = tail;
        l.through[n] = std::max(c.duration[n] + l.tail[n], after_begin);
        l.critical = std::max(l.critical, l.head[n] + l.through[n]);
    }
    return l;
}

/// Raises the heads of the successors, direct or indirect, of nodes whose heads have been raised. O(V + E).
template <class = void>
inline void pass_heads_on(const compact_tasks& c, path_lengths& l) {
    for (std::uint32_t n = 0; n < c.size(); ++n)
        for (std::uint32_t p : c.predecessors[n])
            l.head[n] = std::max(l.head[n], l.head[p] + (needs_end(c, p, n) ? c.duration[p] : 0));
}

}  // namespace stretto::detail

#endif
