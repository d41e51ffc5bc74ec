// The memory limits at which search_chunks and best_form make their decisions. Both decide at fixed levels of memory
// and not within the requested limit itself, so that a larger limit only adds choices to those of a smaller one. The
// result then never gets slower with more memory (docs/algorithms/best-form.md).
#ifndef STRETTO_TUNE_DETAIL_LIMIT_LEVELS_HPP
#define STRETTO_TUNE_DETAIL_LIMIT_LEVELS_HPP

#include <cstddef>
#include <span>
#include <vector>

#include "stretto/core/units.hpp"
#include "stretto/schedule/memory.hpp"

namespace stretto::detail {

/// The levels up to a requested limit, in ascending order. They must not depend on that limit, because what is decided
/// at a level must not.
struct limit_levels {
    std::vector<bytes> limits;  ///< the levels, followed by the requested limit unless it is a level
    std::size_t decided = 0;    ///< the number of levels, at least 1

    /// Returns the levels up to the limit `asked`. They are multiples of the peak of the step. There are other levels
    /// for limits below that peak than for limits from it on, as in list_schedule. A limit below a sixteenth of the
    /// peak is a level of its own. Levels just below the peak are close together, so that a limit slightly below the
    /// peak gives nearly the result of the peak and not that of 0.9 times the peak.
    [[nodiscard]] static limit_levels up_to(bytes asked, bytes step_peak) {
        constexpr double multiples[] = {1.0, 1.1, 1.25, 1.5, 2.0, 3.0};
        return up_to(asked, step_peak, multiples);
    }
    /// The same for buckets, which depend more on the memory: just above the peak, where packs first find room, there
    /// are more levels.
    [[nodiscard]] static limit_levels of_buckets(bytes asked, bytes step_peak) {
        return up_to(asked, step_peak, multiples_of_buckets);
    }
    /// The levels of buckets from the peak on, as multiples of it. Each is a rung of the scheduler
    /// (detail/order_search.hpp).
    static constexpr double multiples_of_buckets[] = {1.0, 1.02, 1.05, 1.1, 1.25, 1.5, 2.0, 3.0};

private:
    [[nodiscard]] static limit_levels up_to(bytes asked, bytes step_peak, std::span<const double> from_peak_on) {
        limit_levels all;
        const auto add = [&](bytes level) {
            if (level <= asked && (all.limits.empty() || level > all.limits.back())) all.limits.push_back(level);
        };
        if (asked < step_peak)
            for (const double share : {0.0625, 0.125, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 0.9999})
                add(memory_budget::times_input_peak(share).limit(step_peak));
        else
            for (const double times : from_peak_on) add(memory_budget::times_input_peak(times).limit(step_peak));
        if (asked == unlimited_bytes || all.limits.empty()) add(asked);
        all.decided = all.limits.size();
        add(asked);
        return all;
    }
};

/// A level at which best_form or form_front chooses forms that may also be taken within other limits.
struct form_level {
    bytes limit;
    bool of_forms;  ///< true: all forms are searched; false: form_front searches buckets of forms without chunks
};

/// Returns the levels for the limit `asked`: one byte below the peak of the step, whatever the limit, and those
/// multiples of the peak that the limit allows. Levels of buckets are closer together than levels of forms, and closest
/// near the peak, because many forms in buckets need slightly more than the step. A level of forms comes first on each
/// side of the peak. No limit at all is a level of forms too.
[[nodiscard]] inline std::vector<form_level> levels_of_forms(bytes asked, bytes step_peak) {
    std::vector<form_level> all;
    const auto add = [&](double times, bool of_forms) {
        const bytes level = memory_budget::times_input_peak(times).limit(step_peak);
        if (level <= asked && (times >= 1 || level < step_peak)) all.push_back({level, of_forms});
    };
    if (step_peak > bytes{}) all.push_back({step_peak - bytes{1}, true});
    for (const double share : {0.999, 0.99, 0.9}) add(share, false);
    for (const double times : limit_levels::multiples_of_buckets)
        add(times, times == 1.0 || times == 1.1 || times == 1.25);
    if (asked == unlimited_bytes) all.push_back({asked, true});
    return all;
}

}  // namespace stretto::detail

#endif
