// What a search for chunks may spend, and when it gives a choice up because another form is faster. It is apart from
// the search because it compares figures only, and needs no choices, units or tasks.
#ifndef STRETTO_TUNE_DETAIL_SEARCH_LIMITS_HPP
#define STRETTO_TUNE_DETAIL_SEARCH_LIMITS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "stretto/core/units.hpp"
#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/limit_trial.hpp"
#include "stretto/schedule/trial_progress.hpp"
#include "stretto/tune/detail/limit_levels.hpp"

namespace stretto::detail {

/// The budget of a search, and the figures with which choices are compared.
struct search_limits {
    limit_levels levels;
    std::vector<limit_figures> whole;  ///< figures of the uncut step within each of `levels.limits`
    std::vector<limit_figures> rival;  ///< those of a rival form within each level; fewer, or none, if they are unknown
    std::optional<bytes> step_peak;    ///< the peak of the step of which the trials are variants (memory_budget)
    std::size_t most;                  ///< the largest number of chunks of a unit
    std::size_t task_budget;           ///< the number of tasks that refinement may make
    bool slices = false;               ///< whether all trials write values slice by slice
    bool either = false;               ///< whether the best choice of each level is also tried slice by slice
    contention under = {};             ///< the contention by which trials are judged

    /// Returns the figures of the rival plus a fiftieth: a choice that is slower by no more may still become faster.
    [[nodiscard]] limit_figures rival_at(std::size_t level) const {
        if (level >= rival.size()) return {};
        const auto [makespan, ignoring_memory] = rival[level];
        const auto and_a_fiftieth = [](nanoseconds t) {
            return nanoseconds{t.count < INT64_MAX / 2 ? t.count + t.count / 50 : INT64_MAX};
        };
        return {and_a_fiftieth(makespan), and_a_fiftieth(ignoring_memory)};
    }
};

/// Returns whether a choice is unlikely to become faster than a form with the figures `other`. Orders within memory are
/// rarely faster than those that ignore it, unless moves gain that much (detail/local_search.hpp); then they are
/// assumed to gain as much for both. Later rounds of a rung rarely gain more than a few hundredths. But if a choice is
/// the faster one without regard to memory, it may be faster on a higher rung, and is kept.
[[nodiscard]] constexpr bool loses_to(const limit_figures& other, const trial_progress& p) noexcept {
    const bool knows_both = other.ignoring_memory < nanoseconds{INT64_MAX};
    if (p.ignoring_memory >= (knows_both ? std::max(other.makespan, other.ignoring_memory) : other.makespan))
        return true;
    if (p.ignoring_memory < other.ignoring_memory || p.stage == search_stage::begins) return false;
    const std::int64_t hundredths = p.stage == search_stage::one_round ? 94 : 97;
    return p.so_far.count / 100 * hundredths >= other.makespan.count;
}

}  // namespace stretto::detail

#endif
