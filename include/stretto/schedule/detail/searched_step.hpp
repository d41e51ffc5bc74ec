// A searched step is a step that is ready to be searched for orders: its compact graph, the figures of its input order,
// and a bound on every order.
#ifndef STRETTO_SCHEDULE_DETAIL_SEARCHED_STEP_HPP
#define STRETTO_SCHEDULE_DETAIL_SEARCHED_STEP_HPP

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/core/config.hpp"
#include "stretto/schedule/bounds.hpp"
#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/detail/compact_tasks.hpp"
#include "stretto/schedule/detail/contended_search.hpp"
#include "stretto/schedule/detail/lean_order.hpp"
#include "stretto/schedule/detail/order_search.hpp"
#include "stretto/schedule/detail/search_watch.hpp"
#include "stretto/schedule/memory.hpp"
#include "stretto/schedule/schedule_options.hpp"

namespace stretto::detail {

/// Computes the bound in the constructor, in O(V log V + E), and orders on request. It keeps no reference to the graph.
/// Precondition: the contention is valid, and times_fit holds.
template <class = void>
class searched_step {
public:
    searched_step(const task_graph& g, contention under) : room_(g.size() * room_of_search), given_(g.size()) {
        STRETTO_ASSERT(under.valid() && times_fit(g, under),
                       "the contention is not valid, or it makes times longer than 2^62");
        for (task_id t = 0; t < g.size(); ++t) given_[t] = t;
        memory_ = find_peak(g, given_, room_, [](bytes) {});
        tasks_ = make_compact_tasks(g, room_);
        bound_ = bound_below(tasks_, room_, under);
        makespan_ = makespan_of(g, given_, room_);
    }

    /// Returns the peak of the input order, without the live bytes at each position.
    [[nodiscard]] const memory_profile& memory() const noexcept { return memory_; }
    /// Returns a makespan that no order can beat by the clock of the contention.
    [[nodiscard]] const lower_bound& bound() const noexcept { return bound_; }
    [[nodiscard]] const compact_tasks& tasks() const noexcept { return tasks_; }
    [[nodiscard]] workspace& room() noexcept { return room_; }

    /// Returns the largest makespan that is good enough: at most `tolerated_gap` above the bound, relative to it.
    [[nodiscard]] std::int64_t enough(double tolerated_gap) const {
        STRETTO_ASSERT(tolerated_gap >= 0, "a gap that is good enough is no negative share, and no NaN");
        const double tolerated = static_cast<double>(bound_.value.count) * (1 + tolerated_gap);
        return tolerated < 9.2e18 ? static_cast<std::int64_t>(tolerated) : INT64_MAX;
    }
    /// Returns what order_search::run finds, combined over every effort up to that of the options. Which track leads
    /// where is so much a matter of luck that a search with more tracks may miss what one with fewer has found.
    /// Precondition: the contention of the options is that of the step.
    [[nodiscard]] std::vector<found_order> search(const schedule_options& options, search_watch* watch = nullptr) {
        if (options.effort <= 1) return search_with(options, options.effort, watch);
        level_records records(watch);
        std::vector<found_order> front;
        for (unsigned effort = 1; effort <= std::min(options.effort, most_tracks) && !records.ended(); ++effort) {
            records.begin_search(static_cast<std::uint8_t>((effort - 1) * contended_searches));
            front = merged_fronts(std::move(front), search_with(options, effort, watch ? &records : nullptr),
                                  options.memory_limit.limit(memory_.peak));
        }
        records.pass_on();
        return front;
    }
    /// Returns an order whose peak is at most `enough`, or as low as lean_order could make it.
    [[nodiscard]] std::vector<task_id> leanest(bytes enough) {
        const workspace::scope scratch(room_);
        std::vector<std::uint32_t> given(tasks_.size());
        for (std::uint32_t n = 0; n < tasks_.size(); ++n) given[n] = n;
        lean_order lean(tasks_, given, room_);
        return expand(tasks_, lean.run(enough.count));
    }
    /// Returns an order that was found as an order of all tasks.
    [[nodiscard]] std::vector<task_id> in_tasks(const found_order& found) const {
        return found.pass.nodes.empty() ? given_ : expand(tasks_, found.pass.nodes);
    }

private:
    [[nodiscard]] std::vector<found_order> search_with(const schedule_options& options, unsigned effort,
                                                       search_watch* watch) {
        const bytes limit = options.memory_limit.limit(memory_.peak), unit = options.memory_limit.unit(memory_.peak);
        const std::int64_t sufficient = enough(options.good_enough);
        if (!options.under.none())
            return search_under_contention(tasks_, memory_.peak, unit, limit, sufficient, options.under, effort, room_,
                                           watch);
        order_search search(tasks_, makespan_, memory_.peak, unit, room_);
        return search.run(limit, sufficient, effort, most_nodes_of_search, watch);
    }
    workspace room_;
    std::vector<task_id> given_;
    memory_profile memory_;
    compact_tasks tasks_;
    lower_bound bound_;
    nanoseconds makespan_;  // the makespan of the input order, without contention
};

}  // namespace stretto::detail

#endif
