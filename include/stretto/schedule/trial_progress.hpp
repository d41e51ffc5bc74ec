// A search for orders tells its caller how far it has progressed, so that the caller can abandon a step early.
#ifndef STRETTO_SCHEDULE_TRIAL_PROGRESS_HPP
#define STRETTO_SCHEDULE_TRIAL_PROGRESS_HPP

#include <cstddef>
#include <cstdint>

#include "stretto/core/units.hpp"

namespace stretto {

/// A point of the search (schedule/list_schedule.hpp). First, orders are made without regard to memory. Then the lowest
/// rung of memory limits is searched in five stages, and each of the others in three: `begins`, `stalls` and `moves`.
enum class search_stage : std::uint8_t {
    two_orders,    ///< two orders have been made without regard to memory; up to three more may follow
    begins,        ///< nothing has been searched within this rung yet
    one_round,     ///< a first round has been made within the lowest rung, about a quarter of the work there
    three_rounds,  ///< about half of these rounds are done; those from program order and the best order remain
    stalls,        ///< all rounds within the rung are done; stalls are filled next
    moves,         ///< passes have done what they can; the best order is improved by moves next
};

/// What the search knows when it asks whether to continue.
struct trial_progress {
    std::size_t level;  ///< the index of the largest limit of the trial that is within the rung; 0 for two_orders
    search_stage stage;
    nanoseconds ignoring_memory;  ///< the makespan of the fastest order found without regard to memory
    /// The makespan of the fastest order found within the rung, or by an earlier search within that limit; for
    /// two_orders, the makespan of the order with the smallest peak takes the place of the former.
    nanoseconds so_far;
    /// The number of the search: 3 (e - 1) for the one with effort e, plus 0, 1 or 2 under contention, where kernels
    /// get longer from search to search.
    std::uint8_t search = 0;
};

}  // namespace stretto

#endif
