// How far the search for orders of a step has come, for those who may give the step up early.
#ifndef STRETTO_SCHEDULE_TRIAL_PROGRESS_HPP
#define STRETTO_SCHEDULE_TRIAL_PROGRESS_HPP

#include <cstddef>
#include <cstdint>

#include "stretto/core/units.hpp"

namespace stretto {

/// A point of the search (schedule/list_schedule.hpp). First orders are made without regard to memory. Then the lowest
/// rung of memory limits is searched in three stages, and the others in one.
enum class search_stage : std::uint8_t {
    two_orders,    ///< two orders have been made without regard to memory, of up to five
    begins,        ///< nothing has been searched within this rung
    one_round,     ///< a first round within the lowest rung: about a quarter of what will be done there
    three_rounds,  ///< what is left are rounds from program order and from the best order: about a half
};

/// What is known when the search asks whether to go on.
struct trial_progress {
    std::size_t level;  ///< the largest of the limits of the trial that the rung is not below; 0 after two orders
    search_stage stage;
    nanoseconds ignoring_memory;  ///< of the fastest order that was found without regard to memory
    nanoseconds so_far;           ///< of the fastest one that was found within the rung, or by a search before
    std::uint8_t search = 0;      ///< for each effort one, or under contention three, with kernels of different lengths
};

}  // namespace stretto

#endif
