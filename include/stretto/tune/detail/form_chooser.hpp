// Decides on one form of a step after another: isolated exchanges, sums reduced once, chunks, buckets, and the order of
// tasks. docs/algorithms/best-form.md explains the sequence of these decisions.
//
// Longer than 300 lines: the decisions and the candidates that each one leaves open form one argument.
#ifndef STRETTO_TUNE_DETAIL_FORM_CHOOSER_HPP
#define STRETTO_TUNE_DETAIL_FORM_CHOOSER_HPP

#include <algorithm>
#include <cstddef>
#include <numeric>
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
#include "stretto/tune/form_choice.hpp"
#include "stretto/tune/form_writer.hpp"

namespace stretto::detail {

/// Decides on one form after another. Passes the writer limits in bytes, so that all forms have the same limit.
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

    /// Calls take(form) for the forms that are chosen for a program at the levels of memory up to the limit. Levels of
    /// buckets come last, from the largest on, and only those for which `to_beat(level, above)` returns a makespan that
    /// buckets should beat there; `above` is the next larger level of any kind, or the level itself if there is none.
    template <class Take, class ToBeat>
    void run_levels(const program& p, Take take, ToBeat to_beat) {
        const std::vector<form_level> levels = levels_of_forms(limit_, within_.memory_limit.unit({}));
        std::vector<std::optional<level_choice>> below;  // by level: what was chosen at the level of forms before it
        std::optional<level_choice> last;
        for (const form_level& level : levels) {
            if (level.of_forms) {
                expected<result, error> chosen = at_level_of_forms(p, within_, level.limit, last);
                if (chosen) take(*std::move(chosen));
                if (whole_in_buckets_) take(*std::exchange(whole_in_buckets_, std::nullopt));
            }
            below.push_back(last);
        }
        std::vector<std::size_t> descending(levels.size());
        std::iota(descending.begin(), descending.end(), std::size_t{0});
        std::stable_sort(descending.begin(), descending.end(),
                         [&](std::size_t a, std::size_t b) { return levels[a].limit > levels[b].limit; });
        bytes above = levels[descending.front()].limit;
        for (const std::size_t k : descending) {
            const bytes next = std::exchange(above, levels[k].limit);
            if (levels[k].of_forms || !below[k]) continue;
            const std::optional<nanoseconds> beaten = to_beat(levels[k].limit, next);
            if (!beaten) continue;
            if (auto again = at_level_of_buckets(within_, levels[k].limit, *below[k], *beaten)) take(*std::move(again));
        }
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
    /// Returns whether the second of two is faster, or the only one that fits.
    template <class Found>
    [[nodiscard]] static bool is_second(const Found& first, const Found& second) {
        const std::optional<nanoseconds> both[] = {makespan_of(first), makespan_of(second)};
        return fastest_of(both) == std::size_t{1};
    }

    [[nodiscard]] expected<result, error> in_range(const program& p) {
        return wanted_.up_to ? steadiest(p, *wanted_.up_to) : in_levels(p, within_);
    }

    /// Makes the best forms for both ends and the middle of the range. Returns the form with the smallest worst ratio
    /// to the best of them over five points.
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

    /// Returns the best form without buckets within the limit, or a form chosen at some level if that is faster within
    /// the limit. The choice at a level depends on nothing else, so a larger limit chooses from a superset of the
    /// forms. (docs/algorithms/best-form.md explains why the step is then no slower.)
    [[nodiscard]] expected<result, error> in_levels(const program& p, const schedule_options& within) {
        if (wanted_.buckets != form_choice::if_faster || within.effort < 2) return merged(p, within);
        std::optional<expected<result, error>> best;
        std::vector<result> held;    // what was chosen at other levels
        std::optional<result> last;  // what was chosen at the last level of forms
        for_each_level(p, within, [&](std::optional<bytes> level, expected<result, error> chosen) {
            if (level && chosen) last = *chosen;
            if (level == limit_) best = std::move(chosen);
            else if (chosen) held.push_back(*std::move(chosen));
        });
        const bool is_level = best.has_value();
        if (!is_level) best = unmerged(p, within);
        for (result& r : held) take_if_faster(*best, std::move(r), within);
        // A form without buckets does not record why buckets failed; take that from the last level.
        if (*best && last && !is_level && !(*best)->unmerged) (*best)->passed_over = std::move(last->passed_over);
        return *std::move(best);
    }
    /// Chooses forms at the levels of memory up to the limit. Calls take(level, form) for the form chosen at each level
    /// of forms, or the error there. Calls it without a level for other forms that are met on the way: the whole form
    /// in buckets if another one was chosen at a level of forms, and that form in the buckets of each level of buckets.
    template <class Take>
    void for_each_level(const program& p, const schedule_options& within, Take take) {
        std::optional<level_choice> last;
        for (const form_level& level : levels_of_forms(limit_, within.memory_limit.unit({}))) {
            if (level.of_forms) {
                take(std::optional(level.limit), at_level_of_forms(p, within, level.limit, last));
                if (whole_in_buckets_) take(std::nullopt, *std::exchange(whole_in_buckets_, std::nullopt));
            } else if (last) {
                // A form that cannot beat one that already fits the limit is of no use within the limit either.
                const std::optional to_beat(last->chosen.chosen.schedule.makespan());
                auto again =
                    at_level_of_buckets(within, level.limit, *last, last->limit <= limit_ ? to_beat : std::nullopt);
                if (again) take(std::nullopt, *std::move(again));
            }
        }
    }

    /// The fastest form with neither chunks nor buckets.
    struct whole_form {
        program of;
        bool is_reduced;
    };
    /// What was chosen at a level of forms, and the best whole form there.
    struct level_choice {
        result chosen;
        bytes limit;
        whole_form whole;
    };

    /// Chooses a form at a level of forms, and records it in `last` if there is one.
    [[nodiscard]] expected<result, error> at_level_of_forms(const program& p, const schedule_options& within,
                                                            bytes level, std::optional<level_choice>& last) {
        schedule_options there = within;
        there.memory_limit = memory_budget::of_variant(level, within.memory_limit.unit({}));
        expected<result, error> chosen = merged(p, there);
        if (!chosen) return chosen;
        const program& unmerged = chosen->unmerged ? *chosen->unmerged : chosen->chosen.program;
        last = level_choice{*chosen, level, whole_ ? *whole_ : whole_form{unmerged, chosen->is_reduced}};
        return chosen;
    }
    /// Returns the whole form that was best at the last level of forms in the buckets of this level, if there are any.
    /// With `to_beat`, it may also return nothing if no buckets are faster than that.
    [[nodiscard]] std::optional<result> at_level_of_buckets(const schedule_options& within, bytes level,
                                                            const level_choice& last,
                                                            std::optional<nanoseconds> to_beat) {
        schedule_options there = within;
        there.memory_limit = memory_budget::of_variant(level, within.memory_limit.unit({}));
        if (wanted_.buckets == form_choice::never || !list_schedule(writer_.tasks(last.whole.of), there))
            return std::nullopt;
        auto again = in_buckets(last.whole, there, last.chosen, to_beat);
        return again ? *std::move(again) : std::nullopt;
    }

    /// Takes a form chosen at a level if it is faster within the limit, either in the order found for the limit or in
    /// its own. A level below the peak of the step has its own rungs, so its order may be the faster one.
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

    std::optional<whole_form> whole_;         ///< set by `unmerged` if the form that it chose has chunks
    std::optional<result> whole_in_buckets_;  ///< that form in buckets, if `merged` chose another one

    /// Returns the best form without buckets, or that form in buckets if wanted. Chunks and buckets hide the same
    /// transfers, so if the best form has chunks, the best form without chunks may gain more from buckets: both are
    /// tried.
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
        const std::optional to_beat(best.chosen.schedule.makespan());
        auto whole =
            in_buckets(*whole_, within, best, within.memory_limit.limit({}) <= limit_ ? to_beat : std::nullopt);
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
    /// Returns the whole form in buckets, with the other fields of `best`; nothing if there are no buckets or nothing
    /// fits. With `to_beat`, it may also return nothing if no buckets are faster than that.
    [[nodiscard]] expected<std::optional<result>, error> in_buckets(const whole_form& whole,
                                                                    const schedule_options& within, const result& best,
                                                                    std::optional<nanoseconds> to_beat) {
        auto made = writer_.in_buckets(whole.of, within, to_beat);
        if (!made) return unexpected(made.error());
        if (!*made || !times_fit(writer_.tasks(**made), within.under)) return std::optional<result>();
        auto scheduled = list_schedule(writer_.tasks(**made), within);
        if (!scheduled) return std::optional<result>();
        result in_buckets = best;
        take_buckets(in_buckets, whole.of, {**std::move(made), *std::move(scheduled)});
        in_buckets.is_reduced = whole.is_reduced;
        return std::optional(std::move(in_buckets));
    }

    /// Returns the best form without buckets; if it has chunks, `whole_` is the best form without chunks. The program
    /// reduced once is searched first because it is usually faster, so a much slower original is abandoned early. Only
    /// the chosen form is written; if that fails, the other one is.
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

    /// Writes and schedules the form that was found. If it has no chunks, resets `whole_`: no other such form remains.
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

}  // namespace stretto::detail

#endif
