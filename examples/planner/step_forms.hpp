// Writes captured steps in the forms that best_form asks for: whole or in chunks, reduced once, isolated and in
// buckets, within what the arguments of the tool allow.
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

/// Operations of a chunked step that all stay whole for the same reason, which is their own and not that another
/// operation stays whole.
struct kept_whole {
    std::string first;                        ///< the name of the first of them in program order
    std::size_t count = 1;                    ///< how many there are
    std::string why;                          ///< the reason
    std::size_t behind = 0;                   ///< how many operations stay whole because of these
    std::vector<std::string> exchanges = {};  ///< the all-to-alls that therefore stay whole
    stretto::nanoseconds exposed = {};        ///< the exposed time of those exchanges in the plan
};

/// What it takes to reduce sums once, if no order of that form fits the memory limit.
struct room_for_sums {
    stretto::bytes least;          ///< no order of that form needs less
    stretto::bytes enough;         ///< an order that needs no more is known
    stretto::nanoseconds takes{};  ///< how long the step takes in that order
};

/// Collectives whose results are only added to each other, and how many they become.
struct sums_of_collectives {
    std::size_t collectives = 0;              ///< how many could be reduced once
    std::size_t made = 0;                     ///< how many collectives they could become
    bool once = true;                         ///< whether they are reduced once, because the step is faster that way
    std::optional<room_for_sums> needs = {};  ///< if that is why they are not
};

/// All-to-alls that have a communicator of their own.
struct isolated_group {
    std::string group;      ///< the group that they shared with other collectives
    std::string duplicate;  ///< the group of the same ranks to which they moved
    std::size_t moved = 0;  ///< how many moved
};

/// The chunks in which a program is written.
struct written_chunks {
    std::size_t most = 1;                ///< the largest number of chunks of any part
    std::string note = {};               ///< the chunks in the notation of --chunk, or why there are none
    bool slices = false;                 ///< whether parts are joined slice by slice where possible
    std::vector<kept_whole> whole = {};  ///< as comparison::whole
};

/// A step in one of its forms, and what was done to it.
struct written_step {
    std::shared_ptr<const program> of;
    std::vector<isolated_group> isolated = {};
    std::optional<sums_of_collectives> sums = {};  ///< if the step is reduced once
    std::vector<std::uint32_t> summands = {};      ///< the summands of these sums, which must stay whole
    written_chunks chunks = {};
    std::vector<shown_bucket> buckets = {};
};

/// A form_writer of captures (tune/form_writer.hpp), which documents the members. Errors are failures about the file of
/// the step.
class step_forms {
public:
    using program = written_step;
    using error = failure;
    struct chosen_chunks;
    struct chunk_search {
        std::optional<stretto::nanoseconds> makespan = {};
        std::optional<stretto::nanoseconds> whole = {};  ///< of the step whole, unless --chunk names chunks
        std::vector<stretto::limit_figures> figures = {};
        std::optional<stretto::scheduled_program<written_step>> written = {};  ///< set if nothing had to be chosen
        std::shared_ptr<chosen_chunks> chosen = {};                            ///< otherwise the unwritten choice
    };
    template <class T>
    using maybe = stretto::expected<T, failure>;

    /// `file` is the name of the step in messages. `isolate` is a group whose all-to-alls are moved away, or "ep" for
    /// any group that other collectives use too.
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
