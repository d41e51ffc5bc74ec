// This is the search for orders under contention. Which kernels will run during transfers is known only once their
// order is known. So a pass does not slow down single kernels but lengthens all of them by one factor. A few factors
// are tried, and every order that a pass finds is judged by the exact clock. Local search changes an order that is
// known, so it judges its moves under contention (detail/lane_clock.hpp).
#ifndef STRETTO_SCHEDULE_DETAIL_CONTENDED_SEARCH_HPP
#define STRETTO_SCHEDULE_DETAIL_CONTENDED_SEARCH_HPP

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/units.hpp"
#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/detail/compact_tasks.hpp"
#include "stretto/schedule/detail/contended_order.hpp"
#include "stretto/schedule/detail/order_search.hpp"
#include "stretto/schedule/detail/workspace.hpp"

namespace stretto::detail {

/// Merges two fronts into one. It contains the orders that no other order of either front beats in both makespan and
/// peak; among equal ones, that of the first front is kept. Fronts are sorted by ascending peak, and so by descending
/// makespan. A search that finds nothing within `limit` returns an order above it; such an order is dropped if any
/// other remains.
template <class = void>
[[nodiscard]] inline std::vector<found_order> merged_fronts(std::vector<found_order> a, std::vector<found_order> b,
                                                            bytes limit) {
    a.insert(a.end(), std::make_move_iterator(b.begin()), std::make_move_iterator(b.end()));
    std::stable_sort(a.begin(), a.end(), [](const found_order& x, const found_order& y) {
        return x.peak != y.peak ? x.peak < y.peak : x.pass.makespan < y.pass.makespan;
    });
    std::vector<found_order> front;
    for (found_order& o : a)
        if (front.empty() || o.pass.makespan < front.back().pass.makespan) front.push_back(std::move(o));
    while (front.size() > 1 && front.back().peak > limit.count) front.pop_back();
    return front;
}

/// The number of searches under contention.
inline constexpr unsigned contended_searches = 3;

/// Returns what order_search::run returns, with makespans under contention: the best of three searches. In these,
/// kernels take their plain duration, the mean of that and their duration during a transfer, and the latter. None of
/// the searches gives a longer makespan for a larger limit, so neither does their combination. `peak` is that of the
/// given order, and `rung_unit` the peak of which rungs are multiples. The durations of `c` are changed during the
/// search and restored at the end. It takes the time of three searches. Precondition: times_fit.
template <class = void>
[[nodiscard]] inline std::vector<found_order> search_under_contention(compact_tasks& c, bytes peak, bytes rung_unit,
                                                                      bytes limit, std::int64_t enough,
                                                                      contention under, unsigned effort, workspace& w,
                                                                      search_watch* watch = nullptr) {
    const workspace::scope scratch(w);
    const std::span<std::int64_t> exact = w.take<std::int64_t>(c.size());
    std::copy(c.duration.begin(), c.duration.end(), exact.begin());
    const order_judge judge{exact, under};
    std::vector<std::uint32_t> given(c.size());
    for (std::uint32_t n = 0; n < c.size(); ++n) given[n] = n;
    const nanoseconds makespan{makespan_of(c, given, judge, w)};

    level_records records(watch);
    std::vector<found_order> front;
    for (unsigned halves = 0; halves < contended_searches; ++halves) {
        const std::int64_t unit = 2 * under.denominator;
        const std::int64_t stretched = unit + halves * (under.numerator - under.denominator);
        for (std::uint32_t n = 0; n < c.size(); ++n)
            if (c.kind[n] == compact_tasks::role::compute)
                c.duration[n] = exact[n] / unit * stretched + exact[n] % unit * stretched / unit;
        const workspace::scope of_search(w);
        records.begin_search(static_cast<std::uint8_t>(halves));
        order_search search(c, makespan, peak, rung_unit, w, &judge);
        front =
            merged_fronts(std::move(front),
                          search.run(limit, enough, effort, most_nodes_of_search, watch ? &records : nullptr), limit);
        if (records.ended()) break;
    }
    records.pass_on();
    std::copy(exact.begin(), exact.end(), c.duration.begin());
    return front;
}

}  // namespace stretto::detail

#endif
