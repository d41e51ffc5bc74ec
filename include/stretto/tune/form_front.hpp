// Finds how long a step takes with how much memory, in all of its forms.
#ifndef STRETTO_TUNE_FORM_FRONT_HPP
#define STRETTO_TUNE_FORM_FRONT_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "stretto/core/config.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/certificate.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "stretto/schedule/memory.hpp"
#include "stretto/schedule/schedule_options.hpp"
#include "stretto/schedule/simulate.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/tune/detail/form_chooser.hpp"
#include "stretto/tune/form_choice.hpp"
#include "stretto/tune/form_writer.hpp"

namespace stretto {

namespace detail {

/// Collects forms, and all of their orders that no other one found beats in both makespan and peak.
template <form_writer W>
class front_of_forms {
public:
    using program = typename W::program;
    using point = scheduled_program<program>;

    /// `within` has no limit, but a unit.
    front_of_forms(W& writer, const schedule_options& within)
        : writer_(writer), within_(within), below_(within), step_peak_(within.memory_limit.unit({})) {
        below_.memory_limit = memory_budget::of_variant(step_peak_ - bytes{1}, step_peak_);
    }

    /// Adds a form with its orders, whatever memory they need, including less than the peak of the step, unless it was
    /// added before. Returns its number.
    std::size_t add(const program& form) {
        const task_graph& tasks = writer_.tasks(form);
        for (std::size_t k = 0; k < forms_.size(); ++k)
            if (&writer_.tasks(forms_[k]) == &tasks) return k;
        const std::size_t number = forms_.size();
        forms_.push_back(form);  // the copy keeps the tasks alive, so that their address tells forms apart
        add_orders(number, order_front(tasks, within_));
        // Orders within less than the peak of the step have rungs of their own.
        if (step_peak_ > bytes{}) add_orders(number, order_front(tasks, below_));
        return number;
    }
    /// Adds a form, and a schedule of it that is known already.
    void add(const program& form, const schedule& known) {
        orders_.push_back({add(form), {known.order(), known.makespan(), known.memory().peak}});
    }

    /// Returns the makespan of the fastest order within a limit, if there is one. O(orders).
    [[nodiscard]] std::optional<nanoseconds> fastest_within(bytes limit) const {
        std::optional<nanoseconds> fastest;
        for (const order_of_form& o : orders_)
            if (o.found.peak <= limit) fastest = std::min(fastest.value_or(o.found.makespan), o.found.makespan);
        return fastest;
    }

    /// Returns the front. It ascends in peak, and so descends in makespan. Of orders that are as fast and as small, it
    /// contains the one that was added first.
    [[nodiscard]] std::vector<point> take() && {
        std::stable_sort(orders_.begin(), orders_.end(), [](const order_of_form& a, const order_of_form& b) {
            return a.found.peak != b.found.peak ? a.found.peak < b.found.peak : a.found.makespan < b.found.makespan;
        });
        std::vector<point> front;
        nanoseconds fastest{INT64_MAX};
        for (auto& [number, o] : orders_) {
            if (o.makespan >= fastest) continue;
            fastest = o.makespan;
            const program& form = forms_[number];
            auto certified = certify(writer_.tasks(form), std::move(o.order), o.peak, within_.under);
            STRETTO_ASSERT(certified.has_value(), "the order of a search does not fit the tasks of its program");
            if (certified) front.push_back({form, *std::move(certified)});
        }
        return front;
    }

private:
    struct order_of_form {
        std::size_t form;  // its number
        found_task_order found;
    };

    void add_orders(std::size_t form, expected<std::vector<found_task_order>, limit_too_low> found) {
        if (!found) return;
        for (found_task_order& o : *found) orders_.push_back({form, std::move(o)});
    }

    W& writer_;
    const schedule_options within_;
    schedule_options below_;  // one byte less than the peak of the step
    bytes step_peak_;
    std::vector<program> forms_;
    std::vector<order_of_form> orders_;
};

}  // namespace detail

/// Returns schedules of a step in its forms, whatever memory they need: no other schedule found is both as fast and as
/// small as one of these. They ascend in peak, and so descend in makespan. `best` is the form that best_form has chosen
/// with the same arguments.
///
/// The forms are `best`, and those that best_form chooses at levels of memory: just below the peak of the step, at 1,
/// 1.1 and 1.25 times the peak, and without a limit; with the buckets that it makes of the whole form at those of the
/// further levels where a hundredth may be gained; and all forms from which these were made. So no limit is needed to
/// see what memory buys. Within its limit, `best` is no faster than the last of these schedules; nor is what best_form
/// chooses at a level that is not below the peak, with the same other options and an effort of 1; nor what
/// list_schedule finds for one of these forms within any limit. Between two levels, best_form may find buckets that are
/// not tried here.
///
/// Forms that cannot be written are left out. Contention is that of `wanted.within.under`. Deterministic if the writer
/// is. Complexity: best_form at five levels and its search for buckets at up to eight more, for shared communicators
/// twice; and order_front twice for every form.
template <form_writer W>
[[nodiscard]] std::vector<scheduled_program<typename W::program>> form_front(
    W& writer, const typename W::program& step, const form_options& wanted,
    const best_form_result<typename W::program, typename W::error>& best) {
    schedule_options within = wanted.within;
    within.memory_limit =
        memory_budget::of_variant(unlimited_bytes, wanted.within.memory_limit.unit(peak_of_input(writer.tasks(step))));
    detail::front_of_forms<W> front(writer, within);
    const auto add = [&](const best_form_result<typename W::program, typename W::error>& form) {
        if (form.unmerged) front.add(*form.unmerged);
        if (form.reduced) front.add(*form.reduced);
        front.add(form.chosen.program, form.chosen.schedule);
    };
    front.add(step);
    add(best);
    detail::form_chooser<W> chooser(writer, wanted, within, unlimited_bytes);
    // A search for buckets at a level between two levels of forms takes as long as one at those, and most find little
    // that is not known. So there is one only where a hundredth may be gained: if what is known within that level is
    // slower by that than what is known within the next larger level, and if buckets may be faster by that at all.
    const auto to_beat = [&](bytes level, bytes above) -> std::optional<nanoseconds> {
        const std::optional<nanoseconds> here = front.fastest_within(level), there = front.fastest_within(above);
        if (!there) return std::nullopt;
        if (!here) return nanoseconds{INT64_MAX};
        const nanoseconds worthwhile{here->count - here->count / 100};
        return *there <= worthwhile ? std::optional(worthwhile) : std::nullopt;
    };
    const auto add_levels = [&](const typename W::program& p) {
        front.add(p);
        chooser.run_levels(p, add, to_beat);
    };
    std::optional<typename W::program> apart;
    if (wanted.isolate != form_choice::never)
        if (auto made = writer.isolated(step)) apart = *std::move(made);
    if (!apart || wanted.isolate != form_choice::always) add_levels(step);
    if (apart) add_levels(*apart);
    return std::move(front).take();
}

}  // namespace stretto

#endif
