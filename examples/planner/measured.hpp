// A run of a step beside its prediction.
#ifndef STRETTO_PLANNER_MEASURED_HPP
#define STRETTO_PLANNER_MEASURED_HPP

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "comparison.hpp"
#include "program.hpp"
#include "stretto/capture/capture.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace planner {

/// An operation that has taken another time than its prediction.
struct difference {
    stretto::task_id task;
    stretto::nanoseconds predicted, measured;

    [[nodiscard]] stretto::nanoseconds off() const { return measured - predicted; }
};

/// Kernels and collectives that were measured, those first whose time is furthest from the prediction.
std::vector<difference> differences_of(const comparison& c);

/// What a run has measured of all tasks of the plan together.
struct measured_totals {
    stretto::nanoseconds compute, transfers;   ///< of kernels, and of collectives
    stretto::nanoseconds predicted_transfers;  ///< of the same collectives
    stretto::nanoseconds blocked, exposed;     ///< of the lane in waits, and of that during a transfer
    stretto::nanoseconds jitter;               ///< of collectives: of ranks that wait for others
};
measured_totals totals_of(const comparison& c);

/// "20 steps on 2 ranks; 3 operations of the plan were not measured".
std::string run_in_words(const run_comparison& m);
/// "1.09 times the prediction", or nothing if nothing was predicted.
std::string ratio_in_words(stretto::nanoseconds measured, stretto::nanoseconds predicted);

/// Puts a run beside the plan of a comparison. The run is a file that chrome_trace::add_run has written; operations
/// are found by their names in the plan. An error if there is no such run, or if it has none of the plan's operations.
std::optional<failure> add_run(comparison& c, const std::string& run_file);

/// The step with durations as a run has measured them (medians), where it has measured any. The same errors.
stretto::expected<stretto::capture, failure> with_measured_durations(const stretto::capture& step,
                                                                     const std::string& run_file);

}  // namespace planner

#endif
