// Which form of a step to run: with communicators of its own for exchanges, with sums of collectives reduced once, in
// chunks, in buckets, and in which order. docs/algorithms/best-form.md says in which sequence this is decided, and why.
//
// Longer than 300 lines: which form is decided where, and what stays to be chosen from, are one argument.
#ifndef STRETTO_TUNE_BEST_FORM_HPP
#define STRETTO_TUNE_BEST_FORM_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/config.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/certificate.hpp"
#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/limit_trial.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "stretto/schedule/memory.hpp"
#include "stretto/schedule/schedule_options.hpp"
#include "stretto/schedule/simulate.hpp"
#include "stretto/tune/contention_range.hpp"
#include "stretto/tune/detail/limit_levels.hpp"
#include "stretto/tune/fastest_of.hpp"
#include "stretto/tune/form_writer.hpp"

namespace stretto {

/// Whether a step takes on a form.
enum class form_choice : std::uint8_t {
    never,
    if_faster,  ///< within the memory limit, and by the clock that is asked for
    always      ///< wherever the step has such a form
};

/// Which forms a step may take, and within what. In how many chunks is the writer's to say.
struct form_options {
    schedule_options within = {};  ///< a multiple of a peak is one of the peak of the step as it is given
    form_choice isolate = form_choice::if_faster;
    form_choice reduce_once = form_choice::if_faster;
    form_choice buckets = form_choice::if_faster;
    /// If contention is only known to be between `within.under` and this: the plan that is steadiest between them.
    std::optional<contention> up_to = {};
};

/// What a plan takes at one point of a range of contention.
struct range_point {
    contention at;
    nanoseconds makespan;
    nanoseconds best;  ///< of all plans that were made of the same program

    /// makespan / best, 1 or more.
    [[nodiscard]] double ratio() const noexcept {
        return best.count == 0 ? 1 : static_cast<double>(makespan.count) / static_cast<double>(best.count);
    }
};

/// The form to run, and what else was possible.
template <class Program, class Error>
struct best_form_result {
    scheduled_program<Program> chosen;
    bool is_isolated = false;              ///< exchanges are on communicators of their own
    bool is_reduced = false;               ///< sums of collectives are one collective
    std::optional<Program> reduced = {};   ///< the program with these sums, if it has any, chosen or not, and whole
    std::optional<Program> unmerged = {};  ///< `chosen` without its buckets, if it has some
    std::vector<range_point> points = {};  ///< of a range of contention, five
    /// Why forms that were wanted if faster cannot be written: isolated, reduced once, in buckets.
    std::vector<Error> passed_over = {};
};

namespace detail {

/// Decides form after form. Every verb of the writer is asked with limits in bytes, so that all forms have the same.
template <form_writer W>
class form_chooser {
public:
    using program = typename W::program;
    using error = typename W::error;
    using result = best_form_result<program, error>;

    form_chooser(W& writer, const form_options& wanted, schedule_options within, bytes limit)
        : writer_(writer), wanted_(wanted), within_(within), limit_(limit) {}

    [[nodiscard]] expected<result, error> run(const program& step) {
        if (wanted_.isolate == form_choice::never) return in_range(step);
        auto apart = writer_.isolated(step);
        if (!apart && wanted_.isolate == form_choice::always) return unexpected(apart.error());
        if (!apart || !*apart) {
            auto best = in_range(step);
            if (best && !apart) best->passed_over.insert(best->passed_over.begin(), apart.error());
            return best;
        }
        auto isolated = in_range(**apart);
        if (isolated) isolated->is_isolated = true;
        if (wanted_.isolate == form_choice::always) return isolated;
        auto shared = in_range(step);
        return is_second(shared, isolated) ? std::move(isolated) : std::move(shared);
    }

private:
    W& writer_;
    const form_options& wanted_;
    const schedule_options within_;
    const bytes limit_;

