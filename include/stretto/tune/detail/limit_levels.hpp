// The memory limits at which a search makes its decisions.
#ifndef STRETTO_TUNE_DETAIL_LIMIT_LEVELS_HPP
#define STRETTO_TUNE_DETAIL_LIMIT_LEVELS_HPP

#include <cstddef>
#include <vector>

#include "stretto/core/units.hpp"
#include "stretto/schedule/memory.hpp"

namespace stretto::detail {

/// Limits, ascending. What is decided at a level must not depend on the limit that is asked for, so the levels up to it
/// do not either.
struct limit_levels {
    std::vector<bytes> limits;  ///< the levels, and behind them the limit that is asked for, unless it is one
    std::size_t decided = 0;    ///< how many of them are levels: one at least

    /// The levels are multiples of the peak of the step; of limits below that peak others than of those from it on, as
    /// in list_schedule. A limit below a sixteenth of the peak is a level of its own. Just below the peak levels are
    /// close together: who asks for a little less memory than the step takes should get nearly what the peak gives, and
    /// not what is found within nine tenths of it.
    [[nodiscard]] static limit_levels up_to(bytes asked, bytes step_peak) {
        limit_levels all;
        const auto add = [&](bytes level) {
            if (level <= asked && (all.limits.empty() || level > all.limits.back())) all.limits.push_back(level);
        };
        if (asked < step_peak)
            for (const double share : {0.0625, 0.125, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 0.9999})
                add(memory_budget::times_input_peak(share).limit(step_peak));
        else
            for (const double times : {1.0, 1.1, 1.25, 1.5, 2.0, 3.0})
                add(memory_budget::times_input_peak(times).limit(step_peak));
        if (asked == unlimited_bytes || all.limits.empty()) add(asked);
        all.decided = all.limits.size();
        add(asked);
        return all;
    }
};

/// The levels at which best_form decides what a step may take on in buckets, ascending: one just below the peak of the
/// step, whatever the limit, and those from the peak on that the limit allows, each as much memory as tells. They are
/// fewer than those of limit_levels, because at each of them all forms are searched anew.
[[nodiscard]] inline std::vector<bytes> levels_of_forms(bytes asked, bytes step_peak) {
    std::vector<bytes> all;
    const auto add = [&](bytes level) {
        if (all.empty() || level > all.back()) all.push_back(level);
    };
    if (step_peak > bytes{}) add(step_peak - bytes{1});
    for (const double times : {1.0, 1.25, 2.0}) {
        const bytes level = memory_budget::times_input_peak(times).limit(step_peak);
        if (level <= asked) add(level);
    }
    if (asked == unlimited_bytes) add(asked);
    return all;
}

}  // namespace stretto::detail

#endif
