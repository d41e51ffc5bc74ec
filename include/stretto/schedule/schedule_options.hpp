// What a scheduler is asked for.
#ifndef STRETTO_SCHEDULE_SCHEDULE_OPTIONS_HPP
#define STRETTO_SCHEDULE_SCHEDULE_OPTIONS_HPP

#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/memory.hpp"

namespace stretto {

struct schedule_options {
    /// The limit of peak live bytes; by default, what the input order needs.
    memory_budget memory_limit = memory_budget::times_input_peak(1.0);
    /// The search stops when the gap to the lower bound is below this share, which is not negative.
    double good_enough = 0.001;
    /// How thoroughly to search within memory: the number of orders from which every limit is approached, no more than
    /// six. What less effort finds is found, too, so that more effort never gives a longer makespan; searching with 1,
    /// 2 and so on up to n orders takes about n (n + 1) / 2 times as long as with 1.
    unsigned effort = 1;
    /// The clock by which orders are judged: kernels that run beside transfers may be slowed down.
    contention under = {};
};

}  // namespace stretto

#endif