    [[nodiscard]] static std::optional<nanoseconds> makespan_of(const expected<result, error>& r) {
        return r ? std::optional(r->chosen.schedule.makespan()) : std::nullopt;
    }
    [[nodiscard]] static std::optional<nanoseconds> makespan_of(
        const expected<typename W::chunk_search, error>& found) {
        return found ? std::optional<nanoseconds>(found->makespan) : std::nullopt;
    }
    [[nodiscard]] static std::optional<nanoseconds> whole_of(const expected<typename W::chunk_search, error>& found) {
        return found ? std::optional<nanoseconds>(found->whole) : std::nullopt;
    }
    /// Whether the second of two is faster, or the only one that fits.
    template <class Found>
    [[nodiscard]] static bool is_second(const Found& first, const Found& second) {
        const std::optional<nanoseconds> both[] = {makespan_of(first), makespan_of(second)};
        return fastest_of(both) == std::size_t{1};
    }

    [[nodiscard]] expected<result, error> in_range(const program& p) {
        return wanted_.up_to ? steadiest(p, *wanted_.up_to) : in_levels(p, within_);
    }

    /// Makes the best forms for both ends and the middle of the range, and returns the one whose worst ratio to the
    /// best of them, over five points, is least.
    [[nodiscard]] expected<result, error> steadiest(const program& p, contention up_to) {
        std::vector<result> plans;
        for (const contention c : contention_points(within_.under, up_to, 3)) {
            schedule_options within = within_;
            within.under = c;
            auto made = in_levels(p, within);
            if (!made) return made;
            plans.push_back(*std::move(made));
        }
        const std::vector<contention> points = contention_points(within_.under, up_to, 5);
        std::vector<std::vector<nanoseconds>> makespans;
        for (const result& r : plans) {
            makespans.emplace_back();
            for (const contention c : points)
                makespans.back().push_back(
                    simulate(writer_.tasks(r.chosen.program), r.chosen.schedule.order(), c).makespan);
        }
        const std::size_t steadiest = steadiest_of(makespans)->plan;
        result chosen = std::move(plans[steadiest]);
        for (std::size_t k = 0; k < points.size(); ++k) {
            range_point& point =
                chosen.points.emplace_back(range_point{points[k], makespans[steadiest][k], makespans[steadiest][k]});
            for (const std::vector<nanoseconds>& other : makespans) point.best = std::min(point.best, other[k]);
        }
        schedule& s = chosen.chosen.schedule;
        if (!(s.under() == within_.under)) {
            auto again = certify(writer_.tasks(chosen.chosen.program), s.order(), limit_, within_.under);
            STRETTO_ASSERT(again.has_value(), "the order of a schedule does not fit the tasks of its program");
            if (again) s = *std::move(again);
        }
        return chosen;
    }

    /// The best form without buckets within the limit, or what has been chosen at some level, if that is faster within
    /// the limit. What is chosen at a level depends on nothing else, so that a larger limit chooses from the same and
    /// more. (docs/algorithms/best-form.md says why that makes a step no slower.)
    [[nodiscard]] expected<result, error> in_levels(const program& p, const schedule_options& within) {
        if (wanted_.buckets != form_choice::if_faster || within.effort < 2) return merged(p, within);
        const bytes step_peak = within.memory_limit.unit({});
        const std::vector<form_level> levels = levels_of_forms(limit_, step_peak);
        std::optional<expected<result, error>> best;
        std::vector<result> held;    // what was chosen at other levels
        std::optional<result> last;  // what was chosen at the last level of forms
        std::optional<whole_form> whole;
        bytes last_level;
        for (const form_level& level : levels) {
            schedule_options there = within;
            there.memory_limit = memory_budget::of_variant(level.limit, step_peak);
            if (level.of_forms) {
                expected<result, error> chosen = merged(p, there);
                if (level.limit == limit_) best = chosen;
                else if (chosen) held.push_back(*chosen);
                if (!chosen) continue;
                if (whole_in_buckets_) held.push_back(*std::move(whole_in_buckets_));
                last = *std::move(chosen);
                last_level = level.limit;
                whole = whole_ ? *whole_
                               : whole_form{last->unmerged ? *last->unmerged : last->chosen.program, last->is_reduced};
            } else if (last && list_schedule(writer_.tasks(whole->of), there)) {
                // What cannot be faster than something that the limit has is of no use within it either.
                auto again = in_buckets(*whole, there, *last, last_level <= limit_);
                if (again && *again) held.push_back(**std::move(again));
            }
        }
        const bool is_level = best.has_value();
        if (!is_level) best = unmerged(p, within);
        for (result& r : held) take_if_faster(*best, std::move(r), within);
        // Without buckets, nobody has asked why there are none.
        if (*best && last && !is_level && !(*best)->unmerged) (*best)->passed_over = std::move(last->passed_over);
        return *std::move(best);
    }
    /// Takes what was chosen at a level, if that is faster within the limit: in the order that the limit leads to, or
    /// in its own. A level below the peak of the step has rungs of its own, so that its order may be the faster one.
    void take_if_faster(expected<result, error>& best, result chosen, const schedule_options& within) const {
        const task_graph& tasks = writer_.tasks(chosen.chosen.program);
        const schedule& own = chosen.chosen.schedule;
        std::optional<nanoseconds> makespans[] = {makespan_of(best), std::nullopt, std::nullopt};
        auto here = list_schedule(tasks, within);
        if (here) makespans[1] = here->makespan();
        if (own.memory().peak <= limit_) makespans[2] = own.makespan();
        const std::optional<std::size_t> fastest = fastest_of(makespans);
        if (!fastest || *fastest == 0) return;
        if (*fastest == 2) {
            auto kept = certify(tasks, own.order(), limit_, within.under);
            STRETTO_ASSERT(kept.has_value(), "the order of a schedule does not fit the tasks of its program");
            if (!kept) return;
            chosen.chosen.schedule = *std::move(kept);
        } else {
            chosen.chosen.schedule = *std::move(here);
        }
        best = std::move(chosen);
    }

