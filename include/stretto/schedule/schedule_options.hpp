// These are the choices that a caller has when the scheduler searches for orders.
#ifndef STRETTO_SCHEDULE_SCHEDULE_OPTIONS_HPP
#define STRETTO_SCHEDULE_SCHEDULE_OPTIONS_HPP

#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/memory.hpp"

namespace stretto {

/// The options of list_schedule, schedule_front and plan_overlap. The defaults ask for an order that needs no more
/// memory than the input order, by the clock without contention.
struct schedule_options {
    /// The limit on peak live bytes; the default is the peak of the input order.
    memory_budget memory_limit = memory_budget::times_input_peak(1.0);
    /// The search stops once the gap to the lower bound is at most this fraction. Precondition: it is neither negative
    /// nor NaN.
    double good_enough = 0.001;
    /// The thoroughness of the search within memory: from how many orders the search within each limit begins. Values
    /// above six count as six, and 0 counts as 1. More effort also searches everything that less effort does, so it
    /// never gives a longer makespan. An effort of n takes about n (n + 1) / 2 times as long as an effort of 1.
    unsigned effort = 1;
    /// The clock by which orders are judged: kernels that run during transfers may be slowed down. Then three searches
    /// run instead of one (schedule/detail/contended_search.hpp), which together take five times as long as a rule, and
    /// far longer if one order was proved optimal without contention. Precondition: it is valid, and times_fit holds
    /// for the graph.
    contention under = {};
};

}  // namespace stretto

#endif
