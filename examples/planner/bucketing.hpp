// Reads what --bucket requests, and writes a step in such buckets.
#ifndef STRETTO_PLANNER_BUCKETING_HPP
#define STRETTO_PLANNER_BUCKETING_HPP

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "stretto/capture/capture.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/units.hpp"
#include "stretto/transform/bucket_plan.hpp"
#include "stretto/tune/search_buckets.hpp"

namespace planner {

/// Which collectives are to be merged. By default, the buckets with which the step is fastest are chosen.
struct bucketing {
    bool wanted = true;        ///< false: no buckets
    bool choose = true;        ///< choose those that are best within the memory limit
    stretto::bytes most = {};  ///< otherwise: the most bytes of one bucket
    /// If positive, the limit is instead the payload at which its channel moves data at this share of its best rate.
    double saturation = 0;
    /// Otherwise, unless empty: only in these modules. Each module by itself, but modules named by patterns in one list
    /// travel together if the wildcards of the patterns stand for the same.
    std::vector<std::vector<std::string>> modules = {};
    stretto::payload_order order = stretto::payload_order::registration;
};

/// Parses a setting such as "auto", "none", "25MiB", "90%", "layers.*,norm+output=64MiB" or "layers.*=unlimited". The
/// error says what is wrong.
stretto::expected<bucketing, std::string> parse_buckets(const std::string& text);

/// A bucket of the plan, as reports show it.
struct shown_bucket {
    std::string start;       ///< the name of its start
    std::string collective;  ///< the kind of collective
    std::string group;
    std::vector<std::string> members;  ///< the names of the starts that it replaces
    stretto::bytes payload, received;
    stretto::nanoseconds saved;  ///< time that the channel saves
    stretto::nanoseconds paid;   ///< time of the copies, less that of the casts that they do
};

/// A step in buckets.
struct bucketed_step {
    stretto::capture step;
    std::vector<shown_bucket> buckets;  ///< in the order of the program
};

/// Writes the step in the buckets that are wanted. Returns nothing if none are wanted, or if none are faster. `options`
/// contains the limits within which buckets are chosen. The error says what does not fit the step.
stretto::expected<std::optional<bucketed_step>, std::string> in_buckets(const stretto::capture& step,
                                                                        const bucketing& wanted,
                                                                        stretto::bucket_search_options options);

/// Return how many collectives the buckets contain, how much time they save on channels in total, and how much their
/// copies take in total.
std::size_t members_of(const std::vector<shown_bucket>& buckets);
stretto::nanoseconds saved_by(const std::vector<shown_bucket>& buckets);
stretto::nanoseconds paid_by(const std::vector<shown_bucket>& buckets);

/// Returns at most `count` buckets, those that save most first.
std::vector<const shown_bucket*> best_buckets(const std::vector<shown_bucket>& buckets, std::size_t count);

}  // namespace planner

#endif
