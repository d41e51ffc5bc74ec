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

/// A level at which best_form decides what may be taken on within other limits as well.
struct form_level {
    bytes limit;
    bool of_forms;  ///< all forms are searched; otherwise only buckets of what is known to be best whole
};

/// The levels for a limit: one just below the peak of the step, whatever the limit; and of the multiples of the peak
/// those that the limit allows, for forms and, closer together, for buckets. Forms come first on each side of the peak.
[[nodiscard]] inline std::vector<form_level> levels_of_forms(bytes asked, bytes step_peak) {
    std::vector<form_level> all;
    const auto add = [&](double times, bool of_forms) {
        const bytes level = memory_budget::times_input_peak(times).limit(step_peak);
        if (level <= asked && (times >= 1 || level < step_peak)) all.push_back({level, of_forms});
    };
    if (step_peak > bytes{}) all.push_back({step_peak - bytes{1}, true});
    for (const double share : {0.999, 0.99, 0.9}) add(share, false);
    for (const double times : {1.0, 1.02, 1.05, 1.1, 1.25, 1.5, 2.0})
        add(times, times == 1.0 || times == 1.1 || times == 1.25);
    if (asked == unlimited_bytes) all.push_back({asked, true});
    return all;
}

}  // namespace stretto::detail

#endif
