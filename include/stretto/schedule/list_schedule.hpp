// The scheduler finds orders of the step that hide communication, never exceed a memory limit, and are never slower
// than the input; a certificate proves how far from optimal they are at most.
//
// Source: K. Y. Li and R. J. Willis, An iterative scheduling technique for resource-constrained project scheduling,
// European Journal of Operational Research 56, 1992 (forward and backward passes).
#ifndef STRETTO_SCHEDULE_LIST_SCHEDULE_HPP
#define STRETTO_SCHEDULE_LIST_SCHEDULE_HPP

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/expected.hpp"
#include "stretto/schedule/bounds.hpp"
#include "stretto/schedule/certificate.hpp"
#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/detail/search_watch.hpp"
#include "stretto/schedule/detail/searched_step.hpp"
#include "stretto/schedule/memory.hpp"
#include "stretto/schedule/schedule_options.hpp"
#include "stretto/schedule/simulate.hpp"

namespace stretto {

/// The error of the scheduler: no order was found within the limit. Within the peak of the input order there is always
/// a schedule. Below that peak, a leaner order may be found (schedule/detail/lean_order.hpp), but deciding whether one
/// exists is NP-hard.
struct limit_too_low {
    bytes limit;             ///< the limit that was asked for
    bytes input_peak;        ///< the peak of the input order
    task_id at;              ///< the task at which the input order reaches its peak
    peak_bound needed = {};  ///< a lower bound on the peak of every order (least_peak)

    /// Returns whether it is proved that no order fits within the limit.
    [[nodiscard]] bool infeasible() const noexcept { return limit < needed.value; }
};

/// Schedules a step. The scheduler first looks for orders without regard to memory, and then within a ladder of limits
/// up to the requested one (schedule/detail/order_search.hpp). The result is deterministic: times and bytes are
/// integers, ties are broken by program order, and the few doubles are the same on every machine with IEEE 754
/// arithmetic.
///
/// Guarantees: each dependence of `g` holds; peak memory <= limit; bound <= makespan; makespan <= makespan of the input
/// order, if the limit admits that order. A larger limit never gives a longer makespan among the limits below the peak
/// of the original step (memory_budget::of_variant; this step if it is no variant), nor among those from that peak on.
/// O((V + E) log V + groups + passes * (memory range operations + V * channels in use)) time, in addition a few minimum
/// cuts (detail/early_work.hpp) and up to 64,000 small moves (detail/local_search.hpp) for each rung of the ladder, and
/// about 500 bytes per task.
/// Preconditions: those of the options. The error is that no order was found within the limit.
template <class = void>
[[nodiscard]] expected<schedule, limit_too_low> list_schedule(const task_graph& g,
                                                              const schedule_options& options = {});

/// Returns the Pareto front of the schedules found within the limit: no other schedule found is both as fast and as
/// small as one of these. They ascend in peak, and so descend in makespan. The limit of each is its own peak. For every
/// smaller limit that is not below the peak of the original step (which is this step if it is no variant), the last
/// schedule within it is no slower than the one that list_schedule returns with the same other options; below that
/// peak, list_schedule may find a faster one, because it searches there in another way. A single search finds all of
/// them, so the cost is that of list_schedule with this limit, plus one certificate for each schedule.
template <class = void>
[[nodiscard]] expected<std::vector<schedule>, limit_too_low> schedule_front(const task_graph& g,
                                                                            const schedule_options& options = {});

/// An order that was found, and what it achieves.
struct found_task_order {
    std::vector<task_id> order;
    nanoseconds makespan;
    bytes peak;
};

/// Returns the orders of schedule_front without their certificates, which can cost more than the orders. For choosing
/// among the orders of several programs; `certify` makes a certificate for those that are chosen.
template <class = void>
[[nodiscard]] expected<std::vector<found_task_order>, limit_too_low> order_front(const task_graph& g,
                                                                                 const schedule_options& options = {});

namespace detail {

/// Returns the error of a search whose smallest order does not fit within the limit.
[[nodiscard]] inline unexpected<limit_too_low> too_low(bytes limit, searched_step<>& step) {
    return unexpected(limit_too_low{limit, step.memory().peak, step.memory().peak_at,
                                    memory_bounds(step.tasks(), step.room()).least_peak()});
}

/// What a certificate is made from: an order of tasks; the waits, ascending, during which memory alone kept a kernel
/// from running; and a bound on every order within its limit.
struct task_order_found {
    std::vector<task_id> order;
    std::vector<task_id> starved;
    bytes limit;
    contention under;
    lower_bound bound;

