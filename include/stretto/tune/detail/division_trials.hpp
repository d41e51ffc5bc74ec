// Tries divisions of the collectives of a step into runs, each of which becomes a bucket: makes the plan and the tasks
// of a division, and searches for its schedules within several memory limits, its levels, at once. A trial is given up
// when it is behind the best one at the same point of their searches, because schedules of the divisions of one step
// are similar.
//
// Longer than 300 lines: what is remembered of a division decides when another one is given up.
#ifndef STRETTO_TUNE_DETAIL_DIVISION_TRIALS_HPP
#define STRETTO_TUNE_DETAIL_DIVISION_TRIALS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "stretto/core/units.hpp"
#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/exposure.hpp"
#include "stretto/schedule/limit_trial.hpp"
#include "stretto/schedule/memory.hpp"
#include "stretto/schedule/schedule_options.hpp"
#include "stretto/schedule/simulate.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/schedule/trial_progress.hpp"
#include "stretto/transform/bucket_plan.hpp"
#include "stretto/tune/bucketed_tasks.hpp"
#include "stretto/tune/detail/bucket_at_peak.hpp"
#include "stretto/tune/detail/bucket_windows.hpp"
#include "stretto/tune/detail/limit_levels.hpp"

namespace stretto::detail {

/// A plan in numbers, and the figures of its schedule.
struct scheduled_buckets {
    bucket_plan<std::uint32_t, std::uint32_t> plan;  ///< empty for the step as it is
    nanoseconds makespan;
    bytes peak;
    std::size_t collectives = 0;  ///< the number of collectives that are left of the items
};

/// The trials of one step. `trials.plan(items, runs, order)` is the plan of a division into runs for the program in
/// that order. `trials.tasks(plan)` points to the bucketed_tasks of a plan, which are valid until the next call, or is
/// null if the plan has no task graph.
///
/// Everything that happens at a level depends only on that level and those below it. A division that is the best one so
/// far at some level is *held*: it is not given up any more, so its makespan within any limit is that of list_schedule,
/// which never grows with the limit. Only divisions that are held count within a requested limit that is no level.
template <class Trials>
class division_trials {
    using id = std::uint32_t;

public:
    /// The progress of a search at each point at which it asked whether to go on: by search, level and stage.
    using pace = std::map<std::tuple<int, std::size_t, search_stage>, trial_progress>;

    /// The best division so far at a level, which may be the step without buckets.
    struct level_best {
        std::optional<nanoseconds> makespan;  ///< nothing if nothing fits
        std::vector<id> runs;                 ///< by item: its run; empty for the step without buckets
        std::vector<bucket_window> ways;      ///< by class: the ways of the last best division that had any
        std::vector<std::int64_t> exposed;    ///< by run: for how long the schedule waits for its members
        pace progress;                        ///< that of the search that found it
    };

    /// The answer to a trial at the present level.
    struct answer {
        bool is_best = false;                   ///< whether the division has become the best one there
        std::optional<nanoseconds> takes = {};  ///< its makespan there, known or assumed; nothing if it is of no use
    };

    /// Preconditions: the items are in program order; they and the trials outlive this object; there are levels.
    division_trials(const std::vector<bucketable>& items, const schedule_options& options, limit_levels levels,
                    Trials& trials)
        : items_(items),
          options_(options),
          levels_(std::move(levels)),
          trials_(trials),
          at_(levels_.decided),
          orders_of_whole_(levels_.decided) {}

    /// Schedules the step without buckets within all limits. `given` is its program order; its tasks are numbered like
    /// its vertices, and must outlive this object. Precondition: called first, and once.
    void begin(std::vector<id> given, const task_graph& whole) {
        orders_.push_back(std::move(given));
        whole_ = &whole;
        limit_trial trial(whole, options_.under);
        pace progress;
        trial.run(
            levels_.limits, options_,
            [&](const trial_progress& now) {
                progress.try_emplace({now.search, now.level, now.stage}, now);
                return true;
            },
            [&](std::size_t k, std::optional<nanoseconds> makespan, const auto& order) {
                if (!makespan) return;
                const std::vector<task_id> found = order().tasks;
                if (k < at_.size()) {
                    at_[k].makespan = makespan;
                    at_[k].progress = progress;
                    orders_of_whole_[k] = number_of(found);
                }
                if (k + 1 == levels_.limits.size()) {
                    best_ = makespan;
                    front_.push_back({{}, *makespan, profile_memory(whole, found).peak, items_.size()});
                }
            });
    }

