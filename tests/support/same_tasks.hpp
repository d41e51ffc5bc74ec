// Whether two task graphs say the same of the same tasks, when one was tried and the other made.
#ifndef STRETTO_TESTS_SUPPORT_SAME_TASKS_HPP
#define STRETTO_TESTS_SUPPORT_SAME_TASKS_HPP

#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/core/index_lists.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace support {

/// The rows as sets.
inline std::vector<std::vector<std::uint32_t>> sets(const stretto::index_lists& lists) {
    std::vector<std::vector<std::uint32_t>> all;
    for (std::size_t k = 0; k < lists.rows(); ++k) {
        all.emplace_back(lists[k].begin(), lists[k].end());
        std::sort(all.back().begin(), all.back().end());
        all.back().erase(std::unique(all.back().begin(), all.back().end()), all.back().end());
    }
    return all;
}

/// Kinds, times, memory and dependences agree, task by task. Fails the property that it is called in.
inline void check_same_tasks(const stretto::task_graph& tried, const stretto::task_graph& made) {
    RC_ASSERT(tried.kind == made.kind);
    RC_ASSERT(tried.duration == made.duration);
    RC_ASSERT(tried.group == made.group);
    RC_ASSERT(tried.payload == made.payload);
    RC_ASSERT(tried.launch == made.launch);
    RC_ASSERT(tried.allocation == made.allocation);
    RC_ASSERT(sets(tried.operands) == sets(made.operands));
    RC_ASSERT(sets(tried.writes) == sets(made.writes));
    RC_ASSERT(sets(tried.storages) == sets(made.storages));
    RC_ASSERT(sets(tried.touched) == sets(made.touched));
    RC_ASSERT(sets(tried.predecessors) == sets(made.predecessors));
}

/// The same, and everything else too, in the same order. Fails the property that it is called in.
inline void check_identical_tasks(const stretto::task_graph& tried, const stretto::task_graph& made) {
    check_same_tasks(tried, made);
    RC_ASSERT(tried.collective == made.collective);
    RC_ASSERT(tried.identity == made.identity);
    RC_ASSERT(tried.groups == made.groups);
    RC_ASSERT(tried.first_result == made.first_result);
    RC_ASSERT(tried.storage_owner == made.storage_owner);
    RC_ASSERT(tried.operands == made.operands);
    RC_ASSERT(tried.writes == made.writes);
    RC_ASSERT(tried.storages == made.storages);
    RC_ASSERT(tried.touched == made.touched);
    RC_ASSERT(tried.declared == made.declared);
    RC_ASSERT(tried.predecessors == made.predecessors);
    RC_ASSERT(tried.successors == made.successors);
}

}  // namespace support

#endif
