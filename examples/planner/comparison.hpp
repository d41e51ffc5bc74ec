// A step before and after: what every output of the tool shows. "After" is the order that the scheduler found, or, to
// check it, a plan that somebody else made.
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

/// Whether devices can hang under a plan. All ranks issue the same order, so they cannot if devices begin collectives
/// in the order of their launches, or hold as many at once as there are communicators in flight.
struct deadlock_verdict {
    std::uint32_t in_flight = 0;  ///< communicators with a collective in flight at the same time, at most
};

/// An order of a program that no other one found beats in both makespan and peak.
struct front_point {
    bool in_chunks;     ///< or of the step whole
    bool reduced_once;  ///< sums of collectives are one collective
    bool in_buckets;    ///< collectives travel together
    stretto::nanoseconds makespan;
    stretto::bytes peak;
    stretto::lower_bound bound;  ///< of every order of that program within this peak

    [[nodiscard]] double gap() const;
    /// "whole" or "in chunks", and with it ", reduced once" and ", in buckets".
    [[nodiscard]] std::string form() const;
};

/// Between what bounds it is known how many times slower kernels run while a channel transfers.
struct contention_range {
    stretto::contention from, to;

    [[nodiscard]] bool is_wide() const { return !(from == to); }
};

/// What a plan for a range of contention takes at one point of it.
struct contention_point {
    stretto::contention at;
    stretto::nanoseconds before, after;  ///< the input order, and the plan
    stretto::nanoseconds best;           ///< of all plans known

    /// after / best.
    [[nodiscard]] double ratio() const;
};

/// A run of the plan: one of its steps on one rank as a timeline, and what all of them have measured.
struct run_comparison {
    timeline shown;  ///< the step with the middle makespan; it has no exposures
    stretto::measured_run run;
    stretto::rank_id rank = 0;       ///< whose step it is
    std::size_t unknown = 0;         ///< names in the run that are not operations of the plan
    std::string first_unknown = {};  ///< one of them
    std::size_t unmeasured = 0;      ///< operations of the plan that should take time, and are not in the run
};

struct comparison {
    std::string name;
    timeline before;
    timeline after;
    stretto::bytes memory_limit;                   ///< stretto::unlimited_bytes: none
    stretto::lower_bound bound;                    ///< of every order of the program that comes after
    stretto::contention under = {};                ///< the clock of all figures
    std::vector<contention_point> range = {};      ///< if the plan is for a range of contention
    std::size_t chunks = 1;                        ///< the most that a part of the step runs in
    std::string chunk_note = {};                   ///< which part in how many, as --chunk takes it; or why none
    bool slices = false;                           ///< chunks are put together slice by slice, where that may be
    std::optional<sums_of_collectives> sums = {};  ///< if there are any, and it was allowed to reduce them once
    std::vector<shown_bucket> buckets = {};        ///< collectives that travel together in the plan
    std::optional<buckets_apart> apart = {};       ///< if the step came in buckets that were to go
    std::vector<isolated_group> isolated = {};     ///< groups of which all-to-alls were moved away
    deadlock_verdict deadlock = {};                ///< of the plan
    /// Those that keep most whole first. If chunks were wanted and none are faster: what would stay whole in two.
    std::vector<kept_whole> whole = {};
    std::vector<front_point> front = {};  ///< by program and ascending peak, where it is asked for
    double plan_seconds = 0;  ///< from the parsed capture to the certified schedule; of a check, to its verdict
    std::optional<std::vector<stretto::plan_violation>> violations = {};  ///< of a check
    std::optional<run_comparison> measured = {};                          ///< if there is a run of the plan

    /// How much longer the step is than its bound, at most as much as could still be gained.
    [[nodiscard]] double gap() const;
};

/// Where a plan for a range of contention is worst. Precondition: it is for a range.
const contention_point& worst_point(const comparison& c);

struct search_wishes {
    unsigned effort = 1;
    contention_range under = {};  ///< the clock by which plans are judged
    std::string isolate = "ep";   ///< all-to-alls of this group, of any that others use too ("ep"), or "none"
    bool reduce_once = true;      ///< where it makes the step faster
    bucketing buckets = {};       ///< which collectives travel together
    bool pareto = false;          ///< the whole front, of the step whole and in the chunks that were chosen
};

/// Schedules a step, in chunks if that is asked for, reduced once if that is allowed and faster, then in buckets, if
/// that is allowed and faster or asked for, and verifies the result by the facts of the graph, with code that the
/// scheduler does not share. For a range of contention, the best plans for its ends and its middle are found, and the
/// steadiest of them is taken.
stretto::expected<comparison, failure> plan_step(stretto::capture step, const std::string& file,
                                                 stretto::memory_budget limit, const chunking& chunks = {},
                                                 const search_wishes& wishes = {});

/// Verifies a plan that somebody made of a step, and what it achieves. A plan that breaks rules is still shown.
stretto::expected<comparison, failure> check(stretto::capture step, const std::string& file, stretto::capture plan,
                                             const std::string& plan_file, stretto::memory_budget limit,
                                             stretto::contention under = {});

}  // namespace planner

#endif