    /// Returns the number of levels.
    [[nodiscard]] std::size_t levels() const noexcept { return at_.size(); }
    /// Makes a level the present one.
    void go_to(std::size_t level) { level_ = level; }
    [[nodiscard]] const level_best& here() const { return at_[level_]; }
    /// Returns the order of the step without buckets at the present level. Precondition: it fits there.
    [[nodiscard]] const std::vector<id>& order_of_whole() const { return orders_[orders_of_whole_[level_]]; }

    /// Tries a division, planned for the program in the given order or, if `as_scheduled`, in that of the schedule
    /// without buckets. `ways`, if there are any, are those that have led to it. If it does not fit at this level, the
    /// bucket that is to blame is halved, several times if need be. `budget` becomes smaller by the tasks that are
    /// scheduled.
    [[nodiscard]] answer attempt(std::vector<id> runs, const std::vector<bucket_window>& ways, bool as_scheduled,
                                 std::size_t& budget) {
        const std::size_t order = as_scheduled ? orders_of_whole_[level_] : 0;
        for (std::size_t halved = 0;; ++halved) {
            outcome& o = divisions_[{order, by_first_seen(runs)}];
            if (std::exchange(o.seen, level_ + 1) == level_ + 1) return {};  // at this level, or a repetition
            if (!o.is_over) {
                const answer now = try_out(o, runs, ways, order, halved > 0, budget);
                if (now.is_best) return now;
            }
            if (!crowds(o)) return {false, takes(o)};
            if (halved == most_halved || !o.blamed || !halve(runs, runs[*o.blamed])) return {};
        }
    }

    /// Returns the tried plans that fit the last limit and that no other such plan beats in makespan, peak and number
    /// of collectives, including the step as it is. They are sorted by ascending makespan, peak and number. None is
    /// faster than the fastest one that is held. Empty if nothing fits.
    [[nodiscard]] std::vector<scheduled_buckets> front() && {
        std::erase_if(front_, [&](const scheduled_buckets& s) { return !best_ || s.makespan < *best_; });
        return std::move(front_);
    }
    /// Returns the number of plans whose tasks were made.
    [[nodiscard]] std::size_t trials() const noexcept { return trials_made_; }

private:
    static constexpr std::size_t most_halved = 8;

    /// How a division turned out. There is one trial of each for all levels.
    struct outcome {
        std::size_t seen = 0;                              // one more than the last level at which it was asked for
        bool is_over = false;                              // whether there is nothing more to find out
        std::vector<std::optional<nanoseconds>> makespan;  // by limit, up to the one at which it was given up
        std::size_t lost_at = SIZE_MAX;                    // the level at which it was found to be behind
        std::optional<nanoseconds> assumed;                // its makespan then, assumed
        std::optional<bytes> least_peak;                   // the lowest known peak, if it did not fit at some level
        std::optional<std::size_t> blamed;                 // an item of the bucket that is to blame for that
    };

    [[nodiscard]] std::optional<nanoseconds> takes(const outcome& o) const {
        return o.lost_at != level_ && o.makespan.size() > level_ ? o.makespan[level_] : o.assumed;
    }
    /// Returns whether it is known that a division does not fit at the present level.
    [[nodiscard]] bool crowds(const outcome& o) const {
        if (o.makespan.size() > level_) return !o.makespan[level_];
        return !o.is_over && o.least_peak && *o.least_peak > levels_.limits[level_];
    }

    /// Plans and schedules a division. If it was halved, it is not scheduled unless an order is known to fit.
    answer try_out(outcome& o, const std::vector<id>& runs, const std::vector<bucket_window>& ways, std::size_t order,
                   bool halved, std::size_t& budget) {
        if (halved && crowds(o)) return {};
        o.is_over = true;
        scheduled_buckets made{trials_.plan(items_, runs, orders_[order]), {}, {}, 0};
        if (made.plan.empty()) return {};
        std::vector<std::vector<id>> members;
        for (const auto& b : made.plan.buckets) members.push_back(b.members);
        const auto [same, is_new] = plans_.try_emplace({order, std::move(members)}, &o);
        if (!is_new && same->second != &o) return {};
        const bucketed_tasks* const tasks = trials_.tasks(made.plan);
        if (tasks == nullptr) return {};
        if (is_new) ++trials_made_;
        limit_trial trial(tasks->graph, options_.under);
        if (here().makespan && trial.bound().value >= *here().makespan) return {};
        if (halved && trial.input_peak() > levels_.limits[level_]) {
            blame(o, made.plan, *tasks, trial);
            o.is_over = *o.least_peak <= levels_.limits[level_];
            if (!o.is_over) return {};
        }
        budget -= std::min(budget, tasks->graph.size());
        return schedule(o, std::move(made), *tasks, trial, runs, ways);
    }

