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

/// Times in milliseconds, losses in nats, overlaps as shares. What is predicted is by the exact clock, from kernels as
/// they are while nothing is transferred.
struct run_figures {
    std::size_t chunks = 1, buckets = 0;
    bool isolated = false;
    double whole_predicted = 0, whole_measured = 0, planned_predicted = 0, planned_measured = 0;
    double bound = 0;       ///< no order of the planned operations takes less
    double busiest = 0;     ///< of the lane and all channels in the planned step: no overlap of any kind takes less
    double contention = 1;  ///< how much slower kernels are beside transfers, in the run
    double contended = 0, contended_bound = 0;  ///< predicted, and the bound, with that
    double collectives = 0, overlap_predicted = 0, overlap_measured = 0;
    double first_loss = 0, last_loss = 0, entropy = 0, tokens_per_second = 0;

    [[nodiscard]] double speed_up() const { return whole_measured / planned_measured; }
    /// How much of the speed-up of the best order is there, as a share: no order takes less than `best`.
    [[nodiscard]] double share_of(double best) const { return best / planned_measured; }
    /// The speed-up that no overlap exceeds.
    [[nodiscard]] double ceiling() const { return whole_measured / busiest; }
};

/// One HTML page without anything from elsewhere. `first` is the number of the first step of `losses`.
[[nodiscard]] std::string html_report(const run_figures& f, const std::vector<double>& losses, std::int64_t first);

/// The step as it is written and as it is planned, as the clock of the library sees them, one below the other; and the
/// steps of a run on all ranks, if it was timed.
[[nodiscard]] std::string trace_of(const form& whole, const planned_step& planned,
                                   const std::vector<stretto::measured_span>& times);

/// The planned step as a file that stretto-plan takes, with the names of the trace. An error if it cannot be written.
[[nodiscard]] std::optional<std::string> write_step(const planned_step& planned, const std::string& path);

}  // namespace trainer

#endif
