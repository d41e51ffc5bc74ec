// The orders that a search has found, less those that another one beats in both makespan and peak.
#ifndef STRETTO_SCHEDULE_DETAIL_FOUND_FRONT_HPP
#define STRETTO_SCHEDULE_DETAIL_FOUND_FRONT_HPP

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/schedule/detail/list_pass.hpp"
#include "stretto/schedule/detail/search_watch.hpp"

namespace stretto::detail {

/// The front. It begins with the order as given, and always contains an order.
template <class = void>
class found_front {
public:
    /// `makespan` and `peak` are those of the order as given.
    found_front(std::int64_t makespan, std::int64_t peak) : orders_{{{{}, makespan, {}}, peak}} {}

    /// Returns whether no order of the front is as fast and needs no more memory.
    [[nodiscard]] bool has_place_for(std::int64_t makespan, std::int64_t peak) const {
        return fastest(peak).makespan > makespan || orders_.front().peak > peak;
    }
    /// Adds an order, and removes those that it beats.
    void add(found_order o) {
        const auto place =
            std::partition_point(orders_.begin(), orders_.end(), [&](const found_order& k) { return k.peak < o.peak; });
        auto last = place;
        while (last != orders_.end() && last->pass.makespan >= o.pass.makespan) ++last;
        orders_.insert(orders_.erase(place, last), std::move(o));
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

private:
    std::vector<found_order> orders_;
};

}  // namespace stretto::detail

#endif
