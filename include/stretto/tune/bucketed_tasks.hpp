// The tasks of a program in buckets, as a value, and what each of them is for.
#ifndef STRETTO_TUNE_BUCKETED_TASKS_HPP
#define STRETTO_TUNE_BUCKETED_TASKS_HPP

#include "stretto/core/language.hpp"

#include <cstdint>
#include <vector>

#include "stretto/schedule/task_graph.hpp"

namespace stretto {

/// The purpose of a task of a program in buckets.
enum class bucketed_role : std::uint8_t {
    original,  ///< an operation as it was
    pack,      ///< copies what the members send into one buffer
    launch,    ///< starts the bucket
    wait,      ///< waits for it
    unpack,    ///< copies apart what arrives
    view       ///< a wait of a member, which is a view of what arrives now
};

/// The tasks of a program in buckets; the vectors are indexed by task.
struct bucketed_tasks {
    task_graph graph;
    std::vector<std::uint32_t> original;  ///< the vertex that it is; of a bucket, its first member or first wait
    std::vector<bucketed_role> role;
};

}  // namespace stretto

#endif
