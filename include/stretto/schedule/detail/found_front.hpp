// The orders that a search has found, less those that another one beats in both makespan and peak.
#ifndef STRETTO_SCHEDULE_DETAIL_FOUND_FRONT_HPP
#define STRETTO_SCHEDULE_DETAIL_FOUND_FRONT_HPP

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/schedule/detail/compact_tasks.hpp"
#include "stretto/schedule/detail/contended_order.hpp"
#include "stretto/schedule/detail/held_launches.hpp"
#include "stretto/schedule/detail/list_pass.hpp"
#include "stretto/schedule/detail/search_watch.hpp"
#include "stretto/schedule/detail/workspace.hpp"

namespace stretto::detail {

/// The front. It begins with the order as given, and always contains an order.
template <class = void>
class found_front {
public:
    /// `makespan` and `peak` are those of the order as given. If there is a judge, all makespans are by its clock. All
    /// arguments must outlive the front.
    found_front(const compact_tasks& c, std::int64_t makespan, std::int64_t peak, workspace& w,
                const order_judge* judge)
        : c_(c), w_(w), judge_(judge), orders_{{{{}, makespan, {}}, peak}} {}

    /// Adds an order, unless one of the front is as fast and needs no more memory. Its launches are held back first.
    void consider(pass_result found, std::int64_t peak) {
        if (fastest(peak).makespan <= found.makespan && orders_.front().peak <= peak) return;
        found_order kept = hold_back({std::move(found), peak});
        const auto place = std::partition_point(orders_.begin(), orders_.end(),
                                                [&](const found_order& o) { return o.peak < kept.peak; });
        auto last = place;
        while (last != orders_.end() && last->pass.makespan >= kept.pass.makespan) ++last;
        orders_.insert(orders_.erase(place, last), std::move(kept));
    }

    /// Returns the orders, by ascending peak, and so by descending makespan.
    [[nodiscard]] const std::vector<found_order>& orders() const noexcept { return orders_; }
    /// Returns the orders within a limit, or the one with the smallest peak if there are none.
    [[nodiscard]] std::vector<found_order> within(std::int64_t limit) && {
        while (orders_.size() > 1 && orders_.back().peak > limit) orders_.pop_back();
        return std::move(orders_);
    }
    /// Returns the fastest order within a limit, or the one with the smallest peak if none is within it.
    [[nodiscard]] const pass_result& fastest(std::int64_t limit) const {
        const found_order* last = &orders_.front();
        for (const found_order& o : orders_)
            if (o.peak <= limit) last = &o;
        return last->pass;
    }
    /// Returns the makespan of an order by the clock of the search: that of the judge, if there is one.
    [[nodiscard]] std::int64_t measured(std::span<const std::uint32_t> nodes) const {
        return judge_ ? makespan_of(c_, nodes, *judge_, w_) : makespan_of(c_, nodes, w_);
    }

private:
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
    std::vector<found_order> orders_;
};

}  // namespace stretto::detail

#endif
