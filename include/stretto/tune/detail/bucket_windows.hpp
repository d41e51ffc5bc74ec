// Runs of collectives that could travel together: by bytes, by the time between them, and by the slack that a schedule
// leaves them. docs/algorithms/buckets.md says when which of them is right.
#ifndef STRETTO_TUNE_DETAIL_BUCKET_WINDOWS_HPP
#define STRETTO_TUNE_DETAIL_BUCKET_WINDOWS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "stretto/core/units.hpp"

namespace stretto::detail {

/// A collective that may travel with others of its class, with what the program and a schedule say about it.
struct bucketable {
    std::uint32_t vertex = 0;
    std::uint32_t in_class = 0;       ///< what may not travel together is in different classes
    bool gathers = false;             ///< it may be launched early; a reduction may be waited for late
    bytes weight;                     ///< what it sends or receives, whichever is more
    bytes payload;                    ///< what it sends
    std::int64_t reached = 0;         ///< kernel time before it, in program order
    std::int64_t ready = 0;           ///< in the schedule: when what it sends is there
    std::int64_t begin = 0;           ///< in the schedule: when its channel begins it
    std::int64_t needed = 0;          ///< in the schedule: when the lane reaches its wait
    std::uint32_t cast = UINT32_MAX;  ///< the kernel that a pack may do in its place, if there is one
};

/// How to divide a class into runs. Runs are numbered from 0, in the order in which they begin.
struct bucket_window {
    enum class by : std::uint8_t {
        apart,  ///< each alone
        bytes,  ///< `limit` bytes, in program order
        time,   ///< `limit` ns of kernels from the first to the last, in program order
        slack,  ///< as many as the schedule hides, or is late with by `limit` ns at most, in the order of the schedule
    };
    by what = by::apart;
    std::int64_t limit = 0;
    friend bool operator==(const bucket_window&, const bucket_window&) = default;
};

/// The run of each item, for items of one class in program order. `merged(first, payload)` is the time on the channel
/// of a bucket that begins with an item.
///
/// By slack: a run of gathers goes on as long as the bucket, begun when the schedule begins its first member, or when
/// the channel is through with the bucket before, ends by the time at which the schedule needs one of its members, or
/// `limit` later. If all can begin at once, no division into runs is later at its worst with fewer buckets: a longer
/// run is never worse for those behind it. A run of reductions goes on with what is ready before the channel is
/// through with the bucket before, or at most `limit` ns after: merging costs no wait that the channel would not
/// impose. O(n log n), and n times merged.
///
/// Source: S. Shi, X. Chu and B. Li, MG-WFBP: Merging gradients wisely for efficient communication in distributed deep
/// learning, IEEE TPDS 32, 2021, for reductions.
template <class Merged>
[[nodiscard]] std::vector<std::uint32_t> runs_of(std::span<const bucketable> items, const bucket_window& w,
                                                 Merged merged) {
    std::vector<std::uint32_t> sequence(items.size()), run(items.size());
    std::iota(sequence.begin(), sequence.end(), 0u);
    if (w.what == bucket_window::by::slack)
        std::stable_sort(sequence.begin(), sequence.end(),
                         [&](std::uint32_t a, std::uint32_t b) { return items[a].begin < items[b].begin; });
    std::uint32_t runs = 0;
    std::int64_t size = 0, free = 0, due = 0;  // of the open run; when the channel is through with those before
    bytes payload;
    const bucketable* first = nullptr;
    const bucketable* last = nullptr;
    const auto end_of = [&](const bucketable& begins, std::int64_t ready, bytes sent) {
        const std::int64_t begin = std::max(free, begins.gathers ? begins.begin : ready);
        const std::int64_t takes = merged(begins, sent).count;
        return takes > INT64_MAX - begin ? INT64_MAX : begin + takes;
    };
    const auto joins = [&](const bucketable& i) {
        switch (w.what) {
            case bucket_window::by::apart:
                return false;
            case bucket_window::by::bytes:
                return size + i.weight.count <= w.limit;
            case bucket_window::by::time:
                return i.reached - first->reached <= w.limit;
            case bucket_window::by::slack:
                break;
        }
        if (!i.gathers) return i.ready <= std::max(free, first->ready) + w.limit;
        return end_of(*first, 0, payload + i.payload) <= std::min(due, i.needed) + w.limit;
    };
    for (std::uint32_t k : sequence) {
        const bucketable& i = items[k];
        if (first == nullptr || !joins(i)) {
            if (first != nullptr) {
                free = end_of(*first, last->ready, payload);
                ++runs;
            }
            first = &i;
            size = 0;
            payload = {};
            due = i.needed;
        }
        run[k] = runs;
        size += i.weight.count;
        payload += i.payload;
        due = std::min(due, i.needed);
        last = &i;
    }
    return run;
}

}  // namespace stretto::detail

#endif