    /// Searches for schedules within all limits, from the lowest one, until the division is given up.
    answer schedule(outcome& o, scheduled_buckets made, const bucketed_tasks& tasks, limit_trial<>& trial,
                    const std::vector<id>& runs, const std::vector<bucket_window>& ways) {
        const task_graph& g = tasks.graph;
        pace progress;
        bool is_held = false, is_best = false;
        trial.run(
            levels_.limits, options_,
            [&](const trial_progress& now) {
                if (!progress.try_emplace({now.search, now.level, now.stage}, now).second || is_held) return true;
                return goes_on(o, now);
            },
            [&](std::size_t k, std::optional<nanoseconds> makespan, const auto& order) {
                o.makespan.push_back(makespan);
                if (!makespan) return;
                const bool is_level = k < at_.size() && k >= level_ && o.lost_at != k;
                const bool best_here = is_level && (!at_[k].makespan || *makespan < *at_[k].makespan);
                const bool is_last = k + 1 == levels_.limits.size();
                if (!best_here && !is_last) return;
                const std::vector<task_id> found = order().tasks;
                if (best_here) {
                    is_held = true;
                    is_best = is_best || k == level_;
                    if (!ways.empty()) at_[k].ways = ways;
                    at_[k] = {makespan, runs, std::move(at_[k].ways), exposed(g, tasks.original, found, runs),
                              progress};
                }
                if (!is_last || o.lost_at == k) return;
                if (is_held) best_ = std::min(best_.value_or(*makespan), *makespan);
                made.makespan = *makespan;
                made.peak = profile_memory(g, found).peak;
                made.collectives = items_.size() - made.plan.saved();
                keep(made);
            });
        if (crowds(o)) blame(o, made.plan, tasks, trial);
        return {is_best, takes(o)};
    }

    /// Returns whether a trial may still become the best somewhere. At a level, it is compared with the best one there,
    /// and below the present level with the best one at the present level.
    [[nodiscard]] bool goes_on(outcome& o, const trial_progress& now) {
        // Where several searches follow each other, what is found at higher levels must not end those at lower ones.
        const bool several = options_.effort > 1 || !options_.under.none();
        if (now.level >= at_.size() || (several && now.level > level_)) return several;
        const level_best& best = at_[std::max(now.level, level_)];
        const auto at = best.progress.find({now.search, now.level, now.stage});
        if (!best.makespan || at == best.progress.end()) return true;
        if (now.level == level_ && o.lost_at == SIZE_MAX && loses(o, now, at->second, *best.makespan, true)) {
            o.lost_at = level_;
            if (level_ + 1 == at_.size()) return false;
        }
        return !loses(o, now, at->second, *best.makespan, false);
    }
    /// Returns whether a trial is so far behind the best one at the same point that it will probably not become faster.
    /// If so, it is assumed to be slower by as much as it is behind. At the present level, less is decisive.
    [[nodiscard]] bool loses(outcome& o, const trial_progress& now, const trial_progress& then, nanoseconds best,
                             bool at_present_level) const {
        // Returns whether t is slower than the reference by more than 1/share.
        const auto behind = [&](nanoseconds t, nanoseconds reference, std::int64_t share) {
            if (t.count - reference.count <= reference.count / share) return false;
            if (!o.assumed) o.assumed = best + (t - reference);
            return true;
        };
        if (now.stage == search_stage::two_orders) return behind(now.ignoring_memory, then.ignoring_memory, 64);
        if (now.stage == search_stage::begins) {
            if (behind(now.ignoring_memory, then.ignoring_memory, 256)) return true;
            // Orders within memory are rarely faster than those that ignore it, unless moves gain that much. Then the
            // best trial shows how much that is.
            if (options_.under.none() && now.ignoring_memory >= std::max(best, then.ignoring_memory)) {
                if (!o.assumed) o.assumed = now.ignoring_memory;
                return true;
            }
            return now.search != 0 && at_present_level && behind(now.so_far, then.so_far, 128);
        }
        // Moves gain similar shares of similar schedules, and take more time than anything before them, most of all
        // under contention, where there are several searches with moves of their own.
        if (now.stage == search_stage::moves) {
            const std::int64_t share = at_present_level ? 512 : 64;
            return behind(now.so_far, then.so_far, options_.under.none() ? share : 8 * share);
        }
        // What filling will gain after the rounds differs from trial to trial, so less is not decisive even then.
        return at_present_level && behind(now.so_far, then.so_far, 128);
    }

