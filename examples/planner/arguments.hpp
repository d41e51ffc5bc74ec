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

/// A step and the files to write for it; empty names are not wanted.
struct job {
    std::string step;
    std::string plan, trace, html, svg;
    std::string check;      ///< a plan to verify, instead of planning
    std::string overlay;    ///< a run of the plan, to show beside it
    std::string durations;  ///< a run of the step, by whose times to plan
    std::string apart;      ///< the step without its buckets, which is planned instead
};

struct arguments {
    std::vector<job> jobs;
    stretto::memory_budget limit = stretto::memory_budget::times_input_peak(1);
    chunking chunks;
    search_wishes wishes;
    stretto::nanoseconds host_reads = {};  ///< what it takes that the host reads a number
    std::size_t explain = 10;
    bool json = false;
};

/// What to print and how to exit when there is nothing to do: help, version, or a mistake in the arguments.
struct nothing_to_do {
    std::string text;
    int status;
};

std::variant<arguments, nothing_to_do> parse_arguments(int argc, const char* const* argv);

/// "1.05x", "40GiB", "17179869184" or "unlimited"; nothing if it is none of these.
std::optional<stretto::memory_budget> parse_memory_limit(const std::string& text);

/// "12us", "500ns", "0.1ms" or "0"; nothing if it is none of these, or more than a second.
std::optional<stretto::nanoseconds> parse_time(std::string_view text);

/// "1.25", "5/4", or a range of these such as "1:1.5"; nothing if it is none of these, or below 1.
std::optional<contention_range> parse_contention(const std::string& text);

/// The option that differs least from a misspelt one, if any is similar.
std::optional<std::string> similar_option(const std::string& misspelt, const std::vector<std::string>& options);

}  // namespace planner

#endif
