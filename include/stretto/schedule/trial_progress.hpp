// How far the search for orders of a step has progressed. Callers use it to decide whether to abandon the step early.
#ifndef STRETTO_SCHEDULE_TRIAL_PROGRESS_HPP
#define STRETTO_SCHEDULE_TRIAL_PROGRESS_HPP

#include <cstddef>
#include <cstdint>

#include "stretto/core/units.hpp"

namespace stretto {

/// A point of the search (schedule/list_schedule.hpp). First, orders are made without regard to memory. Then the lowest
/// rung of memory limits is searched in three stages, and each of the others in one.
enum class search_stage : std::uint8_t {
    two_orders,    ///< two orders have been made without regard to memory, out of up to five
    begins,        ///< nothing has been searched within this rung yet
    one_round,     ///< a first round has been made within the lowest rung, about a quarter of the work there
    three_rounds,  ///< rounds from program order and from the best order remain, about half of the work there
};

/// The knowledge of the search when it asks whether to continue.
struct trial_progress {
    std::size_t level;  ///< the index of the largest limit of the trial that is within the rung; 0 for two_orders
    search_stage stage;
    nanoseconds ignoring_memory;  ///< the makespan of the fastest order found without regard to memory
    nanoseconds so_far;           ///< the makespan of the fastest order found within the rung, or by an earlier search
    std::uint8_t search = 0;      ///< 3 (effort - 1), plus 0 to 2 under contention, by the lengths of kernels
};

}  // namespace stretto

#endif
