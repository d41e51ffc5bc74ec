// What --bucket says, and a step in such buckets.
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

/// Which collectives are to travel together; by default those with which the step is fastest.
struct bucketing {
    bool wanted = true;
    bool choose = true;                     ///< any, as is best within the memory limit
    stretto::bytes most = {};               ///< otherwise: bytes of one bucket
    std::vector<std::string> modules = {};  ///< otherwise, if there are any: of these modules, each by itself
    stretto::payload_order order = stretto::payload_order::registration;
};

/// "auto", "none", "25MiB", "layers.*,output=64MiB" or "layers.*=unlimited"; or what is wrong.
stretto::expected<bucketing, std::string> parse_buckets(const std::string& text);

/// Several collectives that are one in the plan.
struct shown_bucket {
    std::string start;       ///< of the one
    std::string collective;  ///< its kind
    std::string group;
    std::vector<std::string> members;
    stretto::bytes payload, received;
    stretto::nanoseconds saved;  ///< on the channel
    stretto::nanoseconds paid;   ///< for copies, less the casts that they do
};

/// A step in buckets.
struct bucketed_step {
    stretto::capture step;
    std::vector<shown_bucket> buckets;  ///< in the order of the program
};

/// The step in the buckets that are wanted; nothing if there are none, or none that are faster. `options` say within
/// which limits they are chosen. The error says what does not fit the step.
stretto::expected<std::optional<bucketed_step>, std::string> in_buckets(const stretto::capture& step,
                                                                        const bucketing& wanted,
                                                                        stretto::bucket_search_options options);

/// How many collectives travel in them, what all of them save, and what they pay.
std::size_t members_of(const std::vector<shown_bucket>& buckets);
stretto::nanoseconds saved_by(const std::vector<shown_bucket>& buckets);
stretto::nanoseconds paid_by(const std::vector<shown_bucket>& buckets);

/// So many buckets, those that save most first.
std::vector<const shown_bucket*> best_buckets(const std::vector<shown_bucket>& buckets, std::size_t count);

}  // namespace planner

#endif
