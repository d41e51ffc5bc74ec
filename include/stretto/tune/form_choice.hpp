// What best_form is asked, and what it answers: the forms that a step may take, and the form that was chosen.
#ifndef STRETTO_TUNE_FORM_CHOICE_HPP
#define STRETTO_TUNE_FORM_CHOICE_HPP

#include <cstdint>
#include <optional>
#include <vector>

#include "stretto/core/units.hpp"
#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/schedule_options.hpp"
#include "stretto/tune/form_writer.hpp"

namespace stretto {

/// Says whether a step is to take a form.
enum class form_choice : std::uint8_t {
    never,
    if_faster,  ///< if it fits the memory limit and is faster by the requested clock
    always      ///< whenever the step has such a form
};

/// The forms that a step may take, and their limits. The writer decides on the number of chunks.
struct form_options {
    schedule_options within = {};  ///< multiples of a peak refer to the peak of the given step
    form_choice isolate = form_choice::if_faster;
    form_choice reduce_once = form_choice::if_faster;
    form_choice buckets = form_choice::if_faster;
    /// Set if contention is only known to lie between `within.under` and this value: the steadiest plan is then chosen.
    std::optional<contention> up_to = {};
};

/// The makespan of a plan at one point of a range of contention.
struct range_point {
    contention at;
    nanoseconds makespan;
    nanoseconds best;  ///< among all plans made for the same program

    /// makespan / best, 1 or more.
    [[nodiscard]] double ratio() const noexcept {
        return best.count == 0 ? 1 : static_cast<double>(makespan.count) / static_cast<double>(best.count);
    }
};

/// The chosen form, and the alternatives.
template <class Program, class Error>
struct best_form_result {
    scheduled_program<Program> chosen;
    bool is_isolated = false;              ///< exchanges use communicators of their own
    bool is_reduced = false;               ///< each sum of collectives is one collective
    std::optional<Program> reduced = {};   ///< that program without chunks, if it exists, chosen or not
    std::optional<Program> unmerged = {};  ///< `chosen` without its buckets, if it has any
    std::vector<range_point> points = {};  ///< five points, for a range of contention
    /// Why forms wanted `if_faster` could not be written: isolated, reduced once, in buckets.
    std::vector<Error> passed_over = {};
};

}  // namespace stretto

#endif