    /// The fastest form in neither chunks nor buckets.
    struct whole_form {
        program of;
        bool is_reduced;
    };
    std::optional<whole_form> whole_;
    std::optional<result> whole_in_buckets_;  ///< the same in buckets, if `merged` has chosen something else

    /// The best form without buckets, and the same in buckets if that is wanted. Chunks and buckets hide the same
    /// transfers, so if the best form is in chunks, the best one without them may gain more: that in buckets as well.
    [[nodiscard]] expected<result, error> merged(const program& p, const schedule_options& within) {
        whole_.reset();
        whole_in_buckets_.reset();
        expected<result, error> found = unmerged(p, within);
        if (!found || wanted_.buckets == form_choice::never) return found;
        result& best = *found;
        const bool always = wanted_.buckets == form_choice::always;
        auto made = writer_.in_buckets(best.chosen.program, within, std::nullopt);
        if (!made && always) return unexpected(made.error());
        if (!made) best.passed_over.push_back(made.error());
        if (made && *made && times_fit(writer_.tasks(**made), within.under)) {
            auto scheduled = list_schedule(writer_.tasks(**made), within);
            if (!scheduled && always) return unexpected(writer_.unschedulable(**made, scheduled.error()));
            if (scheduled && (always || scheduled->makespan() < best.chosen.schedule.makespan()))
                take_buckets(best, best.chosen.program, {**std::move(made), *std::move(scheduled)});
        }
        if (!whole_) return found;
        auto whole = in_buckets(*whole_, within, best, within.memory_limit.limit({}) <= limit_);
        if (!whole) best.passed_over.push_back(whole.error());
        if (!whole || !*whole) return found;
        if ((*whole)->chosen.schedule.makespan() < best.chosen.schedule.makespan()) best = **std::move(whole);
        else whole_in_buckets_ = *std::move(whole);
        return found;
    }
    static void take_buckets(result& best, program unmerged, scheduled_program<program> in_buckets) {
        best.unmerged = std::move(unmerged);
        best.chosen = std::move(in_buckets);
    }
    /// The form without chunks in buckets, with what else `best` says; or nothing, if it has none or does not fit, or,
    /// if only what `is_faster` counts, if it cannot be faster than the best one.
    [[nodiscard]] expected<std::optional<result>, error> in_buckets(const whole_form& whole,
                                                                    const schedule_options& within, const result& best,
                                                                    bool is_faster) {
        const std::optional to_beat(best.chosen.schedule.makespan());
        auto made = writer_.in_buckets(whole.of, within, is_faster ? to_beat : std::nullopt);
        if (!made) return unexpected(made.error());
        if (!*made || !times_fit(writer_.tasks(**made), within.under)) return std::optional<result>();
        auto scheduled = list_schedule(writer_.tasks(**made), within);
        if (!scheduled) return std::optional<result>();
        result in_buckets = best;
        take_buckets(in_buckets, whole.of, {**std::move(made), *std::move(scheduled)});
        in_buckets.is_reduced = whole.is_reduced;
        return std::optional(std::move(in_buckets));
    }

