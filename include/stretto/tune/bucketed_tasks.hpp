// The tasks of a program in buckets, and the role of each task.
#ifndef STRETTO_TUNE_BUCKETED_TASKS_HPP
#define STRETTO_TUNE_BUCKETED_TASKS_HPP

#include "stretto/core/language.hpp"

#include <cstdint>
#include <vector>

#include "stretto/schedule/task_graph.hpp"

namespace stretto {

/// The purpose of a task of a program in buckets.
enum class bucketed_role : std::uint8_t {
    original,  ///< an operation that is unchanged
    pack,      ///< copies the data that the members send into one buffer
    launch,    ///< starts the bucket
    wait,      ///< waits for the bucket
    unpack,    ///< copies the received data to separate buffers
    view       ///< replaces the wait of a member by a view of the received data
};

/// The tasks of a program in buckets; the vectors are indexed by task.
struct bucketed_tasks {
    task_graph graph;
    std::vector<std::uint32_t> original;  ///< its vertex; for a bucket, the first member or first wait
    std::vector<bucketed_role> role;
};

}  // namespace stretto

#endif
