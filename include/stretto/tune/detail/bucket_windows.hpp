// Divides the collectives of one class into runs that are to be merged into buckets: by bytes, by the kernel time
// between them, or by the slack that they have in a schedule. bucket_search tries such divisions, because none of them
// is best for all steps (docs/algorithms/buckets.md).
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

/// A collective that may be merged with others of its class, and what the program and a schedule say about it. Times
/// are in nanoseconds; those of the schedule are 0 until there is one.
struct bucketable {
    std::uint32_t vertex = 0;
    std::uint32_t in_class = 0;       ///< the class; only collectives of the same class may be merged
    bool gathers = false;             ///< whether it may be launched early; a reduction may be waited for late instead
    bytes weight;                     ///< the bytes that it sends or receives, whichever are more
    bytes payload;                    ///< the bytes that it sends
    std::int64_t reached = 0;         ///< the kernel time before it, in program order
    std::int64_t ready = 0;           ///< in the schedule: when what it sends is available
    std::int64_t begin = 0;           ///< in the schedule: when its channel begins it
    std::int64_t needed = 0;          ///< in the schedule: when the lane reaches its wait
    std::uint32_t cast = UINT32_MAX;  ///< the kernel that a pack may replace; UINT32_MAX if there is none
};

/// Returns the position of the item of a start among items in program order, or their number if it has none. O(log
/// items).
[[nodiscard]] inline std::size_t item_of(std::span<const bucketable> items, std::uint32_t vertex) {
    const auto at =
        std::partition_point(items.begin(), items.end(), [&](const bucketable& i) { return i.vertex < vertex; });
    const bool has_one = at != items.end() && at->vertex == vertex;
    return has_one ? static_cast<std::size_t>(at - items.begin()) : items.size();
}

/// Divides a run into two of consecutive items; the second one gets a number of its own. `runs` has the run of each
/// item. Returns whether the run has more than one item; if not, nothing changes.
inline bool halve(std::vector<std::uint32_t>& runs, std::uint32_t run) {
    const auto size = std::count(runs.begin(), runs.end(), run);
    if (size < 2) return false;
    const std::uint32_t fresh = *std::max_element(runs.begin(), runs.end()) + 1;
    std::ptrdiff_t seen = 0;
    for (std::uint32_t& r : runs)
        if (r == run && ++seen > size / 2) r = fresh;
    return true;
}

/// How to divide a class into runs of consecutive collectives.
struct bucket_window {
    enum class by : std::uint8_t {
        apart,  ///< each collective is a run of its own
        bytes,  ///< a run has at most `limit` bytes (bucketable::weight), in program order
        time,   ///< at most `limit` ns of kernels lie between the first and the last of a run, in program order
        slack,  ///< a run grows until its bucket would be late by more than `limit` ns, in the order of the schedule
    };
    by what = by::apart;
    std::int64_t limit = 0;
    friend bool operator==(const bucket_window&, const bucket_window&) = default;
};

/// Returns the run of each item, for items of one class in program order. Runs are numbered from 0, in the order in
/// which they begin. `merged(first, payload)` is the time on the channel of a bucket whose first member is that item.
///
/// By slack, a run of gathers continues as long as its bucket ends at most `limit` ns after the time at which the
/// schedule needs the first of its members. The bucket is assumed to begin when the schedule begins its first member
/// or, if that is later, when the bucket before it ends. If all gathers can begin at once, no other division into runs
/// stays within `limit` with fewer buckets. A run of reductions continues with those that are ready at most `limit` ns
/// after its first member is ready or, if that is later, after the bucket before it ends; merging those that are ready
/// by then adds no wait that the channel would not impose. O(n log n), and O(n) calls of `merged`.
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
    // The weight of the open run, when the bucket before it ends, and the earliest time at which a member is needed.
    std::int64_t size = 0, free = 0, due = 0;
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
