// The forms of a step: programs that compute the same, and that the owner of its IR can write, each from another one.
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

/// What a search for chunks of a program has found, before that program is written: what the best schedule takes within
/// the limit, or nothing if none fits; what the program takes within the limit if it stays whole, or nothing if it does
/// not fit or is not to stay whole; and what the best takes within each level of memory up to the limit, as
/// fastest_step_form::figures says, or nothing if that is not known.
template <class S>
concept chunk_finding = std::movable<S> && requires(const S& s) {
    { s.makespan } -> std::convertible_to<std::optional<nanoseconds>>;
    { s.whole } -> std::convertible_to<std::optional<nanoseconds>>;
    { s.figures } -> std::convertible_to<std::vector<limit_figures>>;
};

/// Writes a step in its forms. `program` is a handle of one form, which is copied; `error` says in the owner's words
/// why a form cannot be written; `chunk_search` is what a search for chunks has found. All programs compute what the
/// step does.
///   - `tasks(p)` is the task graph of p, and lives as long as a copy of p does.
///   - `isolated(p)` has exchanges on communicators that no other collective uses; nothing if none shares one.
///   - `reduced(p)` has collectives of parts of a sum as one collective of the sum; nothing if there are none.
///   - `search(p, within, rival)` finds out in which chunks p is fastest, or takes those that the user has named, or
///     none; `rival` says what another form takes that would be chosen instead, as chunk_search_options::rival.
///     If whole is as fast, p stays whole.
///   - `in_chunks(found, within)` writes p in them, and schedules it. It takes what the search has promised, or less.
///   - `in_buckets(p, within, to_beat)` has collectives that travel together; nothing if no bucket is worth trying, and
///     perhaps if none makes p faster than `to_beat` within any limit, if that says something.
///   - `unschedulable(p, why)` is the error for a program of which no schedule fits.
/// No verb changes a program that was written before, and all of them can be asked again and say the same.
/// `check_form_writer` checks it.
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
