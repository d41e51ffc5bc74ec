// Cost models predict how long a kernel or a collective takes, before anything runs. A model is a small value with
// const `duration` members. Schedulers, bucketers and tuners take it as a template parameter and query it millions of
// times. Models compute in double and round once, when they make the duration.
//
// A bucketer that trusts a model in which more bytes take less time will exploit the model's error. Monotonicity is
// therefore a property that can be checked (`check_monotone`) and repaired (cost/monotone_hull.hpp). Ranks that must
// agree on a schedule but use different math libraries should share the integers of a `tabulate`d model
// (cost/table.hpp).
#ifndef STRETTO_SCHEDULE_COST_COST_MODEL_HPP
#define STRETTO_SCHEDULE_COST_COST_MODEL_HPP

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/core/config.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/process_group.hpp"
#include "stretto/core/units.hpp"

namespace stretto {

/// The arithmetic of a kernel, as far as peak rates differ. `half` is bf16 or fp16.
enum class precision : std::uint8_t {
    fp64,
    fp32,
    half
};

/// The work of one kernel. `moved` counts once every byte that the kernel reads or writes.
struct kernel_work {
    double flops = 0;
    bytes moved = {};
    precision arithmetic = precision::half;
};

/// A model of kernels: `duration(work) -> nanoseconds`.
template <class M>
concept compute_cost_model = std::copy_constructible<M> && requires(const M& model, const kernel_work& work) {
    { model.duration(work) } -> std::same_as<nanoseconds>;
};

/// A model of collectives: `duration(kind, payload, group) -> nanoseconds`. For every collective the payload is the
/// bytes of *one rank's input*, as in `payload_of`; a model that counts differently converts internally. Analytic
/// models read `size` and `ranks_per_node` of the group, and models that were measured group by group read its `id`.
template <class M>
concept collective_cost_model = std::copy_constructible<M> && requires(const M& model, collective_kind kind,
                                                                       bytes payload, const process_group& group) {
    { model.duration(kind, payload, group) } -> std::same_as<nanoseconds>;
};

/// The longest duration that a model returns (146 years); infinite times become this. The sum of two of them still fits
/// 64 bits.
inline constexpr nanoseconds longest_duration{(std::int64_t{1} << 62) - 1};

/// Converts microseconds to the nearest nanosecond. Negative times and NaN become 0, and times that are too long become
/// `longest_duration`. The rounding is non-decreasing, so it never makes a monotone model non-monotone.
[[nodiscard]] constexpr nanoseconds from_microseconds(double microseconds) noexcept {
    const double count = microseconds * 1000.0;
    if (!(count > 0)) return {};
    if (count >= static_cast<double>(longest_duration.count)) return longest_duration;
    return {static_cast<std::int64_t>(count + 0.5)};
}

/// The kinds of collectives that have a name: all but `other`, in the order of the enumeration.
inline constexpr std::array<collective_kind, 4> all_collective_kinds = {
    collective_kind::all_gather, collective_kind::reduce_scatter, collective_kind::all_reduce,
    collective_kind::all_to_all};

/// The statement that no tested size between `lo` and `hi` takes less time than a smaller one. This is evidence and not
/// a proof: the model is a black box, which was queried at `sizes_checked` sizes.
struct monotone {
    bytes lo;
    bytes hi;
    std::size_t sizes_checked = 0;
};

/// A witness that more bytes take less time: smaller < larger, but smaller_time > larger_time.
struct non_monotone {
    bytes smaller;
    bytes larger;
    nanoseconds smaller_time;
    nanoseconds larger_time;

    /// Returns the share of the smaller size's time that the larger one saves, in (0, 1].
    [[nodiscard]] constexpr double drop() const noexcept {
        return static_cast<double>((smaller_time - larger_time).count) / static_cast<double>(smaller_time.count);
    }
};

namespace detail {

/// Returns ascending sizes at which a model of this group is likely to bend or jump: 64 per octave, and both sides of
/// every 2^k and ranks * 2^k, where table indices of the form log2(size / ranks) change.
[[nodiscard]] inline std::vector<std::int64_t> probing_sizes(std::int64_t ranks, std::int64_t lo, std::int64_t hi) {
    constexpr std::int64_t steps = 64;
    std::vector<std::int64_t> sizes = {lo, hi};
    const auto add = [&](std::int64_t size) {
        if (lo < size && size < hi) sizes.push_back(size);
    };
    constexpr std::int64_t last_octave = std::int64_t{1} << 61;
    const auto first =
        static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(lo, 1))));
    for (std::int64_t octave = first; octave < hi && octave <= last_octave; octave *= 2)
        for (std::int64_t step = 0; step < std::min(steps, octave); ++step)
            add(octave + step * std::max<std::int64_t>(octave / steps, 1));
    for (const std::int64_t unit : {std::int64_t{1}, std::max<std::int64_t>(ranks, 1)})
        for (std::int64_t edge = unit; edge < hi && edge <= last_octave; edge *= 2) {
            add(edge - 1);
            add(edge);
        }
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    return sizes;
}

}  // namespace detail

/// Looks for payload sizes in [lo, hi] where more bytes take less time. Returns what was checked, or, as the error, the
/// deepest drop relative to the longest time of any smaller size. It evaluates the model about 70 times per octave, at
/// sizes that depend only on the size of the group and on the range, so the answer is deterministic. Precondition: 0 <=
/// lo <= hi.
template <collective_cost_model M>
[[nodiscard]] expected<monotone, non_monotone> check_monotone(const M& model, collective_kind kind,
                                                              const process_group& group, bytes lo, bytes hi) {
    STRETTO_ASSERT(0 <= lo.count && lo <= hi, "check_monotone needs a range of sizes, 0 <= lo <= hi");
    const std::vector<std::int64_t> sizes = detail::probing_sizes(group.size, lo.count, hi.count);
    bytes slowest = lo;
    nanoseconds slowest_time = model.duration(kind, lo, group);
    non_monotone deepest;
    double deepest_drop = 0;
    for (const std::int64_t size : sizes) {
        const nanoseconds time = model.duration(kind, bytes{size}, group);
        if (time >= slowest_time) {
            slowest = bytes{size};
            slowest_time = time;
            continue;
        }
        const non_monotone found{slowest, bytes{size}, slowest_time, time};
        if (found.drop() > deepest_drop) {
            deepest = found;
            deepest_drop = found.drop();
        }
    }
    if (deepest_drop > 0) return unexpected(deepest);
    return monotone{lo, hi, sizes.size()};
}

}  // namespace stretto

#endif
