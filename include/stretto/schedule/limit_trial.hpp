// One search finds how fast a step is within each of several memory limits. It is for callers who compare many steps,
// such as one program in different numbers of chunks, and who abandon a step early if it is no better.
#ifndef STRETTO_SCHEDULE_LIMIT_TRIAL_HPP
#define STRETTO_SCHEDULE_LIMIT_TRIAL_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/expected.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/bounds.hpp"
#include "stretto/schedule/detail/search_watch.hpp"
#include "stretto/schedule/detail/searched_step.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "stretto/schedule/memory.hpp"
#include "stretto/schedule/schedule_options.hpp"
#include "stretto/schedule/trial_progress.hpp"

namespace stretto {

/// An order of tasks that a trial has found.
struct trial_order {
    std::vector<task_id> tasks;
    std::vector<task_id> starved;  ///< the waits, ascending, during which only the memory limit held kernels back
};

/// A trial of one step. Its bound is available after construction; `run` searches for orders. Every result is
/// deterministic.
template <class = void>
class limit_trial {
public:
    /// Computes the bound. Preconditions: the graph outlives the trial; the contention is valid, and times_fit holds.
    /// O(V log V + E).
    explicit limit_trial(const task_graph& g, contention under = {}) : step_(g, under) {}

    /// Returns a lower bound on the makespan of every order; see bound_below.
    [[nodiscard]] const lower_bound& bound() const noexcept { return step_.bound(); }
    /// Returns the peak of the input order; input_peak_at returns the first task at which it is reached.
    [[nodiscard]] bytes input_peak() const noexcept { return step_.memory().peak; }
    [[nodiscard]] task_id input_peak_at() const noexcept { return step_.memory().peak_at; }

    /// Returns an order of all tasks whose peak is at most `enough`, or as low as a few minimum cuts can make it,
    /// without regard to time. O(cuts * (V + flow in a window)).
    [[nodiscard]] std::vector<task_id> leanest(bytes enough) { return step_.leanest(enough); }

    /// Searches for orders within the limits. Calls `goes_on(trial_progress)`, which returns whether to continue, and
    /// `reached(level, makespan, order)` once for each limit, in ascending order, when the search within it has
    /// finished. `makespan` is that of list_schedule within this limit with the same other options, or nothing if no
    /// order is found; `order()` builds the trial_order. Once goes_on has returned false, nothing more is called.
    /// Under contention, and with an effort above 1, there are several searches, each of which calls goes_on, and
    /// `reached` is called after all of them have finished. The calls for a limit do not depend on larger limits,
    /// provided that the results of goes_on do not.
    ///
    /// Preconditions: the limits ascend, and the last one is that of the options; the contention of the options is that
    /// of the trial; either all limits are below the peak of the original step (memory_budget::of_variant), which is
    /// that of this step if it is no variant, or none is. It takes as long as list_schedule.
    template <class GoesOn, class Reached>
    void run(std::span<const bytes> limits, const schedule_options& options, GoesOn goes_on, Reached reached) {
        struct follower final : detail::search_watch {
            follower(std::span<const bytes> all, limit_trial& t, GoesOn& g, Reached& r)
                : search_watch(all), trial(t), asks(g), tells(r) {}
            bool goes_on(const trial_progress& now) override { return asks(now); }
            void reached(std::size_t level, const detail::found_order* best) override {
                tells(level, best ? std::optional(nanoseconds{best->pass.makespan}) : std::nullopt,
                      [&] { return best ? trial.in_tasks(*best, limits()[level]) : trial_order(); });
            }
            limit_trial& trial;
            GoesOn& asks;
            Reached& tells;
        };
        follower follows(limits, *this, goes_on, reached);
        static_cast<void>(step_.search(options, &follows));
    }

private:
    [[nodiscard]] trial_order in_tasks(const detail::found_order& found, bytes limit) const {
        trial_order o{step_.in_tasks(found), {}};
        if (limit == unlimited_bytes) return o;
        for (std::uint32_t n : found.pass.starved) o.starved.push_back(step_.tasks().task[n]);
        std::sort(o.starved.begin(), o.starved.end());
        return o;
    }

    detail::searched_step<> step_;
};

/// The makespan of a step within a limit, and its makespan without regard to memory. A value is INT64_MAX if it is
/// unknown or if there is no order.
struct limit_figures {
    nanoseconds makespan{INT64_MAX};
    /// The makespan of the fastest order found without regard to memory. It is known only if the search has also looked
    /// for orders within memory.
    nanoseconds ignoring_memory{INT64_MAX};
    friend constexpr bool operator==(const limit_figures&, const limit_figures&) = default;
};

/// A schedule, and the figures of the step within smaller limits.
struct schedule_by_limits {
    expected<schedule, limit_too_low> scheduled;
    std::vector<limit_figures> figures;  ///< by limit
};

/// Returns the result of list_schedule, and the makespan that it would find within each of these limits with the same
/// other options. Preconditions: those of list_schedule, and those of limit_trial::run about limits. It takes as long
/// as list_schedule.
template <class = void>
[[nodiscard]] schedule_by_limits list_schedule_by_limits(const task_graph& g, const schedule_options& options,
                                                         std::span<const bytes> limits) {
    struct all_figures final : detail::search_watch {
        explicit all_figures(std::span<const bytes> all) : search_watch(all), found(all.size()) {}
        bool goes_on(const trial_progress& now) override {
            if (now.stage != search_stage::two_orders) ignoring_memory = std::min(ignoring_memory, now.ignoring_memory);
            return true;
        }
        void reached(std::size_t level, const detail::found_order* best) override {
            if (best) found[level] = {nanoseconds{best->pass.makespan}, ignoring_memory};
        }
        std::vector<limit_figures> found;
        nanoseconds ignoring_memory{INT64_MAX};
    };
    all_figures follows(limits);
    auto orders = detail::search_orders(g, options, false, &follows);  // the memory of the search is released here
    if (!orders) return {unexpected(orders.error()), std::move(follows.found)};
    return {std::move(orders->front()).certificate(g), std::move(follows.found)};
}

}  // namespace stretto

#endif
