// The command line of stretto-plan.
#ifndef STRETTO_PLANNER_ARGUMENTS_HPP
#define STRETTO_PLANNER_ARGUMENTS_HPP

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "chunk_settings.hpp"
#include "comparison.hpp"
#include "stretto/core/units.hpp"

namespace planner {

/// A step, the files to read with it, and the files to write for it. A file with an empty name is not wanted.
struct job {
    std::string step;
    std::string plan, trace, html, svg;
    std::string check;      ///< a plan to verify instead of making one
    std::string overlay;    ///< a run of the plan, which is shown beside it
    std::string durations;  ///< a run of the step, whose times the plan uses
    std::string apart;      ///< where to write the step without its buckets, which is planned instead
};

/// What a command line requests: one job per step, and settings for all of them.
struct arguments {
    std::vector<job> jobs;
    stretto::memory_budget limit = stretto::memory_budget::times_input_peak(1);
    chunking chunks;
    search_wishes wishes;
    stretto::nanoseconds host_reads = {};  ///< time for which no kernel runs when the host reads a number
    std::size_t explain = 10;              ///< how many of the worst collectives to explain
    bool json = false;                     ///< whether to print JSON instead of tables
};

/// What to print, and with which status to exit, if nothing is to be planned: for help, the version, or a mistake in
/// the arguments.
struct nothing_to_do {
    std::string text;
    int status;
};

/// Parses a command line.
std::variant<arguments, nothing_to_do> parse_arguments(int argc, const char* const* argv);

/// Parses a limit such as "1.05x", "40GiB", "17179869184" or "unlimited". Returns nothing if it is none of these.
std::optional<stretto::memory_budget> parse_memory_limit(const std::string& text);

/// Parses a time such as "12us", "500ns", "0.1ms" or "0". Returns nothing if it is none of these, or more than a
/// second.
std::optional<stretto::nanoseconds> parse_time(std::string_view text);

/// Parses a contention such as "1.25" or "5/4", or a range such as "1:1.5". Returns nothing if it is neither, if the
/// range is empty, or if a contention is below 1.
std::optional<contention_range> parse_contention(const std::string& text);

/// Returns the option that differs least from a misspelt one, or nothing if all differ by more than three edits, or by
/// half of their letters or more.
std::optional<std::string> similar_option(const std::string& misspelt, const std::vector<std::string>& options);

}  // namespace planner

#endif
