// A step in the order of the scheduler, and what the clock predicts for it.
#ifndef STRETTO_BENCH_SUPPORT_PLANNED_STEP_HPP
#define STRETTO_BENCH_SUPPORT_PLANNED_STEP_HPP

#include <cstdint>
#include <cstdlib>
#include <utility>

#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/plan_overlap.hpp"
#include "stretto/views/from_values.hpp"
#include "support/operation_list.hpp"

namespace bench {

/// A program, which is an operation_list, and its order without a limit of memory. `Model{&program}` is its op model.
template <class Program, class Model>
struct planned_step {
    Program p;
    stretto::task_graph g;
    stretto::checked_order order;

    explicit planned_step(const Program& given) : planned_step(given, plan_of(given)) {}

private:
    using plan = stretto::overlap_plan<std::uint32_t>;
    planned_step(Program given, plan made)
        : p(std::move(given)), g(std::move(made.tasks)), order(*stretto::check_order(g, made.certificate.order())) {}
    static plan plan_of(const Program& p) {
        auto made = stretto::plan_overlap(stretto::views::from_values(operation_values{&p}), Model{&p},
                                          {.memory_limit = stretto::unlimited_bytes});
        if (!made) std::exit(1);
        return *std::move(made);
    }
};

/// The nanoseconds of the step by the exact clock.
template <class Program, class Model>
[[nodiscard]] double predicted(const planned_step<Program, Model>& p, stretto::contention c) {
    return static_cast<double>(stretto::simulate(p.g, p.order.order(), c).makespan.count);
}
/// The factor by which kernels must run slower while channels transfer, so that the step takes `measured` nanoseconds;
/// 1 if it is faster than that, and at most 16.
template <class Program, class Model>
[[nodiscard]] stretto::contention fitted(const planned_step<Program, Model>& p, double measured) {
    stretto::contention least{4'096, 4'096}, most{16 * 4'096, 4'096};
    while (most.numerator - least.numerator > 1) {
        const stretto::contention middle{(least.numerator + most.numerator) / 2, 4'096};
        (predicted(p, middle) < measured ? least : most) = middle;
    }
    return least;
}

}  // namespace bench

#endif
