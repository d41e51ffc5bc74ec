// What is left of a training to look at: a page with its loss curve, and a trace of the step for ui.perfetto.dev.
#ifndef MOE_TRAINER_REPORT_HPP
#define MOE_TRAINER_REPORT_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "forms.hpp"
#include "stretto/schedule/measured_span.hpp"

namespace trainer {

/// Times in milliseconds, losses in nats, overlaps as shares.
struct run_figures {
    std::size_t chunks = 1, buckets = 0;
    bool isolated = false;
    double whole_predicted = 0, whole_measured = 0, planned_predicted = 0, planned_measured = 0, bound = 0;
    double collectives = 0, overlap_predicted = 0, overlap_measured = 0;
    double first_loss = 0, last_loss = 0, entropy = 0, tokens_per_second = 0;
};

/// One HTML page without anything from elsewhere. `first` is the number of the first step of `losses`.
[[nodiscard]] std::string html_report(const run_figures& f, const std::vector<double>& losses, std::int64_t first);

/// The step as it is written and as it is planned, as the clock of the library sees them, one below the other.
/// As written and as planned, as predicted; and the last steps of the run on all ranks, if it was timed.
[[nodiscard]] std::string trace_of(const form& whole, const planned_step& planned,
                                   const std::vector<std::vector<stretto::measured_span>>& times);

/// The planned step as a file that stretto-plan takes, with the names of the trace. An error if it cannot be written.
[[nodiscard]] std::optional<std::string> write_step(const planned_step& planned, const std::string& path);

}  // namespace trainer

#endif
