// Captured steps as best_form asks for them: whole or in chunks, reduced once, isolated and in buckets, as the
// arguments of the tool say.
#ifndef STRETTO_PLANNER_STEP_FORMS_HPP
#define STRETTO_PLANNER_STEP_FORMS_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bucketing.hpp"
#include "chunk_settings.hpp"
#include "program.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/limit_trial.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "stretto/schedule/schedule_options.hpp"
#include "stretto/tune/form_writer.hpp"

namespace planner {

/// Operations that stay whole in a chunked step, all for the same reason, and not because others do.
struct kept_whole {
    std::string first;  ///< in program order
    std::size_t count = 1;
    std::string why;
    std::size_t behind = 0;                   ///< how many that tokens reach stay whole because of these
    std::vector<std::string> exchanges = {};  ///< the all-to-alls among all of them, and of what tokens reach no more
    stretto::nanoseconds exposed = {};        ///< of those exchanges, in the plan
};

/// Collectives whose results are only added to each other, and what has become of them.
struct sums_of_collectives {
    std::size_t collectives = 0;  ///< that could become fewer
    std::size_t made = 0;         ///< how many they could become
    bool once = true;             ///< whether they did: the step is faster that way, within its limit
};

/// All-to-alls that have got a communicator of their own.
struct isolated_group {
    std::string group;      ///< that they shared with other collectives
    std::string duplicate;  ///< of the same ranks, on which they are now
    std::size_t moved = 0;
};

/// In which chunks a program is written.
struct written_chunks {
    std::size_t most = 1;                ///< of one part of the step
    std::string note = {};               ///< which part in how many, as --chunk takes it; or why none
    bool slices = false;                 ///< put together slice by slice, where that may be
    std::vector<kept_whole> whole = {};  ///< those that keep most whole first; if none are faster, what two would keep
};

/// A step in one of its forms, and what was done to it.
struct written_step {
    std::shared_ptr<const program> of;
    std::vector<isolated_group> isolated = {};
    std::optional<sums_of_collectives> sums = {};  ///< that are reduced once
    std::vector<std::uint32_t> summands = {};      ///< of these sums: they stay whole
    written_chunks chunks = {};
    std::vector<shown_bucket> buckets = {};
};

/// A form_writer of captures.
class step_forms {
public:
    using program = written_step;
    using error = failure;
    struct chosen_chunks;
    struct chunk_search {
        std::optional<stretto::nanoseconds> makespan = {};
        std::optional<stretto::nanoseconds> whole = {};  ///< of the step whole, unless its chunks are said
        std::vector<stretto::limit_figures> figures = {};
        std::optional<stretto::scheduled_program<written_step>> written = {};  ///< if there was nothing to choose
        std::shared_ptr<chosen_chunks> chosen = {};                            ///< otherwise
    };
    template <class T>
    using maybe = stretto::expected<T, failure>;

    /// `isolate` is a group of which all-to-alls are moved away, or "ep": any that others use too.
    step_forms(std::string file, chunking chunks, bucketing buckets, std::string isolate)
        : file_(std::move(file)),
          chunks_(std::move(chunks)),
          buckets_(std::move(buckets)),
          isolate_(std::move(isolate)) {}

    const stretto::task_graph& tasks(const written_step& p) const { return p.of->graph; }
    maybe<std::optional<written_step>> isolated(const written_step& p) const;
    maybe<std::optional<written_step>> reduced(const written_step& p) const;
    maybe<chunk_search> search(const written_step& p, const stretto::schedule_options& within,
                               std::vector<stretto::limit_figures> rival) const;
    maybe<stretto::scheduled_program<written_step>> in_chunks(chunk_search found,
                                                              const stretto::schedule_options& within) const;
    maybe<std::optional<written_step>> in_buckets(const written_step& p, const stretto::schedule_options& within,
                                                  std::optional<stretto::nanoseconds> to_beat) const;
    failure unschedulable(const written_step& p, const stretto::limit_too_low& why) const;

private:
    maybe<stretto::scheduled_program<written_step>> scheduled(
        written_step p, stretto::expected<stretto::schedule, stretto::limit_too_low> found) const;
    maybe<stretto::scheduled_program<written_step>> carry_out(const chosen_chunks& found,
                                                              const stretto::schedule_options& within) const;
    maybe<stretto::scheduled_program<written_step>> in_named_chunks(const written_step& p,
                                                                    const stretto::schedule_options& within) const;

    std::string file_;
    chunking chunks_;
    bucketing buckets_;
    std::string isolate_;
};

}  // namespace planner

#endif
