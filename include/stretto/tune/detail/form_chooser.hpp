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
        std::vector<std::optional<result>> below;     // by level: what was chosen at the last level of forms up to it
        std::vector<std::vector<plain_form>> wholes;  // likewise: the forms without chunks that were fastest
        std::optional<result> last;
        for (const form_level& level : levels) {
            if (level.of_forms)
                if (auto chosen = merged(p, within(level.limit), true)) take(*(last = *std::move(chosen)));
            below.push_back(last);
            wholes.push_back(wholes_);
        }
        std::vector<std::size_t> descending(levels.size());
        std::iota(descending.begin(), descending.end(), std::size_t{0});
        std::stable_sort(descending.begin(), descending.end(),
                         [&](std::size_t a, std::size_t b) { return levels[a].limit > levels[b].limit; });
        bytes above = levels[descending.front()].limit;
        for (const std::size_t k : descending) {
            const bytes next = std::exchange(above, levels[k].limit);
            if (levels[k].of_forms || !below[k] || wanted_.buckets == form_choice::never) continue;
            const std::optional<nanoseconds> beaten = to_beat(levels[k].limit, next);
            if (!beaten) continue;
            for (plain_form whole : wholes[k]) {
                whole.within = levels[k].limit;
                auto again = in_buckets(whole, within(levels[k].limit), *below[k], *beaten);
                if (again && *again) take(**std::move(again));
            }
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

    /// Returns the options for another limit.
    [[nodiscard]] schedule_options within(bytes limit) const { return within(within_, limit); }
    [[nodiscard]] static schedule_options within(schedule_options options, bytes limit) {
        options.memory_limit = memory_budget::of_variant(limit, options.memory_limit.unit({}));
        return options;
    }

    /// Returns the best form within the limit. With more effort, forms are also chosen at some levels up to the limit,
    /// and taken if they are faster within it. The choice at a level depends on nothing else, so a larger limit chooses
    /// from a superset of the forms. (docs/algorithms/best-form.md explains why the step is then no slower.)
    [[nodiscard]] expected<result, error> in_levels(const program& p, const schedule_options& options) {
        if (wanted_.buckets != form_choice::if_faster || options.effort < 2) return merged(p, options, true);
        std::optional<expected<result, error>> best;
        std::vector<result> held;  // what was chosen at other levels
        for (const form_level& level : levels_of_forms(limit_, options.memory_limit.unit({}))) {
            if (!level.of_forms) continue;
            auto chosen = merged(p, within(options, level.limit), true);
            if (level.limit == limit_) best = std::move(chosen);
            else if (chosen) held.push_back(*std::move(chosen));
        }
        // Which chunks are best changes with the limit, so between levels buckets are made of the whole step only.
        if (!best) best = merged(p, options, false);
        for (result& r : held) take_if_faster(*best, std::move(r), options);
        return *std::move(best);
    }

    /// A form without buckets, and the limit within which buckets are chosen for it.
    struct plain_form {
        program of;
        bool is_reduced;
        bytes within;
    };

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

    bool in_chunks_ = false;          ///< whether the form that `unmerged` chose last has chunks
    std::vector<plain_form> wholes_;  ///< set by `unmerged`: the forms without chunks of which buckets are made

    /// Returns the best form without buckets, or a form in buckets if that is wanted and, unless it is wanted always,
    /// faster. Buckets are made of the forms without chunks that are fastest at some level up to the limit, and of the
    /// best form if it has chunks and `of_chunks` is true. Chunks and buckets hide the same transfers, so a form
    /// without chunks may gain more from buckets than one with them.
    [[nodiscard]] expected<result, error> merged(const program& p, const schedule_options& options, bool of_chunks) {
        expected<result, error> found = unmerged(p, options);
        if (!found || wanted_.buckets == form_choice::never) return found;
        result& best = *found;
        const bytes limit = options.memory_limit.limit({});
        const plain_form without{best.chosen.program, best.is_reduced, limit};
        if (wanted_.buckets == form_choice::always) {
            auto made = always_in_buckets(best, options);
            if (!made || !in_chunks_) return made;
            best = *std::move(made);
        } else if (in_chunks_ && of_chunks) {
            take_if_faster(best, in_buckets(without, options, best, std::nullopt));
        }
        for (plain_form whole : wholes_) {
            // The chosen form is the same program, and the writer may have told more about it.
            if (!in_chunks_ && whole.is_reduced == without.is_reduced) whole.of = without.of;
            const std::optional to_beat(best.chosen.schedule.makespan());
            take_if_faster(best, in_buckets(whole, options, best, limit <= limit_ ? to_beat : std::nullopt));
        }
        return found;
    }
    /// Takes a form in buckets if it is faster; passes it over if it could not be written.
    static void take_if_faster(result& best, expected<std::optional<result>, error> in_buckets) {
        if (!in_buckets) best.passed_over.push_back(in_buckets.error());
        else if (*in_buckets && (*in_buckets)->chosen.schedule.makespan() < best.chosen.schedule.makespan())
            best = **std::move(in_buckets);
    }
    /// Returns a form in buckets if it has any, and otherwise as it is.
    [[nodiscard]] expected<result, error> always_in_buckets(result of, const schedule_options& options) {
        auto made = writer_.in_buckets(of.chosen.program, options, std::nullopt);
        if (!made) return unexpected(made.error());
        if (!*made || !times_fit(writer_.tasks(**made), options.under)) return of;
        auto scheduled = list_schedule(writer_.tasks(**made), options);
        if (!scheduled) return unexpected(writer_.unschedulable(**made, scheduled.error()));
        program unmerged = of.chosen.program;
        take_buckets(of, std::move(unmerged), {**std::move(made), *std::move(scheduled)});
        return of;
    }
    static void take_buckets(result& best, program unmerged, scheduled_program<program> in_buckets) {
        best.unmerged = std::move(unmerged);
        best.chosen = std::move(in_buckets);
    }
    /// Returns a form in buckets, with the other fields of `best`; nothing if there are no buckets or nothing fits.
    /// With `to_beat`, it may also return nothing if no buckets are faster than that.
    [[nodiscard]] expected<std::optional<result>, error> in_buckets(const plain_form& form,
                                                                    const schedule_options& options, const result& best,
                                                                    std::optional<nanoseconds> to_beat) {
        auto made = writer_.in_buckets(form.of, within(options, form.within), to_beat);
        if (!made) return unexpected(made.error());
        if (!*made || !times_fit(writer_.tasks(**made), options.under)) return std::optional<result>();
        auto scheduled = list_schedule(writer_.tasks(**made), options);
        if (!scheduled) return std::optional<result>();
        result in_buckets = best;
        take_buckets(in_buckets, form.of, {**std::move(made), *std::move(scheduled)});
        in_buckets.is_reduced = form.is_reduced;
        return std::optional(std::move(in_buckets));
    }

    /// Returns the best form without buckets. The program reduced once is searched first because it is usually faster,
    /// so a much slower original is abandoned early. Only the chosen form is written; if that fails, the other one is.
    [[nodiscard]] expected<result, error> unmerged(const program& p, const schedule_options& within) {
        wholes_.clear();
        using found = expected<typename W::chunk_search, error>;
        expected<std::optional<program>, error> reduced = std::optional<program>();
        if (wanted_.reduce_once != form_choice::never) reduced = writer_.reduced(p);
        if (!reduced && wanted_.reduce_once == form_choice::always) return unexpected(reduced.error());
        if (!reduced || !*reduced) {
            found only = writer_.search(p, within, {});
            if (whole_of(only)) wholes_ = {{p, false, within.memory_limit.limit({})}};
            auto best = written(std::move(only), within);
            if (best && !reduced) best->passed_over.push_back(reduced.error());
            return best;
        }
        found once = writer_.search(**reduced, within, {});
        const auto write_once = [&] {
            auto best = written(std::move(once), within);
            if (best) best->is_reduced = true;
            return best;
        };
        const auto with_sums = [&](expected<result, error> best) {
            if (best) best->reduced = *std::move(reduced);
            return best;
        };
        if (whole_of(once)) wholes_ = {{**reduced, true, within.memory_limit.limit({})}};
        if (wanted_.reduce_once == form_choice::always) return with_sums(write_once());
        found as_given = writer_.search(p, within, once ? once->figures : std::vector<limit_figures>());
        if (whole_of(as_given)) wholes_.insert(wholes_.begin(), {p, false, within.memory_limit.limit({})});
        if (wanted_.buckets != form_choice::never) keep_fastest_wholes(within);
        const bool once_first = is_second(as_given, once);
        if (once_first)
            if (auto best = write_once()) return with_sums(std::move(best));
        auto plain = written(std::move(as_given), within);
        if (!plain && !once_first)
            if (auto best = write_once()) return with_sums(std::move(best));
        return with_sums(std::move(plain));
    }

    /// Keeps those of `wholes_` that are the fastest ones at some level up to the limit, the first of equally fast
    /// ones. Which one is the fastest at a level does not depend on the limit, so a larger limit only adds forms. The
    /// one that is fastest at the last level comes first. Buckets for another one are chosen within less than the level
    /// at which it has ceased to be the fastest.
    void keep_fastest_wholes(const schedule_options& options) {
        if (wholes_.empty()) return;
        const auto levels = limit_levels::of_buckets(options.memory_limit.limit({}), options.memory_limit.unit({}));
        std::vector<std::vector<limit_figures>> figures;
        for (const plain_form& f : wholes_)
            figures.push_back(list_schedule_by_limits(writer_.tasks(f.of), options, levels.limits).figures);
        std::vector<plain_form> kept;
        std::vector<char> is_kept(wholes_.size(), false);
        for (std::size_t level = levels.decided; level-- > 0;) {
            std::size_t fastest = 0;
            for (std::size_t k = 1; k < wholes_.size(); ++k)
                if (figures[k][level].makespan < figures[fastest][level].makespan) fastest = k;
            if (figures[fastest][level].makespan.count == INT64_MAX) break;
            if (std::exchange(is_kept[fastest], true)) continue;
            if (level + 1 < levels.decided) wholes_[fastest].within = levels.limits[level + 1] - bytes{1};
            kept.push_back(wholes_[fastest]);
        }
        wholes_ = std::move(kept);
    }

    /// Writes and schedules the form that was found.
    [[nodiscard]] expected<result, error> written(expected<typename W::chunk_search, error> found,
                                                  const schedule_options& within) {
        if (!found) return unexpected(found.error());
        const bool has_chunks = !whole_of(found) || whole_of(found) != makespan_of(found);
        auto made = writer_.in_chunks(*std::move(found), within);
        if (!made) return unexpected(made.error());
        in_chunks_ = has_chunks;
        return result{*std::move(made)};
    }
};

}  // namespace stretto::detail

#endif
