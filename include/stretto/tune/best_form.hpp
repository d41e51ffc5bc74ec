// Chooses the form in which to run a step: isolated exchanges, sums reduced once, chunks, buckets, and the order of
// tasks. docs/algorithms/best-form.md explains the sequence of these decisions.
#ifndef STRETTO_TUNE_BEST_FORM_HPP
#define STRETTO_TUNE_BEST_FORM_HPP

#include "stretto/core/expected.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/memory.hpp"
#include "stretto/schedule/schedule_options.hpp"
#include "stretto/schedule/simulate.hpp"
#include "stretto/tune/detail/form_chooser.hpp"
#include "stretto/tune/form_choice.hpp"
#include "stretto/tune/form_writer.hpp"

namespace stretto {

/// Returns the fastest form of a step within the memory limit, with its schedule. Among equally fast forms it prefers
/// the one that changes least: shared communicators, then sums not reduced once, then no buckets. It decides together
/// on chunks and on reducing sums once. It tries buckets on the chosen form if that has chunks, and on the forms
/// without chunks that are the fastest at some level of memory up to the limit; the result is thus never slower than
/// without chunks. A form wanted `if_faster` is passed over if it does not fit or cannot be written (`passed_over` says
/// why). The error is that of the simplest form. A form in buckets whose times could exceed 2^62 ns is never taken.
///
/// Guarantee, if buckets are wanted `if_faster` or `never`: a larger limit never gives a longer makespan, provided that
/// this holds for the forms that the writer finds without buckets and for the buckets that it makes of one form, among
/// the limits below the peak of the step and among those from it on. With `within.effort` of 1, it holds among the same
/// limits, for steps that have no chunks. With more effort, it holds for all limits and forms: forms are then also
/// decided at some smaller limits and just below the peak (see best-form.md). It does not cover a range of contention.
///
/// With `up_to`, makes the best forms for `within.under`, for `up_to` and for the middle, and chooses the steadiest one
/// (steadiest_of), scheduled by the clock `within.under`. Deterministic if the writer is. Preconditions: the range is
/// valid; the step's times fit at its upper end (times_fit). Complexity: at most two searches for chunks and three for
/// buckets. With more effort, these run at each of up to five levels of memory (two of them up to the peak of the
/// step), and once more if the limit is not a level. Shared communicators double this, and a range triples it.
template <form_writer W>
[[nodiscard]] expected<best_form_result<typename W::program, typename W::error>, typename W::error> best_form(
    W& writer, const typename W::program& step, const form_options& wanted = {}) {
    const bytes peak = peak_of_input(writer.tasks(step));
    const bytes limit = wanted.within.memory_limit.limit(peak);
    schedule_options within = wanted.within;
    within.memory_limit = memory_budget::of_variant(limit, wanted.within.memory_limit.unit(peak));
    return detail::form_chooser<W>(writer, wanted, within, limit).run(step);
}

}  // namespace stretto

#endif