    /// The best form without buckets; if it is in chunks, `whole_` is the best one without. The program reduced once is
    /// searched first, because it is the faster one as a rule, and what is much slower as it is written is then given
    /// up early. Only what is chosen is written, and the other one if that fails.
    [[nodiscard]] expected<result, error> unmerged(const program& p, const schedule_options& within) {
        using found = expected<typename W::chunk_search, error>;
        expected<std::optional<program>, error> reduced = std::optional<program>();
        if (wanted_.reduce_once != form_choice::never) reduced = writer_.reduced(p);
        if (!reduced && wanted_.reduce_once == form_choice::always) return unexpected(reduced.error());
        if (!reduced || !*reduced) {
            found only = writer_.search(p, within, {});
            if (whole_of(only)) whole_ = whole_form{p, false};
            auto best = written(std::move(only), within);
            if (best && !reduced) best->passed_over.push_back(reduced.error());
            return best;
        }
        found once = writer_.search(**reduced, within, {});
        if (whole_of(once)) whole_ = whole_form{**reduced, true};
        const auto write_once = [&] {
            auto best = written(std::move(once), within);
            if (best) best->is_reduced = true;
            return best;
        };
        const auto with_sums = [&](expected<result, error> best) {
            if (best) best->reduced = *std::move(reduced);
            return best;
        };
        if (wanted_.reduce_once == form_choice::always) return with_sums(write_once());
        found as_given = writer_.search(p, within, once ? once->figures : std::vector<limit_figures>());
        const std::optional<nanoseconds> whole[] = {whole_of(as_given), whole_of(once)};
        if (fastest_of(whole) == std::size_t{0}) whole_ = whole_form{p, false};
        const bool once_first = is_second(as_given, once);
        if (once_first)
            if (auto best = write_once()) return with_sums(std::move(best));
        auto plain = written(std::move(as_given), within);
        if (!plain && !once_first)
            if (auto best = write_once()) return with_sums(std::move(best));
        return with_sums(std::move(plain));
    }

    /// Writes and schedules what was found. If that is whole, there is no other form without chunks to think of.
    [[nodiscard]] expected<result, error> written(expected<typename W::chunk_search, error> found,
                                                  const schedule_options& within) {
        if (!found) return unexpected(found.error());
        const bool stays_whole = whole_of(found) && whole_of(found) == makespan_of(found);
        auto made = writer_.in_chunks(*std::move(found), within);
        if (!made) return unexpected(made.error());
        if (stays_whole) whole_.reset();
        return result{*std::move(made)};
    }
};

}  // namespace detail

/// The fastest form of a step within the memory limit, with its schedule; of equally fast ones the one that changes
/// least: shared communicators before isolated ones, then parts of sums apart, then no buckets. Whether sums are
/// reduced once is decided with the chunks, and buckets are made of what is chosen and, if that is in chunks, of the
/// fastest form without chunks: so it is never slower than without chunks. A form that does not fit, or that
/// cannot be written while a simpler one can, is passed over (`passed_over` says why it cannot be written), unless it
/// is wanted always; the error is that of the simplest form. A form in buckets whose times could exceed 2^62 ns is
/// never taken.
///
/// With an effort of 2 or more (`within.effort`), a larger limit never gives a longer makespan, if buckets are wanted
/// if faster, and if that holds of what the writer finds without buckets, among limits below the peak of the step and
/// among those from it on. To that end a form is also decided at some smaller limits, and at one just below the peak
/// (best-form.md says why). That is not so for a range of contention, of which the steadiest plan is chosen.
///
/// With `up_to`, the best forms for `within.under`, for `up_to` and for the middle are made, and the steadiest one is
/// chosen (steadiest_of); its schedule is that of the clock `within.under`. Deterministic if the writer is.
/// Preconditions: a valid range; the step's times fit at its upper end (times_fit). At most two searches for chunks and
/// two for buckets; with more effort these at each of up to five levels of memory, and one for buckets at seven more,
/// of which two and three are up to the peak of the step. As many again if communicators are shared, each of them for
/// three clocks in a range.
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
