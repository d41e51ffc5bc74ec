// Compares a step before and after planning: what every output of the tool shows. "After" is the order that the
// scheduler found, or, for a check, a plan that somebody else made.
#ifndef STRETTO_PLANNER_COMPARISON_HPP
#define STRETTO_PLANNER_COMPARISON_HPP

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bucketing.hpp"
#include "chunk_settings.hpp"
#include "program.hpp"
#include "step_forms.hpp"
#include "stretto/capture/capture.hpp"
#include "stretto/capture/plan_report.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/schedule/bounds.hpp"
#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/exposure.hpp"
#include "stretto/schedule/measured_run.hpp"
#include "stretto/schedule/memory.hpp"
#include "stretto/schedule/simulate.hpp"
#include "taking_apart.hpp"
#include "traffic.hpp"

namespace planner {

/// One order of a program and what it achieves.
struct timeline {
    std::shared_ptr<const program> of;
    std::vector<stretto::task_id> order;
    stretto::simulation times;
    stretto::memory_profile memory;
    std::vector<stretto::collective_exposure> exposures;

    [[nodiscard]] std::size_t collectives() const { return exposures.size(); }
};

/// The condition under which no device can hang under a plan. All ranks issue the same order, so they cannot hang if
/// devices begin collectives in the order of their launches, or if they hold at least this many collectives at once.
struct deadlock_verdict {
    std::uint32_t in_flight = 0;  ///< the most communicators that have a collective in flight at once
};

/// An order of a form of the step that no other one found, of any form, beats in both makespan and peak.
struct front_point {
    bool in_chunks;     ///< the program runs in chunks
    bool reduced_once;  ///< collectives whose results are added have become one of the sum
    bool in_buckets;    ///< the program contains buckets
    stretto::nanoseconds makespan;
    stretto::bytes peak;
    stretto::lower_bound bound;  ///< for every order of that program within this peak

    [[nodiscard]] double gap() const;
    /// Returns the form of the program in words: "whole" or "in chunks", and after that ", reduced once" and ", in
    /// buckets".
    [[nodiscard]] std::string form() const;
};

/// The bounds between which the contention is known to lie.
struct contention_range {
    stretto::contention from, to;

    [[nodiscard]] bool is_wide() const { return !(from == to); }
};

/// The makespans of a plan for a range of contention, at one point of the range.
struct contention_point {
    stretto::contention at;
    stretto::nanoseconds before, after;  ///< of the input order, and of the plan
    stretto::nanoseconds best;           ///< the least of all plans known

    /// Returns after / best.
    [[nodiscard]] double ratio() const;
};

/// A run of the plan: one of its steps on one rank as a timeline, and the measurements of all steps and ranks.
struct run_comparison {
    timeline shown;  ///< the step with the median makespan; it has no exposures
    stretto::measured_run run;
    stretto::rank_id rank = 0;       ///< the rank of that step
    std::size_t unknown = 0;         ///< the number of names in the run that are not operations of the plan
    std::string first_unknown = {};  ///< the first of them
    std::size_t unmeasured = 0;      ///< operations that take time in the plan, and are not in the run
};

/// A step before and after planning, and how the plan came about.
struct comparison {
    std::string name;
    timeline before;
    timeline after;
    stretto::bytes memory_limit;                   ///< stretto::unlimited_bytes if there is none
    stretto::lower_bound bound;                    ///< for every order of the program `after`
    traffic_summary traffic = {};                  ///< of `before`
    stretto::contention under = {};                ///< the contention under which all figures hold
    std::vector<contention_point> range = {};      ///< empty unless the plan is for a range of contention
    std::size_t chunks = 1;                        ///< the largest number of chunks of any part of the step
    std::string chunk_note = {};                   ///< the chunks in the notation of --chunk, or why there are none
    bool slices = false;                           ///< chunks are joined slice by slice where possible
    std::optional<sums_of_collectives> sums = {};  ///< if there are any, and reducing once is allowed
    std::vector<shown_bucket> buckets = {};        ///< the buckets of the plan
    std::optional<buckets_apart> apart = {};       ///< if buckets of the input were to be split
    std::vector<isolated_group> isolated = {};     ///< groups from which all-to-alls were moved away
    deadlock_verdict deadlock = {};                ///< for the plan
    /// The reasons why operations stay whole, those that concern most operations first. If chunks were wanted and none
    /// are faster, these are the operations that would stay whole in two chunks.
    std::vector<kept_whole> whole = {};
    std::vector<front_point> front = {};  ///< by ascending peak, if it was requested
    double plan_seconds = 0;  ///< from the parsed capture to the certified schedule or the verdict of a check
    std::optional<std::vector<stretto::plan_violation>> violations = {};  ///< if a plan was checked
    std::optional<run_comparison> measured = {};                          ///< if there is a run of the plan

    /// Returns the gap: how much longer the step is than its bound, as a share of the bound.
    [[nodiscard]] double gap() const;
};

/// Returns the point of a range at which the plan is worst. Precondition: the plan is for a range.
const contention_point& worst_point(const comparison& c);

/// How to search for a plan, and which forms of the step are allowed.
struct search_wishes {
    unsigned effort = 1;          ///< how thoroughly to search, from 1 to 6
    contention_range under = {};  ///< the contention under which plans are compared
    std::string isolate = "ep";   ///< a group whose all-to-alls to isolate; "ep": any shared one; or "none"
    bool reduce_once = true;      ///< allow it where it makes the step faster
    bucketing buckets = {};       ///< which collectives to merge
    bool pareto = false;          ///< also compute the front of all forms, whatever the limit
};

/// Schedules a step in the fastest form that is allowed: in chunks, reduced once, isolated and in buckets. Verifies the
/// order with code that the scheduler does not share. For a range of contention, it finds the best plans for its ends
/// and its middle, and takes the one whose worst ratio over the range is least.
stretto::expected<comparison, failure> plan_step(stretto::capture step, const std::string& file,
                                                 stretto::memory_budget limit, const chunking& chunks = {},
                                                 const search_wishes& wishes = {});

/// Verifies a plan that somebody made of a step, and computes what it achieves. A plan that breaks rules is still
/// shown.
stretto::expected<comparison, failure> check(stretto::capture step, const std::string& file, stretto::capture plan,
                                             const std::string& plan_file, stretto::memory_budget limit,
                                             stretto::contention under = {});

}  // namespace planner

#endif