    /// Computes the figures of the order and writes its certificate. The order is moved into it.
    [[nodiscard]] schedule certificate(const task_graph& g) && {
        order_figures figures{simulate(g, order, under), profile_memory(g, order)};
        return schedule_maker::make(g, std::move(order), std::move(figures), limit, under, bound, starved);
    }
};

/// Returns the best order within the limit, or, with `all`, the front of orders, each within its own peak. `watch` may
/// be null; its last limit is that of the options.
template <class = void>
[[nodiscard]] inline expected<std::vector<task_order_found>, limit_too_low> search_orders(
    const task_graph& g, const schedule_options& options, bool all, search_watch* watch = nullptr) {
    searched_step step(g, options.under);
    const bytes limit = options.memory_limit.limit(step.memory().peak);
    std::vector<found_order> front = step.search(options, watch);
    const compact_tasks& c = step.tasks();
    if (front.front().peak > limit.count) return too_low(limit, step);
    if (!all) front.erase(front.begin(), front.end() - 1);
    std::vector<task_order_found> orders;
    for (found_order& found : front) {
        task_order_found& as_tasks = orders.emplace_back();
        as_tasks.order = step.in_tasks(found);
        as_tasks.limit = all ? bytes{found.peak} : limit;
        // The search tries smaller limits, too. Without a limit, the waits that those limits starved explain nothing.
        if (as_tasks.limit != unlimited_bytes)
            for (std::uint32_t n : found.pass.starved) as_tasks.starved.push_back(c.task[n]);
        std::sort(as_tasks.starved.begin(), as_tasks.starved.end());
        as_tasks.under = options.under;
        as_tasks.bound = step.bound();
    }
    // An order that is good enough for the bound without regard to memory needs no better bound. Within 2 % of a bound,
    // the most expensive bounds are not needed.
    const std::int64_t enough = step.enough(options.good_enough);
    if (front.front().pass.makespan > enough && (all || limit != unlimited_bytes)) {
        memory_bounds within(c, step.room());
        for (std::size_t k = 0; k < orders.size(); ++k)
            if (front[k].pass.makespan > enough)
                orders[k].bound = within.within(orders[k].limit, step.bound(), options.under,
                                                enough_for(nanoseconds{front[k].pass.makespan}));
    }
    return orders;
}

}  // namespace detail

template <class>
expected<schedule, limit_too_low> list_schedule(const task_graph& g, const schedule_options& options) {
    auto found = detail::search_orders(g, options, false);  // the memory of the search is released here
    if (!found) return unexpected(found.error());
    return std::move(found->front()).certificate(g);
}

template <class>
expected<std::vector<schedule>, limit_too_low> schedule_front(const task_graph& g, const schedule_options& options) {
    auto found = detail::search_orders(g, options, true);
    if (!found) return unexpected(found.error());
    std::vector<schedule> front;
    front.reserve(found->size());
    for (detail::task_order_found& o : *found) front.push_back(std::move(o).certificate(g));
    return front;
}

template <class>
expected<std::vector<found_task_order>, limit_too_low> order_front(const task_graph& g,
                                                                   const schedule_options& options) {
    detail::searched_step step(g, options.under);
    const bytes limit = options.memory_limit.limit(step.memory().peak);
    const std::vector<detail::found_order> found = step.search(options);
    if (found.front().peak > limit.count) return detail::too_low(limit, step);
    std::vector<found_task_order> front;
    front.reserve(found.size());
    for (const detail::found_order& o : found) front.push_back({step.in_tasks(o), {o.pass.makespan}, {o.peak}});
    return front;
}

}  // namespace stretto

#endif
