// Writes what a training leaves to look at: a page with its loss curve, and a trace of the step for ui.perfetto.dev.
#ifndef MOE_TRAINER_REPORT_HPP
#define MOE_TRAINER_REPORT_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "forms.hpp"
#include "stretto/schedule/measured_span.hpp"

namespace trainer {

/// The figures of a run. Times are in milliseconds, losses in nats, overlaps are shares. Predictions use the exact
/// clock and the durations that kernels have while nothing is transferred.
struct run_figures {
    std::size_t chunks = 1, buckets = 0;
    bool isolated = false;
    double whole_predicted = 0, whole_measured = 0, planned_predicted = 0, planned_measured = 0;
    double bound = 0;       ///< a lower bound for every order of the planned operations
    double busiest = 0;     ///< load of the busiest lane or channel of the planned step: a bound for any overlap
    double contention = 1;  ///< how many times slower kernels are during transfers, in the run
    double contended = 0, contended_bound = 0;  ///< the prediction and the bound under that contention
    double between = 0;                         ///< ms of a step in which the lane neither computes nor waits
    double collectives = 0, overlap_predicted = 0, overlap_measured = 0;
    double first_loss = 0, last_loss = 0, entropy = 0, tokens_per_second = 0;

    [[nodiscard]] double speed_up() const { return whole_measured / planned_measured; }
    /// Returns the share of the speed-up of the best order that was achieved, if no order takes less than `best`.
    [[nodiscard]] double share_of(double best) const { return best / planned_measured; }
    /// Returns a speed-up that no overlap exceeds.
    [[nodiscard]] double ceiling() const { return whole_measured / busiest; }
};

/// Returns one HTML page that needs no other file. `first` is the number of the first step of `losses`.
[[nodiscard]] std::string html_report(const run_figures& f, const std::vector<double>& losses, std::int64_t first);

/// Returns a trace of the step as it is written and as it is planned, by the clock of the library, and of the steps of
/// a run on all ranks, if it was timed.
[[nodiscard]] std::string trace_of(const form& whole, const planned_step& planned,
                                   const std::vector<stretto::measured_span>& times);

/// Writes the planned step as a file for stretto-plan, with the names of the trace. Returns an error if it cannot be
/// written.
[[nodiscard]] std::optional<std::string> write_step(const planned_step& planned, const std::string& path);

}  // namespace trainer

#endif
