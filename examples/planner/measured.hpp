// Compares a run of a step with its prediction.
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

/// The predicted and the measured time of an operation.
struct difference {
    stretto::task_id task;
    stretto::nanoseconds predicted, measured;

    [[nodiscard]] stretto::nanoseconds off() const { return measured - predicted; }
};

/// Returns the kernels and collectives that were measured, those first whose time is furthest from the prediction.
/// Precondition: the comparison has a run.
std::vector<difference> differences_of(const comparison& c);

/// Returns the predicted time of the collectives that were measured. Precondition: the comparison has a run.
stretto::nanoseconds predicted_transfers(const comparison& c);

/// Returns the size of a run in words: "20 steps on 2 ranks; 3 operations of the plan were not measured".
std::string run_in_words(const run_comparison& m);
/// Returns the ratio in words, such as "1.090 times the prediction"; an empty text if nothing was predicted.
std::string ratio_in_words(stretto::nanoseconds measured, stretto::nanoseconds predicted);

/// Adds a run to a comparison. The run is a file that chrome_trace::add_run has written; operations are found by their
/// names in the plan. Returns an error if there is no such run, or if it has none of the operations of the plan.
std::optional<failure> add_run(comparison& c, const std::string& run_file);

/// Returns the step with the median durations of a run for the operations that it has measured. Fails like add_run, and
/// if the durations add up to too much.
stretto::expected<stretto::capture, failure> with_measured_durations(const stretto::capture& step,
                                                                     const std::string& run_file);

}  // namespace planner

#endif
