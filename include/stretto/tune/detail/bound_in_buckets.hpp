// What buckets could gain at most, so that a search for them is not begun where something else is faster in any case.
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
#include "stretto/tune/step_table.hpp"

namespace stretto::detail {

/// Shares of buckets. Whatever a collective of a class travels with, its bucket takes at least its share, by bytes, of
/// the cheapest rate at which the class can be sent.
class bucket_shares {
public:
    /// `items` are all of one class, of which `merged(vertex, payload)` says what a bucket takes that begins with one.
    /// The rate is asked for at payloads that grow by an eighth. O(n log(bytes)) calls of `merged`.
    template <class Merged>
    bucket_shares(std::span<const bucketable> items, Merged merged) {
        std::int64_t least = INT64_MAX;
        for (const bucketable& i : items) {
            if (i.payload.count > 0) least = std::min(least, i.payload.count);
            all_ += i.payload.count;
        }
        for (std::int64_t from = least; from <= all_; from += from / 8 + 1) {
            nanoseconds cheapest{INT64_MAX};
            for (const bucketable& i : items) cheapest = std::min(cheapest, merged(i.vertex, bytes{from}));
            from_.push_back({from, cheapest});
        }
    }

    /// No more than what this collective alone takes, or than its part of any bucket that it is in: a bucket takes at
    /// least the sum of the shares of its members. O(payloads asked for).
    [[nodiscard]] nanoseconds of(const bucketable& i, nanoseconds alone) const {
        double share = static_cast<double>(alone.count);
        if (i.payload.count <= 0) return {};
        for (std::size_t k = 0; k < from_.size(); ++k) {
            // A bucket of `from` to `to` bytes takes no less than one of `from`.
            const std::int64_t to = k + 1 < from_.size() ? from_[k + 1].first : all_;
            if (to < i.payload.count) continue;
            share = std::min(share, static_cast<double>(from_[k].second.count) * static_cast<double>(i.payload.count) /
                                        static_cast<double>(to));
        }
        return {static_cast<std::int64_t>(share * (1 - 1e-9))};  // rounding must not make it larger
    }

private:
    std::vector<std::pair<std::int64_t, nanoseconds>> from_;  // payloads, and the cheapest bucket that begins with one
    std::int64_t all_ = 0;                                    // bytes of the class
};

/// No schedule of the step in any buckets of these items is faster, within any memory and under this contention; nor is
/// one of the step as it is. For every bucket takes at least the shares of its members, one after the other; and of
/// what buckets do to the lane, this only counts the casts that vanish. What is sent may be overwritten once it is
/// packed, so that nobody waits for the end of a transfer to write there.
///
/// `items` are those of bucket_trials, and `merged` is its price. The bound of a step that is no task graph is 0. O(V
/// log V + E), and n log(bytes) prices for each class.
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
    // A collective still comes after what it sends, but does not hold it.
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
