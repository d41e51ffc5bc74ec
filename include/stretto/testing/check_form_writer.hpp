// Checks the promises of a writer of forms that a compiler cannot check, and on which best_form relies. It takes two
// lines in the test of a writer:
//
//     const auto forms = stretto::check_form_writer(my_writer, my_step);
//     if (!forms) FAIL(forms.error().message());
#ifndef STRETTO_TESTING_CHECK_FORM_WRITER_HPP
#define STRETTO_TESTING_CHECK_FORM_WRITER_HPP

#include <cstddef>
#include <utility>

#include "stretto/core/expected.hpp"
#include "stretto/schedule/schedule_options.hpp"
#include "stretto/testing/detail/form_checker.hpp"
#include "stretto/testing/finding.hpp"
#include "stretto/tune/form_writer.hpp"

namespace stretto {

/// Counts of what was checked. A test of a writer can compare them with the expected numbers.
struct form_writer_summary {
    std::size_t programs = 0;  ///< all forms, including the given step
    std::size_t isolated = 0;
    std::size_t reduced = 0;
    std::size_t searched = 0;  ///< searches whose result fits
    std::size_t merged = 0;    ///< programs in buckets
    std::size_t refused = 0;   ///< forms for which the writer returned an error
    /// Why nothing was proved; empty if something was.
    [[nodiscard]] const char* unproved() const {
        return isolated + reduced + searched + merged == 0 ? "the step has no form but the one that was given" : "";
    }
    friend bool operator==(const form_writer_summary&, const form_writer_summary&) = default;
};

/// Writes a step in every form that it has, and checks for each form that
///   - program order is a legal order of its tasks;
///   - written again, it has the same tasks, and those of all forms written before have not changed;
///   - an isolated program differs in the groups of its collectives and in nothing else; one that is reduced once has
///     fewer collectives, and so has one in buckets;
///   - the schedule in chunks is a legal order within the limit and takes no longer than the search has promised,
///     and it exists exactly if the search has promised one;
///   - list_schedule schedules the whole program in no more than the makespan that the search gives for it, and the
///     search promises no more than that;
///   - buckets that must beat a makespan are the same as without this condition, if they are faster.
/// `within` is for searches; a multiple of the peak refers to the peak of the step. The result is deterministic if the
/// writer is. Cost: a handful of searches for chunks and for buckets, two or three for each program, and a schedule of
/// each. The position in a finding is that of a task.
template <form_writer W>
[[nodiscard]] expected<form_writer_summary, finding> check_form_writer(W& writer, const typename W::program& step,
                                                                       const schedule_options& within = {}) {
    detail::form_checker<W, form_writer_summary> checker(writer, step, within);
    if (finding f = checker.check(step); *f.rule) return unexpected(std::move(f));
    return checker.summary();
}

}  // namespace stretto

#endif
