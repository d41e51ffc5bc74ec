// The orders that a search has found, by what found them. What one way of searching finds must not mislead another: its
// orders may lead elsewhere, and end the search sooner, without being better in the end. So each way begins with what
// it and those before it have found.
#ifndef STRETTO_SCHEDULE_DETAIL_ORDER_CANDIDATES_HPP
#define STRETTO_SCHEDULE_DETAIL_ORDER_CANDIDATES_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/schedule/detail/compact_tasks.hpp"
#include "stretto/schedule/detail/contended_order.hpp"
#include "stretto/schedule/detail/found_front.hpp"
#include "stretto/schedule/detail/held_launches.hpp"
#include "stretto/schedule/detail/list_pass.hpp"
#include "stretto/schedule/detail/search_watch.hpp"
#include "stretto/schedule/detail/workspace.hpp"

namespace stretto::detail {

/// What found an order.
enum class found_by : std::uint8_t {
    rounds,   ///< passes with preferences from other passes
    filling,  ///< passes whose witness fills stalls, or moves reductions (detail/stall_filling.hpp)
    moves,    ///< local search (detail/local_search.hpp)
};

/// The orders. If there is a judge, all makespans are by its clock, and it must outlive the object.
template <class = void>
class order_candidates {
public:
    /// `makespan` and `peak` are those of the nodes in their given order.
    order_candidates(const compact_tasks& c, std::int64_t makespan, std::int64_t peak, workspace& w,
                     const order_judge* judge)
        : c_(c), w_(w), judge_(judge), fronts_{{makespan, peak}, {makespan, peak}, {makespan, peak}} {}

    /// Returns the makespan by the clock of the search: that of the judge, if there is one.
    [[nodiscard]] std::int64_t measured(std::span<const std::uint32_t> nodes) const {
        return judge_ ? makespan_of(c_, nodes, *judge_, w_) : makespan_of(c_, nodes, w_);
    }
    /// Returns the judge, or null.
    [[nodiscard]] const order_judge* judge() const noexcept { return judge_; }

    /// Adds an order, unless one of those found before in the same way is as fast and needs no more memory. Its
    /// launches are held back first.
    void add(pass_result found, std::int64_t peak, found_by way) {
        const auto first = static_cast<std::size_t>(way);
        bool has_place[ways] = {}, any = false;
        for (std::size_t k = first; k < ways; ++k) any |= has_place[k] = fronts_[k].has_place_for(found.makespan, peak);
        if (!any) return;
        const found_order kept = hold_back({std::move(found), peak});
        for (std::size_t k = first; k < ways; ++k)
            if (has_place[k]) fronts_[k].add(kept);
    }

    /// Returns the fastest order within a limit that has been found this way, or a way before it; the one with the
    /// smallest peak if none is within the limit. It is empty for the given order.
    [[nodiscard]] const pass_result& fastest(std::int64_t limit, found_by way) const {
        return fronts_[static_cast<std::size_t>(way)].fastest(limit);
    }
    /// Returns all orders, however found: what no other order beats in both makespan and peak.
    [[nodiscard]] const std::vector<found_order>& all() const noexcept { return fronts_[ways - 1].orders(); }
    [[nodiscard]] std::vector<found_order> all_within(std::int64_t limit) && {
        return std::move(fronts_[ways - 1]).within(limit);
    }

private:
    static constexpr std::size_t ways = 3;

    /// Returns the order with its launches held back as far as they stay hidden, or the order itself if that costs
    /// time. It can do so by the clock of the judge, because it changes which kernels a transfer slows down.
    [[nodiscard]] found_order hold_back(found_order o) const {
        const workspace::scope scratch(w_);
        const order_times before = times_of(c_, o.pass.nodes, w_);
        held_order held = held_within(c_, o.pass.nodes, before, o.peak, w_);
        const order_times after = times_of(c_, held.nodes, w_);
        const std::int64_t makespan = judge_ ? measured(held.nodes) : after.makespan;
        if (makespan > o.pass.makespan) return o;
        std::vector<std::uint32_t> starved = starved_when_held(c_, before, o.pass.starved, held.nodes, after);
        return {{std::move(held.nodes), makespan, std::move(starved)}, held.peak};
    }

    const compact_tasks& c_;
    workspace& w_;
    const order_judge* judge_;
    found_front<> fronts_[ways];  // by way: what it and the ways before it have found
};

}  // namespace stretto::detail

#endif
