// A lower bound on the makespan of a step in any buckets. If another form is already as fast as this bound,
// search_buckets need not search.
//
// The bound is that of the step without buckets, with shorter collectives: a bucket takes at least as long as the
// shares of its members together, so each collective is given only its share.
#ifndef STRETTO_TUNE_DETAIL_BOUND_IN_BUCKETS_HPP
#define STRETTO_TUNE_DETAIL_BOUND_IN_BUCKETS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/units.hpp"
#include "stretto/schedule/bounds.hpp"
#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/tune/detail/bucket_windows.hpp"
#include "stretto/tune/part_costs.hpp"
#include "stretto/tune/step_table.hpp"

namespace stretto::detail {

/// The shares of the collectives of one class: the least time per byte in any bucket of the class, times the bytes of
/// the collective.
class bucket_shares {
public:
    /// `items` are all collectives of one class. `merged(vertex, payload)` is the time of a bucket that begins with
    /// that vertex; it must not decrease with the payload. It is called for payloads that grow by an eighth, O(n
    /// log(bytes)) times.
    template <class Merged>
    bucket_shares(std::span<const bucketable> items, Merged merged) {
        std::int64_t least = INT64_MAX;
        for (const bucketable& i : items) {
            if (i.payload.count > 0) least = std::min(least, i.payload.count);
            all_ = saturated_sum(all_, i.payload.count);
        }
        for (std::int64_t from = least; from <= all_;) {
            nanoseconds cheapest{INT64_MAX};
            for (const bucketable& i : items) cheapest = std::min(cheapest, merged(i.vertex, bytes{from}));
            from_.push_back({from, cheapest});
            if (__builtin_add_overflow(from, from / 8 + 1, &from)) break;
        }
    }

    /// Returns the share of a collective that takes `alone` by itself: no more than `alone`, and so small that every
    /// bucket takes at least the sum of the shares of its members. O(number of sampled payloads).
    [[nodiscard]] nanoseconds of(const bucketable& i, nanoseconds alone) const {
        double share = static_cast<double>(alone.count);
        if (i.payload.count <= 0) return {};
        for (std::size_t k = 0; k < from_.size(); ++k) {
            // A bucket of `from` to `to` bytes takes no less time than one of `from` bytes.
            const std::int64_t to = k + 1 < from_.size() ? from_[k + 1].first : all_;
            if (to < i.payload.count) continue;
            share = std::min(share, static_cast<double>(from_[k].second.count) * static_cast<double>(i.payload.count) /
                                        static_cast<double>(to));
        }
        return {static_cast<std::int64_t>(share * (1 - 1e-9))};  // rounding errors must not make the share larger
    }

private:
    std::vector<std::pair<std::int64_t, nanoseconds>> from_;  // sampled payloads, ascending, each with the least time
    std::int64_t all_ = 0;                                    // the payload of all collectives of the class together
};

/// Returns a makespan that no schedule of the step can beat under this contention, within any memory limit, in any
/// buckets of these items or without buckets. It assumes the best case: collectives take only their shares, casts that
/// a pack may absorb take no time, packing and unpacking is free, and memory that is sent may be overwritten at once,
/// as it may after packing. Returns 0 if the step is not a task graph.
///
/// `items` are those of bucket_trials, and `merged` is the price that it asks for. O(V log V + E), and O(n log(bytes))
/// prices for the n collectives of each class.
template <class Merged>
[[nodiscard]] nanoseconds bound_in_buckets(const step_table& step, std::span<const bucketable> items, contention under,
                                           Merged merged) {
    std::vector<std::vector<bucketable>> classes;
    for (const bucketable& i : items) {
        if (i.in_class >= classes.size()) classes.resize(i.in_class + 1);
        classes[i.in_class].push_back(i);
    }
    step_table there = step;
    std::vector<char> travels(step.size(), false);
    for (const std::vector<bucketable>& all : classes) {
        const bucket_shares shares(std::span<const bucketable>(all), merged);
        for (const bucketable& i : all) {
            travels[i.vertex] = true;
            there.operations[i.vertex].duration = shares.of(i, step.operations[i.vertex].duration);
            if (i.cast != step_table::none) there.operations[i.cast].duration = {};
        }
    }
    // A collective depends on what it sends, but does not keep it alive and does not protect it from being overwritten.
    there.operands = {};
    there.controls = {};
    for (std::uint32_t v = 0; v < step.size(); ++v) {
        if (!travels[v]) there.operands.push_row(step.operands[v]);
        else there.operands.close_row();
        for (std::uint32_t p : step.controls[v]) there.controls.push(p);
        if (travels[v]) {
            std::vector<std::uint32_t> makers;
            for (std::uint32_t x : step.operands[v]) makers.push_back(step.producer[x]);
            std::sort(makers.begin(), makers.end());
            makers.erase(std::unique(makers.begin(), makers.end()), makers.end());
            for (std::uint32_t p : makers) there.controls.push(p);
        }
        there.controls.close_row();
    }
    there.close_for_tasks();
    const auto tasks = make_task_graph(step_table_view{&there}, step_table_model{&there});
    return tasks ? bound_below(*tasks, unlimited_bytes, under).value : nanoseconds{};
}

}  // namespace stretto::detail

#endif