    /// Finds the lowest known peak, and an item of the bucket that is to blame for it.
    void blame(outcome& o, const bucket_plan<id, id>& plan, const bucketed_tasks& tasks, limit_trial<>& trial) {
        if (o.least_peak) return;
        const std::vector<task_id> leanest = trial.leanest(levels_.limits[level_]);
        o.least_peak = profile_memory(tasks.graph, leanest).peak;
        if (const auto bucket = bucket_at_peak(plan, *whole_, tasks, leanest))
            o.blamed = item_of(items_, plan.buckets[*bucket].members.front());
    }
    /// Renumbers runs in the order of their first items, so that equal divisions have equal numbers.
    [[nodiscard]] static std::vector<id> by_first_seen(std::vector<id> runs) {
        std::map<id, id> numbers;
        for (id& r : runs) r = numbers.try_emplace(r, static_cast<id>(numbers.size())).first->second;
        return runs;
    }
    /// Returns the number of an order of the step without buckets; equal orders have the same.
    [[nodiscard]] std::size_t number_of(const std::vector<id>& order) {
        const auto number =
            static_cast<std::size_t>(std::find(orders_.begin(), orders_.end(), order) - orders_.begin());
        if (number == orders_.size()) orders_.push_back(order);
        return number;
    }
    /// Returns by run for how long a schedule waits for its members.
    [[nodiscard]] std::vector<std::int64_t> exposed(const task_graph& g, const std::vector<id>& original,
                                                    const std::vector<task_id>& order,
                                                    const std::vector<id>& runs) const {
        std::vector<std::int64_t> by_run(*std::max_element(runs.begin(), runs.end()) + std::size_t{1});
        for (const collective_exposure& e : explain_exposure(g, order, simulate(g, order, options_.under)))
            if (const std::size_t k = item_of(items_, original[e.start]); k < items_.size())
                by_run[runs[k]] += e.exposed.count;
        return by_run;
    }
    /// Adds a plan to the front unless one there is no worse in all three respects; removes those that it beats.
    void keep(const scheduled_buckets& made) {
        const auto no_worse = [](const scheduled_buckets& a, const scheduled_buckets& b) {
            return a.makespan <= b.makespan && a.peak <= b.peak && a.collectives <= b.collectives;
        };
        for (const scheduled_buckets& s : front_)
            if (no_worse(s, made)) return;
        std::erase_if(front_, [&](const scheduled_buckets& s) { return no_worse(made, s); });
        const auto place = std::partition_point(front_.begin(), front_.end(), [&](const scheduled_buckets& s) {
            return s.makespan != made.makespan ? s.makespan < made.makespan
                   : s.peak != made.peak       ? s.peak < made.peak
                                               : s.collectives < made.collectives;
        });
        front_.insert(place, made);
    }

    const std::vector<bucketable>& items_;
    schedule_options options_;
    limit_levels levels_;
    Trials& trials_;
    const task_graph* whole_ = nullptr;
    std::vector<level_best> at_;  // by level
    std::size_t level_ = 0;
    std::vector<std::vector<id>> orders_;       // of the vertices: first the given one, then those of `whole_` by level
    std::vector<std::size_t> orders_of_whole_;  // by level: its number in `orders_`
    std::map<std::pair<std::size_t, std::vector<id>>, outcome> divisions_;                  // by order and runs
    std::map<std::pair<std::size_t, std::vector<std::vector<id>>>, const outcome*> plans_;  // by order and members
    std::optional<nanoseconds> best_;  // the makespan within the last limit of the best division that is held
    std::vector<scheduled_buckets> front_;
    std::size_t trials_made_ = 0;
};

}  // namespace stretto::detail

#endif
