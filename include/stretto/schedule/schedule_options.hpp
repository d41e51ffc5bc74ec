// The options of the scheduler.
#ifndef STRETTO_SCHEDULE_SCHEDULE_OPTIONS_HPP
#define STRETTO_SCHEDULE_SCHEDULE_OPTIONS_HPP

#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/memory.hpp"

namespace stretto {

struct schedule_options {
    /// The limit on peak live bytes; the default is the peak of the input order.
    memory_budget memory_limit = memory_budget::times_input_peak(1.0);
    /// The search stops when the gap to the lower bound is below this fraction. Precondition: it is not negative.
    double good_enough = 0.001;
    /// The thoroughness of the search within memory: the number of orders from which every limit is approached, at most
    /// six. More effort also searches everything that less effort does, so it never gives a longer makespan. An effort
    /// of n takes about n (n + 1) / 2 times as long as an effort of 1.
    unsigned effort = 1;
    /// The clock by which orders are judged: kernels that run during transfers may be slowed down.
    contention under = {};
};

}  // namespace stretto

#endif
