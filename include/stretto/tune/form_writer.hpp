// The forms of a step: programs that compute the same result. The owner of the IR can write each form from another one.
#ifndef STRETTO_TUNE_FORM_WRITER_HPP
#define STRETTO_TUNE_FORM_WRITER_HPP

#include <concepts>
#include <optional>
#include <utility>
#include <vector>

#include "stretto/core/expected.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/limit_trial.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "stretto/schedule/schedule_options.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace stretto {

/// A program and a schedule of it.
template <class Program>
struct scheduled_program {
    Program program;
    stretto::schedule schedule;
};

/// The result of a chunk search, before the program is written. `makespan` is that of the best schedule within the
/// limit, or empty if none fits. `whole` is the makespan of the uncut program within the limit, or empty if it does not
/// fit or must not stay whole. `figures` are those of the best schedule within each level of memory up to the limit, as
/// in fastest_step_form::figures, or empty if unknown.
template <class S>
concept chunk_finding = std::movable<S> && requires(const S& s) {
    { s.makespan } -> std::convertible_to<std::optional<nanoseconds>>;
    { s.whole } -> std::convertible_to<std::optional<nanoseconds>>;
    { s.figures } -> std::convertible_to<std::vector<limit_figures>>;
};

/// Writes the forms of a step. `program` is a copyable handle of one form; `error` says in the owner's terms why a form
/// cannot be written; `chunk_search` is the result of a search for chunks. All programs compute the same result as the
/// step.
///   - `tasks(p)` is the task graph of p. It lives as long as any copy of p.
///   - `isolated(p)` moves exchanges to communicators that no other collective uses; nothing if none is shared.
///   - `reduced(p)` replaces collectives of the parts of a sum by one collective of the sum; nothing if there are none.
///   - `search(p, within, rival)` finds the chunks with which p is fastest, or takes the chunks that the user named, or
///     none. `rival` gives the figures of another form that would be chosen instead, as in chunk_search_options::rival.
///     If the uncut program is as fast, p stays whole.
///   - `in_chunks(found, within)` writes p in these chunks and schedules it. Its makespan is at most that of the
///     search.
///   - `in_buckets(p, within, to_beat)` merges collectives that travel together. It returns nothing if no bucket is
///     worth trying. If `to_beat` is set, it may also return nothing if no buckets make p faster than that within any
///     limit. A larger limit should never lead to a program that is slower within it (search_buckets).
///   - `unschedulable(p, why)` is the error for a program without a schedule that fits.
/// No call changes a program that was written earlier. Repeated calls with equal arguments return equal results.
/// `check_form_writer` checks these rules.
template <class W>
concept form_writer =
    std::copyable<typename W::program> && std::copyable<typename W::error> && chunk_finding<typename W::chunk_search> &&
    requires(W& w, const typename W::program& p, typename W::chunk_search found, const schedule_options& within,
             std::vector<limit_figures> rival, std::optional<nanoseconds> to_beat, const limit_too_low& why) {
        { w.tasks(p) } -> std::same_as<const task_graph&>;
        { w.isolated(p) } -> std::same_as<expected<std::optional<typename W::program>, typename W::error>>;
        { w.reduced(p) } -> std::same_as<expected<std::optional<typename W::program>, typename W::error>>;
        { w.search(p, within, rival) } -> std::same_as<expected<typename W::chunk_search, typename W::error>>;
        {
            w.in_chunks(std::move(found), within)
        } -> std::same_as<expected<scheduled_program<typename W::program>, typename W::error>>;
        {
            w.in_buckets(p, within, to_beat)
        } -> std::same_as<expected<std::optional<typename W::program>, typename W::error>>;
        { w.unschedulable(p, why) } -> std::same_as<typename W::error>;
    };

}  // namespace stretto

#endif
